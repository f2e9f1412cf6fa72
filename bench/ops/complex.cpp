// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of products of complex numbers, and of numbers made of lengths and angles.
#include <support.hpp>

#include <flaggems/ops/complex.hpp>

#include <cmath>

namespace flaggems_bench {
namespace {

void complex_mul(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n, 2}), y = random<f32>({n, 2}, -1, 1, 2);
  const auto a = fg::view_as_complex(x), b = fg::view_as_complex(y);
  auto out = fg::empty<f32>(stream(), {n, 2});
  const auto product = fg::view_as_complex(out);
  for (auto _ : state) {
    fg::mul(stream(), a, b, product);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * out.bytes());
  check(state, out, [&](i64 k) {
    const auto z = a.data()[k / 2], w = b.data()[k / 2];
    return k % 2 == 0 ? number(z.re) * number(w.re) - number(z.im) * number(w.im)
                      : number(z.re) * number(w.im) + number(z.im) * number(w.re);
  });
}
BENCHMARK(complex_mul)->Arg(1 << 10)->Arg(1 << 17)->UseRealTime();

void polar(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto size = random<f32>({n}, 0.5, 2), angle = random<f32>({n}, -3, 3, 2);
  auto out = fg::empty<f32>(stream(), {n, 2});
  const auto to = fg::view_as_complex(out);
  for (auto _ : state) {
    fg::polar(stream(), size, angle, to);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
  check(state, out, [&](i64 k) {
    const double r = number(size.data()[k / 2]), t = number(angle.data()[k / 2]);
    return k % 2 == 0 ? r * std::cos(t) : r * std::sin(t);
  });
}
BENCHMARK(polar)->Arg(1 << 17)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
