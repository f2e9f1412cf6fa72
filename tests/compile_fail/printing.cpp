// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What has no elements to print, or not where the host reads them.
//
// expect: -DWRONG=1: flaggems: to_string and << take tensors and views: evaluate(stream, e) makes a
// expect: -DWRONG=2: flaggems: to_string and << take tensors and views: evaluate(stream, e) makes a
// expect: -DWRONG=3: flaggems: tensors are printed from the host's memory: to_host(stream, x)
// expect: -DWRONG=4: flaggems: tensors are printed from the host's memory: to_host(stream, x)
//
// errors: 1
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/tensor/print.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/simt.hpp>

#include <sstream>

using namespace flaggems;

void f(tensor<float>& x, const tensor<float, simt<32>>& there, std::ostringstream& out) {
#if WRONG == 1
  const std::string text = to_string(x * 2);
#elif WRONG == 2
  out << exp(x) << 1;
#elif WRONG == 3
  const std::string text = to_string(there, {.precision = 2});
#elif WRONG == 4
  out << there.view() << 1;
#endif
  out << x << to_string(x.view());
  static_cast<void>(there);
}
