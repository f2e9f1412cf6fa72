// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/nll_loss.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using fg::reduction;

template <class Device>
class nll_losses : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(nll_losses, devices);

/// By the definition, of x [n, classes, inner]; no weights: all 1.
struct expected_loss {
  std::vector<double> output, gradient;
  double total = 0;

  expected_loss(const std::vector<double>& x, const std::vector<double>& target,
                const std::vector<double>& weight, const std::vector<double>& grad, i64 classes,
                i64 inner, reduction how, double ignored)
      : gradient(x.size(), 0) {
    double sum = 0, counted = 0;
    const auto place = [&](std::size_t k) {
      const auto n = static_cast<std::size_t>(inner);
      return (k / n * static_cast<std::size_t>(classes) + static_cast<std::size_t>(target[k])) * n +
             k % n;
    };
    const auto share = [&](std::size_t k) {
      return target[k] == ignored ? 0
             : weight.empty()     ? 1
                                  : weight[static_cast<std::size_t>(target[k])];
    };
    for (std::size_t k = 0; k < target.size(); ++k) {
      const double own = target[k] == ignored ? 0 : -x[place(k)] * share(k);
      sum += own, counted += share(k);
      if (how == reduction::none) output.push_back(own);
    }
    for (std::size_t k = 0; k < target.size(); ++k)
      if (target[k] != ignored)
        gradient[place(k)] = -share(k) * grad[how == reduction::none ? k : 0] /
                             (how == reduction::mean ? counted : 1);
    if (how == reduction::none) return;
    output.push_back(how == reduction::mean ? sum / counted : sum);
    total = counted;
  }
};

template <class T, class D>
void check(const shape& sizes, bool has_weight, layout how_it_lies) {
  const auto& s = test_stream<D>();
  shape losses = sizes;
  losses.erase(sizes.rank() == 1 ? 0 : 1);
  const i64 classes = sizes[sizes.rank() == 1 ? 0 : 1];
  const i64 inner = sizes.rank() > 2 ? sizes[2] * sizes[3] : 1;
  auto targets = random_integers(losses, 0, classes - 1);
  if (targets.size() > 1) targets[1] = -100;
  test_tensor<T, D> x(sizes, how_it_lies, random_values(sizes)),
      w({classes}, how_it_lies, random_values({classes}, 0.5, 2)), gx(sizes, how_it_lies);
  test_tensor<i64, D> t(losses, how_it_lies, targets);
  for (const reduction how : {reduction::none, reduction::mean, reduction::sum}) {
    const shape out = how == reduction::none ? losses : shape();
    test_tensor<T, D> g(out, layout::contiguous, random_values(out)), y(out), total({});
    const expected_loss want(x.values(), targets, has_weight ? w.values() : std::vector<double>(),
                             g.values(), classes, inner, how, -100);
    const auto run = [&](const auto& weight, const auto& forward, const auto& backward) {
      forward(s, x.in(), t.in(), weight, y.view(), total.view(), how, i64{-100});
      backward(s, g.in(), x.in(), t.in(), weight, how, i64{-100}, total.in(), gx.view());
      expect_close<T>(values_of(fg::nll_loss_nd(s, x.in(), t.in(), weight, how)), want.output);
      expect_close<T>(values_of(fg::nll_loss_nd_forward(s, x.in(), t.in(), weight, how).first),
                      want.output);
    };
    const auto at_rank = [&](const auto& weight) {
      if (sizes.rank() <= 2)
        run(
            weight, [](auto&&... a) { fg::nll_loss_forward(a...); },
            [](auto&&... a) { fg::nll_loss_backward(a...); });
      else
        run(
            weight, [](auto&&... a) { fg::nll_loss2d_forward(a...); },
            [](auto&&... a) { fg::nll_loss2d_backward(a...); });
    };
    if (has_weight)
      at_rank(w.in());
    else
      at_rank(std::nullopt);
    const auto same = has_weight
                          ? fg::nll_loss_nd_backward(s, g.in(), x.in(), t.in(), w.in(), how)
                          : fg::nll_loss_nd_backward(s, g.in(), x.in(), t.in(), std::nullopt, how);
    expect_close<T>(values_of(same), want.gradient);
    expect_close<T>(y.read(), want.output);
    expect_close<T>(total.read(), {want.total});
    expect_close<T>(gx.read(), want.gradient);
    EXPECT_TRUE(gx.gaps_untouched());
  }
}

TYPED_TEST(nll_losses, all) {
  using D = TypeParam;
  for (const layout how : output_layouts) check<f32, D>({5, 4}, true, how);
  check<f32, D>({5, 4}, false, layout::contiguous);
  check<bf16, D>({3, 4}, true, layout::contiguous);
  check<f32, D>({4}, true, layout::contiguous);
  check<f32, D>({2, 3, 2, 5}, true, layout::contiguous);
  check<f32, D>({2, 3, 2, 5}, false, layout::transposed);
}

TYPED_TEST(nll_losses, of_no_rows) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> none({0, 3}), x({1, 2}, layout::contiguous, {std::nan(""), 1}), one({});
  test_tensor<i64, D> nothing({0}), ignored({1}, layout::contiguous, {0});
  EXPECT_TRUE(std::isnan(values_of(fg::nll_loss_nd(s, none.in(), nothing.in()))[0]));
  expect_equal(values_of(fg::nll_loss_nd(s, none.in(), nothing.in(), std::nullopt, reduction::sum)),
               {0});
  // What is ignored is not read.
  expect_equal(values_of(fg::nll_loss_nd(s, x.in(), ignored.in(), std::nullopt, reduction::sum, 0)),
               {0});
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(nll_loss, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 3}), deep({2, 3, 1, 1}), w({2}), out({2}), total({});
  test_tensor<i64> t({2}, layout::contiguous, {0, 3}), few({1});
  const auto run = [&](auto& from, auto& target, i64 how) {
    fg::nll_loss_forward(s, from.in(), target.in(), std::nullopt, out.view(), total.view(), how,
                         -100);
  };
  EXPECT_RAISES(run(x, t, 0), out_of_range, "nll_loss_forward");
  EXPECT_RAISES(run(x, few, 0), shape_mismatch, "nll_loss_forward");
  EXPECT_RAISES(run(deep, t, 0), shape_mismatch, "nll_loss_forward");
  EXPECT_RAISES(run(x, t, 3), invalid_argument, "nll_loss_forward");
  test_tensor<i64> right({2}, layout::contiguous, {0, 2});
  EXPECT_RAISES(run(x, right, 1), shape_mismatch, "nll_loss_forward");
  EXPECT_RAISES(fg::nll_loss_nd(s, x.in(), right.in(), w.in()), shape_mismatch, "nll_loss_nd");
  EXPECT_RAISES(fg::nll_loss_backward(s, out.in(), x.in(), right.in(), std::nullopt, i64{1}, -100,
                                      total.in()),
                shape_mismatch, "nll_loss_backward");
  EXPECT_TRUE(out.untouched() && total.untouched());
  // The gradient is written before others are read.
  test_tensor<f32> both({2, 3}), three({3});
  const auto back = [&](const auto& grad, const auto& whole) {
    fg::nll_loss_backward(s, grad, x.in(), right.in(), std::nullopt, i64{1}, -100, whole,
                          both.view());
  };
  EXPECT_RAISES(back(total.in(), three.in()), shape_mismatch, "nll_loss_backward");
  EXPECT_RAISES(back(both.in().select(0, 0).select(0, 0), total.in()), overlap,
                "nll_loss_backward");
  EXPECT_RAISES(back(total.in(), both.in().select(0, 1).select(0, 2)), overlap,
                "nll_loss_backward");
  EXPECT_TRUE(both.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
