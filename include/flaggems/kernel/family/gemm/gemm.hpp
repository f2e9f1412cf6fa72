// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products. Two forms share one problem: with lanes along the summed dimension (both
// operands contiguous there: a linear layer), and with lanes along the columns of the result (the
// second operand contiguous there: a plain matrix product). The host side chooses and may exchange
// the operands.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/math/basic.hpp>

namespace flaggems::kernels {

/// How the elements of a line follow one another: in memory, or a stride apart.
enum class stepping { contiguous, strided };

/// a * b + c; of integers, modulo their range. V is named by the caller: OpenCL would deduce an
/// address space with it.
template <class V>
FLAGGEMS_INLINE V multiply_add(const identity<V>& a, const identity<V>& b, const identity<V>& c) {
  if constexpr (is_math_value<V>)
    return fma(a, b, c);
  else
    return static_cast<V>(a * b + c);
}

/// The problem: for each of `batches`, out[i, j] = sum over q < k of a[i, q] * b[j, q], i < m,
/// j < n, cut into tiles of `tile_rows` x `tile_columns` results.
struct gemm_space {
  int rank;  // dimensions of the batch
  i64 sizes[max_rank];
  i64 batches;
  i64 m, n, k;
  i64 tile_rows, tile_columns;
  i64 row_tiles, column_tiles;
  i64 group;  // row tiles that process all columns jointly: their rows of `a` stay in a cache
  i64 depth;  // summed elements of a step, where lanes run along the columns

  /// Where a tile lies.
  struct place {
    coordinates batch;
    i64 i, j;
  };
  FLAGGEMS_INLINE i64 tiles() const { return batches * row_tiles * column_tiles; }
  FLAGGEMS_INLINE place locate(i64 tile) const {
    const i64 a_batch = row_tiles * column_tiles;
    const i64 batch = tile / a_batch;
    tile -= batch * a_batch;
    const i64 first = tile / (group * column_tiles) * group;
    const i64 members = min_of(group, row_tiles - first);
    tile -= first * column_tiles;
    const i64 column = tile / members;
    place p;
    p.i = (first + tile - column * members) * tile_rows;
    p.j = column * tile_columns;
    p.batch = batch_at(batch);
    return p;
  }
  FLAGGEMS_INLINE coordinates batch_at(i64 batch) const {
    coordinates c;
    c.rank = rank;
    c.inner = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const i64 next = batch == 0 ? 0 : batch / sizes[d];  // the division is a hundred instructions
      c.at[d] = batch - next * sizes[d];
      batch = next;
    }
    return c;
  }
};

/// The row and the column of a tile in the order of gemm_space, in 32 bits.
struct tile_in_order {
  u32 row, column;
  FLAGGEMS_INLINE tile_in_order(u32 tile, u32 group, u32 row_tiles, u32 column_tiles) {
    const u32 first = tile / (group * column_tiles) * group;
    const u32 members = min_of(group, row_tiles - first);
    tile -= first * column_tiles;
    column = tile / members;
    row = first + tile - column * members;
  }
};

/// An operand: strides in elements from one line to the next and along the summed dimension. The
/// first one may be an expression instead (family/gemm/prologue.hpp); `row` is what kernels keep of
/// a line.
template <class T>
struct gemm_arg {
  using row = global_ptr<const T>;
  global_ptr<const T> data;
  i64 line, along;
  i64 batch[max_rank + 1];
  FLAGGEMS_INLINE global_ptr<const T> at(const coordinates& c) const {
    i64 offset = 0;
    for (int d = 0; d < c.rank; ++d) offset += c.at[d] * batch[d];
    return data + offset;
  }
  FLAGGEMS_INLINE row row_of(global_ptr<const T> matrix, i64 i) const { return matrix + i * line; }
  template <class C, stepping Steps, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> read(global_ptr<const T>, row from, Lane lane) const {
    using kernels::load;  // and, by its argument, the host's overload
    if constexpr (Steps == stepping::strided)
      return load<C>(from, along, lane);
    else
      return load<C>(from, lane);
  }
};

/// A second operand whose lines are in pieces of `turn` terms: the next piece begins `hop` elements
/// after the end of the last one (the lines of an image, of which windows have several).
template <class T>
struct turning_arg : gemm_arg<T> {
  i64 turn, hop;
};

/// The result: out = alpha * sum.
template <class T, class C>
struct gemm_out {
  global_ptr<T> data;
  i64 row, column;
  i64 batch[max_rank + 1];
  C alpha;

  FLAGGEMS_INLINE global_ptr<T> at(const coordinates& c) const {
    i64 offset = 0;
    for (int d = 0; d < c.rank; ++d) offset += c.at[d] * batch[d];
    return data + offset;
  }
  FLAGGEMS_INLINE global_ptr<T> at(const ranked_coordinates<1>& c) const {
    return data + c.at[0] * batch[0];
  }
};

// What is applied to the sums: `active()` is false for nothing; `at(batch, i)` is the part for the
// rows from i on, whose `add(row, lane, x)` gives the result, and `is_of(p, row, column)` tells
// whether that adds the element of a matrix there. `replaces`: it needs the complete
// sum, and its result may have another type (family/gemm/epilogue.hpp).

/// Whether that makes one result of two neighbouring sums (`add_pair`).
template <class Bias>
inline constexpr bool takes_pairs = false;
/// What it stores besides its result: how often, elements of what type from what values.
struct no_store {
  static constexpr int count = 0;
  using element = f32;
  using value = f32;
};
template <class Bias>
struct stored_by : no_store {};
/// Whether `of_rows(upper, lower)` of a part reads what the two rows of a thread need, and
/// `of_columns(lane, last)` of that what two columns need, at most the last one.
template <class Part, class = void>
inline constexpr bool has_rows = false;
template <class Part>
inline constexpr bool has_rows<Part, decltype(static_cast<void>(&Part::of_rows))> = true;
template <class Rows, class = void>
inline constexpr bool has_columns = false;
template <class Rows>
inline constexpr bool has_columns<Rows, typename Rows::takes_columns> = true;

/// Nothing is added to the product.
struct no_bias {
  static constexpr bool replaces = false;
  FLAGGEMS_INLINE bool active() const { return false; }
  FLAGGEMS_INLINE no_bias at(const coordinates&, i64) const { return {}; }
  FLAGGEMS_INLINE no_bias at(const ranked_coordinates<1>&, i64) const { return {}; }
  template <class Out>
  FLAGGEMS_INLINE bool is_of(const Out*, i64, i64) const {
    return false;
  }
  template <class C, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> add(i64, Lane, const lane_value<Lane, C>& x) const {
    return x;
  }
};

template <class T, class C>
struct bias_tile {
  static constexpr bool replaces = false;
  global_ptr<const T> data;
  i64 row, column;
  C beta;
  template <class, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> add(i64 i, Lane lane, const lane_value<Lane, C>& x) const {
    using V = lane_value<Lane, C>;
    if (beta == C(0)) return x;  // so that a NaN of the bias is ignored
    if constexpr (is_simd<V>)
      if (column == 0)  // its load with a stride would read one element after another
        return multiply_add<V>(V(beta), V(number_cast<C>(data[i * row])), x);
    return multiply_add<V>(V(beta), load<C>(data + i * row, column, lane), x);
  }
  template <class Out>
  FLAGGEMS_INLINE bool is_of(const Out* p, i64 p_row, i64 p_column) const {
    if constexpr (is_same<Out, T>)
      return data == p && row == p_row && column == p_column && beta == C(1);
    else
      return false;
  }
};
/// beta * bias[i, j] is added to the product; strides of 0 broadcast.
template <class T, class C>
struct gemm_bias {
  global_ptr<const T> data;
  i64 row, column;
  i64 batch[max_rank + 1];
  C beta;
  static constexpr bool replaces = false;
  FLAGGEMS_INLINE bool active() const { return beta != C(0); }
  FLAGGEMS_INLINE bias_tile<T, C> at(const coordinates& c, i64 i) const {
    i64 offset = i * row;
    for (int d = 0; d < c.rank; ++d) offset += c.at[d] * batch[d];
    return {data + offset, row, column, beta};
  }
  FLAGGEMS_INLINE bias_tile<T, C> at(const ranked_coordinates<1>& c, i64 i) const {
    return {data + (c.at[0] * batch[0] + i * row), row, column, beta};
  }
};

/// Lanes along the summed dimension, Rows x Columns results in registers. stepping::strided: for
/// operands that are not contiguous there.
template <class A, class B, class Out, class C, class Bias, int Rows, int Columns, stepping Steps,
          class First = gemm_arg<A>>
struct gemm_dot {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, gemm_space space, First a, gemm_arg<B> b,
                                  gemm_out<Out, C> out, Bias bias) {
    block.for_each_tile(space.tiles(), [&](i64 tile) FLAGGEMS_LAMBDA {
      const gemm_space::place at = space.locate(tile);
      // Lines past the end repeat the last one: computed, not stored.
      typename First::row row[Rows];
      global_ptr<const B> column[Columns];
      const auto first_row = a.at(at.batch);
      const auto first_column = b.at(at.batch);
      static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
        row[r] = a.row_of(first_row, min_of(at.i + r, space.m - 1));
      });
      static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
        column[c] = first_column + min_of(at.j + c, space.n - 1) * b.line;
      });
      C sums[Rows * Columns];
      block.template accumulate<Rows * Columns, C>(
          space.k, sums, [&](auto lane, auto& acc) FLAGGEMS_LAMBDA {
            lane_value<decltype(lane), C> y[Columns];
            static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
              if constexpr (Steps == stepping::strided)
                y[c] = load<C>(column[c], b.along, lane);
              else
                y[c] = load<C>(column[c], lane);
            });
            static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
              const auto x = a.template read<C, Steps>(first_row, row[r], lane);
              static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
                constexpr int e = decltype(r)::value * Columns + decltype(c)::value;
                acc[e] = multiply_add<lane_value<decltype(lane), C>>(x, y[c], acc[e]);
              });
            });
          });
      const auto to = out.at(at.batch) + at.i * out.row;
      const auto add = bias.at(at.batch, at.i);
      block.single([&]() FLAGGEMS_LAMBDA {
        static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
          static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
            if (at.i + r < space.m && at.j + c < space.n) {
              const lane_scalar j{at.j + c};
              const C x = static_cast<C>(out.alpha * sums[r * Columns + c]);
              store(to + r * out.row, out.column, j, add.template add<C>(r, j, x));
            }
          });
        });
      });
    });
  }
};

/// Lanes along the columns of the result; `b` is contiguous there. A panel of `a` is staged in
/// block-local memory as C, and so are the sums between two steps along the summed dimension.
template <class A, class B, class Out, class C, class Bias, class First = gemm_arg<A>>
struct gemm_panel {
  static constexpr int lines = 4;  // rows of the result in registers

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, gemm_space space, First a, gemm_arg<B> b,
                                  gemm_out<Out, C> out, Bias bias) {
    const i64 width = space.tile_columns, depth = space.depth;
    const auto sums = block.template scratch<C>(space.tile_rows * width);
    const auto panel = block.template scratch<C>(space.tile_rows * depth);
    block.for_each_tile(space.tiles(), [&](i64 tile) FLAGGEMS_LAMBDA {
      const gemm_space::place at = space.locate(tile);
      const i64 rows = min_of(space.tile_rows, space.m - at.i);
      const i64 columns = min_of(width, space.n - at.j);
      const auto from_a = a.at(at.batch);
      const auto from_b = b.at(at.batch) + at.j * b.line;
      const auto to = out.at(at.batch) + at.i * out.row + at.j * out.column;
      const auto add = bias.at(at.batch, at.i);
      i64 start = 0;
      do {
        const i64 n = min_of(depth, space.k - start);
        block.sync();  // the panel may still be read
        for (i64 g = 0; g < rows; g += lines) {
          const auto part = panel.from(g * depth);
          block.for_each(n * lines, [&](i64 e) FLAGGEMS_LAMBDA {
            const i64 i = min_of(at.i + g + e % lines, space.m - 1);
            const lane_scalar q{start + e / lines};
            part.write(e, a.template read<C, stepping::strided>(from_a, a.row_of(from_a, i), q));
          });
        }
        block.sync();
        const bool last = start + n >= space.k;
        for (i64 g = 0; g < rows; g += lines) {
          const auto part = panel.from(g * depth);
          const auto sum = sums.from(g * width);
          block.for_each_lane(columns, [&](auto lane) FLAGGEMS_LAMBDA {
            using V = lane_value<decltype(lane), C>;
            V acc[lines];
            static_for<lines>([&](auto r) FLAGGEMS_LAMBDA {
              acc[r] = start == 0 ? V(C(0)) : load<C>(sum.from(r * width), lane);
            });
            global_ptr<const B> p = from_b + start * b.along;
            for (i64 q = 0; q < n; ++q, p += b.along) {
              const V y = load<C>(p, lane);
              static_for<lines>([&](auto r) FLAGGEMS_LAMBDA {
                acc[r] = multiply_add<V>(V(part.read(q * lines + r)), y, acc[r]);
              });
            }
            static_for<lines>([&](auto r) FLAGGEMS_LAMBDA {
              if (!last) {
                store(sum.from(r * width), lane, acc[r]);
              } else if (g + r < rows) {
                auto column = lane;
                column.begin += at.j;
                store(to + (g + r) * out.row, out.column, lane,
                      add.template add<C>(g + r, column, V(V(out.alpha) * acc[r])));
              }
            });
          });
        }
        start += n;
      } while (start < space.k);
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/gemm.hpp");
