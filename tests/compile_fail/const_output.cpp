// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What is const is no output, and the message stands alone.
//
// expect: -DWRONG=1: flaggems: expected an output that can be written, got a view of const elements
//
// expect: -DWRONG=2: flaggems: expected an output that can be written, got a view of const elements
//
// expect: -DWRONG=3: flaggems: expected an output that can be written, got a view of const elements
//
// expect: -DWRONG=4: flaggems: expected an output that can be written, got a view of const elements
//
// expect: -DWRONG=5: flaggems: expected an output that can be written, got a view of const elements
//
// errors: 1
#include <flaggems/device/tensor.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/host.hpp>

using namespace flaggems;

void f(stream<host>& s, tensor<float>& x, const tensor<float>& c) {
#if WRONG == 1
  exp_(s, c);
#elif WRONG == 2
  exp(s, x, c.view());
#elif WRONG == 3
  fill_(s, c, 1);
#elif WRONG == 4
  softmax(s, x, c, -1);
#elif WRONG == 5
  sum(s, x, c);
#endif
  static_cast<void>(s);
  static_cast<void>(x);
  static_cast<void>(c);
}
