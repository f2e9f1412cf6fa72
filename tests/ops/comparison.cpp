// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/comparison.hpp>
#include <support/pointwise_tables.hpp>

namespace flaggems_test {
namespace {

FLAGGEMS_COMPARISON_TABLE(TEST_PREDICATE)
using rows = row_list<void FLAGGEMS_COMPARISON_TABLE(TEST_LISTED)>;

template <class D>
class comparison : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(comparison, devices);

TYPED_TEST(comparison, rows) { check_table<TypeParam, rows>(); }

template <class Case>
class comparison_isclose : public ::testing::Test {};
using close_cases = cases<on_host<f32, bf16, fg::i32>, on_chips<f32>, on_wide<f32>>;
TYPED_TEST_SUITE(comparison_isclose, close_cases);

TYPED_TEST(comparison_isclose, all_pairs) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const std::vector<double> all = {0,    1,     2,    1.25,     -1,        100,         101,
                                   1e10, -1e10, 1e-6, HUGE_VAL, -HUGE_VAL, std::nan("")};
  const i64 n = std::is_integral_v<T> ? 7 : static_cast<i64>(all.size());
  at_every_level<D>([&] {
    for (const bool equal_nan : {false, true})
      for (const double rtol : {1e-5, 0.0, 0.25}) {
        test_tensor<T, D> a({n, 1}, layout::contiguous, all), b({n}, layout::strided, all);
        test_tensor<bool, D> out({n, n}, layout::transposed);
        fg::isclose(test_stream<D>(), a.in(), b.in(), out.view(), {rtol, 1e-8, equal_nan});
        std::vector<double> want;
        for (const double x : a.values())
          for (const double y : b.values()) {
            const double distance = std::abs(x - y);
            const bool close = x == y ||
                               (std::isfinite(distance) && distance <= 1e-8 + rtol * std::abs(y)) ||
                               (equal_nan && std::isnan(x) && std::isnan(y));
            want.push_back(close ? 1 : 0);
          }
        expect_equal(out.read(), want);
      }
  });
  test_tensor<T, D> a({3}), b({4});
  test_tensor<bool, D> out({3});
  EXPECT_RAISES(fg::isclose(test_stream<D>(), a.in(), b.in(), out.view()), shape_mismatch,
                "isclose");
  EXPECT_RAISES(fg::isclose(test_stream<D>(), a.in(), a.in(), out.view(), {-1, 0, false}),
                invalid_argument, "isclose");
  EXPECT_TRUE(out.untouched());
}

/// f32 does not tell these integers from each other.
TYPED_TEST(comparison, isclose_of_integers) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  at_every_level<D>([&] {
    test_tensor<fg::i64, D> a({3}, layout::contiguous, {16777216, 16777216, 3}),
        b({3}, layout::strided, {16777217, 16777216, 4});
    expect_equal(values_of(fg::isclose(stream, a.in(), b.in(), {0, 0, false})), {0, 1, 0});
    expect_equal(values_of(fg::isclose(stream, a.in(), b.in(), {1e-9, 0, false})), {1, 1, 0});
    expect_equal(values_of(fg::isclose(stream, a.in(), b.in(), {0, 1, false})), {1, 1, 1});
    test_tensor<fg::i32, D> c({3}, layout::contiguous, {16777217, 16777216, 3});
    expect_equal(values_of(fg::isclose(stream, a.in(), c.in(), {0, 0, true})), {0, 1, 1});
  });
}

}  // namespace
}  // namespace flaggems_test
