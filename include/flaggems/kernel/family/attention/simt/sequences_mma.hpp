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
  FLAGGEMS_INLINE i32 begin(i32 position) const { return static_cast<i32>(whole.begin(position)); }
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

  FLAGGEMS_INLINE sequence_prefill_tile tile(u32 tile, i32 rows) const {
    return sequence_prefill_tile(sequences.tile(tile, rows));
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/simt/sequences_mma.hpp");
