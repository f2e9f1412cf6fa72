// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Parts of kernels that are compiled once per instruction set and called, not inlined into each
// kernel. Vectors are never passed by value: the ABI depends on the instruction set.
#pragma once

#include <flaggems/kernel/lang/vector/lanes.hpp>

namespace flaggems::kernels {

/// `outlined<Isa>::call<F>(args...)` is F::run<Isa>(args...) under the level's target attribute.
/// F::run must be always inline.
template <class Isa>
struct outlined {
  static_assert(is_same<Isa, isa_baseline>);
  template <class F, class... Args>
  FLAGGEMS_NOINLINE FLAGGEMS_FLATTEN static void call(const Args&... args) {
    F::template run<Isa>(args...);
  }
};
#if FLAGGEMS_ARCH_X86
template <>
struct outlined<isa_avx2> {
  template <class F, class... Args>
  FLAGGEMS_NOINLINE FLAGGEMS_FLATTEN FLAGGEMS_TARGET_AVX2 static void call(const Args&... args) {
    F::template run<isa_avx2>(args...);
  }
};
template <>
struct outlined<isa_avx512> {
  template <class F, class... Args>
  FLAGGEMS_NOINLINE FLAGGEMS_FLATTEN FLAGGEMS_TARGET_AVX512 static void call(const Args&... args) {
    F::template run<isa_avx512>(args...);
  }
};
// Levels without code of their own run as AVX-512.
template <>
struct outlined<isa_avx512_bf16> : outlined<isa_avx512> {};
template <>
struct outlined<isa_amx> : outlined<isa_avx512> {};
#endif

/// A part compiled for the running level, and the lanes of its vectors.
template <class... Args>
struct level_part {
  void (*call)(const Args&...);
  i64 lanes;
};
template <class F, class... Args, class Isa>
FLAGGEMS_HOST_INLINE level_part<Args...> part_of(const Isa&) {
  return {outlined<Isa>::template call<F, Args...>, Isa::lanes};
}
template <class F, class... Args>
FLAGGEMS_HOST_INLINE level_part<Args...> part_of([[maybe_unused]] const isa_any& isa) {
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_MAX_ISA >= 2
  if (isa.level >= 2) return part_of<F, Args...>(isa_avx512());
#endif
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_MAX_ISA >= 1
  if (isa.level >= 1) return part_of<F, Args...>(isa_avx2());
#endif
  return part_of<F, Args...>(isa_baseline());
}

}  // namespace flaggems::kernels
