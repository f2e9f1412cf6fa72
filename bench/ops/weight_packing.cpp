// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements per second of products with weights of 4 bits.
#include <support.hpp>

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/weight_packing.hpp>

namespace flaggems_bench {
namespace {

void weight_int4pack_mm_with_scales_and_zeros(benchmark::State& state) {
  const i64 m = 4, n = 64, k = state.range(0), group = 32;
  const auto x = random<f32>({m, k});
  const auto w = fg::full<fg::u8>(stream(), {n, k / 2}, 0x5a);  // 10 and 5 in turn
  const auto scale = random<f32>({k / group, n}, 0.5, 1),
             zeros = fg::full<f32>(stream(), {k / group, n}, 8);
  auto out = fg::weight_int4pack_mm_with_scales_and_zeros(stream(), x, w, group, scale, zeros);
  for (auto _ : state) {
    fg::weight_int4pack_mm_with_scales_and_zeros(stream(), x, w, group, scale, zeros, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n * k);
  check(
      state, out,
      [&](i64 at) {
        double sum = 0;
        for (i64 q = 0; q < k; ++q)
          sum += number(x.data()[at / n * k + q]) * (q % 2 == 0 ? 2 : -3) *
                 number(scale.data()[q / group * n + at % n]);
        return sum;
      },
      k, 1e-4);
}
BENCHMARK(weight_int4pack_mm_with_scales_and_zeros)->Arg(64)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
