// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Complex numbers are stored and moved, not computed with: one message, not the kernels' errors.
//
// expect: -DWRONG=1: flaggems: this operator has no complex numbers yet
//
// expect: -DWRONG=2: flaggems: this operator has no complex numbers yet
//
// expect: -DWRONG=3: flaggems: this operator has no complex numbers yet
//
// expect: -DWRONG=4: flaggems: this operator has no complex numbers yet
//
// errors: 5
#include <flaggems/flaggems.hpp>

using namespace flaggems;

void f(stream<host>& s, tensor<c64>& x, tensor<c64>& out, tensor<f32>& real, tensor<i64>& index,
       tensor<bool>& same) {
#if WRONG == 1
  add(s, x, out, out);
  assign(s, out, exp(real) * x + 1);
  eq(s, x, x, same);  // the output is no complex number
  copy_(s, real, x);
  assign(s, real, cast<f32>(x));
#elif WRONG == 2
  fill_(s, x, 1.5);
  static_cast<void>(zeros<c64>(s, {2}));
#elif WRONG == 3
  static_cast<void>(sum(s, x));
  any(s, eq(x, x), same);
#elif WRONG == 4
  argmax(s, x, index);
#endif
  copy_(s, out, x);
  static_cast<void>(cat(s, {x.view(), out.view()}, 0));
  index_select(s, x, 0, index, out);
  static_cast<void>(embedding(s, x, index));
  static_cast<void>(real);
  static_cast<void>(same);
}
