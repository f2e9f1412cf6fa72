// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// ATen's forms of attention for fused kernels: against the forms that they are made of, and their
// gradients against the chain rule.
#include <flaggems/ops/attention_fused.hpp>
#include <support/attention_gradients.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class attention_fused : public testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(attention_fused, devices);

/// Calls f(score, place) with each of [batch, heads, queries, keys] and where a bias of `sizes`
/// that is broadcast to them has its number.
template <class F>
void each_score(const problem& p, const shape& sizes, const F& f) {
  const i64 all[] = {p.batch, p.heads, p.queries, p.keys};
  const int lead = 4 - sizes.rank();
  for (i64 i = 0; i < p.batch * p.heads * p.queries * p.keys; ++i) {
    i64 rest = i, at = 0, step = 1;
    for (int d = 3; d >= 0; --d) {
      const i64 c = rest % all[d];
      rest /= all[d];
      if (d < lead) continue;
      at += sizes[d - lead] == 1 ? 0 : c * step;
      step *= sizes[d - lead];
    }
    f(index(i), index(at));
  }
}
/// Sums over what a bias of `sizes` is broadcast over.
values sum_to(const problem& p, const shape& sizes, const values& of) {
  values r(index(sizes.numel()));
  each_score(p, sizes, [&](std::size_t score, std::size_t place) { r[place] += of[score]; });
  return r;
}
/// A bias as one number a score.
values spread(const problem& p, const shape& sizes, const values& bias) {
  values r(index(p.batch * p.heads * p.queries * p.keys));
  each_score(p, sizes, [&](std::size_t score, std::size_t place) { r[score] = bias[place]; });
  return r;
}

TYPED_TEST(attention_fused, gives_what_attention_with_logarithms_gives) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const problem p{.batch = 2, .heads = 4, .key_heads = 2, .queries = 3, .keys = 5, .e = 8, .ev = 4};
  test_tensor<f32, D> q(p.q(), layout::strided, random_values(p.q())),
      k(p.k(), layout::contiguous, random_values(p.k())),
      v(p.v(), layout::negative, random_values(p.v())),
      bias({3, 5}, layout::contiguous, random_values({3, 5}));
  const auto check = [&](const auto& mask, bool is_causal) {
    const auto plain =
        fg::scaled_dot_product_flash_attention(s, q.in(), k.in(), v.in(), 0, is_causal, mask, 0.5);
    const auto is_right = [&](const auto& r, const shape& sizes) {
      expect_equal(values_of(r.out), values_of(plain.first));
      expect_equal(values_of(r.logsumexp), values_of(plain.second));
      EXPECT_EQ(r.logsumexp.view().shape_of(), sizes);
      EXPECT_TRUE(!r.cum_seq_q && !r.cum_seq_k && !r.debug_attn_mask);
      EXPECT_EQ(r.max_q, 3);
      EXPECT_EQ(r.max_k, 5);
      EXPECT_EQ(values_of(r.philox_seed), values{0});
      EXPECT_EQ(values_of(r.philox_offset), values{0});
    };
    is_right(fg::scaled_dot_product_cudnn_attention(s, q.in(), k.in(), v.in(), mask, true, 0,
                                                    is_causal, 0.5),
             {2, 4, 3, 1});
    is_right(fg::cudnn_attention_forward(s, q.in(), k.in(), v.in(), mask, std::nullopt,
                                         std::nullopt, 3, 5, true, 0, is_causal, 0.5),
             {2, 4, 3, 1});
    is_right(fg::scaled_dot_product_fused_attention_overrideable(s, q.in(), k.in(), v.in(), mask, 0,
                                                                 is_causal, 0.5),
             {2, 4, 3});
  };
  check(std::nullopt, false);
  check(std::nullopt, true);
  check(bias.in(), false);
  const auto none = fg::scaled_dot_product_cudnn_attention(s, q.in(), k.in(), v.in(), bias.in());
  EXPECT_EQ(none.logsumexp.view().shape_of(), (shape{2, 4, 0, 1}));
  EXPECT_EQ(none.out.view().shape_of(), p.out());
}

/// All forms of the gradients, with a bias of these sizes.
template <class D, class T>
void check_gradients(const problem& p, const shape& bias_sizes) {
  SCOPED_TRACE(fg::to_string(p.q()) + " " + fg::to_string(p.k()) + " " + fg::to_string(bias_sizes));
  const auto& s = test_stream<D>();
  test_tensor<T, D> q(p.q(), layout::contiguous, random_values(p.q())),
      k(p.k(), layout::contiguous, random_values(p.k())),
      v(p.v(), layout::strided, random_values(p.v())),
      grad(p.out(), layout::contiguous, random_values(p.out())),
      bias(bias_sizes, layout::strided, random_values(bias_sizes));
  const auto run = [&](const auto& mask, bool is_causal, const values& added) {
    const bool has_bias = !added.empty();
    problem own = p;
    own.options.is_causal = is_causal;
    const auto [out, logs] =
        fg::scaled_dot_product_flash_attention(s, q.in(), k.in(), v.in(), 0, is_causal, mask);
    const gradients want = reference(own, grad.values(), q.values(), k.values(), v.values(), added);
    const auto is_right = [&](const auto& r) {
      expect_within<T>("query", values_of(*r.query), want.q, want.q_most);
      expect_within<T>("key", values_of(*r.key), want.k, want.k_most);
      expect_within<T>("value", values_of(*r.value), want.v, want.v_most);
      ASSERT_EQ(r.bias.has_value(), has_bias);
      if (has_bias)
        expect_within<T>("bias", values_of(*r.bias), sum_to(p, bias_sizes, want.scores),
                         sum_to(p, bias_sizes, want.scores_most));
    };
    is_right(fg::scaled_dot_product_efficient_attention_backward(
        s, grad.in(), q.in(), k.in(), v.in(), mask, out, logs, 0, {true, true, true, true},
        is_causal));
    is_right(fg::scaled_dot_product_fused_attention_overrideable_backward(
        s, grad.in(), q.in(), k.in(), v.in(), mask, {true, true, true, true}, out, logs,
        std::nullopt, std::nullopt, 0, 0, 0, is_causal));
    const auto r = fg::scaled_dot_product_cudnn_attention_backward(
        s, grad.in(), q.in(), k.in(), v.in(), out, logs.view().unsqueeze(-1), mask, std::nullopt,
        std::nullopt, 0, 0, 0, is_causal);
    expect_within<T>("query", values_of(r.query), want.q, want.q_most);
    expect_within<T>("key", values_of(r.key), want.k, want.k_most);
    expect_within<T>("value", values_of(r.value), want.v, want.v_most);
    const auto some = fg::scaled_dot_product_efficient_attention_backward(
        s, grad.in(), q.in(), k.in(), v.in(), mask, out, logs, 0, {false, true, false, false},
        is_causal);
    EXPECT_TRUE(!some.query && some.key && !some.value && !some.bias);
  };
  run(std::nullopt, false, {});
  run(std::nullopt, true, {});
  run(bias.in(), false, spread(p, bias_sizes, bias.values()));
}

TYPED_TEST(attention_fused, gradients_and_the_biass) {
  using D = TypeParam;
  const problem p{.batch = 2, .heads = 4, .key_heads = 2, .queries = 3, .keys = 6, .e = 8, .ev = 4};
  for (const shape& sizes : {shape{2, 4, 3, 6}, shape{4, 1, 6}}) check_gradients<D, f32>(p, sizes);
  check_gradients<D, f64>(p, {3, 6});
  check_gradients<D, bf16>(p, {2, 1, 3, 1});
}

// Heads behind positions, logarithms with room behind them, and either corner of a causal mask.
TYPED_TEST(attention_fused, efficient_gradients_with_heads_behind) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  problem p{.batch = 2, .heads = 2, .key_heads = 2, .queries = 3, .keys = 5, .e = 8, .ev = 4};
  const auto made = [&](const shape& sizes) {
    return test_tensor<f32, D>({sizes[0], sizes[2], sizes[1], sizes[3]}, layout::contiguous,
                               random_values(sizes));
  };
  auto q = made(p.q()), k = made(p.k()), v = made(p.v()), grad = made(p.out());
  test_tensor<f32, D> bias({3, 5}, layout::contiguous, random_values({3, 5}));
  test_tensor<f32, D> logs({2, 2, 32});
  const auto in_order = [](const values& x, i64 n, i64 heads, i64 size) {
    values r;  // [batch, n, heads, size] as [batch, heads, n, size]
    for (i64 b = 0; b < 2; ++b)
      for (i64 h = 0; h < heads; ++h)
        for (i64 i = 0; i < n; ++i)
          for (i64 d = 0; d < size; ++d)
            r.push_back(x[index(((b * n + i) * heads + h) * size + d)]);
    return r;
  };
  const auto first = [](auto& x) { return x.in().transpose(1, 2); };
  for (const i64 kind : {0, 1, 2})
    for (const bool has_bias : {false, true}) {
      if (kind != 0 && has_bias) continue;
      p.options.is_causal = kind != 0;
      p.options.alignment =
          kind == 2 ? fg::causal_alignment::bottom_right : fg::causal_alignment::top_left;
      test_tensor<f32, D> out({2, 3, 2, 4});
      const auto run = [&](const auto& mask, const values& added) {
        using M = std::remove_cvref_t<decltype(mask)>;
        using view = fg::tensor_view<const f32, D>;
        using call = fg::detail::attention_call<view, view, view, fg::tensor_view<f32, D>, M>;
        call::run(s, first(q), first(k), first(v), mask, out.view().transpose(1, 2), p.options,
                  logs.view().narrow(-1, 0, 3));
        const auto r = [&] {
          const auto backward = [&](const auto& given) {
            return fg::efficient_attention_backward(s, grad.in(), q.in(), k.in(), v.in(), given,
                                                    out.in(), std::nullopt, std::nullopt, 3, 5,
                                                    logs.in(), 0, kind, true);
          };
          if constexpr (std::is_same_v<M, fg::detail::no_mask_view>)
            return backward(std::nullopt);
          else
            return backward(mask);
        }();
        const gradients want =
            reference(p, in_order(grad.values(), 3, 2, 4), in_order(q.values(), 3, 2, 8),
                      in_order(k.values(), 5, 2, 8), in_order(v.values(), 5, 2, 4), added);
        EXPECT_EQ(r.query->view().shape_of(), q.sizes());
        expect_within<f32>("query", in_order(values_of(*r.query), 3, 2, 8), want.q, want.q_most);
        expect_within<f32>("key", in_order(values_of(*r.key), 5, 2, 8), want.k, want.k_most);
        expect_within<f32>("value", in_order(values_of(*r.value), 5, 2, 4), want.v, want.v_most);
        ASSERT_EQ(r.bias.has_value(), !added.empty());
        if (r.bias)
          expect_within<f32>("bias", values_of(*r.bias), sum_to(p, {3, 5}, want.scores),
                             sum_to(p, {3, 5}, want.scores_most));
      };
      if (has_bias)
        run(bias.in(), spread(p, {3, 5}, bias.values()));
      else
        run(fg::detail::no_mask_view{}, {});
    }
}

TYPED_TEST(attention_fused, nothing) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> q({2, 2, 0, 8}), k({2, 2, 3, 8}), bias({0, 3}), logs({2, 2, 0});
  const auto r = fg::scaled_dot_product_fused_attention_overrideable(s, q.in(), k.in(), k.in());
  EXPECT_EQ(r.logsumexp.view().shape_of(), (shape{2, 2, 0}));
  const auto made = fg::scaled_dot_product_efficient_attention_backward(
      s, q.in(), q.in(), k.in(), k.in(), bias.in(), q.in(), logs.in());
  EXPECT_EQ(values_of(*made.key), values(index(k.sizes().numel())));
  EXPECT_EQ(made.bias->view().shape_of(), (shape{0, 3}));
}

TYPED_TEST(attention_fused, errors) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> q({2, 4, 3, 8}), k({2, 2, 5, 8}), logs({2, 4, 3}), bias({3, 5});
  test_tensor<bool, D> taken({3, 5});
  test_tensor<fg::i32, D> starts({3});
  const auto cudnn = [&](f64 dropout, const auto& key) {
    return fg::scaled_dot_product_cudnn_attention(s, q.in(), key, k.in(), std::nullopt, true,
                                                  dropout);
  };
  EXPECT_RAISES(cudnn(0.5, k.in()), not_supported, "scaled_dot_product_cudnn_attention");
  EXPECT_EQ(code_of([&] { cudnn(0, k.in().narrow(2, 0, 4)); }), fg::errc::shape_mismatch);
  EXPECT_RAISES(fg::cudnn_attention_forward(s, q.in(), k.in(), k.in(), std::nullopt,
                                            std::optional(starts.in()), std::nullopt, 3, 5, true),
                not_supported, "cudnn_attention_forward");
  EXPECT_RAISES(fg::scaled_dot_product_fused_attention_overrideable(s, q.in(), k.in(), k.in(),
                                                                    bias.in(), 0, true),
                invalid_argument, "scaled_dot_product_fused_attention_overrideable");
  const auto efficient = [&](const auto& mask, const auto& sums, const auto& grad) {
    return fg::scaled_dot_product_efficient_attention_backward(s, grad, q.in(), k.in(), k.in(),
                                                               mask, q.in(), sums);
  };
  const char* const op = "scaled_dot_product_efficient_attention_backward";
  EXPECT_RAISES(efficient(taken.in(), logs.in(), q.in()), not_supported, op);
  EXPECT_RAISES(efficient(bias.in().narrow(1, 0, 4), logs.in(), q.in()), shape_mismatch, op);
  EXPECT_RAISES(efficient(bias.in(), logs.in().narrow(2, 0, 2), q.in()), shape_mismatch, op);
  EXPECT_RAISES(efficient(bias.in(), logs.in(), k.in()), shape_mismatch, op);
  const auto behind = [&](i64 kind, std::optional<i64> window) {
    return fg::efficient_attention_backward(s, q.in(), q.in(), q.in(), q.in(), std::nullopt, q.in(),
                                            std::nullopt, std::nullopt, 4, 4, logs.in(), 0, kind,
                                            false, {}, window);
  };
  EXPECT_RAISES(behind(3, {}), invalid_argument, "efficient_attention_backward");
  EXPECT_RAISES(behind(1, 4), not_supported, "efficient_attention_backward");
  EXPECT_RAISES(behind(0, {}), shape_mismatch, "efficient_attention_backward");
  EXPECT_RAISES(fg::scaled_dot_product_cudnn_attention_backward(s, q.in(), q.in(), q.in(), q.in(),
                                                                q.in(), k.in()),
                shape_mismatch, "scaled_dot_product_cudnn_attention_backward");
}

}  // namespace
}  // namespace flaggems_test
