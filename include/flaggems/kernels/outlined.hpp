// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Parts of a kernel that are compiled once an instruction set, out of line, instead of into each
// kernel that uses them. Vectors never cross such a call: that would change its ABI.
#pragma once

#include <flaggems/kernels/simd_lanes.hpp>

namespace flaggems::kernels {

/// `outlined<Isa>::call<F>(args...)` is F::run<Isa>(args...) under the level's target attribute.
/// F::run must be always inline.
template <class Isa>
struct outlined {
  static_assert(is_same<Isa, isa_baseline>);
  template <class F, class... Args>
  FLAGGEMS_NOINLINE static void call(const Args&... args) {
    F::template run<Isa>(args...);
  }
};
#if FLAGGEMS_ARCH_X86
template <>
struct outlined<isa_avx2> {
  template <class F, class... Args>
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AVX2 static void call(const Args&... args) {
    F::template run<isa_avx2>(args...);
  }
};
template <>
struct outlined<isa_avx512> {
  template <class F, class... Args>
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AVX512 static void call(const Args&... args) {
    F::template run<isa_avx512>(args...);
  }
};
// What has no code of its own for these runs as AVX-512.
template <>
struct outlined<isa_avx512_bf16> : outlined<isa_avx512> {};
template <>
struct outlined<isa_amx> : outlined<isa_avx512> {};
#endif

}  // namespace flaggems::kernels
