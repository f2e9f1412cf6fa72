// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products with quantized weights: one token, a prompt.
#include <support.hpp>

#include <flaggems/ops/quantized_linear.hpp>

namespace flaggems_bench {
namespace {

namespace fk = fg::kernels;

/// Element e of a block: `nibbles` of 4 bits or 32 bytes behind the scale and, if any, the offset.
double element(const fg::u8* block, i64 bytes, i64 e) {
  const auto f16_at = [&](i64 i) {
    return number(f16::from_bits(static_cast<fg::u16>(block[i] | block[i + 1] << 8)));
  };
  if (bytes == fk::q8_0::bytes)
    return f16_at(0) * static_cast<double>(static_cast<fg::i8>(block[2 + e]));
  const bool offset = bytes == fk::q4_1::bytes;
  const fg::u8 pair = block[(offset ? 4 : 2) + e % 16];
  const double q = e < 16 ? pair & 15 : pair >> 4;
  return offset ? q * f16_at(0) + f16_at(2) : (q - 8) * f16_at(0);
}

/// m rows, n x k weights; bytes/s are those of the weights.
template <class Format>
void quantized_linear(benchmark::State& state) {
  const i64 m = state.range(0), n = state.range(1), k = state.range(2), blocks = k / 32;
  const auto x = random<f32>({m, k});
  auto bytes = random<fg::u8>({n * blocks, Format::bytes}, 0, 256);
  // The high byte of scale and offset: numbers between 1/128 and 1/32.
  for (i64 block = 0; block < bytes.size(0); ++block)
    for (const i64 at : {1, 3})
      if (at == 1 || Format::bytes == fk::q4_1::bytes) {
        fg::u8& high = bytes.data()[block * Format::bytes + at];
        high = static_cast<fg::u8>((at == 1 ? 0x20 : 0xa0) | (high & 7));
      }
  const fg::quantized_matrix<Format> w(bytes.data(), n, k);
  auto out = fg::empty<f32>(stream(), {m, n});
  for (auto _ : state) fg::quantized_linear(stream(), x, w, out);
  state.SetBytesProcessed(state.iterations() * w.bytes());
  state.counters["flops"] =
      benchmark::Counter(2.0 * static_cast<double>(m * n) * static_cast<double>(k),
                         benchmark::Counter::kIsIterationInvariantRate);
  const auto want = [&](i64 i) {
    const fg::u8* const row = bytes.data() + i % n * blocks * Format::bytes;
    double sum = 0;
    for (i64 j = 0; j < k; ++j)
      sum += number(x.data()[i / n * k + j]) *
             element(row + j / 32 * Format::bytes, Format::bytes, j % 32);
    return sum;
  };
  check(state, out, want, k);
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
}  // namespace flaggems_bench
