// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention by warp groups: by dispatch on simulated CUDA, the kernel itself on the emulator, and
// planted mistakes, each of which the emulator has to notice.
#include <flaggems/launch/hooks.hpp>
#include <flaggems/launch/tensor_map.hpp>
#include <flaggems/ops/attention.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/simt.hpp>
#include <support/attention.hpp>
#include <support/warp_group_faults.hpp>

namespace flaggems_test {
namespace {

namespace fk = fg::kernels;
using fg::f16, fg::f32, fg::i32, fg::u32;
using fk::major;

std::vector<double> magnitudes(std::vector<double> x) {
  for (double& y : x) y = std::abs(y);
  return x;
}

/// The number of elements further from the definition than 2^-8 (|want| + weights |values|); one of
/// them is described in `what`.
i64 wrong_results(const std::vector<double>& got, const problem& p, const std::vector<double>& q,
                  const std::vector<double>& k, const std::vector<double>& v, std::string& what,
                  const std::vector<double>& mask = {}) {
  const auto want = reference(p, q, k, v, mask), most = reference(p, q, k, magnitudes(v), mask);
  i64 wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!(std::abs(got[i] - want[i]) <= (std::abs(want[i]) + most[i]) / 256) && ++wrong == 1)
      what = "element " + std::to_string(i) + ": " + std::to_string(got[i]) + " instead of " +
             std::to_string(want[i]);
  return wrong;
}

/// By the kernel itself on so many blocks: heads of a group are rows of one tile if `shares`.
template <class Tile, class T, class Kernel>
i64 wrong_results(const problem& p, int blocks, bool shares, i64 at_once, std::string& what) {
  using D = fg::simt32;
  const auto& s = test_stream<D>();
  test_tensor<T, D> q(p.q(), layout::contiguous, random_values(p.q())),
      k(p.k(), layout::contiguous, random_values(p.k())),
      v(p.v(), layout::contiguous, random_values(p.v())), out(p.out());
  const auto narrow = [](i64 x) { return static_cast<i32>(x); };
  const i64 group = p.heads / p.key_heads, sharers = shares ? 1 : group;
  fk::attention_warp_space space{};
  space.keys = narrow(p.keys);
  space.head_size = narrow(p.e);
  space.value_size = narrow(p.ev);
  space.rows = narrow(p.queries * group / sharers);
  space.diagonal =
      narrow(!p.options.is_causal                                    ? p.keys
             : p.options.alignment == fg::causal_alignment::top_left ? 0
                                                                     : p.keys - p.queries);
  space.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(p.e)));
  space.group = fg::detail::divider_by(group / sharers);
  space.heads = fg::detail::divider_by(p.key_heads);
  space.row_tiles = static_cast<u32>(fk::ceil_div(space.rows, Tile::m));
  space.batches = static_cast<u32>(p.batch * p.heads / (group / sharers));
  space.turns = static_cast<u32>(fk::ceil_div(i64{space.batches}, at_once));
  space.at_once = fg::detail::divider_by(at_once);
  space.tiles_at_once = fg::detail::divider_by(at_once * space.row_tiles);
  space.tiles = space.turns * space.row_tiles * static_cast<u32>(at_once);
  space.is_out_aligned = p.ev % 8 == 0;
  space.sharers = fg::detail::divider_by(sharers);
  const auto map = [&](const T* data, const shape& sizes, const shape& strides, const shape& box) {
    return fg::tensor_map_of(s, fg::tensor_view<const T, D>(data, sizes, strides), box,
                             fg::box_swizzle::pieces_8);
  };
  const i64 of_key = p.queries * p.e * group, rows = Tile::m / group;
  const auto map_q =
      shares ? map(q.in().data(), {p.batch, p.key_heads, p.queries, group, p.e},
                   {p.key_heads * of_key, of_key, p.e, p.queries * p.e, 1}, {1, 1, rows, group, 64})
             : map(q.in().data(), {p.batch, p.key_heads, group, p.queries, p.e},
                   {p.key_heads * of_key, of_key, p.queries * p.e, p.e, 1}, {1, 1, 1, Tile::m, 64});
  const auto of_keys = [&](const T* data, i64 size) {
    return map(data, {p.batch, p.key_heads, p.keys, size},
               {p.key_heads * p.keys * size, p.keys * size, size, 1}, {1, 1, Tile::n, 64});
  };
  fg::launch_config config;
  config.op = "warp groups";
  config.tiles = blocks;
  config.threads = Tile::threads;
  config.scratch = Tile::scratch(0);
  const i64 of_out = p.queries * p.ev * group;
  fg::launch<typename Kernel::type>(
      s, config, space, map_q, of_keys(k.in().data(), p.e), of_keys(v.in().data(), p.ev),
      fk::no_mask{},
      fk::decode_arg<T>{out.view().data(), p.key_heads * of_out, of_out, narrow(p.queries * p.ev),
                        narrow(p.ev), 1},
      fk::no_logs{});
  return wrong_results(out.read(), p, q.values(), k.values(), v.values(), what);
}

template <class T, class Tile>
struct kernel_of {
  using type = fk::attention_warp_groups<T, T, fk::no_mask, fk::no_logs, Tile>;
};
template <class Tile, class T = bf16>
void check(const problem& p, int blocks = 2, bool shares = false, i64 at_once = 2) {
  SCOPED_TRACE(fg::to_string(p.q()) + " " + fg::to_string(p.k()));
  std::string what;
  EXPECT_EQ((wrong_results<Tile, T, kernel_of<T, Tile>>(p, blocks, shares, at_once, what)), 0)
      << what;
}

using alone = fk::attention_warp_tile<64, 80, 2, 2, false>;
using streaming = fk::attention_warp_tile<128, 64, 2, 3, true>;
using three = fk::attention_warp_tile<64, 64, 3, 2, true>;

TEST(attention_warp_groups, lengths) {
  for (const i64 keys : {1, 80, 81, 250})
    for (const bool is_causal : {false, true})
      check<alone>({.heads = 2,
                    .key_heads = 2,
                    .queries = 190,
                    .keys = keys,
                    .e = 64,
                    .ev = 64,
                    .options = {.is_causal = is_causal}});
  check<three, f16>({.batch = 3, .queries = 250, .keys = 200, .e = 64, .ev = 64}, 2, false, 3);
  check<streaming>({.heads = 3, .key_heads = 3, .queries = 130, .keys = 200, .e = 128, .ev = 72});
}
TEST(attention_warp_groups, groups) {
  for (const bool shares : {false, true})
    for (const auto alignment :
         {fg::causal_alignment::top_left, fg::causal_alignment::bottom_right})
      check<alone>({.batch = 2,
                    .heads = 8,
                    .key_heads = 2,
                    .queries = 70,
                    .keys = 100,
                    .e = 40,
                    .ev = 64,
                    .options = {.is_causal = true, .alignment = alignment, .enable_gqa = true}},
                   3, shares, shares ? 3 : 4);
}

// ---- the choice

TEST(attention_warp_groups, tiles_by_size) {
  constexpr auto& tiles = fg::tuning<fg::families::attention, fg::cuda>::warp_group_tiles;
  constexpr std::size_t none = std::size(tiles);
  for (const bool is_masked : {false, true})
    for (const i64 size : {8, 64, 72, 128, 256}) {
      const std::size_t t = fg::detail::attention_tile_of(tiles, size, 4096, false, is_masked);
      ASSERT_LT(t, none);
      EXPECT_GE(tiles[t].size, size);
      EXPECT_EQ(tiles[t].is_masked, is_masked);
    }
  EXPECT_EQ(fg::detail::attention_tile_of(tiles, 264, 4096, false, false), none);
}

TEST(attention_warp_groups, tiles_of_fewer_rows) {
  constexpr auto& tiles = fg::tuning<fg::families::attention, fg::cuda>::warp_group_tiles;
  const std::size_t usual = fg::detail::attention_tile_of(tiles, 64, 2048, true, false),
                    fewer = fg::detail::attention_tile_of_fewer_rows(tiles, usual);
  ASSERT_NE(fewer, usual);
  EXPECT_EQ(tiles[fewer].size, tiles[usual].size);
  EXPECT_LT(tiles[fewer].consumers, tiles[usual].consumers);
  EXPECT_FALSE(tiles[fewer].is_masked);
  const std::size_t wide = fg::detail::attention_tile_of(tiles, 128, 2048, true, false);
  EXPECT_EQ(fg::detail::attention_tile_of_fewer_rows(tiles, wide), wide);
  EXPECT_EQ(fg::detail::attention_tile_of_fewer_rows(tiles, std::size(tiles)), std::size(tiles));
}

int launches_of_warp_groups = 0;

template <class Device>
class attention_of_many_queries : public testing::Test {};
using devices = devices_and_own<host, chip32>;
TYPED_TEST_SUITE(attention_of_many_queries, devices);

/// `sizes` of a mask that the first queries see nothing of; empty: no mask. M: its elements.
template <class D, class T, class M, class Out = T>
void check_call(const problem& p, const shape& sizes = {}) {
  SCOPED_TRACE(fg::to_string(p.q()) + " " + fg::to_string(p.k()) + " " + fg::to_string(sizes));
  test_tensor<T, D> q(p.q(), layout::contiguous, random_values(p.q())),
      k(p.k(), layout::contiguous, random_values(p.k())),
      v(p.v(), layout::contiguous, random_values(p.v()));
  test_tensor<Out, D> out(p.out());
  std::string what;
  if (sizes.rank() == 0) {
    fg::scaled_dot_product_attention(test_stream<D>(), q.in(), k.in(), v.in(), std::nullopt,
                                     out.view(), p.options);
    EXPECT_EQ(wrong_results(out.read(), p, q.values(), k.values(), v.values(), what), 0) << what;
    return;
  }
  constexpr bool is_bool = std::is_same_v<M, bool>;
  auto values = is_bool ? random_integers(sizes, 0, 1) : random_values(sizes);
  if (sizes[2] > 1)
    for (i64 j = 0; j < sizes[3]; ++j) values[index(j)] = is_bool ? 0 : -infinity;
  test_tensor<M, D> mask(sizes, layout::contiguous, values);
  fg::scaled_dot_product_attention(test_stream<D>(), q.in(), k.in(), v.in(), mask.in(), out.view(),
                                   p.options);
  std::vector<double> spread;
  const auto taken = mask.values();
  for (i64 b = 0; b < p.batch; ++b)
    for (i64 h = 0; h < p.heads; ++h)
      for (i64 i = 0; i < p.queries; ++i)
        for (i64 j = 0; j < p.keys; ++j) {
          const i64 at[] = {b, h, i, j};
          i64 offset = 0;
          for (int d = 0; d < 4; ++d) offset = offset * sizes[d] + (sizes[d] == 1 ? 0 : at[d]);
          const double x = taken[index(offset)];
          spread.push_back(!is_bool ? x : x != 0 ? 0 : -infinity);
        }
  EXPECT_EQ(wrong_results(out.read(), p, q.values(), k.values(), v.values(), what, spread), 0)
      << what;
}

TYPED_TEST(attention_of_many_queries, by_warp_groups_where_aligned) {
  using D = TypeParam;
  launches_of_warp_groups = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    launches_of_warp_groups += e.kernel.find("attention_warp_groups") != e.kernel.npos;
  });
  const problem p{
      .batch = 2, .heads = 2, .key_heads = 2, .queries = 70, .keys = 160, .e = 72, .ev = 128};
  for (const shape& sizes : {shape{2, 2, 70, 160}, shape{1, 1, 70, 160}, shape{2, 1, 1, 160}}) {
    check_call<D, bf16, bool>(p, sizes);
    check_call<D, bf16, bf16>(p, sizes);
  }
  const problem shared{.heads = 4,
                       .key_heads = 2,
                       .queries = 70,
                       .keys = 176,
                       .e = 72,
                       .ev = 128,
                       .options = {.enable_gqa = true}};
  check_call<D, f16, f16>(shared, {1, 4, 70, 176});
  check_call<D, f16, bool>(shared, {1, 1, 70, 176});
  check_call<D, f16, bool, f32>(shared, {1, 4, 1, 176});
  const problem thirds{.heads = 6,
                       .key_heads = 2,
                       .queries = 40,
                       .keys = 80,
                       .e = 88,
                       .ev = 64,
                       .options = {.is_causal = true, .enable_gqa = true}};
  check_call<D, bf16, bool, f32>(thirds);
  check_call<D, bf16, bool>(
      {.queries = 66, .keys = 70, .e = 192, .ev = 256, .options = {.is_causal = true}});
  check_call<D, bf16, bool>({.batch = 100, .queries = 17, .keys = 16, .e = 64, .ev = 64});
  fg::set_launch_hook(before);
  if constexpr (fg::detail::attends_by_warp_groups<D>) {
    EXPECT_EQ(launches_of_warp_groups, D::warp_group_units(0) > 0 ? 12 : 0);
  }
  check_call<D, bf16, bf16>(p, {1, 1, 70, 1});  // masks that the copy engine does not take
  check_call<D, bf16, f32>(p, {1, 1, 70, 160});
}

// ---- planted mistakes: one of a warp group's operations goes wrong

template <fault Fault, class Tile>
bool is_noticed() {
  using kernel = faulty_kernel<kernel_of<bf16, Tile>, Fault>;
  const problem p{.queries = 130, .keys = 300, .e = Tile::d, .ev = Tile::d};
  std::string what;
  return has_mistake([&] { return wrong_results<Tile, bf16, kernel>(p, 1, false, 1, what); });
}
TEST(attention_warp_groups, mistakes_are_noticed) {
  EXPECT_FALSE((is_noticed<fault::none, alone>()));
  EXPECT_FALSE((is_noticed<fault::none, streaming>()));
  EXPECT_TRUE((is_noticed<fault::late_products, alone>()));
  EXPECT_TRUE((is_noticed<fault::late_products, streaming>()));
  EXPECT_TRUE((is_noticed<fault::wrong_phase, alone>()));
  EXPECT_TRUE((is_noticed<fault::no_wait, alone>()));
  EXPECT_TRUE((is_noticed<fault::few_bytes, alone>()));
  EXPECT_TRUE((is_noticed<fault::wrong_rows, streaming>()));
}

}  // namespace
}  // namespace flaggems_test
