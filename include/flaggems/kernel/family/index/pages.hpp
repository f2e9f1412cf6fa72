// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Lookups in paged caches of sequences: bytes and encoded numbers that are gathered, and the
// indices of what sparse attention reads. A table has a page number for each page of each sequence;
// what it does not have is nowhere.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/math/basic.hpp>

namespace flaggems::kernels {

/// Vectors of integers with a step.
template <class J>
struct whole_numbers {
  global_ptr<const J> data;
  i64 step, count;
  FLAGGEMS_INLINE i64 operator[](i64 k) const { return static_cast<i64>(data[k * step]); }
};

/// The sequence that has a token, of sequences that begin at starts: the last one that does not
/// begin behind it, or -1.
FLAGGEMS_INLINE i64 sequence_of(const whole_numbers<i32>& starts, i64 token) {
  i64 low = -1, high = starts.count - 1;  // starts[low] <= token < starts[high]
  if (high < 1 || token < starts[0] || token >= starts[high]) return -1;
  low = 0;
  while (high - low > 1) {
    const i64 middle = low + (high - low) / 2;
    (starts[middle] <= token ? low : high) = middle;
  }
  return low;
}

/// The pages of sequences.
struct page_table {
  global_ptr<const i32> data;
  i64 row, step, sequences, width;  // of the table
  i64 page, pages;                  // tokens of a page, and how many pages there are
  /// Where token `at` of a sequence lies, counted in tokens of all pages; -1 if nowhere.
  FLAGGEMS_INLINE i64 place(i64 sequence, i64 at) const {
    const i64 k = at < 0 ? -1 : at / page;
    if (k < 0 || k >= width || sequence < 0 || sequence >= sequences) return -1;
    const i64 own = static_cast<i64>(data[sequence * row + k * step]);
    return own < 0 || own >= pages ? -1 : own * page + (at - k * page);
  }
};

/// Bytes of tokens that lie in pages: of token k of a page those at `first` + k * `bytes`.
struct paged_bytes {
  global_ptr<const u8> data;
  i64 next_page, first, bytes;
  FLAGGEMS_INLINE global_ptr<const u8> at(const page_table& table, i64 place) const {
    const i64 own = place / table.page;
    return data + own * next_page + first + (place - own * table.page) * bytes;
  }
};
/// Bytes of tokens in rows.
struct byte_rows {
  global_ptr<u8> data;
  i64 row, step;
};

/// The codes and the scales of tokens, in their order in all sequences; tokens that lie nowhere
/// keep what is there.
struct gathered_tokens {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 tokens, const page_table& table,
                                  const whole_numbers<i32>& starts, const paged_bytes& codes,
                                  const byte_rows& to, const paged_bytes& scales,
                                  const byte_rows& scales_to) {
    block.for_each_tile(tokens, [&](i64 token) FLAGGEMS_LAMBDA {
      const i64 sequence = sequence_of(starts, token);
      const i64 place = sequence < 0 ? -1 : table.place(sequence, token - starts[sequence]);
      if (place < 0) return;
      const global_ptr<const u8> from = codes.at(table, place), by = scales.at(table, place);
      block.for_each(codes.bytes, [&](i64 k) FLAGGEMS_LAMBDA {
        to.data[token * to.row + k * to.step] = from[k];
      });
      block.for_each(scales.bytes, [&](i64 k) FLAGGEMS_LAMBDA {
        scales_to.data[token * scales_to.row + k * scales_to.step] = by[k];
      });
    });
  }
};

/// What a token of a cache of f8e4m3 and bf16 has: `coded` codes, then `plain` numbers of
/// bf16. Each group of `group` codes has an exponent (plus 127) behind the codes of all tokens.
struct decoded_layout {
  i64 coded, plain, group;
};
/// out[sequence, offset + k] = the last but (lengths - k)-th tokens of sequences, decoded.
template <class T, class J>
struct decoded_tokens {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const page_table& table,
                                  const whole_numbers<J>& ends, const whole_numbers<i32>& lengths,
                                  const paged_bytes& codes, const paged_bytes& exponents,
                                  decoded_layout layout, global_ptr<T> out, i64 next_sequence,
                                  i64 next_token, i64 step, i64 most) {
    block.for_each_tile(ends.count * most, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 sequence = tile / most, k = tile - sequence * most;
      const i64 length = lengths.data == nullptr ? ends[sequence] : lengths[sequence];
      if (k >= length) return;
      const i64 place = table.place(sequence, ends[sequence] - length + k);
      if (place < 0) return;
      const global_ptr<const u8> from = codes.at(table, place), by = exponents.at(table, place);
      const global_ptr<T> to = out + sequence * next_sequence + k * next_token;
      const global_ptr<const f8e4m3> values = reinterpret_cast<global_ptr<const f8e4m3>>(from);
      for (i64 begin = 0, group = 0; begin < layout.coded; begin += layout.group, ++group) {
        // 2^-127 is subnormal, and 2^128 none.
        const u32 e = by[group];
        const f32 scale = e == 0     ? bit_cast<f32>(0x400000u)
                          : e == 255 ? nan_of<f32>()
                                     : bit_cast<f32>(e << 23);
        block.for_each_lane(
            min_of(layout.group, layout.coded - begin), [&](auto lane) FLAGGEMS_LAMBDA {
              using V = lane_value<decltype(lane), f32>;
              store(to + begin * step, step, lane, load<f32>(values + begin, lane) * V(scale));
            });
      }
      const global_ptr<const bf16> rest =
          reinterpret_cast<global_ptr<const bf16>>(from + layout.coded);
      block.for_each_lane(layout.plain, [&](auto lane) FLAGGEMS_LAMBDA {
        store(to + layout.coded * step, step, lane, load<f32>(rest, lane));
      });
    });
  }
};

/// Where tokens lie that are named by their places in their sequences, and how many do; all of a
/// token that counts for nothing are named still.
template <class J>
struct global_places {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 tokens, i64 count, const page_table& table,
                                  global_ptr<const J> named, i64 named_row, i64 named_step,
                                  const whole_numbers<i32>& sequences,
                                  global_ptr<const bool> counts, i64 counts_step,
                                  global_ptr<i32> places, global_ptr<i32> lengths) {
    block.for_each_tile(tokens, [&](i64 token) FLAGGEMS_LAMBDA {
      const i64 sequence = sequences[token];
      const i64 have = block.template exclusive_scan<i64>(
          count, 0,
          [&](i64 k) FLAGGEMS_LAMBDA {
            const i64 at = static_cast<i64>(named[token * named_row + k * named_step]);
            const i64 place = table.place(sequence, at);
            places[token * count + k] = static_cast<i32>(place);
            return i64(place >= 0 ? 1 : 0);
          },
          [](i64, i64) FLAGGEMS_LAMBDA {});
      const bool is_counted = counts == nullptr || counts[token * counts_step];
      block.single(
          [&]() FLAGGEMS_LAMBDA { lengths[token] = static_cast<i32>(is_counted ? have : 0); });
    });
  }
};

/// How a token's indices are made: `chosen` of its compressed ones, a token in `ratio`, then its
/// window. Sequence b has `space` places; the first `compressed` are for compressed tokens.
struct window_options {
  i64 window, ratio, chosen, space, compressed, width;
};
/// The indices of tokens, -1 behind them, and how many they have.
template <class J, class Ends>
struct joined_places {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 tokens, window_options o,
                                  const whole_numbers<i32>& starts, const whole_numbers<Ends>& ends,
                                  const whole_numbers<i32>& gathered, global_ptr<const J> chosen,
                                  i64 chosen_row, i64 chosen_step, global_ptr<i32> out,
                                  global_ptr<i32> lengths) {
    block.for_each_tile(tokens, [&](i64 token) FLAGGEMS_LAMBDA {
      const i64 base = starts.count > 0 ? starts[0] : 0;
      const i64 sequence = sequence_of(starts, base + token);
      i64 position = -1, first = 0;
      if (sequence >= 0) {
        const i64 own = token + base - starts[sequence];
        const i64 length = starts[sequence + 1] - starts[sequence];
        position = ends[sequence] - length + own;
        first = ends[sequence] - gathered[sequence];
      }
      const i64 from_chosen = max_of(i64(0), min_of((position + 1) / o.ratio, o.chosen));
      const i64 from_window = max_of(i64(0), min_of(position + 1, o.window));
      const i64 in_space = o.space * max_of(sequence, i64(0));
      const i64 window_at = in_space + o.compressed + position - from_window + 1 - first;
      block.for_each(o.width, [&](i64 k) FLAGGEMS_LAMBDA {
        i64 place = -1;
        if (k < from_chosen)
          place = in_space + static_cast<i64>(chosen[token * chosen_row + k * chosen_step]);
        else if (k < from_chosen + from_window)
          place = window_at + (k - from_chosen);
        out[token * o.width + k] = static_cast<i32>(place);
      });
      block.single(
          [&]() FLAGGEMS_LAMBDA { lengths[token] = static_cast<i32>(from_chosen + from_window); });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/index/pages.hpp");
