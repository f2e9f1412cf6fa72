// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What is told of a copy by blocks: a plan (ops/plan/copy.hpp) makes it, vector/blocks.hpp runs it.
#pragma once

#include <flaggems/kernel/expr/expr.hpp>

namespace flaggems::kernels {

/// A grid of two-dimensional blocks; all steps in bytes. A dimension longer than the block is cut:
/// the grid's dimension `cut` runs along it, and its last block has `rest`.
struct copy_space {
  int rank;  // of the grid, at least 1
  i64 sizes[max_rank], to[max_rank], from[max_rank];
  int cut[2];  // -1: not cut
  i64 count[2], rest[2];
  i64 to_step[2], from_step[2];
  i64 blocks;
  bool streamed;    // non-temporal stores
  bool transposed;  // elements: the block's outer dimension is contiguous in the input
  bool staged;      // transposed: by way of a buffer
};

/// The largest transposed block: bytes along the input, elements along the output. In smaller ones,
/// too few cache lines of each page are used at a time (docs/notes/copies.md).
inline constexpr i64 transposed_bytes = 256, transposed_elements = 128;

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/copy/space.hpp");
