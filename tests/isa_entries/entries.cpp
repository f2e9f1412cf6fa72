// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A plain -O2 translation unit whose machine code run.py reads.
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/host.hpp>

int main() {
  using namespace flaggems;
  stream<host> s;
  auto x = empty<f32>(s, {4, 64});
  assign(s, x, 1);
  add(s, silu(x), 1, x);
#ifdef FEW_ENTRIES  // for the test of the check itself
  return 0;
#else
  softmax(s, x, x, 1);
  auto total = sum(s, x, {1});
  auto half = empty<f16>(s, {4, 64});
  assign(s, half, x * 2);
  auto a = empty<bf16>(s, {64, 64}), b = empty<bf16>(s, {64, 64});
  assign(s, a, 1);
  mm(s, a, a, b);
  auto bytes = empty<i8>(s, {64, 64});
  auto sums = empty<i32>(s, {64, 64});
  mm(s, bytes, bytes, sums);
  return total.numel() == 4 ? 0 : 1;
#endif
}
