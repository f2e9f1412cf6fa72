// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of keys that are gathered of a paged cache.
#include <support.hpp>

#include <flaggems/ops/latent_gather.hpp>

namespace flaggems_bench {
namespace {

void cp_gather_indexer_k_quant_cache(benchmark::State& state) {
  const i64 tokens = state.range(0), size = 128, page = 64, pages = (tokens + page - 1) / page;
  auto cache = fg::empty<fg::u8>(stream(), {pages, page, size + 4});
  for (i64 i = 0; i < cache.numel(); ++i) cache.data()[i] = static_cast<fg::u8>(i * 7 % 251);
  auto table = fg::empty<fg::i32>(stream(), {1, pages}), starts = fg::empty<fg::i32>(stream(), {2});
  for (i64 k = 0; k < pages; ++k) table.data()[k] = static_cast<fg::i32>(pages - 1 - k);
  starts.data()[0] = 0;
  starts.data()[1] = static_cast<fg::i32>(tokens);
  auto codes = fg::empty<fg::u8>(stream(), {tokens, size}),
       scales = fg::empty<fg::u8>(stream(), {tokens, 4});
  for (auto _ : state) {
    fg::cp_gather_indexer_k_quant_cache(stream(), cache, codes, scales, table, starts);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * (codes.bytes() + scales.bytes()));
  check(state, codes, [&](i64 i) {
    const i64 token = i / size, block = pages - 1 - token / page;
    return number(cache.data()[block * page * (size + 4) + token % page * size + i % size]);
  });
}
BENCHMARK(cp_gather_indexer_k_quant_cache)->Arg(64)->Arg(4096)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
