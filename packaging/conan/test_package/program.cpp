// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The package is found, and an operator runs.
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/vendors/host.hpp>

int main() {
  flaggems::stream<flaggems::host> stream;
  auto x = flaggems::evaluate(stream, flaggems::arange<float>(stream, 4) * 2 + 1);
  stream.synchronize();
  return x.data()[3] == 7 ? 0 : 1;
}
