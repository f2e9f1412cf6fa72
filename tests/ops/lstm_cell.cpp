// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/lstm_cell.hpp>
#include <support/ops.hpp>

#include <cmath>

namespace flaggems_test {
namespace {

template <class Case>
class lstm_cells : public ::testing::Test {};
TYPED_TEST_SUITE(lstm_cells, wide_float_cases);

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// hy, cy and the gates' values of sums [B, 4 H].
struct step {
  std::vector<double> hy, cy, gates;
  step(const std::vector<double>& sums, const std::vector<double>& cx, std::size_t hidden)
      : hy(cx.size()), cy(cx.size()), gates(sums.size()) {
    for (std::size_t k = 0; k < cx.size(); ++k) {
      const std::size_t at = k / hidden * 4 * hidden + k % hidden;
      for (std::size_t g = 0; g < 4; ++g) {
        const double x = sums[at + g * hidden];
        gates[at + g * hidden] = g == 2 ? std::tanh(x) : sigmoid(x);
      }
      cy[k] = gates[at + hidden] * cx[k] + gates[at] * gates[at + 2 * hidden];
      hy[k] = gates[at + 3 * hidden] * std::tanh(cy[k]);
    }
  }
};

TYPED_TEST(lstm_cells, steps) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const i64 hidden : {5, 300})
      for (const layout in : input_layouts)
        for (const bool biased : {false, true}) {
          const shape wide{3, 4 * hidden}, state{3, hidden};
          test_tensor<T, D> a(wide, in, random_values(wide)), b(wide, in, random_values(wide)),
              c(state, in, random_values(state)),
              one({4 * hidden}, in, random_values({4 * hidden})),
              two({4 * hidden}, layout::contiguous, random_values({4 * hidden}));
          std::vector<double> sums(a.values());
          for (std::size_t k = 0; k < sums.size(); ++k) {
            const std::size_t column = k % static_cast<std::size_t>(4 * hidden);
            sums[k] += b.values()[k] + (biased ? one.values()[column] + two.values()[column] : 0);
          }
          const step want(sums, c.values(), static_cast<std::size_t>(hidden));
          const auto x = in == layout::broadcast ? layout::strided : in;
          test_tensor<T, D> hy(state, x), cy(state, x), gates(wide, x);
          if (biased)
            fg::thnn_fused_lstm_cell(s, a.in(), b.in(), c.in(), one.in(), two.in(), hy.view(),
                                     cy.view(), gates.view());
          else
            fg::thnn_fused_lstm_cell(s, a.in(), b.in(), c.in(), std::nullopt, std::nullopt,
                                     hy.view(), cy.view(), gates.view());
          expect_close<T>(hy.read(), want.hy);
          expect_close<T>(cy.read(), want.cy);
          expect_close<T>(gates.read(), want.gates);
          EXPECT_TRUE(hy.gaps_untouched() && cy.gaps_untouched() && gates.gaps_untouched());
        }
  });
  test_tensor<T, D> none({0, 8}), no_state({0, 2});
  EXPECT_EQ(
      std::get<2>(fg::thnn_fused_lstm_cell(s, none.in(), none.in(), no_state.in())).sizes()[0], 0);
}

TYPED_TEST(lstm_cells, gradients) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const shape wide{2, 24}, state{2, 6};
  test_tensor<T, D> gates(wide, layout::transposed, random_values(wide, 0.1, 0.9)),
      c(state, layout::strided, random_values(state)),
      after(state, layout::negative, random_values(state)),
      by_h(state, layout::contiguous, random_values(state)),
      by_c(state, layout::transposed, random_values(state));
  for (const int given : {1, 2, 3}) {
    std::vector<double> grads(48), before(12), bias(24);
    for (std::size_t k = 0; k < 12; ++k) {
      const std::size_t at = k / 6 * 24 + k % 6;
      const auto gate = [&](std::size_t g) { return gates.values()[at + g * 6]; };
      const double h = given & 1 ? by_h.values()[k] : 0, bent = std::tanh(after.values()[k]);
      const double d = h * gate(3) * (1 - bent * bent) + (given & 2 ? by_c.values()[k] : 0);
      grads[at] = d * gate(2) * (1 - gate(0)) * gate(0);
      grads[at + 6] = d * c.values()[k] * (1 - gate(1)) * gate(1);
      grads[at + 12] = d * gate(0) * (1 - gate(2) * gate(2));
      grads[at + 18] = h * bent * (1 - gate(3)) * gate(3);
      before[k] = d * gate(1);
      for (std::size_t g = 0; g < 4; ++g) bias[k % 6 + g * 6] += grads[at + g * 6];
    }
    using view = std::optional<fg::tensor_view<const T, D>>;
    const auto r = fg::thnn_fused_lstm_cell_backward_impl(
        s, given & 1 ? view(by_h.in()) : view(), given & 2 ? view(by_c.in()) : view(), c.in(),
        after.in(), gates.in(), given != 2);
    expect_close<T>(values_of(*r.gates), grads);
    expect_close<T>(values_of(*r.cx), before);
    ASSERT_EQ(r.bias.has_value(), given != 2);
    if (r.bias) expect_close<T>(values_of(*r.bias), bias, tolerance_of<T>(10));
  }
  const auto none = fg::thnn_fused_lstm_cell_backward_impl(s, std::nullopt, std::nullopt, c.in(),
                                                           after.in(), gates.in(), true);
  EXPECT_FALSE(none.gates || none.cx || none.bias);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(lstm_cell_arguments, are_checked) {
  const auto& s = test_stream<host>();
  test_tensor<f32> gates({2, 12}), c({2, 3}), few({2, 8}), flat({6}), bias({12}), out({2, 3}),
      kept({2, 12});
  const auto run = [&](auto& a, auto& b, auto& x) {
    (void)fg::thnn_fused_lstm_cell(s, a.in(), b.in(), x.in());
  };
  EXPECT_RAISES(run(few, few, c), shape_mismatch, "thnn_fused_lstm_cell");
  EXPECT_RAISES(run(gates, few, c), shape_mismatch, "thnn_fused_lstm_cell");
  EXPECT_RAISES(run(gates, gates, flat), invalid_argument, "thnn_fused_lstm_cell");
  EXPECT_RAISES((void)fg::thnn_fused_lstm_cell(s, gates.in(), gates.in(), c.in(), bias.in()),
                invalid_argument, "thnn_fused_lstm_cell");
  EXPECT_RAISES(fg::thnn_fused_lstm_cell(s, gates.in(), gates.in(), c.in(), std::nullopt,
                                         std::nullopt, out.view(), out.view(), kept.view()),
                overlap, "thnn_fused_lstm_cell");
  EXPECT_RAISES(fg::thnn_fused_lstm_cell(s, kept.in(), gates.in(), c.in(), std::nullopt,
                                         std::nullopt, out.view(), c.view(), kept.view()),
                overlap, "thnn_fused_lstm_cell");
  EXPECT_RAISES((void)fg::thnn_fused_lstm_cell_backward_impl(s, few.in(), std::nullopt, c.in(),
                                                             c.in(), gates.in(), true),
                shape_mismatch, "thnn_fused_lstm_cell_backward_impl");
  EXPECT_TRUE(out.untouched() && kept.untouched() && c.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
