// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the product with a vector that is mostly zeros.
#include <support.hpp>

#include <flaggems/ops/rwkv.hpp>

namespace flaggems_bench {
namespace {

void rwkv_mm_sparsity(benchmark::State& state) {
  const i64 rows = state.range(0), columns = state.range(1);
  const auto k = fg::evaluate(stream(), fg::relu(random<f32>({rows}))),
             v = random<f32>({rows, columns}, -1, 1, 2);
  auto out = fg::rwkv_mm_sparsity(stream(), k, v);
  for (auto _ : state) {
    fg::rwkv_mm_sparsity(stream(), k, v, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * v.bytes());
  check(state, out, [&](i64 i) {
    double sum = 0;
    for (i64 r = 0; r < rows; ++r) sum += number(k.data()[r]) * number(v.data()[r * columns + i]);
    return sum;
  });
}
BENCHMARK(rwkv_mm_sparsity)->Args({64, 64})->Args({4096, 1024})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
