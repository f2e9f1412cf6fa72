// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of the tables of arithmetic, rounding, comparisons, bits and elementary functions.
#include "tables.hpp"

#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/bitwise.hpp>
#include <flaggems/ops/comparison.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/rounding.hpp>

namespace bridge {
namespace {

FLAGGEMS_POINTWISE_TABLE(BENCH_UNARY, BENCH_BINARY, BENCH_TERNARY)
FLAGGEMS_ROUNDING_TABLE(BENCH_UNARY, BENCH_BINARY)
FLAGGEMS_ARITHMETIC_TABLE(BENCH_UNARY, BENCH_BINARY, BENCH_BINARY1, BENCH_TERNARY)
FLAGGEMS_COMPARISON_TABLE(BENCH_UNARY)
FLAGGEMS_BITWISE_TABLE(BENCH_UNARY, BENCH_BINARY)

}  // namespace
}  // namespace bridge
