// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators that refuse dtypes by messages of their own.
//
// expect: -DWRONG=1: flaggems: addcdiv does not divide integers: div with a rounding_mode does
//
// expect: -DWRONG=2: flaggems: the in-place form of an operator that gives f64 takes tensors of f64
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/vendors/host.hpp>

using namespace flaggems;

void f(stream<host>& s, tensor<f64>& d, tensor<float>& x, tensor<i32>& n) {
  addcdiv_(s, x, n, x);
  float_power_(s, d, x);
#if WRONG == 1
  addcdiv_(s, x, n, 2);
#elif WRONG == 2
  float_power_(s, x, d);
#endif
}
