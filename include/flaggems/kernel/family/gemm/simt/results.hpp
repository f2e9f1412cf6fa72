// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the tiles of a product on SIMT devices leave their sums.
#pragma once

#include <flaggems/kernel/family/gemm/gemm.hpp>
#include <flaggems/kernel/lang/value.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// A sum as f32, integers with their sign.
FLAGGEMS_INLINE f32 sum_as_f32(f32 x) { return x; }
FLAGGEMS_INLINE f32 sum_as_f32(u32 x) { return static_cast<f32>(static_cast<i32>(x)); }

/// Sums cut into parts (split-K): of all tiles where there are too few to occupy a device, or of
/// those that its last round has.
template <class C>
struct sum_parts {
  i32 count;
  i64 length;             // terms of a part, a multiple of what a kernel takes in a step
  global_ptr<C> partial;  // if count > 1, for gemm_merge or gemm_merge_tiles
  i64 whole = 0;          // tiles whose sums are not cut, the first ones

  /// Units of work of so many tiles.
  FLAGGEMS_INLINE i64 units(i64 tiles) const { return whole + (tiles - whole) * count; }
};

/// A unit of work: a tile of a batch's product, or a part of its sum.
struct tile_part {
  i64 batch, i, j;
  i64 begin, end;  // the terms
  i64 slot;        // where a part's sums are among `partial`, in tiles; -1: it is the whole sum

  template <class C>
  FLAGGEMS_INLINE static tile_part of(const gemm_space& space, const sum_parts<C>& parts,
                                      i64 index) {
    const u32 columns = static_cast<u32>(space.column_tiles);
    const u32 tiles = static_cast<u32>(space.row_tiles) * columns;  // of a batch: fewer than 2^32
    tile_part p{0, 0, 0, 0, space.k, -1};
    if (parts.count > 1 && index >= parts.whole) {
      const u32 whole = static_cast<u32>(parts.whole);
      const u32 cut = static_cast<u32>(space.tiles()) - whole;
      const u32 slot = static_cast<u32>(index) - whole, part = slot / cut;
      p.slot = i64{slot};
      p.begin = i64{part} * parts.length;
      p.end = min_of(p.begin + parts.length, space.k);
      index = i64{whole} + (slot - part * cut);
    }
    if (space.batches > 1) p.batch = index / tiles;
    const u32 tile = static_cast<u32>(index - p.batch * tiles);
    const tile_in_order at(tile, static_cast<u32>(space.group), static_cast<u32>(space.row_tiles),
                           columns);
    p.i = i64{at.row} * space.tile_rows;
    p.j = i64{at.column} * space.tile_columns;
    return p;
  }
};

/// An operand's elements of a batch. (By coordinates, which are an array indexed at run time, they
/// would go through local memory.)
FLAGGEMS_INLINE i64 batch_offset(const gemm_space& space, const i64* strides, i64 batch) {
  i64 offset = 0;
  for (int d = space.rank - 1; d >= 0 && batch != 0; --d) {
    const i64 next = batch / space.sizes[d];
    offset += (batch - next * space.sizes[d]) * strides[d];
    batch = next;
  }
  return offset;
}
template <class T>
FLAGGEMS_INLINE auto operand_of(const gemm_space& space, const gemm_arg<T>& x, i64 batch) {
  return x.data + batch_offset(space, x.batch, batch);
}
template <class Prologue>
FLAGGEMS_INLINE auto operand_of(const gemm_space& space, const Prologue& x, i64 batch) {
  return x.at(space.batch_at(batch));
}

/// Takes Count adjacent sums of a row at a time: to the epilogue and the results, or, of a part of
/// the sum, as they are to `partial`.
template <class Out, class C, class Bias, int Count>
class tile_results {
 public:
  using sum_type = C;
  static constexpr int count = Count;
  FLAGGEMS_INLINE tile_results(const gemm_space& space, const gemm_out<Out, C>& out,
                               const Bias& bias, const sum_parts<C>& parts, const tile_part& unit)
      : tile_results(space, out, parts, unit, bias.at(space.batch_at(unit.batch), unit.i)) {}
  /// Row i of the tile, columns [j, j + Count) of the result, j a multiple of Count.
  FLAGGEMS_INLINE void store(i64 i, i64 j, const C (&sums)[Count]) const {
    if (i >= rows_ || j >= columns_) return;
    if (partial_ != nullptr) {
      const auto to = partial_ + i * pitch_ + (j - first_);
      constexpr int part = min_of(Count, vec_size<C>);
      static_for<Count / part>([&](auto g) FLAGGEMS_LAMBDA {
        vec<C, part> v;
        static_for<part>([&](auto e) FLAGGEMS_LAMBDA { v.at[e] = sums[g * part + e]; });
        store_vec<part>(to + g * part, v);
      });
    } else if (is_vectorized_ && j + Count <= columns_) {
      static_for<made / size>([&](auto g) FLAGGEMS_LAMBDA {
        constexpr int first = decltype(g)::value * size;
        vec<Out, size> v;
        static_for<size>([&](auto e) FLAGGEMS_LAMBDA {
          v.at[e] = number_cast<Out>(finished(i, j / per + first + e, sums + (first + e) * per));
        });
        store_vec<size>(to_ + i * out_.row + j / per + first, v);
      });
    } else {
      static_for<made>([&](auto e) FLAGGEMS_LAMBDA {
        if (j + e * per < columns_)
          kernels::store(to_ + i * out_.row, out_.column, lane_scalar{j / per + e},
                         finished(i, j / per + e, sums + e * per));
      });
    }
  }

 private:
  /// Sums of a result: neighbours are one if the epilogue makes it of both.
  static constexpr int per = takes_pairs<Bias> ? 2 : 1, made = Count / per;
  static constexpr int size = min_of(made, vec_size<Out>);
  using bias_tile = decltype(declval_of<const Bias&>().at(coordinates{}, i64{}));

  // (What `at` returns is copied: clang 15 makes no valid OpenCL of a list that begins a member.)
  FLAGGEMS_INLINE tile_results(const gemm_space& space, const gemm_out<Out, C>& out,
                               const sum_parts<C>& parts, const tile_part& unit,
                               const bias_tile& finish)
      : out_(out),
        finish_(finish),
        to_(out.data + batch_offset(space, out.batch, unit.batch) + unit.i * out.row),
        partial_(nullptr),
        rows_(space.m - unit.i),
        columns_(space.n),
        first_(unit.j),
        pitch_(space.tile_columns) {
    if (unit.slot >= 0) partial_ = parts.partial + unit.slot * (space.tile_rows * pitch_);
    is_vectorized_ =
        out.column == 1 && out.row % size == 0 && is_vec_aligned<size>(global_ptr<const Out>(to_));
  }

  FLAGGEMS_INLINE auto finished(i64 i, i64 j, const C* x) const {
    if constexpr (per == 2) {
      const C both[2] = {static_cast<C>(out_.alpha * x[0]), static_cast<C>(out_.alpha * x[1])};
      return finish_.template add_pair<C>(i, lane_scalar{j}, both);
    } else {
      return finish_.template add<C>(i, lane_scalar{j}, static_cast<C>(out_.alpha * *x));
    }
  }

  const gemm_out<Out, C>& out_;
  bias_tile finish_;
  global_ptr<Out> to_;
  global_ptr<C> partial_;
  i64 rows_, columns_, first_, pitch_;
  bool is_vectorized_;
};

/// The sums of one row after another elements, which is what threads take from block-local memory
/// at a time.
template <class Out>
inline constexpr int sums_together = min_of(max_of(vec_size<Out>, 4), 8);

/// Stores rows of Columns sums each, which are in block-local memory, Pitch apart: row r is row
/// row_of(r) of the tile.
template <int Rows, int Columns, int Pitch, int Threads, class Block, class Sums, class RowOf,
          class Results>
FLAGGEMS_INLINE void store_rows(const Block& block, const Sums& sums, i64 column,
                                const RowOf& row_of, const Results& results) {
  using C = typename Results::sum_type;
  constexpr int together = Results::count, width = vec_size<C>;
  constexpr int groups = Columns / together;
  const auto found = sums.template as<vec<C, width>>();
  FLAGGEMS_SIMT_NO_UNROLL
  for (int e = block.thread(); e < Rows * groups; e += Threads) {
    const int r = e / groups, c = e % groups * together;
    C some[together];
    FLAGGEMS_SIMT_UNROLL
    for (int f = 0; f < together; f += width) {
      const vec<C, width> x = found.read((r * Pitch + c + f) / width);
      for (int h = 0; h < width; ++h) some[f + h] = x.at[h];
    }
    results.store(row_of(r), column + c, some);
  }
}

/// The sums of vectors load(0), load(1), .. in this order, some of which are loaded at once.
template <class C, class Load>
FLAGGEMS_INLINE vec<C, vec_size<C>> sum_of_parts(const Load& load, int parts) {
  constexpr int count = vec_size<C>, ahead = 4;
  vec<C, count> sums = {};
  for (int p = 0; p < parts; p += ahead) {
    vec<C, count> v[ahead] = {};  // without it, g++ 12 warns at -O1
    static_for<ahead>([&](auto e) FLAGGEMS_LAMBDA {
      if (p + e < parts) v[e] = load(p + e);
    });
    static_for<ahead>([&](auto e) FLAGGEMS_LAMBDA {
      if (p + e >= parts) return;
      static_for<count>(
          [&](auto k) FLAGGEMS_LAMBDA { sums.at[k] = wrapping_add<C>(sums.at[k], v[e].at[k]); });
    });
  }
  return sums;
}

/// Adds up the parts of sums, [parts, batches, m, n], of a vector of a row a thread. A tile is a
/// row's share of a block.
template <class Out, class C, class Bias>
struct gemm_merge {
  static constexpr int count = vec_size<C>;
  static constexpr bool awaits_earlier = true;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const gemm_space& space,
                                  const gemm_out<Out, C>& out, const Bias& bias,
                                  const sum_parts<C>& parts) {
    const sum_parts<C> whole{1, space.k, nullptr};
    const i64 step = space.batches * space.m * space.n;
    block.for_each_tile(space.tiles(), [&](i64 tile) FLAGGEMS_LAMBDA {
      const tile_part unit = tile_part::of(space, whole, tile);
      const tile_results<Out, C, Bias, count> results(space, out, bias, whole, unit);
      const i64 j = unit.j + block.thread() * count, left = space.n - j;
      block.await_earlier();
      if (left <= 0) return;
      const global_ptr<const C> from =
          parts.partial + (unit.batch * space.m + unit.i) * space.n + j;
      const auto sums =
          space.n % count == 0
              ? sum_of_parts<C>([&](int p)
                                    FLAGGEMS_LAMBDA { return load_vec<count>(from + p * step); },
                                parts.count)
              : sum_of_parts<C>(
                    [&](int p) FLAGGEMS_LAMBDA {
                      vec<C, count> v;
                      static_for<count>([&](auto k) FLAGGEMS_LAMBDA {
                        v.at[k] = k < left ? from[p * step + k] : C(0);
                      });
                      return v;
                    },
                    parts.count);
      results.store(0, j, sums.at);
    });
  }
};

/// The same of the tiles behind the first parts.whole ones: [parts, tiles, tile rows, tile
/// columns]. Blocks have as many sums of a tile each, a whole number of times.
template <class Out, class C, class Bias>
struct gemm_merge_tiles {
  static constexpr int count = vec_size<C>;
  static constexpr bool awaits_earlier = true;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const gemm_space& space,
                                  const gemm_out<Out, C>& out, const Bias& bias,
                                  const sum_parts<C>& parts) {
    const sum_parts<C> whole{1, space.k, nullptr};
    const i64 area = space.tile_rows * space.tile_columns, share = block.threads() * count;
    const i64 step = (space.tiles() - parts.whole) * area;
    block.for_each_tile(step / share, [&](i64 index) FLAGGEMS_LAMBDA {
      const i64 tile = index * share / area, first = index * share + block.thread() * count;
      const tile_part unit = tile_part::of(space, whole, parts.whole + tile);
      const tile_results<Out, C, Bias, count> results(space, out, bias, whole, unit);
      const i64 at = first - tile * area, i = at / space.tile_columns;
      const i64 j = unit.j + (at - i * space.tile_columns);
      block.await_earlier();
      if (unit.i + i >= space.m || j >= space.n) return;
      const global_ptr<const C> from = parts.partial + first;
      const auto sums = sum_of_parts<C>(
          [&](int p) FLAGGEMS_LAMBDA { return load_vec<count>(from + p * step); }, parts.count);
      results.store(i, j, sums.at);
    });
  }
};

/// Copies an operand to rows of whole vectors of 16 bytes, for kernels that copy such: line by line
/// or, with `by_terms`, term by term; zeros behind each row. A tile is one vector of each thread.
template <class T>
struct gemm_align {
  static constexpr int size = vec_size<T>;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const gemm_space& batches, const gemm_arg<T>& from,
                                  global_ptr<T> to, i64 rows, i64 length, bool by_terms) {
    const i64 vectors = ceil_div(length, i64{size}), all = batches.batches * rows * vectors;
    const i64 stride = by_terms ? from.along : from.line, step = by_terms ? from.line : from.along;
    const i64 threads = block.threads();
    block.for_each_tile(ceil_div(all, threads), [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 i = tile * threads + block.thread(), row = i / vectors;
      if (i >= all) return;
      const i64 batch = row / rows, first = (i - row * vectors) * size;
      const auto source =
          from.at(batches.batch_at(batch)) + (row - batch * rows) * stride + first * step;
      vec<T, size> v;
      static_for<size>(
          [&](auto e) FLAGGEMS_LAMBDA { v.at[e] = first + e < length ? source[e * step] : T(); });
      store_vec<size>(to + i * size, v);
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/simt/results.hpp");
