// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/nonzero.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class masks : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(masks, devices);

TYPED_TEST(masks, nonzero) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const layout in : input_layouts) {
    const shape sizes{3, 4, 7};
    auto values = random_integers(sizes, -1, 1);
    values[5] = std::nan("");
    test_tensor<f32, D> x(sizes, in, values);
    std::vector<double> want;
    static_cast<void>(filled_by(sizes, [&](const std::vector<i64>& at) {
      if (grid{sizes, x.values()}.at(at) != 0)
        for (const i64 k : at) want.push_back(static_cast<double>(k));
      return 0.0;
    }));
    const auto got = fg::nonzero(s, x.in());
    EXPECT_EQ(got.shape_of(), (shape{static_cast<i64>(want.size() / 3), 3}));
    expect_equal(values_of(got), want);
    const auto columns = fg::nonzero_numpy(s, x.in());
    ASSERT_EQ(columns.size(), 3U);
    for (std::size_t d = 0; d < 3; ++d) {
      std::vector<double> column;
      for (std::size_t k = d; k < want.size(); k += 3) column.push_back(want[k]);
      expect_equal(values_of(columns[d]), column);
    }
    want.resize(120, -7);
    expect_equal(values_of(fg::nonzero_static(s, x.in(), 40, -7)), want);
  }
  test_tensor<i64, D> none({0, 2}), zeros({2, 2}), one({}, layout::contiguous, {4}), zero(shape{});
  EXPECT_EQ(fg::nonzero(s, none.in()).shape_of(), (shape{0, 2}));
  EXPECT_EQ(fg::nonzero(s, zeros.in()).shape_of(), (shape{0, 2}));
  EXPECT_EQ(fg::nonzero(s, one.in()).shape_of(), (shape{1, 0}));
  EXPECT_EQ(fg::nonzero(s, zero.in()).shape_of(), (shape{0, 0}));
  EXPECT_EQ(fg::nonzero_numpy(s, one.in())[0].shape_of(), (shape{1}));
}

TYPED_TEST(masks, selected_and_filled) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const shape sizes{3, 5};
  for (const layout in : input_layouts) {
    test_tensor<f32, D> x(sizes, in, random_integers(sizes, 0, 100));
    test_tensor<bool, D> mask(sizes, in, random_integers(sizes, 0, 1)),
        row({5}, layout::contiguous, {0, 1, 0, 1, 1});
    test_tensor<f32, D> source({15}, layout::strided, random_integers({15}, 200, 300));
    std::vector<double> chosen, scattered;
    for (std::size_t k = 0; k < 15; ++k) {
      const bool is = mask.values()[k] != 0;
      scattered.push_back(is ? source.values()[chosen.size()] : x.values()[k]);
      if (is) chosen.push_back(x.values()[k]);
    }
    expect_equal(values_of(fg::masked_select(s, x.in(), mask.in())), chosen);
    expect_equal(values_of(fg::masked_scatter(s, x.in(), mask.in(), source.in())), scattered);
    const auto& v = x.values();
    expect_equal(values_of(fg::masked_select(s, x.in(), row.in())),
                 {v[1], v[3], v[4], v[6], v[8], v[9], v[11], v[13], v[14]});
  }
  test_tensor<f32, D> x({2}, layout::contiguous, {1, 2}), value({}, layout::contiguous, {9});
  test_tensor<bool, D> mask({2}, layout::contiguous, {0, 1}), all({}, layout::contiguous, {1});
  expect_equal(values_of(fg::masked_select(s, x.in(), mask.in())), {2});
  expect_equal(values_of(fg::masked_select(s, x.in(), all.in())), {1, 2});
  expect_equal(values_of(fg::masked_select(s, value.in(), all.in())), {9});
  test_tensor<f32, D> none({0});
  test_tensor<bool, D> nowhere({0});
  EXPECT_EQ(fg::masked_select(s, none.in(), nowhere.in()).shape_of(), (shape{0}));
  // No element is read before the source's first one, of no use as it would be.
  test_tensor<f32, D> three({3}, layout::contiguous, {1, 2, 3}),
      source({1}, layout::contiguous, {9});
  test_tensor<bool, D> second({3}, layout::contiguous, {0, 1, 0});
  expect_equal(values_of(fg::masked_scatter(s, three.in(), second.in(), source.in())), {1, 9, 3});
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(mask, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<fg::u8> x({3, 4}), few({2});
  test_tensor<bool> mask({3, 4}, layout::contiguous, std::vector<double>(12, 1)), other({3});
  EXPECT_RAISES(fg::masked_select(s, x.in(), other.in()), shape_mismatch, "masked_select");
  EXPECT_RAISES(fg::masked_scatter(s, x.in(), mask.in(), few.in()), shape_mismatch,
                "masked_scatter");
  EXPECT_RAISES(fg::nonzero_static(s, x.in(), -1), invalid_argument, "nonzero_static");
}
#endif

}  // namespace
}  // namespace flaggems_test
