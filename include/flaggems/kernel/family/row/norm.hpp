// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Normalisation over the trailing dimensions. A row is read once into block-local memory; its
// moments come from there, so the variance is that of differences from the mean.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/lang/gather.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// Rows that each span several dimensions: the outer dimensions tell rows apart, the inner ones
/// are normalised over. Strides of operands are in the same order.
struct norm_space {
  int outer_rank, inner_rank;
  i64 sizes[max_rank];
  i64 rows, length;

  FLAGGEMS_SCALAR coordinates locate(i64 row) const {
    coordinates c;
    c.rank = outer_rank;
    c.inner = 0;
    for (int d = outer_rank - 1; d > 0; --d) {
      const i64 next = row / sizes[d];
      c.at[d] = row - next * sizes[d];
      row = next;
    }
    if (outer_rank > 0) c.at[0] = row;
    return c;
  }
  /// Where element i of a row lies.
  FLAGGEMS_INLINE i64 offset(const i64* strides, i64 i) const {
    i64 sum = 0;
    for (int d = outer_rank + inner_rank - 1; d > outer_rank; --d) {
      const i64 next = i / sizes[d];
      sum += (i - next * sizes[d]) * strides[d];
      i = next;
    }
    return sum + i * strides[outer_rank];
  }
};

/// How the elements of such a row lie.
struct norm_walk {
  const norm_space* space;
  const i64* strides;
  FLAGGEMS_INLINE i64 step() const { return strides[space->outer_rank]; }
  FLAGGEMS_INLINE bool is_dense() const { return space->inner_rank <= 1 && step() == 1; }
  FLAGGEMS_INLINE i64 offset(i64 i) const { return space->offset(strides, i); }

  template <class C, class T, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load_from(global_ptr<const T> row, Lane lane) const {
    if (space->inner_rank <= 1) return load<C>(row, step(), lane);
    return load_at<C>(row, lane, [&](i64 i) FLAGGEMS_LAMBDA { return offset(i); });
  }
  template <class T, class Lane, class V>
  FLAGGEMS_INLINE void store_to(global_ptr<T> row, Lane lane, FLAGGEMS_VALUE(V) x) const {
    if (space->inner_rank <= 1) return store(row, step(), lane, x);
    store_at(row, lane, x, [&](i64 i) FLAGGEMS_LAMBDA { return offset(i); });
  }
};

/// Two sums at once.
struct plus_both {
  template <class V>
  FLAGGEMS_INLINE indexed<V, V> operator()(const indexed<V, V>& a, const indexed<V, V>& b) const {
    return {V(a.value + b.value), V(a.index + b.index)};
  }
};

/// out = (x - mean) / sqrt(variance + eps) * weight + bias; weight and bias may be null.
template <class T, class W, class Out, class C>
struct layer_norm {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, norm_space space, row_arg<T> in, row_arg<W> weight,
                                  row_arg<W> bias, row_target<Out> out, C eps) {
    const i64 n = space.length;
    const C count = static_cast<C>(n), share = C(1) / count;
    staged_row<Block, C, T, norm_walk> rows_in(block, n, norm_walk{&space, in.strides});
    written_row<Block, Out, norm_walk> rows_out(block, n, norm_walk{&space, out.strides},
                                                out.streamed);
    const shared_row<Block, W, norm_walk> w(block, n, norm_walk{&space, weight.strides},
                                            weight.data);
    const shared_row<Block, W, norm_walk> b(block, n, norm_walk{&space, bias.strides}, bias.data);
    block.for_each_tile(space.rows, [&](i64 r) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(r);
      const auto x = rows_in.begin(in.data + c.offset(in.strides), group_step(c, in.strides));
      const auto y = rows_out.begin(out.data + c.offset(out.strides));
      // Divided before they are added: the sum of large numbers is one that C may not have.
      C mean = block.reduce(n, C(0), plus{},
                            [x, share](auto i) FLAGGEMS_LAMBDA { return x.first(i) * share; });
      // A sum of numbers of one sign is rounded by what it is, not by how they differ: 16 lanes of
      // 1,000 around 10^4 missed their mean by 1.4 of its last places. The differences tell, and
      // their squares, less what the estimate was off, are the variance. Of numbers so large that
      // the square of what it was off is infinite, once more: 1,000 times 10^36 have variance 0.
      C variance = C(0);
      for (int turn = 0; turn < 2; ++turn) {
        const C estimate = mean;
        const indexed<C, C> sums = block.reduce(n, indexed<C, C>{C(0), C(0)}, plus_both{},
                                                [x, estimate](auto i) FLAGGEMS_LAMBDA {
                                                  x.fetch_next(i);
                                                  const auto v = x.again(i) - estimate;
                                                  using V = decltype(copy_of(v));
                                                  return indexed<V, V>{v, V(v * v)};
                                                });
        const C rest = sums.value / count;
        mean = estimate + rest;
        variance = max_of(C(0), C(sums.index / count - rest * rest));
        if (sums.index <= highest<C>()) break;
      }
      const C scale = C(1) / sqrt(C(variance + eps));
      block.for_each_lane(n, [x, y, w, b, mean, scale](auto i) FLAGGEMS_LAMBDA {
        x.fetch_next(i);
        auto v = (x.again(i) - mean) * scale;
        if (w.exists()) v = v * w.template load<C>(i);
        if (b.exists()) v = v + b.template load<C>(i);
        y.store(i, v);
      });
      rows_out.end();
    });
    end_stream(block, out.streamed);
  }
};

/// out = x / sqrt(mean(x^2) + eps) * weight; weight may be null.
template <class T, class W, class Out, class C>
struct rms_norm {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, norm_space space, row_arg<T> in, row_arg<W> weight,
                                  row_target<Out> out, C eps) {
    const i64 n = space.length;
    staged_row<Block, C, T, norm_walk> rows_in(block, n, norm_walk{&space, in.strides});
    written_row<Block, Out, norm_walk> rows_out(block, n, norm_walk{&space, out.strides},
                                                out.streamed);
    const shared_row<Block, W, norm_walk> w(block, n, norm_walk{&space, weight.strides},
                                            weight.data);
    block.for_each_tile(space.rows, [&](i64 r) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(r);
      const auto x = rows_in.begin(in.data + c.offset(in.strides), group_step(c, in.strides));
      const auto y = rows_out.begin(out.data + c.offset(out.strides));
      const C squares = block.reduce(n, C(0), plus{}, [x](auto i) FLAGGEMS_LAMBDA {
        const auto v = x.first(i);
        return v * v;
      });
      const C scale = C(1) / sqrt(C(squares / static_cast<C>(n) + eps));
      block.for_each_lane(n, [x, y, w, scale](auto i) FLAGGEMS_LAMBDA {
        x.fetch_next(i);
        auto v = x.again(i) * scale;
        if (w.exists()) v = v * w.template load<C>(i);
        y.store(i, v);
      });
      rows_out.end();
    });
    end_stream(block, out.streamed);
  }
};

/// residual += x, rounded to its type; x = residual / sqrt(mean(residual^2) + eps) * weight.
template <class T, class R, class W, class C>
struct fused_add_rms_norm {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, norm_space space, row_target<T> x,
                                  row_target<R> residual, row_arg<W> weight, C eps) {
    const i64 n = space.length;
    staged_row<Block, C, T, norm_walk> rows_in(block, n, norm_walk{&space, x.strides});
    written_row<Block, T, norm_walk> rows_out(block, n, norm_walk{&space, x.strides}, false);
    written_row<Block, R, norm_walk> sums(block, n, norm_walk{&space, residual.strides}, false);
    const shared_row<Block, W, norm_walk> w(block, n, norm_walk{&space, weight.strides},
                                            weight.data);
    block.for_each_tile(space.rows, [&](i64 r) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(r);
      const global_ptr<T> y = x.data + c.offset(x.strides);
      const auto in = rows_in.begin(y, group_step(c, x.strides));
      const auto out = rows_out.begin(y);
      const auto sum = sums.update(residual.data + c.offset(residual.strides));
      const C squares = block.reduce(n, C(0), plus{}, [&](auto i) FLAGGEMS_LAMBDA {
        sum.store(i, sum.template load<C>(i) + in.first(i));
        // What was stored is read again: the norm is that of the rounded sum.
        const auto v = sum.template load<C>(i);
        in.put(i, v);
        return v * v;
      });
      sums.end();
      const C scale = C(1) / sqrt(C(squares / static_cast<C>(n) + eps));
      block.for_each_lane(n, [in, out, w, scale](auto i) FLAGGEMS_LAMBDA {
        out.store(i, in.kept(i) * scale * w.template load<C>(i));
      });
      rows_out.end();
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/norm.hpp");
