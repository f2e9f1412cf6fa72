// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices per second whose factors of Cholesky's are differentiated.
#include <support.hpp>

#include <flaggems/ops/factor_backward.hpp>

#include <algorithm>

namespace flaggems_bench {
namespace {

void cholesky_backward(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto grad = random<f32>({n, n}, -1, 1);
  auto l = fg::zeros<f32>(stream(), {n, n});
  for (i64 i = 0; i < n; ++i) l.data()[i * n + i] = 2;
  auto out = fg::cholesky_backward(stream(), grad, l);
  for (auto _ : state) {
    out = fg::cholesky_backward(stream(), grad, l);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
  check(
      state, out,
      [&](i64 i) {  // a quarter of the element at or below the diagonal
        const i64 row = (std::max)(i / n, i % n), column = (std::min)(i / n, i % n);
        return number(grad.data()[row * n + column]) / 4;
      },
      1, 1e-5);
}
BENCHMARK(cholesky_backward)->Arg(16)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
