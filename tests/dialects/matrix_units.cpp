// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products on AMD's matrix units through HIP's simulated driver, which runs launches on the
// emulator: chosen by the architecture that the driver tells.
#include <flaggems/device/tensor.hpp>
#include <flaggems/launch/hooks.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

namespace fg = flaggems;
using fg::i32, fg::i64, fg::i8;

std::string launched;

/// Compares every sum of integers, and tells what was launched.
template <class D>
void expect_exact(i64 m, i64 n, i64 k) {
  const fg::stream<D> s;
  std::vector<i8> a, b;
  for (i64 e = 0; e < m * k; ++e) a.push_back(static_cast<i8>(e * 7 % 11 - 5));
  for (i64 e = 0; e < n * k; ++e) b.push_back(static_cast<i8>(e * 5 % 13 - 6));
  const auto x = fg::from_values<i8>(s, std::span<const i8>(a), {m, k});
  const auto y = fg::from_values<i8>(s, std::span<const i8>(b), {n, k});
  auto out = fg::empty<i32>(s, {m, n});
  launched.clear();
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    launched += std::string(e.kernel) + (e.rejected.empty() ? ";" : " rejected;");
  });
  fg::mm(s, x.view(), y.view().t(), out.view());
  fg::set_launch_hook(before);
  const auto there = fg::to_host(s, out);
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j) {
      i32 sum = 0;
      for (i64 q = 0; q < k; ++q)
        sum += a[static_cast<std::size_t>(i * k + q)] * b[static_cast<std::size_t>(j * k + q)];
      ASSERT_EQ(there.data()[i * n + j], sum) << i << ' ' << j;
    }
}

TEST(matrix_units, of_hip) {
  EXPECT_TRUE(fg::hip::has_matrix_units(0));
  expect_exact<fg::hip>(70, 75, 96);
  EXPECT_NE(launched.find("gemm_tiles"), std::string::npos) << launched;
  EXPECT_NE(launched.find("mfma_unit"), std::string::npos) << launched;
}

// No units are known of another vendor's devices, though their architecture has the same name.
static_assert(fg::matrix_instructions_of<fg::hygon> == fg::matrix_instructions::none);

}  // namespace
