// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of copies and conversions, beside memcpy.
#include <support.hpp>

#include <flaggems/ops/copy.hpp>

#include <cstring>

namespace flaggems_bench {
namespace {

template <class To, class From>
void copy_contiguous(benchmark::State& state) {
  const auto x = random<From>({state.range(0)}, 0, 100);
  auto out = fg::empty<To>(stream(), {state.range(0)});
  for (auto _ : state) {
    fg::copy_(stream(), out, x);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  check(state, out, [&](i64 i) { return number(x.data()[i]); });
}
BENCHMARK_TEMPLATE(copy_contiguous, f32, f32)
    ->Arg(1 << 10)
    ->Arg(1 << 17)
    ->Arg(1 << 24)
    ->UseRealTime();
BENCHMARK_TEMPLATE(copy_contiguous, bf16, f32)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(copy_contiguous, f32, bf16)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(copy_contiguous, f16, f32)->Arg(1 << 17)->UseRealTime();
BENCHMARK_TEMPLATE(copy_contiguous, fg::u8, fg::u8)->Arg(1 << 17)->UseRealTime();

void memcpy_f32(benchmark::State& state) {
  const auto x = random<f32>({state.range(0)});
  auto out = fg::empty_like(stream(), x);
  for (auto _ : state) {
    std::memcpy(out.data(), x.data(), static_cast<std::size_t>(x.bytes()));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
  check(state, out, [&](i64 i) { return number(x.data()[i]); });
}
BENCHMARK(memcpy_f32)->Arg(1 << 10)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();

/// out = x transposed: rows become columns.
template <class T>
void copy_transposed(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<T>({n, n});
  auto out = fg::empty_like(stream(), x);
  for (auto _ : state) {
    fg::copy_(stream(), out, x.view().t());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
  check(state, out, [&](i64 i) { return number(x.data()[i % n * n + i / n]); });
}
BENCHMARK_TEMPLATE(copy_transposed, f32)->Arg(300)->Arg(4000)->UseRealTime();

/// [batch, sequence, heads, size] to [batch, heads, sequence, size].
void copy_heads(benchmark::State& state) {
  constexpr i64 tokens = 2048, heads = 16, size = 64;
  const auto x = random<bf16>({1, tokens, heads, size});
  auto out = fg::empty<bf16>(stream(), {1, heads, tokens, size});
  for (auto _ : state) {
    fg::copy_(stream(), out, x.view().transpose(1, 2));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
  check(state, out, [&](i64 i) {
    const i64 token = i / size % tokens, head = i / size / tokens;
    return number(x.data()[(token * heads + head) * size + i % size]);
  });
}
BENCHMARK(copy_heads)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
