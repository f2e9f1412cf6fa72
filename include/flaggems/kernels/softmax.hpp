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
    kept_row<Block, C, T, row_walk> rows_in(block, n, row_walk{in.strides[space.rank]});
    written_row<Block, Out, row_walk> rows_out(block, n, row_walk{out.strides[space.rank]},
                                               out.streamed);
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto x = rows_in.begin(in.data + c.offset(in.strides));
      const auto y = rows_out.begin(out.data + c.offset(out.strides));
      const C max = block.reduce(n, lowest<C>(), maximum_of{},
                                 [&](auto i) FLAGGEMS_LAMBDA { return x.first(i); });
      const C sum = block.reduce(n, C(0), plus{}, [&](auto i) FLAGGEMS_LAMBDA {
        const auto e = exp_not_positive(x.again(i) - max);
        if constexpr (!Log) x.put(i, e);
        return e;
      });
      const C last = Log ? log(sum) : C(1) / sum;
      block.for_each_lane(n, [&](auto i) FLAGGEMS_LAMBDA {
        if constexpr (Log)
          y.store(i, x.again(i) - max - last);
        else
          y.store(i, x.kept(i) * last);
      });
      rows_out.end();
    });
    end_stream(block, out.streamed);
  }
};

}  // namespace flaggems::kernels
