// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of attention.
#include <flaggems/launch/hooks.hpp>
#include <flaggems/ops/attention_backward.hpp>
#include <support/attention_gradients.hpp>

#include <utility>

namespace flaggems_test {
namespace {

/// The gradients with the forward pass's own result; `mask` of M, if any, has `mask_sizes`, and its
/// first position sees nothing.
template <class D, class T, class M = bool>
void check(const problem& p, layout how = layout::contiguous, const shape& mask_sizes = {}) {
  SCOPED_TRACE(fg::to_string(p.q()) + " " + fg::to_string(p.k()) + " " + std::to_string(p.ev) +
               " " + to_string(how) + " " + fg::to_string(mask_sizes));
  using L = fg::attention_log_type<T>;
  const auto& s = test_stream<D>();
  test_tensor<T, D> q(p.q(), how, random_values(p.q())), k(p.k(), how, random_values(p.k())),
      v(p.v(), how, random_values(p.v())), grad(p.out(), how, random_values(p.out())),
      out(p.out(), how), grad_q(p.q(), how), grad_k(p.k(), how), grad_v(p.v(), how);
  test_tensor<L, D> logs({p.batch, p.heads, p.queries}, how);
  values spread;
  const auto run = [&](const auto& mask) {
    fg::scaled_dot_product_flash_attention(s, q.in(), k.in(), v.in(), out.view(), logs.view(), 0,
                                           p.options.is_causal, mask, p.options.scale);
    fg::scaled_dot_product_flash_attention_backward(
        s, grad.in(), q.in(), k.in(), v.in(), out.in(), logs.in(), grad_q.view(), grad_k.view(),
        grad_v.view(), 0, p.options.is_causal, mask, p.options.scale);
    if (how != layout::contiguous) return;
    const auto made = fg::scaled_dot_product_flash_attention_backward(
        s, grad.in(), q.in(), k.in(), v.in(), out.in(), logs.in(), 0, p.options.is_causal, mask,
        p.options.scale);
    expect_equal(values_of(made.query), grad_q.read());  // and again the same bits
    expect_equal(values_of(made.key), grad_k.read());
    expect_equal(values_of(made.value), grad_v.read());
  };
  if (mask_sizes.rank() > 0) {
    constexpr bool is_bool = std::is_same_v<M, bool>;
    auto taken = is_bool ? random_integers(mask_sizes, 0, 1) : random_values(mask_sizes);
    const i64 columns = mask_sizes[mask_sizes.rank() - 1];
    if (mask_sizes[2] > 1)
      for (i64 j = 0; j < columns; ++j) taken[index(j)] = is_bool ? 0 : -infinity;
    test_tensor<M, D> mask(mask_sizes, how, taken);
    run(mask.in());
    const auto given = mask.values();
    for (i64 row = 0; row < p.batch * p.heads * p.queries; ++row)
      for (i64 j = 0; j < p.keys; ++j) {
        const i64 at[] = {row / p.queries / p.heads, row / p.queries % p.heads, row % p.queries, j};
        i64 offset = 0;
        for (int d = 0; d < 4; ++d)
          offset = offset * mask_sizes[d] + (mask_sizes[d] == 1 ? 0 : at[d]);
        const double x = given[index(offset)];
        spread.push_back(!is_bool ? x : x != 0 ? 0 : -infinity);
      }
  } else {
    run(std::nullopt);
  }
  const gradients want = reference(p, grad.values(), q.values(), k.values(), v.values(), spread);
  expect_within<T>("query", grad_q.read(), want.q, want.q_most);
  expect_within<T>("key", grad_k.read(), want.k, want.k_most);
  expect_within<T>("value", grad_v.read(), want.v, want.v_most);
  EXPECT_TRUE(grad_q.gaps_untouched() && grad_k.gaps_untouched() && grad_v.gaps_untouched());
}

template <class Device>
class attention_backward : public testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(attention_backward, devices);

TYPED_TEST(attention_backward, of_all_types_and_layouts) {
  using D = TypeParam;
  const problem p{
      .batch = 2, .heads = 2, .key_heads = 2, .queries = 3, .keys = 11, .e = 8, .ev = 12};
  for (const layout how : {layout::contiguous, layout::strided, layout::negative})
    check<D, f32>(p, how);
  check<D, f64>(p);
  check<D, bf16>(p, layout::transposed);
  check<D, f16>(p, layout::offset);
}
TYPED_TEST(attention_backward, causal) {
  using D = TypeParam;
  for (const auto& [queries, keys] : {std::pair<i64, i64>{70, 5}, {5, 70}, {67, 67}})
    check<D, f32>(
        {.queries = queries, .keys = keys, .e = 8, .ev = 8, .options = {.is_causal = true}});
  check<D, bf16>(
      {.queries = 20, .keys = 30, .e = 64, .ev = 64, .options = {.is_causal = true, .scale = 0.3}});
}
TYPED_TEST(attention_backward, heads_that_share_keys) {
  using D = TypeParam;
  problem p{.batch = 2, .heads = 6, .key_heads = 2, .queries = 7, .keys = 11, .e = 8, .ev = 5};
  p.options.enable_gqa = true;
  check<D, f32>(p);
  check<D, f32>(p, layout::transposed, {2, 6, 7, 11});
  p.options.is_causal = true;
  p.key_heads = 1;
  check<D, f32>(p, layout::strided);
}
TYPED_TEST(attention_backward, masks) {
  using D = TypeParam;
  const problem p{.batch = 2, .heads = 2, .key_heads = 2, .queries = 3, .keys = 9, .e = 8, .ev = 8};
  for (const shape& sizes : {shape{2, 2, 3, 9}, shape{1, 2, 3, 1}, shape{2, 1, 1, 9}}) {
    check<D, f32, bool>(p, layout::contiguous, sizes);
    check<D, f32, f32>(p, layout::negative, sizes);
  }
  check<D, bf16, bf16>({.queries = 3, .keys = 67, .e = 16, .ev = 16}, layout::contiguous,
                       {1, 1, 3, 67});
}
TYPED_TEST(attention_backward, nothing) {
  using D = TypeParam;
  check<D, f32>({.queries = 5, .keys = 0, .e = 8, .ev = 8});
  check<D, f32>({.queries = 0, .keys = 5, .e = 8, .ev = 8});
  check<D, f32>({.queries = 3, .keys = 5, .e = 8, .ev = 0});
  check<D, f32>({.queries = 3, .keys = 5, .e = 0, .ev = 8, .options = {.scale = 1.0}});
  check<D, f32>({.batch = 0, .queries = 3, .keys = 5, .e = 4, .ev = 8});
}
// A NaN stays in what depends on it, and the queries of other positions do not.
TYPED_TEST(attention_backward, not_a_number) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const problem p{.queries = 4, .keys = 4, .e = 8, .ev = 8, .options = {.is_causal = true}};
  auto wrong = random_values(p.q());
  wrong[index(2 * p.e)] = std::nan("");
  test_tensor<f32, D> q(p.q(), layout::contiguous, wrong),
      k(p.k(), layout::contiguous, random_values(p.k())),
      grad(p.out(), layout::contiguous, random_values(p.out()));
  const auto [out, logs] =
      fg::scaled_dot_product_flash_attention(s, q.in(), k.in(), k.in(), 0, true);
  const auto got = fg::scaled_dot_product_flash_attention_backward(s, grad.in(), q.in(), k.in(),
                                                                   k.in(), out, logs, 0, true);
  const auto of_q = values_of(got.query), of_k = values_of(got.key);
  for (i64 i = 0; i < 4; ++i) {
    EXPECT_EQ(std::isnan(of_q[index(i * p.e)]), i == 2) << i;
    if (i <= 2) {
      EXPECT_TRUE(std::isnan(of_k[index(i * p.e)])) << i;
    }
  }
}
TYPED_TEST(attention_backward, errors) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({2, 3, 4}), one({1, 3, 4}), logs({2, 3}), wrong({3, 2}), a({2, 3, 4}),
      b({2, 3, 4}), c({2, 3, 4});
  test_tensor<bool, D> mask({3, 3}), wide({3, 4});
  const auto code = [&](const auto& key, const auto& sums, const auto& to,
                        const auto& absent_or_mask, double dropout, bool is_causal) {
    return code_of([&] {
      fg::scaled_dot_product_flash_attention_backward(s, x.in(), x.in(), key, x.in(), x.in(), sums,
                                                      to, b.view(), c.view(), dropout, is_causal,
                                                      absent_or_mask);
    });
  };
  const auto none = std::nullopt;
  EXPECT_EQ(code(x.in(), wrong.in(), a.view(), none, 0, false), fg::errc::shape_mismatch);
  EXPECT_EQ(code(one.in(), logs.in(), a.view(), none, 0, false), fg::errc::shape_mismatch);
  EXPECT_EQ(code(x.in(), logs.in(), a.view(), none, 0.5, false), fg::errc::not_supported);
  EXPECT_EQ(code(x.in(), logs.in(), a.view(), none, -1, false), fg::errc::invalid_argument);
  EXPECT_EQ(code(x.in(), logs.in(), x.view(), none, 0, false), fg::errc::overlap);
  EXPECT_EQ(code(x.in(), logs.in(), b.view(), none, 0, false), fg::errc::overlap);
  EXPECT_EQ(code(x.in(), logs.in(), a.view(), mask.in(), 0, true), fg::errc::invalid_argument);
  EXPECT_EQ(code(x.in(), logs.in(), a.view(), wide.in(), 0, false), fg::errc::shape_mismatch);
  EXPECT_TRUE(a.untouched() && b.untouched() && c.untouched());
}

int launches_of_warp_groups = 0;

template <class Device>
class attention_backward_of_many : public testing::Test {};
using devices_of_many = devices_and_own<host, chip32>;
TYPED_TEST_SUITE(attention_backward_of_many, devices_of_many);

// What the copy engine takes goes to warp groups on devices that have them.
TYPED_TEST(attention_backward_of_many, by_warp_groups_where_aligned) {
  using D = TypeParam;
  launches_of_warp_groups = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    launches_of_warp_groups += e.kernel.find("attention_warp_gradients") != e.kernel.npos;
  });
  check<D, bf16>({.batch = 2, .queries = 70, .keys = 130, .e = 64, .ev = 40});
  check<D, f16>({.heads = 4,
                 .key_heads = 2,
                 .queries = 130,
                 .keys = 150,
                 .e = 64,
                 .ev = 64,
                 .options = {.is_causal = true, .enable_gqa = true}});
  check<D, bf16>({.queries = 140,
                  .keys = 70,
                  .e = 128,
                  .ev = 104,
                  .options = {.is_causal = true, .scale = -0.2}});
  fg::set_launch_hook(before);
  if constexpr (fg::detail::differentiates_by_warp_groups<D>) {
    EXPECT_EQ(launches_of_warp_groups, D::warp_group_units(0) > 0 ? 12 : 0);
  }
}

int launches_of_tiles = 0;

// Masked gradients of 16 bits go to matrix units.
TYPED_TEST(attention_backward_of_many, by_tiles_with_masks) {
  using D = TypeParam;
  launches_of_tiles = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    launches_of_tiles += e.kernel.find("attention_gradient_tiles") != e.kernel.npos;
  });
  check<D, bf16, bool>({.heads = 4,
                        .key_heads = 2,
                        .queries = 35,
                        .keys = 40,
                        .e = 64,
                        .ev = 40,
                        .options = {.scale = -0.2}},
                       layout::contiguous, {1, 4, 35, 40});
  check<D, f16, f16>({.queries = 6, .keys = 35, .e = 128, .ev = 104}, layout::contiguous,
                     {1, 1, 6, 35});
  fg::set_launch_hook(before);
  if constexpr (fg::detail::differentiates_by_warp_groups<D>) {
    EXPECT_EQ(launches_of_tiles, 8);
  }
}

}  // namespace
}  // namespace flaggems_test
