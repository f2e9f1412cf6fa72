// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda.hpp"

#include <gtest/gtest.h>

template class flaggems::detail::driver<flaggems::detail::cuda_api>;
template class flaggems::detail::runtime_compiler<flaggems::detail::cuda_api>;
template struct flaggems::driver_device<flaggems::detail::cuda_api>;

namespace {

// What a test did not wait for runs before main returns: then the emulator's threads are gone.
class no_work_is_left : public testing::Environment {
  void TearDown() override {
    if (flaggems::cuda::device_count() == 0) return;
    EXPECT_EQ(flaggems_test::simulated<decltype(flaggems_sim_finish)>("flaggems_sim_finish")(), 0);
  }
};
[[maybe_unused]] const auto* const registered =
    testing::AddGlobalTestEnvironment(new no_work_is_left);  // GoogleTest deletes it

}  // namespace
