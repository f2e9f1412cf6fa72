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

}  // namespace
}  // namespace flaggems_test
