// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Losses and their gradients against formulas in double, with every reduction.
#include <flaggems/ops/loss.hpp>
#include <support/ops.hpp>

#include <functional>
#include <numeric>

namespace flaggems_test {
namespace {

template <class Case>
class loss : public ::testing::Test {};
using loss_cases = cases<on_host<f32>, on_chips<f32>, on_wide<f32>>;  // a loss has six kernels
TYPED_TEST_SUITE(loss, loss_cases);

using values = std::vector<double>;
using formula = std::function<double(double, double)>;
using fg::reduction;

double bound(double d, double b) {
  return std::abs(d) <= b ? d * d / 2 : b * (std::abs(d) - b / 2);
}
double softplus(double v) { return v > 0 ? v + std::log1p(std::exp(-v)) : std::log1p(std::exp(v)); }
double entropy(double x, double t) {
  return (t - 1) * std::fmax(std::log1p(-x), -100) - t * std::fmax(std::log(x), -100);
}

/// The losses of x and t by f, reduced; times the weights, if there are some.
values reduced(const values& x, const values& t, const values& w, const formula& f, reduction how) {
  values all;
  for (std::size_t k = 0; k < x.size(); ++k) all.push_back(f(x[k], t[k]) * (w.empty() ? 1 : w[k]));
  if (how == reduction::none) return all;
  const double sum = std::accumulate(all.begin(), all.end(), 0.0);
  return {how == reduction::sum ? sum : sum / static_cast<double>(all.size())};
}

TYPED_TEST(loss, all) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& stream = test_stream<D>();
  const shape sizes{3, 7};
  const tolerance tol = tolerance_of<T>(21);
  at_every_level<D>([&] {
    test_tensor<T, D> x(sizes, layout::strided, random_values(sizes, 0.05, 0.95));
    test_tensor<T, D> t(sizes, layout::transposed, random_values(sizes, 0, 1));
    test_tensor<T, D> w(sizes, layout::contiguous, random_values(sizes, 0, 2));
    test_tensor<T, D> p(sizes, layout::negative, random_values(sizes, 0, 2)),
        g(sizes, layout::offset, random_values(sizes));
    for (const reduction how : {reduction::none, reduction::mean, reduction::sum}) {
      test_tensor<T, D> out(how == reduction::none ? sizes : shape{}), dx(sizes);
      const auto check = [&](const char* what, const formula& f, const values& weights = {}) {
        SCOPED_TRACE(what);
        expect_close<T>(out.read(), reduced(x.values(), t.values(), weights, f, how), tol);
      };
      // By differences of the losses; of the mean, a share of grad.
      const auto check_gradient = [&](const char* what, const formula& f,
                                      const values& weights = {}) {
        SCOPED_TRACE(what);
        values want;
        for (std::size_t k = 0; k < 21; ++k) {
          const double v = x.values()[k], h = 1e-6, target = t.values()[k];
          const double slope = (f(v + h, target) - f(v - h, target)) / (2 * h);
          want.push_back(g.values()[k] * slope * (weights.empty() ? 1 : weights[k]) /
                         (how == reduction::mean ? 21 : 1));
        }
        expect_close<T>(dx.read(), want, {2 * tol.rtol + 1e-6, tol.atol});
      };
      const formula mse = [](double a, double b) { return (a - b) * (a - b); };
      const formula huber = [](double a, double b) { return bound(a - b, 0.375); };
      const formula smooth = [](double a, double b) { return bound(a - b, 0.375) / 0.375; };
      const formula soft = [](double a, double b) { return softplus(-a * b); };
      fg::mse_loss(stream, x.in(), t.in(), out.view(), how);
      check("mse_loss", mse);
      fg::mse_loss_backward(stream, g.in(), x.in(), t.in(), dx.view(), how);
      check_gradient("mse_loss", mse);
      fg::huber_loss(stream, x.in(), t.in(), out.view(), how, 0.375);
      check("huber_loss", huber);
      fg::huber_loss_backward(stream, g.in(), x.in(), t.in(), dx.view(), how, 0.375);
      check_gradient("huber_loss", huber);
      fg::smooth_l1_loss(stream, x.in(), t.in(), out.view(), how, 0.375);
      check("smooth_l1_loss", smooth);
      fg::smooth_l1_loss_backward(stream, g.in(), x.in(), t.in(), dx.view(), how, 0.375);
      check_gradient("smooth_l1_loss", smooth);
      fg::soft_margin_loss(stream, x.in(), t.in(), out.view(), how);
      check("soft_margin_loss", soft);
      fg::soft_margin_loss_backward(stream, g.in(), x.in(), t.in(), dx.view(), how);
      check_gradient("soft_margin_loss", soft);
      fg::binary_cross_entropy(stream, x.in(), t.in(), std::nullopt, out.view(), how);
      check("binary_cross_entropy", entropy);
      fg::binary_cross_entropy(stream, x.in(), t.in(), w.in(), out.view(), how);
      check("binary_cross_entropy", entropy, w.values());
      fg::binary_cross_entropy_backward(stream, g.in(), x.in(), t.in(), w.in(), dx.view(), how);
      check_gradient("binary_cross_entropy", entropy, w.values());
      fg::binary_cross_entropy_with_logits(stream, x.in(), t.in(), std::nullopt, std::nullopt,
                                           out.view(), how);
      check("with_logits",
            [](double a, double b) { return b * softplus(-a) + (1 - b) * softplus(a); });
      fg::binary_cross_entropy_with_logits(stream, x.in(), t.in(), w.in(), p.in(), out.view(), how);
      values want;
      for (std::size_t k = 0; k < 21; ++k) {
        const double a = x.values()[k], b = t.values()[k];
        want.push_back(p.values()[k] * b * softplus(-a) + (1 - b) * softplus(a));
      }
      const formula weighted = [](double a, double) { return a; };
      expect_close<T>(out.read(), reduced(want, t.values(), w.values(), weighted, how), tol);
      fg::margin_ranking_loss(stream, x.in(), w.in(), t.in(), out.view(), 0.25, how);
      want.clear();
      for (std::size_t k = 0; k < 21; ++k)
        want.push_back(std::fmax(0, 0.25 - t.values()[k] * (x.values()[k] - w.values()[k])));
      expect_close<T>(out.read(), reduced(want, t.values(), {}, weighted, how), tol);
    }
  });
}

// As many elements as the blocks of a cluster share, where there are clusters; exact ones.
TYPED_TEST(loss, of_thousands) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& stream = test_stream<D>();
  const formula mse = [](double a, double b) { return (a - b) * (a - b); };
  for (const i64 n : {4092, 4096, 8196, 32768}) {
    SCOPED_TRACE(n);
    test_tensor<T, D> x({n}, layout::contiguous, random_integers({n}, 0, 3)),
        t({n}, layout::contiguous, random_integers({n}, 0, 3));
    expect_equal(values_of(fg::mse_loss(stream, x.in(), t.in(), reduction::sum)),
                 reduced(x.values(), t.values(), {}, mse, reduction::sum));
    expect_close<T>(values_of(fg::mse_loss(stream, x.in(), t.in())),
                    reduced(x.values(), t.values(), {}, mse, reduction::mean));
  }
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

template <class T>
void check_dtype() {
  const auto& stream = test_stream<host>();
  test_tensor<T> x({9}, layout::contiguous, random_values({9})),
      t({9}, layout::strided, random_values({9}));
  const formula mse = [](double a, double b) { return (a - b) * (a - b); };
  for (const reduction how : {reduction::none, reduction::mean, reduction::sum})
    expect_close<T>(values_of(fg::mse_loss(stream, x.in(), t.in(), how)),
                    reduced(x.values(), t.values(), {}, mse, how), tolerance_of<T>(9));
}
TEST(loss_forms, of_other_dtypes) {
  check_dtype<bf16>();
  check_dtype<f64>();
}

TEST(loss_forms, new_tensors) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({4}, layout::contiguous, {0, 1, 0.5, 2}),
      t({4}, layout::strided, {0, 0, 1, 0});
  test_tensor<f32> out({4});
  EXPECT_EQ(fg::mse_loss(stream, x.in(), t.in()).rank(), 0);
  expect_equal(values_of(fg::mse_loss(stream, x.in(), t.in(), reduction::sum)), {5.25});
  expect_equal(values_of(fg::smooth_l1_loss(stream, x.in(), t.in(), reduction::none, 0)),
               {0, 1, 0.5, 2});
  expect_equal(
      values_of(fg::smooth_l1_loss_backward(stream, x.in(), x.in(), t.in(), reduction::none, 0)),
      {-0.0, 1, -0.5, 2});
  // Probabilities of 0 and 1 have the loss of e^-100.
  const auto certain = values_of(fg::binary_cross_entropy(
      stream, x.in().narrow(0, 0, 2), t.in().narrow(0, 0, 2), std::nullopt, reduction::none));
  expect_equal(certain, {0, 100});
  EXPECT_TRUE(std::isnan(
      values_of(fg::mse_loss(stream, x.in().narrow(0, 0, 0), t.in().narrow(0, 0, 0)))[0]));
  const std::optional<fg::tensor_view<const f32>> none, some(x.in());
  EXPECT_EQ(values_of(fg::binary_cross_entropy(stream, t.in(), t.in(), none)),
            values_of(fg::binary_cross_entropy(stream, t.in(), t.in())));
  EXPECT_EQ(values_of(fg::binary_cross_entropy_with_logits(stream, x.in(), t.in(), some, none)),
            values_of(fg::binary_cross_entropy_with_logits(stream, x.in(), t.in(), x.in())));
  EXPECT_RAISES(fg::mse_loss(stream, x.in(), t.in(), out.view()), shape_mismatch, "mse_loss");
  EXPECT_RAISES(fg::mse_loss(stream, x.in(), t.in().narrow(0, 0, 3), out.view(), reduction::none),
                shape_mismatch, "mse_loss");
  EXPECT_RAISES((void)fg::huber_loss(stream, x.in(), t.in(), i64{7}), invalid_argument,
                "huber_loss");
  EXPECT_RAISES(fg::mse_loss_backward(stream, x.in(), x.in(), t.in(), out.view(), i64{-1}),
                invalid_argument, "mse_loss_backward");
  for (const double no : {0.0, -1.0, std::nan("")})
    EXPECT_RAISES(fg::huber_loss(stream, x.in(), t.in(), out.view(), reduction::none, no),
                  invalid_argument, "huber_loss");
  for (const double no : {-1.0, std::nan("")}) {
    EXPECT_RAISES(fg::smooth_l1_loss(stream, x.in(), t.in(), out.view(), reduction::none, no),
                  invalid_argument, "smooth_l1_loss");
    EXPECT_RAISES(
        (void)fg::smooth_l1_loss_backward(stream, x.in(), x.in(), t.in(), reduction::none, no),
        invalid_argument, "smooth_l1_loss_backward");
  }
  EXPECT_TRUE(out.untouched());
}

#endif

}  // namespace
}  // namespace flaggems_test
