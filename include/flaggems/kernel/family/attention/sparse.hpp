// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention in which each query has a list of the keys that it sees. The heads that share keys are
// the rows of a query's tile, so that a key that is looked up serves all of them.
// DeepSeek-AI: DeepSeek-V3.2, 2025 (DeepSeek Sparse Attention).
#pragma once

#include <flaggems/kernel/family/attention/sequences.hpp>

namespace flaggems::kernels {

/// Lists of the rows of keys, [batch, query, group, count]. A number below 0, or not below the
/// limit of its query, is of no key.
struct sparse_lists {
  global_ptr<const i32> data;
  i64 batch, query, group, step;
  global_ptr<const i32> lengths;  // how many of a list count; all if null
  i64 length_batch, length_query;
};

/// Where a query's row is, and its list.
struct sparse_place : coordinates {
  global_ptr<const i32> list;
  i64 step;
  i32 limit;
};

/// As attention_tile, of the heads of a query that share keys.
struct sparse_tile {
  using place = sparse_place;
  sparse_place queries_at;
  coordinates keys_at;
  i64 first, rows, queries, keys;
  i64 page;  // keys of a page, 0: there are none

  FLAGGEMS_INLINE const sparse_place& of_queries() const { return queries_at; }
  FLAGGEMS_INLINE const coordinates& of_keys() const { return keys_at; }
  FLAGGEMS_INLINE i64 head(i64 row) const { return row; }
  FLAGGEMS_INLINE i64 end(i64) const { return keys; }
  FLAGGEMS_INLINE i64 begin(i64) const { return 0; }
  /// A number that is of no key reads another, not what is outside.
  template <class T>
  FLAGGEMS_INLINE global_ptr<T> key(const attention_arg<T>& arg, global_ptr<T> base, i64 j) const {
    const i64 given = queries_at.list[j * queries_at.step];
    const i64 row = max_of(i64(0), min_of(given, i64(queries_at.limit) - 1));
    if (page == 0) return base + row * arg.position;
    const i64 at = row / page;
    return base + at * arg.batch[1] + (row - at * page) * arg.position;
  }
  template <class F>
  FLAGGEMS_INLINE void for_each_run(i64, i64 n, const F& f) const {
    for (i64 i = 0; i < n; ++i) f(i, i64(1));
  }
};

/// The problem. The batch of operands is that of queries, the query and the group of heads; with
/// pages that of keys is 0, the page and the group, else the batch, 0 and the group.
struct sparse_space {
  using tile_type = sparse_tile;
  i64 batches, queries, groups, group;
  i64 count, keys;  // of a list; that there are
  i64 head_size, value_size;
  i64 page;
  bool is_causal;  // query i sees the keys up to i
  sparse_lists lists;

  FLAGGEMS_INLINE i64 tiles(i64 rows) const {
    return batches * queries * groups * ceil_div(group, rows);
  }
  FLAGGEMS_INLINE i64 share(i64 most, i64 unit) const {
    return round_up(ceil_div(group, ceil_div(group, most)), unit);
  }
  FLAGGEMS_INLINE sparse_tile tile(i64 t, i64 rows) const {
    const i64 each = ceil_div(group, rows), all = t / each;
    const i64 g = all % groups, query = all / groups % queries, batch = all / groups / queries;
    sparse_tile r;
    r.queries_at.rank = r.keys_at.rank = 3;
    r.queries_at.inner = r.keys_at.inner = 0;
    r.queries_at.at[0] = r.keys_at.at[0] = batch;
    r.queries_at.at[1] = query;
    r.keys_at.at[1] = 0;
    r.queries_at.at[2] = r.keys_at.at[2] = g;
    r.queries_at.list = lists.data + batch * lists.batch + query * lists.query + g * lists.group;
    r.queries_at.step = lists.step;
    r.queries_at.limit = i32(is_causal ? min_of(keys, query + 1) : keys);
    r.first = (t - all * each) * rows;
    r.rows = group;
    r.queries = 1;
    i64 n = count;
    if (lists.lengths != nullptr)
      n = min_of(n, i64(lists.lengths[batch * lists.length_batch + query * lists.length_query]));
    r.keys = keys == 0 ? i64(0) : max_of(i64(0), n);
    r.page = page;
    return r;
  }
};

/// Hides what is of no key.
struct sparse_mask_row {
  global_ptr<const i32> list;
  i64 step;
  i32 limit;
  template <class C, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> apply(Lane lane, const lane_value<Lane, C>& score) const {
    using V = lane_value<Lane, C>;
    using J = lane_value<Lane, i32>;
    const J j = load<i32>(list, step, lane);
    const V hidden(lowest<C>());
    return select(j < J(0), hidden, V(select(j < J(limit), score, hidden)));
  }
};
struct sparse_mask {
  FLAGGEMS_INLINE sparse_mask_row row(const sparse_place& at, i64, i64, i64 key) const {
    return {at.list + key * at.step, at.step, at.limit};
  }
};

/// What a row's end keeps: the logarithm of its sum and its largest score, where they have data. A
/// sink of its head, [heads], adds a weight to the sum that is divided by, with no value.
template <class C>
struct sparse_sums {
  attention_arg<C> logs, largest;
  global_ptr<const f32> sinks;
  i64 sink_step, group;
  C empty;  // the logarithm of no scores
};
template <class C>
FLAGGEMS_INLINE void keep_sums(const sparse_sums<C>& to, const coordinates& c, i64 head,
                               i64 position, C largest, C total) {
  keep_sums(to.logs, c, head, position, largest, total);
  if (to.logs.data != nullptr && total == C(0))
    to.logs.at(c)[head * to.logs.head + position * to.logs.position] = to.empty;
  if (to.largest.data != nullptr)
    to.largest.at(c)[head * to.largest.head + position * to.largest.position] = largest;
}
template <class C>
FLAGGEMS_INLINE C divisor_of(const sparse_sums<C>& to, const coordinates& c, i64 head, C largest,
                             C total) {
  if (total == C(0)) return C(1);
  if (to.sinks == nullptr) return total;
  const C sink(to.sinks[(c.at[2] * to.group + head) * to.sink_step]);
  return total + exp(C(sink - largest));
}

/// A cache of keys in 584 bytes each, behind each other in a page: 448 numbers of f8e4m3 and 64 of
/// bf16. Behind those of the page each key has 8 bytes: 7 exponents (plus 127), the scales of 64
/// numbers each, and one that is not used.
struct latent_cache {
  static constexpr int narrow = 448, wide = 64, size = narrow + wide;
  static constexpr int line = narrow + 2 * wide, scales = 8, bytes = line + scales;
  global_ptr<const u8> data;
  i64 pages, page, page_step;  // keys of a page; bytes from one page to the next
  global_ptr<const i32> list;  // [batch, query, count], rows of the cache
  i64 batch, query, step;
  global_ptr<const i32> lengths;  // of each batch; all if null
  i64 length_step;
  i64 count;
};

/// The keys that the lists of two caches say, of T, one behind the other for all queries: those of
/// `one`, then those of `other`. `list` gets where each is, or -1 for what is of no key, which is
/// 0.
template <class T>
struct latent_rows {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 batches, i64 queries, latent_cache one,
                                  latent_cache other, global_ptr<T> to, global_ptr<i32> list) {
    const i64 all = one.count + other.count;
    block.for_each_tile(batches * queries * all, [&](i64 t) FLAGGEMS_LAMBDA {
      const i64 row = t / all, j = t - row * all, batch = row / queries,
                query = row - batch * queries;
      const bool is_first = j < one.count;
      const latent_cache& from = is_first ? one : other;
      const i64 at = is_first ? j : j - one.count;
      const i64 given = from.list[batch * from.batch + query * from.query + at * from.step];
      const bool exists =
          given >= 0 && given < from.pages * from.page &&
          (from.lengths == nullptr || at < i64(from.lengths[batch * from.length_step]));
      block.single([&]() FLAGGEMS_LAMBDA { list[t] = exists ? i32(t) : -1; });
      const global_ptr<T> line = to + t * latent_cache::size;
      if (!exists) {
        block.for_each_lane(i64(latent_cache::size), [&](auto lane) FLAGGEMS_LAMBDA {
          store(line, lane, lane_value<decltype(lane), f32>(0.0F));
        });
        return;
      }
      const i64 page = given / from.page, place = given - page * from.page;
      const global_ptr<const u8> data = from.data + page * from.page_step;
      const global_ptr<const u8> key = data + place * latent_cache::line;
      const global_ptr<const u8> scales =
          data + from.page * latent_cache::line + place * latent_cache::scales;
      const auto numbers = reinterpret_cast<global_ptr<const f8e4m3>>(key);
      constexpr int part = 64;
      for (int p = 0; p < latent_cache::narrow / part; ++p) {
        const f32 scale = power_of_two(scales[p]);
        block.for_each_lane(i64(part), [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), f32>;
          store(line + p * part, lane, V(load<f32>(numbers + p * part, lane) * V(scale)));
        });
      }
      const auto rest = reinterpret_cast<global_ptr<const bf16>>(key + latent_cache::narrow);
      block.for_each_lane(i64(latent_cache::wide), [&](auto lane) FLAGGEMS_LAMBDA {
        store(line + latent_cache::narrow, lane, load<f32>(rest, lane));
      });
    });
  }

 private:
  /// 2^(exponent - 127).
  FLAGGEMS_INLINE static f32 power_of_two(u8 exponent) {
    return bit_cast<f32>(exponent == 0 ? u32(1) << 22 : u32(exponent) << 23);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/sparse.hpp");
