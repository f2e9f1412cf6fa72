// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A vendor's numbers are those that its launches are cut by, and nobody else's.
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <support/devices.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

/// A small GPU: four units.
struct small_chip : flaggems::simt32 {
  static constexpr const char* name = "small_chip";
};
/// NVIDIA's, with something of one's own.
struct own_cuda : flaggems::cuda {};

}  // namespace

// [tuning]
template <>
struct flaggems::tuning<flaggems::families::any, small_chip>
    : flaggems::default_tuning<flaggems::families::any, small_chip> {
  static constexpr i64 units = 4;
};
template <>
struct flaggems::tuning<flaggems::families::pointwise, small_chip>
    : flaggems::default_tuning<flaggems::families::pointwise, small_chip> {
  static constexpr int threads_of_few = 32;
};
// [/tuning]

namespace flaggems_test {
namespace {

namespace fg = flaggems;
namespace families = fg::families;
using fg::i64;

/// The tiles of each launch of what f does.
template <class F>
std::vector<i64> tiles_of(F f) {
  static std::vector<i64> tiles;
  tiles.clear();
  fg::set_launch_hook([](const fg::launch_event& e) { tiles.push_back(e.tiles); });
  f();
  fg::set_launch_hook(nullptr);
  return tiles;
}

template <class D>
std::vector<i64> tiles_of_sum(i64 n) {
  const fg::stream<D> s;
  const auto x = fg::full<float>(s, {n}, 1.0F);
  float total = 0;
  const auto tiles = tiles_of([&] { total = *fg::to_host(s, fg::sum(s, x, 0)).data(); });
  EXPECT_EQ(total, static_cast<float>(n));
  return tiles;
}

TEST(tuning, numbers_that_follow_from_others_follow_the_vendor) {
  using small = fg::tuning<families::reduce, small_chip>;
  using any = fg::tuning<families::reduce, fg::simt64>;
  static_assert(small::resident_blocks == 16 && any::resident_blocks == 512);
  static_assert(small::vectors_per_thread == any::vectors_per_thread);
  static_assert(fg::tuning<families::gemm, small_chip>::busy_blocks == 16);
}

TEST(tuning, a_type_derived_from_a_vendors_has_its_numbers) {
  static_assert(fg::tuning<families::reduce, fg::cuda>::resident_blocks == 528);
  static_assert(fg::tuning<families::reduce, own_cuda>::resident_blocks == 528);
  static_assert(fg::tuning<families::pointwise, own_cuda>::threads_of_many == 128);
  static_assert(fg::tuning<families::pointwise, fg::simt32>::threads_of_many == 256);
}

TEST(SimtTuning, reductions_are_cut_by_them) {
  constexpr i64 n = i64{1} << 18;  // 256 packs of four for each thread of a block
  EXPECT_EQ(tiles_of_sum<small_chip>(n), (std::vector<i64>{16, 1}));
  EXPECT_EQ(tiles_of_sum<fg::simt32>(n), (std::vector<i64>{64, 1}));
}

TEST(SimtTuning, blocks_have_as_many_threads_as_they_say) {
  const auto tiles = [](auto device) {
    const fg::stream<typename decltype(device)::type> s;
    const auto x = fg::full<float>(s, {4096}, 2.0F);
    const auto launched = tiles_of([&] {
      const auto y = fg::clone(s, x);
      EXPECT_EQ(fg::to_host(s, y)(4095), 2.0F);
    });
    return launched.at(0);
  };
  EXPECT_EQ(tiles(std::type_identity<small_chip>{}), 4096 / 4 / 32);
  EXPECT_EQ(tiles(std::type_identity<fg::simt32>{}), 4096 / 4 / 64);
}

}  // namespace
}  // namespace flaggems_test
