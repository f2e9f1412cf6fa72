// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/block/simt/block.hpp>

namespace flaggems::kernels {

/// Whether blocks of a cluster exchange messages: stores to distributed shared memory that an
/// mbarrier counts.
template <class Machine, class = int>
inline constexpr bool messaging = false;
template <class Machine>
inline constexpr bool messaging<Machine, decltype(Machine::has_messages + 0)> =
    Machine::has_messages;

/// Reduces over the blocks of a cluster by an mbarrier exchange, where a machine has it, else as
/// simt_block::reduce_cluster. The constructor synchronises the blocks while their first loads are
/// pending. One per block, and no other cluster barrier before its first use. No code if not
/// `Clusters`.
template <class Block, bool Clusters>
class cluster_reduction {
 public:
  /// All threads call it. Without a cluster, or unless `wanted`, states are returned unchanged.
  FLAGGEMS_INLINE explicit cluster_reduction(const Block& block, bool wanted)
      : block_(block), blocks_(Clusters && wanted ? block.cluster_blocks() : 1) {
    if constexpr (Clusters && by_messages) {
      if (blocks_ > 1) block.machine().open_mailbox();
    }
  }
  /// Reduces states that are equal within each block. All threads of the cluster call it and get
  /// the same bits if `op` is commutative.
  template <class S, class Op>
  FLAGGEMS_INLINE S operator()(S mine, S neutral, Op op, source_line line = FLAGGEMS_CALLER_LINE) {
    if (blocks_ == 1) return mine;
    if constexpr (!Clusters) {
      return mine;
    } else if constexpr (by_messages) {
      if (reductions_ == 0) block_.machine().await_mailboxes();
      const int lanes = lanes_of(blocks_);
      const int from = block_.thread() & (lanes - 1);
      const S got = block_.machine().swap_messages(mine, static_cast<int>(reductions_ & 1),
                                                   reductions_ >> 1 & 1, from < blocks_ ? from : 0);
      ++reductions_;
      return block_.reduce_subwarp(from < blocks_ ? got : neutral, op, lanes, line);
    } else {
      return block_.reduce_cluster(mine, neutral, op, line);
    }
  }

 private:
  static constexpr bool by_messages = messaging<typename Block::machine_type>;

  const Block& block_;
  int blocks_;
  u32 reductions_ = 0;
};

/// The older name of cluster_reduction.
template <class Block, bool Clusters>
using cluster_folds = cluster_reduction<Block, Clusters>;

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/block/simt/cluster_reduce.hpp");
