// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/triangle.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class triangles : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(triangles, devices);

TYPED_TEST(triangles, all) {
  using D = TypeParam;
  const i64 far = (std::numeric_limits<i64>::max)();
  at_every_level<D>([&] {
    for (const shape& sizes : {shape{2, 5, 19}, shape{7, 3}, shape{1, 1}})
      for (const i64 k : {i64{0}, i64{2}, i64{-3}, far, -far - 1}) {
        const auto difference = [r = sizes.rank()](const std::vector<i64>& at) {
          return at[static_cast<std::size_t>(r - 1)] - at[static_cast<std::size_t>(r - 2)];
        };
        check_move<bf16, D>({"tril", sizes, sizes,
                             [&](const grid& x, const std::vector<i64>& at) {
                               return difference(at) <= k ? x.at(at) : 0;
                             },
                             FLAGGEMS_MOVE_CASE(tril, k)});
        check_move<bf16, D>({"triu", sizes, sizes,
                             [&](const grid& x, const std::vector<i64>& at) {
                               return difference(at) >= k ? x.at(at) : 0;
                             },
                             FLAGGEMS_MOVE_CASE(triu, k)});
      }
  });
}

TYPED_TEST(triangles, of_long_rows) {
  using D = TypeParam;
  const shape sizes{40, 300};
  for (const layout in : {layout::contiguous, layout::transposed, layout::negative}) {
    test_tensor<f32, D> x(sizes, in, random_values(sizes, 1, 2)), out(sizes, in);
    for (const i64 k : {-20, 0, 150}) {
      fg::triu(test_stream<D>(), x.in(), out.view(), k);
      expect_equal(out.read(), filled_by(sizes, [&](const std::vector<i64>& at) {
                     return at[1] - at[0] >= k
                                ? x.values()[static_cast<std::size_t>(at[0] * 300 + at[1])]
                                : 0;
                   }));
    }
    EXPECT_TRUE(out.gaps_untouched());
  }
}

TYPED_TEST(triangles, in_place) {
  using D = TypeParam;
  test_tensor<bf16, D> x({2, 3}, layout::transposed, {1, 2, 3, 4, 5, 6}), none({0, 3});
  fg::tril_(test_stream<D>(), x.view());
  expect_equal(x.read(), {1, 0, 0, 4, 5, 0});
  fg::triu_(test_stream<D>(), x.view());
  expect_equal(x.read(), {1, 0, 0, 0, 5, 0});
  EXPECT_TRUE(x.gaps_untouched());
  fg::triu_(test_stream<D>(), none.view());
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(triangle, every_element_size) {
  const auto& s = test_stream<host>();
  const auto check = [&](auto element) {
    using T = decltype(element);
    test_tensor<T> x({2, 2}, layout::contiguous, {1, 1, 1, 1});
    expect_equal(values_of(fg::tril(s, x.in())), {1, 0, 1, 1});
  };
  check(bool());
  check(f64());
  check(fg::f8e5m2());
}

TEST(triangle, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> row({4}), x({3, 4}), out({3, 4});
  EXPECT_RAISES(fg::tril(s, row.in()), invalid_argument, "tril");
  EXPECT_RAISES(fg::triu(s, x.in(), out.view().narrow(1, 0, 3)), shape_mismatch, "triu");
  EXPECT_RAISES(fg::triu(s, x.in().narrow(0, 0, 2), x.view().narrow(0, 1, 2)), overlap, "triu");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
