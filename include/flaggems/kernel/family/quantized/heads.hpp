// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Heads of tokens that are normed, rotated by their positions, encoded in 8 or 4 bits with scales
// of groups, and written to rows or to slots of a paged cache: one text, whose parts are options.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/family/quantized/scale.hpp>
#include <flaggems/kernel/family/row/rotary.hpp>

namespace flaggems::kernels {

/// Where the row of a token's head begins. Tokens lie in pages of `page` tokens, and heads in
/// groups of `group` heads; 0: in none.
struct head_places {
  i64 page, next_page, token, head;
  i64 group = 0, next_group = 0;
  FLAGGEMS_INLINE i64 offset(i64 t, i64 h) const {
    const i64 p = page == 0 ? 0 : t / page, g = group == 0 ? 0 : h / group;
    return p * next_page + (t - p * page) * token + g * next_group + (h - g * group) * head;
  }
};

/// Rotates the `pairs` last pairs of a head: (a, b) -> (a cos - b sin, b cos + a sin), `back` by
/// the negative angle. A row of the table has cosines, then sines, for each of `rows` positions.
template <class W>
struct head_rotation {
  global_ptr<const W> table;
  i64 row, step;
  i64 pairs, rows;
  global_ptr<const i64> positions;
  i64 position_step;
  bool back;
};

/// What is done to rows of `pairs` pairs of elements: normed to a mean square of 1 with `normed`,
/// rotated, and the first `coded` pairs written as codes in groups of `group`, a divisor; what is
/// behind them is written as numbers. With `rounded` what is encoded has the precision of the
/// input. With slots, token t goes to slots[t], and nowhere if that is not in [0, places).
struct head_steps {
  i64 tokens, heads, pairs, coded, group;
  global_ptr<const i64> slots;
  i64 slot_step, places;
  f32 eps;       // of the norm
  f32 floor;     // the least largest magnitude of a group
  f32 greatest;  // the greatest code
  bool normed, rounded, powers_of_two;
};

/// Rows that are read or written as numbers.
template <class T>
struct head_rows {
  global_ptr<T> data;
  head_places at;
  i64 step;
};

/// Codes of f8e4m3, an element each.
struct f8_codes {
  global_ptr<f8e4m3> data;
  head_places at;
  i64 step;
  template <class Lane, class V>
  FLAGGEMS_INLINE void put(i64 row, i64 pair, Lane lane, FLAGGEMS_VALUE(V) a,
                           FLAGGEMS_VALUE(V) b) const {
    const global_ptr<f8e4m3> to = data + row + 2 * pair * step;
    store(to, 2 * step, lane, a);
    store(to + step, 2 * step, lane, b);
  }
};

/// The code of f4e2m1 nearest to x, ties to even: 0, 0.5, 1, 1.5, 2, 3, 4, 6 with a sign; larger
/// numbers and NaN become 6.
template <class V>
FLAGGEMS_INLINE rebind<V, u32> f4_code(FLAGGEMS_VALUE(V) x) {
  using bits = rebind<V, u32>;
  const V m = abs(x);
  const bits one(1u), none(0u);
  bits code = select(m > V(0.25F), one, none);
  code = code + select(m >= V(0.75F), one, none);
  code = code + select(m > V(1.25F), one, none);
  code = code + select(m >= V(1.75F), one, none);
  code = code + select(m > V(2.5F), one, none);
  code = code + select(m >= V(3.5F), one, none);
  code = code + select(m > V(5.0F), one, none);
  code = select(x == x, code, bits(7u));
  return code | ((bit_cast<bits>(x) >> 28) & bits(8u));
}
/// Codes of f4e2m1, a byte a pair: the first element in the low half.
struct f4_codes {
  global_ptr<u8> data;
  head_places at;
  i64 step;
  template <class Lane, class V>
  FLAGGEMS_INLINE void put(i64 row, i64 pair, Lane lane, FLAGGEMS_VALUE(V) a,
                           FLAGGEMS_VALUE(V) b) const {
    const auto byte = f4_code<V>(a) | (f4_code<V>(b) << 4);
    store(data + row + pair * step, step, lane, byte);
  }
};

/// Scales as numbers, one a group.
struct scale_numbers {
  global_ptr<f32> data;
  head_places at;
  i64 step;
  FLAGGEMS_INLINE void put(i64, i64, i64 slot, i64 head, i64 group, f32 scale) const {
    data[at.offset(slot, head) + group * step] = scale;
  }
  FLAGGEMS_INLINE void end(i64, i64, i64) const {}
};
/// Powers of two as bytes: the exponent plus 127. There are `bytes` a head; those of no group are
/// 0.
struct scale_exponents {
  global_ptr<u8> data;
  head_places at;
  i64 step, bytes;
  FLAGGEMS_INLINE void put(i64, i64, i64 slot, i64 head, i64 group, f32 scale) const {
    data[at.offset(slot, head) + group * step] =
        static_cast<u8>((bit_cast<u32>(scale) >> 23) & 255u);
  }
  FLAGGEMS_INLINE void end(i64 slot, i64 head, i64 groups) const {
    for (i64 k = groups; k < bytes; ++k) data[at.offset(slot, head) + k * step] = u8(0);
  }
};
/// Weights of heads: out = weight * the scale (1 with codes that keep theirs) * two factors.
template <class W>
struct head_weights {
  global_ptr<const W> in;
  global_ptr<f32> out;
  i64 in_token, in_head, out_token, out_head;
  f32 first, second;
  FLAGGEMS_INLINE void put(i64 token, i64 head, f32 scale) const {
    out[token * out_token + head * out_head] =
        number_cast<f32>(in[token * in_token + head * in_head]) * scale * first * second;
  }
};
/// A head's one scale in its weight.
template <class W>
struct scale_in_weights {
  head_weights<W> weights;
  FLAGGEMS_INLINE void put(i64 token, i64 head, i64, i64, i64, f32 scale) const {
    weights.put(token, head, scale);
  }
  FLAGGEMS_INLINE void end(i64, i64, i64) const {}
};
/// Exponents beside weights that do not have them.
template <class W>
struct scale_beside_weights {
  scale_exponents bytes;
  head_weights<W> weights;
  FLAGGEMS_INLINE void put(i64 token, i64 head, i64 slot, i64 at_head, i64 group, f32 scale) const {
    bytes.put(token, head, slot, at_head, group, scale);
    if (group == 0) weights.put(token, head, 1.0F);
  }
  FLAGGEMS_INLINE void end(i64 slot, i64 head, i64 groups) const { bytes.end(slot, head, groups); }
};

/// The steps for all heads, in f32. Rows of numbers may be those that are read.
template <class T, class W, class Number, class Codes, class Scales>
struct encoded_heads {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const head_steps& s, const head_rows<const T>& in,
                                  const head_rotation<W>& rotation, const head_rows<Number>& out,
                                  const Codes& codes, const Scales& scales) {
    block.for_each_tile(s.tokens * s.heads, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 token = tile / s.heads, head = tile - token * s.heads;
      const i64 slot = s.slots == nullptr ? token : s.slots[token * s.slot_step];
      if (slot < 0 || slot >= s.places) return;
      source from{in.data + in.at.offset(token, head),
                  in.step,
                  1.0F,
                  s.pairs - rotation.pairs,
                  nullptr,
                  nullptr,
                  rotation.step,
                  rotation.back ? -1.0F : 1.0F};
      if (s.normed) from.factor = norm(block, s, from);
      if (rotation.pairs > 0) {
        i64 position = rotation.positions[token * rotation.position_step];
        position = max_of(i64(0), min_of(position, rotation.rows - 1));
        from.cos = rotation.table + position * rotation.row;
        from.sin = from.cos + rotation.pairs * rotation.step;
      }
      const i64 code_row = codes.at.offset(slot, head);
      for (i64 begin = 0, group = 0; begin < s.coded; begin += s.group, ++group) {
        const f32 scale = scale_of(block, s, from, begin);
        block.single([&]() FLAGGEMS_LAMBDA { scales.put(token, head, slot, head, group, scale); });
        from.each_part(begin, begin + s.group, [&](auto rotated, i64 first, i64 n) FLAGGEMS_LAMBDA {
          block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA {
            using V = lane_value<decltype(lane), f32>;
            const pair_of<V> x =
                from.template pair<decltype(rotated)::value != 0, V>(first, lane, s.rounded);
            codes.template put<decltype(lane), V>(code_row, first, lane, x.a / V(scale),
                                                  x.b / V(scale));
          });
        });
      }
      block.single(
          [&]() FLAGGEMS_LAMBDA { scales.end(slot, head, s.coded == 0 ? 0 : s.coded / s.group); });
      const global_ptr<Number> to = out.data + out.at.offset(slot, head);
      from.each_part(s.coded, s.pairs, [&](auto rotated, i64 first, i64 n) FLAGGEMS_LAMBDA {
        const global_ptr<Number> row = to + 2 * (first - s.coded) * out.step;
        block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), f32>;
          const pair_of<V> x =
              from.template pair<decltype(rotated)::value != 0, V>(first, lane, false);
          store(row, 2 * out.step, lane, x.a);
          store(row + out.step, 2 * out.step, lane, x.b);
        });
      });
    });
  }

 private:
  template <class V>
  struct pair_of {
    V a, b;
  };

  /// A row that is read: pair k is rotated from `plain` on.
  struct source {
    global_ptr<const T> data;
    i64 step;
    f32 factor;
    i64 plain;
    global_ptr<const W> cos, sin;
    i64 angle_step;
    f32 sign;

    /// f(whether they are rotated, first, count) for the parts of the pairs in [begin, end).
    template <class F>
    FLAGGEMS_INLINE void each_part(i64 begin, i64 end, const F& f) const {
      const i64 middle = max_of(begin, min_of(plain, end));
      if (begin < middle) f(int_constant<0>{}, begin, middle - begin);
      if (middle < end) f(int_constant<1>{}, middle, end - middle);
    }
    template <bool Rotated, class V, class Lane>
    FLAGGEMS_INLINE pair_of<V> pair(i64 first, Lane lane, bool rounded) const {
      const global_ptr<const T> row = data + 2 * first * step;
      V a = load<f32>(row, 2 * step, lane) * V(factor);
      V b = load<f32>(row + step, 2 * step, lane) * V(factor);
      if constexpr (Rotated) {
        const V co = load<f32>(cos + (first - plain) * angle_step, angle_step, lane);
        const V si = load<f32>(sin + (first - plain) * angle_step, angle_step, lane) * V(sign);
        const V turned = a * co - b * si;
        b = b * co + a * si;
        a = turned;
        if constexpr (is_small_float<T>)
          if (rounded) return {rounded_to<T>(a), rounded_to<T>(b)};
      }
      return {a, b};
    }
  };

  /// What makes a row's mean square 1.
  template <class Block>
  FLAGGEMS_INLINE static f32 norm(Block& block, const head_steps& s, const source& from) {
    const f32 squares = block.reduce(s.pairs, 0.0F, plus{}, [&](auto lane) FLAGGEMS_LAMBDA {
      using V = lane_value<decltype(lane), f32>;
      const pair_of<V> x = from.template pair<false, V>(0, lane, false);
      return V(x.a * x.a + x.b * x.b);
    });
    return rsqrt(squares / static_cast<f32>(2 * s.pairs) + s.eps);
  }

  /// The scale of the group whose first pair is `begin`.
  template <class Block>
  FLAGGEMS_INLINE static f32 scale_of(Block& block, const head_steps& s, const source& from,
                                      i64 begin) {
    f32 largest = s.floor;
    from.each_part(begin, begin + s.group, [&](auto rotated, i64 first, i64 n) FLAGGEMS_LAMBDA {
      const f32 own = block.reduce(n, 0.0F, maximum_of{}, [&](auto lane) FLAGGEMS_LAMBDA {
        using V = lane_value<decltype(lane), f32>;
        const pair_of<V> x =
            from.template pair<decltype(rotated)::value != 0, V>(first, lane, s.rounded);
        return maximum_of{}.template operator()<V>(abs(x.a), abs(x.b));
      });
      largest = maximum_of{}.template operator()<f32>(largest, own);
    });
    const f32 scale = largest / s.greatest;
    return s.powers_of_two && scale == scale
               ? next_power_of_two_fn{}.template operator()<f32>(scale)
               : scale;
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/quantized/heads.hpp");
