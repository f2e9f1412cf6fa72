// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of a step of Adam.
#include <support.hpp>

#include <flaggems/ops/optimizer.hpp>

#include <array>
#include <cmath>

namespace flaggems_bench {
namespace {

void fused_adam(benchmark::State& state) {
  const i64 n = state.range(0);
  auto p = random<f32>({n}), g = random<f32>({n}, -1, 1, 2), m = fg::zeros(stream(), {n}),
       v = fg::zeros(stream(), {n});
  const auto step = fg::ones(stream(), {});
  const auto first = fg::clone(stream(), p);
  const auto run = [&](double lr) {
    fg::fused_adam_(stream(), std::array{p.view()}, std::array{g.view()}, std::array{m.view()},
                    std::array{v.view()}, std::array<fg::tensor_view<f32>, 0>(),
                    std::array{step.view()}, lr, 0.9, 0.99, 0, 1e-8, false, false);
  };
  for (auto _ : state) {
    run(0);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 7 * p.bytes());
  fg::fill_(stream(), m, 0);
  fg::fill_(stream(), v, 0);
  run(0.125);
  check(state, p, [&](i64 i) {
    const double slope = number(g.data()[i]);
    return number(first.data()[i]) - 0.125 * slope / (std::abs(slope) + 1e-8);
  });
}
BENCHMARK(fused_adam)->Arg(1024)->Arg(1 << 18)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
