// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/masked_index.hpp>
#include <support/ops.hpp>

#include <optional>
#include <tuple>
#include <vector>

namespace flaggems_test {
namespace {

std::size_t at(double i) { return static_cast<std::size_t>(i); }

template <class Device>
class masked_index : public ::testing::Test {};
TYPED_TEST_SUITE(masked_index, all_devices);

TYPED_TEST(masked_index, reads_and_sums) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const layout of : {layout::contiguous, layout::transposed, layout::negative}) {
    test_tensor<f32, D> x({4, 3}, of, random_values({4, 3})),
        values({2, 3}, of, random_values({2, 3}));
    test_tensor<bool, D> mask({2, 3}, of, {1, 0, 1, 0, 1, 1});
    // Outside where the mask is false.
    test_tensor<i64, D> rows({2, 1}, layout::contiguous, {-1, 900});
    test_tensor<fg::i32, D> inside({2, 3}, of, {0, -700, 1, 3, 2, 2}),
        columns({3}, layout::strided, {0, 1, -1});
    std::vector<double> want, sums = x.values();
    for (std::size_t e = 0; e < 6; ++e) {
      if (mask.values()[e] == 0) {
        want.push_back(-5);
        continue;
      }
      double column = columns.values()[e % 3];
      if (column < 0) column += 3;
      const std::size_t place = at(inside.values()[e] * 3 + column);
      want.push_back(x.values()[place]);
      sums[place] += values.values()[e];
    }
    const auto both = std::tuple(inside.in(), columns.in());
    expect_equal(values_of(fg::unsafe_masked_index(s, x.in(), mask.in(), both, -5)), want);
    expect_close<f32>(
        values_of(fg::unsafe_masked_index_put_accumulate(s, x.in(), mask.in(), both, values.in())),
        sums);
    // A whole dimension; those outside are moved to an end.
    std::vector<double> lines;
    for (std::size_t e = 0; e < 6; ++e)
      lines.push_back(mask.values()[e] == 0 ? 2 : x.values()[3 * 3 + e % 3]);
    std::vector<std::optional<fg::tensor_view<const i64, D>>> list{rows.in().select(1, 0)};
    expect_equal(values_of(fg::unsafe_masked_index(s, x.in(), mask.in(), list, 2.0)), lines);
    EXPECT_TRUE(x.untouched() && values.untouched());
  }
  test_tensor<f32, D> none({0, 3}), added({2, 3});
  test_tensor<bool, D> never({2, 1}, layout::contiguous, {0, 0});
  test_tensor<i64, D> rows({2}, layout::contiguous, {5, -9});
  const auto list = std::tuple(rows.in());
  expect_equal(values_of(fg::unsafe_masked_index(s, none.in(), never.in(), list, 4)),
               std::vector<double>(6, 4));
  EXPECT_EQ(
      fg::unsafe_masked_index_put_accumulate(s, none.in(), never.in(), list, added.in()).numel(),
      0);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(masked_index, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({4}), values({2}), many({3});
  test_tensor<bool> mask({2}), wide({3});
  test_tensor<i64> rows({2});
  EXPECT_RAISES(
      static_cast<void>(fg::unsafe_masked_index(s, x.in(), wide.in(), std::tuple(rows.in()), 0)),
      shape_mismatch, "unsafe_masked_index");
  EXPECT_RAISES(static_cast<void>(fg::unsafe_masked_index(s, x.in(), mask.in(),
                                                          std::tuple(rows.in(), rows.in()), 0)),
                invalid_argument, "unsafe_masked_index");
  EXPECT_RAISES(static_cast<void>(fg::unsafe_masked_index_put_accumulate(
                    s, x.in(), mask.in(), std::tuple(rows.in()), many.in())),
                shape_mismatch, "unsafe_masked_index_put_accumulate");
}
#endif

}  // namespace
}  // namespace flaggems_test
