// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/activation_backward.hpp>
#include <pointwise_rows.hpp>

namespace flaggems_bench {
namespace {

FLAGGEMS_ACTIVATION_BACKWARD_TABLE(BENCH_BINARY, BENCH_BINARY1, BENCH_BINARY2)

}  // namespace
}  // namespace flaggems_bench
