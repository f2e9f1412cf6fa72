// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/comparison.hpp>
#include <pointwise_rows.hpp>

namespace flaggems_bench {
namespace {

FLAGGEMS_COMPARISON_TABLE(BENCH_UNARY)

}  // namespace
}  // namespace flaggems_bench
