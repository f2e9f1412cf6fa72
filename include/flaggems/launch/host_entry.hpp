// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions that a kernel is on the host, one an instruction-set level. Kernel constants:
// `has_bf16_entries` adds entries for AVX-512-BF16 and AMX (others run AVX-512 there); `is_scalar`
// and `has_parts` (vector code in out-of-line parts, kernel/block/vector/outlined.hpp) have a
// single entry. The bodies are in launch/host_launch.hpp, so that a header can say without them
// which kernels flaggems::compiled has.
#pragma once

#include <flaggems/config.hpp>
#include <flaggems/detail/cpu.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

namespace flaggems::detail {

template <class Kernel>
concept has_bf16_entries = Kernel::has_bf16_entries;
template <class Kernel>
concept is_scalar = Kernel::is_scalar;
template <class Kernel>
concept has_parts = Kernel::has_parts;
/// Whether a kernel has an entry above the baseline.
template <class Kernel>
concept has_levels = !is_scalar<Kernel> && !has_parts<Kernel>;

/// What one worker of a launch calls.
template <class... Args>
using host_function = void (*)(i64 index, i64 count, unsigned char* scratch, const Args&... args);

template <class Kernel, class... Args>
struct host_entry {
  FLAGGEMS_NOINLINE static void baseline(i64 index, i64 count, unsigned char* scratch,
                                         const Args&... args);
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_MAX_ISA >= 1
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AVX2 static void avx2(i64 index, i64 count,
                                                          unsigned char* scratch,
                                                          const Args&... args);
#endif
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_MAX_ISA >= 2
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AVX512 static void avx512(i64 index, i64 count,
                                                              unsigned char* scratch,
                                                              const Args&... args);
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AVX512_BF16 static void avx512_bf16(i64 index, i64 count,
                                                                        unsigned char* scratch,
                                                                        const Args&... args);
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AMX static void amx(i64 index, i64 count,
                                                        unsigned char* scratch,
                                                        const Args&... args);
#endif

  /// Of the running level. The first call raises if FLAGGEMS_ISA names no level.
  static host_function<Args...> best() {
    if constexpr (has_parts<Kernel>) return baseline;  // which asks for the level itself
    [[maybe_unused]] const isa_level level = isa();
    if constexpr (has_levels<Kernel>) {
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_MAX_ISA >= 3
      if constexpr (has_bf16_entries<Kernel>) {
        if (level == isa_level::avx512_bf16) return avx512_bf16;
        if (level == isa_level::amx) return FLAGGEMS_MAX_ISA >= 4 ? amx : avx512_bf16;
      }
#endif
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_MAX_ISA >= 2
      if (level >= isa_level::avx512) return avx512;
#endif
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_MAX_ISA >= 1
      if (level >= isa_level::avx2) return avx2;
#endif
    }
    return baseline;
  }
};

/// Says, where Kernel and its arguments are known, that flaggems::compiled has the entries of
/// host_entry<Kernel, Args...>, so that no other object does. In namespace flaggems::detail.
#if FLAGGEMS_COMPILED == 1
#define FLAGGEMS_KERNEL_ONCE(...) extern template struct host_entry<__VA_ARGS__>
#elif FLAGGEMS_COMPILED == 3
#define FLAGGEMS_KERNEL_ONCE(...) template struct host_entry<__VA_ARGS__>
#else
#define FLAGGEMS_KERNEL_ONCE(...) static_assert(true)
#endif

}  // namespace flaggems::detail
