// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// All forms of a scatter of a number look at the dtype of the indices, and at the devices.
//
// expect: -DWRONG=1: flaggems: indices are of dtype i32 or i64
//
// expect: -DWRONG=2: flaggems: indices are of dtype i32 or i64
//
// expect: -DWRONG=3: flaggems: indices are of dtype i32 or i64
//
// expect: -DWRONG=4: flaggems: stream is on device A but argument K is on device B
#include <flaggems/ops/scatter.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/meta.hpp>

using namespace flaggems;

void f(stream<host>& s, tensor<f32>& x, tensor<i64>& k, tensor<i64, meta>& away) {
  scatter_(s, x, 0, k, 9);
#if WRONG == 1
  auto y = scatter(s, x, 0, x, 9);
#elif WRONG == 2
  scatter_(s, x, 0, x, 9);
#elif WRONG == 3
  index_fill(s, x, 0, x, x, 9);
#elif WRONG == 4
  scatter_(s, x, 0, away, 9);
#endif
  static_cast<void>(away);
}
