// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/moe.hpp>
#include <support/ops.hpp>

#include <algorithm>
#include <numeric>

namespace flaggems_test {
namespace {

template <class Device>
class experts : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(experts, devices);

TYPED_TEST(experts, topk_softmax) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  constexpr std::size_t tokens = 5, all = 8, k = 3;
  for (const layout how : output_layouts)
    for (const bool renormalize : {false, true}) {
      test_tensor<f32, D> gating({5, 8}, how, random_values({5, 8})), shares({5, 3}, how);
      test_tensor<fg::i32, D> indices({5, 3}, how);
      test_tensor<i64, D> places({5, 3}, how);
      fg::topk_softmax(s, shares.view(), indices.view(), places.view(), gating.in(), renormalize);
      std::vector<double> want, at, lies;
      for (std::size_t t = 0; t < tokens; ++t) {
        const double* const row = gating.values().data() + t * all;
        std::vector<std::size_t> order(all);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](auto a, auto b) { return row[a] > row[b]; });
        double sum = 0;
        for (std::size_t i = 0; i < (renormalize ? k : all); ++i) sum += std::exp(row[order[i]]);
        for (std::size_t i = 0; i < k; ++i) {
          want.push_back(std::exp(row[order[i]]) / sum);
          at.push_back(static_cast<double>(order[i]));
          lies.push_back(static_cast<double>(i * tokens + t));
        }
      }
      expect_close<f32>(shares.read(), want);
      expect_equal(indices.read(), at);
      expect_equal(places.read(), lies);
      EXPECT_TRUE(shares.gaps_untouched() && indices.gaps_untouched() && places.gaps_untouched());
    }
}

TYPED_TEST(experts, moe_sum) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const layout how : output_layouts) {
    test_tensor<bf16, D> x({2, 3, 2}, how, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
        out({2, 2}, how);
    fg::moe_sum(s, x.in(), out.view());
    expect_equal(out.read(), {9, 12, 27, 30});
    EXPECT_TRUE(out.gaps_untouched());
  }
  test_tensor<f32, D> none({0, 2, 4}), to({0, 4});
  fg::moe_sum(s, none.in(), to.view());
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(expert, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> gating({2, 3}), shares({2, 2}), wide({2, 4}), deep({2, 2, 2});
  test_tensor<i64> indices({2, 2}), places({2, 2}), few({1, 2});
  EXPECT_RAISES(fg::topk_softmax(s, wide.view(), indices.view(), places.view(), gating.in()),
                shape_mismatch, "topk_softmax");
  EXPECT_RAISES(fg::topk_softmax(s, shares.view(), few.view(), places.view(), gating.in()),
                shape_mismatch, "topk_softmax");
  EXPECT_RAISES(fg::topk_softmax(s, shares.view(), indices.view(), indices.view(), gating.in()),
                overlap, "topk_softmax");
  EXPECT_RAISES(fg::moe_sum(s, gating.in(), shares.view()), shape_mismatch, "moe_sum");
  EXPECT_TRUE(shares.untouched() && indices.untouched() && places.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
