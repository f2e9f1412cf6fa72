// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <flaggems/ops/quantized_linear.hpp>
#include <flaggems/vendors/host.hpp>

#include <algorithm>
#include <vector>

namespace {

namespace fg = flaggems;
namespace fk = fg::kernels;
using fg::i64;

/// m rows, n x k weights; bytes/s are those of the weights.
template <class Format>
void quantized_linear(benchmark::State& state) {
  const fg::stream<fg::host> s;
  const i64 m = state.range(0), n = state.range(1), k = state.range(2);
  auto x = fg::empty<float>(s, {m, k});
  std::fill_n(x.data(), x.numel(), 0.5F);
  const std::vector<fg::u8> bytes(static_cast<std::size_t>(n * k / 32 * Format::bytes), 0x21);
  const fg::quantized_matrix<Format> w(bytes.data(), n, k);
  auto out = fg::empty<float>(s, {m, n});
  for (auto _ : state) fg::quantized_linear(s, x, w, out);
  state.SetBytesProcessed(state.iterations() * w.bytes());
  state.counters["flops"] =
      benchmark::Counter(2.0 * static_cast<double>(m * n) * static_cast<double>(k),
                         benchmark::Counter::kIsIterationInvariantRate);
}
// A language model of 135 million parameters: feed-forward up, down, logits; a prompt.
BENCHMARK(quantized_linear<fk::q4_1>)
    ->Args({1, 1536, 576})
    ->Args({1, 576, 1536})
    ->Args({1, 49152, 576})
    ->Args({2, 1536, 576})
    ->Args({16, 1536, 576})
    ->Args({128, 1536, 576})
    ->Args({128, 576, 1536});
BENCHMARK(quantized_linear<fk::q4_0>)->Args({1, 4096, 4096});
BENCHMARK(quantized_linear<fk::q8_0>)->Args({1, 4096, 4096});

}  // namespace
