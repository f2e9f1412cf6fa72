// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/batch_norm.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using values = std::vector<double>;

template <class T>
tolerance near() {
  tolerance tol = tolerance_of<T>(2);
  if (sizeof(T) == 4) tol = {8e-6, 8e-6};
  if (sizeof(T) == 8) tol = {1e-12, 1e-12};
  return tol;
}

/// Norms by the definition: of x [n, c, own], by channel, or by channel of each instance.
struct expected {
  values out, mean, rstd, running_mean, running_var, input, weight, bias;

  expected(const values& x, const values& grad, i64 n, i64 c, i64 own, bool by_instance,
           bool training, const values& w, const values& b, const values& from_mean,
           const values& from_var, double momentum, double eps)
      : out(x.size()), running_mean(from_mean), running_var(from_var), input(x.size()) {
    for (i64 channel = 0; channel < c; ++channel) {
      const auto at = static_cast<std::size_t>(channel);
      const double scale = w.empty() ? 1 : w[at], shift = b.empty() ? 0 : b[at];
      const i64 rows = by_instance && training ? n : 1, of_row = n / rows;
      double mean_step = 0, var_step = 0, of_weight = 0, of_bias = 0;
      for (i64 row = 0; row < rows; ++row) {
        const auto each = [&](const auto& f) {
          for (i64 i = row * of_row; i < (row + 1) * of_row; ++i)
            for (i64 k = 0; k < own; ++k) f(static_cast<std::size_t>((i * c + channel) * own + k));
        };
        const auto count = static_cast<double>(of_row * own);
        double m = 0, squares = 0, sum = 0, product = 0;
        each([&](std::size_t k) { m += x[k] / count; });
        each([&](std::size_t k) { squares += (x[k] - m) * (x[k] - m); });
        mean_step += m / static_cast<double>(rows);
        var_step += squares / (count - 1) / static_cast<double>(rows);
        if (!training) m = from_mean[at];
        const double r = 1 / std::sqrt((training ? squares / count : from_var[at]) + eps);
        mean.push_back(m), rstd.push_back(r);
        each([&](std::size_t k) {
          out[k] = (x[k] - m) * r * scale + shift;
          sum += grad[k], product += grad[k] * (x[k] - m) * r;
        });
        each([&](std::size_t k) {
          input[k] =
              r * scale *
              (training ? grad[k] - sum / count - (x[k] - m) * r * product / count : grad[k]);
        });
        of_weight += product, of_bias += sum;
      }
      weight.push_back(of_weight), bias.push_back(of_bias);
      if (training && !from_mean.empty()) {
        running_mean[at] = (1 - momentum) * from_mean[at] + momentum * mean_step;
        running_var[at] = (1 - momentum) * from_var[at] + momentum * var_step;
      }
    }
  }
};

/// Forward, running statistics and gradients; x [n, c, ...].
template <class D, class T, class W = T>
void check(const shape& sizes, layout how, bool training, bool weighed = true) {
  SCOPED_TRACE(std::string(to_string(how)) + ", sizes " + fg::to_string(sizes) +
               (training ? ", training" : "") + (weighed ? "" : ", without weight"));
  const auto& s = test_stream<D>();
  const shape channels{sizes[1]};
  const double eps = 1e-3, momentum = 0.25;
  i64 own = 1;
  for (int d = 2; d < sizes.rank(); ++d) own *= sizes[d];
  test_tensor<T, D> x(sizes, how, random_values(sizes, -1, 3)), out(sizes, how),
      grad(sizes, how, random_values(sizes));
  test_tensor<W, D> w(channels, how, random_values(channels)),
      b(channels, how, random_values(channels)), mean(channels, how, random_values(channels, 0, 1)),
      var(channels, how, random_values(channels, 0.5, 2));
  using Saved = fg::detail::saved_type<T>;
  test_tensor<Saved, D> save_mean(channels, how), save_rstd(channels, how);
  const std::optional weight = weighed ? std::optional(w.in()) : std::nullopt;
  const std::optional bias = weighed ? std::optional(b.in()) : std::nullopt;
  const auto given = [&](const auto& t) { return weighed ? t.values() : values(); };
  const expected want(x.values(), grad.values(), sizes[0], sizes[1], own, false, training, given(w),
                      given(b), mean.values(), var.values(), momentum, eps);
  const auto gradients = [&] {
    const auto got =
        fg::native_batch_norm_backward(s, grad.in(), x.in(), weight, mean.in(), var.in(),
                                       save_mean.in(), save_rstd.in(), training, eps);
    expect_close<T>(values_of(*got.input), want.input, near<T>());
    tolerance sums = near<T>();
    sums.atol *= 8;
    expect_close<W>(values_of(*got.weight), want.weight, sums);
    expect_close<W>(values_of(*got.bias), want.bias, sums);
  };
  fg::native_batch_norm(s, x.in(), weight, bias, mean.view(), var.view(), out.view(),
                        save_mean.view(), save_rstd.view(), training, momentum, eps);
  expect_close<T>(out.read(), want.out, near<T>());
  expect_close<Saved>(save_mean.read(), want.mean, near<Saved>());
  expect_close<Saved>(save_rstd.read(), want.rstd, near<Saved>());
  expect_close<W>(mean.read(), want.running_mean, near<W>());
  expect_close<W>(var.read(), want.running_var, near<W>());
  EXPECT_TRUE(out.gaps_untouched() && save_mean.gaps_untouched() && save_rstd.gaps_untouched() &&
              mean.gaps_untouched() && var.gaps_untouched() && x.untouched() && w.untouched());
  gradients();
}

template <class Case>
class batch_norm : public ::testing::Test {};
using some_cases = cases<on_host<f32, bf16, f64>, on_chips<bf16>>;
TYPED_TEST_SUITE(batch_norm, some_cases);

TYPED_TEST(batch_norm, dtypes) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const bool training : {true, false}) {
      check<D, T>({3, 5, 2, 7}, layout::contiguous, training);
      check<D, T>({9, 4}, layout::contiguous, training, false);
    }
  });
}

template <class Device>
class batch_norm_layouts : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(batch_norm_layouts, devices);

TYPED_TEST(batch_norm_layouts, all) {
  for (const layout how : output_layouts) check<TypeParam, f32>({2, 3, 4, 3}, how, true);
  check<TypeParam, bf16, f32>({2, 3, 35}, layout::contiguous, true);
  check<TypeParam, bf16, f32>({2, 3, 35}, layout::contiguous, false, false);
}

/// The names that other back ends have.
TYPED_TEST(batch_norm_layouts, names) {
  const auto& s = test_stream<TypeParam>();
  const shape sizes{3, 2, 4}, channels{2};
  test_tensor<f32, TypeParam> x(sizes, layout::contiguous, random_values(sizes)),
      w(channels, layout::contiguous, random_values(channels)),
      mean(channels, layout::contiguous, random_values(channels)),
      var(channels, layout::contiguous, random_values(channels, 1, 2)), stepped(channels),
      stepped_var(channels);
  const auto kept = mean.values(), kept_var = var.values();
  const auto want = fg::native_batch_norm_legit_functional(s, x.in(), w.in(), std::nullopt,
                                                           mean.in(), var.in(), true, 0.5, 1e-5);
  EXPECT_TRUE(mean.untouched() && var.untouched());
  const auto updated = fg::batch_norm_with_update_functional(s, x.in(), w.in(), std::nullopt,
                                                             mean.in(), var.in(), 0.5, 1e-5);
  expect_equal(values_of(std::get<0>(updated)), values_of(std::get<0>(want)));
  expect_equal(values_of(std::get<4>(updated)), values_of(std::get<3>(want)));
  expect_equal(values_of(std::get<5>(updated)), values_of(std::get<4>(want)));
  EXPECT_EQ(std::get<3>(updated).numel(), 0);
  const auto without =
      fg::native_batch_norm_legit(s, x.in(), w.in(), std::nullopt, true, 0.5, 1e-5);
  expect_equal(values_of(without.out), values_of(std::get<0>(want)));
  const auto fixed = fg::native_batch_norm_legit_no_training(s, x.in(), w.in(), std::nullopt,
                                                             mean.in(), var.in(), 0.5, 1e-5);
  const auto reserved =
      fg::batch_norm_no_update(s, x.in(), w.in(), std::nullopt, mean.in(), var.in(), 0.5, 1e-5);
  expect_equal(values_of(std::get<0>(reserved)), values_of(fixed.out));
  expect_equal(values_of(fixed.mean), kept);
  const auto g =
      fg::native_batch_norm_backward(s, x.in(), x.in(), w.in(), std::nullopt, std::nullopt,
                                     without.mean, without.rstd, true, 1e-5);
  const auto by_cudnn =
      fg::cudnn_batch_norm_backward(s, x.in(), x.in(), w.in(), std::nullopt, std::nullopt,
                                    without.mean, without.rstd, 1e-5, std::nullopt);
  expect_equal(values_of(*by_cudnn.input), values_of(*g.input));
  const auto by_index = fg::batch_norm_impl_index_backward(
      s, 1, x.in(), x.in(), w.in(), std::nullopt, std::nullopt, without.mean, without.rstd, true,
      1e-5, {true, false, true}, std::nullopt);
  expect_equal(values_of(*by_index.input), values_of(*g.input));
  EXPECT_FALSE(by_index.weight);
  EXPECT_RAISES((void)fg::batch_norm_impl_index_backward(
                    s, 3, x.in(), x.in(), w.in(), std::nullopt, std::nullopt, without.mean,
                    without.rstd, true, 1e-5, {true, true, true}, std::nullopt),
                invalid_argument, "batch_norm_impl_index_backward");
  const auto indexed = fg::batch_norm_impl_index(s, x.in(), w.in(), std::nullopt, std::nullopt,
                                                 std::nullopt, true, 0.5, 1e-5);
  expect_equal(values_of(std::get<0>(indexed)), values_of(std::get<0>(want)));
  EXPECT_EQ(std::get<3>(indexed).numel(), 0);
  fg::copy_(s, stepped.view(), mean.in());
  fg::copy_(s, stepped_var.view(), var.in());
  const auto last = fg::cudnn_batch_norm(s, x.in(), w.in(), std::nullopt, stepped.view(),
                                         stepped_var.view(), true, 0.5, 1e-5);
  expect_equal(values_of(std::get<0>(last)), values_of(std::get<0>(want)));
  expect_equal(stepped.read(), values_of(std::get<3>(want)));
  expect_equal(stepped_var.read(), values_of(std::get<4>(want)));
}

TYPED_TEST(batch_norm_layouts, instances) {
  const auto& s = test_stream<TypeParam>();
  const shape sizes{3, 4, 5}, channels{4};
  for (const layout how : {layout::contiguous, layout::strided})
    for (const bool own_statistics : {true, false}) {
      test_tensor<f32, TypeParam> x(sizes, how, random_values(sizes, -1, 3)),
          w(channels, how, random_values(channels)), b(channels, how, random_values(channels)),
          mean(channels, how, random_values(channels)),
          var(channels, how, random_values(channels, 1, 2));
      const expected want(x.values(), x.values(), 3, 4, 5, true, own_statistics, w.values(),
                          b.values(), mean.values(), var.values(), 0.25, 1e-3);
      const auto out = fg::instance_norm(s, x.in(), w.in(), b.in(), mean.view(), var.view(),
                                         own_statistics, 0.25, 1e-3);
      expect_close<f32>(values_of(out), want.out, near<f32>());
      expect_close<f32>(mean.read(), want.running_mean, near<f32>());
      expect_close<f32>(var.read(), want.running_var, near<f32>());
      if (own_statistics)
        expect_close<f32>(values_of(fg::instance_norm(s, x.in(), w.in(), b.in(), std::nullopt,
                                                      std::nullopt, true, 0.1, 1e-3)),
                          want.out, near<f32>());
    }
}

TYPED_TEST(batch_norm_layouts, special_values) {
  const auto& s = test_stream<TypeParam>();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  test_tensor<f32, TypeParam> x({2, 2}, layout::contiguous, {1e4, nan, 1e4, 2}), none({0, 2, 3}),
      mean({2}, layout::contiguous, {0, 0}), var({2}, layout::contiguous, {1, 1});
  const auto got = values_of(fg::batch_norm(s, x.in(), std::nullopt, std::nullopt, std::nullopt,
                                            std::nullopt, true, 0.1, 1e-5));
  EXPECT_EQ(got[0], 0);
  EXPECT_TRUE(std::isnan(got[1]) && std::isnan(got[3]));
  EXPECT_EQ(fg::batch_norm(s, none.in(), std::nullopt, std::nullopt, mean.in(), var.in(), false,
                           0.1, 1e-5)
                .numel(),
            0);
  // Of no elements no statistics are made, and none is read.
  test_tensor<f32, TypeParam> flat({0});
  EXPECT_EQ(fg::batch_norm(s, flat.in(), std::nullopt, std::nullopt, flat.in(), flat.in(), true,
                           0.1, 1e-5)
                .shape_of(),
            shape{0});
  const auto r = fg::native_batch_norm_backward(s, x.in(), x.in(), std::nullopt, mean.in(),
                                                var.in(), flat.in(), flat.in(), false, 1e-5);
  EXPECT_TRUE(r.input.has_value());
}

TYPED_TEST(batch_norm_layouts, bad_input) {
  const auto& s = test_stream<TypeParam>();
  test_tensor<f32, TypeParam> x({2, 3, 4}), out({2, 3, 4}),
      three({3}, layout::contiguous, {1, 1, 1}), other({3}), two({2}), none({0, 3, 4}), mean({3}),
      rstd({3});
  const auto run = [&](const auto& from, const auto& w, const auto& running_mean,
                       const auto& running_var, bool training) {
    fg::native_batch_norm(s, from, w, std::nullopt, running_mean, running_var, out.view(),
                          mean.view(), rstd.view(), training, 0.1, 1e-5);
  };
  const char* op = "native_batch_norm";
  EXPECT_RAISES(run(x.in(), std::nullopt, std::nullopt, std::nullopt, false), invalid_argument, op);
  EXPECT_RAISES(run(x.in(), two.in(), std::nullopt, std::nullopt, true), shape_mismatch, op);
  EXPECT_RAISES(run(x.in(), std::nullopt, two.view(), three.view(), true), shape_mismatch, op);
  EXPECT_RAISES(run(x.in(), std::nullopt, three.in(), other.in(), true), invalid_argument, op);
  EXPECT_RAISES(run(x.in(), std::nullopt, three.view(), three.view(), true), overlap, op);
  EXPECT_RAISES(run(x.in(), std::nullopt, mean.view(), three.view(), true), overlap, op);
  EXPECT_RAISES(run(three.in(), std::nullopt, std::nullopt, std::nullopt, true), invalid_argument,
                op);
  EXPECT_RAISES(
      (void)fg::native_batch_norm_legit(s, none.in(), std::nullopt, std::nullopt, true, 0.1, 1e-5),
      invalid_argument, op);
  EXPECT_RAISES(
      (void)fg::native_batch_norm_backward(s, x.in(), x.in(), std::nullopt, std::nullopt,
                                           std::nullopt, std::nullopt, std::nullopt, true, 1e-5),
      invalid_argument, "native_batch_norm_backward");
  EXPECT_TRUE(out.untouched() && mean.untouched());
}

}  // namespace
}  // namespace flaggems_test
