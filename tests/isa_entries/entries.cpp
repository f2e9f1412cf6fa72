// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A plain -O2 translation unit whose machine code run.py reads.
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/host.hpp>

int main() {
  using namespace flaggems;
  stream<host> s;
  auto x = empty<f32>(s, {4, 64});
  assign(s, x, 1);
  softmax(s, x, x, 1);
  add(s, silu(x), 1, x);
  auto total = sum(s, x, {1});
  auto half = empty<f16>(s, {4, 64});
  assign(s, half, x * 2);
  return total.numel() == 4 ? 0 : 1;
}
