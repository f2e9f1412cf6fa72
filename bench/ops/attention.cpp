// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <flaggems/ops/attention.hpp>
#include <flaggems/vendors/host.hpp>

#include <algorithm>

namespace {

namespace fg = flaggems;
using fg::i64;

/// Queries of T, keys and values of Key. Queries, keys, heads, key heads, head size; bytes/s are
/// those of keys and values.
template <class T, class Key = T>
void attention(benchmark::State& state) {
  const fg::stream<fg::host> s;
  const i64 queries = state.range(0), keys = state.range(1), heads = state.range(2),
            key_heads = state.range(3), e = state.range(4);
  auto q = fg::empty<T>(s, {1, heads, queries, e}), out = fg::empty<T>(s, {1, heads, queries, e});
  auto k = fg::empty<Key>(s, {1, key_heads, keys, e});
  std::fill_n(q.data(), q.numel(), T(0.5F));
  std::fill_n(k.data(), k.numel(), Key(0.25F));
  const fg::attention_options options{
      .is_causal = true, .alignment = fg::causal_alignment::bottom_right, .enable_gqa = true};
  for (auto _ : state) fg::scaled_dot_product_attention(s, q, k, k, out, options);
  state.SetBytesProcessed(state.iterations() * 2 * k.bytes());
  state.counters["flops"] =
      benchmark::Counter(4.0 * static_cast<double>(q.numel()) * static_cast<double>(keys),
                         benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(attention<float>)
    ->Args({1, 128, 9, 3, 64})
    ->Args({1, 2048, 9, 3, 64})
    ->Args({128, 128, 9, 3, 64})
    ->Args({512, 512, 8, 8, 128});
BENCHMARK(attention<fg::bf16>)->Args({1, 2048, 9, 3, 64});
// A model's: one token, and a part of a prompt, over a cache in f16.
BENCHMARK(attention<float, fg::f16>)
    ->Args({1, 512, 9, 3, 64})
    ->Args({1, 8192, 9, 3, 64})
    ->Args({128, 512, 9, 3, 64});

}  // namespace
