// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of many queries in 16 bits, which devices with matrix units take by tiles.
#include <flaggems/launch/hooks.hpp>
#include <flaggems/ops/attention.hpp>
#include <support/attention.hpp>
#include <support/unit_devices.hpp>

#include <utility>

namespace flaggems_test {
namespace {

std::vector<double> magnitudes(std::vector<double> x) {
  for (double& y : x) y = std::abs(y);
  return x;
}

/// |got - want| <= 2^-8 (|want| + weights |values|): weights are rounded to 16 bits, as the result.
void expect_within(const std::vector<double>& got, const problem& p, const std::vector<double>& q,
                   const std::vector<double>& k, const std::vector<double>& v,
                   const std::vector<double>& mask = {}) {
  const auto want = reference(p, q, k, v, mask), most = reference(p, q, k, magnitudes(v), mask);
  ASSERT_EQ(got.size(), want.size());
  int shown = 0;
  for (std::size_t i = 0; i < got.size() && shown < 5; ++i) {
    if (std::abs(got[i] - want[i]) <= (std::abs(want[i]) + most[i]) / 256) continue;
    ADD_FAILURE() << "element " << i << " of " << got.size() << ": " << got[i] << ", expected "
                  << want[i];
    ++shown;
  }
}

template <class D, class T, class Out = T>
void check(const problem& p, layout how = layout::contiguous) {
  SCOPED_TRACE(fg::to_string(p.q()) + " " + fg::to_string(p.k()) + " " + std::to_string(p.ev) +
               " " + to_string(how));
  test_tensor<T, D> q(p.q(), how, random_values(p.q())), k(p.k(), how, random_values(p.k())),
      v(p.v(), how, random_values(p.v()));
  test_tensor<Out, D> out(p.out(), how);
  fg::scaled_dot_product_attention(test_stream<D>(), q.in(), k.in(), v.in(), std::nullopt,
                                   out.view(), p.options);
  expect_within(out.read(), p, q.values(), k.values(), v.values());
  EXPECT_TRUE(out.gaps_untouched());
}

template <class Device>
class attention_prefill : public ::testing::Test {};
using devices = devices_and_own<host, chip32>;
TYPED_TEST_SUITE(attention_prefill, devices);

TYPED_TEST(attention_prefill, lengths) {
  using D = TypeParam;
  for (const i64 queries : {17, 64, 70})
    for (const i64 keys : {1, 64, 77})
      check<D, bf16>({.queries = queries, .keys = keys, .e = 64, .ev = 64});
  check<D, f16>(
      {.batch = 2, .heads = 2, .key_heads = 2, .queries = 70, .keys = 77, .e = 64, .ev = 64});
}

TYPED_TEST(attention_prefill, head_sizes) {
  using D = TypeParam;
  for (const auto& [e, ev] : {std::pair<i64, i64>{8, 8},
                              {40, 64},
                              {64, 24},
                              {128, 128},
                              {80, 128},
                              {192, 128},
                              {136, 40},
                              {256, 256},
                              {200, 208}})
    check<D, bf16>({.queries = 20, .keys = 70, .e = e, .ev = ev, .options = {.is_causal = true}});
  // Sizes that are no multiple of a vector, and larger heads, go elsewhere.
  check<D, f16>({.queries = 20, .keys = 9, .e = 33, .ev = 31});
  check<D, bf16>({.queries = 18, .keys = 9, .e = 264, .ev = 264});
}

TYPED_TEST(attention_prefill, causal) {
  using D = TypeParam;
  for (const auto alignment : {fg::causal_alignment::top_left, fg::causal_alignment::bottom_right})
    for (const auto& [queries, keys] : {std::pair<i64, i64>{80, 80}, {40, 150}, {100, 20}})
      check<D, bf16>({.queries = queries,
                      .keys = keys,
                      .e = 64,
                      .ev = 64,
                      .options = {.is_causal = true, .alignment = alignment, .scale = 0.3}});
}

#if FLAGGEMS_TEST_CHIPS
// AMD's matrix units, whose weights come from the scores without block-local memory.
int unit_launches = 0;
template <class Device>
class attention_units : public ::testing::Test {};
using unit_devices = ::testing::Types<fg::simt64, wmma_chip>;
TYPED_TEST_SUITE(attention_units, unit_devices);
TYPED_TEST(attention_units, prefill) {
  using D = TypeParam;
  unit_launches = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    for (const char* unit : {"mfma_unit", "wmma_unit"})
      unit_launches += e.kernel.find(unit) != std::string_view::npos ? 1 : 0;
  });
  check<D, bf16>({.queries = 70, .keys = 77, .e = 64, .ev = 64});
  check<D, bf16>({.queries = 17, .keys = 1, .e = 64, .ev = 64});
  check<D, bf16>({.batch = 2,
                  .heads = 6,
                  .key_heads = 2,
                  .queries = 23,
                  .keys = 71,
                  .e = 40,
                  .ev = 24,
                  .options = {.is_causal = true,
                              .alignment = fg::causal_alignment::bottom_right,
                              .scale = 0.3,
                              .enable_gqa = true}});
  EXPECT_EQ(unit_launches, 3);
  check<chip_without_units, bf16>({.queries = 18, .keys = 20, .e = 64, .ev = 64});
  EXPECT_EQ(unit_launches, 4);  // the report says that it was not taken
  fg::set_launch_hook(before);
}
#endif

// Heads of a group are rows beside each other.
TYPED_TEST(attention_prefill, groups) {
  using D = TypeParam;
  for (const i64 queries : {6, 23})
    check<D, f16>({.batch = 1,
                   .heads = 6,
                   .key_heads = 2,
                   .queries = queries,
                   .keys = 71,
                   .e = 64,
                   .ev = 64,
                   .options = {.is_causal = true,
                               .alignment = fg::causal_alignment::bottom_right,
                               .enable_gqa = true}});
}

// Positions, heads and batches in any order; results that begin no vectors, or of other types.
TYPED_TEST(attention_prefill, layouts) {
  using D = TypeParam;
  const problem p{.batch = 2,
                  .heads = 4,
                  .key_heads = 2,
                  .queries = 21,
                  .keys = 37,
                  .e = 64,
                  .ev = 64,
                  .options = {.is_causal = true, .enable_gqa = true}};
  for (const layout how : output_layouts) check<D, bf16>(p, how);
  check<D, bf16, f32>(p);
  const auto moved = [](const shape& s) { return shape{s[0], s[2], s[1], s[3]}; };
  const auto as_moved = [&](const shape& s, const std::vector<double>& from, bool back) {
    std::vector<double> to(from.size());
    std::size_t at = 0;
    for (i64 b = 0; b < s[0]; ++b)
      for (i64 h = 0; h < s[1]; ++h)
        for (i64 i = 0; i < s[2]; ++i)
          for (i64 d = 0; d < s[3]; ++d) {
            const std::size_t other = index(((b * s[2] + i) * s[1] + h) * s[3] + d);
            back ? to[at] = from[other] : to[other] = from[at];
            ++at;
          }
    return to;
  };
  const auto q = random_values(p.q()), k = random_values(p.k()), v = random_values(p.v());
  test_tensor<bf16, D> a(moved(p.q()), layout::contiguous, as_moved(p.q(), q, false)),
      b(moved(p.k()), layout::contiguous, as_moved(p.k(), k, false)),
      c(moved(p.v()), layout::contiguous, as_moved(p.v(), v, false)), out(moved(p.out()));
  const auto heads_first = [](auto view) { return view.transpose(1, 2); };
  fg::scaled_dot_product_attention(test_stream<D>(), heads_first(a.in()), heads_first(b.in()),
                                   heads_first(c.in()), std::nullopt, heads_first(out.view()),
                                   p.options);
  expect_within(as_moved(p.out(), out.read(), true), p, as_moved(p.q(), a.values(), true),
                as_moved(p.k(), b.values(), true), as_moved(p.v(), c.values(), true));
  // An output of which no line begins a vector.
  test_tensor<bf16, D> qs(p.q(), layout::contiguous, q), ks(p.k(), layout::contiguous, k),
      vs(p.v(), layout::contiguous, v);
  for (const layout how : {layout::offset, layout::strided, layout::negative}) {
    test_tensor<bf16, D> odd(p.out(), how);
    fg::scaled_dot_product_attention(test_stream<D>(), qs.in(), ks.in(), vs.in(), std::nullopt,
                                     odd.view(), p.options);
    expect_within(odd.read(), p, qs.values(), ks.values(), vs.values());
    EXPECT_TRUE(odd.gaps_untouched());
  }
}

TYPED_TEST(attention_prefill, masks) {
  using D = TypeParam;
  const problem p{
      .batch = 2, .heads = 2, .key_heads = 2, .queries = 35, .keys = 70, .e = 64, .ev = 64};
  test_tensor<bf16, D> q(p.q(), layout::contiguous, random_values(p.q())),
      k(p.k(), layout::contiguous, random_values(p.k())),
      v(p.v(), layout::contiguous, random_values(p.v())), out(p.out());
  const auto spread = [&](const std::vector<double>& values, const shape& sizes) {
    std::vector<double> all;
    for (i64 b = 0; b < 2; ++b)
      for (i64 h = 0; h < 2; ++h)
        for (i64 i = 0; i < p.queries; ++i)
          for (i64 j = 0; j < p.keys; ++j) {
            const i64 at[] = {b, h, i, j};
            i64 offset = 0;
            for (int d = 0; d < 4; ++d) offset = offset * sizes[d] + (sizes[d] == 1 ? 0 : at[d]);
            all.push_back(values[index(offset)]);
          }
    return all;
  };
  for (const shape& sizes :
       {shape{2, 2, 35, 70}, shape{1, 1, 35, 70}, shape{2, 1, 1, 70}, shape{1, 2, 35, 1}}) {
    SCOPED_TRACE(fg::to_string(sizes));
    auto taken = random_integers(sizes, 0, 1);
    // The first queries see nothing, the next ones the last key only.
    if (sizes[2] > 1 && sizes[3] > 1)
      for (i64 i = 0; i < 40; ++i)
        for (i64 j = 0; j < p.keys; ++j)
          taken[index(i % 20 * p.keys + j)] = i % 20 >= 18 && j == p.keys - 1;
    test_tensor<bool, D> takes(sizes, layout::strided, taken);
    fg::scaled_dot_product_attention(test_stream<D>(), q.in(), k.in(), v.in(), takes.in(),
                                     out.view());
    auto hidden = takes.values();
    for (double& x : hidden) x = x != 0 ? 0 : -infinity;
    expect_within(out.read(), p, q.values(), k.values(), v.values(), spread(hidden, sizes));
    test_tensor<bf16, D> adds(sizes, layout::negative, random_values(sizes));
    fg::scaled_dot_product_attention(test_stream<D>(), q.in(), k.in(), v.in(), adds.in(),
                                     out.view());
    expect_within(out.read(), p, q.values(), k.values(), v.values(), spread(adds.values(), sizes));
  }
}

// What lies behind the keys that are used, beside heads, and behind a line is NaN.
TYPED_TEST(attention_prefill, a_padded_cache) {
  using D = TypeParam;
  const i64 room = 150, used = 77, heads = 2, e = 40, line = 48;
  auto values = random_values({1, heads, room, line});
  for (i64 at = 0; at < heads * room * line; ++at)
    if (at % line >= e || at / line % room >= used) values[index(at)] = std::nan("");
  test_tensor<bf16, D> cache({1, heads, room, line}, layout::contiguous, values);
  const auto keys = cache.in().narrow(2, 0, used).narrow(3, 0, e);
  const problem p{
      .heads = 4,
      .key_heads = heads,
      .queries = 30,
      .keys = used,
      .e = e,
      .ev = e,
      .options = {
          .is_causal = true, .alignment = fg::causal_alignment::bottom_right, .enable_gqa = true}};
  test_tensor<bf16, D> q(p.q(), layout::contiguous, random_values(p.q())), out(p.out());
  std::vector<double> k;
  for (const double x : cache.values())
    if (x == x) k.push_back(x);
  fg::scaled_dot_product_attention(test_stream<D>(), q.in(), keys, keys, std::nullopt, out.view(),
                                   p.options);
  expect_within(out.read(), p, q.values(), k, k);
}

TYPED_TEST(attention_prefill, nothing_to_see) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const problem p{.batch = 2, .queries = 70, .keys = 66, .e = 64, .ev = 64};
  test_tensor<bf16, D> q(p.q(), layout::contiguous, random_values(p.q())),
      k(p.k(), layout::contiguous, random_values(p.k())),
      v(p.v(), layout::contiguous, random_values(p.v())), out(p.out());
  const std::size_t all = index(p.out().numel());
  const auto none = k.in().narrow(2, 0, 0);
  fg::scaled_dot_product_attention(s, q.in(), none, none, std::nullopt, out.view());
  expect_equal(out.read(), std::vector<double>(all, 0.0));
  test_tensor<bool, D> hidden({1}, layout::contiguous, {0});
  fg::scaled_dot_product_attention(s, q.in(), k.in(), v.in(), hidden.in(), out.view());
  expect_equal(out.read(), std::vector<double>(all, 0.0));
  // Scores that are -inf by themselves, and NaN, which stays.
  const auto constant = [](const shape& sizes, double x) {
    return test_tensor<bf16, D>(sizes, layout::contiguous,
                                std::vector<double>(index(sizes.numel()), x));
  };
  auto ones = constant(p.q(), 1), low = constant(p.k(), -infinity),
       nan = constant(p.k(), std::nan(""));
  fg::scaled_dot_product_attention(s, ones.in(), low.in(), v.in(), std::nullopt, out.view());
  expect_equal(out.read(), std::vector<double>(all, 0.0));
  fg::scaled_dot_product_attention(s, ones.in(), nan.in(), v.in(), std::nullopt, out.view());
  expect_equal(out.read(), std::vector<double>(all, std::nan("")));
  // Weights below the largest of a later tile vanish; scores that overflow without a shift.
  for (const double scale : {-0.2, 0.0, 50.0}) {
    const problem scaled{
        .batch = 2, .queries = 70, .keys = 66, .e = 64, .ev = 64, .options = {.scale = scale}};
    fg::scaled_dot_product_attention(s, q.in(), k.in(), v.in(), std::nullopt, out.view(),
                                     scaled.options);
    expect_within(out.read(), scaled, q.values(), k.values(), v.values());
  }
}

#if FLAGGEMS_TEST_CHIPS
/// By the kernel itself: so many batches at once, as there are where keys do not fit a cache.
template <int Blocks, int RowTiles, int Keys, int Warps>
void check_tiles(const problem& p, i64 at_once) {
  namespace fk = fg::kernels;
  using kernel = fk::attention_prefill_tiles<bf16, bf16, fk::no_mask, fk::no_logs, Blocks, RowTiles,
                                             Keys, Warps>;
  using D = chip32;
  SCOPED_TRACE(fg::to_string(shape{Blocks, RowTiles, Keys, Warps, at_once}));
  test_tensor<bf16, D> q(p.q(), layout::contiguous, random_values(p.q())),
      k(p.k(), layout::contiguous, random_values(p.k())),
      v(p.v(), layout::contiguous, random_values(p.v())), out(p.out());
  const auto narrow = [](i64 x) { return static_cast<fg::i32>(x); };
  const i64 group = p.heads / p.key_heads, batches = p.batch * p.key_heads;
  const i64 row_tiles = fk::ceil_div(group * p.queries, i64{kernel::rows});
  const i64 turns = fk::ceil_div(batches, at_once);
  const fk::prefill_space space{narrow(p.keys),
                                narrow(p.e),
                                narrow(p.ev),
                                narrow(group * p.queries),
                                narrow(p.options.is_causal ? 0 : p.keys),
                                static_cast<float>(1 / std::sqrt(static_cast<double>(p.e))),
                                fg::detail::divider_by(group),
                                fg::detail::divider_by(batches),
                                fg::detail::divider_by(at_once),
                                fg::detail::divider_by(at_once * row_tiles),
                                static_cast<fg::u32>(row_tiles),
                                static_cast<fg::u32>(batches),
                                static_cast<fg::u32>(turns * at_once * row_tiles),
                                true};
  const auto arg = [&]<class T>(T* data, i64 heads, i64 positions, i64 size) {
    return fk::decode_arg<T>{data,         0, heads * positions * size, narrow(positions * size),
                             narrow(size), 1};
  };
  fg::launch_config config;
  config.op = "prefill";
  config.threads = kernel::max_threads;
  config.tiles = space.tiles;
  config.scratch = kernel::most_scratch;
  fg::launch<kernel>(test_stream<D>(), config, space, arg(q.in().data(), group, p.queries, p.e),
                     arg(k.in().data(), 1, p.keys, p.e), arg(v.in().data(), 1, p.keys, p.ev),
                     fk::no_mask{}, arg(out.view().data(), group, p.queries, p.ev), fk::no_logs{});
  expect_within(out.read(), p, q.values(), k.values(), v.values());
}

TEST(attention_prefill_tiles, batches_in_turns) {
  const problem p{.batch = 5,
                  .heads = 3,
                  .key_heads = 1,
                  .queries = 30,
                  .keys = 70,
                  .e = 64,
                  .ev = 64,
                  .options = {.is_causal = true, .enable_gqa = true}};
  check_tiles<1, 1, 64, 4>(p, 2);
  check_tiles<1, 2, 64, 2>(p, 3);
  check_tiles<1, 2, 32, 4>(p, 5);
  check_tiles<1, 1, 64, 8>(p, 1);
  const problem wide{.queries = 90, .keys = 100, .e = 128, .ev = 128};
  check_tiles<2, 2, 64, 4>(wide, 1);
}
#endif

}  // namespace
}  // namespace flaggems_test
