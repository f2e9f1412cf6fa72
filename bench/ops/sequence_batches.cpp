// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of sequences that are padded to one length.
#include <support.hpp>

#include <flaggems/ops/sequence_batches.hpp>

namespace flaggems_bench {
namespace {

void pack_seq(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({8 * n, 64});
  const auto lengths = fg::full<i64>(stream(), {8}, n);
  auto out = fg::pack_seq(stream(), x, lengths);
  for (auto _ : state) {
    out = fg::pack_seq(stream(), x, lengths);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  check(state, out, [&](i64 i) { return number(x.data()[i]); });
}
BENCHMARK(pack_seq)->Arg(8)->Arg(512)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
