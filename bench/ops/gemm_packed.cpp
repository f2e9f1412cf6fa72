// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A linear layer with a packed weight, and without.
#include <support.hpp>

#include <flaggems/ops/gemm_packed.hpp>

namespace flaggems_bench {
namespace {

template <class T, bool Packed>
void layer(benchmark::State& state) {
  const i64 m = state.range(0), n = 1024, k = 1024;
  const auto x = random<T>({m, k}), w = random<T>({n, k}, -1, 1, 2);
  const auto packed = fg::pack_matrix(stream(), w);
  auto out = fg::empty<float>(stream(), {m, n});
  for (auto _ : state) {
    if constexpr (Packed)
      fg::linear(stream(), x, packed, out);
    else
      fg::linear(stream(), x, w, out);
  }
  state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(m * n * k),
                                               benchmark::Counter::kIsIterationInvariantRate);
  check(
      state, out, [&](i64 i) { return linear_element(x, w, i); }, k);
}
BENCHMARK(layer<float, true>)->Arg(1)->Arg(8)->Arg(64)->Arg(512);
BENCHMARK(layer<float, false>)->Arg(1)->Arg(8)->Arg(64)->Arg(512);
BENCHMARK(layer<bf16, true>)->Arg(1)->Arg(64);
BENCHMARK(layer<bf16, false>)->Arg(1)->Arg(64);

}  // namespace
}  // namespace flaggems_bench
