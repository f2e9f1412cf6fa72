// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/moe_routing.hpp>
#include <support/ops.hpp>

#include <algorithm>
#include <numeric>
#include <set>

namespace flaggems_test {
namespace {

using values = std::vector<double>;
using fg::i32;

template <class Device>
class routing : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(routing, devices);

/// The k greatest of some places, best first, equal ones by place.
std::vector<std::size_t> best_of(const values& x, std::vector<std::size_t> among, std::size_t k) {
  std::stable_sort(among.begin(), among.end(), [&](auto a, auto b) { return x[a] > x[b]; });
  among.resize(k);
  return among;
}
std::vector<std::size_t> first(std::size_t n) {
  std::vector<std::size_t> r(n);
  std::iota(r.begin(), r.end(), std::size_t{0});
  return r;
}

/// One token's choice: `topk` of the experts in the `open` best of `groups`.
void choose(const values& scored, const values& bias, std::size_t groups, std::size_t open,
            std::size_t topk, bool renormalize, double factor, values& shares, values& experts) {
  const std::size_t own = scored.size() / groups;
  values choice(scored), value;
  for (std::size_t e = 0; e < choice.size(); ++e) choice[e] += bias[e];
  for (std::size_t g = 0; g < groups; ++g) {
    values of(choice.begin() + static_cast<std::ptrdiff_t>(g * own),
              choice.begin() + static_cast<std::ptrdiff_t>((g + 1) * own));
    std::sort(of.rbegin(), of.rend());
    value.push_back(of[0] + of[1]);
  }
  std::vector<std::size_t> among;
  for (const std::size_t g : best_of(value, first(groups), open))
    for (std::size_t k = 0; k < own; ++k) among.push_back(g * own + k);
  std::sort(among.begin(), among.end());
  const auto taken = best_of(choice, among, topk);
  double sum = 0;
  for (const std::size_t e : taken) sum += scored[e];
  for (const std::size_t e : taken) {
    shares.push_back(scored[e] / (renormalize ? sum : 1) * factor);
    experts.push_back(static_cast<double>(e));
  }
}

TYPED_TEST(routing, grouped_topk) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const std::size_t tokens = 4, all = 12;
  const shape sizes{4, 12};
  for (const layout how : {layout::contiguous, layout::strided})
    for (const bool is_squashed : {false, true})
      for (const bool renormalize : {false, true}) {
        test_tensor<f32, D> scores(sizes, how, random_values(sizes, 0.5, 3)),
            bias({12}, how, random_values({12}));
        const auto got = fg::grouped_topk(s, scores.in(), 4, 2, 3, renormalize, 2.5, bias.in(),
                                          is_squashed ? 1 : 0);
        values shares, experts;
        for (std::size_t t = 0; t < tokens; ++t) {
          values scored;
          for (std::size_t e = 0; e < all; ++e) {
            const double x = scores.values()[t * all + e];
            scored.push_back(is_squashed ? 1 / (1 + std::exp(-x)) : x);
          }
          choose(scored, bias.values(), 4, 2, 3, renormalize, 2.5, shares, experts);
        }
        expect_close<f32>(values_of(got.first), shares);
        expect_equal(values_of(got.second), experts);
      }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  test_tensor<f32, D> lost({2, 4}, layout::contiguous, {nan, nan, nan, nan, 1, nan, 2, 3}),
      zero({4}, layout::contiguous, {0, 0, 0, 0}), none({0, 4});
  const auto got = fg::grouped_topk(s, lost.in(), 2, 1, 2, true, 1, zero.in());
  expect_close<f32>(values_of(got.first), {0.5, 0.5, 0.6, 0.4});
  expect_equal(values_of(got.second), {0, 1, 3, 2});
  EXPECT_EQ(fg::grouped_topk(s, none.in(), 2, 1, 2, true, 1, zero.in()).first.numel(), 0);
}

TYPED_TEST(routing, topk_softplus_sqrt) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const std::size_t tokens = 5, all = 8, k = 3;
  const auto root = [](double x) { return std::sqrt(std::log1p(std::exp(x))); };
  for (const layout how : output_layouts)
    for (const int kind : {0, 1, 2}) {  // best scores, best biased scores, those of a table
      test_tensor<f32, D> gating({5, 8}, how, random_values({5, 8})), weights({5, 3}, how),
          bias({8}, how, random_values({8}));
      test_tensor<i32, D> indices({5, 3}, how), places({5, 3}, how);
      test_tensor<i64, D> ids({5}, layout::contiguous, {1, 0, 1, 2, 0}),
          table({3, 3}, layout::contiguous, {0, 1, 2, 7, 5, 3, 4, 4, 6});
      const bool renormalize = kind != 1;
      const auto run = [&](const auto& with_bias, const auto&... hashed) {
        fg::topk_softplus_sqrt(s, weights.view(), indices.view(), places.view(), gating.in(),
                               renormalize, 1.5, with_bias, hashed...);
      };
      if (kind == 0) run(std::nullopt);
      if (kind == 1) run(bias.in());
      if (kind == 2) run(std::nullopt, ids.in(), table.in());
      values want, experts, order;
      for (std::size_t t = 0; t < tokens; ++t) {
        values scored, choice;
        for (std::size_t e = 0; e < all; ++e) {
          scored.push_back(root(gating.values()[t * all + e]));
          choice.push_back(scored[e] + (kind == 1 ? bias.values()[e] : 0));
        }
        auto taken = best_of(choice, first(all), k);
        for (std::size_t i = 0; i < k && kind == 2; ++i)
          taken[i] = static_cast<std::size_t>(
              table.values()[static_cast<std::size_t>(ids.values()[t]) * k + i]);
        double sum = 0;
        for (const std::size_t e : taken) sum += scored[e];
        for (const std::size_t e : taken) {
          want.push_back(scored[e] / (renormalize ? sum : 1) * 1.5);
          experts.push_back(static_cast<double>(e));
          order.push_back(static_cast<double>(order.size()));
        }
      }
      expect_close<f32>(weights.read(), want);
      expect_equal(indices.read(), experts);
      expect_equal(places.read(), order);
      EXPECT_TRUE(weights.gaps_untouched() && indices.gaps_untouched() && places.gaps_untouched());
    }
}

TYPED_TEST(routing, aligned_blocks) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const std::size_t experts = 5;
  for (const i64 tokens : {0, 1, 7, 40})
    for (const i64 block : {1, 4, 16}) {
      const shape sizes{tokens, 2};
      values given;
      for (i64 k = 0; k < 2 * tokens; ++k) given.push_back(static_cast<double>(k * k % 7 % 5));
      test_tensor<i32, D> ids(sizes, layout::contiguous, given),
          map({5}, layout::contiguous, {3, -1, 0, 1, 2});
      const auto got = fg::moe_align_block_size(s, ids.in(), block, 5, std::nullopt, true);
      values sorted, blocks;
      for (std::size_t e = 0; e < experts; ++e) {
        for (std::size_t k = 0; k < given.size(); ++k)
          if (given[k] == static_cast<double>(e)) sorted.push_back(static_cast<double>(k));
        while (sorted.size() % static_cast<std::size_t>(block) != 0)
          sorted.push_back(static_cast<double>(given.size()));
        blocks.resize(sorted.size() / static_cast<std::size_t>(block), static_cast<double>(e));
      }
      expect_equal(values_of(std::get<2>(got)), {static_cast<double>(sorted.size())});
      const values places = values_of(std::get<0>(got));
      EXPECT_EQ(places.size() % static_cast<std::size_t>(block), 0U);
      ASSERT_GE(places.size(), sorted.size());
      sorted.resize(places.size(), static_cast<double>(given.size()));
      expect_equal(places, sorted);
      blocks.resize(static_cast<std::size_t>(std::get<1>(got).numel()), -1);
      expect_equal(values_of(std::get<1>(got)), blocks);
      const auto named = fg::moe_align_block_size(s, ids.in(), block, 5, map.in());
      for (double& e : blocks) e = e < 0 ? -1 : map.values()[static_cast<std::size_t>(e)];
      expect_equal(values_of(std::get<1>(named)), blocks);
    }
}

TYPED_TEST(routing, router_gemm) {
  using D = TypeParam;
  test_tensor<bf16, D> x({2, 3}, layout::contiguous, {1, 2, 3, 4, 5, 6}),
      w({2, 3}, layout::contiguous, {1, 0, 1, 200, 3, 1});
  const auto got = fg::router_gemm(test_stream<D>(), x.in(), w.in());
  static_assert(std::is_same_v<decltype(got), const fg::tensor<f32, D>>);
  expect_equal(values_of(got), {4, 209, 10, 821});  // not rounded to bf16
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(routing_of_tokens, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> scores({2, 6}), bias({6}), few({5}), weights({2, 2}), deep({2, 6, 1});
  test_tensor<i32> indices({2, 2}), places({2, 2}), sorted({3}), blocks({1}), count({1});
  test_tensor<i32> ids({2, 2}, layout::contiguous, {0, 1, 1, 0});
  const auto group = [&](i64 groups, i64 open, i64 k, i64 scoring = 0) {
    (void)fg::grouped_topk(s, scores.in(), groups, open, k, true, 1, bias.in(), scoring);
  };
  EXPECT_RAISES(group(4, 1, 1), invalid_argument, "grouped_topk");
  EXPECT_RAISES(group(6, 1, 1), invalid_argument, "grouped_topk");
  EXPECT_RAISES(group(3, 4, 1), invalid_argument, "grouped_topk");
  EXPECT_RAISES(group(3, 1, 3), invalid_argument, "grouped_topk");
  EXPECT_RAISES(group(3, 1, 1, 2), invalid_argument, "grouped_topk");
  EXPECT_RAISES((void)fg::grouped_topk(s, scores.in(), 3, 1, 1, true, 1, few.in()), shape_mismatch,
                "grouped_topk");
  const auto gate = [&](const auto& to, const auto&... rest) {
    fg::topk_softplus_sqrt(s, weights.view(), to, places.view(), scores.in(), true, 1, rest...);
  };
  EXPECT_RAISES(gate(places.view()), overlap, "topk_softplus_sqrt");
  EXPECT_RAISES(gate(indices.view(), few.in()), shape_mismatch, "topk_softplus_sqrt");
  EXPECT_RAISES(gate(indices.view(), std::nullopt, count.in()), invalid_argument,
                "topk_softplus_sqrt");
  EXPECT_RAISES((void)fg::moe_align_block_size(s, ids.in(), 0, 4), invalid_argument,
                "moe_align_block_size");
  EXPECT_RAISES((void)fg::moe_align_block_size(s, ids.in(), 4, 1), out_of_range,
                "moe_align_block_size");
  const auto huge = error_of(
      [&] { (void)fg::moe_align_block_size(s, ids.in(), std::numeric_limits<i64>::max(), 3); });
  EXPECT_EQ(huge.got(), "3 experts, with blocks of 9223372036854775807");
  test_tensor<i32> token_ids({2}, layout::contiguous, {0, 1}),
      table({2, 2}, layout::contiguous, {0, 1, 5, 6});
  EXPECT_RAISES(gate(indices.view(), std::nullopt, token_ids.in(), table.in()), out_of_range,
                "topk_softplus_sqrt");
  EXPECT_RAISES(gate(indices.view(), std::nullopt, token_ids.in(), table.in().narrow(0, 0, 1)),
                out_of_range, "topk_softplus_sqrt");
  EXPECT_RAISES(fg::moe_align_block_size_triton(s, ids.in(), 4, 4, sorted.view(), blocks.view(),
                                                count.view()),
                shape_mismatch, "moe_align_block_size_triton");
  EXPECT_RAISES((void)fg::router_gemm(s, scores.in(), few.in()), invalid_argument, "router_gemm");
  EXPECT_TRUE(weights.untouched() && sorted.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
