// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Expressions of tensors on another device than the stream or the output.
//
// expect: -DWRONG=1: flaggems: the stream is on another device than the operands
//
// expect: -DWRONG=2: flaggems: the output is on another device than the operands
//
// expect: -DWRONG=3: flaggems: the output is on another device than the operands
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/expr.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/simt.hpp>

using flaggems::host;
using flaggems::simt32;

void f(flaggems::stream<host>& on_host, flaggems::stream<simt32>& on_chip,
       flaggems::tensor_view<float, host> x, flaggems::tensor_view<float, simt32> y) {
  static_cast<void>(flaggems::evaluate(on_host, x + 1));
  flaggems::assign(on_chip, y, y + 1);
#if WRONG == 1
  static_cast<void>(flaggems::evaluate(on_host, y + 1));
#elif WRONG == 2
  flaggems::assign(on_host, x, y + 1);
#elif WRONG == 3
  flaggems::cat(on_host, {y, y}, x, 0);
#endif
}
