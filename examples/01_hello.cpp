// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/tensor/print.hpp>
#include <flaggems/vendors/host.hpp>

#include <iostream>

int main() {
  using device = flaggems::host;  // choosing a device is choosing a type
  flaggems::stream<device> stream;
  auto x = flaggems::arange<float>(stream, 6);
  auto p = flaggems::softmax(stream, x.reshape({2, 3}), -1);  // a new tensor, rows sum to 1
  flaggems::assign(stream, p, flaggems::silu(p) * 2 + 1);     // one fused pass over any formula
  std::cout << flaggems::to_string(p) << '\n';
}
