// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Normalisation over the trailing dimensions. A row is read once into block-local memory; its
// moments come from there, so the variance is that of differences from the mean.
#pragma once

#include <flaggems/kernels/gather.hpp>
#include <flaggems/kernels/math.hpp>
#include <flaggems/kernels/rows.hpp>

namespace flaggems::kernels {

/// Rows that each span several dimensions: the outer dimensions tell rows apart, the inner ones
/// are normalised over. Strides of operands are in the same order.
struct norm_space {
  int outer_rank, inner_rank;
  i64 sizes[max_rank];
  i64 rows, length;

  FLAGGEMS_INLINE coordinates locate(i64 row) const {
    coordinates c;
    c.rank = outer_rank;
    c.inner = 0;
    for (int d = outer_rank - 1; d >= 0; --d) {
      const i64 next = row / sizes[d];
      c.at[d] = row - next * sizes[d];
      row = next;
    }
    return c;
  }
  /// Where element i of a row lies.
  FLAGGEMS_INLINE i64 offset(const i64 (&strides)[max_rank], i64 i) const {
    i64 sum = 0;
    for (int d = outer_rank + inner_rank - 1; d > outer_rank; --d) {
      const i64 next = i / sizes[d];
      sum += (i - next * sizes[d]) * strides[d];
      i = next;
    }
    return sum + i * strides[outer_rank];
  }

  template <class C, class T, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load_row(global_ptr<const T> row,
                                               const i64 (&strides)[max_rank], Lane lane) const {
    if (inner_rank <= 1) return load<C>(row, strides[outer_rank], lane);
    return load_at<C>(row, lane, [&](i64 i) FLAGGEMS_LAMBDA { return offset(strides, i); });
  }
  template <class T, class Lane, class V>
  FLAGGEMS_INLINE void store_row(global_ptr<T> row, const i64 (&strides)[max_rank], Lane lane,
                                 FLAGGEMS_VALUE(V) x) const {
    if (inner_rank <= 1) return store(row, strides[outer_rank], lane, x);
    store_at(row, lane, x, [&](i64 i) FLAGGEMS_LAMBDA { return offset(strides, i); });
  }
};

/// out = (x - mean) / sqrt(variance + eps) * weight + bias; weight and bias may be null.
template <class T, class W, class Out, class C>
struct layer_norm {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, norm_space space, row_arg<T> in, row_arg<W> weight,
                                  row_arg<W> bias, row_target<Out> out, C eps) {
    const i64 n = space.length;
    const C count = static_cast<C>(n);
    const auto row = block.template scratch<C>(n);
    block.for_each_tile(space.rows, [&](i64 r) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(r);
      const global_ptr<const T> x = in.data + c.offset(in.strides);
      const global_ptr<Out> y = out.data + c.offset(out.strides);
      const C mean = block.reduce(n, C(0), plus{}, [&](auto i) FLAGGEMS_LAMBDA {
        const auto v = space.template load_row<C>(x, in.strides, i);
        store(row, i, v);
        return v;
      }) / count;
      const C variance = block.reduce(n, C(0), plus{}, [&](auto i) FLAGGEMS_LAMBDA {
        const auto v = load<C>(row, i) - mean;
        return v * v;
      }) / count;
      const C scale = C(1) / sqrt(C(variance + eps));
      block.for_each_lane(n, [&](auto i) FLAGGEMS_LAMBDA {
        auto v = (load<C>(row, i) - mean) * scale;
        if (weight.data != nullptr)
          v = v * space.template load_row<C>(weight.data, weight.strides, i);
        if (bias.data != nullptr) v = v + space.template load_row<C>(bias.data, bias.strides, i);
        space.store_row(y, out.strides, i, v);
      });
    });
  }
};

/// out = x / sqrt(mean(x^2) + eps) * weight; weight may be null.
template <class T, class W, class Out, class C>
struct rms_norm {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, norm_space space, row_arg<T> in, row_arg<W> weight,
                                  row_target<Out> out, C eps) {
    const i64 n = space.length;
    const auto row = block.template scratch<C>(n);
    block.for_each_tile(space.rows, [&](i64 r) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(r);
      const global_ptr<const T> x = in.data + c.offset(in.strides);
      const global_ptr<Out> y = out.data + c.offset(out.strides);
      const C squares = block.reduce(n, C(0), plus{}, [&](auto i) FLAGGEMS_LAMBDA {
        const auto v = space.template load_row<C>(x, in.strides, i);
        store(row, i, v);
        return v * v;
      });
      const C scale = C(1) / sqrt(C(squares / static_cast<C>(n) + eps));
      block.for_each_lane(n, [&](auto i) FLAGGEMS_LAMBDA {
        auto v = load<C>(row, i) * scale;
        if (weight.data != nullptr)
          v = v * space.template load_row<C>(weight.data, weight.strides, i);
        space.store_row(y, out.strides, i, v);
      });
    });
  }
};

/// residual += x, rounded to its type; x = residual / sqrt(mean(residual^2) + eps) * weight.
template <class T, class R, class W, class C>
struct fused_add_rms_norm {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, norm_space space, row_target<T> x,
                                  row_target<R> residual, row_arg<W> weight, C eps) {
    const i64 n = space.length;
    const auto row = block.template scratch<C>(n);
    block.for_each_tile(space.rows, [&](i64 r) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(r);
      const global_ptr<T> y = x.data + c.offset(x.strides);
      const global_ptr<R> sum = residual.data + c.offset(residual.strides);
      const C squares = block.reduce(n, C(0), plus{}, [&](auto i) FLAGGEMS_LAMBDA {
        space.store_row(sum, residual.strides, i,
                        space.template load_row<C, R>(sum, residual.strides, i) +
                            space.template load_row<C, T>(y, x.strides, i));
        // What was stored is read again: the norm is that of the rounded sum.
        const auto v = space.template load_row<C, R>(sum, residual.strides, i);
        store(row, i, v);
        return v * v;
      });
      const C scale = C(1) / sqrt(C(squares / static_cast<C>(n) + eps));
      block.for_each_lane(n, [&](auto i) FLAGGEMS_LAMBDA {
        const auto w = space.template load_row<C>(weight.data, weight.strides, i);
        space.store_row(y, x.strides, i, load<C>(row, i) * scale * w);
      });
    });
  }
};

}  // namespace flaggems::kernels
