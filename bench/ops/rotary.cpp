// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the rotary embedding in place: one token, a prompt, a batch.
#include <support.hpp>

#include <flaggems/ops/rotary.hpp>

namespace flaggems_bench {
namespace {

template <class T>
void rotary(benchmark::State& state) {
  const i64 tokens = state.range(0), half = 32, q_heads = 9;
  const bool interleaved = state.range(1) != 0;
  auto q = random<T>({tokens, q_heads, 2 * half}), k = random<T>({tokens, 3, 2 * half});
  auto cos = random<T>({tokens, half}, 0, 6.28), sin = fg::empty_like(stream(), cos);
  for (i64 i = 0; i < cos.numel(); ++i) {
    const double angle = number(cos.data()[i]);
    cos.data()[i] = T(static_cast<float>(std::cos(angle)));
    sin.data()[i] = T(static_cast<float>(std::sin(angle)));
  }
  const auto given = q.clone(stream());
  const auto rotate = [&] {
    fg::apply_rotary_pos_emb_(stream(), q, k, cos, sin, std::nullopt, interleaved);
  };
  rotate();
  check(state, q, [&](i64 i) {
    const i64 e = i % (2 * half), head = i - e, token = head / (q_heads * 2 * half);
    const i64 pair = interleaved ? e / 2 : e % half;
    const bool second = interleaved ? e % 2 == 1 : e >= half;
    const i64 other = head + (interleaved ? e ^ 1 : (e + half) % (2 * half));
    const double c = number(cos.data()[token * half + pair]);
    const double s = number(sin.data()[token * half + pair]);
    const double x = number(given.data()[i]), y = number(given.data()[other]);
    return second ? x * c + y * s : x * c - y * s;
  });
  for (auto _ : state) {
    rotate();
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * (q.bytes() + k.bytes()));
}
BENCHMARK_TEMPLATE(rotary, f32)->ArgsProduct({{1, 64, 8192}, {0, 1}})->UseRealTime();
BENCHMARK_TEMPLATE(rotary, bf16)->ArgsProduct({{1, 64, 8192}, {0, 1}})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
