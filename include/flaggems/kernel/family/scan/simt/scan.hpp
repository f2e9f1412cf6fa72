// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A scan of a row by the threads of a block: each joins a few consecutive elements, the threads'
// totals are joined in shared memory, and each writes its elements.
#pragma once

#include <flaggems/kernel/family/scan/scan.hpp>

namespace flaggems::kernels {

template <class Op, class Block, class Scratch, class Row>
FLAGGEMS_INLINE typename Op::state share_row(Op, const Block& block, const Scratch& totals,
                                             const Row& row, i64 n, typename Op::state carry,
                                             bool writes) {
  using state = typename Op::state;
  constexpr int each = 4;
  const int threads = block.threads(), me = block.thread();
  for (i64 start = 0; start < n; start += i64{each} * threads) {
    const i64 mine = start + i64{each} * me;
    state own[each], sum = Op::identity();
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < each; ++k) {
      if (mine + k < n) sum = Op::join(sum, row.read(mine + k));
      own[k] = sum;
    }
    totals.write(me, sum);
    block.sync();
    for (int d = 1; d < threads; d *= 2) {
      const state before = me >= d ? totals.read(me - d) : Op::identity();
      block.sync();
      sum = Op::join(before, sum);
      totals.write(me, sum);
      block.sync();
    }
    const state before = Op::join(carry, me > 0 ? totals.read(me - 1) : Op::identity());
    carry = Op::join(carry, totals.read(threads - 1));
    if (writes) {
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < each; ++k)
        if (mine + k < n) row.write(mine + k, Op::join(before, own[k]));
    }
    block.sync();  // the next round overwrites the totals
  }
  return carry;
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/scan/simt/scan.hpp");
