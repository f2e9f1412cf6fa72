// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The other forms of attention, against their definition and against the ones that they are made
// of.
#include <flaggems/ops/attention_forms.hpp>
#include <support/attention.hpp>

namespace flaggems_test {
namespace {

/// The weights of all keys by their definition; `mask` is added to the scores.
std::vector<double> weights_of(const problem& p, const std::vector<double>& q,
                               const std::vector<double>& k, const std::vector<double>& mask) {
  std::vector<double> all;
  const double scale = p.options.scale.value_or(1 / std::sqrt(static_cast<double>(p.e)));
  for (i64 row = 0; row < p.batch * p.heads * p.queries; ++row) {
    const i64 head = row / p.queries, batch = head / p.heads;
    const i64 first = (batch * p.key_heads + head % p.heads / (p.heads / p.key_heads)) * p.keys;
    double largest = -infinity, sum = 0;
    std::vector<double> scores;
    for (i64 j = 0; j < p.keys; ++j) {
      double x = 0;
      for (i64 d = 0; d < p.e; ++d) x += q[index(row * p.e + d)] * k[index((first + j) * p.e + d)];
      x *= scale;
      if (!mask.empty()) x += mask[index(row % p.queries * p.keys + j)];
      if (p.options.is_causal && j > row % p.queries) x = -infinity;
      scores.push_back(x);
      largest = std::fmax(largest, x);
    }
    for (double& x : scores) sum += x = largest > -infinity ? std::exp(x - largest) : 0;
    for (const double x : scores) all.push_back(sum > 0 ? x / sum : 0);
  }
  return all;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want, double most) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], most) << i;
}

template <class D, class T>
void check_math(const problem& p, layout how = layout::contiguous) {
  SCOPED_TRACE(fg::to_string(p.q()) + " " + fg::to_string(p.k()) + " " + to_string(how));
  const auto& s = test_stream<D>();
  const shape scores{p.batch, p.heads, p.queries, p.keys};
  test_tensor<T, D> q(p.q(), how, random_values(p.q())), k(p.k(), how, random_values(p.k())),
      v(p.v(), how, random_values(p.v())), out(p.out(), how), weights(scores, how);
  const double most = sizeof(T) == 8 ? 1e-12 : sizeof(T) == 4 ? 1e-5 : 0.02;
  const auto run = [&](const auto& mask, const std::vector<double>& added) {
    fg::scaled_dot_product_attention_math(s, q.in(), k.in(), v.in(), mask, out.view(),
                                          weights.view(), 0, p.options.is_causal, std::nullopt,
                                          p.options.scale, p.options.enable_gqa);
    expect_near(weights.read(), weights_of(p, q.values(), k.values(), added), most);
    EXPECT_TRUE(out.gaps_untouched() && weights.gaps_untouched());
    if (added.empty())
      expect_near(out.read(), reference(p, q.values(), k.values(), v.values(), {}), most);
    const auto made = fg::scaled_dot_product_attention_math(s, q.in(), k.in(), v.in(), mask, 0,
                                                            p.options.is_causal, std::nullopt,
                                                            p.options.scale, p.options.enable_gqa);
    expect_equal(values_of(made.first), out.read());
    expect_equal(values_of(made.second), weights.read());
  };
  run(std::nullopt, {});
  if (p.options.is_causal || p.keys == 0 || p.queries == 0) return;
  // The first position sees nothing.
  auto taken = random_integers({p.queries, p.keys}, 0, 1);
  for (i64 j = 0; j < p.keys; ++j) taken[index(j)] = 0;
  test_tensor<bool, D> mask({p.queries, p.keys}, layout::contiguous, taken);
  std::vector<double> added;
  for (const double x : taken) added.push_back(x != 0 ? 0 : -infinity);
  run(mask.in(), added);
  test_tensor<T, D> numbers({p.queries, p.keys}, how, random_values({p.queries, p.keys}));
  run(numbers.in(), numbers.values());
}

template <class Device>
class attention_forms : public testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(attention_forms, devices);

TYPED_TEST(attention_forms, with_weights) {
  using D = TypeParam;
  problem p{.batch = 2, .heads = 4, .key_heads = 2, .queries = 5, .keys = 9, .e = 8, .ev = 12};
  p.options.enable_gqa = true;
  for (const layout how : {layout::contiguous, layout::strided, layout::negative})
    check_math<D, f32>(p, how);
  check_math<D, f64>(p);
  p.options.is_causal = true;
  p.options.scale = 0.3;
  check_math<D, f32>(p);
  check_math<D, bf16>(p);
  check_math<D, f32>({.queries = 3, .keys = 0, .e = 8, .ev = 8});
  check_math<D, f32>({.queries = 0, .keys = 3, .e = 8, .ev = 8});
}

// The same as what they are made of.
TYPED_TEST(attention_forms, in_other_orders) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const problem p{.batch = 2, .heads = 2, .key_heads = 2, .queries = 3, .keys = 5, .e = 8, .ev = 8};
  test_tensor<f32, D> q(p.q(), layout::contiguous, random_values(p.q())),
      k(p.k(), layout::contiguous, random_values(p.k())),
      v(p.v(), layout::contiguous, random_values(p.v())),
      mask({3, 5}, layout::contiguous, random_values({3, 5}));
  const auto [out, logs] =
      fg::scaled_dot_product_flash_attention(s, q.in(), k.in(), v.in(), 0, false, mask.in(), 0.5);
  {
    const auto r = fg::scaled_dot_product_efficient_attention(s, q.in(), k.in(), v.in(), mask.in(),
                                                              true, 0, false, 0.5);
    expect_equal(values_of(r.out), values_of(out));
    expect_equal(values_of(r.log_sumexp), values_of(logs));
    EXPECT_EQ(values_of(r.philox_seed), std::vector<double>{0});
    EXPECT_EQ(values_of(r.philox_offset), std::vector<double>{0});
  }
  {
    const auto r = fg::scaled_dot_product_efficient_attention(s, q.in(), k.in(), v.in(), mask.in(),
                                                              false, 0, false, 0.5);
    const auto want = fg::scaled_dot_product_attention(s, q.in(), k.in(), v.in(),
                                                       fg::with_mask(mask.in()), {.scale = 0.5});
    expect_equal(values_of(r.out), values_of(want));
    EXPECT_EQ(r.log_sumexp.view().shape_of(), (shape{2, 2, 0}));
  }
  const auto r = fg::scaled_dot_product_attention_forward(s, q.in(), k.in(), v.in(), mask.in(),
                                                          {.scale = 0.5});
  expect_equal(values_of(r.first), values_of(out));
  expect_equal(values_of(r.second), values_of(logs));
  test_tensor<f32, D> grad(p.out(), layout::contiguous, random_values(p.out()));
  const auto got = fg::scaled_dot_product_attention_backward(s, grad.in(), q.in(), k.in(), v.in(),
                                                             out, logs, mask.in(), {.scale = 0.5});
  const auto want = fg::scaled_dot_product_flash_attention_backward(
      s, grad.in(), q.in(), k.in(), v.in(), out, logs, 0, false, mask.in(), 0.5);
  expect_equal(values_of(got.query), values_of(want.query));
  expect_equal(values_of(got.key), values_of(want.key));
  expect_equal(values_of(got.value), values_of(want.value));
}

TYPED_TEST(attention_forms, errors) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> q({2, 4, 3, 8}), k({2, 2, 5, 8}), out({2, 4, 3, 8}), weights({2, 4, 3, 5}),
      logs({2, 4, 3}), wrong({2, 4, 5, 3});
  const auto math = [&](const auto& to, f64 dropout, bool shares) {
    fg::scaled_dot_product_attention_math(s, q.in(), k.in(), k.in(), std::nullopt, out.view(), to,
                                          dropout, false, std::nullopt, {}, shares);
  };
  const char* const op = "scaled_dot_product_attention_math";
  EXPECT_RAISES(math(wrong.view(), 0, true), shape_mismatch, op);
  EXPECT_RAISES(math(weights.view(), 0.5, true), not_supported, op);
  EXPECT_RAISES(math(out.view().narrow(3, 0, 5), 0, true), overlap, op);
  EXPECT_EQ(code_of([&] { math(weights.view(), 0, false); }), fg::errc::shape_mismatch);
  EXPECT_EQ(code_of([&] {
              fg::scaled_dot_product_attention_forward(s, q.in(), k.in(), k.in(), std::nullopt,
                                                       out.view(), logs.view());
            }),
            fg::errc::shape_mismatch);
  EXPECT_RAISES(fg::scaled_dot_product_attention_forward(s, q.in(), k.in(), k.in(), std::nullopt,
                                                         {.dropout_p = 1, .enable_gqa = true}),
                not_supported, "scaled_dot_product_attention_forward");
  EXPECT_RAISES(fg::scaled_dot_product_efficient_attention(s, q.in(), k.in(), k.in(), std::nullopt,
                                                           true, 0.5),
                not_supported, "scaled_dot_product_efficient_attention");
  EXPECT_RAISES(fg::scaled_dot_product_attention_backward(s, out.in(), q.in(), k.in(), k.in(),
                                                          out.in(), logs.in()),
                shape_mismatch, "scaled_dot_product_attention_backward");
  EXPECT_TRUE(out.untouched() && weights.untouched() && logs.untouched() && wrong.untouched());
}

}  // namespace
}  // namespace flaggems_test
