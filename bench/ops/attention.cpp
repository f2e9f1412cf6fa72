// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of one token, of a prompt, over keys and values of several types.
#include <support.hpp>

#include <flaggems/ops/attention.hpp>

#include <vector>

namespace flaggems_bench {
namespace {

/// Queries of T, keys and values of Key. Queries, keys, heads, key heads, head size; bytes/s are
/// those of keys and values.
template <class T, class Key = T>
void attention(benchmark::State& state) {
  const i64 queries = state.range(0), keys = state.range(1), heads = state.range(2),
            key_heads = state.range(3), e = state.range(4);
  const auto q = random<T>({1, heads, queries, e}, -2, 2);
  const auto k = random<Key>({1, key_heads, keys, e}, -1, 1, 2);
  const auto v = random<Key>({1, key_heads, keys, e}, -1, 1, 3);
  auto out = fg::empty<T>(stream(), {1, heads, queries, e});
  const fg::attention_options options{
      .is_causal = true, .alignment = fg::causal_alignment::bottom_right, .enable_gqa = true};
  for (auto _ : state)
    fg::scaled_dot_product_attention(stream(), q, k, v, std::nullopt, out, options);
  state.SetBytesProcessed(state.iterations() * 2 * k.bytes());
  state.counters["flops"] =
      benchmark::Counter(4.0 * static_cast<double>(q.numel()) * static_cast<double>(keys),
                         benchmark::Counter::kIsIterationInvariantRate);
  const auto want = [&](i64 i) {
    const i64 d = i % e, row = i / e, query = row % queries, head = row / queries;
    const i64 first = head / (heads / key_heads) * keys, seen = query + keys - queries + 1;
    double sum = 0, weights = 0;
    for (i64 j = 0; j < seen; ++j) {
      double score = 0;
      for (i64 c = 0; c < e; ++c)
        score += number(q.data()[row * e + c]) * number(k.data()[(first + j) * e + c]);
      const double weight = std::exp(score / std::sqrt(static_cast<double>(e)));
      weights += weight;
      sum += weight * number(v.data()[(first + j) * e + d]);
    }
    return sum / weights;
  };
  check(state, out, want, keys * e);
}
BENCHMARK(attention<float>)
    ->Args({1, 128, 9, 3, 64})
    ->Args({1, 2048, 9, 3, 64})
    ->Args({128, 128, 9, 3, 64})
    ->Args({512, 512, 8, 8, 128});
BENCHMARK(attention<bf16>)->Args({1, 2048, 9, 3, 64});
// A model's: one token, and a part of a prompt, over a cache in f16.
BENCHMARK(attention<float, f16>)
    ->Args({1, 512, 9, 3, 64})
    ->Args({1, 8192, 9, 3, 64})
    ->Args({128, 512, 9, 3, 64});

}  // namespace
}  // namespace flaggems_bench
