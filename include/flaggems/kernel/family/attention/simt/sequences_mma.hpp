// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Sequences of several lengths for attention_prefill_tiles: a tile is of one sequence, whose keys
// and values may be in pages.
#pragma once

#include <flaggems/kernel/family/attention/sequences.hpp>
#include <flaggems/kernel/family/attention/simt/prefill_mma.hpp>

namespace flaggems::kernels {

/// Where a sequence's queries are.
struct sequence_decode_place : decode_place {
  i64 sequence, key_head, shift;  // as sequence_place
  FLAGGEMS_INLINE sequence_decode_place(i64 begin, i64 head, i64 s, i64 keys_before)
      : decode_place(begin, head), sequence(s), key_head(head), shift(keys_before) {}
  FLAGGEMS_INLINE explicit sequence_decode_place(const sequence_place& p)
      : sequence_decode_place(p.at[0], p.at[1], p.sequence, p.shift) {}
};

/// As prefill_tile, of a sequence.
struct sequence_prefill_tile {
  sequence_tile whole;
  i32 first, rows, keys, diagonal;
  i32 first_key = 0;
  i64 results = 0;

  FLAGGEMS_INLINE explicit sequence_prefill_tile(const sequence_tile& t)
      : whole(t),
        first(static_cast<i32>(t.first)),
        rows(static_cast<i32>(t.rows)),
        keys(static_cast<i32>(t.keys)),
        diagonal(static_cast<i32>(t.right < 0 ? t.keys : t.queries_at.shift + t.right)) {}
  template <class Space>
  FLAGGEMS_INLINE bool exists(const Space&) const {
    return first < rows;
  }
  template <class Space>
  FLAGGEMS_INLINE sequence_decode_place of_queries(const Space&) const {
    return sequence_decode_place(whole.queries_at);
  }
  template <class Space>
  FLAGGEMS_INLINE decode_place of_keys(const Space&, const sequence_decode_place&) const {
    return decode_place(whole.keys_at.at[0], whole.keys_at.at[1]);
  }
  template <class Space>
  FLAGGEMS_INLINE const sequence_prefill_tile& bounds(const Space&) const {
    return *this;
  }
  FLAGGEMS_INLINE i32 begin(i32 position) const {
    return max_of(static_cast<i32>(whole.begin(position)), first_key);
  }
  FLAGGEMS_INLINE i64 results_from() const { return results; }
  /// One of so many parts of the keys, whose results are `step` elements apart.
  FLAGGEMS_INLINE void take_part(i32 part, i32 parts, i64 step) {
    constexpr i32 unit = 64;  // whole steps of all kernels
    const i32 share = round_up(ceil_div(keys, parts), unit);
    first_key = min_of(part * share, round_up(keys, unit));
    keys = min_of(keys, first_key + share);
    results = part * step;
  }
  /// Key or value j, or the last one.
  template <class T>
  FLAGGEMS_INLINE global_ptr<T> key(const decode_arg<T>& arg, i32 j) const {
    return arg.at(decode_place(whole.keys_at.at[0], whole.keys_at.at[1])) +
           whole.offset(arg.outer, arg.position, min_of(j, keys - 1));
  }
};

/// As prefill_space.
struct sequence_prefill_space {
  static constexpr bool has_pages = true;
  i32 head_size, value_size;
  f32 scale;  // positive
  divider group;
  u32 tiles;
  bool is_out_aligned;
  sequence_space sequences;
  divider parts;  // of a tile's keys, each a tile of the launch; their results are part_step apart
  i64 part_step;

  FLAGGEMS_INLINE sequence_prefill_tile tile(u32 tile, i32 rows) const {
    const u32 whole = parts.quotient(tile);
    sequence_prefill_tile r(sequences.tile(whole, rows));
    if (parts.divisor > 1)
      r.take_part(static_cast<i32>(tile - whole * parts.divisor), static_cast<i32>(parts.divisor),
                  part_step);
    return r;
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/simt/sequences_mma.hpp");
