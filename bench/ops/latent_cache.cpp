// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of keys that are quantised and written to a paged cache.
#include <support.hpp>

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/latent_cache.hpp>

namespace flaggems_bench {
namespace {

void indexer_k_quant_and_cache(benchmark::State& state) {
  const i64 tokens = state.range(0), size = 128, page = 64;
  const auto k = random<bf16>({tokens, size});
  const auto slots = fg::arange<i64>(stream(), tokens);
  auto cache = fg::zeros<fg::u8>(stream(), {(tokens + page - 1) / page, page, size + 4});
  for (auto _ : state) {
    fg::indexer_k_quant_and_cache(stream(), k, cache, slots, size, fg::index_scales::ue8m0);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (k.bytes() + tokens * (size + 4)));
  auto decoded = fg::empty<bf16>(stream(), {tokens, size});
  for (i64 i = 0; i < tokens * size; ++i) {
    const i64 token = i / size;
    const fg::u8* block = cache.data() + token / page * page * (size + 4);
    const auto code = fg::f8e4m3::from_bits(block[token % page * size + i % size]);
    const auto scale = reinterpret_cast<const f32*>(block + page * size)[token % page];
    decoded.data()[i] = bf16(static_cast<float>(code) * scale);
  }
  // A code has three bits behind the first.
  check(state, decoded, [&](i64 i) {
    const double want = number(k.data()[i]), got = number(decoded.data()[i]);
    return std::fabs(got - want) <= std::fabs(want) / 15 + 1e-3 ? got : want;
  });
}
BENCHMARK(indexer_k_quant_and_cache)->Arg(16)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
