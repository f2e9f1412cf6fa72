// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/native_norm.hpp>
#include <flaggems/ops/norm.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using values = std::vector<double>;

/// Mean, 1 / deviation, 1 / root mean square of each slice of n, and the gradients of both norms.
struct expected {
  values mean, rstd, inverse_rms, layer, rms, layer_weight, rms_weight, bias;
  expected(const values& g, const values& x, const values& w, std::size_t n, double eps)
      : layer_weight(n), rms_weight(n), bias(n) {
    const double count = static_cast<double>(n);
    for (std::size_t start = 0; start < x.size(); start += n) {
      double m = 0, squares = 0, variance = 0;
      for (std::size_t k = start; k < start + n; ++k) m += x[k] / count;
      for (std::size_t k = start; k < start + n; ++k) {
        variance += (x[k] - m) * (x[k] - m) / count;
        squares += x[k] * x[k] / count;
      }
      const double s = 1 / std::sqrt(variance + eps), q = 1 / std::sqrt(squares + eps);
      mean.push_back(m);
      rstd.push_back(s);
      inverse_rms.push_back(q);
      double sum = 0, of_layer = 0, of_rms = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const double h = g[start + k] * (w.empty() ? 1 : w[k]), v = x[start + k];
        sum += h / count;
        of_layer += h * (v - m) * s / count;
        of_rms += h * v * q / count;
        layer_weight[k] += g[start + k] * (v - m) * s;
        rms_weight[k] += g[start + k] * v * q;
        bias[k] += g[start + k];
      }
      for (std::size_t k = 0; k < n; ++k) {
        const double h = g[start + k] * (w.empty() ? 1 : w[k]), v = x[start + k];
        layer.push_back(s * (h - sum - (v - m) * s * of_layer));
        rms.push_back(q * (h - v * q * of_rms));
      }
    }
  }
};

template <class T>
tolerance near(i64 terms = 1) {
  tolerance tol = tolerance_of<T>();
  if (sizeof(T) == 4) tol = {4e-6, 4e-6};
  if (sizeof(T) == 8) tol = {1e-12, 1e-12};
  tol.atol *= std::sqrt(static_cast<double>(terms));
  return tol;
}

/// T of the tensors, W of the weights, M of what is kept.
template <class D, class T, class W = T, class M = fg::detail::saved_type<T>>
void check(const shape& sizes, const shape& normalized, layout in, layout to,
           bool has_weight = true) {
  SCOPED_TRACE(std::string(to_string(in)) + ", to " + to_string(to) + ", sizes " +
               fg::to_string(sizes) + " over " + fg::to_string(normalized));
  const auto& stream = test_stream<D>();
  const double eps = 1e-3;
  shape saved(sizes);
  for (int d = 0; d < normalized.rank(); ++d) saved[sizes.rank() - 1 - d] = 1;
  test_tensor<T, D> x(sizes, in, random_values(sizes, -1, 2)),
      g(sizes, to, random_values(sizes, -1, 1));
  test_tensor<W, D> w(normalized, in, random_values(normalized)),
      b(normalized, to, random_values(normalized));
  const std::optional weight = has_weight ? std::optional(w.in()) : std::nullopt;
  const std::optional bias = has_weight ? std::optional(b.in()) : std::nullopt;
  const expected want(g.values(), x.values(), has_weight ? w.values() : values(),
                      static_cast<std::size_t>(normalized.numel()), eps);
  test_tensor<T, D> out(sizes, to), again(sizes, to);
  test_tensor<M, D> mean(saved, to), rstd(saved, in == layout::broadcast ? layout::strided : in);
  fg::native_layer_norm(stream, x.in(), normalized, weight, bias, out.view(), mean.view(),
                        rstd.view(), eps);
  fg::layer_norm(stream, x.in(), normalized, weight, bias, again.view(), eps);
  expect_close<T>(out.read(), again.read(), near<T>());
  expect_close<M>(mean.read(), want.mean, near<M>());
  expect_close<M>(rstd.read(), want.rstd, near<M>());
  EXPECT_TRUE(mean.gaps_untouched());

  test_tensor<T, D> grad(sizes, to);
  test_tensor<W, D> grad_weight(normalized, to), grad_bias(normalized);
  fg::native_layer_norm_backward(stream, g.in(), x.in(), normalized, mean.in(), rstd.in(), weight,
                                 bias, grad.view(), grad_weight.view(), grad_bias.view());
  const i64 rows = saved.numel();
  tolerance of_grad = near<T>(), of_weight = near<W>(rows);
  if (sizeof(M) == 2) of_grad.atol = of_weight.atol = 0.02;  // what was kept is rounded
  expect_close<T>(grad.read(), want.layer, of_grad);
  expect_close<W>(grad_weight.read(), want.layer_weight, of_weight);
  expect_close<W>(grad_bias.read(), want.bias, near<W>(rows));
  EXPECT_TRUE(grad.gaps_untouched());
  EXPECT_TRUE(grad_weight.gaps_untouched());

  fg::fused_rms_norm(stream, x.in(), normalized, weight, out.view(), rstd.view(), eps);
  fg::rms_norm(stream, x.in(), normalized, weight, again.view(), eps);
  expect_close<T>(out.read(), again.read(), near<T>());
  expect_close<M>(rstd.read(), want.inverse_rms, near<M>());
  fg::fused_rms_norm_backward(stream, g.in(), x.in(), normalized, rstd.in(), weight, grad.view(),
                              grad_weight.view());
  expect_close<T>(grad.read(), want.rms, of_grad);
  expect_close<W>(grad_weight.read(), want.rms_weight, of_weight);
  EXPECT_TRUE(x.untouched());
  EXPECT_TRUE(g.untouched());
  EXPECT_TRUE(w.untouched());
}

template <class Case>
class native_norm : public ::testing::Test {};
// (Sums of formulas take long to compile; other dtypes differ from these in loads and stores.)
using some_cases = cases<on_host<f32, bf16>, on_chips<f32>>;
TYPED_TEST_SUITE(native_norm, some_cases);

TYPED_TEST(native_norm, contiguous) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 n : {1, 2, 15, 16, 64, 300})
      check<D, T>({5, n}, {n}, layout::contiguous, layout::contiguous, n != 64);
    check<D, T>({2, 3, 4, 9}, {4, 9}, layout::contiguous, layout::contiguous);
    check<D, T>({7}, {7}, layout::contiguous, layout::contiguous);
  });
}

template <class Device>
class native_norm_layouts : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(native_norm_layouts, devices);

TYPED_TEST(native_norm_layouts, all) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts) check<TypeParam, f32>({3, 2, 4, 19}, {4, 19}, in, to);
  });
}

// A block holds all of one row, of another a cluster of blocks does not.
TYPED_TEST(native_norm_layouts, long_rows) {
  check<TypeParam, f32>({3, 6001}, {6001}, layout::contiguous, layout::contiguous);
  check<TypeParam, f32>({2, 40000}, {40000}, layout::contiguous, layout::contiguous);
}

#if FLAGGEMS_TEST_HOST
TEST(native_norm_on_host, mixed_dtypes) {
  check<host, bf16, f32>({3, 40}, {40}, layout::contiguous, layout::contiguous);
  check<host, bf16, bf16, bf16>({3, 40}, {40}, layout::contiguous, layout::contiguous);
  check<host, f32, f64, f64>({3, 17}, {17}, layout::contiguous, layout::strided);
}
#endif

// The gradient of x may take the place of what it is computed from.
TYPED_TEST(native_norm_layouts, gradient_in_place) {
  const auto& stream = test_stream<TypeParam>();
  const shape sizes{3, 24}, last{24};
  test_tensor<f32, TypeParam> x(sizes, layout::contiguous, random_values(sizes)),
      g(sizes, layout::contiguous, random_values(sizes)),
      w(last, layout::contiguous, random_values(last)), grad_weight(last), grad_bias(last);
  auto kept = fg::native_layer_norm(stream, x.in(), last, w.in(), std::nullopt, 1e-5);
  const expected want(g.values(), x.values(), w.values(), 24, 1e-5);
  fg::native_layer_norm_backward(stream, g.in(), x.in(), last, kept.mean, kept.rstd, w.in(),
                                 std::nullopt, g.view(), grad_weight.view(), grad_bias.view());
  expect_close<f32>(g.read(), want.layer, near<f32>());
  expect_close<f32>(grad_weight.read(), want.layer_weight, near<f32>(3));
  expect_close<f32>(grad_bias.read(), want.bias, near<f32>(3));
}

// What is not asked for is not computed; slices of no elements have no mean.
TYPED_TEST(native_norm_layouts, rms_gradient_by_its_other_name) {
  const auto& s = test_stream<TypeParam>();
  test_tensor<f32, TypeParam> x({3, 5}, layout::contiguous, random_values({3, 5})),
      g({3, 5}, layout::contiguous, random_values({3, 5})),
      w({5}, layout::contiguous, {1, 2, 3, 4, 5});
  const auto kept = fg::rms_norm_forward(s, x.in(), {5}, w.in());
  const auto got = fg::rms_norm_backward(s, g.in(), x.in(), kept.rstd, {5}, w.in());
  const auto want = fg::fused_rms_norm_backward(s, g.in(), x.in(), {5}, kept.rstd, w.in());
  expect_equal(values_of(*got.input), values_of(*want.input));
  expect_equal(values_of(*got.weight), values_of(*want.weight));
}

TYPED_TEST(native_norm_layouts, rms_norm_of_a_weight_from_one) {
  const auto& s = test_stream<TypeParam>();
  test_tensor<f32, TypeParam> x({5, 12}, layout::strided, random_values({5, 12})),
      g({5, 12}, layout::strided, random_values({5, 12})),
      w({12}, layout::strided, random_values({12}));
  std::vector<double> one = w.values();
  for (double& v : one) v += 1;
  test_tensor<f32, TypeParam> sum({12}, layout::contiguous, one);
  for (const bool from_one : {false, true}) {
    const auto by = from_one ? sum.in() : w.in();
    const auto got = fg::te_rmsnorm_fwd(s, x.in(), w.in(), 1e-3, from_one);
    const auto want = fg::fused_rms_norm(s, x.in(), {12}, by, 1e-3);
    EXPECT_EQ(got.rstd.shape_of(), (shape{5}));
    expect_close<f32>(values_of(got.out), values_of(want.out));
    expect_close<f32>(values_of(got.rstd), values_of(want.rstd));
    const auto back = fg::te_rmsnorm_bwd(s, g.in(), x.in(), got.rstd, w.in(), from_one);
    const auto back_want = fg::fused_rms_norm_backward(s, g.in(), x.in(), {12}, want.rstd, by);
    expect_close<f32>(values_of(*back.input), values_of(*back_want.input));
    expect_close<f32>(values_of(*back.weight), values_of(*back_want.weight));
  }
}

TYPED_TEST(native_norm_layouts, absent_and_empty) {
  const auto& stream = test_stream<TypeParam>();
  const shape sizes{2, 5};
  test_tensor<f32, TypeParam> x(sizes, layout::contiguous, random_values(sizes));
  const auto kept = fg::native_layer_norm(stream, x.in(), {5}, std::nullopt, std::nullopt, 1e-5);
  const auto some =
      fg::native_layer_norm_backward(stream, x.in(), x.in(), {5}, kept.mean, kept.rstd,
                                     std::nullopt, std::nullopt, {false, true, false});
  EXPECT_FALSE(some.input || some.bias);
  EXPECT_EQ(some.weight->shape_of(), shape({5}));
  const auto rms = fg::fused_rms_norm(stream, x.in(), {5}, std::nullopt, std::nullopt);
  EXPECT_FALSE(fg::fused_rms_norm_backward(stream, x.in(), x.in(), {5}, rms.rstd, std::nullopt,
                                           {true, false})
                   .weight);
  test_tensor<f32, TypeParam> none({2, 0});
  const auto nothing =
      fg::native_layer_norm(stream, none.in(), {0}, std::nullopt, std::nullopt, 1e-5);
  for (const double v : values_of(nothing.mean)) EXPECT_TRUE(std::isnan(v));
  for (const double v : values_of(nothing.rstd)) EXPECT_TRUE(std::isnan(v));
  // Of no slices, parameters have a gradient of 0.
  test_tensor<f32, TypeParam> no_rows({0, 5});
  const auto empty =
      fg::native_layer_norm(stream, no_rows.in(), {5}, std::nullopt, std::nullopt, 1e-5);
  const auto zero = fg::native_layer_norm_backward(
      stream, no_rows.in(), no_rows.in(), {5}, empty.mean, empty.rstd, std::nullopt, std::nullopt);
  expect_equal(values_of(*zero.weight), values(5, 0.0));
  expect_equal(values_of(*zero.bias), values(5, 0.0));
}

// A variance that no number holds scales by 0.
TYPED_TEST(native_norm_layouts, infinite_variance) {
  const auto& stream = test_stream<TypeParam>();
  test_tensor<f32, TypeParam> x({2, 4}, layout::contiguous,
                                {3.4e38, 3.4e38, 3.4e38, 3.3e38, 3e30, -3e30, 2e30, 1e30});
  const auto r = fg::native_layer_norm(stream, x.in(), {4}, std::nullopt, std::nullopt, 1e-5);
  expect_equal(values_of(r.rstd), values{0, 0});
  expect_equal(values_of(r.out), values(8, 0.0));
  expect_equal(values_of(fg::layer_norm(stream, x.in(), {4})), values(8, 0.0));
}

// Eight dimensions, all of them normalised over: there is nothing to sum for the parameters.
TYPED_TEST(native_norm_layouts, of_all_dimensions) {
  check<TypeParam, f32>({1, 2, 1, 1, 1, 1, 2, 3}, {1, 2, 1, 1, 1, 1, 2, 3}, layout::contiguous,
                        layout::contiguous);
}

TYPED_TEST(native_norm_layouts, bad_input) {
  const auto& stream = test_stream<TypeParam>();
  const shape sizes{4, 6};
  test_tensor<f32, TypeParam> x(sizes, layout::contiguous, random_values(sizes)), w({6}),
      out(sizes), mean({4, 1}), rstd({4, 1}), five({5});
  const auto forward = [&](const auto& weight, const auto& to, const auto& m, const auto& r) {
    fg::native_layer_norm(stream, x.in(), {6}, weight, std::nullopt, to, m, r, 1e-5);
  };
  EXPECT_RAISES(forward(five.in(), out.view(), mean.view(), rstd.view()), shape_mismatch,
                "native_layer_norm");
  EXPECT_RAISES(forward(w.in(), out.view(), mean.view().squeeze(1), rstd.view()), shape_mismatch,
                "native_layer_norm");
  EXPECT_RAISES(forward(w.in(), out.view(), mean.view(), mean.view()), overlap,
                "native_layer_norm");
  EXPECT_RAISES(forward(w.in(), out.view(), out.view().narrow(1, 0, 1), rstd.view()), overlap,
                "native_layer_norm");
  const auto backward = [&](const auto& grad, const auto& m, const auto& gx, const auto& gw) {
    fg::native_layer_norm_backward(stream, grad, x.in(), {6}, m, rstd.in(), w.in(), std::nullopt,
                                   gx, gw, std::nullopt);
  };
  EXPECT_RAISES(backward(x.in().narrow(0, 0, 3), mean.in(), out.view(), w.view()), shape_mismatch,
                "native_layer_norm_backward");
  EXPECT_RAISES(backward(x.in(), five.in(), out.view(), w.view()), shape_mismatch,
                "native_layer_norm_backward");
  EXPECT_RAISES(backward(x.in(), mean.in(), out.view(), w.view()), overlap,
                "native_layer_norm_backward");
  test_tensor<f32, TypeParam> apart({6});
  EXPECT_RAISES(fg::native_layer_norm_backward(
                    stream, out.in().narrow(0, 0, 3), x.in().narrow(0, 0, 3), {6},
                    mean.in().narrow(0, 0, 3), rstd.in().narrow(0, 0, 3), w.in(), std::nullopt,
                    out.view().narrow(0, 1, 3), apart.view(), std::nullopt),
                overlap, "native_layer_norm_backward");
  EXPECT_TRUE(apart.untouched());
  EXPECT_RAISES(backward(x.in(), mean.in(), out.view(), five.view()), shape_mismatch,
                "native_layer_norm_backward");
  EXPECT_RAISES(fg::fused_rms_norm(stream, x.in(), {6}, w.in(), out.view(), five.view(), 1e-5),
                shape_mismatch, "fused_rms_norm");
  EXPECT_RAISES(fg::fused_rms_norm_backward(stream, x.in(), x.in(), {6}, five.in(), w.in(),
                                            out.view(), std::nullopt),
                shape_mismatch, "fused_rms_norm_backward");
  EXPECT_TRUE(out.untouched());
  EXPECT_TRUE(mean.untouched());
  EXPECT_TRUE(w.untouched());
}

}  // namespace
}  // namespace flaggems_test
