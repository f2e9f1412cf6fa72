// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of a gated activation of one tensor's halves, and of its gradient.
#include <flaggems/ops/gated.hpp>
#include <support.hpp>
#include <support/pointwise_reference.hpp>

namespace flaggems_bench {
namespace {

template <class T>
void swiglu(benchmark::State& state) {
  const i64 rows = state.range(0), n = 512;
  const auto x = random<T>({rows, 2 * n}, -4, 4);
  auto out = fg::empty<T>(stream(), {rows, n});
  for (auto _ : state) {
    fg::swiglu(stream(), x, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  check(state, out, [&](i64 i) {
    const T* const row = x.data() + i / n * 2 * n;
    return flaggems_test::reference::silu(number(row[i % n])) * number(row[n + i % n]);
  });
}
template <class T>
void glu_backward(benchmark::State& state) {
  const i64 rows = state.range(0), n = 512;
  const auto x = random<T>({rows, 2 * n}, -4, 4), grad = random<T>({rows, n}, -1, 1, 2);
  auto out = fg::empty<T>(stream(), {rows, 2 * n});
  for (auto _ : state) {
    fg::glu_backward(stream(), grad, x, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (2 * x.bytes() + 2 * grad.bytes() + out.bytes()));
  check(state, out, [&](i64 i) {
    const i64 row = i / (2 * n), k = i % (2 * n) % n;
    const double a = number(x.data()[row * 2 * n + k]), b = number(x.data()[row * 2 * n + n + k]);
    const double g = number(grad.data()[row * n + k]), s = flaggems_test::reference::sigmoid(b);
    return i % (2 * n) < n ? g * s : g * a * s * (1 - s);
  });
}
BENCHMARK_TEMPLATE(swiglu, f32)->Arg(16)->Arg(4096)->UseRealTime();
BENCHMARK_TEMPLATE(swiglu, bf16)->Arg(4096)->UseRealTime();
BENCHMARK_TEMPLATE(glu_backward, f32)->Arg(16)->Arg(4096)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
