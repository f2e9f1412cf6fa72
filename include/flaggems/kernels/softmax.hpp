// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernels/math.hpp>
#include <flaggems/kernels/rows.hpp>

namespace flaggems::kernels {

/// out = exp(x - max) / sum(exp(x - max)) along each row; with Log, its logarithm.
template <class T, class Out, class C, bool Log>
struct softmax {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, row_arg<T> in,
                                  row_target<Out> out) {
    const i64 n = space.length;
    const auto row = block.template scratch<C>(n);
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto x = in.at(c);
      const auto y = out.at(c);
      const C max = block.reduce(n, lowest<C>(), maximum_of{}, [&](auto i) FLAGGEMS_LAMBDA {
        const auto v = x.template load<C>(i);
        store(row, i, v);
        return v;
      });
      const C sum = block.reduce(n, C(0), plus{}, [&](auto i) FLAGGEMS_LAMBDA {
        const auto v = load<C>(row, i) - max;
        const auto e = exp(v);
        if constexpr (Log)
          store(row, i, v);
        else
          store(row, i, e);
        return e;
      });
      const C last = Log ? log(sum) : C(1) / sum;
      block.for_each_lane(n, [&](auto i) FLAGGEMS_LAMBDA {
        const auto v = load<C>(row, i);
        if constexpr (Log)
          y.store(i, v - last);
        else
          y.store(i, v * last);
      });
    });
  }
};

}  // namespace flaggems::kernels
