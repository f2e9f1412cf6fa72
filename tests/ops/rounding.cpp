// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/rounding.hpp>
#include <support/pointwise_tables.hpp>

namespace flaggems_test {
namespace {

FLAGGEMS_ROUNDING_TABLE(TEST_UNARY, TEST_BINARY)
using rows = row_list<void FLAGGEMS_ROUNDING_TABLE(TEST_LISTED, TEST_LISTED)>;

template <class D>
class rounding : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(rounding, devices);

TYPED_TEST(rounding, rows) { check_table<TypeParam, rows>(); }

template <class Case>
class rounding_parts : public ::testing::Test {};
TYPED_TEST_SUITE(rounding_parts, wide_float_cases);

TYPED_TEST(rounding_parts, frexp_and_nextafter) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& stream = test_stream<D>();
  std::vector<double> all = special_values();
  const i64 n = static_cast<i64>(all.size());
  at_every_level<D>([&] {
    test_tensor<T, D> x({n}, layout::strided, all), m({n}, layout::negative);
    test_tensor<fg::i32, D> e({n});
    fg::frexp(stream, x.in(), m.view(), e.view());
    std::vector<double> want, powers;
    for (const double v : x.values()) {
      int power = 0;
      want.push_back(std::frexp(v, &power));
      powers.push_back(std::isfinite(v) ? power : 0);
    }
    expect_equal(m.read(), want);
    expect_equal(e.read(), powers);
    // The neighbour in T: nothing lies between, and the way back leads back.
    for (const double to : {HUGE_VAL, -HUGE_VAL, 0.0, 1.0}) {
      test_tensor<T, D> goal({n}, layout::contiguous, std::vector<double>(all.size(), to));
      test_tensor<T, D> next({n}), back({n});
      fg::nextafter(stream, x.in(), goal.in(), next.view());
      fg::nextafter(stream, next.in(), x.in(), back.view());
      fg::nextafter_(stream, goal.view(), goal.in());  // equal: no step
      EXPECT_EQ(goal.read()[0], to);
      const auto got = next.read(), returned = back.read();
      for (std::size_t k = 0; k < got.size(); ++k) {
        const double v = x.values()[k];
        if (std::isnan(v) || v == to) {
          EXPECT_TRUE(got[k] == v || (std::isnan(v) && std::isnan(got[k]))) << v;
          continue;
        }
        EXPECT_EQ(got[k] > v, to > v) << v << " to " << to;
        EXPECT_EQ(returned[k], v) << v << " to " << to;
        const T halfway = fg::kernels::number_cast<T>(v / 2 + got[k] / 2);
        const double middle = fg::kernels::number_cast<f64>(halfway);
        EXPECT_TRUE(std::isinf(v) || std::isinf(got[k]) || middle == v || middle == got[k])
            << v << " to " << got[k];
      }
    }
  });
}

TYPED_TEST(rounding, decimals) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  test_tensor<f64, D> x({6}, layout::strided, {1.25, -0.375, 149.5, -250, 0.5, 1e300}), out({6});
  fg::round(stream, x.in(), out.view(), 1);
  expect_close<f64>(out.read(), {1.2, -0.4, 149.5, -250, 0.5, 1e300}, {1e-15, 0});
  expect_equal(values_of(fg::round(stream, x.in(), -2)), {0, -0.0, 100, -200, 0, 1e300});
  expect_equal(values_of(fg::round(stream, x.in(), 0)), {1, -0.0, 150, -250, 0, 1e300});
  (void)fg::round(stream, x.in(), std::numeric_limits<fg::i64>::min());  // has no opposite
  fg::round_(stream, x.view(), -1);
  expect_equal(x.read(), {0, -0.0, 150, -250, 0, 1e300});
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(rounding_names, of_other_libraries) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({4}, layout::contiguous, {1.5, -1.5, 0, -7});
  expect_equal(values_of(fg::fix(stream, x.in())), {1, -1, 0, -7});
  expect_equal(values_of(fg::evaluate(stream, fg::sgn(x.in()))), {1, -1, 0, -1});
  fg::fix_(stream, x.view());
  expect_equal(x.read(), {1, -1, 0, -7});
}

#endif

}  // namespace
}  // namespace flaggems_test
