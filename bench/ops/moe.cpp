// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the sum of what experts gave.
#include <support.hpp>

#include <flaggems/ops/moe.hpp>

namespace flaggems_bench {
namespace {

void moe_sum(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n, 4, 256});
  auto out = fg::empty<f32>(stream(), {n, 256});
  for (auto _ : state) {
    fg::moe_sum(stream(), x, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  check(state, out, [&](i64 i) {
    const f32* const first = x.data() + i / 256 * 1024 + i % 256;
    return number(first[0]) + number(first[256]) + number(first[512]) + number(first[768]);
  });
}
BENCHMARK(moe_sum)->Arg(16)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
