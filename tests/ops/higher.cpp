// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/higher.hpp>
#include <support/higher_reference.hpp>
#include <support/pointwise_tables.hpp>

namespace flaggems_test {
namespace {

FLAGGEMS_HIGHER_TABLE(TEST_UNARY, TEST_PREDICATE, TEST_PAIR, TEST_BINARY)
using rows =
    row_list<void FLAGGEMS_HIGHER_TABLE(TEST_LISTED, TEST_LISTED, TEST_LISTED, TEST_LISTED)>;

template <class D>
class higher : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(higher, devices);

/// In f32; on the host every sixth row in another dtype, as functions are the same text for all.
TYPED_TEST(higher, rows) {
  using D = TypeParam;
  rows::for_each_place([]<class Row, int K>() {
    table_check<Row, f32, D>::run_all();
    if constexpr (std::is_same_v<D, host> && K % 6 == 0)
      table_check<Row, std::tuple_element_t<K / 6 % 4, std::tuple<f64, bf16, fg::i64, f16>>,
                  D>::run_all();
  });
}

constexpr double inf = std::numeric_limits<double>::infinity();

template <class D>
class higher_orders : public ::testing::Test {};
TYPED_TEST_SUITE(higher_orders, devices);

TYPED_TEST(higher_orders, polygamma_and_mvlgamma) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  // The last two: near a zero of n = 2 and of n = 4, where terms cancel.
  const std::vector<double> at{0.25, 1, 2.5, 9, -0.5, 0, -3.4996562f, -30.4921875};
  test_tensor<f32, D> x({8}, layout::strided, at), out({8}, layout::negative);
  for (const int n : {0, 1, 2, 5}) {
    std::vector<double> want;
    for (const double v : at)
      want.push_back(n == 0 ? reference::digamma(v)
                            : (n % 2 ? 1 : -1) * std::tgamma(n + 1.0) *
                                  reference::special_zeta(n + 1.0, v));
    fg::polygamma(stream, n, x.in(), out.view());
    expect_close<f32>(out.read(), want, {3e-6, 0});
    expect_equal(values_of(fg::polygamma(stream, n, x.in())), out.read());
    expect_equal(values_of(fg::special_polygamma(stream, n, x.in())), out.read());
  }
  std::vector<double> want;
  for (const double v : at)
    want.push_back(std::lgamma(v) + std::lgamma(v - 0.5) + std::lgamma(v - 1) +
                   1.5 * std::log(3.14159265358979324));
  fg::mvlgamma(stream, x.in(), out.view(), 3);
  expect_close<f32>(out.read(), want, {3e-6, 0});
  expect_equal(values_of(fg::mvlgamma(stream, x.in(), 3)), out.read());
  EXPECT_TRUE(out.gaps_untouched() && x.untouched());
  EXPECT_RAISES(fg::polygamma(stream, -1, x.in(), out.view()), invalid_argument, "polygamma");
  EXPECT_RAISES(fg::mvlgamma(stream, x.in(), out.view(), 0), invalid_argument, "mvlgamma");
  EXPECT_RAISES(fg::polygamma(stream, 1, x.in(), out.view().narrow(0, 0, 5)), shape_mismatch,
                "polygamma");
  fg::polygamma_(stream, x.view(), 0);
  fg::mvlgamma_(stream, out.view(), 1);
  test_tensor<f32, D> a({2}, layout::strided, {0.5, 2}), b({2}, layout::contiguous, {1, 3});
  const std::vector<double> q = values_of(fg::igammac(stream, a.in(), b.in()));
  fg::igamma_(stream, a.view(), b.in());
  expect_close<f32>(a.read(), {1 - q[0], 1 - q[1]}, {1e-6, 0});
  const std::vector<double> next = values_of(fg::igammac(stream, a.in(), b.in()));
  fg::igammac_(stream, a.view(), b.in());
  expect_equal(a.read(), next);
  EXPECT_EQ(x.read()[5], -inf);
}

TYPED_TEST(higher_orders, polygamma_of_integers) {
  using D = TypeParam;
  test_tensor<fg::i32, D> whole({2}, layout::contiguous, {1, 2});
  expect_close<f32>(values_of(fg::polygamma(test_stream<D>(), 1, whole.in())),
                    {1.6449340668482264, 0.6449340668482264}, {1e-6, 0});
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

const double nan = std::nan("");

/// f(x) for these x, in f64.
template <class F>
void check_values(const char* name, const std::vector<double>& x, const std::vector<double>& want,
                  const F& f) {
  SCOPED_TRACE(name);
  test_tensor<f64> in({static_cast<i64>(x.size())}, layout::strided, x);
  expect_close<f64>(values_of(f(in.in())), want, {3e-14, 0});
}
template <class F>
void check_values(const char* name, const std::vector<double>& x, const std::vector<double>& y,
                  const std::vector<double>& want, const F& f) {
  SCOPED_TRACE(name);
  const i64 n = static_cast<i64>(x.size());
  test_tensor<f64> a({n}, layout::strided, x), b({n}, layout::negative, y);
  expect_close<f64>(values_of(f(a.in(), b.in())), want, {3e-14, 0});
}
#define CHECK_VALUES(name, ...)    \
  check_values(#name, __VA_ARGS__, \
               [](const auto&... x) { return fg::name(test_stream<host>(), x...); })

// Limits, and values far from zero, of mpmath.
TEST(higher_functions, values) {
  CHECK_VALUES(lgamma,
               {0.0, -3.0, inf, -inf, nan, 1.0, 2.0, 1e-300, 1e-10, 100.5, 1000000000000000.0, -0.5,
                -1e-10, -100.25},
               {inf, inf, inf, inf, nan, 0.0, 0.0, 690.77552789821371, 23.025850929882735,
                361.43554046777762, 33538776394910669.0, 1.2655121234846454, 23.025850929998178,
                -363.40092322782154});
  CHECK_VALUES(digamma,
               {0.0, -3.0, inf, -inf, nan, 1e-10, 100.5, 1000000000000000.0, -0.5, -100.25},
               {-inf, nan, inf, nan, nan, -10000000000.577215, 4.6051743525818452,
                34.538776394910685, 0.036489973978576521, 7.7542389592086454});
  CHECK_VALUES(i0, {nan, 0.0, 9.5, 100.0, -700.0},
               {nan, 1.0, 1753.4809905273227, 1.0737517071310738e+42, 1.5295933476718737e+302});
  CHECK_VALUES(special_i0e, {nan, inf, 9.5, 100.0, -10000000000.0},
               {nan, 0.0, 0.13125126081426789, 0.039944379299096683, 3.9894228040641946e-6});
  CHECK_VALUES(special_i1, {nan, 0.0, 1e-20, 9.5, 100.0, -700.0},
               {nan, 0.0, 4.9999999999999997e-21, 1658.4530777821342, 1.0683693903381625e+42,
                -1.5285003902339007e+302});
  CHECK_VALUES(special_i1e, {nan, inf, 9.5, 100.0, -10000000000.0},
               {nan, 0.0, 0.12413824765488179, 0.039744153025130253, -3.9894228038647234e-6});
  CHECK_VALUES(special_bessel_j0, {nan, 0.0, inf, 6.5, 100.0, -1000.0},
               {nan, 1.0, nan, 0.26009460558160638, 0.019985850304223122, 0.024786686152420175});
  CHECK_VALUES(
      special_bessel_j1, {nan, 0.0, inf, 6.5, 100.0, -1000.0},
      {nan, 0.0, nan, -0.15384130140997184, -0.077145352014112158, -0.0047283119070895239});
  CHECK_VALUES(special_bessel_y0, {nan, 0.0, -1.0, 1e-20, 6.5, 100.0, 1000.0},
               {nan, -inf, nan, -29.391228250285797, -0.17324243491898234, -0.077244313365083152,
                0.0047159179776228134});
  CHECK_VALUES(special_bessel_y1, {nan, 0.0, -1.0, 1e-20, 6.5, 100.0, 1000.0},
               {nan, -inf, nan, -6.3661977236758138e+19, -0.27409127395927545,
                -0.020372312002759793, -0.024784331292351779});
  CHECK_VALUES(special_modified_bessel_k0, {nan, 0.0, -1.0, inf, 1e-20, 6.5, 100.0, 600.0},
               {nan, inf, nan, 0.0, 46.167633375539326, 0.00072593176762933535,
                4.656628229175902e-45, 1.3558285309948524e-262});
  CHECK_VALUES(special_modified_bessel_k1, {nan, 0.0, -1.0, inf, 1e-20, 6.5, 100.0, 600.0},
               {nan, inf, nan, 0.0, 1.0000000000000001e+20, 0.00077989439822380366,
                4.6798537356369093e-45, 1.3569579181128061e-262});
  CHECK_VALUES(
      special_scaled_modified_bessel_k0, {nan, 0.0, -1.0, inf, 6.5, 100.0, 600.0},
      {nan, inf, nan, 0.0, 0.48284744139975632, 0.12517562165912658, 0.051155685720235964});
  CHECK_VALUES(
      special_scaled_modified_bessel_k1, {nan, 0.0, -1.0, inf, 6.5, 100.0, 600.0},
      {nan, inf, nan, 0.0, 0.51874023363673062, 0.12579995047957853, 0.051198297725472443});
  CHECK_VALUES(special_airy_ai, {nan, inf, -inf, 5.5, 20.0, -6.5, -20.0},
               {nan, nan, nan, 3.3685311908599814e-5, 1.6916728686705403e-27, -0.2380203019971158,
                -0.17640612707798469});
  CHECK_VALUES(special_erfcx, {nan, inf, -inf, 5.5, 15.0, 100.0, 10000000000.0, -5.0},
               {nan, 0.0, inf, 0.10096221839949909, 0.037529606388505766, 0.0056416137829894329,
                5.6418958354775629e-11, 144009798674.66104});
  CHECK_VALUES(igamma,
               {0.0, 0.0, 2.0, -1.0, 1.0, inf, 1.0, inf, nan, 0.001, 0.5, 20.0, 50.0, 300.0, 300.0,
                10000.0, 10000.0},
               {0.0, 1.0, 0.0, 1.0, -1.0, 1.0, inf, inf, 1.0, 0.001, 20.0, 10.0, 60.0, 310.0, 250.0,
                9900.0, 12000.0},
               {nan, 1.0, 0.0, nan, nan, 0.0, 1.0, nan, nan, 0.99368764670886029,
                0.99999999974603714, 0.0034543419758568077, 0.91559331890630817,
                0.72248875417186111, 0.0011623936310546183, 0.15865119219356466, 1.0});
  CHECK_VALUES(
      igammac,
      {0.0, 0.0, 2.0, -1.0, 1.0, inf, 1.0, inf, nan, 0.001, 0.5, 20.0, 50.0, 300.0, 300.0, 10000.0},
      {0.0, 1.0, 0.0, 1.0, -1.0, 1.0, inf, inf, 1.0, 0.001, 20.0, 10.0, 60.0, 310.0, 250.0, 9900.0},
      {nan, 0.0, 1.0, nan, nan, 1.0, 0.0, nan, nan, 0.0063123532911397099, 2.539628589470865e-10,
       0.99654565802414319, 0.08440668109369183, 0.27751124582813889, 0.99883760636894538,
       0.84134880780643534});
  CHECK_VALUES(special_zeta, {1.0, 0.5, 2.0, 2.0, 2.5, nan, 1.001, 2.0, 30.0, 3.0},
               {2.0, 1.0, 0.0, -3.0, -0.5, 1.0, 1.0, 100000.0, 0.5, 0.25},
               {inf, nan, inf, inf, nan, nan, 1000.5772884760116, 1.0000050000166667e-5,
                1073741824.0000052, 64.66386996876846});
}

// The terms below zero, whose sign alternates.
TEST(higher_functions, zeta_of_negative_numbers) {
  const double s = 3, q = -2.25, above = fg::kernels::zeta_at::at(s, q + 3);
  const double want = above + std::pow(q, -s) + std::pow(q + 1, -s) + std::pow(q + 2, -s);
  EXPECT_NEAR(fg::kernels::zeta_at::at(s, q), want, 1e-12);
}

TEST(higher_functions, degrees) {
  for (const double n : {-1.0, nan, inf, -0.5, 2.5})
    EXPECT_EQ(fg::kernels::chebyshev_t(0.5, n), n == -0.5 ? 1 : n == 2.5 ? -0.5 : 0) << n;
  EXPECT_NEAR(fg::kernels::chebyshev_u(0.3, 50.0),
              std::sin(51 * std::acos(0.3)) / std::sin(std::acos(0.3)), 1e-13);
  EXPECT_TRUE(std::isnan(fg::kernels::hermite_h(0.5, 600.0)));
  EXPECT_EQ(fg::kernels::legendre_p(-1.0, 600.0), 1);
}

#endif

}  // namespace
}  // namespace flaggems_test
