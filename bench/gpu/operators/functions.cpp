// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of the tables of activations and their derivatives, of angles and of special functions.
#include "tables.hpp"

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/activation_backward.hpp>
#include <flaggems/ops/special.hpp>
#include <flaggems/ops/trigonometric.hpp>

namespace bridge {
namespace {

FLAGGEMS_TRIGONOMETRIC_TABLE(BENCH_UNARY, BENCH_UNARY, BENCH_BINARY)
FLAGGEMS_SPECIAL_TABLE(BENCH_UNARY, BENCH_BINARY)
FLAGGEMS_ACTIVATION_TABLE(BENCH_UNARY, BENCH_UNARY1, BENCH_UNARY2, BENCH_UNARY3, BENCH_BINARY,
                          BENCH_BINARY1)
FLAGGEMS_ACTIVATION_BACKWARD_TABLE(BENCH_BINARY, BENCH_BINARY1, BENCH_BINARY2)

}  // namespace
}  // namespace bridge
