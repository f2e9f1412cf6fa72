// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/delta_rule.hpp>
#include <support/ops.hpp>

#include <array>
#include <cmath>

namespace flaggems_test {
namespace {

using numbers = std::vector<double>;

/// The operands [B, T, heads, size], and what they have to give, in double.
template <class T, class D>
struct rule {
  using K = fg::kernels::compute_type<T>;
  i64 batch, tokens, heads, more, keys, values;
  test_tensor<T, D> q, k, v, beta;
  test_tensor<K, D> g;

  rule(i64 b, i64 t, i64 h, i64 m, i64 n, i64 w, layout in = layout::contiguous)
      : batch(b),
        tokens(t),
        heads(h),
        more(m),
        keys(n),
        values(w),
        q({b, t, h, n}, in, random_values({b, t, h, n}, -0.5, 0.5)),
        k({b, t, h, n}, in, random_values({b, t, h, n}, -0.5, 0.5)),
        v({b, t, h * m, w}, in, random_values({b, t, h * m, w})),
        beta({b, t, h * m}, in, random_values({b, t, h * m}, 0, 1)),
        g({b, t, h * m}, in, random_values({b, t, h * m}, -1, 0)) {}

  /// Runs tokens [begin, end) of a batch for a head from a state [keys, values], which becomes the
  /// last one; `out` [B, T, HV, V]; kept(t, state) after each token.
  template <class F>
  void run(i64 b, i64 begin, i64 end, i64 head, double scale, bool normalizes, numbers& state,
           numbers& out, const F& kept) {
    const auto row = [&](auto& x, i64 t, i64 h, i64 count, i64 size) {
      const auto at = x.values().begin() + ((b * tokens + t) * count + h) * size;
      return numbers(at, at + size);
    };
    for (i64 t = begin; t < end; ++t) {
      numbers key = row(k, t, head / more, heads, keys),
              query = row(q, t, head / more, heads, keys);
      const numbers value = row(v, t, head, heads * more, values);
      if (normalizes)
        for (numbers* x : {&key, &query}) {
          double sum = 1e-6;
          for (const double e : *x) sum += e * e;
          for (double& e : *x) e /= std::sqrt(sum);
        }
      const auto one = static_cast<std::size_t>((b * tokens + t) * heads * more + head);
      for (double& x : state) x *= std::exp(g.values()[one]);
      const auto at = [&](i64 i, i64 j) -> double& {
        return state[static_cast<std::size_t>(i * values + j)];
      };
      for (i64 j = 0; j < values; ++j) {
        double change = value[static_cast<std::size_t>(j)], sum = 0;
        for (i64 i = 0; i < keys; ++i) change -= key[static_cast<std::size_t>(i)] * at(i, j);
        change *= beta.values()[one];
        for (i64 i = 0; i < keys; ++i) {
          at(i, j) += key[static_cast<std::size_t>(i)] * change;
          sum += query[static_cast<std::size_t>(i)] * at(i, j);
        }
        out[one * static_cast<std::size_t>(values) + static_cast<std::size_t>(j)] = scale * sum;
      }
      kept(t, state);
    }
  }
};

numbers slot(const numbers& states, i64 heads, i64 size, i64 n, i64 head) {
  const auto at = states.begin() + (n * heads + head) * size;
  return numbers(at, at + size);
}
void put(numbers& states, i64 heads, i64 size, i64 n, i64 head, const numbers& state) {
  std::copy(state.begin(), state.end(), states.begin() + (n * heads + head) * size);
}

template <class Case>
class delta_rule : public ::testing::Test {};
TYPED_TEST_SUITE(delta_rule, wide_float_cases);

TYPED_TEST(delta_rule, by_chunks) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  for (const layout in : {layout::contiguous, layout::transposed, layout::negative})
    for (const bool split : {false, true}) {
      rule<T, D> x(split ? 1 : 2, 70, 1, 2, 6, 5, in);
      using K = typename rule<T, D>::K;
      const std::vector<i64> starts = split ? std::vector<i64>{0, 3, 3, 70} : std::vector<i64>{};
      const i64 n = split ? 3 : 2, size = x.keys * x.values;
      test_tensor<K, D> first({n, 2, x.keys, x.values}, in,
                              random_values({n, 2, x.keys, x.values}));
      numbers out(x.v.values().size()), last(first.values());
      for (i64 k = 0; k < n; ++k)
        for (i64 h = 0; h < 2; ++h) {
          numbers state = slot(first.values(), 2, size, k, h);
          const auto at = static_cast<std::size_t>(k);
          x.run(split ? 0 : k, split ? starts[at] : 0, split ? starts[at + 1] : x.tokens, h, 0.5,
                false, state, out, [](i64, const numbers&) {});
          put(last, 2, size, k, h, state);
        }
      const auto list = fg::from_values<i64>(s, std::span<const i64>(starts));
      using view = std::optional<fg::tensor_view<const i64, D>>;
      const auto r =
          fg::chunk_gated_delta_rule_fwd(s, x.q.in(), x.k.in(), x.v.in(), x.g.in(), x.beta.in(),
                                         0.5, first.in(), true, split ? view(list.view()) : view());
      expect_close<T>(values_of(r.out), out, tolerance_of<T>(10));
      expect_close<K>(values_of(*r.final_state), last, tolerance_of<K>(10));
      const auto none = fg::chunk_gated_delta_rule_fwd(s, x.q.in(), x.k.in(), x.v.in(), x.g.in(),
                                                       x.beta.in(), 0.5, std::nullopt, false);
      EXPECT_FALSE(none.final_state);
    }
}

TYPED_TEST(delta_rule, heads_first) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  rule<T, D> x(2, 9, 2, 1, 4, 3);
  numbers out(x.v.values().size());
  for (i64 b = 0; b < 2; ++b)
    for (i64 h = 0; h < 2; ++h) {
      numbers state(12);
      x.run(b, 0, 9, h, 0.5, true, state, out, [](i64, const numbers&) {});
    }
  const auto turned = [](auto& t) { return t.in().transpose(1, 2); };
  const auto r = fg::chunk_gated_delta_rule(s, turned(x.q), turned(x.k), turned(x.v),
                                            turned(x.beta), turned(x.g), 4, std::nullopt, false,
                                            std::nullopt, true, std::nullopt, true);
  EXPECT_EQ(r.out.shape_of(), (shape{2, 2, 9, 3}));
  expect_close<T>(values_of(fg::clone(s, r.out.view().transpose(1, 2))), out);
}

TYPED_TEST(delta_rule, in_slots) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  using K = typename rule<T, D>::K;
  const auto& s = test_stream<D>();
  rule<T, D> x(2, 3, 1, 2, 5, 70, layout::strided);
  const i64 size = x.keys * x.values;
  const auto slots = fg::from_values<i64>(s, {4, 1, 0, 2, 5, -1}, {2, 3});
  const auto accepted = fg::from_values<i64>(s, {2, 1});
  const std::vector<std::vector<i64>> own{{4, 1, 0}, {2, 5, -1}};
  const shape sizes{6, 2, x.keys, x.values};
  for (const bool in_place : {true, false}) {
    test_tensor<K, D> states(sizes, layout::strided, random_values(sizes));
    numbers out(x.v.values().size()), after(states.values()),
        each(static_cast<std::size_t>(12 * size));
    for (std::size_t n = 0; n < 2; ++n)
      for (i64 h = 0; h < 2; ++h) {
        numbers state = slot(states.values(), 2, size, own[n][n == 0 ? 1 : 0], h);
        const i64 b = static_cast<i64>(n);
        x.run(b, 0, 3, h, 1, false, state, out, [&](i64 t, const numbers& now) {
          const i64 to = own[n][static_cast<std::size_t>(t)];
          if (to >= 0) put(after, 2, size, to, h, now);
          put(each, 2, size, b * 3 + t, h, now);
        });
      }
    const auto r = fg::fused_recurrent_gated_delta_rule_fwd(
        s, x.q.in(), x.k.in(), x.v.in(), x.g.in(), x.beta.in(), 1, states.view(), in_place,
        std::nullopt, slots, accepted);
    expect_close<T>(values_of(r.out), out);
    ASSERT_EQ(r.final_state.has_value(), !in_place);
    if (in_place) {
      expect_close<K>(states.read(), after);
      EXPECT_TRUE(states.gaps_untouched());
    } else {
      expect_close<K>(values_of(*r.final_state), each);
      EXPECT_TRUE(states.untouched());
    }
  }
  // Sequences in one batch, each with the slot of its number, which becomes that after its end.
  rule<T, D> y(1, 7, 1, 1, 4, 3);
  const auto starts = fg::from_values<i64>(s, {0, 3, 3, 7});
  const shape few{3, 1, 4, 3};
  test_tensor<K, D> states(few, layout::contiguous, random_values(few));
  numbers out(21), after(states.values());
  for (const auto& [n, begin, end] : {std::tuple<i64, i64, i64>{0, 0, 3}, {2, 3, 7}}) {
    numbers state = slot(states.values(), 1, 12, n, 0);
    y.run(0, begin, end, 0, 2, true, state, out, [](i64, const numbers&) {});
    put(after, 1, 12, n, 0, state);
  }
  const auto r = fg::fused_recurrent_gated_delta_rule_fwd(s, y.q.in(), y.k.in(), y.v.in(), y.g.in(),
                                                          y.beta.in(), 2, states.view(), true,
                                                          starts, std::nullopt, std::nullopt, true);
  expect_close<T>(values_of(r.out), out);
  expect_close<K>(states.read(), after);
}

// Slots that a list does not have are no slots, and tokens of no sequence give zeros.
TYPED_TEST(delta_rule, keeps_inside) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  using K = fg::kernels::compute_type<T>;
  const auto& s = test_stream<D>();
  rule<T, D> x(1, 4, 1, 2, 3, 5);
  const shape sizes{3, 2, 3, 5};
  const auto run = [&](auto& states, const auto& starts, const auto& slots, const auto& accepted,
                       bool in_place = true) {
    return fg::fused_recurrent_gated_delta_rule_fwd(s, x.q.in(), x.k.in(), x.v.in(), x.g.in(),
                                                    x.beta.in(), 1, states.view(), in_place, starts,
                                                    slots, accepted);
  };
  test_tensor<K, D> none(sizes), few(sizes, layout::contiguous, random_values(sizes));
  const auto of_zeros = values_of(run(none, std::nullopt, std::nullopt, std::nullopt, false).out);
  const auto slots = fg::from_values<i64>(s, {0, 1}, {1, 2});
  for (const i64 token : {i64{3}, i64{0}, i64{-5}, i64{1} << 60}) {
    const auto accepted = fg::from_values<i64>(s, {token});
    expect_equal(values_of(run(few, std::nullopt, slots, accepted).out), of_zeros);
    EXPECT_TRUE(few.gaps_untouched());
    const auto last = few.read();
    for (std::size_t k = 60; k < 90; ++k) EXPECT_EQ(last[k], few.values()[k]);
  }
  // Two tokens of four, the others of no sequence.
  const auto starts = fg::from_values<i64>(s, {1, 3});
  for (const bool in_place : {true, false}) {
    const auto r = run(none, starts, std::nullopt, std::nullopt, in_place);
    const auto out = values_of(r.out);
    for (std::size_t k = 0; k < out.size(); ++k)
      EXPECT_EQ(out[k] == 0, k / 10 == 0 || k / 10 == 3) << k;
    if (in_place) continue;
    const auto states = values_of(*r.final_state);
    for (std::size_t k = 0; k < states.size(); ++k)
      EXPECT_EQ(states[k] == 0, k / 30 == 0 || k / 30 == 3) << k;
  }
  for (const auto& wrong : {std::array<i64, 3>{0, 3, 2}, {0, 2, 5}, {-1, 2, 4}}) {
    const auto list = fg::from_values<i64>(s, std::span<const i64>(wrong));
    test_tensor<K, D> states(sizes);
    if constexpr (fg::detail::host_reads<D>)
      EXPECT_RAISES((void)run(states, list, std::nullopt, std::nullopt), invalid_argument,
                    "fused_recurrent_gated_delta_rule_fwd");
    else
      (void)run(states, list, std::nullopt, std::nullopt);
    EXPECT_TRUE(states.gaps_untouched() && x.v.untouched());
  }
  // No values, by both forms.
  rule<T, D> y(1, 4, 1, 2, 3, 0);
  EXPECT_EQ(fg::chunk_gated_delta_rule_fwd(s, y.q.in(), y.k.in(), y.v.in(), y.g.in(), y.beta.in(),
                                           1, std::optional<fg::tensor_view<const K, D>>(), true)
                .out.numel(),
            0);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(delta_rule_arguments, are_checked) {
  const auto& s = test_stream<host>();
  rule<f32, host> x(1, 4, 2, 1, 3, 5), y(1, 4, 1, 1, 3, 5);
  test_tensor<f32> states({1, 2, 3, 5}), few({1, 2, 3, 4});
  const auto run = [&](auto& q, auto& g, auto& state, i64 last) {
    const auto list = fg::from_values<i64>(s, {0, last});
    (void)fg::chunk_gated_delta_rule_fwd(s, q.in(), x.k.in(), x.v.in(), g.in(), x.beta.in(), 1.0,
                                         state.in(), true, list);
  };
  run(x.q, x.g, states, 4);
  EXPECT_RAISES(run(y.q, x.g, states, 4), shape_mismatch, "chunk_gated_delta_rule_fwd");
  EXPECT_RAISES(run(x.q, y.g, states, 4), shape_mismatch, "chunk_gated_delta_rule_fwd");
  EXPECT_RAISES(run(x.q, x.g, few, 4), shape_mismatch, "chunk_gated_delta_rule_fwd");
  EXPECT_RAISES(run(x.q, x.g, states, 3), invalid_argument, "chunk_gated_delta_rule_fwd");
  EXPECT_RAISES((void)fg::fused_recurrent_gated_delta_rule_fwd(
                    s, x.q.in(), x.k.in(), x.v.in(), x.g.in(), x.beta.in(), 1, few.view()),
                shape_mismatch, "fused_recurrent_gated_delta_rule_fwd");
  EXPECT_TRUE(few.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
