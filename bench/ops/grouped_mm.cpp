// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <support.hpp>

#include <flaggems/ops/grouped_mm.hpp>

#include <vector>

namespace flaggems_bench {
namespace {

void grouped_mm(benchmark::State& state) {
  const i64 m = state.range(0), groups = 8, n = 512, k = 512;
  const auto a = random<float>({m, k}), b = random<float>({groups, n, k}, -1, 1, 2);
  std::vector<fg::i32> ends;
  for (i64 g = 1; g <= groups; ++g) ends.push_back(static_cast<fg::i32>(g * m / groups));
  const auto offs = fg::from_values<fg::i32>(stream(), ends, {groups});
  auto out = fg::empty<float>(stream(), {m, n});
  for (auto _ : state) fg::grouped_mm(stream(), a, b.view().transpose(1, 2), offs, out);
  state.SetItemsProcessed(state.iterations() * 2 * m * n * k);
  check(
      state, out,
      [&](i64 i) {
        double sum = 0;
        const i64 row = i / n, group = row * groups / m;
        for (i64 q = 0; q < k; ++q)
          sum += number(a.data()[row * k + q]) * number(b.data()[(group * n + i % n) * k + q]);
        return sum;
      },
      k, tolerance<float> * 4);
}
BENCHMARK(grouped_mm)->Arg(64)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
