// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention over latent keys of DeepSeek's sizes: of all keys of pages, and by lists.
#include <support.hpp>

#include <flaggems/ops/attention_latent.hpp>

#include <vector>

namespace flaggems_bench {
namespace {

constexpr i64 size = 576, value_size = 512, page = 64;
using fg::bf16;
using fg::i32;

/// The weighted mean of values for element `at` of a result [rows, heads, 512]; key(row, j) is the
/// line of key j of n.
template <class T, class F>
double weighted(const fg::tensor<T, fg::host>& q, const fg::tensor<T, fg::host>& lines, i64 at,
                i64 heads, i64 n, double scale, const F& key) {
  const i64 row = at / value_size;
  const T* const query = q.data() + row * size;
  double sum = 0, all = 0;
  for (i64 j = 0; j < n; ++j) {
    const T* const line = lines.data() + key(row / heads, j) * size;
    double score = 0;
    for (i64 c = 0; c < size; ++c) score += number(query[c]) * number(line[c]);
    const double weight = std::exp(score * scale);
    all += weight;
    sum += weight * number(line[at % value_size]);
  }
  return sum / all;
}

/// Sequences, keys of each, heads.
template <class T>
void mla_decode(benchmark::State& state) {
  const i64 batch = state.range(0), n = state.range(1), heads = state.range(2), pages = n / page;
  const auto q = random<T>({batch, 1, heads, size}),
             cache = random<T>({batch * pages, page, 1, size}, -1, 1, 2);
  std::vector<i32> numbers(static_cast<std::size_t>(batch * pages)),
      lengths(static_cast<std::size_t>(batch), static_cast<i32>(n));
  for (std::size_t k = 0; k < numbers.size(); ++k)
    numbers[k] = static_cast<i32>(numbers.size() - 1 - k);
  const auto table = fg::from_values<i32>(stream(), numbers, {batch, pages}),
             used = fg::from_values<i32>(stream(), lengths, {batch});
  auto out = fg::empty<T>(stream(), {batch, 1, heads, value_size});
  for (auto _ : state)
    fg::flash_mla(stream(), q, table, cache, n, page, batch, 1, used, heads, 1, size, value_size,
                  true, out);
  state.counters["flops"] =
      benchmark::Counter(2.0 * static_cast<double>(batch * heads * n * (size + value_size)),
                         benchmark::Counter::kIsIterationInvariantRate);
  const auto want = [&](i64 at) {
    return weighted(q, cache, at, heads, n, 1 / std::sqrt(576.0), [&](i64 row, i64 j) {
      return numbers[static_cast<std::size_t>(row * pages + j / page)] * page + j % page;
    });
  };
  check(state, out, want, n * size);
}
BENCHMARK(mla_decode<float>)->Args({1, 512, 16})->Args({4, 1024, 16});
BENCHMARK(mla_decode<bf16>)->Args({4, 1024, 16});

/// Queries, keys, keys of a list, heads.
template <class T>
void mla_by_lists(benchmark::State& state) {
  const i64 rows = state.range(0), n = state.range(1), count = state.range(2),
            heads = state.range(3);
  const auto q = random<T>({rows, heads, size}), kv = random<T>({n, 1, size}, -1, 1, 2);
  std::vector<i32> numbers(static_cast<std::size_t>(rows * count));
  for (std::size_t k = 0; k < numbers.size(); ++k)
    numbers[k] = static_cast<i32>(k * 7919 % static_cast<std::size_t>(n));
  const auto lists = fg::from_values<i32>(stream(), numbers, {rows, 1, count});
  fg::sparse_attention_results<T, fg::host> r;
  for (auto _ : state) r = fg::flash_mla_sparse_fwd(stream(), q, kv, lists, 0.04);
  state.counters["flops"] =
      benchmark::Counter(2.0 * static_cast<double>(rows * heads * count * (size + value_size)),
                         benchmark::Counter::kIsIterationInvariantRate);
  const auto want = [&](i64 at) {
    return weighted(q, kv, at, heads, count, 0.04, [&](i64 row, i64 j) {
      return i64{numbers[static_cast<std::size_t>(row * count + j)]};
    });
  };
  check(state, r.out, want, count * size);
}
BENCHMARK(mla_by_lists<float>)->Args({4, 1024, 256, 16});
BENCHMARK(mla_by_lists<bf16>)->Args({4, 1024, 256, 16});

}  // namespace
}  // namespace flaggems_bench
