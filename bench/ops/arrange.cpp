// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of rows moved, repeated, and reversed.
#include <support.hpp>

#include <flaggems/ops/arrange.hpp>

namespace flaggems_bench {
namespace {

void roll(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n, n});
  auto out = fg::roll(stream(), x, {1, 3}, {0, 1});
  for (auto _ : state) {
    fg::roll(stream(), x, out, {1, 3}, {0, 1});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
  check(state, out,
        [&](i64 i) { return number(x.data()[(i / n + n - 1) % n * n + (i % n + n - 3) % n]); });
}
BENCHMARK(roll)->Arg(64)->Arg(2048)->UseRealTime();

void repeat(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n, n});
  auto out = fg::repeat(stream(), x, {2, 2});
  for (auto _ : state) {
    fg::repeat(stream(), x, out, {2, 2});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  check(state, out, [&](i64 i) { return number(x.data()[i / (2 * n) % n * n + i % (2 * n) % n]); });
}
BENCHMARK(repeat)->Arg(64)->Arg(1024)->UseRealTime();

void flip(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n, n});
  auto out = fg::flip(stream(), x, {1});
  for (auto _ : state) {
    fg::flip(stream(), x, out, {1});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
  check(state, out, [&](i64 i) { return number(x.data()[i / n * n + n - 1 - i % n]); });
}
BENCHMARK(flip)->Arg(64)->Arg(2048)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
