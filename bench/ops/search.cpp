// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements per second that are looked for in a sorted sequence.
#include <support.hpp>

#include <flaggems/ops/search.hpp>
#include <flaggems/ops/sequences.hpp>

#include <algorithm>

namespace flaggems_bench {
namespace {

void searchsorted(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n}, 0, 1024);
  const auto borders = fg::arange<f32>(stream(), 0, 1024, 1);
  auto out = fg::searchsorted(stream(), borders, x);
  for (auto _ : state) {
    fg::searchsorted(stream(), borders, x, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
  check(state, out, [&](i64 i) {
    return number(static_cast<i64>(
        std::lower_bound(borders.data(), borders.data() + 1024, x.data()[i]) - borders.data()));
  });
}
BENCHMARK(searchsorted)->Arg(1024)->Arg(1 << 18)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
