// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands of grouped products: lines of numbers, or of codes with scales and zero points. What
// codes they are is known at run time, so that one kernel takes all of them.
#pragma once

#include <flaggems/kernel/lang/vector_access.hpp>
#include <flaggems/kernel/math/basic.hpp>

namespace flaggems::kernels {

/// What an element of a coded operand is. `u8_128` and `u4_8` are less 128 and 8; those of 4 bits
/// lie in pairs along the sum, the first one low. `e2m1` are signed floats of 4 bits, `e8m0` powers
/// of two, as OCP's MX formats have them.
enum class coding : i32 { f32, bf16, f16, f8e4m3, f8e5m2, i8, u8, u8_128, u4, u4_8, e2m1, e8m0 };

/// Whether two elements share a byte.
FLAGGEMS_INLINE constexpr bool is_paired(coding c) {
  return c == coding::u4 || c == coding::u4_8 || c == coding::e2m1;
}

/// The number of a code of e2m1.
FLAGGEMS_INLINE f32 number_of_e2m1(u32 code) {
  const u32 exponent = code >> 1 & 3u, mantissa = code & 1u;
  const f32 x = exponent == 0u ? static_cast<f32>(mantissa) * 0.5F
                               : bit_cast<f32>(u32{(exponent + 126u) << 23 | mantissa << 22});
  return (code & 8u) != 0u ? -x : x;
}
/// 2^(code - 127); infinite for 255.
FLAGGEMS_INLINE f32 number_of_e8m0(u32 code) {
  return bit_cast<f32>(code == 0u ? u32{0x00400000u} : u32{code << 23});
}

/// Bytes of an element; 0 for those of 4 bits.
FLAGGEMS_INLINE constexpr int bytes_of(coding c) {
  if (is_paired(c)) return 0;
  return c == coding::f32 ? 4 : c == coding::bf16 || c == coding::f16 ? 2 : 1;
}
/// The bits of the element at an offset, of 1, 2 or 4 bytes.
FLAGGEMS_INLINE u32 bits_at(int bytes, global_ptr<const u8> data, i64 at) {
  if (bytes == 4) return reinterpret_cast<global_ptr<const u32>>(data)[at];
  if (bytes == 2) return reinterpret_cast<global_ptr<const u16>>(data)[at];
  return data[at];
}

/// A number for some lines and terms of each group: scales, zero points, or a bias, of f32, bf16,
/// f16, u8 or e8m0. Null: absent.
struct coded_numbers {
  global_ptr<const u8> data;
  coding code;
  i64 group, line, term;  // strides in elements
  FLAGGEMS_INLINE f32 at(i64 g, i64 l, i64 t) const {
    const u32 bits = bits_at(bytes_of(code), data, g * group + l * line + t * term);
    if (code == coding::f32) return bit_cast<f32>(bits);
    if (code == coding::bf16) return bit_cast<f32>(u32{bits << 16});
    if (code == coding::f16) return f16::from_bits(static_cast<u16>(bits));
    return code == coding::e8m0 ? number_of_e8m0(bits) : static_cast<f32>(bits);
  }
  /// The same of codes of 4 bits, whose pairs are of two lines.
  FLAGGEMS_INLINE f32 paired_at(i64 g, i64 l, i64 t) const {
    return static_cast<f32>(data[g * group + l / 2 * line + t * term] >> (4 * (l & 1)) & 15);
  }
};

/// What zero points are: taken from codes before these are scaled, or added behind.
enum class zero_kind : i32 { none, code, pair_of_lines, added };

/// Lines of terms, of several groups: the number of a code is (code - zero) * scale, or
/// code * scale + zero.
struct coded_lines {
  static constexpr int run = 8;  // terms that are read together

  global_ptr<const u8> data;
  coding code;
  zero_kind zeros_are;
  i64 group, line, along;  // strides in elements; those of codes of 4 bits in bytes
  coded_numbers scales, zeros;
  i32 lines_each, terms_each;  // that share a scale and a zero
  bool scales_vary;            // along the sum; else `factor` has them
  bool is_whole;  // `run` terms from a multiple of that on are a vector of 8, 16 or 32 bytes

  /// Terms [q, q + count) of a line as f32, and zeros up to `run`; q is even for codes of 4 bits.
  FLAGGEMS_INLINE void read(i64 g, i64 l, i64 q, int count, f32 (&x)[run]) const {
    u32 bits[run];
    fetch(g * group + l * line, q, count, bits);
    switch (code) {
      case coding::f32:
        static_for<run>([&](auto e) FLAGGEMS_LAMBDA { x[e] = bit_cast<f32>(bits[e]); });
        break;
      case coding::bf16:
        static_for<run>([&](auto e) FLAGGEMS_LAMBDA { x[e] = bit_cast<f32>(u32{bits[e] << 16}); });
        break;
      case coding::f16: decode<f16, u16>(bits, x); break;
      case coding::f8e4m3: decode<f8e4m3, u8>(bits, x); break;
      case coding::f8e5m2: decode<f8e5m2, u8>(bits, x); break;
      case coding::i8:
        static_for<run>([&](auto e)
                            FLAGGEMS_LAMBDA { x[e] = static_cast<f32>(static_cast<i8>(bits[e])); });
        break;
      case coding::e2m1:
        static_for<run>([&](auto e) FLAGGEMS_LAMBDA { x[e] = number_of_e2m1(bits[e]); });
        break;
      default: {
        const f32 zero = code == coding::u8_128 ? 128.0F : code == coding::u4_8 ? 8.0F : 0.0F;
        static_for<run>([&](auto e) FLAGGEMS_LAMBDA { x[e] = static_cast<f32>(bits[e]) - zero; });
      }
    }
    if (scales_vary || count < run) finish(g, l, q, count, x);
  }
  /// What sums of a line are multiplied by: its scale, where that is one for all terms.
  FLAGGEMS_INLINE f32 factor(i64 g, i64 l) const {
    if (scales_vary || scales.data == nullptr) return 1;
    return scales.at(g, static_cast<u32>(l) / static_cast<u32>(lines_each), 0);
  }

 private:
  template <class T, class Bits>
  FLAGGEMS_INLINE static void decode(const u32 (&bits)[run], f32 (&x)[run]) {
    static_for<run>([&](auto e) FLAGGEMS_LAMBDA {
      x[e] = number_cast<f32>(T::from_bits(static_cast<Bits>(bits[e])));
    });
  }
  /// The bits of terms of a line that begins at an offset.
  FLAGGEMS_INLINE void fetch(i64 at, i64 q, int count, u32 (&bits)[run]) const {
    const int bytes = bytes_of(code);
    if (bytes == 0) {
      const global_ptr<const u8> from = data + at + q / 2 * along;
      static_for<run / 2>([&](auto h) FLAGGEMS_LAMBDA {
        const u32 pair = 2 * h < count ? from[h * along] : u8{0};
        bits[2 * h] = pair & 15u;
        bits[2 * h + 1] = pair >> 4;
      });
    } else if (is_whole && count == run && q % run == 0) {  // vectors of 8, 16 or 32 bytes
      const auto words = reinterpret_cast<global_ptr<const u32>>(data + (at + q) * bytes);
      if (bytes == 4) {
        static_for<run>([&](auto e) FLAGGEMS_LAMBDA { bits[e] = words[e]; });
      } else if (bytes == 2) {
        const vec<u32, 4> w = load_words<u32>(words);
        static_for<run>([&](auto e)
                            FLAGGEMS_LAMBDA { bits[e] = w.at[e / 2] >> (e % 2 * 16) & 0xffffu; });
      } else {
        const vec<u32, 2> w = load_vec<2>(words);
        static_for<run>([&](auto e)
                            FLAGGEMS_LAMBDA { bits[e] = w.at[e / 4] >> (e % 4 * 8) & 0xffu; });
      }
    } else {
      static_for<run>([&](auto e) FLAGGEMS_LAMBDA {
        bits[e] = e < count ? bits_at(bytes, data, at + (q + e) * along) : 0u;
      });
    }
  }
  /// Scales a run, and clears what is behind it.
  FLAGGEMS_INLINE void finish(i64 g, i64 l, i64 q, int count, f32 (&x)[run]) const {
    const i64 own = static_cast<u32>(l) / static_cast<u32>(lines_each);
    const u32 each = scales_vary ? static_cast<u32>(terms_each) : u32{run};
    FLAGGEMS_SIMT_NO_UNROLL
    for (int first = 0; first < run;) {
      const u32 part = static_cast<u32>(q + first) / each;
      const int next =
          first < count ? static_cast<int>(min_of((i64{part} + 1) * each - q, i64{count})) : run;
      f32 scale = first < count ? 1.0F : 0.0F, taken = 0, added = 0;
      if (first < count && scales_vary) {
        if (scales.data != nullptr) scale = scales.at(g, own, part);
        if (zeros_are == zero_kind::pair_of_lines) {
          taken = zeros.paired_at(g, own, part);
        } else if (zeros_are != zero_kind::none) {
          const f32 zero = zeros.at(g, own, part);
          (zeros_are == zero_kind::added ? added : taken) = zero;
        }
      }
      static_for<run>([&](auto e) FLAGGEMS_LAMBDA {
        if (e >= first && e < next) x[e] = e < count ? (x[e] - taken) * scale + added : 0.0F;
      });
      first = next;
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/coded.hpp");
