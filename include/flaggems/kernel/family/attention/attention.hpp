// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention with an online softmax: keys are processed in tiles, and for each row of queries the
// largest score, the sum of exponentials and the weighted sum of values are rescaled when a larger
// score is found. Memory is that of one tile, whatever the lengths.
// M. Milakov, N. Gimelshein: Online normalizer calculation for softmax, 2018 (arXiv:1805.02867).
// T. Dao et al.: FlashAttention, 2022 (arXiv:2205.14135).
#pragma once

#include <flaggems/kernel/family/attention/mask.hpp>
#include <flaggems/kernel/family/gemm/gemm.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// An operand: strides over the batch, from one head of the group, one position and one element to
/// the next.
template <class T>
struct attention_arg {
  global_ptr<T> data;
  i64 batch[max_rank];
  i64 head, position, element;
  FLAGGEMS_INLINE global_ptr<T> at(const coordinates& c) const {
    i64 offset = 0;
    for (int d = 0; d < c.rank; ++d) offset += c.at[d] * batch[d];
    return data + offset;
  }
};

/// The rows that a block attends, of one batch, from `first` on. Queries that share keys and values
/// (the group of heads of one key head, and the positions) are rows of one matrix: row r is
/// position r % queries of head r / queries.
struct attention_tile {
  using place = coordinates;
  coordinates batch;
  i64 first, rows, queries, keys;
  i64 diagonal;  // position i sees the keys j <= i + diagonal

  FLAGGEMS_INLINE const coordinates& of_queries() const { return batch; }
  FLAGGEMS_INLINE const coordinates& of_keys() const { return batch; }
  FLAGGEMS_INLINE i64 head(i64 row) const { return row / queries; }
  /// The keys [0, end) before the end of what a position sees, ...
  FLAGGEMS_INLINE i64 end(i64 position) const {
    return max_of(i64(0), min_of(keys, position + diagonal + 1));
  }
  /// ... and those that begin it.
  FLAGGEMS_INLINE i64 begin(i64) const { return 0; }
  /// A key or value of the batch whose first is at `base`.
  template <class T>
  FLAGGEMS_INLINE global_ptr<T> key(const attention_arg<T>& arg, global_ptr<T> base, i64 j) const {
    return base + j * arg.position;
  }
  /// The same to prefetch from, where there may be no such key.
  template <class T>
  FLAGGEMS_INLINE global_ptr<T> key_ahead(const attention_arg<T>& arg, global_ptr<T> base,
                                          i64 j) const {
    return base + j * arg.position;
  }
  /// f(i, count) for runs of keys or values in one line among `n` from key j on: j + i is the
  /// first.
  template <class F>
  FLAGGEMS_INLINE void for_each_run(i64, i64 n, const F& f) const {
    f(i64(0), n);
  }
};

/// The problem.
struct attention_space {
  using tile_type = attention_tile;
  int rank;  // batch dimensions, the key heads among them
  i64 sizes[max_rank];
  i64 batches;
  i64 group, queries, keys;
  i64 head_size, value_size;
  i64 row_tiles;
  // Position i sees the keys j <= i + diagonal; a diagonal of `keys` lets it see all.
  i64 diagonal;

  FLAGGEMS_INLINE coordinates locate(i64 batch) const {
    coordinates c;
    c.rank = rank;
    c.inner = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const i64 next = batch / sizes[d];
      c.at[d] = batch - next * sizes[d];
      batch = next;
    }
    return c;
  }
  /// Tiles of so many rows each.
  FLAGGEMS_INLINE i64 tiles(i64 rows) const { return batches * ceil_div(group * queries, rows); }
  FLAGGEMS_INLINE attention_tile tile(i64 t, i64 rows) const {
    const i64 all = group * queries, each = ceil_div(all, rows), batch = t / each;
    return {locate(batch), (t - batch * each) * rows, all, queries, keys, diagonal};
  }
  /// The rows of a tile, a multiple of `unit` and at most about `most`: all tiles have about one
  /// size.
  FLAGGEMS_INLINE i64 share(i64 most, i64 unit) const {
    const i64 all = group * queries;
    return round_up(ceil_div(all, ceil_div(all, most)), unit);
  }
};

/// A mask: of bool, whether a key takes part; of numbers, which are added to the scores. `element`
/// is the stride over keys.
template <class T>
struct attention_mask : attention_arg<const T> {
  /// Of one query, from a key on.
  FLAGGEMS_INLINE attention_mask_row<T> row(const coordinates& c, i64 head_index, i64 query,
                                            i64 key) const {
    return {from(c, head_index, query, key), this->element};
  }
  /// Of one key, from a query on.
  FLAGGEMS_INLINE attention_mask_row<T> column(const coordinates& c, i64 head_index, i64 query,
                                               i64 key) const {
    return {from(c, head_index, query, key), this->position};
  }

 private:
  FLAGGEMS_INLINE global_ptr<const T> from(const coordinates& c, i64 head_index, i64 query,
                                           i64 key) const {
    const auto& self = *this;
    return self.at(c) + head_index * self.head + query * self.position + key * self.element;
  }
};

/// A rule of scores; the strides are those of the index of a head, of all heads of all batches.
template <class Rule>
struct attention_rule : attention_arg<const bool> {
  Rule rule;
  FLAGGEMS_INLINE attention_rule_row<Rule> row(const coordinates& c, i64 head_index, i64 query,
                                               i64 key) const {
    i64 index = head_index * this->head;
    for (int d = 0; d < c.rank; ++d) index += c.at[d] * this->batch[d];
    return {rule, index, query, static_cast<i32>(key)};
  }
};

/// What a row's end says besides its result: the logarithm of its sum of exponentials, if `logs`
/// has data.
template <class C>
FLAGGEMS_INLINE void keep_sums(const attention_arg<C>& logs, const coordinates& c, i64 head,
                               i64 position, C largest, C total) {
  if (logs.data != nullptr)
    logs.at(c)[head * logs.head + position * logs.position] = attention_log_sum<C>(largest, total);
}
/// What a row's sum of weighted values is divided by. (A score that was seen adds 1 or more to the
/// total; without one the sum is 0.)
template <class C>
FLAGGEMS_INLINE C divisor_of(const attention_arg<C>&, const coordinates&, i64, C, C total) {
  return total == C(0) ? C(1) : total;
}

/// Replaces a query's scores of `n` keys in `line`, of which `seen` are visible, by exponentials
/// relative to the largest score so far; updates that score and the sum of exponentials. Returns
/// the factor by which earlier sums are rescaled.
template <class C, class Block, class Line, class MaskRow>
FLAGGEMS_INLINE C attention_softmax(Block& block, const Line& line, i64 n, i64 seen,
                                    const MaskRow& mask, C& largest, C& total) {
  const C most =
      block.template reduce<C>(n, lowest<C>(), maximum_of{}, [&](auto lane) FLAGGEMS_LAMBDA {
        using V = lane_value<decltype(lane), C>;
        V s = mask.template apply<C>(lane, V(load<C>(line, lane)));
        s = select(iota<i32>(lane) < lane_value<decltype(lane), i32>(i32(seen)), s, V(lowest<C>()));
        store(line, lane, s);
        return s;
      });
  // Nothing seen so far: any number but -inf will do, all exponentials are 0.
  const C before = largest;
  const C now = maximum_of{}.template operator()<C>(before, most);
  const C shift = now == lowest<C>() ? C(0) : now;
  const C correction = exp(C(before - shift));
  const C part = block.template reduce<C>(n, C(0), plus{}, [&](auto lane) FLAGGEMS_LAMBDA {
    using V = lane_value<decltype(lane), C>;
    const V e = exp(V(load<C>(line, lane) - V(shift)));
    store(line, lane, e);
    return e;
  });
  total = total * correction + part;
  largest = now;
  return correction;
}

/// Queries of T; keys and values of Key (a cache may have fewer bits); sums in C, which `logs` may
/// keep.
template <class T, class Key, class Out, class C, class Mask, stepping Steps>
struct attention {
  static constexpr int rows = 4;     // queries at a time
  static constexpr int columns = 2;  // keys whose scores are in registers
  static constexpr int tile = 64;    // keys at a time

  template <class Block, class Space, class Logs>
  FLAGGEMS_INLINE static void run(Block& block, Space space, attention_arg<const T> q,
                                  attention_arg<const Key> k, attention_arg<const Key> v, Mask mask,
                                  attention_arg<Out> out, C scale, Logs logs) {
    const i64 width = round_up(space.value_size, 16), depth = round_up(space.head_size, 16);
    const auto query = block.template scratch<C>(rows * depth);
    const auto score = block.template scratch<C>(rows * tile);
    const auto sum = block.template scratch<C>(rows * width);
    block.for_each_tile(space.tiles(rows), [&](i64 t) FLAGGEMS_LAMBDA {
      const auto here = space.tile(t, rows);
      const i64 first = here.first, all_rows = here.rows;
      if (first >= all_rows) return;
      const auto& c = here.of_queries();
      const auto keys = k.at(here.of_keys());
      const auto values = v.at(here.of_keys());
      // Rows past the end repeat the last one: computed, not stored.
      i64 head[rows], position[rows], visible[rows];
      i64 begin = here.keys, end = 0;  // keys that any row sees
      static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
        const i64 row = min_of(first + r, all_rows - 1);
        head[r] = here.head(row);
        position[r] = row - head[r] * here.queries;
        visible[r] = here.end(position[r]);
        begin = min_of(begin, here.begin(position[r]));
        end = max_of(end, visible[r]);
      });
      block.sync();  // the scratch may still be read
      for (int r = 0; r < rows; ++r) {
        const auto from = q.at(c) + head[r] * q.head + position[r] * q.position;
        block.for_each_lane(space.head_size, [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), C>;
          store(query.from(r * depth), lane, V(load<C>(from, q.element, lane) * V(scale)));
        });
        block.for_each_lane(space.value_size, [&](auto lane) FLAGGEMS_LAMBDA {
          store(sum.from(r * width), lane, lane_value<decltype(lane), C>(C(0)));
        });
      }
      C largest[rows], total[rows];
      static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
        largest[r] = lowest<C>();
        total[r] = C(0);
      });
      for (i64 start = begin; start < end; start += tile) {
        const i64 n = min_of(i64(tile), end - start);
        block.sync();  // the queries are written, the scores of the tile before are read
        for (i64 j = 0; j < n; j += columns) {
          global_ptr<const Key> key[columns];
          static_for<columns>([&](auto e) FLAGGEMS_LAMBDA {
            key[e] = here.key(k, keys, min_of(start + j + e, here.keys - 1));
          });
          C dots[rows * columns];
          block.template accumulate<rows * columns, C>(
              space.head_size, dots, [&](auto lane, auto& acc) FLAGGEMS_LAMBDA {
                using V = lane_value<decltype(lane), C>;
                V y[columns];
                static_for<columns>([&](auto e) FLAGGEMS_LAMBDA {
                  if constexpr (Steps == stepping::strided)
                    y[e] = load<C>(key[e], k.element, lane);
                  else
                    y[e] = load<C>(key[e], lane);
                });
                static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
                  const V x = load<C>(query.from(r * depth), lane);
                  static_for<columns>([&](auto e) FLAGGEMS_LAMBDA {
                    constexpr int at = decltype(r)::value * columns + decltype(e)::value;
                    acc[at] = multiply_add<V>(x, y[e], acc[at]);
                  });
                });
              });
          block.single([&]() FLAGGEMS_LAMBDA {
            static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
              static_for<columns>([&](auto e) FLAGGEMS_LAMBDA {
                score.write(r * tile + j + e, dots[r * columns + e]);
              });
            });
          });
        }
        block.sync();
        C correction[rows];
        for (int r = 0; r < rows; ++r) {  // not unrolled: exp is long
          const auto line = score.from(r * tile);
          const i64 seen = min_of(n, max_of(i64(0), visible[r] - start));
          const auto masked = mask.row(c, head[r], position[r], start);
          correction[r] = attention_softmax<C>(block, line, n, seen, masked, largest[r], total[r]);
        }
        block.sync();
        block.for_each_lane(space.value_size, [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), C>;
          V acc[rows];
          static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
            acc[r] = load<C>(sum.from(r * width), lane) * V(correction[r]);
          });
          for (i64 j = 0; j < n; ++j) {
            const auto value = here.key(v, values, start + j);
            V y;
            if constexpr (Steps == stepping::strided)
              y = load<C>(value, v.element, lane);
            else
              y = load<C>(value, lane);
            static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
              acc[r] = multiply_add<V>(V(score.read(r * tile + j)), y, acc[r]);
            });
          }
          static_for<rows>([&](auto r)
                               FLAGGEMS_LAMBDA { store(sum.from(r * width), lane, acc[r]); });
        });
      }
      for (int r = 0; r < rows; ++r) {
        if (first + r < all_rows) {
          const auto to = out.at(c) + head[r] * out.head + position[r] * out.position;
          const C divisor = divisor_of(logs, c, head[r], largest[r], total[r]);
          block.for_each_lane(space.value_size, [&](auto lane) FLAGGEMS_LAMBDA {
            using V = lane_value<decltype(lane), C>;
            store(to, out.element, lane, V(load<C>(sum.from(r * width), lane) / V(divisor)));
          });
          block.single([&]() FLAGGEMS_LAMBDA {
            keep_sums(logs, c, head[r], position[r], largest[r], total[r]);
          });
        }
      }
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/attention.hpp");
