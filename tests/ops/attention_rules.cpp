// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention with rules of its scores.
#include <flaggems/ops/attention.hpp>
#include <support/attention.hpp>
#include <support/attention_rule.hpp>

#include <array>
#include <functional>
#include <limits>

namespace flaggems_test {
namespace {

/// The definition: each score is changed by f(score, head, query, key).
using rule_of_doubles = std::function<double(double, i64, i64, i64)>;
std::vector<double> changed(const problem& p, const std::vector<double>& q,
                            const std::vector<double>& k, const rule_of_doubles& f) {
  const double scale = p.options.scale.value_or(1 / std::sqrt(static_cast<double>(p.e)));
  std::vector<double> difference;  // what reference() adds to its scores
  for (i64 row = 0; row < p.batch * p.heads * p.queries; ++row) {
    const i64 head = row / p.queries;
    const i64 first =
        (head / p.heads * p.key_heads + head % p.heads / (p.heads / p.key_heads)) * p.keys;
    for (i64 j = 0; j < p.keys; ++j) {
      double x = 0;
      for (i64 d = 0; d < p.e; ++d) x += q[index(row * p.e + d)] * k[index((first + j) * p.e + d)];
      difference.push_back(f(x * scale, head, row % p.queries, j) - x * scale);
    }
  }
  return difference;
}

template <class D, class T, class Rule>
void check(const problem& p, const Rule& rule, const rule_of_doubles& f) {
  SCOPED_TRACE(fg::to_string(p.q()) + " " + fg::to_string(p.k()));
  test_tensor<T, D> q(p.q(), layout::contiguous, random_values(p.q())),
      k(p.k(), layout::contiguous, random_values(p.k())),
      v(p.v(), layout::contiguous, random_values(p.v())), out(p.out());
  fg::scaled_dot_product_attention(test_stream<D>(), q.in(), k.in(), v.in(), fg::with_score(rule),
                                   out.view(), p.options);
  const auto want = reference(p, q.values(), k.values(), v.values(),
                              changed(p, q.values(), k.values(), f)),
             got = out.read();
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i], want[i], sizeof(T) == 2 ? 0.03 : 2e-5) << i;
  if (p.queries == 1) return;
  const auto made = fg::scaled_dot_product_attention(test_stream<D>(), q.in(), k.in(), v.in(),
                                                     fg::with_score(rule), p.options);
  expect_equal(values_of(made), got);
}

template <class Device>
class attention_rules : public testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(attention_rules, devices);

TYPED_TEST(attention_rules, know_their_place) {
  using D = TypeParam;
  const auto f = [](double s, i64 head, i64 query, i64 key) {
    return key % 3 == 0 ? -infinity
                        : s / 2 + static_cast<double>(key) / 8 + static_cast<double>(head) / 2 -
                              static_cast<double>(query) / 4;
  };
  problem p{.batch = 2, .heads = 4, .key_heads = 2, .queries = 3, .keys = 11, .e = 8, .ev = 8};
  p.options.enable_gqa = true;
  check<D, f32>(p, by_place{}, f);
  p.queries = 1;
  p.keys = 70;
  check<D, f32>(p, by_place{}, f);
  p.options.is_causal = true;
  p.queries = 18;
  p.e = p.ev = 64;
  check<D, bf16>(p, by_place{}, f);
  p.queries = 1;
  p.options.is_causal = false;
  check<D, bf16>(p, by_place{}, f);
}
// Where there are warp groups, by them.
TYPED_TEST(attention_rules, of_many_queries) {
  using D = TypeParam;
  problem p{.heads = 2, .key_heads = 1, .queries = 70, .keys = 150, .e = 128, .ev = 128};
  p.options.enable_gqa = true;
  check<D, bf16>(p, by_place{}, [](double s, i64 head, i64 query, i64 key) {
    return key % 3 == 0 ? -infinity
                        : s / 2 + static_cast<double>(key) / 8 + static_cast<double>(head) / 2 -
                              static_cast<double>(query) / 4;
  });
  check<D, bf16>(p, fg::soft_cap{0.5F},
                 [](double s, i64, i64, i64) { return 0.5 * std::tanh(s / 0.5); });
  constexpr fg::i32 most = std::numeric_limits<fg::i32>::max();
  for (const auto& [left, right, shift] : {std::array<fg::i32, 3>{20, 5, 10},
                                           {-1, 3, 40},
                                           {100, -1, 0},
                                           {5, 0, 200},
                                           {-1, most, 0},
                                           {most, 3, -5}})
    check<D, bf16>(p, fg::attention_window{left, right, shift},
                   [&, l = left, r = right, own = shift](double s, i64, i64 query, i64 key) {
                     const bool is_hidden =
                         (l >= 0 && key < query + own - l) || (r >= 0 && key > query + own + r);
                     return is_hidden ? -infinity : s;
                   });
}
TYPED_TEST(attention_rules, of_the_library) {
  using D = TypeParam;
  const problem p{.batch = 2, .heads = 2, .key_heads = 2, .queries = 6, .keys = 9, .e = 8, .ev = 8};
  check<D, f32>(p, fg::soft_cap{0.5F},
                [](double s, i64, i64, i64) { return 0.5 * std::tanh(s / 0.5); });
  constexpr fg::i32 most = std::numeric_limits<fg::i32>::max();
  for (const auto& [left, right] :
       {std::pair<fg::i32, fg::i32>{2, 1}, {-1, 0}, {0, -1}, {-1, most}, {most, most}})
    check<D, f32>(p, fg::attention_window{left, right, 3},
                  [&, left = left, right = right](double s, i64, i64 query, i64 key) {
                    const bool is_hidden = (left >= 0 && key < query + 3 - left) ||
                                           (right >= 0 && key > query + 3 + right);
                    return is_hidden ? -infinity : s;
                  });
  test_tensor<f32, D> slopes({2}, layout::contiguous, {0.25, 1.5});
  check<D, f32>(
      p, fg::alibi{slopes.in().data(), 2, 3}, [&](double s, i64 head, i64 query, i64 key) {
        return s - (head % 2 == 0 ? 0.25 : 1.5) * std::abs(static_cast<double>(key - query - 3));
      });
}

}  // namespace
}  // namespace flaggems_test
