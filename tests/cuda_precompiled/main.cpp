// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A program whose kernels were compiled when it was linked (flaggems_precompile), started where
// there is no runtime compiler.
#include <flaggems/device/tensor.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

namespace fg = flaggems;
using fg::cuda;

namespace {

TEST(cuda_precompiled, images_of_the_program_run_without_a_compiler) {
  using compiler = fg::detail::runtime_compiler<fg::detail::cuda_api>;
  ASSERT_NE(compiler::get().reason(), "") << "the test would show nothing";
  const fg::stream<cuda> s;
  const auto x = fg::from_values<float>(s, {1, 1, 1, 1, 1, 1, 1, 1}, {2, 4});
  const auto y = fg::to_host(s, fg::softmax(s, x, -1));
  for (int k = 0; k < 8; ++k) EXPECT_EQ(y.data()[k], 0.25F);
}

TEST(cuda_precompiled, what_has_no_image_is_refused_with_the_reason) {
  const fg::stream<cuda> s;
  const auto x = fg::from_values<float>(s, {1, 1, 1, 1}, {2, 2});
  try {
    (void)fg::log_softmax(s, x, -1);  // not MATCHING
    FAIL() << "nothing was raised";
  } catch (const fg::error& e) {
    EXPECT_EQ(e.code(), fg::errc::not_supported);
    EXPECT_NE(std::string_view(e.what()).find("NVRTC"), std::string_view::npos) << e.what();
  }
}

TEST(cuda_precompiled, code_runs_on_later_chips_of_its_generation_only) {
  using api = fg::detail::cuda_api;
  EXPECT_TRUE(api::runs("sm_86", "sm_80"));
  EXPECT_TRUE(api::runs("sm_90a", "sm_90"));
  EXPECT_TRUE(api::runs("sm_121a", "sm_120"));
  EXPECT_FALSE(api::runs("sm_80", "sm_86"));
  EXPECT_FALSE(api::runs("sm_90a", "sm_80"));
  EXPECT_FALSE(api::runs("sm_103a", "sm_100a"));
  EXPECT_FALSE(api::runs("sm_120a", "sm_20"));
}

}  // namespace
