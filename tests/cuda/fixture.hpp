// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What tests of flaggems::cuda over the simulated driver share.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/vendors/host.hpp>
#include <support/errors.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace flaggems_test {

namespace fg = flaggems;
using fg::cuda;
using fg::errc;
using fg::f32;
using fg::i64;

inline void fail(const char* function, int nth, int result) {
  simulated<decltype(flaggems_sim_fail)>("flaggems_sim_fail")(function, nth, result);
}
inline long live(const char* what) {
  return simulated<decltype(flaggems_sim_live)>("flaggems_sim_live")(what);
}
inline long calls(const char* function) {
  return simulated<decltype(flaggems_sim_calls)>("flaggems_sim_calls")(function);
}

template <class X>
std::vector<f32> values_of(const fg::stream<cuda>& s, const X& x) {
  const auto there = fg::to_host(s, x);
  return {there.data(), there.data() + there.numel()};
}
inline std::vector<f32> ones_plus_one(const fg::stream<cuda>& s, i64 n) {
  const std::vector<f32> ones(static_cast<std::size_t>(n), 1);
  const auto x = fg::from_values<f32>(s, std::span<const f32>(ones), {n});
  return values_of(s, fg::add(s, x, 1));
}
inline void expect_works(const fg::stream<cuda>& s) {
  EXPECT_EQ(ones_plus_one(s, 33), std::vector<f32>(33, 2));
}

// All but what may be in use for ever: its stream failed when it was destroyed.
inline void expect_memory_given_back() {
  fg::empty_cache<cuda>(0);
  fg::empty_cache<cuda>(1);
  const auto a = fg::memory_stats<cuda>(0), b = fg::memory_stats<cuda>(1);
  EXPECT_EQ(live("bytes"), a.lost_bytes + b.lost_bytes);
  EXPECT_EQ(a.allocation.current + b.allocation.current, 0);
  EXPECT_EQ(a.reserved_bytes.current + b.reserved_bytes.current, 0);
}

class cuda_driver : public testing::Test {
 protected:
  // A cache of its own: what an earlier run left there would not be compiled.
  static void SetUpTestSuite() {
    static std::string folder = testing::TempDir() + "flaggems_cuda_XXXXXX";
    if (!folder.ends_with("XXXXXX")) return;  // there is another suite of this program
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    ::setenv("FLAGGEMS_CACHE_DIR", folder.c_str(), 1);
    std::atexit([] { std::filesystem::remove_all(folder); });
  }
  void SetUp() override { ASSERT_EQ(cuda::device_count(), 2) << cuda::unavailable_reason(); }
  void TearDown() override {
    fail("", 0, 0);
    expect_memory_given_back();
    EXPECT_EQ(live("streams"), 0);
    EXPECT_EQ(live("events"), 0);
  }
};

}  // namespace flaggems_test
