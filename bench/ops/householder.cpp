// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations per second of products with reflectors.
#include <support.hpp>

#include <flaggems/ops/householder.hpp>

namespace flaggems_bench {
namespace {

void ormqr(benchmark::State& state) {
  // Reflectors of one element each, so that a row is multiplied by 1 - tau.
  const i64 n = state.range(0);
  auto v = random<f32>({n, n});
  for (i64 i = 0; i < n; ++i)
    for (i64 j = 0; j < i; ++j) v.data()[i * n + j] = 0.0F;
  const auto tau = random<f32>({n}, 0, 2, 2), x = random<f32>({n, n}, -1, 1, 3);
  auto out = fg::ormqr(stream(), v, tau, x);
  for (auto _ : state) {
    fg::ormqr(stream(), v, tau, x, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 2 * n * n * n);
  const auto rows = fg::contiguous(stream(), out);
  check(state, rows, [&](i64 i) { return number(x.data()[i]) * (1 - number(tau.data()[i / n])); });
}
BENCHMARK(ormqr)->Arg(32)->Arg(128)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
