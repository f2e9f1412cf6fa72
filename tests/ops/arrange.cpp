// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/arrange.hpp>
#include <support/moves.hpp>

#include <limits>

namespace flaggems_test {
namespace {

template <class Device>
class arrange : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(arrange, devices);

TYPED_TEST(arrange, moves) {
  using D = TypeParam;
  using at = std::vector<i64>;
  static const i64 first[] = {0}, both[] = {0, -1}, shifts[] = {2, -7}, along[] = {0, 1},
                   twice[] = {0, -2}, turn[] = {1, 2}, times[] = {2, 1, 3},
                   many[] = {2, 2, 2, 2, 2}, ends[] = {3};
  const move_case<f32, D> table[] = {
      {"flip",
       {3, 5},
       {3, 5},
       [](const grid& x, const at& i) {
         return x.at({2 - i[0], i[1]});
       },
       FLAGGEMS_MOVE_CASE(flip, first)},
      {"flip of two",
       {3, 2, 5},
       {3, 2, 5},
       [](const grid& x, const at& i) {
         return x.at({2 - i[0], i[1], 4 - i[2]});
       },
       FLAGGEMS_MOVE_CASE(flip, both)},
      {"roll",
       {3, 5},
       {3, 5},
       [](const grid& x, const at& i) {
         return x.at({(i[0] + 1) % 3, (i[1] + 7) % 5});
       },
       FLAGGEMS_MOVE_CASE(roll, shifts, along)},
      {"roll of one dimension twice",
       {3, 5},
       {3, 5},
       [](const grid& x, const at& i) {
         return x.at({(i[0] + 5) % 3, i[1]});
       },
       FLAGGEMS_MOVE_CASE(roll, shifts, twice)},
      {"roll of all",
       {3, 5},
       {3, 5},
       [](const grid& x, const at& i) {
         const i64 k = (i[0] * 5 + i[1] + 15 - 4) % 15;
         return x.at({k / 5, k % 5});
       },
       FLAGGEMS_MOVE_CASE(roll, 4)},
      {"fft_fftshift",
       {3, 5},
       {3, 5},
       [](const grid& x, const at& i) {
         return x.at({(i[0] + 2) % 3, (i[1] + 3) % 5});
       },
       FLAGGEMS_MOVE_CASE(fft_fftshift)},
      {"fft_ifftshift",
       {3, 5},
       {3, 5},
       [](const grid& x, const at& i) {
         return x.at({i[0], (i[1] + 2) % 5});
       },
       FLAGGEMS_MOVE_CASE(fft_ifftshift, -1)},
      {"rot90",
       {2, 3, 5},
       {2, 5, 3},
       [](const grid& x, const at& i) {
         return x.at({i[0], i[2], 4 - i[1]});
       },
       FLAGGEMS_MOVE_CASE(rot90, 1, turn)},
      {"rot90 back",
       {3, 5},
       {5, 3},
       [](const grid& x, const at& i) {
         return x.at({2 - i[1], i[0]});
       },
       FLAGGEMS_MOVE_CASE(rot90, -1)},
      {"rot90 twice",
       {3, 5},
       {3, 5},
       [](const grid& x, const at& i) {
         return x.at({2 - i[0], 4 - i[1]});
       },
       FLAGGEMS_MOVE_CASE(rot90, 2)},
      {"repeat",
       {3, 5},
       {2, 3, 15},
       [](const grid& x, const at& i) {
         return x.at({i[1], i[2] % 5});
       },
       FLAGGEMS_MOVE_CASE(repeat, times)},
      {"repeat of five",
       {2, 3, 2, 1, 2},
       {4, 6, 4, 2, 4},
       [](const grid& x, const at& i) {
         return x.at({i[0] % 2, i[1] % 3, i[2] % 2, 0, i[4] % 2});
       },
       FLAGGEMS_MOVE_CASE(repeat, many)},
      {"tile",
       {3, 5},
       {3, 15},
       [](const grid& x, const at& i) {
         return x.at({i[0], i[1] % 5});
       },
       FLAGGEMS_MOVE_CASE(tile, ends)},
      {"repeat_interleave",
       {3, 5},
       {6, 5},
       [](const grid& x, const at& i) {
         return x.at({i[0] / 2, i[1]});
       },
       {},
       [](const auto& x) { return fg::repeat_interleave(test_stream<D>(), x, 2, -2, 6); }},
      {"repeat_interleave of all",
       {3, 5},
       {30},
       [](const grid& x, const at& i) {
         return x.at({i[0] / 10, i[0] / 2 % 5});
       },
       {},
       [](const auto& x) { return fg::repeat_interleave(test_stream<D>(), x, 2); }},
      {"pixel_shuffle",
       {2, 12, 2, 3},
       {2, 3, 4, 6},
       [](const grid& x, const at& i) {
         return x.at({i[0], i[1] * 4 + i[2] % 2 * 2 + i[3] % 2, i[2] / 2, i[3] / 2});
       },
       FLAGGEMS_MOVE_CASE(pixel_shuffle, 2)},
      {"pixel_unshuffle",
       {2, 3, 4, 6},
       {2, 12, 2, 3},
       [](const grid& x, const at& i) {
         return x.at({i[0], i[1] / 4, i[2] * 2 + i[1] / 2 % 2, i[3] * 2 + i[1] % 2});
       },
       FLAGGEMS_MOVE_CASE(pixel_unshuffle, 2)},
      {"channel_shuffle",
       {2, 6, 5},
       {2, 6, 5},
       [](const grid& x, const at& i) {
         return x.at({i[0], i[1] % 3 * 2 + i[1] / 3, i[2]});
       },
       FLAGGEMS_MOVE_CASE(channel_shuffle, 3)},
      {"diag_embed",
       {3, 4},
       {5, 3, 5},
       [](const grid& x, const at& i) {
         return i[2] - i[0] == -1 ? x.at({i[1], i[2]}) : 0;
       },
       FLAGGEMS_MOVE_CASE(diag_embed, -1, 0, 2)},
      {"diag of a vector",
       {4},
       {6, 6},
       [](const grid& x, const at& i) { return i[1] - i[0] == 2 ? x.at({i[0]}) : 0; },
       FLAGGEMS_MOVE_CASE(diag, 2)},
      {"diag of a matrix",
       {4, 6},
       {3},
       [](const grid& x, const at& i) {
         return x.at({i[0] + 1, i[0]});
       },
       FLAGGEMS_MOVE_CASE(diag, -1)},
  };
  at_every_level<D>([&] {
    for (const auto& one : table) check_move(one);
  });
}

TYPED_TEST(arrange, repeats_by_a_tensor) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({2, 3}, layout::transposed, {1, 2, 3, 4, 5, 6});
  test_tensor<i64, D> n({3}, layout::strided, {2, 0, 1}), two({1}, layout::contiguous, {2});
  expect_equal(values_of(fg::repeat_interleave(s, n.in())), {0, 0, 2});
  expect_equal(values_of(fg::repeat_interleave(s, x.in(), n.in(), 1, 3)), {1, 1, 3, 4, 4, 6});
  expect_equal(values_of(fg::repeat_interleave(s, x.in(), two.in())),
               {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  EXPECT_RAISES(fg::repeat_interleave(s, x.in(), n.in(), 0), shape_mismatch, "repeat_interleave");
  EXPECT_RAISES(fg::repeat_interleave(s, n.in(), std::optional<i64>(4)), invalid_argument,
                "repeat_interleave");
  test_tensor<i64, D> less({1}, layout::contiguous, {-1});
  EXPECT_RAISES(fg::repeat_interleave(s, less.in()), invalid_argument, "repeat_interleave");
}

TYPED_TEST(arrange, resize) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const layout how : output_layouts) {
    test_tensor<f32, D> x({2, 3}, how, {1, 2, 3, 4, 5, 6}), four({1, 4});
    expect_equal(values_of(fg::resize(s, x.in(), {4, 2})), {1, 2, 3, 4, 5, 6, 0, 0});
    expect_equal(values_of(fg::resize_as(s, x.in(), four.in())), {1, 2, 3, 4});
    EXPECT_EQ(fg::resize_output(s, x.in(), {}).shape_of(), shape());
    const auto last = fg::resize(s, x.in(), {1, 2, 1, 3}, fg::memory_format::channels_last);
    EXPECT_EQ(last.stride(1), 1);
    expect_equal(values_of(last), {1, 3, 5, 2, 4, 6});
  }
  test_tensor<i64, D> none({0});
  expect_equal(values_of(fg::resize(s, none.in(), {2})), {0, 0});
}

TYPED_TEST(arrange, empty) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> none({0, 3}), one({}, layout::contiguous, {4});
  EXPECT_EQ(fg::flip(s, none.in(), {0}).shape_of(), (shape{0, 3}));
  EXPECT_EQ(fg::roll(s, none.in(), 1, 0).shape_of(), (shape{0, 3}));
  EXPECT_EQ(fg::repeat(s, none.in(), {2, 2}).shape_of(), (shape{0, 6}));
  EXPECT_EQ(fg::repeat_interleave(s, none.in(), 2).shape_of(), (shape{0}));
  EXPECT_EQ(fg::diag_embed(s, none.in()).shape_of(), (shape{0, 3, 3}));
  expect_equal(values_of(fg::roll(s, one.in(), 3)), {4});
  expect_equal(values_of(fg::repeat_interleave(s, one.in(), 3)), {4, 4, 4});
  expect_equal(values_of(fg::repeat(s, one.in(), {2})), {4, 4});
  EXPECT_RAISES(fg::roll(s, one.in(), 1, 0), out_of_range, "roll");
  EXPECT_EQ(fg::fft_fftshift(s, none.in()).shape_of(), (shape{0, 3}));
  expect_equal(values_of(fg::fft_fftshift(s, one.in())), {4});
  EXPECT_RAISES(fg::fft_ifftshift(s, one.in(), 1), out_of_range, "fft_ifftshift");
  EXPECT_RAISES(fg::repeat_interleave(s, one.in(), 3, 0), out_of_range, "repeat_interleave");
}

/// Of 16 bits, in rows longer than a vector of a chip, and in rows of two that alternate.
TYPED_TEST(arrange, long_rows_of_small_elements) {
  using D = TypeParam;
  static const i64 last[] = {-1}, by[] = {3, -2}, along[] = {1, 0};
  check_move<bf16, D>({"flip",
                       {3, 21},
                       {3, 21},
                       [](const grid& x, const std::vector<i64>& i) {
                         return x.at({i[0], 20 - i[1]});
                       },
                       FLAGGEMS_MOVE_CASE(flip, last)});
  check_move<bf16, D>({"roll",
                       {5, 21},
                       {5, 21},
                       [](const grid& x, const std::vector<i64>& i) {
                         return x.at({(i[0] + 2) % 5, (i[1] + 18) % 21});
                       },
                       FLAGGEMS_MOVE_CASE(roll, by, along)});
  check_move<bf16, D>(
      {"pixel_shuffle",
       {2, 8, 3, 5},
       {2, 2, 6, 10},
       [](const grid& x, const std::vector<i64>& i) {
         return x.at({i[0], i[1] * 4 + i[2] % 2 * 2 + i[3] % 2, i[2] / 2, i[3] / 2});
       },
       FLAGGEMS_MOVE_CASE(pixel_shuffle, 2)});
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(arrange_host, eight_dimensions) {
  const auto& s = test_stream<host>();
  const shape sizes{1, 2, 1, 2, 1, 2, 1, 2};
  test_tensor<f32> x(sizes, layout::transposed, random_integers(sizes, 0, 100));
  const auto doubled = fg::repeat(s, x.in(), {2, 2, 2, 2, 2, 2, 2, 2});
  const grid g{sizes, x.values()};
  expect_equal(values_of(doubled), filled_by(doubled.shape_of(), [&](std::vector<i64> at) {
                 for (int d = 0; d < 8; ++d) at[static_cast<std::size_t>(d)] %= sizes[d];
                 return g.at(at);
               }));
  const auto twice = fg::repeat_interleave(s, x.in(), 2, 3);
  expect_equal(values_of(twice), filled_by(twice.shape_of(), [&](std::vector<i64> at) {
                 at[3] /= 2;
                 return g.at(at);
               }));
}

TEST(arrange_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({4, 6}), out({4, 6}), cube({2, 2, 2});
  EXPECT_RAISES((void)fg::resize(s, x.in(), {2, 2}, fg::memory_format::preserve_format),
                invalid_argument, "resize");
  EXPECT_RAISES((void)fg::resize_as(s, x.in(), out.in(), fg::memory_format::preserve_format),
                invalid_argument, "resize_as");
  EXPECT_RAISES((void)fg::diag_embed(s, x.in(), std::numeric_limits<i64>::min()), invalid_argument,
                "diag_embed");
  EXPECT_RAISES(fg::flip(s, x.in(), {2}), out_of_range, "flip");
  EXPECT_RAISES(fg::flip(s, x.in(), {0, 0}), invalid_argument, "flip");
  EXPECT_RAISES(fg::flip(s, x.in(), x.view(), {0}), overlap, "flip");
  EXPECT_RAISES(fg::flip(s, x.in().narrow(0, 0, 2), out.view(), {0}), shape_mismatch, "flip");
  EXPECT_RAISES(fg::roll(s, x.in(), {1, 2}, {0}), shape_mismatch, "roll");
  EXPECT_RAISES(fg::rot90(s, x.in(), 1, {0}), invalid_argument, "rot90");
  EXPECT_RAISES(fg::rot90(s, x.in(), 1, {0, -2}), invalid_argument, "rot90");
  EXPECT_RAISES(fg::repeat(s, x.in(), {2}), shape_mismatch, "repeat");
  EXPECT_RAISES(fg::repeat(s, x.in(), {2, -1}), invalid_argument, "repeat");
  EXPECT_RAISES(fg::tile(s, x.in(), {-1}), invalid_argument, "tile");
  EXPECT_RAISES(fg::repeat_interleave(s, x.in(), -1), invalid_argument, "repeat_interleave");
  EXPECT_RAISES(fg::repeat_interleave(s, x.in(), 2, 0, 7), invalid_argument, "repeat_interleave");
  EXPECT_RAISES(fg::pixel_shuffle(s, cube.in(), 2), invalid_argument, "pixel_shuffle");
  EXPECT_RAISES(fg::pixel_unshuffle(s, cube.in(), 3), invalid_argument, "pixel_unshuffle");
  EXPECT_RAISES(fg::channel_shuffle(s, cube.in(), 0), invalid_argument, "channel_shuffle");
  EXPECT_RAISES(fg::diag(s, cube.in()), invalid_argument, "diag");
  EXPECT_RAISES(fg::diag_embed(s, x.in(), 0, 1, 1), invalid_argument, "diag_embed");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
