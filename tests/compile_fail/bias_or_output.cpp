// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// One tensor behind the weight is written unless it is const: who wants a result is told how to
// give a bias.
//
// clang-format off
//
// expect: -DWRONG=1: flaggems: linear(stream, x, weight, out) writes a tensor that is not const, and gives nothing: give a bias as with_bias(b), or const
// expect: -DWRONG=2: flaggems: linear(stream, x, weight, out) writes a tensor that is not const, and gives nothing: give a bias as with_bias(b), or const
// expect: -DWRONG=3: flaggems: linear(stream, x, weight, out) writes a tensor that is not const, and gives nothing: give a bias as with_bias(b), or const
// expect: -DWRONG=4: flaggems: linear(stream, x, weight, out) writes a tensor that is not const, and gives nothing: give a bias as with_bias(b), or const
//
// clang-format on
// errors: 1
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/gemm_packed.hpp>
#include <flaggems/ops/gemm_prologue.hpp>
#include <flaggems/vendors/host.hpp>

using namespace flaggems;

void f(stream<host>& s, tensor<float>& x, const tensor<float>& w, tensor<float>& b,
       const packed_matrix<float, host>& packed) {
#if WRONG == 1
  auto y = linear(s, x, w, b);
#elif WRONG == 2
  const auto y = linear(s, x, w, b.view());
#elif WRONG == 3
  auto y = linear(s, x, packed, b);
#elif WRONG == 4
  auto y = linear(s, x * 2, w, b);
#endif
  linear(s, x, w, b);
  linear(s, x, packed, b.view());
  linear(s, x * 2, w, b);
  const auto& c = b;
  const tensor<float> of_const = linear(s, x, w, c), of_view = linear(s, x, packed, c.view());
  const tensor<float> of_temporary = linear(s, x * 2, w, zeros(s, {4}));
}
