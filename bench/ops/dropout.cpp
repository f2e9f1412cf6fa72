// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements and bytes per second of dropout.
#include <support.hpp>

#include <flaggems/ops/dropout.hpp>

namespace flaggems_bench {
namespace {

template <class T>
void native_dropout(benchmark::State& state) {
  const i64 n = state.range(0);
  auto x = random<T>({n}, 1, 2);
  auto out = fg::empty<T>(stream(), {n});
  auto mask = fg::empty<bool>(stream(), {n});
  fg::philox_generator generator;
  for (auto _ : state) {
    fg::native_dropout(stream(), x, 0.5, true, generator, out, mask);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes() + mask.bytes()));
  i64 kept = planted() ? n : 0, wrong = 0;
  for (i64 k = 0; k < n; ++k) {
    kept += mask.data()[k] ? 1 : 0;
    wrong += number(out.data()[k]) != (mask.data()[k] ? 2 * number(x.data()[k]) : 0) ? 1 : 0;
  }
  const double share = static_cast<double>(kept) / static_cast<double>(n);
  report(state, wrong == 0 && std::fabs(share - 0.5) < 4 / std::sqrt(static_cast<double>(n)),
         std::to_string(wrong) + " elements are wrong, the share kept is " + std::to_string(share));
}
BENCHMARK_TEMPLATE(native_dropout, f32)->Arg(1 << 12)->Arg(1 << 22)->UseRealTime();
BENCHMARK_TEMPLATE(native_dropout, bf16)->Arg(1 << 22)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
