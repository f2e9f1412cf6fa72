// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The instructions of AMD's matrix units for 16 x 16 results: MFMA of waves of 64 lanes (CDNA) and
// WMMA of waves of 32 (RDNA 3); and what they compute, by shuffles, for devices without them.
#pragma once

#include <flaggems/kernel/block/simt/mma.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// Words as elements of T, the lowest bits first.
template <class T, int Words>
struct word_elements {
  static constexpr int count = 4 * Words / static_cast<int>(sizeof(T));
  T at[count];
  FLAGGEMS_INLINE static word_elements of(const u32* words) {
    struct bits {
      u32 at[Words];
    } x;
    FLAGGEMS_SIMT_UNROLL
    for (int w = 0; w < Words; ++w) x.at[w] = words[w];
    return bit_cast<word_elements>(x);
  }
};

/// What the instructions compute, by shuffles of the lanes that multiply together: slow. Written
/// from AMD's descriptions of the instructions, with nothing of the policies that use them.
struct amd_tiles {
  /// MFMA of 16 x 16 results: element (i, k) of `a`, and (k, i) of `b`, is the (k % each)-th in
  /// lane i + 16 * (k / each), where a lane has `each` elements; (i, j) of the result is sum i % 4
  /// in lane j + 16 * (i / 4), of f64 sum i / 4 in lane j + 16 * (i % 4).
  template <class T, int Words, class Block>
  FLAGGEMS_INLINE static void mfma(const Block& block, mma_sum<T>* c, const u32* a, const u32* b) {
    const int lane = block.thread() % 64, j = lane % 16;
    FLAGGEMS_SIMT_NO_UNROLL
    for (int group = 0; group < 4; ++group) {
      u32 right[Words], left[Words];
      FLAGGEMS_SIMT_NO_UNROLL
      for (int w = 0; w < Words; ++w) right[w] = block.shuffle_from(b[w], j + 16 * group);
      FLAGGEMS_SIMT_NO_UNROLL
      for (int e = 0; e < 4; ++e) {
        const int i = sizeof(T) == 8 ? 4 * e + lane / 16 : lane / 16 * 4 + e;
        FLAGGEMS_SIMT_NO_UNROLL
        for (int w = 0; w < Words; ++w) left[w] = block.shuffle_from(a[w], i + 16 * group);
        c[e] = sum_of<T, Words>(left, right, c[e]);
      }
    }
  }
  /// WMMA of 16 x 16 x 16: row i of `a`, and column i of `b`, is in lanes i and i + 16, which have
  /// to be the same; (i, j) of the result is sum i / 2 in lane j + 16 * (i % 2).
  template <class T, int Words, class Block>
  FLAGGEMS_INLINE static void wmma(const Block& block, mma_sum<T>* c, const u32* a, const u32* b) {
    const int lane = block.thread() % 32, j = lane % 16, other = 16 - lane / 16 * 16;
    u32 right[Words], left[Words];
    FLAGGEMS_SIMT_NO_UNROLL
    for (int w = 0; w < Words; ++w) right[w] = block.shuffle_from(b[w], j + other);
    FLAGGEMS_SIMT_NO_UNROLL
    for (int e = 0; e < 8; ++e) {
      const int i = 2 * e + lane / 16;
      FLAGGEMS_SIMT_NO_UNROLL
      for (int w = 0; w < Words; ++w) left[w] = block.shuffle_from(a[w], i + other);
      c[e] = sum_of<T, Words>(left, right, c[e]);
    }
  }

 private:
  template <class T, int Words>
  FLAGGEMS_INLINE static mma_sum<T> sum_of(const u32* left, const u32* right, mma_sum<T> sum) {
    using C = mma_sum<T>;
    const auto x = word_elements<T, Words>::of(left), y = word_elements<T, Words>::of(right);
    FLAGGEMS_SIMT_NO_UNROLL
    for (int q = 0; q < x.count; ++q) sum = static_cast<C>(x.at[q]) * static_cast<C>(y.at[q]) + sum;
    return sum;
  }
};

#if FLAGGEMS_HIP_MFMA || FLAGGEMS_HIP_WMMA

/// The compiler's vectors.
template <class T, int Count>
struct amd_vector {
  using type = T __attribute__((ext_vector_type(Count)));
  FLAGGEMS_INLINE static type of(const u32* words) {
    return bit_cast<type>(word_elements<T, static_cast<int>(sizeof(T)) * Count / 4>::of(words));
  }
};

#endif

#if FLAGGEMS_HIP_MFMA

struct amd_mfma {
  /// c += a * b of 16 x 16 results and 32 bytes of terms; a lane has 8 bytes of each operand.
  /// (Where an instruction takes fewer, the terms of both operands go in the same other order.)
  template <class T>
  FLAGGEMS_INLINE static void multiply(mma_sum<T>* c, const u32* a, const u32* b) {
    using sums =
        typename amd_vector<conditional<is_same<mma_sum<T>, u32>, i32, mma_sum<T>>, 4>::type;
    sums d;
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < 4; ++e) d[e] = c[e];
    if constexpr (is_same<T, f16>) {
      using x = amd_vector<_Float16, 4>;
      d = __builtin_amdgcn_mfma_f32_16x16x16f16(x::of(a), x::of(b), d, 0, 0, 0);
    } else if constexpr (is_same<T, bf16>) {
      using x = amd_vector<i16, 4>;
      d = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x::of(a), x::of(b), d, 0, 0, 0);
    } else if constexpr (is_same<T, f32>) {
      FLAGGEMS_SIMT_UNROLL
      for (int w = 0; w < 2; ++w)
        d = __builtin_amdgcn_mfma_f32_16x16x4f32(bit_cast<f32>(a[w]), bit_cast<f32>(b[w]), d, 0, 0,
                                                 0);
    } else if constexpr (is_same<T, f64>) {
      d = __builtin_amdgcn_mfma_f64_16x16x4f64(word_elements<f64, 2>::of(a).at[0],
                                               word_elements<f64, 2>::of(b).at[0], d, 0, 0, 0);
    } else {
      static_assert(is_same<T, i8>, "flaggems: MFMA takes f16, bf16, f32, f64 and i8");
#if FLAGGEMS_HIP_MFMA_WIDE_BYTES
      d = __builtin_amdgcn_mfma_i32_16x16x32_i8(word_elements<long, 2>::of(a).at[0],
                                                word_elements<long, 2>::of(b).at[0], d, 0, 0, 0);
#else
      FLAGGEMS_SIMT_UNROLL
      for (int w = 0; w < 2; ++w)
        d = __builtin_amdgcn_mfma_i32_16x16x16i8(static_cast<i32>(a[w]), static_cast<i32>(b[w]), d,
                                                 0, 0, 0);
#endif
    }
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < 4; ++e) c[e] = static_cast<mma_sum<T>>(d[e]);
  }
};

#endif

#if FLAGGEMS_HIP_WMMA

struct amd_wmma {
  /// c += a * b of 16 x 16 results and 32 bytes of terms, all of a line in a lane.
  template <class T>
  FLAGGEMS_INLINE static void multiply(mma_sum<T>* c, const u32* a, const u32* b) {
    using sums =
        typename amd_vector<conditional<is_same<mma_sum<T>, u32>, i32, mma_sum<T>>, 8>::type;
    sums d;
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < 8; ++e) d[e] = c[e];
    if constexpr (is_same<T, f16>) {
      using x = amd_vector<_Float16, 16>;
      d = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x::of(a), x::of(b), d);
    } else if constexpr (is_same<T, bf16>) {
      using x = amd_vector<i16, 16>;
      d = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(x::of(a), x::of(b), d);
    } else {
      static_assert(is_same<T, i8> || is_same<T, u8>, "flaggems: WMMA takes f16, bf16, i8 and u8");
      using x = amd_vector<i32, 4>;
      constexpr bool is_signed = is_same<T, i8>;
      FLAGGEMS_SIMT_UNROLL
      for (int w = 0; w < 8; w += 4)
        d = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(is_signed, x::of(a + w), is_signed,
                                                       x::of(b + w), d, false);
    }
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < 8; ++e) c[e] = static_cast<mma_sum<T>>(d[e]);
  }
};

#endif

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/block/simt/amd_mma.hpp");
