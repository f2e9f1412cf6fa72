// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/arithmetic.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using values = std::vector<double>;
using fg::i32;
namespace rm = fg::rounding_mode;

[[maybe_unused]] constexpr double inf = std::numeric_limits<double>::infinity();
[[maybe_unused]] const double nan = std::nan("");

template <class T, class D = host>
test_tensor<T, D> vector_of(const values& x) {
  return test_tensor<T, D>({static_cast<i64>(x.size())}, layout::contiguous, x);
}
template <class F>
values map(const values& x, const values& y, F&& f) {
  values z;
  for (std::size_t k = 0; k < x.size(); ++k) z.push_back(f(x[k], y[k]));
  return z;
}

#if !FLAGGEMS_TEST_REDUCED  // the kernels of floating point are those of the pointwise tests
template <class Case>
class arithmetic_test : public ::testing::Test {};
TYPED_TEST_SUITE(arithmetic_test, float_cases);

TYPED_TEST(arithmetic_test, add_and_sub_with_alpha) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& stream = test_stream<D>();
  at_every_level<D>([&] {
    const shape sizes{3, 21};
    test_tensor<T, D> x(sizes, layout::transposed, random_values(sizes));
    test_tensor<T, D> y(sizes, layout::contiguous, random_values(sizes)), out(sizes);
    tolerance tol = tolerance_of<T>();
    if (sizeof(T) >= 4) tol = {1e-6, 1e-6};
    fg::add(stream, x.in(), y.in(), out.view(), 2.5);
    expect_close<T>(out.read(),
                    map(x.values(), y.values(), [](double a, double b) { return a + 2.5 * b; }),
                    tol);
    fg::sub_(stream, y.view(), x.in(), 3);
    expect_close<T>(y.read(),
                    map(y.values(), x.values(), [](double a, double b) { return a - 3 * b; }), tol);
  });
}

TYPED_TEST(arithmetic_test, div_with_rounding) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& stream = test_stream<D>();
  at_every_level<D>([&] {
    auto x =
        vector_of<T, D>({7, -7, 7, -7, 1, -1, 6, 0.5, -0.5, 0, 1, -1, nan, inf, 100, 2.75, -9});
    auto y = vector_of<T, D>({2, 2, -2, -2, 3, 3, 3, 1, 1, 5, 0, 0, 1, 2, 0.125, -1, inf});
    test_tensor<T, D> out(x.sizes());
    fg::div(stream, x.in(), y.in(), out.view(), rm::trunc);
    expect_equal(out.read(),
                 map(x.values(), y.values(), [](double a, double b) { return std::trunc(a / b); }));
    fg::div(stream, x.in(), y.in(), out.view(), rm::floor);
    expect_equal(out.read(), map(x.values(), y.values(), [](double a, double b) {
                   if (std::isinf(a) && b != 0) return nan;
                   if (std::isinf(b) && a * b < 0) return -1.0;
                   return std::floor(a / b);
                 }));
  });
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(arithmetic, floor_of_a_quotient_that_rounds_up) {
  // 1 / 0.1f is 9.99999985...: rounded to f32 it is 10.
  auto x = vector_of<f32>({1, 5, -1});
  auto y = vector_of<f32>({0.1, 0.1, 0.1});
  expect_equal(values_of(fg::div(test_stream<host>(), x.in(), y.in(), rm::floor)), {9, 49, -10});
  auto u = vector_of<f64>({1, -1});
  auto v = vector_of<f64>({0.1, 0.1});
  expect_equal(values_of(fg::div(test_stream<host>(), u.in(), v.in(), rm::floor)), {9, -10});
}
#endif

#endif

template <class D>
class arithmetic_integers : public ::testing::Test {};
using devices = elementwise_devices<chip32>;
TYPED_TEST_SUITE(arithmetic_integers, devices);

TYPED_TEST(arithmetic_integers, div) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  at_every_level<D>([&] {
    auto x = vector_of<i32, D>(
        {7, -7, 7, -7, 6, 0, 5, -5, -2147483648.0, -2147483648.0, 1, 9, 9, 9, 9, 9, -9});
    auto y = vector_of<i32, D>({2, 2, -2, -2, 3, 5, 0, 0, -1, 2, -3, 1, 2, 3, 4, 5, 5});
    const auto trunc = fg::div(stream, x.in(), y.in(), rm::trunc);
    static_assert(std::is_same_v<typename decltype(trunc)::element_type, i32>);
    expect_equal(values_of(trunc),
                 {3, -3, -3, 3, 2, 0, 0, 0, -2147483648.0, -1073741824.0, 0, 9, 4, 3, 2, 1, -1});
    expect_equal(values_of(fg::div(stream, x.in(), y.in(), rm::floor)),
                 {3, -4, -4, 3, 2, 0, 0, 0, -2147483648.0, -1073741824.0, -1, 9, 4, 3, 2, 1, -2});
    const auto exact = fg::div(stream, x.in(), 2, rm::none);
    static_assert(std::is_same_v<typename decltype(exact)::element_type, f32>);
    expect_equal(values_of(exact)[0] == 3.5 ? values{1} : values{0}, {1});
    fg::div_(stream, x.view(), 2, rm::floor);
    EXPECT_EQ(x.read()[1], -4);
  });
}

/// Quotients that the processor would trap at, in vectors and alone.
template <class D, class T>
void check_undefined_quotients() {
  const auto& stream = test_stream<D>();
  const T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  const T minus_one = static_cast<T>(-1);  // the largest one where there is no sign
  std::vector<T> x, y, want;
  for (int k = 0; k < 7; ++k)
    for (const T a : {T(0), T(1), minus_one, least, most, T(7)})
      for (const T b : {T(0), minus_one}) {
        x.push_back(a);
        y.push_back(b);
        const bool is_minus = b != T(0) && std::is_signed_v<T>;
        want.push_back(b == T(0)    ? T(0)
                       : !is_minus  ? static_cast<T>(a / b)
                       : a == least ? least
                                    : static_cast<T>(-a));
      }
  const i64 n = static_cast<i64>(x.size());
  const auto to_device = [&](const std::vector<T>& list) {
    return fg::from_values<T>(stream, std::span<const T>(list), {n});
  };
  const auto a = to_device(x), b = to_device(y);
  at_every_level<D>([&] {
    const auto trunc = fg::to_host(stream, fg::div(stream, a, b, rm::trunc));
    const auto floor = fg::to_host(stream, fg::div(stream, a, b, rm::floor));
    const auto by_zero = fg::to_host(stream, fg::div(stream, a, 0, rm::floor));
    for (i64 k = 0; k < n; ++k) {
      const auto at = static_cast<std::size_t>(k);
      ASSERT_EQ(trunc(k), want[at]) << k;
      ASSERT_EQ(floor(k), want[at]) << k;
      ASSERT_EQ(by_zero(k), T(0)) << k;
    }
    for (i64 k = 0; k < 12; ++k) {
      const auto one = fg::to_host(
          stream, fg::div(stream, a.view().narrow(0, k, 1), b.view().narrow(0, k, 1), rm::floor));
      ASSERT_EQ(one(0), want[static_cast<std::size_t>(k)]) << k;
    }
  });
}
TYPED_TEST(arithmetic_integers, quotients_that_processors_trap_at) {
  check_undefined_quotients<TypeParam, i64>();
#if !FLAGGEMS_TEST_REDUCED
  check_undefined_quotients<TypeParam, std::int8_t>();
  check_undefined_quotients<TypeParam, std::uint8_t>();
#endif
}

TYPED_TEST(arithmetic_integers, add_alpha_and_clamp) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  auto x = vector_of<i32, D>({1, -5, 9});
  auto y = vector_of<i32, D>({10, 20, 30});
  const auto sum = fg::add(stream, x.in(), y.in(), -2);
  static_assert(std::is_same_v<typename decltype(sum)::element_type, i32>);
  expect_equal(values_of(sum), {-19, -45, -51});
  // An integer alpha of any type; bool operands take it as true or false.
  expect_equal(values_of(fg::sub(stream, x.in(), y.in(), std::uint8_t{2})), {-19, -45, -51});
  expect_equal(values_of(fg::add(stream, x.in(), y.in(), i64{3})), {31, 55, 99});
  auto p = vector_of<bool, D>({1, 0, 1, 0}), q = vector_of<bool, D>({1, 1, 0, 0});
  for (const int alpha : {1, 2, -1, 256})
    expect_equal(values_of(fg::add(stream, p.in(), q.in(), alpha)), {1, 1, 1, 0});
  expect_equal(values_of(fg::add(stream, p.in(), q.in(), 0)), {1, 0, 1, 0});
  expect_equal(values_of(fg::add(stream, p.in(), q.in(), true)), {1, 1, 1, 0});
  expect_equal(values_of(fg::clamp(stream, x.in(), std::nullopt, 3)), {1, -5, 3});
  expect_equal(values_of(fg::clamp(stream, x.in(), 2, std::nullopt)), {2, 2, 9});
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

#if !FLAGGEMS_TEST_REDUCED
TEST(arithmetic, clamp_with_one_bound) {
  const auto& stream = test_stream<host>();
  auto x = vector_of<f32>({-3, 0, 3, nan, inf, -inf});
  auto bound = vector_of<f32>({1, 1, nan, 1, 1, 1});
  expect_equal(values_of(fg::clamp(stream, x.in(), std::nullopt, 1.0F)), {-3, 0, 1, nan, 1, -inf});
  expect_equal(values_of(fg::clamp(stream, x.in(), bound.in(), std::nullopt)),
               {1, 1, nan, nan, inf, 1});
  std::optional<double> low, high = 2.0;
  expect_equal(values_of(fg::clamp(stream, x.in(), low, high)), {-3, 0, 2, nan, 2, -inf});
  low = -1.0;
  expect_equal(values_of(fg::clamp(stream, x.in(), low, high)), {-1, 0, 2, nan, 2, -1});
  EXPECT_RAISES(fg::clamp(stream, x.in(), std::nullopt, std::nullopt), invalid_argument, "clamp");
  fg::clamp_(stream, x.view(), 0.5F, std::nullopt);
  expect_equal(x.read(), {0.5, 0.5, 3, nan, inf, 0.5});
  test_tensor<f32> out({6});
  fg::clamp(stream, x.in(), std::nullopt, 1, out.view());
  expect_equal(out.read(), {0.5, 0.5, 1, nan, 1, 0.5});
}

TEST(arithmetic, pow_with_numbers) {
  const auto& stream = test_stream<host>();
  auto n = vector_of<i32>({-3, 0, 2, 5, -1});
  const auto cubes = fg::pow(stream, n.in(), 3);
  static_assert(std::is_same_v<decltype(cubes)::element_type, i32>);
  expect_equal(values_of(cubes), {-27, 0, 8, 125, -1});
  expect_equal(values_of(fg::pow(stream, n.in(), 0)), {1, 1, 1, 1, 1});
  EXPECT_RAISES(fg::pow(stream, n.in(), -1), invalid_argument, "pow");
  const auto roots = fg::pow(stream, n.in(), 0.5);
  static_assert(std::is_same_v<decltype(roots)::element_type, f32>);
  expect_close<f32>(values_of(roots), {nan, 0, std::sqrt(2.0), std::sqrt(5.0), nan}, {1e-6, 0});
  auto e = vector_of<i64>({0, 1, 5, 10, 62});
  expect_equal(values_of(fg::pow(stream, 2, e.in())), {1, 2, 32, 1024, 0x1p62});
  auto x = vector_of<f32>({-2, -0.0, 0.5, 3, inf});
  expect_close<f32>(values_of(fg::pow(stream, x.in(), -2)), {0.25, inf, 4, 1.0 / 9, 0}, {1e-6, 0});
  expect_close<f32>(values_of(fg::pow(stream, x.in(), 3)), {-8, 0, 0.125, 27, inf}, {1e-6, 0});
  expect_close<f32>(values_of(fg::pow(stream, 2.0F, x.in())), {0.25, 1, std::sqrt(2.0), 8, inf},
                    {1e-6, 0});
  test_tensor<i32> out({5});
  fg::pow(stream, n.in(), 2, out.view());
  expect_equal(out.read(), {9, 0, 4, 25, 1});
  fg::pow_(stream, n.view(), 2);
  expect_equal(n.read(), {9, 0, 4, 25, 1});
  EXPECT_RAISES(fg::pow_(stream, n.view(), -2), invalid_argument, "pow");
}

#endif

TEST(arithmetic, refuses_bad_arguments) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({4, 6}, layout::contiguous, random_values({4, 6})), y({5}), out({4, 6});
  EXPECT_RAISES(fg::add(stream, x.in(), y.in(), out.view(), 2), shape_mismatch, "add");
  EXPECT_RAISES(fg::sub(stream, x.in(), x.in(), out.view().t(), 2), shape_mismatch, "sub");
  EXPECT_RAISES(fg::div(stream, x.in(), 2, x.view().flip({0}), rm::floor), overlap, "div");
  EXPECT_RAISES(fg::clamp_(stream, x.view().narrow(0, 0, 1).expand({4, 6}), 0, std::nullopt),
                overlap, "clamp_");
  EXPECT_TRUE(x.untouched() && out.untouched());
}

#endif

}  // namespace
}  // namespace flaggems_test
