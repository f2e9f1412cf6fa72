// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of selecting the elements of a mask.
#include <support.hpp>

#include <flaggems/ops/nonzero.hpp>

namespace flaggems_bench {
namespace {

void masked_select(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n});
  auto mask = fg::empty<bool>(stream(), {n});
  for (i64 k = 0; k < n; ++k) mask.data()[k] = k % 3 == 0;
  auto out = fg::masked_select(stream(), x, mask);
  for (auto _ : state) {
    out = fg::masked_select(stream(), x, mask);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  check(state, out, [&](i64 i) { return number(x.data()[3 * i]); });
}
BENCHMARK(masked_select)->Arg(4096)->Arg(1 << 20)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
