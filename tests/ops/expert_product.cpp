// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/expert_product.hpp>
#include <support/experts.hpp>

#include <limits>
#include <string_view>

namespace flaggems_test {
namespace {

using fg::f8e4m3, fg::i32, fg::i8, fg::u8;

template <class Case>
class expert_product : public ::testing::Test {};
using product_cases = cases<on_host<f32, bf16>, on_chips<f32, bf16>, on_wide<bf16>>;
TYPED_TEST_SUITE(expert_product, product_cases);

/// The grouped products that were launched.
struct products {
  int on_units = 0, portable = 0;
};
products seen;
class launch_watch {
 public:
  launch_watch()
      : before_(fg::set_launch_hook([](const fg::launch_event& e) {
          if (!e.rejected.empty()) return;
          if (e.kernel.find("gemm_grouped_tiles") != std::string_view::npos ||
              e.kernel.find("gemm_grouped_warp_groups") != std::string_view::npos)
            ++seen.on_units;
          else if (e.kernel.find("gemm_grouped") != std::string_view::npos)
            ++seen.portable;
        })) {
    seen = {};
  }
  ~launch_watch() { fg::set_launch_hook(before_); }
  launch_watch(const launch_watch&) = delete;
  launch_watch& operator=(const launch_watch&) = delete;

 private:
  fg::launch_hook before_;
};

/// A routing on a device, in blocks.
template <class D>
struct blocks {
  test_tensor<i32, D> ids;
  decltype(fg::moe_align_block_size(test_stream<D>(), ids.in(), 1, 1)) aligned;
  blocks(const routing& r, i64 block)
      : ids({r.tokens, r.choices}, layout::contiguous, r.ids),
        aligned(fg::moe_align_block_size(test_stream<D>(), ids.in(), block, r.experts)) {}
};

constexpr i64 n = 20;

TYPED_TEST(expert_product, numbers) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const launch_watch watch;
  for (const routing& r : some_routings()) {
    if (r.ids.empty() || *std::min_element(r.ids.begin(), r.ids.end()) < 0) continue;
    for (const i64 k : {24, 7})
      for (const i64 block : {4, 64}) {
        if (block == 64 && r.experts != 5) continue;  // emulated tiles of 64 rows are slow
        test_tensor<T, D> x({r.tokens, k}, layout::contiguous, whole(r.tokens * k, -3, 3, 1)),
            w({r.experts, n, k}, k == 7 ? layout::strided : layout::contiguous,
              whole(r.experts * n * k, -3, 3, 2)),
            c({r.tokens, r.choices, n}, block == 4 ? layout::contiguous : layout::negative),
            bias({r.experts, n}, layout::contiguous, whole(r.experts * n, -3, 3, 3));
        test_tensor<f32, D> weights({r.tokens, r.choices}, layout::contiguous,
                                    powers({r.tokens, r.choices}, 4));
        blocks<D> in(r, block);
        const auto& [sorted, experts, count] = in.aligned;
        numbers want = expert_rows(x.values(), w.values(), r.ids, r.experts, n, k, r.choices);
        fg::invoke_fused_moe_triton_kernel(s, x.in(), w.in(), c.view(), {}, {}, {}, sorted, experts,
                                           count, false, r.choices, block);
        expect_equal(c.read(), want);
        fg::expert_product_options<D> options;
        options.B_bias = bias.in();
        fg::dispatch_fused_moe_kernel(s, x.in(), w.in(), c.view(), {}, {}, {}, weights.in(), sorted,
                                      experts, count, true, r.choices, block, options);
        for (std::size_t at = 0; at < want.size(); ++at) {
          const std::size_t choice = at / n;
          want[at] =
              (want[at] + bias.values()[place(static_cast<i64>(r.ids[choice])) * n + at % n]) *
              weights.values()[choice];
        }
        expect_equal(c.read(), want);
        // Each choice a block of its own.
        fg::dispatch_fused_moe_kernel(s, x.in(), w.in(), c.view(), {}, {}, {}, weights.in(), {},
                                      in.ids.in(), count, true, r.choices, block, options);
        expect_equal(c.read(), want);
        EXPECT_TRUE(c.gaps_untouched());
      }
  }
  EXPECT_GT(seen.portable, 0);
  constexpr bool has_units = fg::detail::has_matrix_unit_type<fg::stream<D>, T>;
  EXPECT_EQ(seen.on_units > 0, has_units);
}

TYPED_TEST(expert_product, elsewhere) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const routing r{6, 2, 4, {0, 3, 1, 2, 2, 0, 3, 1, 0, 1, 2, 3}};
  const numbers names{-1, 1, 0, -1};
  test_tensor<T, D> x({6, 8}, layout::contiguous, whole(48, -3, 3, 1)),
      w({2, n, 8}, layout::contiguous, whole(2 * n * 8, -3, 3, 2)), c({6, 2, n});
  test_tensor<i32, D> ids({6, 2}, layout::contiguous, r.ids), map({4}, layout::contiguous, names);
  const auto aligned = fg::moe_align_block_size(s, ids.in(), 4, 4, map.in());
  const auto& [sorted, experts, count] = aligned;
  fg::invoke_fused_moe_triton_kernel(s, x.in(), w.in(), c.view(), {}, {}, {}, sorted, experts,
                                     count, false, 2, 4);
  numbers here;
  for (const double e : r.ids) here.push_back(names[static_cast<std::size_t>(e)]);
  expect_equal(c.read(), expert_rows(x.values(), w.values(), here, 2, n, 8, 2));
}

TYPED_TEST(expert_product, halves_and_sums) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const routing r = some_routings()[0];
  const i64 k = 16;
  test_tensor<T, D> x({r.tokens, k}, layout::contiguous, whole(r.tokens * k, -1, 1, 1)),
      w({r.experts, n, k}, layout::contiguous, whole(r.experts * n * k, -1, 1, 2)),
      c({r.tokens, r.choices, n / 2}),
      rows({r.tokens * r.choices, k}, layout::contiguous,
           whole(r.tokens * r.choices * k, -1, 1, 5)),
      sums({r.tokens, 1, n}, layout::strided, whole(r.tokens * n, -1, 1, 6));
  blocks<D> in(r, 8);
  const auto& [sorted, experts, count] = in.aligned;
  fg::expert_product_options<D> options;
  options.FUSE_SILU = true;
  fg::invoke_fused_moe_triton_kernel(s, x.in(), w.in(), c.view(), {}, {}, {}, sorted, experts,
                                     count, false, r.choices, 8, options);
  const numbers all = expert_rows(x.values(), w.values(), r.ids, r.experts, n, k, r.choices);
  numbers want;
  for (std::size_t choice = 0; choice < r.ids.size(); ++choice)
    for (std::size_t j = 0; j < n / 2; ++j)
      want.push_back(silu_of(all[choice * n + j]) * all[choice * n + n / 2 + j]);
  expect_close<T>(c.read(), want);
  options.FUSE_SILU = false;
  options.direct_sum = true;
  options.out_top_k = r.choices;
  numbers total = sums.read();
  const numbers each = expert_rows(rows.values(), w.values(), r.ids, r.experts, n, k, 1);
  for (std::size_t at = 0; at < each.size(); ++at)
    total[at / n / place(r.choices) * n + at % n] += each[at];
  fg::invoke_fused_moe_triton_kernel(s, rows.in(), w.in(), sums.view(), {}, {}, {}, sorted, experts,
                                     count, false, 1, 8, options);
  expect_equal(sums.read(), total);
}

/// Products with coded weights: exact, as are codes times powers of two.
TYPED_TEST(expert_product, codes) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const routing r = some_routings()[0];
  const i64 k = 48, e = r.experts;
  blocks<D> in(r, 16);
  const auto& sorted = std::get<0>(in.aligned);
  const auto& experts = std::get<1>(in.aligned);
  const auto& count = std::get<2>(in.aligned);
  test_tensor<T, D> x({r.tokens, k}, layout::contiguous, whole(r.tokens * k, -2, 2, 1));
  test_tensor<f32, D> c({r.tokens, r.choices, n});
  const auto product = [&](auto& a, const numbers& rows, auto& b, const fg::any_view<D>& b_scale,
                           const numbers& values, const fg::expert_product_options<D>& options,
                           const auto& a_scale, const auto& zeros) {
    const numbers want = expert_rows(rows, values, r.ids, e, n, k, r.choices);
    fg::dispatch_fused_moe_kernel(s, a.in(), b.in(), c.view(), a_scale, b_scale, zeros, {}, sorted,
                                  experts, count, false, r.choices, 16, options);
    expect_equal(c.read(), want);
    test_tensor<T, D> narrow({r.tokens, r.choices, n});
    fg::dispatch_fused_moe_kernel(s, a.in(), b.in(), narrow.view(), a_scale, b_scale, zeros, {},
                                  sorted, experts, count, false, r.choices, 16, options);
    expect_close<T>(narrow.read(), want, tolerance{0, 0});
  };
  const auto none = std::optional<fg::any_view<D>>();
  fg::expert_product_options<D> options;

  {  // pairs of 4 bits in groups, less 8 or less zeros of pairs of lines
    options.use_int4_w4a16 = true;
    const std::array<i64, 2> shares{0, 16};
    options.block_shape = shares;
    coded w(e, n, k, 1, 16, 0, 15);
    test_tensor<u8, D> codes({e, n, k / 2}, layout::contiguous, w.pairs());
    test_tensor<T, D> scale(w.of_scales(), layout::strided, w.scales);
    product(x, x.values(), codes, scale.in(), w.values(8), options, none, none);
    w.zeros = whole(w.of_scales().numel(), 0, 15, 8);
    test_tensor<u8, D> zeros({e, n / 2, k / 16}, layout::contiguous, w.zero_pairs());
    product(x, x.values(), codes, scale.in(), w.values(0), options, none,
            std::optional<fg::any_view<D>>(zeros.in()));
  }
  {  // bytes: signed ones by column, and others in groups, less 128 or less zeros
    options = {};
    options.use_int8_w8a16 = options.per_channel_quant = true;
    const coded w(e, n, k, 1, k, -8, 8);
    test_tensor<i8, D> codes({e, n, k}, layout::contiguous, w.codes);
    test_tensor<T, D> scale({e, n}, layout::contiguous, w.scales);
    product(x, x.values(), codes, scale.in(), w.values(0), options, none, none);
    options.per_channel_quant = false;
    const std::array<i64, 2> shares{0, 24};
    options.block_shape = shares;
    coded other(e, n, k, 1, 24, 120, 136);
    test_tensor<u8, D> bytes({e, n, k}, layout::contiguous, other.codes);
    test_tensor<T, D> scales(other.of_scales(), layout::contiguous, other.scales);
    product(x, x.values(), bytes, scales.in(), other.values(128), options, none, none);
    other.zeros = whole(other.of_scales().numel(), 120, 136, 8);
    test_tensor<u8, D> zeros(other.of_scales(), layout::contiguous, other.zeros);
    product(x, x.values(), bytes, scales.in(), other.values(0), options, none,
            std::optional<fg::any_view<D>>(zeros.in()));
  }
  const auto both = [&]<class C>(std::type_identity<C>, int most) {
    // Scales of whole matrices, of tokens and columns, of blocks.
    for (const int kind : {0, 1, 2}) {
      options = {};
      (std::is_same_v<C, i8> ? options.use_int8_w8a8 : options.use_fp8_w8a8) = true;
      options.per_channel_quant = kind == 1;
      const std::array<i64, 2> shares{8, 16};
      if (kind == 2) options.block_shape = shares;
      const coded w(e, n, k, kind == 0 ? n : kind == 1 ? 1 : 8, kind == 2 ? 16 : k, -most, most);
      const coded a(1, r.tokens, k, kind == 0 ? r.tokens : 1, kind == 2 ? 16 : k, -most, most);
      test_tensor<C, D> codes({e, n, k}, layout::contiguous, w.codes),
          rows({r.tokens, k}, layout::contiguous, a.codes);
      test_tensor<f32, D> scale(w.of_scales(), layout::contiguous, w.scales),
          by({a.line_parts(), a.term_parts()}, layout::contiguous, a.scales);
      product(rows, a.values(0), codes, scale.in(), w.values(0), options,
              std::optional<fg::any_view<D>>(by.in()), none);
    }
  };
  both(std::type_identity<f8e4m3>{}, 4);
  both(std::type_identity<i8>{}, 9);
}

/// 8-bit numbers with scales of 128 terms a row and of 128 x 128 weights, which matrix units take
/// as they are; sums of some terms that such a block does not fill, and of columns.
TYPED_TEST(expert_product, blocks_of_scales) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const i64 wide = 136, k = 144;
  const std::array<i64, 2> shares{128, 128};
  const auto both = [&]<class C>(std::type_identity<C>, i64 block) {
    const routing r = some_routings()[0];
    blocks<D> in(r, block);
    const auto& [sorted, experts, count] = in.aligned;
    fg::expert_product_options<D> options;
    (std::is_same_v<C, i8> ? options.use_int8_w8a8 : options.use_fp8_w8a8) = true;
    options.block_shape = shares;
    const coded w(r.experts, wide, k, 128, 128, -2, 2), a(1, r.tokens, k, 1, 128, -2, 2);
    test_tensor<C, D> codes({r.experts, wide, k}, layout::contiguous, w.codes),
        rows({r.tokens, k}, layout::contiguous, a.codes);
    test_tensor<f32, D> scale(w.of_scales(), layout::strided, w.scales),
        by({a.line_parts(), a.term_parts()}, layout::strided, a.scales),
        c({r.tokens, r.choices, wide});
    const numbers want =
        expert_rows(a.values(0), w.values(0), r.ids, r.experts, wide, k, r.choices);
    const launch_watch watch;
    fg::dispatch_fused_moe_kernel(s, rows.in(), codes.in(), c.view(), by.in(), scale.in(), {}, {},
                                  sorted, experts, count, false, r.choices, block, options);
    expect_equal(c.read(), want);
    test_tensor<T, D> narrow({r.tokens, r.choices, wide});
    fg::dispatch_fused_moe_kernel(s, rows.in(), codes.in(), narrow.view(), by.in(), scale.in(), {},
                                  {}, sorted, experts, count, false, r.choices, block, options);
    expect_close<T>(narrow.read(), want, tolerance{0, 0});
    EXPECT_EQ(seen.on_units, (fg::detail::has_matrix_unit_type<fg::stream<D>, C> ? 2 : 0));
  };
  both(std::type_identity<f8e4m3>{}, 8);
  both(std::type_identity<f8e4m3>{}, 64);
  both(std::type_identity<i8>{}, 64);
}

TYPED_TEST(expert_product, refused) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  constexpr const char* op = "dispatch_fused_moe_kernel";
  test_tensor<T, D> x({4, 8}), w({2, 6, 8}), c({4, 2, 6}), wrong({4, 2, 5}), w7({2, 6, 7});
  test_tensor<i32, D> sorted({16}), experts({4}), few({1}), count({1});
  test_tensor<u8, D> codes({2, 6, 4});
  const auto run = [&](auto& a, auto& b, auto& to, auto& ids,
                       const fg::expert_product_options<D>& options = {}, i64 top_k = 2) {
    fg::dispatch_fused_moe_kernel(s, a.in(), b.in(), to.view(), {}, {}, {}, {}, sorted.in(),
                                  ids.in(), count.in(), false, top_k, 4, options);
  };
  EXPECT_RAISES(run(x, w, wrong, experts), shape_mismatch, op);
  EXPECT_RAISES(run(x, w7, c, experts), shape_mismatch, op);
  EXPECT_RAISES(run(x, w, c, few), shape_mismatch, op);
  EXPECT_RAISES(run(x, w, c, experts, {}, 0), invalid_argument, op);
  EXPECT_RAISES(run(x, codes, c, experts), dtype_mismatch, op);
  fg::expert_product_options<D> options;
  options.use_int4_w4a16 = true;
  EXPECT_RAISES(run(x, codes, c, experts, options), invalid_argument, op);  // without scales
  options.use_int8_w8a16 = true;
  EXPECT_RAISES(run(x, codes, c, experts, options), invalid_argument, op);  // two at once
  EXPECT_RAISES(fg::dispatch_fused_moe_kernel(s, x.in(), w.in(), c.view(), {}, {}, {}, {},
                                              sorted.in(), experts.in(), count.in(), true, 2, 4),
                shape_mismatch, op);  // no weights
  EXPECT_RAISES(run(x, w, c, experts, {}, i64{1} << 62), invalid_argument, op);
  // Places and experts whose lowest 32 bits alone would be some, in a block of more than there are.
  const std::vector<double> far(16, 4294967296), some(96, 1);
  test_tensor<i64, D> nowhere({16}, layout::contiguous, far), none({4}, layout::contiguous, far),
      places({16}, layout::contiguous, {0, 1, 2, 3, 4, 5, 6, 7}),
      all({1}, layout::contiguous, {16});
  test_tensor<T, D> rows({4, 8}, layout::contiguous, some), by({2, 6, 8}, layout::contiguous, some);
  const auto multiply = [&](auto& sources, auto& ids, i64 block) {
    fg::dispatch_fused_moe_kernel(s, rows.in(), by.in(), c.view(), {}, {}, {}, {}, sources.in(),
                                  ids.in(), all.in(), false, 2, block);
  };
  multiply(nowhere, experts, (std::numeric_limits<i64>::max)());
  EXPECT_TRUE(c.untouched() && wrong.untouched());
  multiply(places, none, 4);
  for (const double v : c.read()) EXPECT_EQ(v, 0);
  multiply(places, experts, (std::numeric_limits<i64>::max)());
  for (const double v : c.read()) EXPECT_EQ(v, 8);
}

}  // namespace
}  // namespace flaggems_test
