// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention that also gives the logarithms of the sums of exponentials.
#include <flaggems/ops/attention.hpp>
#include <support/attention.hpp>

namespace flaggems_test {
namespace {

using fg::f16, fg::f32, fg::f64;

/// The logarithms by their definition, and what of the scores is no infinity at most.
std::vector<double> logs_of(const problem& p, const std::vector<double>& q,
                            const std::vector<double>& k, const std::vector<double>& mask) {
  std::vector<double> result;
  const double scale = p.options.scale.value_or(1 / std::sqrt(static_cast<double>(p.e)));
  for (i64 row = 0; row < p.batch * p.heads * p.queries; ++row) {
    double largest = -infinity, sum = 0;
    std::vector<double> scores;
    for (i64 j = 0; j < p.keys; ++j) {
      double x = 0;
      for (i64 d = 0; d < p.e; ++d)
        x += q[index(row * p.e + d)] * k[index((row / p.queries * p.keys + j) * p.e + d)];
      x *= scale;
      if (!mask.empty()) x += mask[index(row % p.queries * p.keys + j)];
      if (p.options.is_causal && j > row % p.queries) x = -infinity;
      scores.push_back(x);
      largest = std::fmax(largest, x);
    }
    if (largest > -infinity)
      for (const double x : scores) sum += std::exp(x - largest);
    result.push_back(largest > -infinity ? largest + std::log(sum) : -infinity);
  }
  return result;
}

template <class T>
constexpr double tolerance = std::is_same_v<T, f64> ? 1e-12 : 2e-5;

/// The result and its logarithms, with and without a mask that the first position sees nothing of.
template <class D, class T>
void check(const problem& p, layout how = layout::contiguous) {
  SCOPED_TRACE(fg::to_string(p.q()) + " " + fg::to_string(p.k()) + " " + to_string(how));
  using L = fg::attention_log_type<T>;
  const auto& s = test_stream<D>();
  test_tensor<T, D> q(p.q(), how, random_values(p.q())), k(p.k(), how, random_values(p.k())),
      v(p.v(), how, random_values(p.v())), out(p.out(), how), plain(p.out());
  const shape rows{p.batch, p.heads, p.queries};
  const auto near_to = [&](const std::vector<double>& got, const std::vector<double>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(got[i] == want[i] ||
                  std::abs(got[i] - want[i]) <= tolerance<T> * (1 + std::abs(want[i])))
          << i << ": " << got[i] << ", expected " << want[i];
  };
  {
    test_tensor<L, D> logs(rows, how);
    fg::scaled_dot_product_flash_attention(s, q.in(), k.in(), v.in(), out.view(), logs.view(), 0,
                                           p.options.is_causal, std::nullopt, p.options.scale);
    near_to(logs.read(), logs_of(p, q.values(), k.values(), {}));
    EXPECT_TRUE(logs.gaps_untouched());
    fg::scaled_dot_product_attention(s, q.in(), k.in(), v.in(), std::nullopt, plain.view(),
                                     p.options);
    const auto got = out.read(), want = plain.read();
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], want[i], sizeof(T) == 2 ? 0.02 : 1e-4) << i;
  }
  if (p.options.is_causal || p.keys == 0 || p.queries == 0) return;
  auto taken = random_integers({p.queries, p.keys}, 0, 1);
  for (i64 j = 0; j < p.keys; ++j) taken[index(j)] = 0;
  test_tensor<bool, D> mask({p.queries, p.keys}, layout::contiguous, taken);
  const auto made = fg::scaled_dot_product_flash_attention(s, q.in(), k.in(), v.in(), 0, false,
                                                           mask.in(), p.options.scale);
  for (double& x : taken) x = x != 0 ? 0 : -infinity;
  near_to(values_of(made.second), logs_of(p, q.values(), k.values(), taken));
}

template <class Device>
class attention_logs : public testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(attention_logs, devices);

TYPED_TEST(attention_logs, of_all_types) {
  using D = TypeParam;
  const problem p{
      .batch = 2, .heads = 3, .key_heads = 3, .queries = 9, .keys = 70, .e = 16, .ev = 24};
  for (const layout how : {layout::contiguous, layout::strided, layout::negative})
    check<D, f32>(p, how);
  check<D, f64>(p);
  check<D, bf16>(p, layout::strided);
  check<D, f16>(p);
}
TYPED_TEST(attention_logs, of_many_queries) {
  using D = TypeParam;
  check<D, bf16>({.heads = 2, .key_heads = 2, .queries = 150, .keys = 176, .e = 64, .ev = 64});
  problem p{.batch = 2, .queries = 70, .keys = 64, .e = 128, .ev = 128};
  check<D, f16>(p);
  p.options = {.is_causal = true, .scale = 0.25};
  check<D, bf16>(p);
  check<D, f32>(p);
}
// Keys and values that the copy engine does not take: the same for all batches.
TYPED_TEST(attention_logs, of_shared_keys) {
  using D = TypeParam;
  const problem one{.queries = 40, .keys = 70, .e = 64, .ev = 64};
  const problem p{.batch = 2, .queries = 40, .keys = 70, .e = 64, .ev = 64};
  test_tensor<bf16, D> q(p.q(), layout::contiguous, random_values(p.q())),
      k(one.k(), layout::contiguous, random_values(one.k())), out(p.out());
  test_tensor<f32, D> logs({2, 1, 40});
  const auto keys = k.in().expand(p.k());
  fg::scaled_dot_product_flash_attention(test_stream<D>(), q.in(), keys, keys, out.view(),
                                         logs.view());
  auto all = k.values();
  all.insert(all.end(), all.begin(), all.begin() + one.k().numel());
  const auto want = logs_of(p, q.values(), all, {}), got = logs.read();
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-5) << i;
}
TYPED_TEST(attention_logs, of_nothing) {
  using D = TypeParam;
  check<D, bf16>({.queries = 20, .keys = 0, .e = 64, .ev = 64});
  check<D, f32>({.queries = 3, .keys = 5, .e = 8, .ev = 0});
  check<D, f32>({.queries = 0, .keys = 5, .e = 8, .ev = 8});
}
TYPED_TEST(attention_logs, errors) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({2, 3, 4}), out({2, 3, 4}), logs({2, 3}), wrong({3, 2});
  const auto code = [&](const auto& to, const auto& sums, double dropout) {
    return code_of([&] {
      fg::scaled_dot_product_flash_attention(s, x.in(), x.in(), x.in(), to, sums, dropout);
    });
  };
  EXPECT_EQ(code(out.view(), wrong.view(), 0), fg::errc::shape_mismatch);
  EXPECT_EQ(code(out.view(), logs.view(), 0.5), fg::errc::not_supported);
  EXPECT_EQ(code(out.view(), out.view().select(2, 0), 0), fg::errc::overlap);
  EXPECT_TRUE(out.untouched() && logs.untouched());
}

}  // namespace
}  // namespace flaggems_test
