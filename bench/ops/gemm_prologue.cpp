// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A gated layer, (silu(gate) * up) * w^T: of the expression, and of a tensor that it is stored to
// before.
#include <support.hpp>

#include <flaggems/ops/gemm_prologue.hpp>
#include <flaggems/ops/pointwise.hpp>

namespace flaggems_bench {
namespace {

template <class T, bool Fused>
void gated_layer(benchmark::State& state) {
  const i64 m = state.range(0), n = 576, k = 1536;
  const auto gate = random<T>({m, k}), up = random<T>({m, k}, -1, 1, 3);
  const auto w = random<T>({n, k}, -1, 1, 2);
  auto out = fg::empty<float>(stream(), {m, n});
  auto product = fg::empty<T>(stream(), {m, k});
  for (auto _ : state) {
    if constexpr (Fused) {
      fg::linear(stream(), fg::silu(gate) * up, w, out);
    } else {
      fg::assign(stream(), product, fg::silu(gate) * up);
      fg::linear(stream(), product, w, out);
    }
  }
  state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(m * n * k),
                                               benchmark::Counter::kIsIterationInvariantRate);
  fg::assign(stream(), product, fg::silu(gate) * up);
  check(
      state, out, [&](i64 i) { return linear_element(product, w, i); }, k);
}
BENCHMARK(gated_layer<float, true>)->Arg(1)->Arg(64)->Arg(512);
BENCHMARK(gated_layer<float, false>)->Arg(1)->Arg(64)->Arg(512);
BENCHMARK(gated_layer<bf16, true>)->Arg(64)->Arg(512);
BENCHMARK(gated_layer<bf16, false>)->Arg(64)->Arg(512);

}  // namespace
}  // namespace flaggems_bench
