// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of attention by warp groups: plans of tiles, the passes themselves on the emulator,
// and planted mistakes, each of which the emulator has to notice.
#include <flaggems/launch/tensor_map.hpp>
#include <flaggems/ops/attention_varlen_backward.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/simt.hpp>
#include <support/attention_gradients.hpp>
#include <support/warp_group_faults.hpp>

#include <algorithm>

namespace flaggems_test {
namespace {

namespace fk = fg::kernels;
using D = fg::simt32;
using fg::i32, fg::u32, fk::attention_side;
using lengths = std::vector<i64>;

fk::sequence_space space_of(const lengths& queries, const lengths& keys, const i32* starts,
                            const i32* key_starts, i64 right) {
  fk::sequence_space r{};
  r.count = static_cast<i64>(queries.size());
  r.key_heads = r.group = 1;
  for (const i64 n : queries) r.total_queries += n;
  for (const i64 n : keys) r.total_keys += n;
  r.left = -1;
  r.right = right;
  r.starts = {starts, 1};
  r.key_starts = {key_starts, 1};
  return r;
}
std::vector<double> starts_of(const lengths& n) {
  std::vector<double> r{0};
  for (const i64 x : n) r.push_back(r.back() + static_cast<double>(x));
  return r;
}

/// The plan of tiles of so many rows.
template <bool OfKeys>
std::vector<fk::sequence_tile_plan> plan_of(const lengths& queries, const lengths& keys, i64 right,
                                            i64 rows) {
  test_tensor<i32, D> starts({static_cast<i64>(queries.size()) + 1}, layout::contiguous,
                             starts_of(queries)),
      key_starts({static_cast<i64>(keys.size()) + 1}, layout::contiguous, starts_of(keys));
  const fk::sequence_space space =
      space_of(queries, keys, starts.in().data(), key_starts.in().data(), right);
  const i64 count = (OfKeys ? space.total_keys : space.total_queries) / rows + space.count;
  std::vector<fk::sequence_tile_plan> plan(index(count));
  fg::launch_config config;
  config.op = "plan";
  config.tiles = 2;
  config.threads = fk::sequence_tile_planning<OfKeys>::max_threads;
  fg::launch<fk::sequence_tile_planning<OfKeys>>(test_stream<D>(), config, space,
                                                 static_cast<i32>(rows), static_cast<i32>(count),
                                                 plan.data());
  return plan;
}

// Each tile of keys once, those that most queries see first, then those that are none.
TEST(attention_gradients_warp_groups, plans_of_keys) {
  const lengths queries{3, 700, 0, 64, 65, 200, 130}, keys{900, 700, 8, 64, 0, 1000, 64};
  for (const i64 right : {-1, 0, 5}) {
    const auto plan = plan_of<true>(queries, keys, right, 64);
    std::vector<std::vector<int>> found;
    for (const i64 m : keys) found.emplace_back(index((m + 63) / 64));
    const auto first = starts_of(keys);
    bool ends = false;
    i64 before = std::numeric_limits<i64>::max();
    for (const auto& t : plan) {
      ends = ends || t.keys == 0;
      EXPECT_EQ(t.keys == 0, ends);
      if (ends) continue;
      const std::size_t s = index(t.sequence);
      EXPECT_EQ(t.queries, queries[s]);
      EXPECT_EQ(t.keys, keys[s]);
      EXPECT_EQ(t.key_at, first[s]);
      ++found[s][index(t.first / 64)];
      // Tiles count as if they were cut from the last key back.
      const i64 tiles = (keys[s] + 63) / 64, end = std::min((tiles - t.first / 64) * 64, keys[s]);
      const i64 seen = right < 0 ? queries[s] : std::min(queries[s], end + right);
      EXPECT_LE(seen, before);
      before = seen;
    }
    for (const auto& tiles : found)
      for (const int times : tiles) EXPECT_EQ(times, 1);
  }
}

/// The pass over one side of three sequences of one head, the first and the last of NaN, by the
/// kernel itself on two blocks; the number of wrong gradients of the second.
template <class Tile, class Kernel>
i64 wrong_results(i64 left = -1) {
  constexpr bool of_queries = Tile::side == attention_side::queries;
  const auto& s = test_stream<D>();
  const lengths queries{13, 150, 40}, keys{0, 140, 30};
  const i64 before = queries[0], n = queries[1], m = keys[1], e = Tile::d;
  const i64 all_n = before + n + queries[2], all_m = m + keys[2];
  const auto numbers = [&](i64 rows, i64 from, i64 right_rows) {
    values r = random_values({rows, e});
    std::fill(r.begin(), r.begin() + from * e, std::nan(""));
    std::fill(r.begin() + (from + right_rows) * e, r.end(), std::nan(""));
    return r;
  };
  test_tensor<bf16, D> q({all_n, e}, layout::contiguous, numbers(all_n, before, n)),
      k({all_m, e}, layout::contiguous, numbers(all_m, 0, m)),
      v({all_m, e}, layout::contiguous, numbers(all_m, 0, m)),
      grad({all_n, e}, layout::contiguous, numbers(all_n, before, n)),
      first({of_queries ? all_n : all_m, e}), second({all_m, e});
  const auto narrow = [](i64 x) { return static_cast<i32>(x); };
  const i64 padded = fk::round_up(all_n, i64{Tile::m});
  const auto plan = plan_of<!of_queries>(queries, keys, 0, Tile::m);

  const problem one{
      .queries = n,
      .keys = m,
      .e = e,
      .ev = e,
      .options = {.is_causal = true, .alignment = fg::causal_alignment::bottom_right}};
  values mask(index(n * m));
  for (i64 i = 0; left >= 0 && i < n; ++i)
    for (i64 j = 0; j < i + m - n - left; ++j) mask[index(i * m + j)] = -infinity;
  const auto part = [&](const values& x, i64 from, i64 rows) {
    return values(x.begin() + from * e, x.begin() + (from + rows) * e);
  };
  const values of_q = part(q.values(), before, n), of_k = part(k.values(), 0, m),
               of_v = part(v.values(), 0, m), of_grad = part(grad.values(), before, n);
  const gradients want = reference(one, of_grad, of_q, of_k, of_v, mask);
  const values out = reference(one, of_q, of_k, of_v, mask);
  // What each query has: its logarithm in powers of two, and the sum of grad_out * out.
  std::vector<float> sums(index(2 * padded), std::numeric_limits<float>::quiet_NaN());
  const double scale = 1 / std::sqrt(static_cast<double>(e));
  for (i64 i = 0; i < n; ++i) {
    double total = 0, dot = 0;
    for (i64 j = 0; j <= i + m - n; ++j) {
      double x = mask[index(i * m + j)];
      for (i64 d = 0; d < e; ++d) x += scale * of_q[index(i * e + d)] * of_k[index(j * e + d)];
      total += std::exp(x);
    }
    for (i64 d = 0; d < e; ++d) dot += of_grad[index(i * e + d)] * out[index(i * e + d)];
    sums[index(before + i)] = static_cast<float>(total > 0 ? std::log2(total) : infinity);
    sums[index(padded + before + i)] = static_cast<float>(dot);
  }

  fk::windowed_gradients<fk::sequence_gradient_space> windowed{};
  fk::sequence_gradient_space& space = windowed;
  space.queries = narrow(all_n);
  space.keys = narrow(all_m);
  space.head_size = space.value_size = narrow(e);
  space.group = 1;
  space.scale = static_cast<float>(scale);
  space.heads = space.sharers = space.at_once = fg::detail::divider_by(1);
  space.row_tiles = space.tiles = static_cast<u32>(plan.size());
  space.tiles_at_once = fg::detail::divider_by(space.row_tiles);
  space.batches = space.turns = 1;
  space.padded = fg::detail::divider_by(padded);
  space.sums = static_cast<u32>(padded);
  space.is_grad_aligned = space.is_grad_value_aligned = true;
  space.right = 0;
  space.plan = plan.data();
  windowed.left = narrow(left);
  const auto map = [&](auto& x, i64 rows, i64 box) {
    const i64 sizes[] = {1, 1, 1, rows, e}, strides[] = {8, 8, 8, e, 1},
              boxes[] = {1, 1, 1, box, 64};
    return fg::tensor_map_of(
        s,
        fg::tensor_view<const bf16, D>(x.in().data(), fg::int_list(sizes), fg::int_list(strides)),
        boxes, fg::box_swizzle::pieces_8);
  };
  const i64 sizes[] = {2, 1, padded}, strides[] = {padded, padded, 1},
            boxes[] = {2, 1, Tile::n + 4};
  const auto of_sums = fg::tensor_map_of(
      s, fg::tensor_view<const float, D>(sums.data(), fg::int_list(sizes), fg::int_list(strides)),
      boxes, fg::box_swizzle::none);
  const i64 q_box = of_queries ? Tile::m : Tile::n, k_box = of_queries ? Tile::n : Tile::m;
  const auto q_map = map(q, all_n, q_box), grad_map = map(grad, all_n, q_box),
             k_map = map(k, all_m, k_box), v_map = map(v, all_m, k_box);
  const auto to = [&](auto& x) {
    return fk::decode_arg<bf16>{x.view().data(), 0, 0, 0, narrow(e), 1};
  };
  fg::launch_config config;
  config.op = "gradients";
  config.tiles = 2;
  config.threads = Tile::threads;
  config.scratch = Tile::scratch;
  const float* const found = sums.data();
  const auto start = [&](const auto& all) {
    if constexpr (of_queries)
      fg::launch<typename Kernel::type>(s, config, all, q_map, grad_map, k_map, v_map, of_sums,
                                        found, to(first), fk::decode_arg<bf16>{});
    else
      fg::launch<typename Kernel::type>(s, config, all, k_map, v_map, q_map, grad_map, of_sums,
                                        found, to(first), to(second));
  };
  if (left < 0)
    start(space);
  else
    start(windowed);
  i64 wrong = 0;
  const auto count = [&](const values& got, const values& right, const values& most) {
    for (std::size_t i = 0; i < right.size(); ++i)
      wrong += std::abs(got[i] - right[i]) <= 0x1p-6 * (std::abs(right[i]) + most[i]) ? 0 : 1;
  };
  if (of_queries) {
    count(part(first.read(), before, n), want.q, want.q_most);
  } else {
    count(first.read(), want.k, want.k_most);
    count(second.read(), want.v, want.v_most);
  }
  return wrong;
}

template <class Tile>
struct kernel_of {
  using type = fk::attention_warp_gradients<bf16, Tile>;
};
template <class Tile, fault Fault>
bool is_noticed() {
  return has_mistake([] { return wrong_results<Tile, faulty_kernel<kernel_of<Tile>, Fault>>(); });
}
using of_queries = fk::attention_gradient_tile<attention_side::queries, 64, 64, 2, 2>;
using of_keys = fk::attention_gradient_tile<attention_side::keys, 64, 64, 2, 2>;

TEST(attention_gradients_warp_groups, windows_of_sequences) {
  for (const i64 left : {-1, 0, 70}) {
    EXPECT_EQ((wrong_results<of_queries, kernel_of<of_queries>>(left)), 0) << left;
    EXPECT_EQ((wrong_results<of_keys, kernel_of<of_keys>>(left)), 0) << left;
  }
}
TEST(attention_gradients_warp_groups, mistakes_are_noticed) {
  EXPECT_FALSE((is_noticed<of_queries, fault::none>()));
  EXPECT_TRUE((is_noticed<of_queries, fault::no_fence>()));  // of others that are cleared
  EXPECT_TRUE((is_noticed<of_queries, fault::late_products>()));
  EXPECT_TRUE((is_noticed<of_queries, fault::no_wait>()));
  EXPECT_FALSE((is_noticed<of_keys, fault::none>()));
  EXPECT_TRUE((is_noticed<of_keys, fault::no_fence>()));
  EXPECT_TRUE((is_noticed<of_keys, fault::few_bytes>()));
  EXPECT_TRUE((is_noticed<of_keys, fault::wrong_phase>()));
}

}  // namespace
}  // namespace flaggems_test
