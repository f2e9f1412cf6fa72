// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Some operators of a device over a simulated driver.
#pragma once

#include <flaggems/device/transfer.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

namespace flaggems_test {

inline std::vector<float> sines(flaggems::i64 count) {
  std::vector<float> values;
  for (flaggems::i64 k = 0; k < count; ++k) values.push_back(std::sin(static_cast<float>(3 * k)));
  return values;
}

/// Compares them with the host's.
template <class Device>
void operators_agree_with_the_host() {
  namespace fg = flaggems;
  using fg::i64;
  const fg::stream<Device> s;
  const fg::stream<fg::host> h;
  const std::vector<float> values = sines(i64{7} * 133);
  const auto y = fg::from_values<float>(h, std::span<const float>(values), {7, 133});
  const auto x = fg::from_host(s, y);
  const auto expect_near = [&](const auto& got, const auto& expected, float most) {
    const auto there = fg::to_host(s, got);
    ASSERT_EQ(there.numel(), expected.numel());
    for (i64 k = 0; k < expected.numel(); ++k)
      ASSERT_NEAR(there.data()[k], expected.data()[k], most) << k;
  };
  expect_near(fg::add(s, x.view().t(), x.view().t()), fg::add(h, y.view().t(), y.view().t()), 0);
  expect_near(fg::softmax(s, x, -1), fg::softmax(h, y, -1), 1e-6F);
  expect_near(fg::sum(s, x, -1), fg::sum(h, y, -1), 1e-4F);
  expect_near(fg::sort(s, x, -1).values, fg::sort(h, y, -1).values, 0);
}

}  // namespace flaggems_test
