// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/ctc_loss.hpp>
#include <support/ops.hpp>

#include <cmath>

namespace flaggems_test {
namespace {

template <class Case>
class ctc : public ::testing::Test {};
TYPED_TEST_SUITE(ctc, wide_float_cases);

/// The probability of labels by all ways to choose a class at each step: 3^steps of them.
double chance_of(const std::vector<double>& logs, i64 steps, i64 batch, i64 b,
                 const std::vector<i64>& labels, i64 fixed_step = -1, i64 fixed_class = -1) {
  double sum = 0;
  i64 all = 1;
  for (i64 t = 0; t < steps; ++t) all *= 3;
  for (i64 way = 0; way < all; ++way) {
    double p = 1;
    std::vector<i64> read;
    i64 rest = way, before = 0;
    bool counts = true;
    for (i64 t = 0; t < steps; ++t, rest /= 3) {
      const i64 c = rest % 3;
      if (t == fixed_step && c != fixed_class) counts = false;
      p *= std::exp(logs[static_cast<std::size_t>((t * batch + b) * 3 + c)]);
      if (c != 0 && (t == 0 || c != before)) read.push_back(c);
      before = c;
    }
    if (counts && read == labels) sum += p;
  }
  return sum;
}

template <class T, class D>
void check(layout in, bool joined) {
  const auto& s = test_stream<D>();
  using C = fg::kernels::compute_type<T>;
  const std::vector<std::vector<i64>> labels{{1, 2}, {1, 1}, {}, {2, 2, 1}};
  const std::vector<i64> steps{5, 4, 3, 3}, counts{2, 2, 0, 3};
  std::vector<double> targets;
  for (std::size_t b = 0; b < 4; ++b)
    for (std::size_t k = 0; k < (joined ? labels[b].size() : 3); ++k)
      targets.push_back(k < labels[b].size() ? static_cast<double>(labels[b][k]) : -7);
  test_tensor<T, D> x({5, 4, 3}, in, random_values({5, 4, 3}, -2, 0)),
      grad({4}, layout::strided, random_values({4}));
  test_tensor<i64, D> y(joined ? shape{7} : shape{4, 3}, layout::strided, targets);
  std::vector<double> losses, by_x(60);
  for (i64 b = 0; b < 4; ++b) {
    const auto& own = labels[static_cast<std::size_t>(b)];
    const i64 n = steps[static_cast<std::size_t>(b)];
    const double all = chance_of(x.values(), n, 4, b, own);
    losses.push_back(all > 0 ? -std::log(all) : INFINITY);
    for (i64 t = 0; t < n && all > 0; ++t)
      for (i64 c = 0; c < 3; ++c) {
        const auto at = static_cast<std::size_t>((t * 4 + b) * 3 + c);
        const double share = chance_of(x.values(), n, 4, b, own, t, c) / all;
        by_x[at] = (std::exp(x.values()[at]) - share) * grad.values()[static_cast<std::size_t>(b)];
      }
  }
  EXPECT_TRUE(std::isinf(losses[3]));
  const auto r = fg::ctc_loss_forward(s, x.in(), y.in(), steps, counts, 0);
  expect_close<C>(values_of(r.first), losses, tolerance_of<C>(1));
  EXPECT_EQ(r.second.shape_of(), (shape{4, 5, 7}));
  expect_close<T>(values_of(fg::ctc_loss_backward(s, grad.in(), x.in(), y.in(), steps, counts,
                                                  r.first, r.second, 0, true)),
                  by_x);
  const auto on_device = fg::from_values<i64>(s, std::span<const i64>(steps)),
             counted = fg::from_values<i64>(s, std::span<const i64>(counts));
  losses[3] = 0;
  expect_close<T>(
      values_of(fg::ctc_loss(s, x.in(), y.in(), on_device, counted, 0, fg::reduction::none, true)),
      losses);
  expect_close<T>(
      values_of(fg::ctc_loss(s, x.in(), y.in(), steps, counts, 0, fg::reduction::sum, true)),
      {losses[0] + losses[1] + losses[2]});
  expect_close<T>(
      values_of(fg::ctc_loss(s, x.in(), y.in(), steps, counts, 0, fg::reduction::mean, true)),
      {(losses[0] / 2 + losses[1] / 2 + losses[2]) / 4});
}

TYPED_TEST(ctc, all_alignments) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  for (const layout in : {layout::contiguous, layout::transposed, layout::negative})
    for (const bool joined : {false, true}) check<T, D>(in, joined);
}
TYPED_TEST(ctc, one_sequence_and_none) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> x({3, 3}, layout::contiguous, random_values({3, 3}, -2, 0)), none({2, 0, 3});
  test_tensor<i64, D> y({1}, layout::contiguous, {2}), nothing({0, 2}), no_label({0}),
      other({1}, layout::contiguous, {9});
  const std::vector<i64> three{3}, one{1}, zero{0}, empty;
  expect_close<T>(values_of(fg::ctc_loss(s, x.in(), y.in(), three, one, 0, fg::reduction::none)),
                  {-std::log(chance_of(x.values(), 3, 1, 0, {2}))});
  expect_equal(values_of(fg::ctc_loss(s, x.in(), no_label.in(), zero, zero, 0, fg::reduction::sum)),
               {0});
  expect_equal(values_of(fg::ctc_loss(s, x.in(), y.in(), zero, one, 0, fg::reduction::sum)),
               {INFINITY});
  expect_equal(values_of(fg::ctc_loss(s, x.in(), other.in(), three, one, 0, fg::reduction::sum)),
               {INFINITY});
  EXPECT_EQ(fg::ctc_loss_forward(s, none.in(), nothing.in(), empty, empty).second.sizes()[0], 0);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(ctc_loss_arguments, are_checked) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3, 2, 4}), flat({3});
  test_tensor<i64> y({2, 2}), cube({1, 1, 2});
  using list = std::vector<i64>;
  const auto run = [&](auto& logs, auto& targets, const list& steps, const list& counts,
                       i64 blank) {
    (void)fg::ctc_loss_forward(s, logs.in(), targets.in(), steps, counts, blank);
  };
  run(x, y, {3, 2}, {2, 0}, 3);
  EXPECT_RAISES(run(flat, y, {3, 2}, {2, 0}, 0), invalid_argument, "ctc_loss_forward");
  EXPECT_RAISES(run(x, cube, {3, 2}, {2, 0}, 0), invalid_argument, "ctc_loss_forward");
  test_tensor<i64> row({3});
  EXPECT_RAISES(run(x, row, {3, 2}, {2, 0}, 0), invalid_argument, "ctc_loss_forward");
  EXPECT_RAISES(run(x, y, {3, 2}, {2, 0}, 4), invalid_argument, "ctc_loss_forward");
  EXPECT_RAISES(run(x, y, {3}, {2, 0}, 0), shape_mismatch, "ctc_loss_forward");
  EXPECT_RAISES(run(x, y, {4, 2}, {2, 0}, 0), invalid_argument, "ctc_loss_forward");
  EXPECT_RAISES(run(x, y, {3, 2}, {3, 0}, 0), invalid_argument, "ctc_loss_forward");
  EXPECT_RAISES(run(x, y, {3, 2}, {2, -1}, 0), invalid_argument, "ctc_loss_forward");
  EXPECT_RAISES((void)fg::ctc_loss(s, x.in(), y.in(), list{3, 2}, list{2, 0}, 0, i64(5)),
                invalid_argument, "ctc_loss");
}
#endif

}  // namespace
}  // namespace flaggems_test
