// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Boxes of tensors by maps, on devices whose threads load them.
#include <flaggems/device/tensor.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tensor_map.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/simt.hpp>
#include <support/box_kernels.hpp>

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <string>
#include <vector>

namespace {

namespace fg = flaggems;
using fg::box_swizzle, fg::errc, fg::f32, fg::i64;

template <class Device>
class tensor_maps : public testing::Test {};
#ifdef FLAGGEMS_TEST_DEVICE
using devices = testing::Types<FLAGGEMS_TEST_DEVICE>;
#else
using devices = testing::Types<fg::simt32, fg::simt64>;
#endif
TYPED_TEST_SUITE(tensor_maps, devices);

TYPED_TEST(tensor_maps, boxes_are_those_of_the_tensor) {
  const fg::stream<TypeParam> s;
  std::vector<f32> values(24 * 100);
  std::iota(values.begin(), values.end(), 1.0F);
  const auto whole = fg::from_values<f32>(s, std::span<const f32>(values), {24, 100});
  for (const auto& [rows, columns, swizzle] :
       {std::tuple<i64, i64, box_swizzle>{4, 8, box_swizzle::none},
        {7, 20, box_swizzle::none},
        {8, 32, box_swizzle::pieces_8},
        {16, 16, box_swizzle::pieces_4},
        {3, 8, box_swizzle::pieces_2},
        {100, 64, box_swizzle::none}}) {
    // From its 4th column on, and of the last boxes a part is outside.
    const auto x = whole.view().narrow(1, 4, 90);
    const std::array<i64, 2> box{rows, columns};
    const fg::tensor_map map = fg::tensor_map_of(s, x, box, swizzle);
    const i64 across = (90 + columns - 1) / columns, down = (24 + rows - 1) / rows;
    auto out = fg::empty<f32>(s, {down, across, rows, columns});
    fg::launch_config config;
    config.tiles = across * down;
    config.threads = 64;
    config.scratch = fg::scratch_bytes<f32>(rows * columns) + fg::scratch_bytes<fg::u64>(1);
    if (rows == 100) config.scratch += 256 << 10;  // no GPU's block has that: a workspace
    fg::launch<flaggems_test::copy_boxes>(s, config, map, out.data(), across);
    const auto got = fg::to_host(s, out);
    i64 at = 0;
    for (i64 i = 0; i < down; ++i)
      for (i64 j = 0; j < across; ++j)
        for (i64 r = i * rows; r < (i + 1) * rows; ++r)
          for (i64 c = j * columns; c < (j + 1) * columns; ++c)
            ASSERT_EQ(got.data()[at++],
                      r < 24 && c < 90 ? values[static_cast<std::size_t>(r * 100 + c + 4)] : 0.0F)
                << "row " << r << ", column " << c;
  }
}

TYPED_TEST(tensor_maps, refuse_what_no_engine_takes) {
  const fg::stream<TypeParam> s;
  const auto x = fg::empty<f32>(s, {8, 16});
  const auto refused = [&](const auto& view, std::vector<i64> box, const char* words,
                           box_swizzle swizzle = box_swizzle::none) {
    try {
      (void)fg::tensor_map_of(s, view, box, swizzle);
    } catch (const fg::error& e) {
      EXPECT_EQ(e.code(), errc::invalid_argument) << e.what();
      EXPECT_NE(std::string_view(e.what()).find(words), std::string_view::npos) << e.what();
      return;
    }
    ADD_FAILURE() << "nothing was raised: " << words;
  };
  refused(x.view(), {4}, "as many dimensions");
  refused(x.view(), {4, 0}, "1 to 256 elements");
  refused(x.view(), {257, 4}, "1 to 256 elements");
  refused(x.view(), {-1, 4}, "1 to 256 elements");
  refused(x.view(), {4, 6}, "a multiple of 16 bytes");
  refused(x.view(), {4, 16}, "bytes that are swizzled", box_swizzle::pieces_2);
  refused(x.view(), {4, 4}, "bytes that are swizzled", box_swizzle::pieces_2);
  refused(x.view().t(), {4, 4}, "neighbouring elements");
  refused(x.view().narrow(1, 1, 8), {4, 4}, "an address");
  refused(x.view().narrow(0, 0, 0), {4, 4}, "sizes from 1");
  const auto odd = fg::empty<f32>(s, {8, 9});
  refused(odd.view(), {4, 4}, "multiples of 16 bytes");
  refused(x.view().reshape({1, 1, 1, 1, 8, 16}), {1, 1, 1, 1, 4, 4}, "1 to 5 dimensions");
  (void)fg::tensor_map_of(s, x.view(), std::vector<i64>{4, 4});
}

}  // namespace
