// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What has no complex numbers says so in one message a call, not by its kernels.
//
// expect: -DWRONG=1: flaggems: this operator has no complex numbers
//
// expect: -DWRONG=2: flaggems: a real result is not stored in the complex tensor that it is of
// expect: -DWRONG=2: flaggems: the result's dtype cannot be cast to the output's
//
// expect: -DWRONG=3: flaggems: of the reductions sum and mean have complex numbers
//
// expect: -DWRONG=4: flaggems: a matrix product of complex numbers has complex tensors alone
// expect: -DWRONG=4: flaggems: there are complex numbers of f32 and f64 alone
//
// errors: 6
#include <flaggems/flaggems.hpp>

using namespace flaggems;

void f(stream<host>& s, tensor<c64>& x, tensor<c64>& out, tensor<f32>& part, tensor<i64>& index,
       tensor<bool>& same, tensor<f16>& small) {
#if WRONG == 1
  relu(s, x, out);
  lt(s, x, x, same);
  assign(s, out, tanh(part) * x + pow(x, 2));
#elif WRONG == 2
  abs_(s, x);
  assign(s, part, x + 1);
#elif WRONG == 3
  static_cast<void>(prod(s, x));
  any(s, x, same);
  sum(s, x, part);
  argmax(s, x, index);
#elif WRONG == 4
  mm(s, x, part, out);
  static_cast<void>(mul(s, small, c64{0, 1}));
#endif
  assign(s, out, exp(part) * x + 1);
  eq(s, x, x, same);
  copy_(s, part, x);
  fill_(s, x, 1.5);
  any(s, eq(x, x), same);
  sum(s, x, out);
  sum(s, x * x, out);
  static_cast<void>(cat(s, {x.view(), out.view()}, 0));
  index_select(s, x, 0, index, out);
  static_cast<void>(embedding(s, x, index));
  static_cast<void>(small);
}
