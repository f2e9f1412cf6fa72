// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/optimizer.hpp>
#include <support/ops.hpp>

#include <array>
#include <optional>

namespace flaggems_test {
namespace {

template <class Device>
class optimizers : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(optimizers, devices);

struct adam_options {
  double lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize;
};
struct adam_state {
  double p, g, m, v, most;
};
adam_state adam(adam_state s, double step, const adam_options& o, double scale) {
  s.g /= scale;
  const double g = (o.maximize ? -s.g : s.g) + o.weight_decay * s.p;
  s.m = o.beta1 * s.m + (1 - o.beta1) * g;
  s.v = o.beta2 * s.v + (1 - o.beta2) * g * g;
  s.most = std::max(s.most, s.v);
  const double away =
      std::sqrt(o.amsgrad ? s.most : s.v) / std::sqrt(1 - std::pow(o.beta2, step)) + o.eps;
  s.p -= o.lr / (1 - std::pow(o.beta1, step)) * s.m / away;
  return s;
}

TYPED_TEST(optimizers, adam) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const shape sizes{3, 5};
  for (const layout how : output_layouts)
    for (const bool amsgrad : {false, true}) {
      const adam_options o{0.01, 0.9, 0.99, 0.1, 1e-3, amsgrad, amsgrad};
      test_tensor<f32, D> p(sizes, how, random_values(sizes, -2, 2)),
          g(sizes, how, random_values(sizes, -2, 2)), m(sizes, how, random_values(sizes, -1, 1)),
          v(sizes, how, random_values(sizes, 0, 1)), most(sizes, how, random_values(sizes, 0, 1)),
          step({}, layout::contiguous, {3}), scale({1}, layout::contiguous, {4}),
          found({}, layout::contiguous, {1});
      const auto run = [&](const auto&... conditions) {
        fg::fused_adam_(s, std::array{p.view()}, std::array{g.view()}, std::array{m.view()},
                        std::array{v.view()}, std::array{most.view()}, std::array{step.view()},
                        o.lr, o.beta1, o.beta2, o.weight_decay, o.eps, o.amsgrad, o.maximize,
                        conditions...);
      };
      run(scale.in(), found.in());
      EXPECT_TRUE(p.untouched() && g.untouched() && m.untouched() && v.untouched());
      run(std::optional(scale.in()));
      std::vector<double> want_p, want_g, want_m, want_v;
      for (std::size_t k = 0; k < 15; ++k) {
        const adam_state next =
            adam({p.values()[k], g.values()[k], m.values()[k], v.values()[k], most.values()[k]}, 3,
                 o, 4);
        want_p.push_back(next.p), want_g.push_back(next.g);
        want_m.push_back(next.m), want_v.push_back(next.v);
      }
      const tolerance close{1e-5, 1e-6};
      expect_close<f32>(p.read(), want_p, close);
      expect_close<f32>(g.read(), want_g, close);
      expect_close<f32>(m.read(), want_m, close);
      expect_close<f32>(v.read(), want_v, close);
      EXPECT_EQ(most.untouched(), !amsgrad);
      EXPECT_TRUE(p.gaps_untouched() && v.gaps_untouched());
    }
}

TYPED_TEST(optimizers, scales) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const auto next = [&](double scale, double tracker, double found) {
    test_tensor<f32, D> by({}, layout::contiguous, {scale}),
        wrong({1}, layout::contiguous, {found});
    test_tensor<fg::i32, D> count({1}, layout::contiguous, {tracker});
    fg::amp_update_scale_(s, by.view(), count.view(), wrong.in(), 2, 0.5, 4);
    return std::pair(by.read()[0], count.read()[0]);
  };
  EXPECT_EQ(next(8, 1, 0), std::pair(8.0, 2.0));
  EXPECT_EQ(next(8, 3, 0), std::pair(16.0, 0.0));
  EXPECT_EQ(next(8, 3, 1), std::pair(4.0, 0.0));
  EXPECT_EQ(next(3e38, 3, 0), std::pair(static_cast<double>(3e38F), 0.0));
  for (const layout how : output_layouts) {
    test_tensor<bf16, D> a({2, 2}, how, {1, 2, 3, 4}), none({0}),
        b({2}, how, {1, std::numeric_limits<double>::infinity()});
    test_tensor<f32, D> found({1}, layout::contiguous, {0}), by({}, layout::contiguous, {0.5});
    fg::amp_foreach_non_finite_check_and_unscale_(s, std::array{a.view(), none.view()},
                                                  found.view(), by.in());
    expect_equal(a.read(), {0.5, 1, 1.5, 2});
    expect_equal(found.read(), {0});
    fg::amp_foreach_non_finite_check_and_unscale_(s, std::array{b.view(), a.view()}, found.view(),
                                                  by.in());
    expect_equal(found.read(), {1});
    expect_equal(a.read(), {0.25, 0.5, 0.75, 1});
    EXPECT_TRUE(a.gaps_untouched());
  }
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(optimizers_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2}), y({3}), one({1}), m({2}), v({2});
  const std::array p{x.view()}, wrong{y.view()}, step{one.view()}, first{m.view()},
      second{v.view()};
  const std::vector<fg::tensor_view<f32>> none;
  EXPECT_RAISES(
      fg::fused_adam_(s, p, wrong, first, second, none, step, 1, 0.9, 0.9, 0, 1, false, false),
      shape_mismatch, "fused_adam_");
  EXPECT_RAISES(
      fg::fused_adam_(s, p, p, first, second, none, step, 1, 0.9, 0.9, 0, 1, false, false), overlap,
      "fused_adam_");
  EXPECT_RAISES(
      fg::fused_adam_(s, p, none, first, second, none, step, 1, 0.9, 0.9, 0, 1, false, false),
      invalid_argument, "fused_adam_");
  EXPECT_RAISES(
      fg::fused_adam_(s, p, first, first, second, none, p, 1, 0.9, 0.9, 0, 1, false, false),
      invalid_argument, "fused_adam_");
  EXPECT_RAISES(fg::amp_foreach_non_finite_check_and_unscale_(s, p, y.view(), one.in()),
                invalid_argument, "amp_foreach_non_finite_check_and_unscale_");
  EXPECT_TRUE(x.untouched() && m.untouched() && v.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
