// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The simulated driver's captures and graphs.
#include "machine.hpp"

using namespace flaggems_simulated;

extern "C" {

int cuStreamBeginCapture_v2(void* handle, int mode) {
  ENTER();
  stream* const s = stream_of(handle);
  if (s == nullptr) return invalid_handle;
  if (handle == nullptr) return capture_unsupported;
  if (mode < of_all_threads || mode > relaxed) return invalid_value;
  if (s->captured != nullptr) return s->captured->is_broken = true, capture_unmatched;
  s->captured = std::make_shared<capture>();
  s->captured->origin = s;
  s->captured->mode = static_cast<capture_mode>(mode);
  s->captured->id = sim().captures++;
  return ok;
}
int cuStreamEndCapture(void* handle, void** out) {
  ENTER_ALWAYS();
  stream* const s = stream_of(handle);
  if (s == nullptr) return invalid_handle;
  if (s->captured == nullptr) return invalid_value;
  if (s->captured->origin != s) return s->captured->is_broken = true, capture_unmatched;
  if (s->captured->mode != relaxed && !pthread_equal(s->captured->thread, pthread_self()))
    return capture_wrong_thread;
  *out = nullptr;
  const std::shared_ptr<capture> ended = s->captured;
  int result = ended->is_broken ? capture_invalidated : ok;
  for (stream* other : sim().streams)
    if (other->captured == ended) {
      if (other != s && other->captured_work > other->joined_work && result == ok)
        result = capture_unjoined;
      other->captured = nullptr;
    }
  if (result != ok) return result;
  auto* const g = new graph(std::move(ended->nodes));
  sim().graphs.insert(g);
  *out = g;
  return ok;
}
int cuStreamIsCapturing(void* handle, int* status) {
  ENTER();
  const stream* const s = stream_of(handle);
  if (s == nullptr) return invalid_handle;
  *status = s->captured == nullptr ? 0 : s->captured->is_broken ? 2 : 1;
  return ok;
}
int cuStreamGetCaptureInfo_v2(void* handle, int* status, u64* id, void** graph_out,
                              void* const** nodes, size* count) {
  ENTER();
  const stream* const s = stream_of(handle);
  if (s == nullptr) return invalid_handle;
  if (nodes != nullptr || count != nullptr) return invalid_value;  // not simulated
  *status = s->captured == nullptr ? 0 : s->captured->is_broken ? 2 : 1;
  if (*status == 1) {  // else what is not told stays as it was
    *id = s->captured->id;
    *graph_out = &s->captured->nodes;
  }
  return ok;
}
int cuUserObjectCreate(void** object, void* data, void (*end)(void*), unsigned references,
                       unsigned flags) {
  ENTER();
  if (object == nullptr || end == nullptr || references == 0 || flags != 1) return invalid_value;
  const auto made = std::make_shared<user_object>(data, end);
  *object = made.get();
  sim().objects[*object] = {made, references};
  return ok;
}
int cuUserObjectRelease(void* object, unsigned references) {
  ENTER_ALWAYS();
  const auto found = sim().objects.find(object);
  if (found == sim().objects.end() || references == 0 || references > found->second.second)
    return invalid_value;
  if ((found->second.second -= references) == 0) sim().objects.erase(found);
  return ok;
}
int cuGraphRetainUserObject(void* handle, void* object, unsigned references, unsigned flags) {
  ENTER();
  auto* const g = static_cast<graph*>(handle);
  const auto found = sim().objects.find(object);
  if (!is_graph(g) || found == sim().objects.end() || references == 0 || flags != 0)
    return invalid_value;
  g->objects.insert(g->objects.end(), references, found->second.first);
  return ok;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  ENTER_ALWAYS(false);
  if (*mode < of_all_threads || *mode > relaxed) return invalid_value;
  std::swap(*mode, thread_mode);
  return ok;
}
int cuGraphInstantiateWithFlags(void** executable, void* handle, unsigned long long flags) {
  ENTER();
  auto* const g = static_cast<graph*>(handle);
  if (sim().graphs.count(g) == 0 || flags != 0) return invalid_value;
  auto* const copy = new graph(*g);
  sim().graphs.insert(copy);
  *executable = copy;
  return ok;
}
int cuGraphLaunch(void* executable, void* handle) {
  ENTER();
  auto* const g = static_cast<graph*>(executable);
  if (sim().graphs.count(g) == 0) return invalid_value;
  for (const work& node : g->nodes)
    if (const int refused = enqueue(stream_of(handle), node); refused != ok) return refused;
  if (g->objects.empty()) return ok;
  return enqueue(stream_of(handle), [objects = g->objects] { return ok; });
}
int cuGraphDestroy(void* handle) {
  ENTER_ALWAYS();
  auto* const g = static_cast<graph*>(handle);
  if (sim().graphs.erase(g) == 0) return invalid_value;
  delete g;
  return ok;
}
int cuGraphExecDestroy(void* handle) { return cuGraphDestroy(handle); }

}  // extern "C"
