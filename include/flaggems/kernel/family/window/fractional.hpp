// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Maxima over windows of one size whose places a number for each plane decides.
#pragma once

#include <flaggems/kernel/family/window/window.hpp>

namespace flaggems::kernels {

/// Where windows begin along a dimension: at multiples of a fraction, all moved by a sample of
/// [0, 1); the last one ends with the dimension.
struct fractional_axis {
  i64 size, extent, result;
  template <class C>
  FLAGGEMS_INLINE i64 begin(C sample, i64 i) const {
    if (i == result - 1) return size - extent;
    const C step = static_cast<C>(size - extent) / static_cast<C>(result - 1);
    // No sample, as one outside of its range, leads outside of the image.
    const C most = C(1 << 20);
    const C u = sample > -most && sample < most ? sample : C(0);
    const i64 at = static_cast<i64>((static_cast<C>(i) + u) * step) - static_cast<i64>(u * step);
    return max_of(i64{0}, min_of(at, size - extent));
  }
};

/// The operands of fractional_max_pool2d: images [N, C, H, W], results of two more sizes, and for
/// each plane a sample of its columns and one of its rows.
template <class T>
struct fractional_pool {
  fractional_axis rows, columns;
  i64 channels;
  global_ptr<const T> data, samples;
  i64 strides[4], sample_strides[3];
  global_ptr<T> out;
  global_ptr<i64> indices;
  i64 out_strides[4], index_strides[4];
};

/// The greatest element of each window, the last NaN among equals, and its index in its plane.
template <class T>
struct fractional_maxima {
  static constexpr i64 tile = 256;
  using C = compute_type<T>;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 n, fractional_pool<T> p) {
    block.for_each_tile(ceil_div(n, tile), [&](i64 k) FLAGGEMS_LAMBDA {
      const i64 first = k * tile;
      block.for_each(min_of(tile, n - first), [&](i64 i) FLAGGEMS_LAMBDA { choose(p, first + i); });
    });
  }

 private:
  FLAGGEMS_INLINE static void choose(const fractional_pool<T>& p, i64 place) {
    const i64 column = place % p.columns.result, line = place / p.columns.result;
    const i64 row = line % p.rows.result, plane = line / p.rows.result;
    const i64 c = plane % p.channels, image = plane / p.channels;
    const i64 samples = image * p.sample_strides[0] + c * p.sample_strides[1];
    const i64 left = p.columns.begin(number_cast<C>(p.samples[samples]), column);
    const i64 top = p.rows.begin(number_cast<C>(p.samples[samples + p.sample_strides[2]]), row);
    const i64 from = image * p.strides[0] + c * p.strides[1];
    C best = lowest<C>();
    i64 at = top * p.columns.size + left;
    for (i64 y = top; y < top + p.rows.extent; ++y)
      for (i64 x = left; x < left + p.columns.extent; ++x) {
        const C v = number_cast<C>(p.data[from + y * p.strides[2] + x * p.strides[3]]);
        if (!(v > best) && v == v) continue;
        best = v;
        at = y * p.columns.size + x;
      }
    const auto offset = [&](const i64(&strides)[4]) FLAGGEMS_LAMBDA {
      return image * strides[0] + c * strides[1] + row * strides[2] + column * strides[3];
    };
    p.out[offset(p.out_strides)] = number_cast<T>(best);
    p.indices[offset(p.index_strides)] = at;
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/window/fractional.hpp");
