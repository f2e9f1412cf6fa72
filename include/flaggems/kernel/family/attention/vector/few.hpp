// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Attention of few queries on the host, as in a step of generation: keys and values are read in
// place, split into parts whose partial results are combined afterwards.
#pragma once

#include <flaggems/kernel/family/attention/vector/blocks.hpp>

namespace flaggems::kernels {

// Prefetches the next rows: of values while keys are read, and of keys while values are.
template <class Key>
FLAGGEMS_HOST_INLINE void fetch_row(const Key* p, i64 n) {
  for (i64 at = 0; at < n; at += 64 / i64(sizeof(Key))) __builtin_prefetch(p + at);
}

/// The scores of n keys, contiguous along their elements, for Rows queries.
template <class C, class Key, int Rows>
struct few_scores {
  static constexpr i64 tile = 64;
  struct arguments {
    const C* query;
    i64 query_row, size;
    const Key* keys;
    i64 position, n;
    const Key* values;  // to prefetch
    i64 values_position, values_size;
    C* score;  // [Rows][tile]
  };
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    using V = simd<C, Isa>;
    const host_block<Isa> block(0, 1, nullptr);
    const C* const query = p.query;
    const i64 n = p.n, query_row = p.query_row;
    alignas(64) C by_key[Rows == 1 ? 1 : Rows * tile];
    // Four sums are reduced together: of four rows and one key, transposed later, or of four keys.
    constexpr int at_once = Rows == 1 ? 4 : 2;  // keys for which the queries are read once
    for (i64 j = 0; j < n; j += at_once) {
      const Key* key[at_once];
      V dot[at_once][Rows];
      FLAGGEMS_UNROLL
      for (int e = 0; e < at_once; ++e) {
        key[e] = p.keys + min_of(j + e, n - 1) * p.position;
        fetch_row(p.values + (j + e) * p.values_position, p.values_size);
        FLAGGEMS_UNROLL
        for (int r = 0; r < Rows; ++r) dot[e][r] = V(C(0));
      }
      block.for_each_lane(p.size, [&](auto lane) FLAGGEMS_LAMBDA {
        V y[at_once];
        FLAGGEMS_UNROLL
        for (int e = 0; e < at_once; ++e) y[e] = load<C>(key[e], lane);
        FLAGGEMS_UNROLL
        for (int r = 0; r < Rows; ++r) {
          const V x = load_lanes<C, C, Isa>(query + r * query_row + lane.begin, Isa::lanes);
          FLAGGEMS_UNROLL
          for (int e = 0; e < at_once; ++e) dot[e][r] = multiply_add<V>(x, y[e], dot[e][r]);
        }
      });
      if constexpr (Rows == 1) {
        write_vector(p.score + j, totals_of(dot[0][0], dot[1][0], dot[2][0], dot[3][0]), 4);
      } else {
        FLAGGEMS_UNROLL
        for (int e = 0; e < at_once; ++e)
          write_vector(by_key + (j + e) * Rows,
                       totals_of(dot[e][0], dot[e][1], dot[e][2], dot[e][3]), 4);
      }
    }
    if constexpr (Rows > 1)
      transpose_lines<C>::transpose(by_key, Rows, round_up(n, i64(16)), Rows, p.score, tile);
  }
};

/// sum[r] = factor[r] * sum[r] + the n values, contiguous along their elements, by their scores.
template <class C, class Key, int Rows>
struct few_values {
  static constexpr i64 tile = 64;
  struct arguments {
    const Key* values;
    i64 position, size, n;
    const C *score, *factor;
    C* sum;
    i64 sum_row;
    const Key* keys;  // to prefetch
    i64 keys_position, keys_size;
  };
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    constexpr i64 lanes = Isa::lanes;
    i64 e = 0;
    for (; e + 2 * lanes <= p.size; e += 2 * lanes) add<2>(p, lane_vector<Isa>{e});
    host_block<Isa>(0, 1, nullptr).for_each_lane(p.size - e, [&](auto lane) FLAGGEMS_LAMBDA {
      lane.begin += e;
      add<1>(p, lane);
    });
  }

 private:
  template <int Vectors, class Lane>
  FLAGGEMS_HOST_INLINE static void add(const arguments& p, Lane lane) {
    using V = lane_value<Lane, C>;
    using isa = typename V::isa;
    constexpr i64 lanes = isa::lanes;
    const i64 sum_row = p.sum_row, n = p.n;
    V acc[Rows][Vectors];
    C* const to = p.sum + lane.begin;
    FLAGGEMS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const V factor = spread_from<C, isa>(p.factor + r);
      FLAGGEMS_UNROLL
      for (int e = 0; e < Vectors; ++e) {
        read_vector(acc[r][e], to + r * sum_row + e * lanes);
        acc[r][e] = acc[r][e] * factor;
      }
    }
    const Key *value = p.values, *next = p.keys;
    const C* score = p.score;
    for (i64 j = 0; j < n; ++j, ++score, value += p.position, next += p.keys_position) {
      if (lane.begin == 0) fetch_row(next, p.keys_size);
      V y[Vectors];
      FLAGGEMS_UNROLL
      for (int e = 0; e < Vectors; ++e) {
        auto at = lane;
        at.begin += e * lanes;
        y[e] = load<C>(value, at);
      }
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) {
        const V x = spread_from<C, isa>(score + r * tile);
        FLAGGEMS_UNROLL
        for (int e = 0; e < Vectors; ++e) acc[r][e] = multiply_add<V>(x, y[e], acc[r][e]);
      }
    }
    FLAGGEMS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      FLAGGEMS_UNROLL
      for (int e = 0; e < Vectors; ++e)
        write_vector(to + r * sum_row + e * lanes, acc[r][e], isa::lanes);
    }
  }
};

/// Up to 4 queries, all that share a key head or a few of a sequence's: keys and values are read in
/// place, contiguous along their elements, one tile at a time. Runs of keys begin at multiples
/// of 16.
template <class T, class Key, class Out, class C, class Mask>
struct attention_host_few {
  static constexpr bool has_parts = true;
  static constexpr int tile = 64;
  static constexpr int most_rows = 4;
  static constexpr int least_run = 16;  // keys at multiples of so many are in one line

  /// A part's result for a row: the weighted sum of values, the largest score, the sum of
  /// exponentials.
  static constexpr i64 found(i64 value_size) { return round_up(value_size, i64(16)) + 16; }

  static constexpr i64 scratch(i64 head_size, i64 value_size) {
    const i64 depth = round_up(head_size, i64(16)), width = round_up(value_size, i64(16));
    return most_rows * (depth + width + tile) * i64(sizeof(C)) + 3 * 256;
  }

  template <class Block, class Space>
  FLAGGEMS_HOST_INLINE static void run(Block& block, Space space, attention_arg<const T> q,
                                       attention_arg<const Key> k, attention_arg<const Key> v,
                                       Mask mask, attention_arg<Out> out, C scale, i64 parts,
                                       i64 length, C* partial) {
    using reading = read_lines<C, T, true>;
    using place = typename Space::tile_type::place;
    using softmax = attention_softmax_lines<C, Mask, place>;
    using dividing = divide_line<C, Out>;
    const auto read = block_part<reading>(block);
    const auto weigh = block_part<softmax>(block);
    const auto divide = block_part<dividing>(block);
    const i64 width = round_up(space.value_size, i64(16)),
              depth = round_up(space.head_size, i64(16));
    C* const query = block.template scratch<C>(most_rows * depth).data;
    C* const sum = block.template scratch<C>(most_rows * width).data;
    C* const score = block.template scratch<C>(most_rows * tile).data;
    const C unscaled[most_rows] = {C(1), C(1), C(1), C(1)};
    block.for_each_tile(space.tiles(most_rows) * parts, [&](i64 t) FLAGGEMS_LAMBDA {
      const i64 whole = t / parts, part = (t - whole * parts) * length;
      const auto here = space.tile(whole, most_rows);
      if (here.first >= here.rows) return;
      // Two instances, not four: two or three rows are padded to four, which are not stored.
      const int rows = static_cast<int>(min_of(here.rows - here.first, i64(most_rows)));
      const int computed = rows == 1 ? 1 : most_rows;
      const place& c = here.of_queries();
      const Key* const keys = k.at(here.of_keys());
      const Key* const values = v.at(here.of_keys());
      i64 head[most_rows], position[most_rows], visible[most_rows], end = 0, begin = here.keys;
      C largest[most_rows], total[most_rows], correction[most_rows];
      for (int r = 0; r < computed; ++r) {
        const i64 row = here.first + min_of(r, rows - 1);
        head[r] = here.head(row);
        position[r] = row - head[r] * here.queries;
        visible[r] = here.end(position[r]);
        end = max_of(end, visible[r]);
        begin = min_of(begin, here.begin(position[r]));
        largest[r] = lowest<C>();
        total[r] = C(0);
        const T* const from = q.at(c) + head[r] * q.head + position[r] * q.position;
        read.call({from, 0, q.element, 1, space.head_size, query + r * depth, 0, scale});
        for (i64 e = 0; e < width; ++e) sum[r * width + e] = C(0);
      }
      begin = max_of(part, begin / tile * tile);
      end = min_of(end, part + length);
      for (i64 start = begin; start < end; start += tile) {
        const i64 n = min_of(i64(tile), end - start);
        i64 seen[most_rows];
        for (int r = 0; r < computed; ++r) seen[r] = min_of(n, max_of(i64(0), visible[r] - start));
        here.for_each_run(start, n, [&](i64 i, i64 some) FLAGGEMS_LAMBDA {
          const Key* const key = here.key(k, keys, start + i);
          const Key* const value = here.key(v, values, start + i);
          with_rows(computed, [&](auto count) FLAGGEMS_LAMBDA {
            using scoring = few_scores<C, Key, decltype(count)::value>;
            block_part<scoring>(block).call({query, depth, space.head_size, key, k.position, some,
                                             value, v.position, space.value_size, score + i});
          });
        });
        weigh.call({score, i64(tile), round_up(n, i64(16)), computed, seen, mask, c, head, position,
                    start, largest, total, correction});
        here.for_each_run(start, n, [&](i64 i, i64 some) FLAGGEMS_LAMBDA {
          const Key* const value = here.key(v, values, start + i);
          const Key* const next = here.key_ahead(k, keys, start + tile + i);
          with_rows(computed, [&](auto count) FLAGGEMS_LAMBDA {
            using adding = few_values<C, Key, decltype(count)::value>;
            block_part<adding>(block).call({value, v.position, space.value_size, some, score + i,
                                            i == 0 ? correction : unscaled, sum, width, next,
                                            k.position, space.head_size});
          });
        });
      }
      if (parts > 1) {
        for (int r = 0; r < rows; ++r) {
          C* const to = partial + (t * rows + r) * found(space.value_size);
          for (i64 e = 0; e < width; ++e) to[e] = sum[r * width + e];
          to[width] = largest[r];
          to[width + 1] = total[r];
        }
        return;
      }
      for (int r = 0; r < rows; ++r)
        divide.call({sum + r * width, space.value_size, total[r] == C(0) ? C(1) : total[r],
                     out.at(c) + head[r] * out.head + position[r] * out.position, out.element});
    });
  }

 private:
  template <class F>
  FLAGGEMS_HOST_INLINE static void with_rows(int rows, const F& f) {
    if (rows == 1)
      f(int_constant<1>{});
    else
      f(int_constant<most_rows>{});
  }
};

/// Combines the partial results of attention_host_few's parts.
template <class Out, class C>
struct attention_host_merge {
  template <class Block>
  FLAGGEMS_HOST_INLINE static void run(Block& block, attention_space space, attention_arg<Out> out,
                                       i64 parts, const C* partial) {
    using V = typename Block::template value<C>;
    const i64 rows = space.group * space.queries;
    const i64 width = round_up(space.value_size, i64(16)), found = width + 16;
    block.for_each_tile(space.batches * rows, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 batch = tile / rows, row = tile - batch * rows;
      const C* const first = partial + (batch * parts * rows + row) * found;
      C largest = lowest<C>(), total = C(0);
      for (i64 p = 0; p < parts; ++p)
        largest = maximum_of{}.template operator()<C>(largest, first[p * rows * found + width]);
      const C shift = largest == lowest<C>() ? C(0) : largest;
      for (i64 p = 0; p < parts; ++p) {
        const C* const part = first + p * rows * found;
        total += part[width + 1] * exp(C(part[width] - shift));
      }
      // No key seen: 0, an empty sum.
      const C divisor = total == C(0) ? C(1) : total;
      Out* const to = out.at(space.locate(batch)) + row / space.queries * out.head +
                      row % space.queries * out.position;
      block.for_each_lane(space.value_size, [&](auto lane) FLAGGEMS_LAMBDA {
        V sum(C(0));
        for (i64 p = 0; p < parts; ++p) {
          const C* const part = first + p * rows * found;
          const C factor = exp(C(part[width] - shift)) / divisor;
          sum = multiply_add<V>(V(factor), load<C>(part, lane), sum);
        }
        store(to, out.element, lane, sum);
      });
    });
  }
};

}  // namespace flaggems::kernels
