// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/use.md: a matrix product that stores a function of your own of its sums.
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gemm_epilogue.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/tensor/print.hpp>
#include <flaggems/vendors/host.hpp>

#include <iostream>

// [functor]
/// x, or less of it below 0.
struct leaky {
  float slope;
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) x) const {
    using flaggems::kernels::select;
    return select(x > V(0), x, V(x * V(slope)));
  }
};
// [/functor]

int main() {
  namespace fg = flaggems;
  // [product]
  const fg::stream<fg::host> stream;  // or fg::cuda, fg::hip, ...
  const auto x = fg::from_values<float>(stream, {1, 2, -1, 0, 3, 1}, {2, 3});
  const auto weight = fg::from_values<float>(stream, {1, 0, 1, 0, -1, 1}, {2, 3});
  const auto bias = fg::from_values<float>(stream, {0.5f, -0.5f});
  const auto residual = fg::from_values<float>(stream, {10, 20, 30, 40}, {2, 2});
  auto out = fg::empty<float>(stream, {2, 2});

  const auto layer = fg::apply(leaky{0.25f}, fg::product * 2 + bias) + residual;
  fg::linear(stream, x, weight, out, fg::epilogue(layer));  // one launch, one store of out
  // [/product]
  std::cout << out << '\n';
  const float expected[] = {10.5f, 18.375f, 32.5f, 38.875f};
  for (int i = 0; i < 4; ++i)
    if (out.data()[i] != expected[i]) return 1;
  return 0;
}
