// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A runtime compiler beside the simulated driver: it checks that what a source includes is there,
// and its image is the name of the instance.
#include "machine.hpp"

using namespace flaggems_simulated;

extern "C" {

struct simulated_program {
  std::string source, image, log;
  std::set<std::string> headers;
};
int nvrtcVersion(int* major_number, int* minor_number) {
  *major_number = 0;
  *minor_number = 1;
  return 0;
}
const char* nvrtcGetErrorString(int code) {
  return code == 0 ? "NVRTC_SUCCESS" : code == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}
int nvrtcCreateProgram(void** program, const char* source, const char*, int count,
                       const char* const*, const char* const* names) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  ++sim().calls[__func__];
  auto* const p = new simulated_program;
  p->source = source;
  for (int k = 0; k < count; ++k) p->headers.insert(names[k]);
  *program = p;
  return 0;
}
int nvrtcDestroyProgram(void** program) {
  delete static_cast<simulated_program*>(*program);
  *program = nullptr;
  return 0;
}
int nvrtcCompileProgram(void* program, int, const char* const*) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  ++sim().calls[__func__];
  auto& p = *static_cast<simulated_program*>(program);
  if (int result = 0; takes_fault(__func__, result)) {
    p.log = "flaggems_instance.cu(1): error: simulated\n";
    return result;
  }
  for (size at = 0; (at = p.source.find("#include <", at)) != p.source.npos;) {
    at += 10;
    const std::string name = p.source.substr(at, p.source.find('>', at) - at);
    if (p.headers.count(name) == 0) return p.log = "error: no header " + name, 6;
  }
  if (p.source.empty()) return 0;
  const std::string start = "FLAGGEMS_INSTANCE(flaggems_entry, ";
  const size from = p.source.find(start);
  if (from == p.source.npos) return p.log = "error: no instance", 6;
  const size first = from + start.size();
  p.image =
      "flaggems simulated image\n" + p.source.substr(first, p.source.find(")\n", first) - first);
  return 0;
}
int nvrtcGetProgramLogSize(void* program, size* bytes) {
  *bytes = static_cast<simulated_program*>(program)->log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(void* program, char* text) {
  std::strcpy(text, static_cast<simulated_program*>(program)->log.c_str());
  return 0;
}
int nvrtcGetCUBINSize(void* program, size* bytes) {
  *bytes = static_cast<simulated_program*>(program)->image.size() + 1;
  return 0;
}
int nvrtcGetCUBIN(void* program, char* bytes) {
  std::strcpy(bytes, static_cast<simulated_program*>(program)->image.c_str());
  return 0;
}

}  // extern "C"
