// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The dtypes that a product does not take stand in the condition, which compilers print.
//
// expect: -DWRONG=1: flaggems: matrix products take f64, or f32, f16 and bf16 in any mixture
// expect: -DWRONG=1: product_of<float, double>::summed_into<float, false>
//
// expect: -DWRONG=2: product_of<double, float>::summed_into<double, false>
//
// expect: -DWRONG=3: product_of<float, float>::summed_into<int, false>
//
// errors: 2
#include <flaggems/ops/gemm.hpp>
#include <flaggems/vendors/host.hpp>

using namespace flaggems;

void f(stream<host>& s, tensor<f32>& x, tensor<f64>& d, tensor<i32>& n) {
#if WRONG == 1
  auto y = mm(s, x, d);
#elif WRONG == 2
  linear(s, d, x, d);
#elif WRONG == 3
  mm(s, x, x, n);
#endif
  static_cast<void>(s), static_cast<void>(x), static_cast<void>(d), static_cast<void>(n);
}
