// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The emulator's rule of barriers: all threads of a tile meet the same ones, in the same steps of
// the block's loops, though others would be as many.
#include <support/emulated_kernel.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

namespace fk = flaggems::kernels;
using flaggems::errc;
using flaggems::i64;
using flaggems_test::contains;
using flaggems_test::line_text;

template <class Warp>
class SimtBarriers : public flaggems_test::simt_emulator_test<Warp> {
 protected:
  using flaggems_test::simt_emulator_test<Warp>::warp;

  static std::string threads(int first, int count) {
    return "threads " + std::to_string(first) + "-" + std::to_string(first + count - 1);
  }
};
TYPED_TEST_SUITE(SimtBarriers, flaggems_test::warp_sizes);

TYPED_TEST(SimtBarriers, LoopsWhoseStepsAllThreadsDoAreAccepted) {
  i64 sum = 0;
  this->launch(3, 2 * this->warp, 4096, [&](auto& block) {
    const auto s = block.template scratch<i64>(100);
    block.for_each_tile(7, [&](i64 tile) {
      for (int round = 0; round < 3; ++round) {
        block.for_each(100, [&](i64 i) { s.write(i, tile); });
        block.sync();
        const i64 all = block.reduce(100, i64{0}, fk::plus{},
                                     [&](auto lane) { return s.read(99 - lane.begin); });
        block.sync();
        block.single([&] { sum += all; });
      }
    });
    block.sync();
  });
  EXPECT_EQ(sum, 3 * 100 * (0 + 1 + 2 + 3 + 4 + 5 + 6));
}

TYPED_TEST(SimtBarriers, TwoLoopsOfAsManyBarriersAreRefused) {
  const int w = this->warp;
  int first = 0, second = 0;
  const auto e = this->refused([&, w](auto& block) {
    if (block.thread() < w)
      for (int k = 0; k < 3; ++k) first = __LINE__, block.sync();
    else
      for (int k = 0; k < 3; ++k) second = __LINE__, block.sync();
  });
  EXPECT_EQ(e.code(), errc::driver_error);
  EXPECT_TRUE(contains(e.got(), this->threads(0, w) + " at the barrier of " + line_text(first) +
                                    " of simt_barriers.cpp, "))
      << e.what();
  EXPECT_TRUE(contains(e.got(), this->threads(w, w) + " at the barrier of " + line_text(second)))
      << e.what();
}

TYPED_TEST(SimtBarriers, OneLineOfTwoFilesIsTwoPlaces) {
  const int w = this->warp;
  const auto e = this->refused([w](auto& block) {
    block.sync(fk::source_line(77, block.thread() < w ? "some/one.hpp" : "other.hpp"));
  });
  EXPECT_TRUE(contains(e.got(), " at the barrier of line 77 of one.hpp, ")) << e.what();
  EXPECT_TRUE(contains(e.got(), " at the barrier of line 77 of other.hpp")) << e.what();
}

TYPED_TEST(SimtBarriers, OneCollectiveOfTwoPlacesIsRefused) {
  const int w = this->warp;
  int first = 0, second = 0;
  const auto e = this->refused([&, w](auto& block) {
    const auto one = [](auto) { return 1; };
    if (block.thread() < w)
      first = __LINE__, block.reduce(100, 0, fk::plus{}, one);
    else
      second = __LINE__, block.reduce(100, 0, fk::plus{}, one);
  });
  EXPECT_TRUE(contains(e.got(), this->threads(0, w) + " at the barrier of " + line_text(first)))
      << e.what();
  EXPECT_TRUE(contains(e.got(), this->threads(w, w) + " at the barrier of " + line_text(second)))
      << e.what();
}

TYPED_TEST(SimtBarriers, OneLineInTwoTilesIsRefused) {
  const int w = this->warp;
  int line = 0;
  // Each warp leaves out one of two tiles: the barriers are as many, and of one line.
  const auto e = this->refused([&, w](auto& block) {
    block.for_each_tile(2, [&](i64 tile) {
      if (tile == block.thread() / w) return;
      line = __LINE__, block.sync();
    });
  });
  const std::string at = " at the barrier of " + line_text(line) + " of simt_barriers.cpp in step ";
  EXPECT_TRUE(contains(e.got(), this->threads(0, w) + at + "1 of a loop")) << e.what();
  EXPECT_TRUE(contains(e.got(), this->threads(w, w) + at + "0 of a loop")) << e.what();
}

TYPED_TEST(SimtBarriers, ABarrierInALoopThatThreadsDivideIsRefused) {
  const int w = this->warp;
  const auto e = this->refused([w](auto& block) {
    block.for_each(4 * w, [&](i64) { block.sync(); });  // as often by each of 2 * w threads
  });
  EXPECT_TRUE(contains(e.got(), "thread 1 at the barrier")) << e.what();
  const auto other = this->refused([w](auto& block) {
    block.for_each_lane(2 * w, [&](auto) { (void)block.any_in_warp(true); });
  });
  EXPECT_TRUE(contains(other.expected(), "shuffle")) << other.what();
}

TYPED_TEST(SimtBarriers, StepsEndWithTheirLoop) {
  const auto e = this->refused([](auto& block) {
    block.for_each(block.threads() - 1, [](i64) {});
    block.for_each_tile(2, [&](i64) {
      block.for_each(block.threads() + 1, [](i64) {});
      block.sync();
    });
    if (block.thread() != 0) block.sync();
  });
  EXPECT_TRUE(contains(e.got(), "thread 0 returned")) << e.what();
  EXPECT_FALSE(contains(e.got(), "in step")) << e.what();
}

}  // namespace
