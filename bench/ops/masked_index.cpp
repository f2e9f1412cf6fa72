// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements per second that are read at indices under a mask.
#include <support.hpp>

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/masked_index.hpp>
#include <flaggems/ops/sequences.hpp>

#include <tuple>

namespace flaggems_bench {
namespace {

void unsafe_masked_index(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n});
  const auto indices = fg::arange<i64>(stream(), n - 1, -1, -1);
  const auto mask = fg::gt(stream(), x, 0);
  auto out = fg::unsafe_masked_index(stream(), x, mask, std::tie(indices), 2);
  for (auto _ : state) {
    out = fg::unsafe_masked_index(stream(), x, mask, std::tie(indices), 2);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
  check(state, out,
        [&](i64 i) { return number(x.data()[i]) > 0 ? number(x.data()[n - 1 - i]) : 2.0; });
}
BENCHMARK(unsafe_masked_index)->Arg(64)->Arg(1 << 16)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
