// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of attention's results that are rotated back and quantised.
#include <support.hpp>

#include <flaggems/ops/latent_queries.hpp>

namespace flaggems_bench {
namespace {

void fused_inv_rope_fp8_quant(benchmark::State& state) {
  const i64 tokens = state.range(0), groups = 4, heads = 4, size = 512, rope = 64;
  const auto o = random<bf16>({tokens, groups * heads, size});
  auto angles = fg::empty<f32>(stream(), {tokens, rope});
  auto ids = fg::empty<i64>(stream(), {tokens});
  for (i64 t = 0; t < tokens; ++t) {
    ids.data()[t] = t;
    for (i64 j = 0; j < rope; ++j) angles.data()[t * rope + j] = j < rope / 2 ? 0.0F : 1.0F;
  }
  auto codes = fg::empty<fg::f8e4m3>(stream(), {tokens, groups, heads * size});
  auto scales = fg::empty<f32>(stream(), {tokens, groups, heads * size / 128});
  for (auto _ : state) {
    fg::fused_inv_rope_fp8_quant(stream(), o, ids, angles, codes, scales, groups, heads);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (o.bytes() + codes.bytes()));
  auto decoded = fg::empty<bf16>(stream(), {tokens, groups, heads * size});
  for (i64 i = 0; i < decoded.numel(); ++i)
    decoded.data()[i] = bf16(static_cast<float>(codes.data()[i]) * scales.data()[i / 128]);
  // By a quarter turn back (a, b) is (b, -a); a code has three bits behind the first.
  check(state, decoded, [&](i64 i) {
    const i64 e = i % size;
    const bool turned = e >= size - rope;
    const double want = !turned      ? number(o.data()[i])
                        : e % 2 == 0 ? number(o.data()[i + 1])
                                     : -number(o.data()[i - 1]);
    const double got = number(decoded.data()[i]);
    return std::fabs(got - want) <= std::fabs(want) / 14 + 1e-3 ? got : want;
  });
}
BENCHMARK(fused_inv_rope_fp8_quant)->Arg(1)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
