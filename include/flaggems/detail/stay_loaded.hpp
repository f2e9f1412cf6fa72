// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Keeps a shared library that has used this one loaded: threads run its code, and memory pools
// outlive every tensor.
#pragma once

#include <flaggems/config.hpp>

#include <dlfcn.h>

namespace flaggems::detail {

#if defined(RTLD_NODELETE) && defined(RTLD_NOLOAD)
// Weak: null in programs without a dynamic linker, which need none.
[[gnu::weakref("dlopen")]] static decltype(dlopen) dlopen_if_any;
[[gnu::weakref("dladdr")]] static decltype(dladdr) dladdr_if_any;
#endif

/// Pins the program or shared library that contains the caller until the process ends, whoever
/// closes it: for started threads and pooled memory.
inline void stay_loaded() noexcept {
#if defined(RTLD_NODELETE) && defined(RTLD_NOLOAD)
  static const bool stays = [] {
    Dl_info object{};
    return dlopen_if_any != nullptr && dladdr_if_any != nullptr &&
           dladdr_if_any(reinterpret_cast<const void*>(&stay_loaded), &object) != 0 &&
           dlopen_if_any(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
  }();
  static_cast<void>(stays);
#endif
}

}  // namespace flaggems::detail
