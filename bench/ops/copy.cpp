// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of copies and conversions, beside memcpy.
#include <flaggems/ops/copy.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

#include <cstring>

namespace {

namespace fg = flaggems;

template <class To, class From>
void copy_contiguous(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  auto x = fg::empty<From>(stream, {state.range(0)});
  auto out = fg::empty<To>(stream, {state.range(0)});
  std::memset(x.data(), 0, static_cast<std::size_t>(x.bytes()));
  for (auto _ : state) {
    fg::copy_(stream, out, x);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
}
BENCHMARK_TEMPLATE(copy_contiguous, fg::f32, fg::f32)
    ->Arg(1 << 10)
    ->Arg(1 << 17)
    ->Arg(1 << 24)
    ->UseRealTime();
BENCHMARK_TEMPLATE(copy_contiguous, fg::bf16, fg::f32)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(copy_contiguous, fg::f32, fg::bf16)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(copy_contiguous, fg::f16, fg::f32)->Arg(1 << 17)->UseRealTime();
BENCHMARK_TEMPLATE(copy_contiguous, fg::u8, fg::u8)->Arg(1 << 17)->UseRealTime();

void memcpy_f32(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  auto x = fg::empty<fg::f32>(stream, {state.range(0)}), out = fg::empty_like(stream, x);
  std::memset(x.data(), 0, static_cast<std::size_t>(x.bytes()));
  for (auto _ : state) {
    std::memcpy(out.data(), x.data(), static_cast<std::size_t>(x.bytes()));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
}
BENCHMARK(memcpy_f32)->Arg(1 << 10)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();

/// out = x transposed: rows become columns.
template <class T>
void copy_transposed(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  auto x = fg::empty<T>(stream, {state.range(0), state.range(0)}), out = fg::empty_like(stream, x);
  std::memset(x.data(), 0, static_cast<std::size_t>(x.bytes()));
  for (auto _ : state) {
    fg::copy_(stream, out, x.view().t());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
}
BENCHMARK_TEMPLATE(copy_transposed, fg::f32)->Arg(300)->Arg(4000)->UseRealTime();

/// [batch, sequence, heads, size] to [batch, heads, sequence, size].
void copy_heads(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  auto x = fg::empty<fg::bf16>(stream, {1, 2048, 16, 64});
  auto out = fg::empty<fg::bf16>(stream, {1, 16, 2048, 64});
  std::memset(x.data(), 0, static_cast<std::size_t>(x.bytes()));
  for (auto _ : state) {
    fg::copy_(stream, out, x.view().transpose(1, 2));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
}
BENCHMARK(copy_heads)->UseRealTime();

}  // namespace
