// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention over sequences of several lengths: steps of generation, and prompts.
#include <support.hpp>

#include <flaggems/ops/attention_varlen.hpp>
#include <flaggems/ops/creation.hpp>

#include <algorithm>

namespace flaggems_bench {
namespace {

/// Queries and keys of each of so many sequences, heads, key heads, head size, and the keys of a
/// page, 0 for none; bytes/s are those of keys and values.
template <class T>
void varlen_attention(benchmark::State& state) {
  const i64 count = state.range(0), queries = state.range(1), keys = state.range(2),
            heads = state.range(3), key_heads = state.range(4), e = state.range(5),
            page = state.range(6);
  const auto q = random<T>({count * queries, heads, e}, -2, 2);
  const auto k = random<T>({count * keys, key_heads, e}, -1, 1, 2),
             v = random<T>({count * keys, key_heads, e}, -1, 1, 3);
  auto out = fg::empty<T>(stream(), {count * queries, heads, e});
  auto starts = fg::empty<fg::i32>(stream(), {count + 1}),
       key_starts = fg::empty<fg::i32>(stream(), {count + 1});
  for (i64 s = 0; s <= count; ++s) {
    starts.data()[s] = static_cast<fg::i32>(s * queries);
    key_starts.data()[s] = static_cast<fg::i32>(s * keys);
  }
  const i64 pages = page > 0 ? keys / page : 1;
  auto table = fg::arange<fg::i32>(stream(), count * pages);
  fg::varlen_attention_options<fg::host> options{.causal = true};
  if (page > 0) options.block_table = table.view().unflatten(0, {count, pages});
  const auto call = [&](const auto& all_k, const auto& all_v) {
    fg::flash_attn_varlen_func(stream(), q, all_k, all_v, queries, starts, keys, key_starts,
                               std::nullopt, out, std::nullopt, options);
  };
  for (auto _ : state)
    if (page > 0)
      call(k.view().unflatten(0, {count * pages, page}),
           v.view().unflatten(0, {count * pages, page}));
    else
      call(k.view(), v.view());
  state.SetBytesProcessed(state.iterations() * 2 * k.bytes());
  state.counters["flops"] =
      benchmark::Counter(4.0 * static_cast<double>(q.numel()) * static_cast<double>(keys),
                         benchmark::Counter::kIsIterationInvariantRate);
  const auto want = [&](i64 i) {
    const i64 d = i % e, head = i / e % heads, row = i / e / heads, s = row / queries;
    const i64 seen = row % queries + keys - queries + 1, key_head = head / (heads / key_heads);
    double sum = 0, weights = 0;
    for (i64 j = 0; j < seen; ++j) {
      const i64 key = ((s * keys + j) * key_heads + key_head) * e;
      double score = 0;
      for (i64 c = 0; c < e; ++c)
        score += number(q.data()[(row * heads + head) * e + c]) * number(k.data()[key + c]);
      const double weight = std::exp(score / std::sqrt(static_cast<double>(e)));
      weights += weight;
      sum += weight * number(v.data()[key + d]);
    }
    return sum / weights;
  };
  check(state, out, want, keys * e);
}
BENCHMARK(varlen_attention<float>)
    ->Args({8, 1, 512, 8, 2, 64, 0})
    ->Args({8, 1, 512, 8, 2, 64, 16})
    ->Args({4, 128, 128, 8, 8, 64, 0})
    ->Args({4, 128, 128, 8, 8, 64, 16});
BENCHMARK(varlen_attention<bf16>)->Args({8, 1, 512, 8, 2, 64, 16});

}  // namespace
}  // namespace flaggems_bench
