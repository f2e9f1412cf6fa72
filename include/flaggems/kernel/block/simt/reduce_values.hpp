// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums several values per thread over consecutive threads, and the reverse exchange.
#pragma once

#include <flaggems/kernel/lang/lanes.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// Sums each of Count values, a power of two, over aligned groups of n = 2 * Mask threads by
/// recursive halving, in about Count shuffles. Thread t of a group ends with the sums from t / (n /
/// Count) on in values[0 ..]: one, or Count / n if there are more values than threads.
template <int Count, int Mask, class C, class Block>
FLAGGEMS_INLINE void reduce_values(const Block& block, identity<C>* values) {
  if constexpr (Mask > 0 && Count > 1) {
    constexpr int middle = Count / 2;
    const bool upper = (block.thread() & Mask) != 0;
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < middle; ++i) {
      const C low = values[i], high = values[i + middle];
      const C mine = upper ? high : low, other = upper ? low : high;
      values[i] = wrapping_add<C>(mine, block.template shuffle_xor<C>(other, Mask));
    }
    reduce_values<middle, Mask / 2, C>(block, values);
  } else if constexpr (Mask > 0) {
    values[0] = wrapping_add<C>(values[0], block.template shuffle_xor<C>(values[0], Mask));
    reduce_values<1, Mask / 2, C>(block, values);
  }
}

/// The reverse: values[0] of each of Count equal parts of a group becomes values[0 .. Count) of all
/// its threads. Threads of a part have equal values[0].
template <int Count, int Mask, class C, class Block>
FLAGGEMS_INLINE void broadcast_values(const Block& block, identity<C>* values) {
  if constexpr (Count > 1) {
    constexpr int middle = Count / 2;
    broadcast_values<middle, Mask / 2, C>(block, values);
    const bool upper = (block.thread() & Mask) != 0;
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < middle; ++i) {
      const C mine = values[i], other = block.template shuffle_xor<C>(mine, Mask);
      values[i] = upper ? other : mine;
      values[i + middle] = upper ? mine : other;
    }
  }
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/block/simt/reduce_values.hpp");
