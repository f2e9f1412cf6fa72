// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A view of a tensor that ends with the statement.
//
// expect: flaggems: a temporary tensor ends with the statement, before its view
#include <flaggems/ops/creation.hpp>
#include <flaggems/vendors/host.hpp>

using namespace flaggems;

void f(stream<host>& s) {
  auto all = ones(s, {3}).view();
  auto part = ones(s, {3}).slice(0, 1);
}
