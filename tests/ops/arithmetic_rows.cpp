// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The rows of the table of ops/arithmetic.hpp, and what follows from other operators.
#include <flaggems/ops/arithmetic.hpp>
#include <support/pointwise_tables.hpp>

namespace flaggems_test {
namespace {

FLAGGEMS_ARITHMETIC_TABLE(TEST_UNARY, TEST_BINARY, TEST_PAIR1, TEST_TERNARY)
using rows =
    row_list<void FLAGGEMS_ARITHMETIC_TABLE(TEST_LISTED, TEST_LISTED, TEST_LISTED, TEST_LISTED)>;

template <class D>
class arithmetic_rows : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(arithmetic_rows, devices);

TYPED_TEST(arithmetic_rows, rows) { check_table<TypeParam, rows>(); }

using values = std::vector<double>;

TYPED_TEST(arithmetic_rows, integers_by_zero) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  at_every_level<D>([&] {
    test_tensor<fg::i32, D> a({4}, layout::contiguous, {7, -7, -2147483648.0, 0});
    test_tensor<fg::i32, D> b({4}, layout::contiguous, {0, 0, -1, 0});
    expect_equal(values_of(fg::fmod(stream, a.in(), b.in())), {7, -7, 0, 0});
    expect_equal(values_of(fg::remainder(stream, a.in(), b.in())), {7, -7, 0, 0});
    expect_equal(values_of(fg::gcd(stream, a.in(), b.in())), {7, 7, 1, 0});
    expect_equal(values_of(fg::lcm(stream, a.in(), b.in())), {0, 0, -2147483648.0, 0});
    expect_equal(values_of(fg::floor_divide(stream, a.in(), 2)), {3, -4, -1073741824.0, 0});
    expect_equal(values_of(fg::remainder(stream, -7, fg::as_scalar(a.in().select(0, 0)))), {0});
  });
}

// By attempts, of which one in a vector fails where a quotient has many digits; a division by zero
// and a limit are among them.
TYPED_TEST(arithmetic_rows, remainders_of_small_floats) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  const shape sizes{203};
  values a = random_values(sizes), b = random_values(sizes), rest, floored;
  for (std::size_t k = 0; k < a.size(); ++k) {
    a[k] = double{bf16(static_cast<f32>(a[k] * (k % 40 == 3 ? 0x1p60 : 1)))};
    b[k] = double{bf16(static_cast<f32>(k % 50 == 9 ? 0x1p-130 : k % 60 == 11 ? 0 : b[k]))};
    if (k % 70 == 20) b[k] = std::numeric_limits<double>::infinity();
    rest.push_back(std::fmod(a[k], b[k]));
    floored.push_back(rest[k] != 0 && (rest[k] < 0) != (b[k] < 0) ? rest[k] + b[k] : rest[k]);
  }
  test_tensor<bf16, D> x(sizes, layout::contiguous, a), y(sizes, layout::contiguous, b);
  const values got = values_of(fg::fmod(stream, x.in(), y.in())),
               above = values_of(fg::remainder(stream, x.in(), y.in()));
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double nearest = double{bf16(static_cast<f32>(floored[k]))};
    EXPECT_TRUE(std::isnan(rest[k]) ? std::isnan(got[k]) : got[k] == rest[k])
        << a[k] << ' ' << b[k];
    EXPECT_TRUE(std::isnan(nearest) ? std::isnan(above[k]) : above[k] == nearest)
        << a[k] << ' ' << b[k] << ": " << above[k];
  }
}

// As of Python's //: the rest of a division by infinity is the dividend itself.
TYPED_TEST(arithmetic_rows, floor_of_infinities) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  at_every_level<D>([&] {
    test_tensor<f32, D> a({7}, layout::contiguous, {-3, 3, -3, inf, 0, inf, -1});
    test_tensor<f32, D> b({7}, layout::contiguous, {inf, -inf, -inf, 0.001, -inf, 0, 0});
    expect_close<f32>(values_of(fg::floor_divide(stream, a.in(), b.in())),
                      {-1, -1, 0, nan, 0, inf, -inf});
    test_tensor<f64, D> c({3}, layout::contiguous, {-3, inf, 7});
    test_tensor<f64, D> d({3}, layout::contiguous, {inf, 2, inf});
    expect_close<f64>(values_of(fg::floor_divide(stream, c.in(), d.in())), {-1, nan, 0});
  });
}

TYPED_TEST(arithmetic_rows, of_other_operators) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  const shape sizes{3, 7};
  test_tensor<f32, D> a(sizes, layout::strided, random_values(sizes));
  test_tensor<f32, D> b({7}, layout::contiguous, random_values({7}, 1, 3)), out(sizes);
  const auto check = [&](auto formula) {
    values want;
    for (std::size_t k = 0; k < 21; ++k) want.push_back(formula(a.values()[k], b.values()[k % 7]));
    expect_close<f32>(out.read(), want, {1e-6, 1e-6});
  };
  fg::rsub(stream, a.in(), b.in(), out.view(), 2);
  check([](double x, double y) { return y - 2 * x; });
  fg::add_relu(stream, a.in(), b.in(), out.view(), -1);
  check([](double x, double y) { return x > y ? x - y : 0; });
  fg::addcmul(stream, a.in(), a.in(), b.in(), out.view(), 0.5);
  check([](double x, double y) { return x + x * y / 2; });
  fg::addcdiv(stream, a.in(), a.in(), b.in(), out.view(), -3);
  check([](double x, double y) { return x - 3 * x / y; });
  fg::masked_fill(stream, a.in(), fg::gt(b.in(), 2), 7, out.view());
  check([](double x, double y) { return y > 2 ? 7 : x; });
  fg::clip(stream, a.in(), -1, std::nullopt, out.view());
  check([](double x, double) { return x < -1 ? -1 : x; });
  fg::clamp_max(stream, a.in(), b.in(), out.view());
  check([](double x, double y) { return x < y ? x : y; });
  fg::true_divide(stream, a.in(), b.in(), out.view());
  check([](double x, double y) { return x / y; });
  fg::floor_divide(stream, a.in(), b.in(), out.view());
  check([](double x, double y) { return std::floor(x / y); });
  const auto in_place = [&](auto change, auto formula) {
    test_tensor<f32, D> x(sizes, layout::contiguous, a.values());
    change(x.view());
    values want;
    for (std::size_t k = 0; k < 21; ++k) want.push_back(formula(a.values()[k], b.values()[k % 7]));
    expect_close<f32>(x.read(), want, {1e-6, 1e-6});
  };
  in_place([&](auto x) { fg::addcmul_(stream, x, b.in(), b.in()); },
           [](double x, double y) { return x + y * y; });
  in_place([&](auto x) { fg::addcdiv_(stream, x, 1, b.in(), 2); },
           [](double x, double y) { return x + 2 / y; });
  in_place([&](auto x) { fg::masked_fill_(stream, x, fg::le(b.in(), 2), -1.5); },
           [](double x, double y) { return y <= 2 ? -1.5 : x; });
  in_place([&](auto x) { fg::add_relu_(stream, x, b.in()); },
           [](double x, double y) { return x + y > 0 ? x + y : 0; });
  in_place([&](auto x) { fg::floor_divide_(stream, x, b.in()); },
           [](double x, double y) { return std::floor(x / y); });
  in_place([&](auto x) { fg::multiply_(stream, x, b.in()); },
           [](double x, double y) { return x * y; });
  in_place([&](auto x) { fg::clamp_min_(stream, x, 0.5); },
           [](double x, double) { return x < 0.5 ? 0.5 : x; });
  // Integers stay what they are.
  test_tensor<fg::i32, D> i({3}, layout::contiguous, {1, -2, 3});
  static_assert(std::is_same_v<
                fg::value_t<decltype(fg::masked_fill(stream, i.in(), fg::gt(i.in(), 0), i64{5}))>,
                fg::i32>);
  expect_equal(values_of(fg::masked_fill(stream, i.in(), fg::gt(i.in(), 0), i64{5})), {5, -2, 5});
  expect_equal(values_of(fg::addcmul(stream, i.in(), i.in(), i.in(), 2)), {3, 6, 21});
  EXPECT_RAISES((void)fg::masked_fill(stream, i.in(), fg::gt(i.in(), 0), i64{1} << 40),
                invalid_argument, "where");
  EXPECT_RAISES(fg::addcmul(stream, a.in(), i.in(), b.in(), out.view()), shape_mismatch, "addcmul");
  EXPECT_RAISES(fg::masked_fill_(stream, i.view(), fg::gt(a.in(), 0), 1), shape_mismatch,
                "masked_fill_");
}

}  // namespace
}  // namespace flaggems_test
