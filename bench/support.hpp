// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks share: random operands, and the comparison of a result with a reference, so
// that no benchmark can be fast at something else than what it says. bench/smoke.py runs each once.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace flaggems_bench {

namespace fg = flaggems;
using fg::bf16;
using fg::f16;
using fg::f32;
using fg::f64;
using fg::i64;

inline const fg::stream<fg::host>& stream() {
  static const fg::stream<fg::host> s;
  return s;
}

/// Numbers in [low, high), another sequence for another seed, the same in every run.
template <class T>
fg::tensor<T> random(const fg::shape& sizes, double low = -1, double high = 1, fg::u32 seed = 1) {
  auto x = fg::empty<T>(stream(), sizes);
  fg::u32 state = seed * 2654435761U;
  for (i64 k = 0; k < x.numel(); ++k) {
    state = state * 1664525U + 1013904223U;
    const double number = low + (high - low) * static_cast<double>(state >> 8) / 16777216.0;
    if constexpr (std::is_integral_v<T>)
      x.data()[k] = static_cast<T>(number);
    else
      x.data()[k] = T(static_cast<float>(number));
  }
  return x;
}

template <class T>
double number(const T& x) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(x);
  else
    return static_cast<double>(static_cast<float>(x));
}

/// Element i of x * w^T, rows of x and w being sums.
template <class T, class W>
double linear_element(const fg::tensor<T>& x, const fg::tensor<W>& w, i64 i) {
  const i64 n = w.size(0), k = w.size(1);
  double sum = 0;
  for (i64 j = 0; j < k; ++j)
    sum += number(x.data()[i / n * k + j]) * number(w.data()[i % n * k + j]);
  return sum;
}

/// How far a result of T may be from the reference, relative to 1 and to the reference.
template <class T>
inline constexpr double tolerance = std::is_integral_v<T>       ? 0
                                    : std::is_same_v<T, bf16>   ? 1e-2
                                    : std::is_same_v<T, f16>    ? 2e-3
                                    : std::is_same_v<T, double> ? 1e-12
                                                                : 1e-5;

/// Whether results are to be spoilt before they are checked, so that every check has to fail.
inline bool planted() {
  static const bool set = std::getenv("FLAGGEMS_BENCH_PLANT") != nullptr;
  return set;
}

/// Marks the benchmark as wrong, or as checked. (smoke.py asks for either.)
inline void report(benchmark::State& state, bool right, const std::string& what) {
  if (right)
    state.counters["checked"] = 1;
  else
    state.SkipWithError(what.c_str());
}

/// Reports whether got[i] is want(i), for all elements of a small result and samples of a large
/// one; `cost` is what one reference takes, in operations.
template <class T, class Want>
void check(benchmark::State& state, const fg::tensor<T>& got, const Want& want, i64 cost = 1,
           double bound = tolerance<T>) {
  const i64 n = got.numel(), most = std::clamp((i64{1} << 20) / cost, i64{16}, i64{4096});
  const i64 samples = (std::min)(n, most);
  for (i64 k = 0; k < samples; ++k) {
    const i64 i = samples == 1 ? 0 : k * (n - 1) / (samples - 1);
    double x = number(got.data()[i]);
    if (planted() && k == samples / 2) x += 1 + std::fabs(x) / 8;
    const double expected = want(i);
    if (!(std::fabs(x - expected) <= bound * (1 + std::fabs(expected)))) {
      report(state, false,
             "element " + std::to_string(i) + " is " + std::to_string(x) + ", not " +
                 std::to_string(expected));
      return;
    }
  }
  report(state, true, "");
}

}  // namespace flaggems_bench
