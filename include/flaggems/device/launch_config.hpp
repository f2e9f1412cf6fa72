// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernels/prelude.hpp>

namespace flaggems {

/// What an operator asks of a launch; the device makes a grid of it.
struct launch_config {
  const char* op = "";  ///< the operator, for error messages
  i64 tiles = 1;        ///< logical blocks
  i64 work = 0;         ///< bytes moved plus operations of the whole launch, an estimate
  i64 scratch = 0;      ///< bytes of block-local memory that a block needs
  int threads = 256;    ///< threads a block, where the device has threads
};

}  // namespace flaggems
