// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Sorts rows that exceed a block on a SIMT device: a stable radix sort, 8 bits per pass, of all
// rows. A pass is three launches: blocks count digits per tile; the counts of preceding tiles are
// summed; blocks sort their tiles by the digit and write runs of equal digits to their
// destinations. No block waits for another, so it terminates on every device, deterministically.
#pragma once

#include <flaggems/kernel/family/order/simt/sort.hpp>

namespace flaggems::kernels {

/// Digits and tiles: a block of `threads` sorts a tile of `keys` per thread.
struct radix_tile {
  static constexpr int bits = 8, digits = 1 << bits;
  static constexpr int keys = 16, threads = 512;
  /// Copies of each counter, so that few threads of a warp collide.
  static constexpr int copies = 8;
  static constexpr int count_scratch = 4 * digits * copies + 16;  // and the uncounted
  /// Keys or indices, counts of each warp, and where digits begin.
  template <class U, class J>
  FLAGGEMS_INLINE static constexpr int move_scratch() {
    const int element = sizeof(U) > sizeof(J) ? sizeof(U) : sizeof(J);
    return threads * keys * element + 4 * digits * (threads / 32) + digits * int{sizeof(J)};
  }
};

/// What the launches of a pass share. J: an unsigned integer for indices in a row.
template <class U, class J>
struct radix_pass {
  i64 first, rows;             // of the tensor's
  i64 tiles;                   // per row
  global_ptr<const U> keys;    // [rows, length]; null in the first pass: the tensor's own
  global_ptr<const J> places;  // of the keys
  global_ptr<U> next_keys;     // null in the last pass
  global_ptr<J> next_places;
  global_ptr<J> counts;  // [rows, digits, tiles]
  global_ptr<J> totals;  // [rows, digits]
  i32 shift, descending;

  FLAGGEMS_INLINE i32 digit(U key) const {
    return static_cast<i32>(static_cast<U>(key >> shift) & static_cast<U>(radix_tile::digits - 1));
  }
};

/// Calls f(k, i) for a thread's share of a tile: elements `from`, `from` + step, ...
template <class F>
FLAGGEMS_INLINE void for_radix_share(i32 from, i32 step, const F& f) {
  FLAGGEMS_FORGET(from);  // recomputed at each use instead of kept in registers
  FLAGGEMS_SIMT_UNROLL
  for (int k = 0; k < radix_tile::keys; ++k, from += step) f(k, from);
}
/// Elements interleaved over all threads of a block (coalesced); and over those of a warp, with
/// consecutive warps one after the other.
template <class Block, class F>
FLAGGEMS_INLINE void for_block_share(const Block& block, const F& f) {
  for_radix_share(block.thread(), block.threads(), f);
}
template <class Block>
FLAGGEMS_INLINE i32 warp_share(const Block& block) {
  const i32 lane = block.thread() % Block::warp_size;
  return (block.thread() - lane) * radix_tile::keys + lane;
}
template <class Block, class F>
FLAGGEMS_INLINE void for_warp_share(const Block& block, const F& f) {
  for_radix_share(warp_share(block), Block::warp_size, f);
}

/// A tile: its position and keys. (Recomputing takes no registers.)
template <class T, class J>
struct radix_part {
  using U = bits_type<T>;
  i64 row;    // of those of the pass
  i64 begin;  // the tile's first element in it

  FLAGGEMS_INLINE radix_part(const radix_pass<U, J>& pass, i64 tile, i32 size) {
    row = tile / pass.tiles;
    begin = (tile - row * pass.tiles) * size;
  }
  FLAGGEMS_INLINE i32 count(const row_space& space, i32 size) const {
    return static_cast<i32>(min_of<i64>(size, space.length - begin));
  }
  /// This thread's keys; after the tile's end, the greatest, which sort last.
  template <class Block>
  FLAGGEMS_INLINE void load(const Block& block, const row_space& space, const row_arg<T>& in,
                            const row_target<i64>& indices, const radix_pass<U, J>& pass,
                            U (&key)[radix_tile::keys]) const {
    constexpr U none = static_cast<U>(~U(0));
    const i32 n = count(space, block.threads() * radix_tile::keys);
    if (pass.keys != nullptr) {
      const global_ptr<const U> own = pass.keys + (row * space.length + begin);
      for_warp_share(block, [&](int k, i32 i) FLAGGEMS_LAMBDA { key[k] = i < n ? own[i] : none; });
    } else {
      i64 from, to;
      locate_row(space, space.rank, pass.first + row, in.strides, indices.strides, from, to);
      const i64 stride = in.strides[space.rank];
      const i64 first = begin + warp_share(block);
      global_ptr<const T> p = in.data + (from + first * stride);
      for_warp_share(block, [&](int k, i32 i) FLAGGEMS_LAMBDA {
        key[k] = i < n ? to_bits(number_cast<T>(*p)) : U(0);
        p += Block::warp_size * stride;
      });
      for_warp_share(block, [&](int k, i32 i) FLAGGEMS_LAMBDA {
        const U ordered = order_key(from_bits<T>(key[k]), pass.descending != 0);
        key[k] = i < n ? ordered : none;
      });
    }
  }
};

/// Counts the digits of each tile.
template <class T, class J>
struct radix_count {
  static constexpr int max_threads = radix_tile::threads;
  static constexpr int most_scratch = radix_tile::count_scratch;
  using U = bits_type<T>;
  using pass_type = radix_pass<U, J>;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, const row_arg<T>& in,
                                  const row_target<i64>& indices, const pass_type& pass) {
    constexpr int keys = radix_tile::keys, copies = radix_tile::copies;
    const auto counts = block.template scratch<u32>(radix_tile::digits * copies + 1);
    block.for_each_tile(pass.rows * pass.tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const radix_part<T, J> own(pass, tile, block.threads() * keys);
      const i32 n = own.count(space, block.threads() * keys);
      block.for_each(radix_tile::digits * copies + 1,
                     [&](i64 c) FLAGGEMS_LAMBDA { counts.write(c, 0); });
      U key[keys];
      own.load(block, space, in, indices, pass, key);
      block.sync();
      const i32 copy = block.thread() % copies;
      for_warp_share(block, [&](int k, i32 i) FLAGGEMS_LAMBDA {
        const i32 at = pass.digit(key[k]) * copies + copy;
        block.template atomic_add<u32>(counts, i < n ? at : radix_tile::digits * copies, 1);
      });
      block.sync();
      block.for_each(radix_tile::digits, [&](i64 d) FLAGGEMS_LAMBDA {
        u32 sum = 0;
        for (int c = 0; c < copies; ++c) sum += counts.read(d * copies + (d + c) % copies);
        pass.counts[(own.row * radix_tile::digits + d) * pass.tiles + tile - own.row * pass.tiles] =
            sum;
      });
      block.sync();  // the next tile reuses the counts
    });
  }
};

/// Each of `lines` of `n` counts becomes the sum of those before it; the totals go to `totals`.
template <class J>
struct radix_scan {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 lines, i64 n, global_ptr<J> counts,
                                  global_ptr<J> totals) {
    block.for_each_tile(lines, [&](i64 line) FLAGGEMS_LAMBDA {
      const global_ptr<J> own = counts + line * n;
      const J all = block.template exclusive_scan<J>(
          n, 0, [&](i64 i) FLAGGEMS_LAMBDA { return own[i]; },
          [&](i64 i, J before) FLAGGEMS_LAMBDA { own[i] = before; });
      block.single([&]() FLAGGEMS_LAMBDA { totals[line] = all; });
    });
  }
};

/// Sorts each tile by the digit, and scatters it to its destinations in the row.
template <class T, class J>
struct radix_move {
  static constexpr int max_threads = radix_tile::threads;
  static constexpr int min_blocks = sizeof(T) + sizeof(J) > 8 ? 1 : 2;  // bounds its registers
  static constexpr int most_scratch = radix_tile::move_scratch<bits_type<T>, J>();
  using U = bits_type<T>;
  using pass_type = radix_pass<U, J>;
  using wide = conditional<(sizeof(U) > sizeof(J)), U, J>;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, const row_arg<T>& in,
                                  const row_target<i64>& indices, const pass_type& pass) {
    constexpr int keys = radix_tile::keys;
    constexpr i32 digits = radix_tile::digits;
    const i32 warps = block.threads() / Block::warp_size, warp = block.thread() / Block::warp_size;
    const auto shared = block.template scratch<wide>(block.threads() * keys);
    const auto counts = block.template scratch<u32>(digits * warps);
    const auto own_counts = counts.from(digits * warp);
    const auto starts = block.template scratch<J>(digits);
    block.for_each_tile(pass.rows * pass.tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const radix_part<T, J> part(pass, tile, block.threads() * keys);
      block.for_each(digits * warps, [&](i64 c) FLAGGEMS_LAMBDA { counts.write(c, 0); });
      U key[keys];
      part.load(block, space, in, indices, pass, key);
      block.sync();
      u32 at[keys / 2] = {};  // where keys go in the sorted tile, two in a word
      const auto place_in_tile = [&](int k) FLAGGEMS_LAMBDA {
        return static_cast<i32>(at[k / 2] >> (k % 2 * 16) & 0xffffU);
      };
      const auto add = [&](int k, u32 count) FLAGGEMS_LAMBDA {
        at[k / 2] += count << (k % 2 * 16);
        FLAGGEMS_FORGET(at[k / 2]);
      };
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < keys; ++k)
        add(k, block.template count_in_turn<radix_tile::bits>(own_counts, pass.digit(key[k])));
      block.sync();
      const i64 line = part.row * digits;
      // The row's beginning among those of the pass, which 32 bits can count.
      const J first = static_cast<J>(part.row * space.length);
      // Both in one scan: the keys of the row, and of the tile, with lesser digits.
      block.template exclusive_scan<u64>(
          digits, 0,
          [&](i64 d) FLAGGEMS_LAMBDA {
            u64 sum = static_cast<u64>(pass.totals[line + d]) << 16;
            for (i32 w = 0; w < warps; ++w) sum += counts.read(w * digits + d);
            return sum;
          },
          [&](i64 d, u64 before) FLAGGEMS_LAMBDA {
            u32 start = static_cast<u32>(before & 0xffffU);
            const i64 own = (line + d) * pass.tiles + tile - part.row * pass.tiles;
            starts.write(
                d, static_cast<J>(first + static_cast<J>(before >> 16) + pass.counts[own] - start));
            for (i32 w = 0; w < warps; ++w) {
              const u32 count = counts.read(w * digits + d);
              counts.write(w * digits + d, start);
              start += count;
            }
          });
      block.sync();
      const auto staged = shared.template as<U>();
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < keys; ++k) {
        add(k, own_counts.read(pass.digit(key[k])));
        staged.write(place_in_tile(k), key[k]);
      }
      block.sync();
      const i32 n = part.count(space, block.threads() * keys);
      J to[keys];
      const auto find = [&](int k, i32 i) FLAGGEMS_LAMBDA {
        const U one = staged.read(i);
        to[k] = static_cast<J>(starts.read(pass.digit(one)) + static_cast<J>(i));
        return one;
      };
      if (pass.next_keys != nullptr) {
        for_block_share(block, [&](int k, i32 i) FLAGGEMS_LAMBDA {
          const U one = find(k, i);
          if constexpr (sizeof(J) == 4) FLAGGEMS_FORGET(to[k]);  // no branch around computing it
          if (i < n) pass.next_keys[to[k]] = one;
        });
      } else {
        for_block_share(block, [&](int k, i32 i) FLAGGEMS_LAMBDA { find(k, i); });
      }
      block.sync();
      J place[keys];
      if (pass.places != nullptr) {
        const J begin = static_cast<J>(first + static_cast<J>(part.begin));
        for_warp_share(block, [&](int k, i32 i) FLAGGEMS_LAMBDA {
          place[k] = i < n ? pass.places[static_cast<J>(begin + static_cast<J>(i))] : J(0);
        });
      } else {
        for_warp_share(block, [&](int k, i32 i) FLAGGEMS_LAMBDA {
          place[k] = static_cast<J>(part.begin) + static_cast<J>(i);
        });
      }
      const auto moved = shared.template as<J>();
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < keys; ++k) moved.write(place_in_tile(k), place[k]);
      block.sync();
      if (pass.next_keys != nullptr) {
        for_block_share(block, [&](int k, i32 i) FLAGGEMS_LAMBDA {
          const J one = moved.read(i);
          if (i < n) pass.next_places[to[k]] = one;
        });
      } else {
        i64 from, result;
        locate_row(space, space.rank, pass.first + part.row, in.strides, indices.strides, from,
                   result);
        const row_out<i64> sorted{indices.data + result, indices.strides[space.rank]};
        const auto write = [&](i64 stride) FLAGGEMS_LAMBDA {
          for_block_share(block, [&](int k, i32 i) FLAGGEMS_LAMBDA {
            const i64 one = static_cast<i64>(moved.read(i));
            if (i < n) sorted.data[static_cast<i64>(static_cast<J>(to[k] - first)) * stride] = one;
          });
        };
        if (sorted.stride == 1)
          write(1);
        else
          write(sorted.stride);
      }
      block.sync();  // the next tile reuses the memory
    });
  }
};

/// Elements that a block gathers at a time.
inline constexpr i64 gather_tile = 4096;
/// Gathers the elements of sorted rows by index: to `values` or, where those are x itself, first to
/// `spare`, of the rows' length, and in a second launch from there.
template <class T>
struct take_sorted {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, i64 first, i64 rows,
                                  const row_arg<T>& in, const row_target<T>& values,
                                  const row_target<i64>& indices, global_ptr<T> spare, i32 from) {
    constexpr i64 size = gather_tile;
    const i64 tiles = ceil_div(space.length, size);
    block.for_each_tile(rows * tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 row = tile / tiles, begin = (tile - row * tiles) * size;
      i64 x, to, at;
      locate_row(space, space.rank, first + row, in.strides, indices.strides, x, at);
      locate_row(space, space.rank, first + row, in.strides, values.strides, x, to);
      const row_in<T> elements{in.data + x, in.strides[space.rank]};
      const row_in<i64> places{indices.data + at, indices.strides[space.rank]};
      const row_out<T> sorted{values.data + to, values.strides[space.rank]};
      block.for_each(min_of(size, space.length - begin), [&](i64 k) FLAGGEMS_LAMBDA {
        const i64 i = begin + k;
        T one{};  // (clang's OpenCL has no ?: of classes)
        if (from != 0)
          one = spare[row * space.length + i];
        else
          one = elements.template read<T>(places.template read<i64>(i));
        if (spare != nullptr && from == 0)
          spare[row * space.length + i] = one;
        else
          sorted.write(i, one);
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/order/simt/radix_sort.hpp");
