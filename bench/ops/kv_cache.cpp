// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of keys and values written to a paged cache.
#include <support.hpp>

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/kv_cache.hpp>

namespace flaggems_bench {
namespace {

void reshape_and_cache_flash(benchmark::State& state) {
  const i64 tokens = state.range(0), heads = 8, size = 128, each = 16;
  const auto x = random<bf16>({tokens, heads, size});
  auto slots = fg::arange<i64>(stream(), tokens);
  for (i64 k = 0; k < tokens; ++k) slots.data()[k] = tokens - 1 - k;
  auto keys = fg::zeros<bf16>(stream(), {(tokens + each - 1) / each, each, heads, size});
  auto values = fg::zeros_like(stream(), keys);
  for (auto _ : state) {
    fg::reshape_and_cache_flash(stream(), x, x, keys, values, slots);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 4 * x.bytes());
  check(state, keys, [&](i64 i) {
    const i64 row = heads * size, token = tokens - 1 - i / row;
    return token < 0 ? 0.0 : number(x.data()[token * row + i % row]);
  });
}
BENCHMARK(reshape_and_cache_flash)->Arg(42)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
