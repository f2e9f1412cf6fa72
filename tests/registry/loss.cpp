// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/loss.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::loss, flaggems::host, flaggems::f32);

namespace flaggems_test {
namespace {

using fg::reduction;

TEST(registry_loss, reductions) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 4}, 0.1, 0.9), b = numbers({3, 4}, 0, 1, 7),
             c = numbers({3, 4}, 0, 2, 9);
  const view<host> x(a), t(b), w(c);
  for (const int number : {0, 1, 2}) {
    const auto how = static_cast<reduction>(number);
    check("mse_loss", {x, t, number}, [&] { return fg::mse_loss(s, a, b, how); });
    check("huber_loss", {x, t, number, 0.25}, [&] { return fg::huber_loss(s, a, b, how, 0.25); });
    check("smooth_l1_loss", {x, t, number, 0.25},
          [&] { return fg::smooth_l1_loss(s, a, b, how, 0.25); });
    check("soft_margin_loss", {x, t, number}, [&] { return fg::soft_margin_loss(s, a, b, how); });
    check("binary_cross_entropy", {x, t, w, number},
          [&] { return fg::binary_cross_entropy(s, a, b, c, how); });
    check("binary_cross_entropy_with_logits", {x, t, {}, w, number},
          [&] { return fg::binary_cross_entropy_with_logits(s, a, b, std::nullopt, c, how); });
    check("margin_ranking_loss", {x, w, t, 0.25, number},
          [&] { return fg::margin_ranking_loss(s, a, c, b, 0.25, how); });
    check("mse_loss_backward", {w, x, t, number},
          [&] { return fg::mse_loss_backward(s, c, a, b, how); });
    check("huber_loss_backward", {w, x, t, number, 0.25},
          [&] { return fg::huber_loss_backward(s, c, a, b, how, 0.25); });
    check("smooth_l1_loss_backward", {w, x, t, number, 0.25},
          [&] { return fg::smooth_l1_loss_backward(s, c, a, b, how, 0.25); });
    check("soft_margin_loss_backward", {w, x, t, number},
          [&] { return fg::soft_margin_loss_backward(s, c, a, b, how); });
    check("binary_cross_entropy_backward", {w, x, t, {}, number},
          [&] { return fg::binary_cross_entropy_backward(s, c, a, b, std::nullopt, how); });
  }
  check("mse_loss", {x, t}, [&] { return fg::mse_loss(s, a, b); });
  EXPECT_ERROR(fg::registry<host>::at("mse_loss")(s, {x, t, 3}), invalid_argument, "0 (none)");
}

TEST(registry_loss, alignments) {
  const auto& s = stream_of<host>();
  const auto a = numbers({5, 2, 4}, -3, 0), g = numbers({2});
  const auto t = fg::from_values<i64>(s, {1, 2, 3, 1}, {2, 2}),
             in = fg::from_values<i64>(s, {5, 4}), of = fg::from_values<i64>(s, {2, 1});
  const i64 inputs[] = {5, 4}, labels[] = {2, 1};
  const fg::int_list steps(inputs), counts(labels);
  const view<host> x(a), targets(t), lengths(in), lengths_of(of), grad(g);
  check("ctc_loss.IntList", {x, targets, steps, counts, 0, 2},
        [&] { return fg::ctc_loss(s, a, t, steps, counts, 0, reduction::sum); });
  check("ctc_loss.Tensor", {x, targets, lengths, lengths_of},
        [&] { return fg::ctc_loss(s, a, t, in, of); });
  const auto forward = [&] { return fg::ctc_loss_forward(s, a, t, steps, counts); };
  check("_ctc_loss", {x, targets, steps, counts}, forward);
  check("_ctc_loss.Tensor", {x, targets, lengths, lengths_of}, forward);
  const auto r = forward();
  const view<host> losses(r.first), alpha(r.second);
  const auto backward = [&] {
    return fg::ctc_loss_backward(s, g, a, t, steps, counts, r.first, r.second, 0);
  };
  check("_ctc_loss_backward", {grad, x, targets, steps, counts, losses, alpha, 0}, backward);
  check("_ctc_loss_backward.Tensor", {grad, x, targets, lengths, lengths_of, losses, alpha, 0},
        backward);
}

TEST(registry_loss, likelihoods) {
  const auto& s = stream_of<host>();
  const auto a = numbers({4, 3}), deep = numbers({2, 3, 2, 2}), w = numbers({3}, 0.5, 1.5, 2);
  const auto t = fg::from_values<i64>(s, {2, -100, 0, 1});
  const auto t2 = fg::from_values<i64>(s, {2, 1, 0, 1, 0, 0, 2, 2}, {2, 2, 2});
  const view<host> x(a), x2(deep), weight(w), target(t), target2(t2);
  for (const auto how : {fg::reduction::none, fg::reduction::mean, fg::reduction::sum}) {
    const auto number = static_cast<i64>(how);
    check("nll_loss_forward", {x, target, weight, number, -100},
          [&] { return fg::nll_loss_forward(s, a, t, w, how, -100); });
    check("nll_loss2d_forward", {x2, target2, std::nullopt, number, 1},
          [&] { return fg::nll_loss2d_forward(s, deep, t2, std::nullopt, how, 1); });
    const auto one = fg::nll_loss_forward(s, a, t, w, how, -100);
    const auto two = fg::nll_loss2d_forward(s, deep, t2, std::nullopt, how, 1);
    const view<host> grad(one.first), total(one.second), grad2(two.first), total2(two.second);
    check("nll_loss_backward", {grad, x, target, weight, number, -100, total},
          [&] { return fg::nll_loss_backward(s, one.first, a, t, w, how, -100, one.second); });
    check("nll_loss2d_backward", {grad2, x2, target2, std::nullopt, number, 1, total2}, [&] {
      return fg::nll_loss2d_backward(s, two.first, deep, t2, std::nullopt, how, 1, two.second);
    });
    check("flaggems::nll_loss_nd_forward", {x, target, weight, number},
          [&] { return fg::nll_loss_nd_forward(s, a, t, w, how); });
    check("nll_loss_nd", {x, target, weight, number},
          [&] { return fg::nll_loss_nd(s, a, t, w, how); });
    check("flaggems::nll_loss_nd_backward", {grad, x, target, weight, number},
          [&] { return fg::nll_loss_nd_backward(s, one.first, a, t, w, how); });
  }
}

}  // namespace
}  // namespace flaggems_test
