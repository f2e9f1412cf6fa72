// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows per second of nll_loss_forward, one of whose elements is read each.
#include <support.hpp>

#include <flaggems/ops/nll_loss.hpp>

namespace flaggems_bench {
namespace {

void nll_loss_forward(benchmark::State& state) {
  const i64 rows = state.range(0), n = 1000;
  const auto x = random<f32>({rows, n}, -3, 0);
  auto target = fg::empty<i64>(stream(), {rows});
  for (i64 r = 0; r < rows; ++r) target.data()[r] = r * 7919 % n;
  auto out = fg::empty<f32>(stream(), {rows}), total = fg::empty<f32>(stream(), {});
  for (auto _ : state) {
    fg::nll_loss_forward(stream(), x, target, std::nullopt, out, total, fg::reduction::none, -100);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows);
  check(state, out, [&](i64 r) { return -number(x.data()[r * n + target.data()[r]]); });
}
BENCHMARK(nll_loss_forward)->Arg(64)->Arg(4096)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
