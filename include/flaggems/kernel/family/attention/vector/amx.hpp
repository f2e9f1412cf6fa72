// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Attention of many queries in bf16 by AMX tiles: both products use the micro-kernel of a matrix
// product, 32 queries by 32 keys or values. Keys and values are packed once for a block of queries.
// Weights are rounded to bf16 before they multiply values, and the rounded ones are summed; where
// keys are few, so that errors do not cancel, the rounding errors are multiplied too.
#pragma once

#include <flaggems/kernel/family/attention/attention.hpp>
#include <flaggems/kernel/family/gemm/vector/amx.hpp>
#include <flaggems/kernel/lang/vector/scalars.hpp>

namespace flaggems::kernels {

/// Two vectors of f32 as bf16 (ties away from zero), and what they became.
template <int Bytes>
struct upper_words;
#define FLAGGEMS_UPPER_WORDS(bytes, ...)                                                 \
  template <>                                                                            \
  struct upper_words<bytes> {                                                            \
    typedef u32 words __attribute__((vector_size(bytes)));                               \
    typedef u16 half __attribute__((vector_size(bytes)));                                \
    typedef u16 loose __attribute__((vector_size(bytes), aligned(1), may_alias));        \
    template <class V>                                                                   \
    FLAGGEMS_HOST_INLINE static void store(void* to, V& x, V& y) {                       \
      using F = decltype(x.v);                                                           \
      const words a = (words)x.v + 0x8000u, b = (words)y.v + 0x8000u;                    \
      *static_cast<loose*>(to) = __builtin_shufflevector((half)a, (half)b, __VA_ARGS__); \
      x.v = (F)(a & 0xffff0000u);                                                        \
      y.v = (F)(b & 0xffff0000u);                                                        \
    }                                                                                    \
  }
FLAGGEMS_UPPER_WORDS(16, 1, 3, 5, 7, 9, 11, 13, 15);
FLAGGEMS_UPPER_WORDS(32, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
FLAGGEMS_UPPER_WORDS(64, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39,
                     41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63);
#undef FLAGGEMS_UPPER_WORDS

/// 2^x for x <= 0 within 3e-6 of itself, much closer than bf16 is; 0 from -127 on. NaN stays.
template <class V>
FLAGGEMS_HOST_INLINE void exp2_of_weight(V& x) {
  using words = typename register_vector<u32, typename V::isa>::type;
  x = greater_of(V(-127.0f), x);
  const V shift(12582912.0f + 127);  // 1.5 * 2^23 and the bias of the exponent
  const V shifted = x + shift;
  const V r = x - (shifted - shift);
  V y = multiply_add<V>(r, V(0.00957009662f), V(0.0559178591f));
  y = multiply_add<V>(r, y, V(0.240247443f));
  y = multiply_add<V>(r, y, V(0.693121791f));
  y = multiply_add<V>(r, y, V(0.999999285f));
  V power;
  power.v = (decltype(power.v))((words)shifted.v << 23);
  x = y * power;
}

/// attention_softmax for `rows` rows of `n` scores, of which `seen` are visible; the weights are
/// written as bf16.
template <class MaskRow>
struct weigh_scores {
  struct arguments {
    f32* score;
    small_float<bf16_format>*weight, *rest;  // rest: null, or for the rounding errors
    i64 row;                                 // of all three
    i64 rows, n;
    const i64* seen;
    const MaskRow* mask;
    f32 scale;
    f32 *largest, *total, *sum;
    i64 width;
    bool first;
  };
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    using V = simd<f32, Isa>;
    using narrow = upper_words<Isa::bytes>;
    constexpr i64 lanes = Isa::lanes;
    // Scores stay as they are where nothing is added and the largest product is the largest score.
    const bool raw = is_same<MaskRow, no_mask> && p.scale > 0;
    const V scale(p.scale);
    const f32 to_base_2 = (raw ? p.scale : 1.0f) * 1.44269504088896341f;
    const V factor(to_base_2);
    const i64 n = p.n;
    for (i64 r = 0; r < p.rows; ++r) {
      f32* const line = p.score + r * p.row;
      const auto weight = p.weight + r * p.row;
      const auto rest = p.rest == nullptr ? nullptr : p.rest + r * p.row;
      const i64 seen = min_of(p.seen[r], n);
      if (!raw)
        for (i64 j = 0; j < seen; j += lanes) {
          const lane_tail<Isa> lane{j, static_cast<int>(min_of(seen - j, lanes))};
          V s;
          read_vector(s, line + j);
          s = s * scale;
          if constexpr (!is_same<MaskRow, no_mask>) s = p.mask[r].template apply<f32>(lane, s);
          write_vector(line + j, s, Isa::lanes);
        }
      for (i64 j = seen; j < n; ++j) line[j] = lowest<f32>();
      V most(lowest<f32>()), more(lowest<f32>());
      for (i64 j = 0; j < n; j += 2 * lanes) {
        V x, y;
        read_vector(x, line + j);
        read_vector(y, line + j + lanes);
        most = greater_of(x, most);
        more = greater_of(y, more);
      }
      // Nothing seen so far: any number but -inf will do, all exponentials are 0.
      const f32 before = p.largest[r];
      const f32 now = greater_of(before, fold_lanes<f32>(greater_of(most, more), maximum_of{}));
      const f32 shift = now == lowest<f32>() ? 0.0f : now;
      const V by(-shift * to_base_2);
      V sum(0.0f);
      for (i64 j = 0; j < n; j += 2 * lanes) {
        V x, y;
        read_vector(x, line + j);
        read_vector(y, line + j + lanes);
        x = multiply_add<V>(x, factor, by);
        y = multiply_add<V>(y, factor, by);
        exp2_of_weight(x);
        exp2_of_weight(y);
        const V all = x + y;
        V lost_x = x, lost_y = y;
        narrow::store(weight + j, x, y);
        if (rest != nullptr) {
          lost_x = lost_x - x;
          lost_y = lost_y - y;
          narrow::store(rest + j, lost_x, lost_y);
          sum += all;
        } else {
          sum += x + y;
        }
      }
      const f32 correction = exp_not_positive(f32((before - shift) * (raw ? p.scale : 1.0f)));
      p.total[r] = p.total[r] * correction + total_of(sum);
      p.largest[r] = now;
      if (p.first || correction == 1) continue;
      const V by_row(correction);
      for (i64 e = 0; e < p.width; e += lanes) {
        V s;
        read_vector(s, p.sum + r * p.width + e);
        write_vector(p.sum + r * p.width + e, V(s * by_row), Isa::lanes);
      }
    }
  }
};

/// A row of weighted values, divided by the sum of the weights.
template <class T>
struct finish_row {
  struct arguments {
    f32* sum;
    f32 total;
    i64 n;
    T* to;
    i64 element;
  };
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    // No key seen: 0, an empty sum. (Otherwise the largest score adds 1 to the total.)
    const simd<f32, Isa> factor(p.total == 0 ? 1.0f : 1 / p.total);
    const auto step = [&](auto lane) FLAGGEMS_LAMBDA {
      store(p.to, p.element, lane,
            simd<f32, Isa>(load<f32>(host_scratch<f32>{p.sum}, lane) * factor));
    };
    i64 e = 0;
    for (; e + Isa::lanes <= p.n; e += Isa::lanes) step(lane_vector<Isa>{e});
    if (e < p.n) step(lane_tail<Isa>{e, static_cast<int>(p.n - e)});
  }
};

/// Query, key, value and result of bf16. For levels whose product of bf16 goes `by_rows`.
template <class Mask>
struct attention_tiles {
  using T = small_float<bf16_format>;
  static constexpr bool has_bf16_entries = true;
  static constexpr i64 rows = 32;
  static constexpr i64 keys = 512;  // at a time
  // Rows that see fewer keys multiply the rounding errors of their weights, too: without them,
  // errors would exceed the tolerance.
  static constexpr i64 few_keys = 128;
  static constexpr i64 least_rows = 64, most_rows = 256;  // queries that share packed keys

  /// The bytes of scratch that a launch needs.
  static constexpr i64 scratch(i64 head_size, i64 value_size) {
    const i64 depth = round_up(head_size, i64(32)), width = round_up(value_size, i64(32));
    return most_rows * (2 * depth + 4 * width + 16) + keys * 2 * (depth + width) + rows * keys * 8 +
           10 * 256;
  }

  template <class Block>
  FLAGGEMS_HOST_INLINE static void run(Block& block, attention_space space,
                                       attention_arg<const T> q, attention_arg<const T> k,
                                       attention_arg<const T> v, Mask mask, attention_arg<T> out,
                                       f32 scale) {
    using kernel = tile_kernel<T, T, f32, typename Block::isa>;
    if constexpr (kernel::by_rows)
      multiply<kernel>(block, space, q, k, v, mask, out, scale);
    else
      __builtin_trap();  // never launched there
  }

 private:
  template <class Kernel, class Block>
  FLAGGEMS_HOST_INLINE static void multiply(Block& block, const attention_space& space,
                                            const attention_arg<const T>& q,
                                            const attention_arg<const T>& k,
                                            const attention_arg<const T>& v, const Mask& mask,
                                            const attention_arg<T>& out, f32 scale) {
    using isa = typename Block::isa;
    using mask_row = decltype(mask.row(coordinates{}, 0, 0, 0));
    using weigh = weigh_scores<mask_row>;
    const i64 depth = round_up(space.head_size, rows), width = round_up(space.value_size, rows);
    T* const query = block.template scratch<T>(most_rows * depth).data;
    f32* const sum = block.template scratch<f32>(most_rows * width).data;
    f32* const largest = block.template scratch<f32>(most_rows).data;
    f32* const total = block.template scratch<f32>(most_rows).data;
    i64* const visible = block.template scratch<i64>(most_rows).data;
    T* const packed_keys = block.template scratch<T>(keys * depth).data;
    T* const packed_values = block.template scratch<T>(keys * width).data;
    f32* const score = block.template scratch<f32>(rows * keys).data;
    T* const weight = block.template scratch<T>(rows * keys).data;
    T* const lost = block.template scratch<T>(rows * keys).data;
    const i64 all_rows = space.group * space.queries;
    // Each worker should get several blocks of queries, all of about one size.
    i64 share = most_rows;
    while (share > least_rows && space.batches * ceil_div(all_rows, share) < 4 * block.count())
      share /= 2;
    share = round_up(ceil_div(all_rows, ceil_div(all_rows, share)), rows);
    const i64 blocks = ceil_div(all_rows, share);
    panel_arguments<f32> t;
    t.alpha = 1;
    t.vectors = 2;
    t.b_along = 32;
    t.narrow = nullptr;
    t.prefetch_from = nullptr;
    t.prefetch_line = t.prefetch_step = 0;
    t.prefetch_lines = 0;
    Kernel::begin();
    block.for_each_tile(space.batches * blocks, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 batch = tile / blocks, begin = (tile - batch * blocks) * share;
      const i64 count = min_of(share, all_rows - begin), padded = round_up(count, rows);
      const coordinates c = space.locate(batch);
      const T* const from_k = k.at(c);
      const T* const from_v = v.at(c);
      i64 end = 0;  // keys that any row sees
      for (i64 r = 0; r < count; ++r) {
        const i64 head = (begin + r) / space.queries, position = begin + r - head * space.queries;
        const T* const from = q.at(c) + head * q.head + position * q.position;
        T* const to = query + r * depth;
        if (q.element == 1)
          __builtin_memcpy(to, from, static_cast<unsigned long>(space.head_size) * sizeof(T));
        else
          for (i64 e = 0; e < space.head_size; ++e) to[e] = from[e * q.element];
        for (i64 e = space.head_size; e < depth; ++e) to[e].bits = 0;
        visible[r] = max_of(i64(0), min_of(space.keys, position + space.diagonal + 1));
        end = max_of(end, visible[r]);
      }
      for (i64 e = count * depth; e < padded * depth; ++e) query[e].bits = 0;
      for (i64 e = 0; e < padded * width; ++e) sum[e] = 0;
      for (i64 r = 0; r < padded; ++r) {
        largest[r] = lowest<f32>();
        total[r] = 0;
      }
      for (i64 start = 0; start < end; start += keys) {
        const i64 n = min_of(keys, end - start);
        Kernel::template pack_columns<T>(pack_arguments<T>{
            from_k + start * k.position, k.position, k.element, n, space.head_size, packed_keys});
        Kernel::template pack_columns<T>(pack_arguments<T>{from_v + start * v.position, v.element,
                                                           v.position, space.value_size, n,
                                                           packed_values});
        const i64 value_panel = Kernel::panel_bytes(rows, ceil_div(n, rows));
        for (i64 g = 0; g < padded; g += rows) {
          const i64 live = min_of(rows, count - g);
          i64 seen[rows], most = 0, all = 0;
          mask_row masks[rows];
          for (i64 r = 0; r < live; ++r) {
            all = max_of(all, visible[g + r]);
            seen[r] = min_of(n, max_of(i64(0), visible[g + r] - start));
            most = max_of(most, seen[r]);
            if constexpr (!is_same<mask_row, no_mask>) {
              const i64 row = begin + g + r;
              masks[r] = mask.row(c, row / space.queries, row % space.queries, start);
            }
          }
          if (most == 0) continue;
          const i64 key_span = round_up(most, rows);
          t.a = query + g * depth;
          t.a_row = depth;
          t.a_along = rows;
          t.steps = depth / rows;
          t.out_row = keys;
          t.add = false;
          for (i64 j = 0; j < key_span; j += rows) {
            t.b = packed_keys + j * depth;
            t.out = score + j;
            Kernel::product(t);
          }
          outlined<isa>::template call<weigh>(typename weigh::arguments{
              score, weight, all < few_keys ? lost : nullptr, keys, live, key_span, seen, masks,
              scale, largest + g, total + g, sum + g * width, width, start == 0});
          t.a_row = keys;
          t.steps = key_span / rows;
          t.out_row = width;
          for (i64 e = 0; e < width; e += rows) {
            t.b = static_cast<const char*>(static_cast<const void*>(packed_values)) +
                  e / rows * value_panel;
            t.out = sum + g * width + e;
            t.a = weight;
            t.add = start > 0;
            Kernel::product(t);
            if (all >= few_keys) continue;
            t.a = lost;
            t.add = true;
            Kernel::product(t);
          }
        }
      }
      for (i64 r = 0; r < count; ++r) {
        const i64 row = begin + r;
        outlined<isa>::template call<finish_row<T>>(typename finish_row<T>::arguments{
            sum + r * width, total[r], space.value_size,
            out.at(c) + row / space.queries * out.head + row % space.queries * out.position,
            out.element});
      }
    });
    Kernel::end();
  }
};

}  // namespace flaggems::kernels
