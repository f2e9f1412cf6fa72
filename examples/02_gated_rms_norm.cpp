// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/tutorial.md: an operator of one's own, from its mathematics to its test. The gated RMS norm
// of Mamba-2.
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/simt.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

#include "02_gated_rms_norm.hpp"

// [test]
using flaggems::i64;
using values = std::vector<float>;

/// The same by a loop, in double.
std::vector<double> reference(const values& x, const values& gate, const values& weight) {
  const std::size_t n = weight.size();
  std::vector<double> y(x.size());
  for (std::size_t row = 0; row < x.size(); row += n) {
    double squares = 0;
    for (std::size_t i = row; i < row + n; ++i) {
      y[i] = double(x[i]) * double(gate[i]) / (1 + std::exp(-double(gate[i])));
      squares += y[i] * y[i];
    }
    const double root = std::sqrt(squares / static_cast<double>(n) + 1e-5);
    for (std::size_t i = 0; i < n; ++i) y[row + i] *= double(weight[i]) / root;
  }
  return y;
}

values some_values(i64 n, unsigned state) {
  values v(static_cast<std::size_t>(n));
  for (float& x : v) {
    state = state * 1664525U + 1013904223U;
    x = static_cast<float>(state >> 16) / 8192.0F - 4.0F;
  }
  return v;
}

/// The operator on a device against the loop. True if they agree.
template <class Device>
bool test(i64 rows, i64 n) {
  const values x = some_values(rows * n, 1), gate = some_values(rows * n, 2);
  const values weight = some_values(n, 3);
  flaggems::stream<Device> stream;
  auto out = flaggems::empty<float>(stream, {rows, n});
  mamba::gated_rms_norm(stream, flaggems::from_values<float>(stream, x, {rows, n}),
                        flaggems::from_values<float>(stream, gate, {rows, n}),
                        flaggems::from_values<float>(stream, weight, {n}), out);

  const auto want = reference(x, gate, weight);
  const auto got = flaggems::to_host(stream, out);
  i64 wrong = 0;
  for (i64 i = 0; i < rows * n; ++i) {
    const double expected = want[static_cast<std::size_t>(i)];
    const double off = std::fabs(double(got.data()[i]) - expected);
    if (!(off <= 1e-5 * std::fabs(expected) + 1e-6)) ++wrong;
  }
  std::printf("%-6s %3lld rows of %4lld elements: %s\n", Device::name, static_cast<long long>(rows),
              static_cast<long long>(n), wrong == 0 ? "right" : "WRONG");
  return wrong == 0;
}
// [/test]

// [main]
int main() {
  bool right = true;
  for (const i64 n : {1, 7, 64, 1000}) {
    right &= test<flaggems::host>(33, n);
    right &= test<flaggems::simt32>(5, n);
    right &= test<flaggems::simt64>(5, n);
  }
  try {
    flaggems::stream<flaggems::host> stream;
    const auto x = flaggems::from_values<float>(stream, {1, 2, 3});
    const auto weight = flaggems::from_values<float>(stream, {1, 2});
    auto out = flaggems::empty<float>(stream, {3});
    mamba::gated_rms_norm(stream, x, x, weight, out);
    right = false;
  } catch (const flaggems::error& failure) {
    std::printf("refused: %s\n", failure.what());
  }
  return right ? 0 : 1;
}
// [/main]
