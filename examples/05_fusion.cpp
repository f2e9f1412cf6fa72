// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/use.md: expressions and reductions.
#include <flaggems/ops/creation.hpp>
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

  // [reductions]
  const auto total = flaggems::sum(stream, x);                         // all dimensions: a scalar
  const auto rows = flaggems::sum(stream, x, {1}, true);               // [2, 1]
  const auto norm = flaggems::sum(stream, flaggems::square(x), {-1});  // of a formula: no x * x
  const auto best = flaggems::argmax(stream, x, 1);                    // i64 indices
  const auto wide = flaggems::sum<double>(stream, x);                  // folded in double
  const bool good = flaggems::all(stream, flaggems::lt(x, 4))();
  // [/reductions]

  std::cout << a << '\n' << y << '\n' << z << '\n' << h << '\n' << limited << '\n';
  std::cout << total << ' ' << wide << '\n' << rows << '\n' << norm << '\n' << best << '\n';
  return good && total() == 3 && norm(0) == 5 && best(1) == 2 ? 0 : 1;
}
