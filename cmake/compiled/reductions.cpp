// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels of reductions marked FLAGGEMS_KERNEL_ONCE; their bodies are in the first header.
#define FLAGGEMS_COMPILED 3
#include <flaggems/launch/host_launch.hpp>

#include <flaggems/ops/reduce.hpp>
