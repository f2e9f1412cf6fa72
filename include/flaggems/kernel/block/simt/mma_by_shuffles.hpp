// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// mma of 32 consecutive threads for SIMT devices without matrix instructions: by shuffles, slow.
// block/simt/block.hpp documents the layout.
#pragma once

#include <flaggems/kernel/block/simt/mma.hpp>
#include <flaggems/kernel/lang/lanes.hpp>

namespace flaggems::kernels {

struct small_tiles {
  template <class T, class Block>
  FLAGGEMS_INLINE static void multiply(const Block& block, mma_sum<T>* c, const u32* a,
                                       const u32* b) {
    using C = mma_sum<T>;
    using unit = conditional<sizeof(T) == 8, u64, u32>;  // one word, or the two of an element
    constexpr int words = static_cast<int>(sizeof(unit) / 4);
    constexpr int each = static_cast<int>(sizeof(unit) / sizeof(T)), terms = 8 / words * each;
    const int lane = block.thread() % 32, t = lane % 4;
    C left[2][terms], right[2][terms];  // rows g and g + 8 of a, columns 2t and 2t + 1 of b
    FLAGGEMS_SIMT_NO_UNROLL
    for (int mask = 0; mask < 4; ++mask)
      for (int i = 0; i < 4 / words; ++i) {
        const unit x = block.template shuffle_xor<unit>(unit_of<unit>(a + i * words), mask);
        const int q = (t ^ mask) + i / 2 * 4;
        FLAGGEMS_SIMT_NO_UNROLL
        for (int e = 0; e < each; ++e) left[i % 2][q * each + e] = element_of<T>(x, e);
      }
    FLAGGEMS_SIMT_NO_UNROLL
    for (int mask = 0; mask < 32; ++mask)
      for (int i = 0; i < 2 / words; ++i) {
        const unit x = block.template shuffle_xor<unit>(unit_of<unit>(b + i * words), mask);
        const int from = lane ^ mask, column = from / 4 - 2 * t, q = from % 4 + i * 4;
        if (column < 0 || column > 1) continue;
        FLAGGEMS_SIMT_NO_UNROLL
        for (int e = 0; e < each; ++e) right[column][q * each + e] = element_of<T>(x, e);
      }
    FLAGGEMS_SIMT_NO_UNROLL
    for (int e = 0; e < 4; ++e) FLAGGEMS_SIMT_NO_UNROLL
    for (int q = 0; q < terms; ++q) c[e] = left[e / 2][q] * right[e % 2][q] + c[e];
  }

  template <class Block>
  FLAGGEMS_INLINE static u32 transpose(const Block& block, u32 x) {
    const int lane = block.thread() % 32, g = lane / 4, t = lane % 4;
    u32 r = 0;
    FLAGGEMS_SIMT_NO_UNROLL
    for (int mask = 0; mask < 32; ++mask) {
      const u32 other = block.template shuffle_xor<u32>(x, mask);
      const int from = lane ^ mask, row = from / 4 - 2 * t;
      if (row < 0 || row > 1 || from % 4 != g / 2) continue;
      const u32 element = g % 2 != 0 ? other >> 16 : other & 0xffffu;
      r |= row != 0 ? element << 16 : element;
    }
    return r;
  }

 private:
  template <class Unit>
  FLAGGEMS_INLINE static Unit unit_of(const u32* words) {
    if constexpr (sizeof(Unit) == 8)
      return words[0] | u64{words[1]} << 32;
    else
      return words[0];
  }
  /// An element of a word, the first one lowest; of f32 what tf32 holds.
  template <class T, class Unit>
  FLAGGEMS_INLINE static mma_sum<T> element_of(Unit word, [[maybe_unused]] int which) {
    if constexpr (sizeof(T) == 8)
      return bit_cast<T>(word);
    else if constexpr (is_same<T, f32>)
      return bit_cast<f32>(word & ~u32{0x1fff});
    else if constexpr (is_same<T, i8>)
      return static_cast<u32>(static_cast<i8>(word >> 8 * which & 0xffu));
    else if constexpr (is_same<T, u8>)
      return word >> 8 * which & 0xffu;
    else if constexpr (sizeof(T) == 1)
      return T::from_bits(static_cast<u8>(word >> 8 * which & 0xffu));
    else
      return T::from_bits(static_cast<u16>(word >> 16 * which & 0xffffu));
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/block/simt/mma_by_shuffles.hpp");
