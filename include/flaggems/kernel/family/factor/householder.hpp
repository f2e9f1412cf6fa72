// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/factor/matrices.hpp>

namespace flaggems::kernels {

/// x = H(0) H(1) ... H(k - 1) x for columns of n elements, or in the other order with `forward`:
/// the transpose. H(i) = 1 - tau[i] v v^T, where v is 0 above i, 1 at i, and below as column i of
/// `reflectors` has it.
template <class T>
struct householder_apply {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 n, i64 k,
                                  matrices<const T> reflectors, matrices<const T> taus,
                                  matrices<T> columns, i32 forward) {
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto v = reflectors.at(c);
      const auto tau = taus.at(c);
      const auto x = columns.at(c);
      for (i64 step = 0; step < k; ++step) {
        const i64 i = forward != 0 ? step : k - 1 - step;
        const auto direction = v.down(i, i);
        const auto rest = x.down(i, 0);
        const auto element = [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), T>;
          using J = lane_value<decltype(lane), i64>;
          return select(iota<i64>(lane) == J(i64(0)), V(T(1)), V(direction.load(lane)));
        };
        const T by =
            tau.read(i, 0) * block.reduce(n - i, T(0), plus{}, [&](auto lane) FLAGGEMS_LAMBDA {
              return element(lane) * rest.load(lane);
            });
        block.for_each_lane(n - i, [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), T>;
          rest.store(lane, rest.load(lane) - V(by) * element(lane));
        });
        block.sync();  // the next one begins at another element
      }
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/factor/householder.hpp");
