// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention over sequences of several lengths by warp groups: its plan of tiles, by dispatch on
// simulated CUDA, the kernel itself on the emulator, and planted mistakes.
#include <flaggems/launch/hooks.hpp>
#include <flaggems/launch/tensor_map.hpp>
#include <flaggems/ops/attention_varlen.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/simt.hpp>
#include <support/attention.hpp>
#include <support/warp_group_faults.hpp>

#include <algorithm>

namespace flaggems_test {
namespace {

namespace fk = fg::kernels;
using fg::f16, fg::f32, fg::i32, fg::u32;

/// Sequences whose keys have a row of NaN behind them.
struct sequences {
  std::vector<i64> queries, keys;
  i64 heads = 2, key_heads = 1, e = 64, ev = 64;
  bool causal = false;
  i64 left = -1;  // of a window

  i64 count() const { return static_cast<i64>(queries.size()); }
  static std::vector<double> starts(const std::vector<i64>& lengths, i64 between) {
    std::vector<double> r{0};
    for (const i64 n : lengths) r.push_back(r.back() + static_cast<double>(n + between));
    return r;
  }
  i64 rows() const { return static_cast<i64>(starts(queries, 0).back()); }
  i64 key_rows() const { return static_cast<i64>(starts(keys, 1).back()); }
};

template <class T, class D>
struct operands {
  sequences p;
  test_tensor<T, D> q, k, v, out;
  test_tensor<i32, D> starts, key_starts, used;

  explicit operands(const sequences& s)
      : p(s),
        q({s.rows(), s.heads, s.e}, layout::contiguous, random_values({s.rows(), s.heads, s.e})),
        k({s.key_rows(), s.key_heads, s.e}, layout::contiguous, values_of_keys(s, s.e)),
        v({s.key_rows(), s.key_heads, s.ev}, layout::contiguous, values_of_keys(s, s.ev)),
        out({s.rows(), s.heads, s.ev}),
        starts({s.count() + 1}, layout::contiguous, sequences::starts(s.queries, 0)),
        key_starts({s.count() + 1}, layout::contiguous, sequences::starts(s.keys, 1)),
        used({s.count()}, layout::contiguous, {s.keys.begin(), s.keys.end()}) {}

  /// The number of elements further from the definition than 2^-8 (|want| + weights |values|).
  i64 wrong_results(std::string& what) const {
    const auto got = out.read(), of_q = q.values(), of_k = k.values(), of_v = v.values();
    i64 wrong = 0;
    for (i64 s = 0, row = 0, key = 0; s < p.count(); ++s) {
      const i64 n = p.queries[index(s)], m = p.keys[index(s)];
      const problem one{.heads = p.heads,
                        .key_heads = p.key_heads,
                        .queries = n,
                        .keys = m,
                        .e = p.e,
                        .ev = p.ev,
                        .options = {.is_causal = p.causal,
                                    .alignment = fg::causal_alignment::bottom_right,
                                    .enable_gqa = true}};
      const auto part = [](const std::vector<double>& x, i64 first, i64 rows, i64 heads, i64 size) {
        std::vector<double> r;
        for (i64 h = 0; h < heads; ++h)
          for (i64 i = first; i < first + rows; ++i)
            for (i64 d = 0; d < size; ++d) r.push_back(x[index((i * heads + h) * size + d)]);
        return r;
      };
      const auto a = part(of_q, row, n, p.heads, p.e), b = part(of_k, key, m, p.key_heads, p.e);
      auto c = part(of_v, key, m, p.key_heads, p.ev);
      std::vector<double> window;
      for (i64 i = 0; p.left >= 0 && i < p.heads * n; ++i)
        for (i64 j = 0; j < m; ++j) window.push_back(j < i % n + m - n - p.left ? -infinity : 0);
      const auto want = reference(one, a, b, c, window);
      for (double& x : c) x = std::abs(x);
      const auto most = reference(one, a, b, c, window);
      const auto found = part(got, row, n, p.heads, p.ev);
      for (std::size_t i = 0; i < found.size(); ++i)
        if (!(std::abs(found[i] - want[i]) <= (std::abs(want[i]) + most[i]) / 256) && ++wrong == 1)
          what = "sequence " + std::to_string(s) + ", element " + std::to_string(i) + ": " +
                 std::to_string(found[i]) + " instead of " + std::to_string(want[i]);
      row += n;
      key += m + 1;
    }
    return wrong;
  }

 private:
  static std::vector<double> values_of_keys(const sequences& s, i64 size) {
    auto r = random_values({s.key_rows(), s.key_heads, size});
    i64 row = 0;
    for (const i64 n : s.keys) {
      row += n + 1;
      std::fill_n(r.begin() + (row - 1) * s.key_heads * size, s.key_heads * size,
                  std::numeric_limits<double>::quiet_NaN());
    }
    return r;
  }
};

fk::sequence_space space_of(const sequences& p, const i32* starts, const i32* key_starts,
                            const i32* used) {
  fk::sequence_space r{};
  r.count = p.count();
  r.key_heads = p.key_heads;
  r.group = p.heads / p.key_heads;
  r.total_queries = p.rows();
  r.total_keys = p.key_rows();
  r.head_size = p.e;
  r.value_size = p.ev;
  r.left = -1;
  r.right = p.causal ? 0 : -1;
  r.starts = {starts, 1};
  r.key_starts = {key_starts, 1};
  r.used = {used, 1};
  return r;
}

/// The plan of tiles of so many positions.
template <class T>
std::vector<fk::sequence_tile_plan> plan_of(operands<T, fg::simt32>& x, i64 positions) {
  std::vector<fk::sequence_tile_plan> plan(index(x.p.rows() / positions + x.p.count()));
  fg::launch_config config;
  config.op = "plan";
  config.tiles = 1;
  config.threads = fk::sequence_planning::max_threads;
  fg::launch<fk::sequence_planning>(
      test_stream<fg::simt32>(), config,
      space_of(x.p, x.starts.in().data(), x.key_starts.in().data(), x.used.in().data()),
      static_cast<i32>(positions), static_cast<i32>(plan.size()), plan.data());
  return plan;
}

/// By the kernel itself on so many blocks: heads of a group are rows of one tile if `shares`.
template <class Tile, class T, class Kernel>
i64 wrong_results(const sequences& p, int blocks, bool shares, i64 at_once, std::string& what) {
  using D = fg::simt32;
  const auto& s = test_stream<D>();
  operands<T, D> x(p);
  const auto narrow = [](i64 n) { return static_cast<i32>(n); };
  const i64 group = p.heads / p.key_heads, rows = shares ? group : 1, sharers = group / rows;
  const auto plan = plan_of(x, Tile::m / rows);
  fk::sequence_warp_space space{};
  space.head_size = narrow(p.e);
  space.value_size = narrow(p.ev);
  space.rows = narrow(Tile::m / rows);
  space.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(p.e)));
  space.group = fg::detail::divider_by(rows);
  space.row_tiles = static_cast<u32>(plan.size());
  space.batches = static_cast<u32>(p.key_heads * sharers);
  space.turns = static_cast<u32>(fk::ceil_div(i64{space.batches}, at_once));
  space.at_once = fg::detail::divider_by(at_once);
  space.tiles_at_once = fg::detail::divider_by(at_once * space.row_tiles);
  space.tiles = space.turns * space.row_tiles * static_cast<u32>(at_once);
  space.is_out_aligned = p.ev % 8 == 0;
  space.sharers = fg::detail::divider_by(sharers);
  space.right = p.causal ? 0 : -1;
  space.plan = plan.data();
  const auto map = [&](const T* data, const shape& sizes, const shape& strides, const shape& box) {
    return fg::tensor_map_of(s, fg::tensor_view<const T, D>(data, sizes, strides), box,
                             fg::box_swizzle::pieces_8);
  };
  const i64 line = p.heads * p.e;
  const auto map_q = shares ? map(x.q.in().data(), {1, p.key_heads, p.rows(), group, p.e},
                                  {8, group * p.e, line, p.e, 1}, {1, 1, Tile::m / rows, group, 64})
                            : map(x.q.in().data(), {1, p.key_heads, group, p.rows(), p.e},
                                  {8, group * p.e, p.e, line, 1}, {1, 1, 1, Tile::m, 64});
  const auto of_keys = [&](const T* data, i64 size) {
    return map(data, {1, p.key_heads, p.key_rows(), size}, {8, size, p.key_heads * size, 1},
               {1, 1, Tile::n, 64});
  };
  fg::launch_config config;
  config.op = "warp groups";
  config.tiles = blocks;
  config.threads = Tile::threads;
  config.scratch = Tile::scratch(0);
  const auto start = [&](const auto& all) {
    fg::launch<typename Kernel::type>(
        s, config, all, map_q, of_keys(x.k.in().data(), p.e), of_keys(x.v.in().data(), p.ev),
        fk::no_mask{},
        fk::decode_arg<T>{x.out.view().data(), p.heads * p.ev, group * p.ev, narrow(p.ev),
                          narrow(p.heads * p.ev), 1},
        fk::no_logs{});
  };
  fk::windowed_space<fk::sequence_warp_space> windowed{};
  static_cast<fk::sequence_warp_space&>(windowed) = space;
  windowed.left = narrow(p.left);
  if (p.left < 0)
    start(space);
  else
    start(windowed);
  return x.wrong_results(what);
}

template <class T, class Tile>
struct kernel_of {
  using type = fk::attention_warp_groups<T, T, fk::no_mask, fk::no_logs, Tile>;
};
template <class Tile, class T = bf16>
void check(const sequences& p, int blocks = 2, bool shares = false, i64 at_once = 2) {
  SCOPED_TRACE(p.causal ? "causal" : "full");
  std::string what;
  EXPECT_EQ((wrong_results<Tile, T, kernel_of<T, Tile>>(p, blocks, shares, at_once, what)), 0)
      << what;
}

using alone = fk::attention_warp_tile<64, 80, 2, 2, false>;
using streaming = fk::attention_warp_tile<128, 64, 2, 3, true>;

TEST(attention_varlen_warp_groups, plan) {
  for (const bool causal : {false, true}) {
    operands<f32, fg::simt32> x({.queries = {3, 700, 0, 64, 65, 200, 130},
                                 .keys = {900, 700, 8, 64, 0, 1000, 64},
                                 .e = 1,
                                 .ev = 1,
                                 .causal = causal});
    const auto plan = plan_of(x, 64);
    std::vector<std::vector<bool>> found;
    for (const i64 n : x.p.queries) found.emplace_back(index((n + 63) / 64));
    i64 before = std::numeric_limits<i64>::max(), none = 0;
    for (const auto& t : plan) {
      if (t.queries == 0) {
        ++none;
        continue;
      }
      EXPECT_EQ(none, 0) << "tiles behind those that are none";
      const i64 s = t.sequence;
      EXPECT_EQ(t.queries, x.p.queries[index(s)]);
      EXPECT_EQ(t.keys, x.p.keys[index(s)]);
      EXPECT_EQ(t.query_at, x.starts.values()[index(s)]);
      EXPECT_EQ(t.key_at, x.key_starts.values()[index(s)]);
      EXPECT_EQ(t.first % 64, 0);
      EXPECT_FALSE(found[index(s)][index(t.first / 64)]) << "twice";
      found[index(s)][index(t.first / 64)] = true;
      const i64 end = std::min(t.first + 64, t.queries) + (t.keys - t.queries);
      const i64 seen = causal ? std::clamp<i64>(end, 0, t.keys) : t.keys;
      EXPECT_LE(seen, before);
      before = seen;
    }
    for (const auto& tiles : found) EXPECT_EQ(std::count(tiles.begin(), tiles.end(), false), 0);
  }
}

TEST(attention_varlen_warp_groups, lengths) {
  for (const bool causal : {false, true}) {
    check<alone>({.queries = {1, 130, 0, 70, 64}, .keys = {90, 160, 5, 3, 0}, .causal = causal});
    check<streaming>(
        {.queries = {200, 129}, .keys = {64, 150}, .e = 128, .ev = 72, .causal = causal}, 1);
  }
}
TEST(attention_varlen_warp_groups, groups) {
  for (const bool shares : {false, true})
    check<streaming, f16>({.queries = {70, 20},
                           .keys = {100, 190},
                           .heads = 8,
                           .key_heads = 2,
                           .e = 72,
                           .ev = 128,
                           .causal = true},
                          3, shares, shares ? 1 : 4);
}

TEST(attention_varlen_warp_groups, windows) {
  for (const i64 left : {0, 20, 100, 1000})
    check<streaming>({.queries = {140, 0, 70, 3},
                      .keys = {270, 4, 30, 90},
                      .e = 72,
                      .ev = 128,
                      .causal = left != 20,
                      .left = left},
                     2, true);
  check<alone>({.queries = {200}, .keys = {300}, .left = 30}, 1);
}

int launches_of_warp_groups = 0;

template <class Device>
class attention_of_sequences : public testing::Test {};
using devices = devices_and_own<host, chip32>;
TYPED_TEST_SUITE(attention_of_sequences, devices);

TYPED_TEST(attention_of_sequences, by_warp_groups_where_aligned) {
  using D = TypeParam;
  launches_of_warp_groups = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    launches_of_warp_groups += e.kernel.find("attention_warp_groups") != e.kernel.npos;
  });
  const auto call = [](const sequences& p, bool has_logs) {
    operands<bf16, D> x(p);
    test_tensor<f32, D> logs({p.heads, p.rows()});
    const fg::varlen_attention_options<D> options{.causal = p.causal, .window_left = p.left};
    const auto attend = [&](auto&& sums) {
      fg::flash_attn_varlen_func(test_stream<D>(), x.q.in(), x.k.in(), x.v.in(), 1, x.starts.in(),
                                 1, x.key_starts.in(), x.used.in(), x.out.view(), sums, options);
    };
    if (has_logs)
      attend(logs.view());
    else
      attend(std::nullopt);
    std::string what;
    EXPECT_EQ(x.wrong_results(what), 0) << what;
    if (!has_logs) return;
    for (const double sum : logs.read()) EXPECT_FALSE(std::isnan(sum));
  };
  call({.queries = {140, 0, 61, 3},
        .keys = {70, 4, 130, 0},
        .heads = 4,
        .key_heads = 2,
        .e = 128,
        .ev = 128,
        .causal = true},
       true);
  call({.queries = {140, 0, 61, 70}, .keys = {70, 4, 130, 0}, .heads = 3, .e = 72, .ev = 88},
       false);
  call({.queries = {140, 0, 61, 3},
        .keys = {70, 4, 330, 0},
        .heads = 4,
        .key_heads = 2,
        .e = 128,
        .ev = 128,
        .causal = true,
        .left = 90},
       false);
  fg::set_launch_hook(before);
  if constexpr (fg::detail::attends_by_warp_groups<D>) {
    EXPECT_EQ(launches_of_warp_groups, D::warp_group_units(0) > 0 ? 3 : 0);
  }
}

// ---- planted mistakes: one of a warp group's operations goes wrong

template <fault Fault, class Tile>
bool is_noticed() {
  using kernel = faulty_kernel<kernel_of<bf16, Tile>, Fault>;
  const sequences p{
      .queries = {130, 20}, .keys = {300, 70}, .heads = 1, .e = Tile::d, .ev = Tile::d};
  std::string what;
  return has_mistake([&] { return wrong_results<Tile, bf16, kernel>(p, 1, false, 1, what); });
}
TEST(attention_varlen_warp_groups, mistakes_are_noticed) {
  EXPECT_FALSE((is_noticed<fault::none, streaming>()));
  EXPECT_TRUE((is_noticed<fault::no_fence, streaming>()));  // of values that are cleared
  EXPECT_TRUE((is_noticed<fault::late_products, streaming>()));
  EXPECT_TRUE((is_noticed<fault::wrong_phase, streaming>()));
}

}  // namespace
}  // namespace flaggems_test
