// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Element types that PyTorch does not promote: a message, not a failed constraint.
//
// expect: -DWRONG=1: flaggems: no common type of element types A and B: cast one of them
//
// expect: -DWRONG=2: flaggems: no common type of element types A and B: cast one of them
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/vendors/host.hpp>

using namespace flaggems;

void f(stream<host>& s, tensor<i64>& x, tensor<u64>& y, tensor<bool>& out) {
#if WRONG == 1
  lt(s, x, y, out);
#elif WRONG == 2
  where(s, out, x, y);
#endif
  lt(s, x, cast<i64>(y), out);
}
