// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// out = exp(x - max) / sum(exp(x - max)) along each row; with Log, its logarithm.
template <class T, class Out, class C, bool Log>
struct softmax {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, row_arg<T> in,
                                  row_target<Out> out) {
    using group = row_group<Block, C>;
    const i64 n = space.length;
    const int most = group::rows_of(n);
    staged_row<Block, C, T, row_walk> rows_in(block, n, row_walk{in.strides[space.rank]}, most);
    written_row<Block, Out, row_walk> rows_out(block, n, row_walk{out.strides[space.rank]},
                                               out.streamed, most);
    for_each_row_group(block, space, most, [&](const coordinates& c, int count) FLAGGEMS_LAMBDA {
      rows_in.begin_group(in.data + c.offset(in.strides), group_step(c, in.strides), count);
      rows_out.begin_group(out.data + c.offset(out.strides), group_step(c, out.strides));
      // A NaN need not be the greatest: it makes the sum one.
      const typename group::list top(group::template fold<4>(
          block, count, n, lowest<C>(), greater_number{}, [&](int r) FLAGGEMS_LAMBDA {
            return [x = rows_in.place(r)](auto i) FLAGGEMS_LAMBDA { return x.first(i); };
          }));
      const auto sum =
          group::template fold<1>(block, count, n, C(0), plus{}, [&](int r) FLAGGEMS_LAMBDA {
            return [x = rows_in.place(r), greatest = top[r]](auto i) FLAGGEMS_LAMBDA {
              x.fetch_next(i);
              const auto e = exp_not_positive(x.again(i) - greatest);
              if constexpr (!Log) x.put(i, e);
              return e;
            };
          });
      const typename group::list last(Log ? log(sum) : C(1) / sum);
      for (int r = 0; r < count; ++r) {
        const auto x = rows_in.place(r);
        const auto y = rows_out.place(r);
        const C greatest = top[r], scale = last[r];
        block.for_each_lane(n, [&](auto i) FLAGGEMS_LAMBDA {
          if constexpr (Log)
            y.store(i, x.again(i) - greatest - scale);
          else
            y.store(i, x.kept(i) * scale);
        });
        rows_out.end(r);
      }
    });
    end_stream(block, out.streamed);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/softmax.hpp");
