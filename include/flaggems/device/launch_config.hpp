// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/lang/prelude.hpp>

namespace flaggems {

/// What an operator requests of a launch; the device derives the grid.
struct launch_config {
  const char* op = "";  ///< the operator, for error messages; lives as long as the program
  i64 tiles = 1;        ///< logical blocks, the largest useful grid
  i64 work = 0;         ///< estimate of the launch's bytes moved plus operations
  i64 scratch = 0;      ///< bytes of block-local memory per block
  int threads = 256;    ///< threads per block, rounded up to whole warps, on SIMT devices
  /// The most blocks per compute unit, if the kernel is a persistent one that strides over the
  /// remaining tiles; 0: one block per tile, scheduled by the hardware.
  int blocks_per_unit = 32;
  /// Blocks per cluster that work on a tile (simt_block::cluster), a power of two up to 8. Without
  /// clusters: one block of as many threads as the device allows.
  int cluster = 1;
};

/// The saturating product of non-negative factors, for launch_config::work; at most 2^62, so that
/// two can be added. (Strides of 0 allow huge iteration spaces.)
template <class... Factors>
[[nodiscard]] constexpr i64 work_of(Factors... factors) noexcept {
  constexpr i64 most = i64{1} << 62;
  i64 product = 1;
  bool fits = true;
  ((fits = !__builtin_mul_overflow(product, static_cast<i64>(factors), &product) && fits), ...);
  return fits && product < most ? product : most;
}

}  // namespace flaggems
