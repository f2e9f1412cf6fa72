// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention over sequences of several lengths whose rows stand one after another, and whose keys
// and values may be pages of a cache. Each tile finds its sequence by the starts of all, so that a
// launch needs no length. W. Kwon et al.: Efficient Memory Management for Large Language Model
// Serving with PagedAttention, 2023 (arXiv:2309.06180).
#pragma once

#include <flaggems/kernel/family/attention/attention.hpp>
#include <flaggems/kernel/family/attention/rules.hpp>

namespace flaggems::kernels {

/// Numbers of the sequences in memory of the device; absent if `data` is null.
struct sequence_numbers {
  global_ptr<const i32> data;
  i64 step;
  FLAGGEMS_INLINE bool exists() const { return data != nullptr; }
  FLAGGEMS_INLINE i64 operator[](i64 i) const { return data[i * step]; }
};

/// A sequence's rows of queries and of keys.
struct sequence_bounds {
  i64 begin, queries, key, keys;
  /// Position i sees the keys j <= i + diagonal; `right` as in sequence_space.
  FLAGGEMS_INLINE i64 diagonal(i64 right) const {
    return right < 0 ? keys : keys - queries + right;
  }
};

/// Where a sequence's queries are.
struct sequence_place : coordinates {
  i64 sequence, key_head;
  i64 shift;  // keys before the first query's own
};

/// As attention_tile, of a sequence.
struct sequence_tile {
  using place = sequence_place;
  sequence_place queries_at;
  coordinates keys_at;
  i64 first, rows, queries, keys;
  i64 left, right;  // of a position's own key, the keys that it sees; below 0: all
  sequence_numbers table;
  i64 page, blocks;  // keys of a page, 0: there are none; pages of the cache

  FLAGGEMS_INLINE const sequence_place& of_queries() const { return queries_at; }
  FLAGGEMS_INLINE const coordinates& of_keys() const { return keys_at; }
  FLAGGEMS_INLINE i64 head(i64 row) const { return row / queries; }
  FLAGGEMS_INLINE i64 end(i64 position) const {
    return right < 0 ? keys : max_of(i64(0), min_of(keys, position + queries_at.shift + right + 1));
  }
  FLAGGEMS_INLINE i64 begin(i64 position) const {
    return left < 0 ? i64(0) : max_of(i64(0), position + queries_at.shift - left);
  }
  /// Of key j behind the first: elements, given the strides of pages and of positions.
  FLAGGEMS_INLINE i64 offset(i64 block_stride, i64 position, i64 j) const {
    if (page == 0) return j * position;
    const i64 at = j / page;
    // A number that is no page reads another, not what is outside the cache.
    const i64 block = max_of(i64(0), min_of(table[at], blocks - 1));
    return block * block_stride + (j - at * page) * position;
  }
  template <class T>
  FLAGGEMS_INLINE global_ptr<T> key(const attention_arg<T>& arg, global_ptr<T> base, i64 j) const {
    return base + offset(arg.batch[0], arg.position, j);
  }
  template <class T>
  FLAGGEMS_INLINE global_ptr<T> key_ahead(const attention_arg<T>& arg, global_ptr<T> base,
                                          i64 j) const {
    return key(arg, base, min_of(j, keys - 1));
  }
  template <class F>
  FLAGGEMS_INLINE void for_each_run(i64 j, i64 n, const F& f) const {
    for (i64 i = 0; i < n;) {
      const i64 some = page == 0 ? n : min_of(n - i, page - (j + i) % page);
      f(i, some);
      i += some;
    }
  }
};

/// As attention_space, of sequences. The queries' batch is the row where they begin and the key
/// head; that of keys and values is the row, or the page, and the key head.
struct sequence_space {
  using tile_type = sequence_tile;
  i64 count, key_heads, group;
  i64 total_queries, total_keys;  // rows; with pages, keys that fit in a row of the table
  i64 head_size, value_size;
  i64 left, right;
  sequence_numbers starts, key_starts, used, table;
  i64 table_row, page, blocks;
  bool has_all_rows;  // each row is of a sequence

  /// Of one key head: each sequence begins a tile, and not each fills its last one.
  FLAGGEMS_INLINE i64 tiles_of_head(i64 rows) const { return group * total_queries / rows + count; }
  FLAGGEMS_INLINE i64 tiles(i64 rows) const { return key_heads * tiles_of_head(rows); }
  FLAGGEMS_INLINE i64 share(i64 most, i64 unit) const { return most / unit * unit; }
  /// The row where a sequence begins, the last one ends.
  FLAGGEMS_INLINE i64 start(i64 sequence) const {
    return max_of(i64(0), min_of(starts[sequence], total_queries));
  }
  FLAGGEMS_INLINE sequence_bounds bounds(i64 sequence) const {
    const i64 begin = start(sequence);
    i64 key = key_starts.exists() ? key_starts[sequence] : 0;
    i64 keys = used.exists() ? used[sequence] : key_starts[sequence + 1] - key;
    key = page > 0 ? 0 : max_of(i64(0), min_of(key, total_keys));
    keys = max_of(i64(0), min_of(keys, total_keys - key));
    return {begin, max_of(i64(0), start(sequence + 1) - begin), key, keys};
  }
  /// The last sequence whose tiles begin at number `at` or before.
  template <class F>
  FLAGGEMS_INLINE i64 last_before(i64 at, const F& first_tile) const {
    i64 low = 0, high = count;
    while (high - low > 1) {
      const i64 middle = (low + high) / 2;
      if (first_tile(middle) <= at)
        low = middle;
      else
        high = middle;
    }
    return low;
  }
  FLAGGEMS_INLINE sequence_tile tile(i64 t, i64 rows) const {
    const i64 each = tiles_of_head(rows), head = t / each, at = t - head * each;
    const auto first_tile = [&](i64 s) FLAGGEMS_LAMBDA { return group * start(s) / rows + s; };
    const i64 own = last_before(at, first_tile);
    const sequence_bounds here = bounds(own);
    sequence_tile r;
    r.queries_at.rank = r.keys_at.rank = 2;
    r.queries_at.inner = r.keys_at.inner = 0;
    r.queries_at.at[0] = here.begin;
    r.keys_at.at[0] = here.key;
    r.queries_at.at[1] = r.keys_at.at[1] = r.queries_at.key_head = head;
    r.queries_at.sequence = own;
    r.queries_at.shift = here.keys - here.queries;
    r.first = (at - first_tile(own)) * rows;
    r.rows = group * here.queries;
    r.queries = here.queries;
    r.keys = here.keys;
    r.left = left;
    r.right = right;
    r.table = {table.data + own * table_row, table.step};
    r.page = page;
    r.blocks = blocks;
    return r;
  }
};

/// flash_rule as a mask of sequences: its slopes [heads], those of a sequence `sequence_step`
/// apart.
struct sequence_rule {
  flash_rule rule;
  i64 group, sequence_step;
  template <class Place>
  FLAGGEMS_INLINE attention_rule_row<flash_rule> row(const Place& at, i64 head_index, i64 query,
                                                     i64 key) const {
    flash_rule own = rule;
    own.window.shift = own.slopes.shift = static_cast<i32>(at.shift);
    if (own.slopes.slopes != nullptr) own.slopes.slopes += at.sequence * sequence_step;
    return {own, at.key_head * group + head_index, query, static_cast<i32>(key)};
  }
  template <class Place, class Query>
  FLAGGEMS_INLINE attention_rule_row<flash_rule> row(const Place& at, const Query& query) const {
    return row(at, query.head, query.position, 0);
  }
};

/// The slopes of a sequence_rule alone.
struct sequence_slopes {
  alibi slopes;
  i64 group, sequence_step;
  template <class Place, class Query>
  FLAGGEMS_INLINE attention_rule_row<alibi> row(const Place& at, const Query& query) const {
    alibi own = slopes;
    own.shift = static_cast<i32>(at.shift);
    own.slopes += at.sequence * sequence_step;
    return {own, at.key_head * group + query.head, query.position, 0};
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/sequences.hpp");
