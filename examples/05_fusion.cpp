// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/use.md: expressions, matrix products with them, and reductions.
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gemm_prologue.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/tensor/print.hpp>
#include <flaggems/vendors/host.hpp>

#include <iostream>

// [functor]
/// x, softly limited to (-limit, limit). V is a number, or a vector of numbers on the host.
struct soft_limit {
  float limit;
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) x) const {
    using flaggems::kernels::tanh;
    return V(limit) * tanh(x / V(limit));
  }
};
// [/functor]

int main() {
  // [expressions]
  flaggems::stream<flaggems::host> stream;
  const auto x = flaggems::from_values<float>(stream, {-2, -1, 0, 1, 2, 3}, {2, 3});
  const auto bias = flaggems::from_values<float>(stream, {10, 20, 30});
  auto y = flaggems::empty_like(stream, x);

  const auto a = flaggems::add(stream, x, bias);  // eager: a new tensor; bias broadcasts
  flaggems::add(stream, x, bias, y);              // into a view
  flaggems::add_(stream, y, 1);                   // in place

  const auto formula = flaggems::silu(x) * 2 + bias;  // a type, no work yet
  flaggems::assign(stream, y, formula);               // one launch, one pass over memory
  const auto z = flaggems::evaluate(stream, formula);
  flaggems::assign(stream, y, flaggems::where(flaggems::gt(x, 0), formula, flaggems::exp(x)));
  flaggems::assign(stream, y.t(), x.t());  // any strides, on both sides
  const auto h = flaggems::evaluate(stream, flaggems::cast<flaggems::bf16>(x / 3));
  // [/expressions]

  // [apply]
  const auto limited = flaggems::evaluate(stream, flaggems::apply(soft_limit{1.5f}, x));
  // [/apply]

  // [epilogue]
  const auto w = flaggems::from_values<float>(stream, {1, 0, 0, 0, 1, 1}, {2, 3});
  auto layer = flaggems::linear(stream, x, w);  // [2, 2]
  const auto product = flaggems::product;       // the sums of the matrix product
  flaggems::linear(stream, x, w, layer, flaggems::epilogue(flaggems::maximum(product, 0) + layer));

  // 8-bit integers: exact sums, which scales of the rows and columns make floats of.
  const auto xi = flaggems::from_values<flaggems::i8>(stream, {127, -128, 5, 1, 2, 3}, {2, 3});
  const auto wi = flaggems::from_values<flaggems::i8>(stream, {1, 0, 0, 0, 1, -1}, {2, 3});
  const auto row = flaggems::from_values<float>(stream, {0.5f, 2}, {2, 1});
  const auto column = flaggems::from_values<float>(stream, {1, 10});
  auto dequantised = flaggems::empty<float>(stream, {2, 2});
  flaggems::linear(stream, xi, wi, dequantised, flaggems::epilogue(product * row * column));

  // Two neighbouring columns make one result: a gate and what it multiplies, whose rows of the
  // weight alternate. What goes into the gate is kept as well.
  const auto pairs =
      flaggems::from_values<float>(stream, {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, {4, 3});
  auto opened = flaggems::empty<float>(stream, {2, 2}),
       gates = flaggems::empty<float>(stream, {2, 2});
  const auto gate = flaggems::also_store(gates, flaggems::product_even);
  flaggems::linear(stream, x, pairs, opened,
                   flaggems::epilogue(flaggems::silu(gate) * flaggems::product_odd));

  // The first operand may be a formula as well.
  auto gated = flaggems::empty<float>(stream, {2, 2});
  flaggems::linear(stream, flaggems::silu(x) * x, w, gated);

  // A weight that is packed once for what the host's kernels read.
  const auto packed = flaggems::pack_matrix(stream, w);
  const auto same = flaggems::linear(stream, x, packed);
  // [/epilogue]

  // [reductions]
  const auto total = flaggems::sum(stream, x);                         // all dimensions: a scalar
  const auto rows = flaggems::sum(stream, x, {1}, true);               // [2, 1]
  const auto norm = flaggems::sum(stream, flaggems::square(x), {-1});  // of a formula: no x * x
  const auto best = flaggems::argmax(stream, x, 1);                    // i64 indices
  const auto wide = flaggems::sum<double>(stream, x);                  // accumulated in double
  const bool good = flaggems::all(stream, flaggems::lt(x, 4))();
  // [/reductions]

  std::cout << a << '\n' << y << '\n' << z << '\n' << h << '\n' << limited << '\n';
  std::cout << total << ' ' << wide << '\n' << rows << '\n' << norm << '\n' << best << '\n';
  std::cout << layer << '\n'
            << dequantised << '\n'
            << same << '\n'
            << gated << '\n'
            << opened << '\n';
  return good && layer(1, 1) == 10 && dequantised(0, 1) == -665 && same(0, 0) == -2 &&
                 total() == 3 && gates(0, 0) == x(0, 0) && norm(0) == 5 && best(1) == 2 &&
                 gated(0, 0) > 0.47f && gated(0, 0) < 0.48f
             ? 0
             : 1;
}
