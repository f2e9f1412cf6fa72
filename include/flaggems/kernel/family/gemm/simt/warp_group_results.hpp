// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The way of a tile's sums from the registers of a warp group to the results.
#pragma once

#include <flaggems/kernel/block/simt/warp_group.hpp>
#include <flaggems/kernel/family/gemm/scaled.hpp>

namespace flaggems::kernels {

/// A lane that may be past the end, where it computes something but stores nothing.
template <class Lane>
struct lane_if : Lane {
  bool inside;
  FLAGGEMS_INLINE bool mask() const { return inside; }
};

/// A lane that takes what is stored besides.
template <class Lane, class V>
struct lane_keeping : Lane {
  V* kept;
};

template <class Unit, class C, class Out, class Bias, class Tile, class Space>
class warp_group_results {
 public:
  /// `slabs`: the two of this warp in block-local memory.
  FLAGGEMS_INLINE warp_group_results(const Unit& unit, const Space& space, const tensor_map& to,
                                     const gemm_out<Out, C>& out, const Bias& bias, u32 slabs)
      : unit_(unit), space_(space), to_(to), out_(out), bias_(bias), slabs_(slabs) {}

  /// Stores the results of a warp group, whose first is at `to`; `next` is the slab to write.
  template <class Place>
  FLAGGEMS_INLINE void store(const C (&sums)[Tile::parts][Tile::n / 2], const Place& to, u32 thread,
                             u32& next) const {
    const u32 lane = thread % 32;
    const ranked_coordinates<1> batch{{to.result}, 0};
    const bias_tile add = prepared(bias_.at(batch, 0));
    const auto data = out_.at(batch);
    FLAGGEMS_SIMT_UNROLL
    for (int p = 0; p < Tile::parts; ++p) {
      part_of_tile at;
      at.row = to.i + static_cast<i32>(thread / 32 * 16) + p * 64;
      at.column = to.j;
      at.result = to.result;
      at.end = space_.row_end(to);
      const i32 r = at.row + static_cast<i32>(lane / 4);
      at.own[0] = min_of(r, at.end - 1);
      at.own[1] = min_of(r + 8, at.end - 1);
      at.is_inside[0] = r < at.end;
      at.is_inside[1] = r + 8 < at.end;
      // Inside, elements of neighbouring columns lie at constant distances.
      if (is_same<Bias, no_bias> || (space_.reads_contiguous && to.j + Tile::n <= space_.n))
        store_part<lane_contiguous>(sums[p], rows_of(add, at), data, at, lane, next);
      else if constexpr (!is_same<Bias, no_bias>)
        store_part<lane_scalar>(sums[p], rows_of(add, at), data, at, lane, next);
    }
  }

 private:
  using bias_tile = decltype(declval_of<const Bias&>().at(coordinates{}, i64{}));
  /// Sums of a result: neighbours are one if the epilogue makes it of both.
  static constexpr int per = takes_pairs<Bias> ? 2 : 1;
  static constexpr int slab = Tile::slab / per;  // columns of the results
  /// Whether what is stored besides goes by slabs as well; it takes one of the two.
  using kept_element = typename stored_by<Bias>::element;
  using kept_value = typename stored_by<Bias>::value;
  static constexpr bool keeps =
      stored_by<Bias>::count == 1 && sizeof(Out) == 2 && sizeof(kept_element) == 2;

  /// 64 rows of a tile, of which a warp has 16, and each thread two.
  struct part_of_tile {
    i32 row, column, result, end;
    i32 own[2];
    bool is_inside[2];
  };

  /// What is added to the rows that a thread has; where rows are looked up, only once.
  FLAGGEMS_INLINE decltype(auto) rows_of(const bias_tile& add,
                                         [[maybe_unused]] const part_of_tile& at) const {
    if constexpr (has_rows<bias_tile>)
      return add.of_rows(at.own[0], at.own[1]);
    else
      return (add);
  }
  template <class Column, class Add>
  FLAGGEMS_INLINE void store_part(const C* sums, const Add& add, global_ptr<Out> data,
                                  const part_of_tile& at, u32 lane, u32& next) const {
    if constexpr (sizeof(Out) == 2)
      store_slabs<Column>(sums, add, data, at, lane, next);
    else
      store_pairs<Column>(sums, add, data, at, static_cast<i32>(lane % 4 * 2));
  }

  /// What is stored of the sum at x, of a thread's h-th row and column `column` of the sums, and
  /// besides, to `kept`; past the end, something.
  template <class Column, class Add>
  FLAGGEMS_INLINE auto result(const Add& add, const C* x, const part_of_tile& at, int h, i64 column,
                              [[maybe_unused]] kept_value* kept = nullptr) const {
    i64 j = column / per;
    if constexpr (is_same<Column, lane_scalar>) j = min_of(static_cast<i32>(j), space_.n / per - 1);
    const auto made = [&](auto lane) FLAGGEMS_LAMBDA {
      if constexpr (per == 2) {
        const C both[2] = {static_cast<C>(out_.alpha * x[0]), static_cast<C>(out_.alpha * x[1])};
        return add.template add_pair<C>(at.own[h], lane, both);
      } else {
        return add.template add<C>(at.own[h], lane, static_cast<C>(out_.alpha * *x));
      }
    };
    if constexpr (keeps)
      return made(lane_keeping<Column, kept_value>{Column{j}, kept});
    else if constexpr (stored_by<Bias>::count > 0)
      return made(lane_if<Column>{Column{j}, at.is_inside[h] && column < space_.n});
    else
      return made(Column{j});
  }
  template <class To = Out, class Value>
  FLAGGEMS_INLINE u32 packed(Value low, Value high) const {
    if constexpr (is_same<Value, f32>)
      return pack_halves<To>(low, high);
    else
      return u32{bit_cast<u16>(number_cast<To>(low))} | u32{bit_cast<u16>(number_cast<To>(high))}
                                                            << 16;
  }
  /// take(h, low, high, kept) of four sums: what is stored of neighbours, of both rows of a thread.
  template <class Column, class Add, class Take>
  FLAGGEMS_INLINE void make(const Add& add, const C* x, const part_of_tile& at, i64 column,
                            const Take& take) const {
    kept_value kept[2] = {};
    if constexpr (has_columns<Add>) {
      const auto both = add.of_columns(Column{column}, space_.n - 1);
      FLAGGEMS_SIMT_UNROLL
      for (int h = 0; h < 2; ++h)
        take(h, both.add(h, 0, out_.alpha * x[2 * h]), both.add(h, 1, out_.alpha * x[2 * h + 1]),
             kept);
    } else {
      FLAGGEMS_SIMT_UNROLL
      for (int h = 0; h < 2; ++h) {
        const auto low = result<Column>(add, x + 2 * h, at, h, column, kept);
        const auto high = result<Column>(add, x + 2 * h + 1, at, h, column + 1, kept + 1);
        take(h, low, high, kept);
      }
    }
  }

  /// 16 rows of a warp, a slab of columns at a time through block-local memory.
  template <class Column, class Add>
  FLAGGEMS_INLINE void store_slabs(const C* sums, const Add& add, global_ptr<Out> data,
                                   const part_of_tile& at, u32 lane, u32& next) const {
    // Several at once, so that what they read arrives together, where there are registers for it.
    constexpr int pieces = Tile::slab / 16, together = Tile::parts * Tile::n > 256 ? 1 : pieces;
    FLAGGEMS_SIMT_UNROLL
    for (int s = 0; s < Tile::n / Tile::slab; ++s) {
      const i32 left = at.column + s * Tile::slab;
      const u32 to = slabs_ + (keeps ? 0 : next) * Tile::slab_bytes;
      const u32 besides = slabs_ + Tile::slab_bytes;
      next ^= 1;
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < pieces; j += together) {
        u32 tiles[together][4 / per], kept_tiles[keeps ? together : 1][4 / per];
        FLAGGEMS_SIMT_UNROLL
        for (int t = 0; t < together; ++t) {
          const C* x = sums + (s * Tile::slab + (j + t) * 16) / 2;
          const i64 c = i64{left} + lane % 4 * 2 + (j + t) * 16;
          const auto put = [&](int e, auto low, auto high, const kept_value* kept) FLAGGEMS_LAMBDA {
            tiles[t][e] = packed(low, high);
            if constexpr (keeps) kept_tiles[t][e] = packed<kept_element>(kept[0], kept[1]);
          };
          if constexpr (per == 1) {
            FLAGGEMS_SIMT_UNROLL
            for (int e = 0; e < 4; e += 2)
              make<Column>(add, x + 2 * e, at, c + 4 * e,
                           [&](int h, auto low, auto high, const kept_value* kept)
                               FLAGGEMS_LAMBDA { put(e + h, low, high, kept); });
          } else {
            FLAGGEMS_SIMT_UNROLL
            for (int h = 0; h < 2; ++h) {
              kept_value kept[2] = {};
              const auto low = result<Column>(add, x + 2 * h, at, h, c, kept);
              const auto high = result<Column>(add, x + 4 + 2 * h, at, h, c + 8, kept + 1);
              put(h, low, high, kept);
            }
          }
        }
        if (j == 0) {
          if (space_.stores_boxes && lane == 0) unit_.template await_reads<keeps ? 0 : 1>();
          unit_.sync_warp();
        }
        FLAGGEMS_SIMT_UNROLL
        for (int t = 0; t < together; ++t) {
          write_tiles(to, j + t, lane, tiles[t]);
          if constexpr (keeps) write_tiles(besides, j + t, lane, kept_tiles[t]);
        }
      }
      if (space_.stores_boxes) {
        unit_.fence_writes();
        unit_.sync_warp();
        if (lane == 0) unit_.store_box(to_, {{left / per, at.row, at.result}}, to);
      } else {
        unit_.sync_warp();
        bool vectors = false;
        if constexpr (Space::groups) vectors = space_.stores_vectors;
        store_rows<Out, Space::groups>(data, out_.row, out_.column, vectors, to, at, left / per,
                                       lane);
      }
      if constexpr (keeps) {
        const auto& kept = add.stored();
        const bool vectors = kept.column == 1 && kept.row % 4 == 0 && is_vec_aligned<4>(kept.data);
        store_rows<kept_element, true>(kept.data, kept.row, kept.column, vectors, besides, at,
                                       left / per, lane);
      }
    }
  }
  /// The j-th 16 columns of sums of a slab.
  FLAGGEMS_INLINE void write_tiles(u32 to, int j, u32 lane, const u32 (&x)[4 / per]) const {
    if constexpr (per == 1) {
      constexpr u32 vectors = slab / 8;  // of 16 bytes, a row
      // The vector whose address this lane gives.
      const u32 vector = lane % 16 * vectors + lane / 16;
      unit_.store_tiles(swizzled(to + (vector + static_cast<u32>(2 * j)) * 16, vectors), x);
    } else {  // a thread's results are no neighbours
      FLAGGEMS_SIMT_UNROLL
      for (u32 e = 0; e < 4; ++e)
        unit_.write(
            place_of(to, lane / 4 + e / 2 * 8, static_cast<u32>(j * 8) + e % 2 * 4 + lane % 4),
            static_cast<u16>(x[e / 2] >> e % 2 * 16));
    }
  }
  /// Where a slab has row r and column c.
  FLAGGEMS_INLINE static u32 place_of(u32 begin, u32 r, u32 c) {
    return swizzled(begin + (r * static_cast<u32>(slab) + c) * 2, slab / 8);
  }
  /// A slab row by row, whatever the alignment and strides; `vectors`: by 8 bytes, if they are
  /// whole.
  template <class To, bool MayBeVectors>
  FLAGGEMS_INLINE void store_rows(global_ptr<To> data, i64 row_step, i64 column_step,
                                  [[maybe_unused]] bool vectors, u32 from, const part_of_tile& at,
                                  i32 column, u32 lane) const {
    const i32 rows = min_of(at.end - at.row, 16), columns = space_.n / per;
    if constexpr (MayBeVectors) {
      if (vectors && column + slab <= columns) {
        constexpr u32 wide = 4, each = slab / wide;  // elements of 8 bytes
        for (u32 e = lane; e < static_cast<u32>(rows < 0 ? 0 : rows) * each; e += 32) {
          const i32 to = space_.row(at.row + static_cast<i32>(e / each));
          if (to < 0) continue;
          *reinterpret_cast<global_ptr<u64>>(data + to * row_step + column + e % each * wide) =
              unit_.template read<u64>(place_of(from, e / each, e % each * wide));
        }
        return;
      }
    }
    for (i32 r = 0; r < rows; ++r) {
      const i32 to = space_.row(at.row + r);
      if (Space::groups && to < 0) continue;
      for (u32 c = lane; c < static_cast<u32>(slab); c += 32) {
        const i32 j = column + static_cast<i32>(c);
        if (j < columns)
          data[to * row_step + j * column_step] =
              unit_.template read<To>(place_of(from, static_cast<u32>(r), c));
      }
    }
  }

  /// Of other types than those of 16 bits, from registers.
  template <class Column, class Add>
  FLAGGEMS_INLINE void store_pairs(const C* sums, const Add& add, global_ptr<Out> data,
                                   const part_of_tile& at, i32 first) const {
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < Tile::n / 8; ++j) {
      const i32 c = at.column + first + 8 * j;
      if constexpr (per == 2) {
        FLAGGEMS_SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          const auto made = result<Column>(add, sums + 4 * j + 2 * h, at, h, c);
          if (at.is_inside[h] && c < space_.n)
            data[at.own[h] * out_.row + c / 2 * out_.column] = number_cast<Out>(made);
        }
      } else {
        make<Column>(add, sums + 4 * j, at, c,
                     [&](int h, auto low, auto high, const kept_value*) FLAGGEMS_LAMBDA {
                       const vec<Out, 2> both = {{number_cast<Out>(low), number_cast<Out>(high)}};
                       if (at.is_inside[h]) store_pair(data, both, space_.row(at.own[h]), c);
                     });
      }
    }
  }
  FLAGGEMS_INLINE void store_pair(global_ptr<Out> data, const vec<Out, 2>& both, i32 row,
                                  i32 column) const {
    if (Space::groups && row < 0) return;
    global_ptr<Out> to = data + row * out_.row + column * out_.column;
    if (space_.stores_boxes && column + 1 < space_.n) {
      *reinterpret_cast<global_ptr<vec<Out, 2>>>(to) = both;
    } else {
      if (column < space_.n) to[0] = both.at[0];
      if (column + 1 < space_.n) to[out_.column] = both.at[1];
    }
  }

  const Unit& unit_;
  const Space& space_;
  const tensor_map& to_;
  const gemm_out<Out, C>& out_;
  const Bias& bias_;
  u32 slabs_;
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/simt/warp_group_results.hpp");
