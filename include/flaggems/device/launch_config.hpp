// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/lang/prelude.hpp>

namespace flaggems {

/// What an operator asks of a launch; the device makes a grid of it.
struct launch_config {
  const char* op = "";  ///< the operator, for error messages; lives as long as the program
  i64 tiles = 1;        ///< logical blocks, the most that a grid may have
  i64 work = 0;         ///< bytes moved plus operations of the whole launch, an estimate
  i64 scratch = 0;      ///< bytes of block-local memory that a block needs
  int threads = 256;    ///< threads a block, rounded up to whole warps, where there are threads
  /// The most blocks for each compute unit of a device whose kernels stride over the other tiles;
  /// 0: a block for each tile, for tiles of one step a thread, which the hardware shares out best.
  int blocks_per_unit = 32;
  /// Blocks that work on a tile together (simt_block::cluster), a power of two up to 8. Where
  /// blocks cannot, there is one of as many threads as the device allows.
  int cluster = 1;
};

/// The product of factors that are not negative, for launch_config::work; at most 2^62, so that two
/// of them may be added. (Strides of 0 make iteration spaces as large as numbers go.)
template <class... Factors>
[[nodiscard]] constexpr i64 work_of(Factors... factors) noexcept {
  constexpr i64 most = i64{1} << 62;
  i64 product = 1;
  bool fits = true;
  ((fits = !__builtin_mul_overflow(product, static_cast<i64>(factors), &product) && fits), ...);
  return fits && product < most ? product : most;
}

}  // namespace flaggems
