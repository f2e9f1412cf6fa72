// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A library for dlpack_numpy.py: what crosses the border are pointers to DLPack's structs. It needs
// no header of Python's or NumPy's.
#include <flaggems/adapters/dlpack.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/host.hpp>

#include <cstdio>
#include <utility>

namespace {

using flaggems::host;

char last_error[512];

/// The result of f(), a pointer; null after an error, whose text is kept.
template <class F>
void* guarded(const F& f) {
  try {
    return f();
  } catch (const std::exception& e) {
    std::snprintf(last_error, sizeof last_error, "%s", e.what());
    return nullptr;
  }
}

/// The softmax of the rows of a f32 tensor that another library has, in a new one of ours.
template <class Managed>
Managed* softmax(Managed* pointer) {
  // [dlpack]
  flaggems::dlpack_ptr<Managed> theirs(pointer);
  const flaggems::stream_ref<host> stream;
  const auto x = flaggems::from_dlpack(stream, std::move(theirs));  // theirs again when x ends
  const auto rows = x.view().template as<const float>();            // raises for another dtype
  auto y = flaggems::softmax(stream, rows, -1);
  return flaggems::to_dlpack<Managed>(std::move(y)).release();  // y's memory goes with it
  // [/dlpack]
}

/// The same elements back, which belong to the other library as before.
template <class Managed>
Managed* pass_through(Managed* pointer) {
  flaggems::dlpack_ptr<Managed> theirs(pointer);
  auto x = flaggems::from_dlpack(flaggems::stream_ref<host>(), std::move(theirs));
  const flaggems::any_view<> same = x.view();
  return flaggems::to_dlpack<Managed>(same, x.device_index(), std::move(x)).release();
}

template <class Managed>
void drop(Managed* tensor) {
  const flaggems::dlpack_ptr<Managed> ends_here(tensor);
}

using version_0 = flaggems::dl_managed_tensor;
using version_1 = flaggems::dl_managed_tensor_versioned;

}  // namespace

// `version` is 0 or 1, of the struct that the pointer leads to, which is no longer the caller's
// whatever happens. A null result is an error.
extern "C" {

void* example_softmax(void* theirs, int version) {
  return guarded([&]() -> void* {
    if (version == 0) return softmax(static_cast<version_0*>(theirs));
    return softmax(static_cast<version_1*>(theirs));
  });
}

void* example_pass_through(void* theirs, int version) {
  return guarded([&]() -> void* {
    if (version == 0) return pass_through(static_cast<version_0*>(theirs));
    return pass_through(static_cast<version_1*>(theirs));
  });
}

/// For a capsule that nobody has taken over.
void example_drop(void* tensor, int version) {
  if (version == 0)
    drop(static_cast<version_0*>(tensor));
  else
    drop(static_cast<version_1*>(tensor));
}

const char* example_error() { return last_error; }

/// The tensors of ours whose memory is in use.
long long example_tensors() { return flaggems::memory_stats<host>().allocation.current; }
}
