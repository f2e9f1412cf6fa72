// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations per second of products of heads.
#include <support.hpp>

#include <flaggems/ops/einsum.hpp>

#include <tuple>

namespace flaggems_bench {
namespace {

void einsum(benchmark::State& state) {
  const i64 heads = 4, n = state.range(0), k = 32;
  const auto x = random<f32>({2, n, heads, k}), y = random<f32>({2, n, heads, k}, -1, 1, 2);
  auto out = fg::einsum(stream(), "bqhd,bkhd->bhqk", std::tie(x, y));
  for (auto _ : state) {
    out = fg::einsum(stream(), "bqhd,bkhd->bhqk", std::tie(x, y));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 2 * out.numel() * k);
  check(
      state, out,
      [&](i64 at) {
        const i64 key = at % n, query = at / n % n, head = at / (n * n) % heads,
                  batch = at / (n * n * heads);
        double sum = 0;
        for (i64 d = 0; d < k; ++d)
          sum += number(x.data()[((batch * n + query) * heads + head) * k + d]) *
                 number(y.data()[((batch * n + key) * heads + head) * k + d]);
        return sum;
      },
      k, 1e-4);
}
BENCHMARK(einsum)->Arg(16)->Arg(128)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
