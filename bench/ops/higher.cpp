// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/higher.hpp>
#include <pointwise_rows.hpp>
#include <support/higher_reference.hpp>

namespace flaggems_bench {
namespace {

FLAGGEMS_HIGHER_TABLE(BENCH_UNARY, BENCH_UNARY, BENCH_BINARY, BENCH_BINARY)

}  // namespace
}  // namespace flaggems_bench
