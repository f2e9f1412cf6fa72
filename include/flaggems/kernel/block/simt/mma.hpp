// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The instructions of CUDA's matrix units for 32 threads (mma.sync), and what their sums are.
#pragma once

#include <flaggems/kernel/lang/number.hpp>

namespace flaggems::kernels {

/// What products of T on matrix units are summed in: integers of 8 bits as u32, modulo 2^32; f64 as
/// f64; others as f32.
template <class T>
using mma_sum =
    conditional<is_same<T, i8> || is_same<T, u8>, u32, conditional<is_same<T, f64>, f64, f32>>;

/// Two numbers as a word of T, the lower half first.
template <class T>
FLAGGEMS_INLINE u32 pack_halves(f32 low, f32 high) {
#if FLAGGEMS_CUDA_TILES
  u32 r;
  if constexpr (is_same<T, bf16>)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
#else
  return static_cast<u32>(number_cast<T>(low).bits) | static_cast<u32>(number_cast<T>(high).bits)
                                                          << 16;
#endif
}

#if FLAGGEMS_CUDA_TILES

#define FLAGGEMS_MMA(form, r, c)                                                                  \
  asm("mma.sync.aligned." form " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+" r((c)[0]), "+" r((c)[1]), "+" r((c)[2]), "+" r((c)[3])                                \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

struct cuda_mma {
  /// c += a * b as block.multiply_tiles has it.
  template <class T>
  FLAGGEMS_INLINE static void multiply(mma_sum<T>* c, const u32* a, const u32* b) {
    if constexpr (is_same<T, bf16>)
      FLAGGEMS_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "f", c);
    else if constexpr (is_same<T, f16>)
      FLAGGEMS_MMA("m16n8k16.row.col.f32.f16.f16.f32", "f", c);
    else if constexpr (is_same<T, f32>)
      FLAGGEMS_MMA("m16n8k8.row.col.f32.tf32.tf32.f32", "f", c);
    else if constexpr (is_same<T, i8>)
      FLAGGEMS_MMA("m16n8k32.row.col.s32.s8.s8.s32", "r", c);
    else if constexpr (is_same<T, u8>)
      FLAGGEMS_MMA("m16n8k32.row.col.s32.u8.u8.s32", "r", c);
    else if constexpr (is_same<T, f64>)
      multiply_f64(c, number_of(a), number_of(a + 2), number_of(b));
    else
      multiply_f8<T>(c, a, b);
  }

 private:
  FLAGGEMS_INLINE static f64 number_of(const u32* words) {
    return bit_cast<f64>(words[0] | u64{words[1]} << 32);
  }
  /// `upper` is of the first eight rows, `lower` of the others.
#if FLAGGEMS_CUDA_TALL_F64_TILES
  FLAGGEMS_INLINE static void multiply_f64(f64* c, f64 upper, f64 lower, f64 b) {
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(upper), "d"(lower), "d"(b));
  }
#else
  FLAGGEMS_INLINE static void multiply_f64(f64* c, f64 upper, f64 lower, f64 b) {
    multiply_8_rows(c, upper, b);
    multiply_8_rows(c + 2, lower, b);
  }
  FLAGGEMS_INLINE static void multiply_8_rows(f64* c, f64 a, f64 b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
  }
#endif
#if FLAGGEMS_CUDA_F8_TILES
  /// 32 terms are summed by the unit, with 14 bits at least, and added to the others in f32.
  template <class T>
  FLAGGEMS_INLINE static void multiply_f8(f32* c, const u32* a, const u32* b) {
    f32 sums[4] = {};
    if constexpr (is_same<T, f8e4m3>)
      FLAGGEMS_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32", "f", sums);
    else
      FLAGGEMS_MMA("m16n8k32.row.col.f32.e5m2.e5m2.f32", "f", sums);
    for (int e = 0; e < 4; ++e) c[e] += sums[e];
  }
#else
  /// As f16, which holds them. Terms may come in any order, so halves of all words do.
  template <class T>
  FLAGGEMS_INLINE static void multiply_f8(f32* c, const u32* a, const u32* b) {
    for (int half_word = 0; half_word < 2; ++half_word) {
      u32 x[4], y[2];
      for (int e = 0; e < 4; ++e) x[e] = widened<T>(a[e] >> 16 * half_word);
      for (int e = 0; e < 2; ++e) y[e] = widened<T>(b[e] >> 16 * half_word);
      multiply<f16>(c, x, y);
    }
  }
  /// The lower two elements of a word as numbers of f16.
  template <class T>
  FLAGGEMS_INLINE static u32 widened(u32 pair) {
    if constexpr (is_same<T, f8e5m2>) return __byte_perm(pair, 0, 0x1404);
    // The same fields in f16 say 2^-8 times the number, of which NaN alone is another.
    const u32 apart = __byte_perm(pair, 0, 0x4140);
    const u32 fields = (apart & 0x00800080u) << 8 | (apart & 0x007f007fu) << 7;
    const u32 is_nan = ((apart & 0x007f007fu) + 0x00010001u) & 0x00800080u;
    u32 r;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(fields), "r"(0x5c005c00u));
    return r | is_nan * 0xfcu;
  }
#endif
};

#undef FLAGGEMS_MMA

#endif

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/block/simt/mma.hpp");
