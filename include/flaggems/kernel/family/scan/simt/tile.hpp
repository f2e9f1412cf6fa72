// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A tile of a row in the registers of a block's threads. A warp has consecutive elements, its lanes
// vectors side by side, so that each access of a warp is one piece of memory: with consecutive
// elements a thread, stores would fill half of each sector.
#pragma once

#include <flaggems/kernel/family/scan/scan.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// The elements of a vector, and a thread's vectors of a tile.
template <class Row>
struct scan_layout {
  static constexpr int width = 1, count = 4;
};
template <class Op, class T, class O>
struct scan_layout<scan_row_data<Op, T, O>> {
  static constexpr int bytes = static_cast<int>(sizeof(typename Op::of_tile::state));
  static constexpr int width =
      16 / static_cast<int>(max_of(max_of(sizeof(T), sizeof(O)), sizeof(i64) * Op::has_places));
  // States of as many vectors, and one before each, as leave registers for three blocks a unit.
  static constexpr int most = 160 / bytes / (width + 1);
  static constexpr int count = most >= 8 ? 8 : most >= 4 ? 4 : most >= 2 ? 2 : 1;
};
/// The elements of a tile that a thread has.
template <class Op, class T, class O>
inline constexpr int scan_share =
    scan_layout<scan_row_data<Op, T, O>>::width* scan_layout<scan_row_data<Op, T, O>>::count;

/// The elements of a row from `base` on, `left` of them, as a tile's threads reach them, one by
/// one: states at place(v) and following, or `none` after the end; results of i and following.
template <class Row>
struct scan_access {
  const Row& row;
  i64 base;
  int left;

  /// (The caller names sizes: OpenCL would deduce an address space.)
  template <int Count, int Width, class Place>
  FLAGGEMS_INLINE void read(typename Row::held::state (&to)[Count][Width],
                            const typename Row::held::state& none, const Place& place) const {
    FLAGGEMS_SIMT_UNROLL
    for (int v = 0; v < Count; ++v) {
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < Width; ++k) {
        const int i = place(v) + k;
        to[v][k] = i < left ? row.read_held(base + i, i) : none;
      }
    }
  }
  template <int Width, class F>
  FLAGGEMS_INLINE void write(int i, const F& state_of) const {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; ++k)
      if (i + k < left) row.write(base + i + k, state_of(k));
  }
};
/// The same by vectors where a tensor's row has them.
template <class Op, class T, class O>
struct vector_scan_access : scan_access<scan_row_data<Op, T, O>> {
  using row_type = scan_row_data<Op, T, O>;
  using each = scan_access<row_type>;
  using each::base;
  using each::left;
  using each::row;
  using held = typename Op::of_tile;
  static constexpr int width = scan_layout<row_type>::width;
  global_ptr<const T> from;
  global_ptr<O> to;
  global_ptr<i64> places;
  bool reads, writes;

  FLAGGEMS_INLINE vector_scan_access(const row_type& r, i64 begin, int count)
      : each{r, begin, count},
        from(r.from + begin),
        to(r.to + begin),
        places(r.places + begin),
        reads(r.from_step == 1 && is_vec_aligned<width>(r.from)),
        writes(r.to_step == 1 && is_vec_aligned<width>(r.to)) {
    if constexpr (Op::has_places)
      writes = writes && r.place_step == 1 && is_vec_aligned<width>(r.places);
  }
  template <int Count, int Width, class Place>
  FLAGGEMS_INLINE void read(typename held::state (&states)[Count][Width],
                            const typename held::state& none, const Place& place) const {
    if (!reads) return each::template read<Count, Width>(states, none, place);
    vec_storage<T, width> raw[Count];  // all loads before the first use
    FLAGGEMS_SIMT_UNROLL
    for (int v = 0; v < Count; ++v) {
      raw[v] = {};
      if (place(v) + width <= left)
        raw[v] = load_storage<width, T, kernels::reads::once>(from + place(v));
    }
    FLAGGEMS_SIMT_UNROLL
    for (int v = 0; v < Count; ++v) {
      const int i = place(v);
      const auto some = bit_cast<vec<T, width>>(raw[v]);
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < width; ++k)
        states[v][k] = held::of(number_cast<typename Op::compute>(some.at[k]), i + k);
      if (i + width > left) {
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < width; ++k)
          states[v][k] = i + k < left ? row.read_held(base + i + k, i + k) : none;
      }
    }
  }
  template <int Width, class F>
  FLAGGEMS_INLINE void write(int i, const F& state_of) const {
    if (!writes || i + width > left) return each::template write<Width>(i, state_of);
    vec<O, width> values;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < width; ++k) values.at[k] = number_cast<O>(Op::value(state_of(k)));
    store_vec<width>(to + i, values);
    if constexpr (Op::has_places) {
      vec<i64, width> some;
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < width; ++k) some.at[k] = state_of(k).index;
      store_vec<width>(places + i, some);
    }
  }
};
template <class Row>
FLAGGEMS_INLINE scan_access<Row> access_of(const Row& row, i64 base, int left) {
  return {row, base, left};
}
template <class Op, class T, class O>
FLAGGEMS_INLINE vector_scan_access<Op, T, O> access_of(const scan_row_data<Op, T, O>& row, i64 base,
                                                       int left) {
  return {row, base, left};
}

/// The elements of a row from `base` on, `left` of them at most; identities after its end.
template <class Op, class Row>
struct scan_tile {
  using held = typename Row::held;
  using state = typename held::state;
  static constexpr int width = scan_layout<Row>::width, count = scan_layout<Row>::count;
  static constexpr int share = width * count;

  i64 base;
  int left;
  state own[count][width];  // joined to those before in their vector
  state before[count];      // what is joined before each vector, in the warp or block

  FLAGGEMS_INLINE scan_tile(i64 begin, i64 n)
      : base(begin), left(static_cast<int>(min_of(n - begin, i64{1} << 30))) {}

  /// The place of a thread's first vector, in warp `warp` of those that share the tile; others are
  /// a warp's vectors apart.
  template <class Block>
  FLAGGEMS_INLINE static int first_place(const Block& block, int warp) {
    return settled((warp * count * Block::warp_size + block.thread() % Block::warp_size) * width);
  }

  template <class Block>
  FLAGGEMS_INLINE void read(const Block& block, const Row& row, int warp) {
    const int place = first_place<Block>(block, warp);
    access_of(row, base, left)
        .template read<count, width>(own, held::identity(), [&](int v) FLAGGEMS_LAMBDA {
          return place + v * width * Block::warp_size;
        });
  }

  /// Joins the states of a warp; gives those of all its lanes joined. (Each step for all vectors,
  /// so that shuffles do not wait for each other; half of them where a tile has no more.)
  template <class Block, int Vectors = count>
  FLAGGEMS_INLINE state join_warp(const Block& block) {
    if constexpr (Vectors > 1)
      if (left <= Vectors / 2 * width * Block::warp_size)
        return join_warp<Block, Vectors / 2>(block);
    const int lane = block.thread() % Block::warp_size;
    state last[Vectors];
    FLAGGEMS_SIMT_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      FLAGGEMS_SIMT_UNROLL
      for (int k = 1; k < width; ++k) own[v][k] = held::join(own[v][k - 1], own[v][k]);
      last[v] = own[v][width - 1];
    }
    FLAGGEMS_SIMT_UNROLL
    for (int delta = 1; delta < Block::warp_size; delta *= 2) {
      FLAGGEMS_SIMT_UNROLL
      for (int v = 0; v < Vectors; ++v) {
        const state below = block.shuffle_up(last[v], delta);
        const state joined = held::join(below, last[v]);
        if (lane >= delta) last[v] = joined;
      }
    }
    state all = held::identity();
    FLAGGEMS_SIMT_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      const state below = block.shuffle_up(last[v], 1);
      const state whole = block.shuffle_from(last[v], Block::warp_size - 1);
      before[v] = all;
      if (lane > 0) before[v] = held::join(all, below);
      all = held::join(all, whole);
    }
    return all;
  }
  /// The same of a block, whose warps have consecutive parts of the tile.
  template <class Block>
  FLAGGEMS_INLINE state join_block(const Block& block) {
    const auto join = [](const state& a, const state& b)
                          FLAGGEMS_LAMBDA { return held::join(a, b); };
    state total;
    const state warps = block.template exclusive_scan_warps<state>(join_warp<Block>(block),
                                                                   held::identity(), join, total);
    FLAGGEMS_SIMT_UNROLL
    for (int v = 0; v < count; ++v) before[v] = held::join(warps, before[v]);
    return total;
  }

  /// Writes results, to which `carry` is joined first.
  template <class Block>
  FLAGGEMS_INLINE void write(const Block& block, const Row& row, int warp,
                             const typename Op::state& carry) const {
    const auto access = access_of(row, base, left);
    const int place = first_place<Block>(block, warp);
    FLAGGEMS_SIMT_UNROLL
    for (int v = 0; v < count; ++v) {
      const auto first = Op::join(carry, row.widen(before[v], base));
      access.template write<width>(
          place + v * width * Block::warp_size,
          [&](int k) FLAGGEMS_LAMBDA { return Op::join(first, row.widen(own[v][k], base)); });
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/scan/simt/tile.hpp");
