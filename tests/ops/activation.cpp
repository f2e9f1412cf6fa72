// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/activation.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using values = std::vector<double>;

double silu(double x) { return x / (1 + std::exp(-x)); }
double gelu(double x, bool by_tanh) {
  if (by_tanh) return x / 2 * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
  return x / 2 * std::erfc(-x * 0.70710678118654752440);
}
template <class F>
values map(const values& x, F&& f) {
  values y;
  for (const double v : x) y.push_back(f(v));
  return y;
}
template <class F>
values map(const values& x, const values& y, F&& f) {
  values z;
  for (std::size_t k = 0; k < x.size(); ++k) z.push_back(f(x[k], y[k]));
  return z;
}

template <class D, class T>
void check(const shape& sizes, layout in, layout to) {
  SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to));
  const auto& stream = test_stream<D>();
  test_tensor<T, D> x(sizes, in, random_values(sizes, -6, 6));
  test_tensor<T, D> y(sizes, in, random_values(sizes));
  tolerance tol = tolerance_of<T>();
  if (sizeof(T) == 4) tol = {2e-6, 1e-9};
  if (sizeof(T) == 8) tol = {1e-12, 1e-15};
  for (const bool by_tanh : {false, true}) {
    const auto how = by_tanh ? fg::gelu_approximate::tanh : fg::gelu_approximate::none;
    const auto f = [&](double v) { return gelu(v, by_tanh); };
    const auto g = [&](double v, double w) { return gelu(v, by_tanh) * w; };
    test_tensor<T, D> out(sizes, to), gated(sizes, to);
    fg::gelu(stream, x.in(), out.view(), how);
    expect_close<T>(out.read(), map(x.values(), f), tol);
    fg::gelu_and_mul(stream, x.in(), y.in(), gated.view(), how);
    expect_close<T>(gated.read(), map(x.values(), y.values(), g), tol);
    EXPECT_TRUE(out.gaps_untouched() && gated.gaps_untouched());
  }
  test_tensor<T, D> out(sizes, to);
  fg::silu_and_mul(stream, x.in(), y.in(), out.view());
  expect_close<T>(out.read(),
                  map(x.values(), y.values(), [](double v, double w) { return silu(v) * w; }), tol);
  EXPECT_TRUE(out.gaps_untouched() && x.untouched() && y.untouched());
}

template <class Case>
class activation_test : public ::testing::Test {};
TYPED_TEST_SUITE(activation_test, float_cases);

TYPED_TEST(activation_test, contiguous) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 n : {0, 1, 7, 16, 100})
      check<D, T>({3, n}, layout::contiguous, layout::contiguous);
  });
}

template <class Device>
class activation_layouts : public ::testing::Test {};
using devices = elementwise_devices<chip32>;
TYPED_TEST_SUITE(activation_layouts, devices);

TYPED_TEST(activation_layouts, all) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts) check<TypeParam, f32>({3, 2, 17}, in, to);
  });
}

TEST(activation, halves_of_one_tensor) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({4, 20}, layout::contiguous, random_values({4, 20})), out({4, 10});
  fg::silu_and_mul(stream, x.in().narrow(-1, 0, 10), x.in().narrow(-1, 10, 10), out.view());
  values want;
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t k = 0; k < 10; ++k)
      want.push_back(silu(x.values()[r * 20 + k]) * x.values()[r * 20 + 10 + k]);
  expect_close<f32>(out.read(), want, {2e-6, 1e-9});
}

TEST(activation, other_forms) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({2, 9}, layout::contiguous, random_values({2, 9})), y({9}), out({2, 9});
  const auto f = [](double v) { return gelu(v, false); };
  expect_close<f32>(values_of(fg::gelu(stream, x.in())), map(x.values(), f), {2e-6, 1e-9});
  fg::assign(stream, out.view(), fg::gelu(x.in()));
  expect_close<f32>(out.read(), map(x.values(), f), {2e-6, 1e-9});
  EXPECT_EQ(fg::silu_and_mul(stream, x.in(), y.in()).shape_of(), (shape{2, 9}));
  EXPECT_EQ(fg::gelu_and_mul(stream, x.in(), y.in()).shape_of(), (shape{2, 9}));
  fg::gelu_(stream, x.view());
  expect_close<f32>(x.read(), map(x.values(), f), {2e-6, 1e-9});
}

TEST(activation, refuses_bad_arguments) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({4, 6}, layout::contiguous, random_values({4, 6})), y({5}), out({4, 6});
  EXPECT_RAISES(fg::silu_and_mul(stream, x.in(), y.in(), out.view()), shape_mismatch,
                "silu_and_mul");
  EXPECT_RAISES(fg::gelu_and_mul(stream, x.in(), x.in(), out.view().t()), shape_mismatch,
                "gelu_and_mul");
  EXPECT_RAISES(fg::gelu(stream, x.in(), x.view().flip({0})), overlap, "gelu");
  EXPECT_TRUE(x.untouched() && out.untouched());
}

}  // namespace
}  // namespace flaggems_test
