// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A device type without graphs captures nothing, and the message stands alone.
//
// expect: -DWRONG: flaggems: a device type without graphs captures nothing
//
// errors: 1
#include <flaggems/device/graph.hpp>
#include <flaggems/vendors/host.hpp>

using namespace flaggems;

int main() {
  const stream<host> s;
#ifdef WRONG
  auto g = capture(s, [] {});
#else
  warm_up(s, [] {});
#endif
}
