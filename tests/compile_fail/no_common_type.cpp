// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Element types that PyTorch does not promote, and factors that integers do not take: a message,
// not a failed constraint.
//
// expect: -DWRONG=1: flaggems: no common type of element types A and B: cast one of them
//
// expect: -DWRONG=2: flaggems: no common type of element types A and B: cast one of them
//
// expect: -DWRONG=3: flaggems: argument alpha must not be a number of a higher kind than the
// operands
//
// expect: -DWRONG=4: flaggems: argument alpha must not be a number of a higher kind than the
// operands
//
// expect: -DWRONG=5: flaggems: a bool alpha is for bool operands only
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/vendors/host.hpp>

using namespace flaggems;

void f(stream<host>& s, tensor<i64>& x, tensor<u64>& y, tensor<bool>& out) {
#if WRONG == 1
  lt(s, x, y, out);
#elif WRONG == 2
  where(s, out, x, y);
#elif WRONG == 3
  add(s, x, x, x, 2.0);
#elif WRONG == 4
  sub_(s, x, x, 0.5f);
#elif WRONG == 5
  add(s, x, x, x, true);
#endif
  lt(s, x, cast<i64>(y), out);
}
