// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Grouped products by warp groups, the kernel itself on the emulator: rows that lie anywhere,
// groups without rows, rows of no group, and planted mistakes, which the emulator has to notice.
#include <flaggems/launch/tensor_map.hpp>
#include <flaggems/ops/expert_product.hpp>
#include <flaggems/ops/fused_experts.hpp>
#include <flaggems/ops/grouped_mm.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/simt.hpp>
#include <support/ops.hpp>
#include <support/warp_group_faults.hpp>

#include <array>
#include <cmath>

namespace flaggems_test {
namespace {

namespace fk = flaggems::kernels;
using fg::f8e4m3;
using fg::i32, fg::u32, fg::u8;

/// Choices of experts: `rows` of them by expert, up to `ends`; those for no expert last.
struct problem {
  std::vector<i32> ends;
  i64 experts, share, n, k;
  bool across = false, has_bias = false, has_weights = false;
  i64 out_column = 1, scale_stride = 1;
  bool scales_groups = false;  // all columns of a group by one number
  bool reads_places = false, writes_places = false;
  [[nodiscard]] i64 choices() const { return ends.back(); }
};

f32 small(i64 seed, i64 i, i64 q) {
  return static_cast<f32>((seed + i * 7 + q * 3 + i * q) % 5 - 2);
}
f32 power(i64 i) { return i % 3 == 0 ? 0.5F : i % 3 == 1 ? 1.0F : 2.0F; }

template <class T>
auto to_device(const std::vector<T>& x) {
  return fg::from_values<T>(test_stream<fg::simt32>(), std::span<const T>(x),
                            {static_cast<i64>(x.size())});
}

template <class T, class Out, class Tile, class Sums, fk::column_numbers Columns, bool Gathers>
struct kernel_of {
  using type = fk::gemm_grouped_warp_groups<T, Out, Tile, Sums, Columns, Gathers>;
};

/// The number of wrong results.
template <class T, class Out, class Tile, class Sums, fk::column_numbers Columns, bool Gathers,
          class Kernel>
i64 wrong_results(const problem& p, std::string& what, int blocks = 2) {
  using D = fg::simt32;
  const auto& s = test_stream<D>();
  constexpr i64 vector = fk::vec_size<T>, terms = 128 / sizeof(T);
  constexpr bool has_scales = std::is_same_v<Sums, fk::sums_of_blocks>;
  const i64 all = p.choices(), lines = fk::ceil_div(all, p.share);
  const auto padded = [](i64 x) { return fk::round_up(x, vector) + vector; };
  const i64 a_line = padded(p.k), b_line = padded(p.across ? p.n : p.k),
            b_group = (p.across ? p.k : p.n) * b_line;
  const T nan = fk::number_cast<T>(std::numeric_limits<f32>::quiet_NaN());
  std::vector<T> of_a(static_cast<std::size_t>(lines * a_line), nan),
      of_b(static_cast<std::size_t>(p.experts * b_group), nan);
  for (i64 i = 0; i < lines; ++i)
    for (i64 q = 0; q < p.k; ++q)
      of_a[static_cast<std::size_t>(i * a_line + q)] = fk::number_cast<T>(small(1, i, q));
  for (i64 e = 0; e < p.experts; ++e)
    for (i64 j = 0; j < p.n; ++j)
      for (i64 q = 0; q < p.k; ++q)
        of_b[static_cast<std::size_t>(e * b_group + (p.across ? q * b_line + j : j * b_line + q))] =
            fk::number_cast<T>(small(2 + e, j, q));
  // Choices by expert, in an order of their own; one place in 11 has no row.
  std::vector<i32> ids;
  for (i64 i = 0; i < all; ++i)
    ids.push_back(static_cast<i32>(!Gathers && !p.reads_places ? i
                                   : i % 11 == 5               ? all + i
                                                               : (i * 37 + 11) % all));
  std::vector<f32> bias, weights, by_a, by_b, by_column;
  const i64 parts = fk::ceil_div(p.k, i64{128}), columns = fk::ceil_div(p.n, i64{128});
  for (i64 e = 0; e < p.experts * p.n; ++e) bias.push_back(small(3, e, 1));
  for (i64 e = 0; e < all; ++e) weights.push_back(power(e));
  for (i64 e = 0; e < lines * parts; ++e) by_a.push_back(power(e));
  for (i64 e = 0; e < p.experts * columns * parts; ++e) by_b.push_back(power(e / 2));
  constexpr bool scales_columns = Columns == fk::column_numbers::scales;
  for (i64 e = 0; e < p.experts * p.n * p.scale_stride; ++e)
    by_column.push_back(e % p.scale_stride == 0 ? power(e / p.scale_stride) : 64.0F);
  const i64 row = p.n * p.out_column + (p.out_column > 1 ? 1 : 4);
  const std::vector<Out> sevens(static_cast<std::size_t>(all * row), fk::number_cast<Out>(7.0F));
  auto a = to_device(of_a), b = to_device(of_b);
  auto out = to_device(sevens);
  const auto own_ids = to_device(ids), ends = to_device(p.ends);
  const auto own_bias = to_device(bias), own_weights = to_device(weights),
             a_scales = to_device(by_a), b_scales = to_device(by_b),
             column_scales = to_device(by_column);
  const auto bytes = [](const auto& x) {
    return static_cast<const u8*>(static_cast<const void*>(x.data()));
  };

  const auto narrow = [](i64 x) { return static_cast<i32>(x); };
  fk::grouped_warp_space<Gathers> space{};
  const i64 groups = static_cast<i64>(p.ends.size());
  space.all.rows = {fk::grouping::rows_to_ends, ends.data(), nullptr, groups, all, 1};
  space.all.placed = {Gathers || p.reads_places ? own_ids.data() : nullptr, all, p.share,
                      p.reads_places, p.writes_places};
  space.all.groups = p.experts;
  space.all.n = p.n;
  space.all.k = p.k;
  space.all.row_tiles = space.all.rows.tiles(Tile::m);
  space.all.column_tiles = fk::ceil_div(p.n, i64{Tile::n} * Tile::cluster);
  space.n = narrow(p.n);
  space.steps = narrow(fk::ceil_div(p.k, terms));
  space.tiles = narrow(space.all.row_tiles * space.all.column_tiles);
  space.b_across = p.across;
  space.vectors = static_cast<u32>(p.k / vector);
  space.a = reinterpret_cast<const fk::vec<u32, 4>*>(a.data());
  space.a_line = a_line / vector;
  space.stores_vectors = p.out_column == 1;
  const auto map_of = [&](T* data, const i64(&sizes)[3], i64 group, i64 line, i64 rows_of_box) {
    const i64 strides[] = {group, line, 1}, box[] = {1, rows_of_box, terms};
    return fg::tensor_map_of(
        s, fg::tensor_view<T, D>(data, fg::int_list(sizes, 3), fg::int_list(strides, 3)), box,
        fg::box_swizzle::pieces_8);
  };
  const fg::tensor_map a_boxes = map_of(a.data(), {1, lines, p.k}, 0, a_line, 64 / Tile::cluster),
                       b_boxes =
                           map_of(b.data(), {p.experts, p.across ? p.k : p.n, p.across ? p.n : p.k},
                                  b_group, b_line, p.across ? terms : Tile::n);
  fk::coded_lines of_rows{}, of_columns{};
  fk::grouped_out<Out> to{out.data(), 0, row, p.out_column, {}, nullptr};
  if (p.has_bias) to.bias = {bytes(own_bias), fk::coding::f32, p.n, 1, 0};
  if (p.has_weights) to.weights = own_weights.data();
  Sums how{};
  if (scales_columns)
    of_columns.scales = {bytes(column_scales), fk::coding::f32, p.n * p.scale_stride,
                         p.scale_stride, 0};
  of_columns.lines_each = static_cast<i32>(p.n);
  if (p.scales_groups) of_columns.scales = {bytes(column_scales), fk::coding::f32, 1, 0, 0};
  space.reads_contiguous = p.scale_stride == 1;
  of_rows.scales_vary = of_columns.scales_vary = has_scales;
  if constexpr (has_scales)
    how = {a_scales.data(), b_scales.data(), parts, 1, parts, 1, 0, columns * parts};
  fg::launch_config config;
  config.op = "grouped warp groups";
  config.tiles = blocks;
  config.cluster = Tile::cluster;
  config.threads = Tile::threads;
  config.scratch = Tile::scratch;
  fg::launch<typename Kernel::type>(s, config, space, a_boxes, b_boxes, of_rows, of_columns, to,
                                    how);

  const auto got = fg::to_host(s, out);
  std::vector<f32> want(sevens.size(), 7);
  i64 place = 0;
  for (i64 g = 0; g < groups; ++g)
    for (; place < p.ends[static_cast<std::size_t>(g)]; ++place) {
      const i64 choice = ids[static_cast<std::size_t>(place)];
      const i64 line = p.reads_places ? place : choice / p.share;
      const i64 to_row = p.writes_places ? place : choice;
      if (choice >= all) continue;
      for (i64 j = 0; j < p.n; ++j) {
        f32 sum = 0;
        for (i64 q = 0; q < p.k && g < p.experts; ++q) {
          f32 by = 1;
          if (has_scales)
            by = power(line * parts + q / 128) *
                 power(((g * columns + j / 128) * parts + q / 128) / 2);
          sum += by * small(1, line, q) * small(2 + g, j, q);
        }
        if (scales_columns && g < p.experts) sum *= power(g * p.n + j);
        if (p.scales_groups && g < p.experts) sum *= power(g);
        if (p.has_bias && g < p.experts) sum += small(3, g * p.n + j, 1);
        if (p.has_weights && g < p.experts) sum *= power(choice);
        want[static_cast<std::size_t>(to_row * row + j * p.out_column)] = sum;
      }
    }
  i64 wrong = 0;
  for (i64 e = 0; e < all * row; ++e) {
    const f32 x = static_cast<f32>(got.data()[e]);
    const f32 y = static_cast<f32>(fk::number_cast<Out>(want[static_cast<std::size_t>(e)]));
    if (x != y && ++wrong < 4)
      what += " row " + std::to_string(e / row) + ", column " + std::to_string(e % row) + ": " +
              std::to_string(x) + " instead of " + std::to_string(y);
  }
  return wrong;
}
template <class T, class Out, class Tile, class Sums = fk::sums_of_unit,
          fk::column_numbers Columns = fk::column_numbers::any, bool Gathers = true>
void check(const problem& p, int blocks = 2) {
  std::string what;
  EXPECT_EQ((wrong_results<T, Out, Tile, Sums, Columns, Gathers,
                           kernel_of<T, Out, Tile, Sums, Columns, Gathers>>(p, what, blocks)),
            0)
      << what;
}

using joint = fk::warp_group_tile<128, 128, 3, 1, false>;
using shared = fk::warp_group_tile<128, 128, 3, 2, false>;
using wide = fk::warp_group_tile<128, 256, 2, 1, false>;

TEST(grouped_warp_groups, rows_of_experts) {
  // A group of two tiles, one of none, and rows of no group behind.
  check<bf16, bf16, joint>({{0, 140, 143, 160}, 3, 2, 136, 200, false, true, true});
  check<bf16, bf16, joint>({{70, 70, 75}, 2, 1, 72, 64, true, false, true, 2}, 1);
  check<bf16, bf16, wide, fk::sums_of_unit, fk::column_numbers::none>(
      {{3, 5}, 2, 1, 264, 328, false, false, false}, 1);
}
TEST(grouped_warp_groups, scales_of_blocks) {
  check<f8e4m3, bf16, joint, fk::sums_of_blocks>(
      {{0, 40, 43, 50}, 3, 2, 264, 272, false, true, true});
  check<f8e4m3, f32, joint, fk::sums_in_f32>({{30, 31}, 1, 1, 45, 400, false, true, true}, 1);
}
// Rows behind each other, by boxes: groups of 0, 1, 63, 64, 65 and more rows that begin anywhere,
// and rows of no group; blocks of a cluster have columns beside each other, also past the end.
TEST(grouped_warp_groups, boxes_of_rows) {
  using enum fk::column_numbers;
  const std::vector<i32> ends{0, 1, 64, 128, 193, 193, 330, 340};
  check<bf16, bf16, joint, fk::sums_of_unit, none, false>({ends, 7, 1, 72, 136});
  check<bf16, bf16, shared, fk::sums_of_unit, any, false>(
      {{5, 140, 143, 160}, 3, 1, 136, 200, false, true, true}, 2);
  check<bf16, f32, shared, fk::sums_of_unit, any, false>({{70, 75}, 2, 1, 264, 64, true}, 1);
  check<f8e4m3, bf16, shared, fk::sums_in_f32, scales, false>({ends, 7, 1, 200, 272}, 1);
  check<f8e4m3, bf16, shared, fk::sums_of_blocks, none, false>({{40, 43, 50}, 2, 1, 272, 272}, 1);
}
// Between the products of experts rows lie in the order of these: written so where lines are
// copied, and read so by boxes, from which they go to rows of their own.
TEST(grouped_warp_groups, order_of_experts) {
  using enum fk::column_numbers;
  check<bf16, bf16, joint, fk::sums_of_unit, any>(
      {{9, 140, 143}, 2, 2, 72, 64, false, true, true, 1, 1, false, false, true});
  check<bf16, bf16, shared, fk::sums_of_unit, none, false>(
      {{9, 140, 143}, 2, 1, 72, 64, false, false, true, 1, 1, false, true}, 1);
  check<f8e4m3, f32, joint, fk::sums_of_blocks, none, false>(
      {{70, 75}, 2, 1, 136, 272, false, false, true, 1, 1, false, true}, 1);
}
TEST(grouped_warp_groups, scales_of_columns) {
  constexpr auto scales = fk::column_numbers::scales;
  check<f8e4m3, bf16, joint, fk::sums_in_f32, scales>(
      {{30, 35}, 1, 1, 200, 400, false, false, true}, 1);
  check<f8e4m3, f32, joint, fk::sums_in_f32, scales>(
      {{3, 5}, 2, 1, 136, 144, false, false, false, 1, 3}, 1);
  check<f8e4m3, bf16, joint, fk::sums_in_f32, fk::column_numbers::none>(
      {{3, 5}, 2, 1, 136, 144, false, false, true, 1, 1, true}, 1);
}
TEST(grouped_warp_groups, mistakes_are_noticed) {
  const problem p{{3, 20}, 2, 1, 72, 200};
  std::string what;
  const auto with = [&]<fault Fault>(std::integral_constant<fault, Fault>) {
    using kernel =
        faulty_kernel<kernel_of<bf16, bf16, joint, fk::sums_of_unit, fk::column_numbers::any, true>,
                      Fault>;
    return has_mistake([&] {
      return wrong_results<bf16, bf16, joint, fk::sums_of_unit, fk::column_numbers::any, true,
                           kernel>(p, what, 1);
    });
  };
  EXPECT_FALSE(with(std::integral_constant<fault, fault::none>{})) << what;
  EXPECT_TRUE(with(std::integral_constant<fault, fault::no_fence>{}));
  EXPECT_TRUE(with(std::integral_constant<fault, fault::no_wait>{}));
  EXPECT_TRUE(with(std::integral_constant<fault, fault::late_copies>{}));
}

// ---- the choice

/// What the report says of launches by warp groups: of all, of those that copy lines and why, and
/// why there is none.
struct {
  int all, copies;
  std::string why_copies, why_none;
} of_groups;
template <class F>
void count_launches(const F& run) {
  of_groups = {};
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    if (e.kernel.find("grouped_warp_product") != e.kernel.npos) of_groups.why_none = e.rejected;
    if (e.kernel.find("gemm_grouped_warp_groups") == e.kernel.npos) return;
    if (e.rejected.empty())
      ++of_groups.all, of_groups.copies += e.kernel.ends_with("true>");
    else
      of_groups.why_copies = e.rejected;
  });
  run();
  fg::set_launch_hook(before);
}

template <class Device>
class groups_of_many_rows : public testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(groups_of_many_rows, devices);

TYPED_TEST(groups_of_many_rows, by_warp_groups_where_aligned) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const auto numbers = [](i64 count, i64 seed) {
    std::vector<double> r;
    for (i64 e = 0; e < count; ++e)
      r.push_back(static_cast<double>((e * 7 + e / 5 + seed) % 5) - 2);
    return r;
  };
  const i64 rows = 140, groups = 2, n = 72, k = 144;
  test_tensor<i32, D> ends({groups}, layout::contiguous, {9, 137});
  const auto end_of = [](i64 g) { return g == 0 ? 9 : 137; };
  const auto sum_of = [&](const auto& a, const auto& b, i64 i, i64 j, const auto& by) {
    const i64 g = i < end_of(0) ? 0 : 1;
    double sum = 0;
    for (i64 q = 0; q < k; ++q)
      sum += a.values()[static_cast<std::size_t>(i * k + q)] *
             b.values()[static_cast<std::size_t>((g * k + q) * n + j)];
    return sum * by(g, i, j);
  };
  const auto compare = [&](const auto& a, const auto& b, const auto& out, const auto& by) {
    std::vector<double> want = out.read();
    for (i64 i = 0; i < end_of(1); ++i)
      for (i64 j = 0; j < n; ++j)
        want[static_cast<std::size_t>(i * n + j)] = static_cast<double>(
            static_cast<f32>(fk::number_cast<bf16>(static_cast<f32>(sum_of(a, b, i, j, by)))));
    expect_equal(out.read(), want);
  };
  const auto check_report = [] {
    if constexpr (fg::detail::has_warp_groups<D>) {
      EXPECT_EQ(of_groups.all, D::warp_group_units(0) > 0 ? 1 : 0);
      EXPECT_EQ(of_groups.copies, 0);
      EXPECT_EQ(of_groups.why_none,
                D::warp_group_units(0) > 0 ? "" : "this device has no warp groups");
    }
  };
  const auto one = [](i64, i64, i64) { return 1.0; };
  {
    test_tensor<bf16, D> a({rows, k}, layout::contiguous, numbers(rows * k, 1)),
        b({groups, k, n}, layout::contiguous, numbers(groups * k * n, 2)), out({rows, n});
    count_launches([&] { fg::grouped_mm(s, a.in(), b.in(), ends.in(), out.view()); });
    compare(a, b, out, one);
    check_report();
  }
  // Columns of the matrices lie along the sum.
  const auto check_lines = [&]<class T>(T) {
    test_tensor<T, D> a({rows, k}, layout::contiguous, numbers(rows * k, 1));
    test_tensor<T, D> lines({groups, n, k}, layout::contiguous, numbers(groups * k * n, 2));
    std::vector<double> turned;
    for (i64 g = 0; g < groups; ++g)
      for (i64 q = 0; q < k; ++q)
        for (i64 j = 0; j < n; ++j)
          turned.push_back(lines.values()[static_cast<std::size_t>((g * n + j) * k + q)]);
    test_tensor<T, D> b({groups, k, n}, layout::contiguous, turned);
    std::vector<double> of_rows, of_columns;
    for (i64 i = 0; i < rows; ++i) of_rows.push_back(static_cast<double>(power(i)));
    for (i64 e = 0; e < groups * n; ++e) of_columns.push_back(static_cast<double>(power(e / 2)));
    test_tensor<f32, D> by_a({rows}, layout::contiguous, of_rows),
        by_b({groups, n}, layout::contiguous, of_columns);
    test_tensor<bf16, D> out({rows, n});
    const auto second = lines.in().transpose(1, 2);
    count_launches([&] {
      if constexpr (std::is_same_v<T, bf16>)
        fg::grouped_mm(s, a.in(), second, ends.in(), out.view());
      else
        fg::scaled_grouped_mm(s, a.in(), second, by_a.in(), by_b.in(), ends.in(), out.view());
    });
    check_report();
    compare(a, b, out, [&](i64 g, i64 i, i64 j) {
      return std::is_same_v<T, bf16> ? 1.0
                                     : of_rows[static_cast<std::size_t>(i)] *
                                           of_columns[static_cast<std::size_t>(g * n + j)];
    });
  };
  check_lines(bf16());
  check_lines(f8e4m3());
  if constexpr (fg::detail::has_warp_groups<D>) {
    const i64 few = fg::tuning<fg::families::gemm, D>::grouped_warp_rows * groups;
    test_tensor<bf16, D> a({few, k}, layout::contiguous, numbers(few * k, 1)),
        b({groups, k, n}, layout::contiguous, numbers(groups * k * n, 2)), out({few, n});
    count_launches([&] { fg::grouped_mm(s, a.in(), b.in(), ends.in(), out.view()); });
    EXPECT_EQ(of_groups.all, 0);
    if (D::warp_group_units(0) > 0) {
      EXPECT_EQ(of_groups.why_none, "its groups have few rows");
    }
  }
}

/// The second product of experts reads boxes; rows of the first one lie anywhere.
TYPED_TEST(groups_of_many_rows, second_products_of_experts) {
  using D = TypeParam;
  if constexpr (fg::detail::has_warp_groups<D>) {
    if (D::warp_group_units(0) == 0) return;
    const auto& s = test_stream<D>();
    const i64 tokens = 100, k = 64, inner = 32;
    const auto numbers = [](i64 count, i64 seed) {
      std::vector<double> r;
      for (i64 e = 0; e < count; ++e)
        r.push_back(static_cast<double>((e * 7 + e / 5 + seed) % 5 - 2) / 4);
      return r;
    };
    std::vector<double> experts;
    for (i64 e = 0; e < tokens; ++e) experts.push_back(static_cast<double>(e % 3 == 0));
    test_tensor<bf16, D> x({tokens, k}, layout::contiguous, numbers(tokens * k, 1)),
        w1({2, 2 * inner, k}, layout::contiguous, numbers(4 * inner * k, 2)),
        w2({2, k, inner}, layout::contiguous, numbers(2 * k * inner, 3)), out({tokens, k});
    test_tensor<f32, D> weights({tokens, 1}, layout::contiguous, std::vector<double>(tokens, 0.5));
    test_tensor<i32, D> ids({tokens, 1}, layout::contiguous, experts);
    count_launches([&] {
      fg::fused_experts_impl(s, x.in(), w1.in(), w2.in(), weights.in(), ids.in(), out.view());
    });
    EXPECT_EQ(of_groups.all, 2);
    EXPECT_EQ(of_groups.copies, 1);
    const auto dot = [](const auto& a, i64 row, const auto& b, i64 line, i64 terms) {
      double sum = 0;
      for (i64 q = 0; q < terms; ++q)
        sum += a[static_cast<std::size_t>(row * terms + q)] *
               b[static_cast<std::size_t>(line * terms + q)];
      return sum;
    };
    const std::vector<double> got = out.read();
    for (i64 t = 0; t < tokens; ++t) {
      const i64 e = t % 3 == 0 ? 1 : 0;
      std::vector<double> between;
      for (i64 i = 0; i < inner; ++i) {
        const double gate = dot(x.values(), t, w1.values(), e * 2 * inner + i, k);
        between.push_back(gate / (1 + std::exp(-gate)) *
                          dot(x.values(), t, w1.values(), (e * 2 + 1) * inner + i, k));
      }
      for (i64 j = 0; j < k; ++j)
        EXPECT_NEAR(got[static_cast<std::size_t>(t * k + j)],
                    dot(between, 0, w2.values(), e * k + j, inner) / 2, 0.25)
            << t << ", " << j;
    }
  }
}

/// Of experts, with scales of blocks: tiles of rows that have one expert.
TYPED_TEST(groups_of_many_rows, experts_of_blocks) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const i64 tokens = 9, n = 136, k = 144, block = 128;
  std::vector<double> rows, codes, sorted, by_rows, by_codes, want;
  for (i64 e = 0; e < tokens * k; ++e) rows.push_back(static_cast<double>(small(1, e / k, e % k)));
  for (i64 e = 0; e < 2 * n * k; ++e) codes.push_back(static_cast<double>(small(2, e / k, e % k)));
  for (i64 e = 0; e < tokens * 2; ++e) by_rows.push_back(static_cast<double>(power(e)));
  for (i64 e = 0; e < 2 * 2 * 2; ++e) by_codes.push_back(static_cast<double>(power(e / 2)));
  // Even tokens have the first expert.
  for (i64 e = 0; e < 2 * block; ++e) {
    const i64 token = 2 * (e % block) + e / block;
    sorted.push_back(static_cast<double>(token < tokens ? token : tokens));
  }
  for (i64 i = 0; i < tokens; ++i)
    for (i64 j = 0; j < n; ++j) {
      const i64 g = i % 2;
      double sum = 0;
      for (i64 q = 0; q < k; ++q)
        sum += rows[static_cast<std::size_t>(i * k + q)] *
               by_rows[static_cast<std::size_t>(i * 2 + q / 128)] *
               codes[static_cast<std::size_t>((g * n + j) * k + q)] *
               by_codes[static_cast<std::size_t>((g * 2 + j / 128) * 2 + q / 128)];
      want.push_back(sum);
    }
  test_tensor<f8e4m3, D> a({tokens, k}, layout::contiguous, rows),
      b({2, n, k}, layout::contiguous, codes);
  test_tensor<f32, D> a_scale({tokens, 2}, layout::contiguous, by_rows),
      b_scale({2, 2, 2}, layout::contiguous, by_codes), out({tokens, 1, n});
  test_tensor<i32, D> ids({2 * block}, layout::contiguous, sorted),
      experts({2}, layout::contiguous, {0, 1}), count({1}, layout::contiguous, {2 * block});
  const std::array<i64, 2> shares{128, 128};
  fg::expert_product_options<D> options;
  options.use_fp8_w8a8 = true;
  options.block_shape = shares;
  count_launches([&] {
    fg::invoke_fused_moe_triton_kernel(s, a.in(), b.in(), out.view(), a_scale.in(), b_scale.in(),
                                       {}, ids.in(), experts.in(), count.in(), false, 1, block,
                                       options);
  });
  expect_equal(out.read(), want);
  if constexpr (fg::detail::has_warp_groups<D>) {
    if (D::warp_group_units(0) == 0) return;
    EXPECT_EQ(of_groups.all, 1);
    EXPECT_EQ(of_groups.copies, 1);
    EXPECT_EQ(of_groups.why_copies, "its rows lie in an order of their own");
  }
}

}  // namespace
}  // namespace flaggems_test
