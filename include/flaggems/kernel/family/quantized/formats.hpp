// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Block formats of GGUF: 32 consecutive elements of a row share one or two scales. A kernel decodes
// `Positions` elements side by side: position o of a block yields its elements o, o + Positions,
// o + 2 * Positions, ... (with 8 positions, the four elements of two bytes of nibbles).
#pragma once

#include <flaggems/kernel/lang/lanes.hpp>
#include <flaggems/kernel/math/basic.hpp>

namespace flaggems::kernels {

/// x as an f32 in every lane: converted as a vector where there are vectors.
FLAGGEMS_INLINE f32 broadcast(lane_scalar, f16 x) { return x; }

/// The elements of a block of every format.
inline constexpr int quantized_block = 32;

/// The positions that a value of type V (f32 or a vector of it) decodes a block with.
template <class V>
inline constexpr int block_positions = lane_count<V> > 8 ? lane_count<V> : 8;

/// The f16 at an address of any alignment, little-endian.
FLAGGEMS_INLINE f16 stored_f16(global_ptr<const u8> p) {
  return f16::from_bits(static_cast<u16>(p[0] | (p[1] << 8)));
}

/// The nibbles of 16 bytes: element e is the low one of byte e, or the high one of byte e - 16.
template <int Positions>
struct nibbles {
  template <class Lane, class V>
  FLAGGEMS_INLINE static void decode(global_ptr<const u8> bytes, Lane lane, V* w) {
    using J = lane_value<Lane, i32>;
    constexpr int rows = 16 / Positions;
    static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
      const J pair = load<i32>(bytes + r * Positions, lane);
      w[r] = convert<f32>(J(pair & J(15)));
      w[rows + r] = convert<f32>(J(pair >> 4));
    });
  }
};

/// {f16 d; u8 qs[16]}: element e is (q - 8) * d.
struct q4_0 {
  static constexpr int bytes = 18;
  /// The elements of the positions `lane` of a block.
  template <int Positions, class Lane, class V>
  FLAGGEMS_INLINE static void decode(global_ptr<const u8> block, Lane lane, V* w) {
    const V d = broadcast(lane, stored_f16(block));
    nibbles<Positions>::decode(block + 2, lane, w);
    static_for<quantized_block / Positions>([&](auto p)
                                                FLAGGEMS_LAMBDA { w[p] = (w[p] - V(8.0F)) * d; });
  }
};

/// {f16 d, m; u8 qs[16]}: element e is q * d + m.
struct q4_1 {
  static constexpr int bytes = 20;
  template <int Positions, class Lane, class V>
  FLAGGEMS_INLINE static void decode(global_ptr<const u8> block, Lane lane, V* w) {
    const V d = broadcast(lane, stored_f16(block));
    const V m = broadcast(lane, stored_f16(block + 2));
    nibbles<Positions>::decode(block + 4, lane, w);
    static_for<quantized_block / Positions>([&](auto p)
                                                FLAGGEMS_LAMBDA { w[p] = fma(w[p], d, m); });
  }
};

/// {f16 d; i8 qs[32]}: element e is q * d.
struct q8_0 {
  static constexpr int bytes = 34;
  template <int Positions, class Lane, class V>
  FLAGGEMS_INLINE static void decode(global_ptr<const u8> block, Lane lane, V* w) {
    const V d = broadcast(lane, stored_f16(block));
    const global_ptr<const i8> q = reinterpret_cast<global_ptr<const i8>>(block + 2);
    static_for<quantized_block / Positions>([&](auto p) FLAGGEMS_LAMBDA {
      w[p] = convert<f32>(load<i32>(q + p * Positions, lane)) * d;
    });
  }
};

/// How a block of activations becomes integers of 8 bits times a scale: the largest magnitude is
/// 127, integers are the nearest ones (to even); a block below 2^-120 is 0, one with an infinity or
/// NaN is NaN.
struct byte_scale {
  // Added to a number it leaves an integer, in the last bits: 1.5 * 2^23.
  static constexpr f32 shift = 12582912.0F;
  static constexpr i32 shift_bits = 0x4b400000;
  f32 scale, inverse;
  FLAGGEMS_INLINE static byte_scale of(f32 largest) {
    if (!(largest <= 3.402823466e38F)) return {nan_of<f32>(), 0.0F};
    if (largest < 7.52316385e-37F) return {0.0F, 0.0F};
    return {largest / 127.0F, 127.0F / largest};
  }
  FLAGGEMS_INLINE f32 rounded(f32 x) const { return (fma(x, inverse, shift) - shift) * scale; }
};

/// Element e of a block.
template <class Format>
FLAGGEMS_INLINE f32 dequantize(global_ptr<const u8> block, i64 e) {
  f32 w[4];
  Format::template decode<8>(block, lane_scalar{e % 8}, w);
  return w[e / 8];
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/quantized/formats.hpp");
