// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What the logits of an indexer are made of, whose products are others' work: lines of a paged
// cache, numbers of four bits, and how sequences are shared out among the units of a device.
#pragma once

#include <flaggems/kernel/lang/lanes.hpp>

namespace flaggems::kernels {

/// A paged cache of lines of From, and a number behind those of a line or of a page: of f32, in
/// four bytes. Line j of a sequence is j % page of page table[j / page].
template <class From>
struct paged_lines {
  global_ptr<const From> data;
  i64 page_step, line_step, element;
  global_ptr<const u8> scales;  // null: there are none
  i64 scale_page, scale_line;   // bytes
  global_ptr<const i32> table;
  i64 table_row, table_step;
  i64 pages, page, size;
};

/// The first n lines of each sequence, of T, [sequences, n, size], and their numbers, [sequences,
/// n]; 0 of a page that the cache does not have.
template <class From, class T>
struct read_paged_lines {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 sequences, i64 n, paged_lines<From> from,
                                  global_ptr<T> to, global_ptr<f32> scales) {
    block.for_each_tile(sequences * n, [&](i64 t) FLAGGEMS_LAMBDA {
      const i64 sequence = t / n, j = t - sequence * n, at = j / from.page,
                place = j - at * from.page;
      const i64 page = from.table[sequence * from.table_row + at * from.table_step];
      const bool exists = page >= 0 && page < from.pages;
      const i64 safe = exists ? page : i64(0);
      const global_ptr<const From> line =
          from.data + safe * from.page_step + place * from.line_step;
      block.for_each_lane(from.size, [&](auto lane) FLAGGEMS_LAMBDA {
        using V = lane_value<decltype(lane), f32>;
        V x(0.0F);
        if (exists) x = load<f32>(line, from.element, lane);
        store(to + t * from.size, lane, x);
      });
      if (from.scales != nullptr)
        block.single([&]() FLAGGEMS_LAMBDA {
          const global_ptr<const u8> b =
              from.scales + safe * from.scale_page + place * from.scale_line;
          const u32 bits = u32(b[0]) | u32(b[1]) << 8 | u32(b[2]) << 16 | u32(b[3]) << 24;
          scales[t] = exists ? bit_cast<f32>(bits) : 0.0F;
        });
    });
  }
};

/// Lines of numbers e2m1, two a byte, the first in the low bits, times powers of two: byte k of
/// `scales` is the exponent, plus 127, of numbers 32 k to 32 k + 31.
template <class T>
struct read_e2m1_lines {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 lines, i64 bytes, global_ptr<const u8> from,
                                  global_ptr<const i32> scales, global_ptr<T> to) {
    block.for_each_tile(lines, [&](i64 t) FLAGGEMS_LAMBDA {
      const u32 exponents = u32(scales[t]);
      block.for_each(bytes, [&](i64 k) FLAGGEMS_LAMBDA {
        const u32 both = from[t * bytes + k], exponent = exponents >> (k / 16 * 8) & 255u;
        const f32 scale = bit_cast<f32>(exponent == 0 ? u32(1) << 22 : exponent << 23);
        to[(t * bytes + k) * 2] = number_cast<T>(number_of(both & 15u) * scale);
        to[(t * bytes + k) * 2 + 1] = number_cast<T>(number_of(both >> 4) * scale);
      });
    });
  }

 private:
  /// Of a sign, two bits of exponent and one behind the point.
  FLAGGEMS_INLINE static f32 number_of(u32 x) {
    const u32 exponent = x >> 1 & 3u, rest = x & 1u;
    const f32 size = exponent == 0 ? 0.5F * f32(rest)
                                   : (1.0F + 0.5F * f32(rest)) * f32(u32(1) << (exponent - 1));
    return (x & 8u) != 0 ? -size : size;
  }
};

/// Where the share of each unit begins if `units` have parts of `part` lines each in equal numbers:
/// a sequence, and the part of it; [units + 1, 2], the last being the end.
struct share_out_parts {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 sequences, i64 units, i64 part,
                                  global_ptr<const i32> lengths, i64 step, global_ptr<i32> to,
                                  i64 row, i64 column) {
    block.for_each_tile(i64(1), [&](i64) FLAGGEMS_LAMBDA {
      block.for_each(units + 1, [&](i64 unit) FLAGGEMS_LAMBDA {
        const auto parts_of = [&](i64 s) FLAGGEMS_LAMBDA {
          return (max_of(i64(0), i64(lengths[s * step])) + part - 1) / part;
        };
        i64 all = 0;
        for (i64 s = 0; s < sequences; ++s) all += parts_of(s);
        const i64 first = unit * (all / units) + min_of(unit, all % units);
        i64 s = 0, before = 0;
        for (; s < sequences && before + parts_of(s) <= first; ++s) before += parts_of(s);
        to[unit * row] = i32(s);
        to[unit * row + column] = i32(first - before);
      });
    });
  }
};

/// How a device shares out sequences of queries and keys.
struct split_plan {
  i64 sequences, heads, group;  // of keys, or of queries if the group is 1
  i64 queries, new_keys;        // of each sequence, where no numbers say it
  i64 rows, columns;            // of a tile
  i64 units, most;              // parts at most
  global_ptr<const i32> query_starts, used_queries, used_keys, new_starts, left;  // null: none
};
/// to[0] = 0; to[1 + s] = into how many parts the keys of sequence s are split, so that none is
/// much longer than a unit's share of all tiles.
struct split_sequences {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, split_plan x, global_ptr<i32> to) {
    block.for_each_tile(i64(1), [&](i64) FLAGGEMS_LAMBDA {
      block.single([&]() FLAGGEMS_LAMBDA { to[0] = 0; });
      block.for_each(x.sequences, [&](i64 own) FLAGGEMS_LAMBDA {
        const auto rows_of = [&](i64 s) FLAGGEMS_LAMBDA {
          i64 n = x.queries;
          if (x.used_queries != nullptr)
            n = x.used_queries[s];
          else if (x.query_starts != nullptr)
            n = x.query_starts[s + 1] - x.query_starts[s];
          return ceil_div(max_of(i64(0), n) * x.group, x.rows);
        };
        const auto columns_of = [&](i64 s) FLAGGEMS_LAMBDA {
          i64 n = x.used_keys[s];
          n += x.new_starts != nullptr ? i64(x.new_starts[s + 1] - x.new_starts[s]) : x.new_keys;
          if (x.left != nullptr) n -= x.left[s];
          return ceil_div(max_of(i64(0), n), x.columns);
        };
        i64 all = 0;
        for (i64 s = 0; s < x.sequences; ++s) all += rows_of(s) * columns_of(s);
        // A tenth more than an equal share, so that a last part is not a rest.
        const i64 share = max_of(i64(1), ceil_div(all * x.heads * 11, x.units * 10));
        to[1 + own] = i32(max_of(i64(1), min_of(ceil_div(columns_of(own), share), x.most)));
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/logits.hpp");
