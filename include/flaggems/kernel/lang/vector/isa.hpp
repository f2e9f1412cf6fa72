// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// The host's instruction-set levels, and single instructions that g++ 12 would expand.
#pragma once

#include <flaggems/kernel/lang/value.hpp>
#if FLAGGEMS_MODEL_ISA
#include <flaggems/kernel/lang/vector/instruction_model.hpp>
#endif

namespace flaggems::kernels {

// ---- levels
/// SSE2 on x86-64, NEON on AArch64.
struct isa_baseline {
  static constexpr int bytes = 16;
  static constexpr int lanes = 4;
};
/// AVX2, FMA and F16C.
struct isa_avx2 {
  static constexpr int bytes = 32;
  static constexpr int lanes = 8;
};
/// AVX-512 F, BW, DQ and VL.
struct isa_avx512 {
  static constexpr int bytes = 64;
  static constexpr int lanes = 16;
};
/// AVX-512 with dot products of bf16. Other conversions are those of AVX-512: the BF16 conversion
/// flushes subnormal numbers, and handling them costs more than round_to_words. Only kernels that
/// request this level (launch/host_launch.hpp) are compiled for it.
struct isa_avx512_bf16 : isa_avx512 {};
/// AVX-512-BF16 with tiles (AMX).
struct isa_amx : isa_avx512_bf16 {};

/// Whichever level a launch runs at: for kernels whose vector code is in parts per level
/// (block/vector/outlined.hpp). Code outside the parts is compiled once, for the baseline.
struct isa_any : isa_baseline {
  int level = 0;  // isa_level's number
};

/// A quarter or half of a vector on AVX levels. A separate type, since its VEX encoding must not be
/// mixed with isa_baseline's.
struct isa_quad {
  static constexpr int bytes = 16;
  static constexpr int lanes = 4;
};
/// Four lanes, for use with vectors of a level.
template <class Isa>
using quad_isa = conditional<is_same<Isa, isa_baseline>, isa_baseline, isa_quad>;

/// `with_level<Isa>(f, args...)` is f(args...) compiled for the level: inlined into a function with
/// the target attribute, else a call, for instance from a user's lambda that is not inlined. f must
/// be always inline and takes references, as vectors by value depend on the ABI.
template <int Bytes>
struct level_code {
  template <class F, class... Args>
  FLAGGEMS_HOST_INLINE static void run(const F& f, Args&... args) {
    f(args...);
  }
};
#if FLAGGEMS_ARCH_X86
template <>
struct level_code<32> {
  template <class F, class... Args>
  FLAGGEMS_TARGET_AVX2 inline static void run(const F& f, Args&... args) {
    f(args...);
  }
};
template <>
struct level_code<64> {
  template <class F, class... Args>
  FLAGGEMS_TARGET_AVX512 inline static void run(const F& f, Args&... args) {
    f(args...);
  }
};
#endif
template <class Isa, class F, class... Args>
FLAGGEMS_HOST_INLINE void with_level(const F& f, Args&... args) {
  level_code<Isa::bytes>::run(f, args...);
}

/// FLAGGEMS_OPAQUE for vectors of a level.
template <class Isa, class V>
FLAGGEMS_HOST_INLINE void make_opaque(V& x) {
  with_level<Isa>([](V& v) FLAGGEMS_LAMBDA { FLAGGEMS_OPAQUE(v); }, x);
}

/// Whether a broadcast takes one instruction (two for 64-bit lanes). g++ 12 would insert a number
/// that is not a constant lane by lane inside the loop.
template <class T, class Isa>
inline constexpr bool spreads_at_once =
    FLAGGEMS_GCC_X86_ASM && !is_same<Isa, isa_baseline> && sizeof(T) >= 4;

template <class T>
FLAGGEMS_HOST_INLINE bool is_positive_zero(T x) {
  if constexpr (is_floating<T>)
    return x == T(0) && !__builtin_signbit(x);
  else
    return x == T(0);
}

template <class Isa, class T, class V>
FLAGGEMS_HOST_INLINE void spread_lanes(V& to, T x) {
#if FLAGGEMS_X86_ASM
  if constexpr (sizeof(T) == 4) {
    with_level<Isa>(
        [](auto& r, const auto& a) FLAGGEMS_LAMBDA {
          if constexpr (is_same<T, f32>)
            asm("vbroadcastss %1, %0" : "=v"(r) : "v"(a));
          else
            asm("vpbroadcastd %1, %0" : "=v"(r) : "v"(a));
        },
        to, x);
  } else {
    typedef T half __attribute__((vector_size(sizeof(V) / 2)));
    half h;
    with_level<Isa>(
        [](auto& r, const auto& a) FLAGGEMS_LAMBDA {
          if constexpr (is_same<T, f64>)
            asm("vbroadcastsd %1, %0" : "=v"(r) : "v"(a));
          else
            asm("vpbroadcastq %1, %0" : "=v"(r) : "v"(a));
        },
        h, x);
    __builtin_memcpy(&to, &h, sizeof(h));
    __builtin_memcpy(reinterpret_cast<char*>(&to) + sizeof(h), &h, sizeof(h));
  }
#endif
}

/// Whether `select` is one instruction. g++ 12 would first compare the mask with zero.
template <class T, class Isa>
inline constexpr bool selects_at_once =
    FLAGGEMS_GCC_X86_ASM && !is_same<Isa, isa_baseline> && sizeof(T) == 4;

template <class Isa, class V, class M>
FLAGGEMS_HOST_INLINE void select_lanes(V& to, const M& m, const V& a, const V& b) {
#if FLAGGEMS_X86_ASM
  with_level<Isa>(
      [](V& r, const M& mask, const V& x, const V& y) FLAGGEMS_LAMBDA {
        if constexpr (Isa::bytes == 64) {
          M mixed = mask;  // bit by bit: mixed ? x : y
          asm("vpternlogd $0xca, %2, %1, %0" : "+v"(mixed) : "v"(x), "vm"(y));
          r = (V)mixed;
        } else {
          asm("vblendvps %3, %2, %1, %0" : "=x"(r) : "x"(y), "xm"(x), "x"(mask));
        }
      },
      to, m, a, b);
#endif
}

}  // namespace flaggems::kernels
