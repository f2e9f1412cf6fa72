// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products by warp groups, the kernel itself on the emulator: every layout, tile and way out, and
// planted mistakes, each of which the emulator has to notice.
#include <flaggems/launch/tensor_map.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/simt.hpp>
#include <support/ops.hpp>
#include <support/warp_group_faults.hpp>

namespace flaggems_test {
namespace {

namespace fk = fg::kernels;
using fg::f16, fg::f8e4m3, fg::f8e5m2, fg::i32, fg::i8, fg::u32, fg::u8;
using fk::major;

/// A product of integers, which is exact, by a kernel; `m` x `n`, NaN (or 77) around the operands.
template <class T, class Out>
struct problem {
  using C = fk::mma_sum<T>;
  static constexpr i64 padding = fk::vec_size<T>, terms = 128 / sizeof(T);
  i64 batches, m, n, k;
  major of_a, of_b;
  i64 out_row = 0, out_column = 1;  // 0: as many as columns
  C alpha = 2, beta = 0;

  [[nodiscard]] i64 sizes(major of, i64 lines) const {  // of a matrix with padding
    return of == major::along ? lines * (fk::round_up(k, padding) + padding)
                              : k * (fk::round_up(lines, padding) + padding);
  }
  [[nodiscard]] i64 line(major of) const {
    return of == major::along ? fk::round_up(k, padding) + padding : 1;
  }
  [[nodiscard]] i64 along(major of, i64 lines) const {
    return of == major::along ? 1 : fk::round_up(lines, padding) + padding;
  }
};

/// An integer as an element; as a result, modulo 2^32.
template <class T>
T number(f32 x) {
  if constexpr (fk::is_floating<T>)
    return fk::number_cast<T>(x);
  else
    return static_cast<T>(static_cast<i64>(x));
}

f32 value(i64 seed, i64 batch, i64 i, i64 q) {
  return static_cast<f32>((seed + batch * 5 + i * 7 + q * 3 + i * q) % 5 - 2);
}

/// The number of wrong results; some of them are described in `what`.
template <class Tile, class T, class Out, class Kernel, class Sums = fk::sums_of_unit>
i64 wrong_results(const problem<T, Out>& p, int blocks, std::string& what, const Sums& how = {}) {
  using D = fg::simt32;
  using C = fk::mma_sum<T>;
  const auto& s = test_stream<D>();
  // Of u8 there are no numbers below 0.
  const auto value = [](i64 seed, i64 batch, i64 i, i64 q) {
    return flaggems_test::value(seed, batch, i, q) + (std::is_same_v<T, u8> ? 2 : 0);
  };
  const auto matrix = [&](major of, i64 lines, i64 seed) {
    std::vector<T> all(static_cast<std::size_t>(p.batches * p.sizes(of, lines)),
                       number<T>(fk::is_floating<T> ? std::numeric_limits<f32>::quiet_NaN() : 77));
    for (i64 b = 0; b < p.batches; ++b)
      for (i64 i = 0; i < lines; ++i)
        for (i64 q = 0; q < p.k; ++q)
          all[static_cast<std::size_t>(b * p.sizes(of, lines) + i * p.line(of) +
                                       q * p.along(of, lines))] = number<T>(value(seed, b, i, q));
    return fg::from_values<T>(s, std::span<const T>(all), {static_cast<i64>(all.size())});
  };
  auto a = matrix(p.of_a, p.m, 1), b = matrix(p.of_b, p.n, 2);
  const auto map_of = [&](auto& x, major of, i64 lines, i64 rows) {
    const bool is_along = of == major::along;
    const i64 sizes[] = {p.batches, is_along ? lines : p.k, is_along ? p.k : lines};
    const i64 strides[] = {p.sizes(of, lines), is_along ? p.line(of) : p.along(of, lines), 1};
    const i64 box[] = {1, rows, p.terms};
    return fg::tensor_map_of(
        s, fg::tensor_view<T, D>(x.data(), fg::int_list(sizes, 3), fg::int_list(strides, 3)), box,
        fg::box_swizzle::pieces_8);
  };
  const i64 row = p.out_row == 0 ? p.n * p.out_column : p.out_row;
  const std::vector<Out> sevens(static_cast<std::size_t>(p.batches * p.m * row), number<Out>(7.0F));
  auto out = fg::from_values<Out>(s, std::span<const Out>(sevens), {p.batches, p.m, row});
  const auto narrow = [](i64 x) { return static_cast<i32>(x); };
  fk::warp_group_space space{};
  space.m = narrow(p.m);
  space.n = narrow(p.n);
  space.steps = narrow(fk::ceil_div(p.k, p.terms));
  space.row_tiles = narrow(fk::ceil_div(p.m, i64{Tile::m} * Tile::cluster));
  space.column_tiles = narrow(fk::ceil_div(p.n, i64{Tile::n}));
  space.tiles = narrow(p.batches) * space.row_tiles * space.column_tiles;
  space.group = 2;
  space.batches = narrow(p.batches);
  space.a_batched = space.b_batched = 1;
  space.a_across = p.of_a == major::across;
  space.b_across = p.of_b == major::across;
  space.reads_contiguous = p.out_column == 1;
  space.stores_boxes = p.out_column == 1 && row % 8 == 0;
  const fg::tensor_map map_a = map_of(a, p.of_a, p.m, p.of_a == major::along ? Tile::m : 64);
  const fg::tensor_map map_b =
      map_of(b, p.of_b, p.n, (p.of_b == major::along ? Tile::n : 64) / Tile::cluster);
  fg::tensor_map to = map_a;
  if (space.stores_boxes && sizeof(Out) == 2) {
    const i64 sizes[] = {p.batches, p.m, p.n}, strides[] = {p.m * row, row, 1};
    const i64 box[] = {1, 16, Tile::slab};
    to = fg::tensor_map_of(
        s, fg::tensor_view<Out, D>(out.data(), fg::int_list(sizes, 3), fg::int_list(strides, 3)),
        box, static_cast<fg::box_swizzle>(Tile::slab / 8));
  }
  fg::launch_config config;
  config.op = "warp groups";
  config.tiles = blocks;
  config.cluster = Tile::cluster;
  config.threads = Tile::threads;
  config.scratch = Tile::scratch;
  const fk::gemm_out<Out, C> result{out.data(), row, p.out_column, {p.m * row}, p.alpha};
  // What is added is the result itself, in place.
  const fk::gemm_bias<Out, C> bias{out.data(), row, p.out_column, {p.m * row}, p.beta};
  fg::launch<typename Kernel::type>(s, config, space, map_a, map_b, to, result, bias, how);
  const auto got = fg::to_host(s, out);
  i64 wrong = 0;
  for (i64 e = 0; e < p.batches * p.m * row; ++e) {
    const i64 batch = e / (p.m * row), i = e / row % p.m, j = e % row;
    f32 want = 7;
    if (const i64 column = j / p.out_column; j % p.out_column == 0 && column < p.n) {
      want = 7 * static_cast<f32>(p.beta);
      for (i64 q = 0; q < p.k; ++q) {
        f32 by = static_cast<f32>(p.alpha);
        if constexpr (std::is_same_v<Sums, fk::sums_of_blocks>)
          by *= how.a[i * how.a_row + q / 128 * how.a_step] *
                how.b[column / 128 * how.b_row + q / 128 * how.b_step];
        want += by * value(1, batch, i, q) * value(2, batch, column, q);
      }
    }
    const Out x = got.data()[e];
    if (static_cast<f32>(x) != static_cast<f32>(number<Out>(want)) && ++wrong < 4)
      what += " batch " + std::to_string(batch) + ", row " + std::to_string(i) + ", column " +
              std::to_string(j) + ": " + std::to_string(static_cast<f32>(x)) + " instead of " +
              std::to_string(want);
  }
  return wrong;
}

template <class T, class Out, class Tile, class Sums = fk::sums_of_unit>
struct kernel_of {
  using type = fk::gemm_warp_groups<T, Out, fk::gemm_bias<Out, fk::mma_sum<T>>, Tile, Sums>;
};
template <class Tile, class T = bf16, class Out = bf16, class Sums = fk::sums_of_unit>
void check(const problem<T, Out>& p, int blocks = 2, const Sums& how = {}) {
  std::string what;
  EXPECT_EQ((wrong_results<Tile, T, Out, kernel_of<T, Out, Tile, Sums>>(p, blocks, what, how)), 0)
      << what;
}

// Tiles of every kind: two warp groups a tile, one each, clusters; columns by slabs of 64, 32, 16.
using joint = fk::warp_group_tile<128, 128, 3, 1, false>;
using joint_cluster = fk::warp_group_tile<128, 64, 2, 2, false>;
using turns = fk::warp_group_tile<64, 160, 2, 1, true>;
using turns_cluster = fk::warp_group_tile<128, 144, 3, 2, true>;

TEST(warp_groups, layouts) {
  // 300 terms are five steps, more than stages, the last one cut short.
  for (const major a : {major::along, major::across})
    for (const major b : {major::along, major::across}) {
      const problem<bf16, bf16> p{1, 200, 136, 300, a, b};
      check<joint>(p);
      check<turns_cluster>(p, 1);
      check<joint_cluster>(p, 1);
    }
}
TEST(warp_groups, tiles) {
  const problem<f16, f16> p{2, 150, 328, 130, major::along, major::along};
  check<joint, f16, f16>(p, 3);
  check<joint_cluster, f16, f16>(p, 2);
  check<turns, f16, f16>(p, 2);
  check<turns_cluster, f16, f16>(p, 2);
}
TEST(warp_groups, results_of_any_strides) {
  check<joint>(problem<bf16, bf16>{1, 70, 45, 64, major::along, major::across, 45, 1, 1, 0.5F});
  check<turns>(problem<bf16, bf16>{2, 70, 45, 64, major::along, major::across, 96, 2});
  check<joint_cluster, bf16, f32>(
      problem<bf16, f32>{1, 70, 46, 64, major::along, major::across, 46, 1, 1, 3});
  check<turns, f16, f32>(problem<f16, f32>{1, 70, 45, 64, major::along, major::across, 91, 2});
  // Slabs of results, which no box takes, are not fenced before the next tile's products.
  check<joint>(problem<bf16, bf16>{2, 70, 45, 64, major::along, major::along, 96, 2}, 1);
  check<turns>(problem<bf16, bf16>{4, 70, 45, 64, major::along, major::along, 45, 1, 1, 2}, 1);
}
TEST(warp_groups, in_place) {
  check<turns>(problem<bf16, bf16>{1, 130, 200, 64, major::along, major::across, 0, 1, 1, -1});
  check<joint_cluster>(
      problem<bf16, bf16>{2, 130, 72, 64, major::along, major::across, 0, 1, 0.5F, 2});
}
TEST(warp_groups, bytes) {
  constexpr major along = major::along;
  // 300 terms are three steps, the last one cut short.
  check<joint, i8, u32>(problem<i8, u32>{1, 150, 136, 300, along, along, 0, 1, 1});
  check<turns_cluster, i8, u32>(problem<i8, u32>{2, 130, 45, 128, along, along, 91, 2, 3});
  check<joint_cluster, u8, u32>(problem<u8, u32>{1, 70, 72, 200, along, along, 0, 1, 2, 5});
}
TEST(warp_groups, eight_bit_floats) {
  constexpr major along = major::along;
  check<joint, f8e4m3, bf16>(problem<f8e4m3, bf16>{1, 150, 136, 300, along, along});
  check<joint_cluster, f8e5m2, f16>(problem<f8e5m2, f16>{2, 70, 72, 200, along, along});
  check<joint, f8e4m3, f32>(problem<f8e4m3, f32>{1, 150, 136, 300, along, along, 0, 1, 1, 3}, 2,
                            fk::sums_in_f32{});
  check<turns, f8e5m2, bf16>(problem<f8e5m2, bf16>{2, 70, 200, 130, along, along}, 3,
                             fk::sums_in_f32{});
}
TEST(warp_groups, scales_of_blocks) {
  const auto& s = test_stream<fg::simt32>();
  std::vector<f32> of_a, of_b;
  for (int e = 0; e < 150 * 3; ++e) of_a.push_back(static_cast<f32>(1 << e % 4));
  for (int e = 0; e < 3 * 3; ++e) of_b.push_back(static_cast<f32>(1 << e % 5) / 4);
  const auto a = fg::from_values<f32>(s, std::span<const f32>(of_a), {150, 3});
  const auto b = fg::from_values<f32>(s, std::span<const f32>(of_b), {3, 3});
  constexpr major along = major::along;
  const problem<f8e4m3, f32> p{1, 150, 360, 300, along, along, 0, 1, 1};
  const fk::sums_of_blocks scales{a.data(), b.data(), 3, 1, 3, 1};
  check<joint, f8e4m3, f32>(p, 2, scales);
  check<joint_cluster, f8e4m3, f32>(p, 2, scales);
}
TEST(warp_groups, tf32) {
  constexpr major along = major::along;
  check<joint, f32, f32>(problem<f32, f32>{1, 150, 136, 100, along, along, 0, 1, 1, 2});
  check<turns_cluster, f32, f32>(problem<f32, f32>{2, 130, 45, 32, along, along, 91, 2});
}

// ---- the choice

TEST(warp_groups, tiles_by_cost) {
  using numbers = fg::tuning<fg::families::gemm, fg::cuda>;
  constexpr auto& tiles = numbers::warp_group_tiles;
  const auto plan = [&](i64 m, i64 n, i64 k, bool adds = false) {
    return fg::detail::plan_warp_groups(tiles, numbers::warp_group_other_costs, 1, m, n, k,
                                        static_cast<double>(2 * (m + n) * k), adds, 132);
  };
  EXPECT_EQ(tiles[plan(4096, 576, 7168).tile].n, 144);
  EXPECT_EQ(tiles[plan(4096, 4096, 4096).tile].n, 256);
  EXPECT_EQ(plan(4096, 4096, 4096).parts, 1);
  EXPECT_GT(plan(128, 576, 7168).parts, 1);
  EXPECT_EQ(plan(128, 576, 100).parts, 1);
  EXPECT_TRUE(tiles[plan(8192, 8192, 512).tile].is_plain);
  EXPECT_FALSE(tiles[plan(8192, 8192, 512, true).tile].is_plain);
  // Windows of 32 images of 64 channels, whose filters are the same.
  const auto of_windows = fg::detail::plan_warp_groups(tiles, numbers::warp_group_other_costs, 32,
                                                       64, 3191, 576, 14e6, false, 132);
  EXPECT_EQ(tiles[of_windows.tile].m, 64);
  EXPECT_EQ(tiles[of_windows.tile].n, 128);
}

int launches_of_warp_groups = 0;

template <class Device>
class products_of_many_rows : public testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(products_of_many_rows, devices);

/// alpha a b + beta out, in place, of `batches` matrices; b is the same for all if `shared`.
template <class D>
void check_product(i64 batches, i64 m, i64 n, i64 k, bool a_across, bool b_across, bool shared,
                   double beta) {
  SCOPED_TRACE(fg::to_string(shape{batches, m, n, k, a_across, b_across, shared}));
  const auto& s = test_stream<D>();
  const auto matrices = [&](i64 count, i64 rows, i64 columns, i64 seed, bool turned) {
    std::vector<bf16> all;
    for (i64 b = 0; b < count; ++b)
      for (i64 i = 0; i < rows; ++i)
        for (i64 j = 0; j < columns; ++j)
          all.push_back(
              fk::number_cast<bf16>(turned ? value(seed, b, j, i) : value(seed, b, i, j)));
    return fg::from_values<bf16>(s, std::span<const bf16>(all), {count, rows, columns});
  };
  const i64 of_b = shared ? 1 : batches;
  const auto a = a_across ? matrices(batches, k, m, 1, true) : matrices(batches, m, k, 1, false);
  const auto b = b_across ? matrices(of_b, k, n, 2, true) : matrices(of_b, n, k, 2, false);
  auto out = matrices(batches, m, n, 3, false);
  const auto left = a_across ? a.view().permute({0, 2, 1}) : a.view();
  const auto right = (b_across ? b.view() : b.view().permute({0, 2, 1})).expand({batches, k, n});
  fg::gemm_scalars<bf16> scalars;
  scalars.beta = beta;
  scalars.alpha = 2;
  if (beta == 0)
    fg::bmm(s, left, right, out.view());
  else
    fg::baddbmm(s, out.view(), left, right, out.view(), scalars);
  const auto got = fg::to_host(s, out);
  i64 wrong = 0;
  for (i64 e = 0; e < batches * m * n; ++e) {
    const i64 batch = e / (m * n), i = e / n % m, j = e % n;
    f32 want = 0;
    for (i64 q = 0; q < k; ++q) want += value(1, batch, i, q) * value(2, shared ? 0 : batch, j, q);
    if (beta != 0) want = 2 * want + static_cast<f32>(beta) * value(3, batch, i, j);
    wrong += static_cast<f32>(got.data()[e]) != static_cast<f32>(fk::number_cast<bf16>(want));
  }
  EXPECT_EQ(wrong, 0);
}
TYPED_TEST(products_of_many_rows, by_warp_groups_where_aligned) {
  using D = TypeParam;
  launches_of_warp_groups = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    launches_of_warp_groups += e.kernel.find("gemm_warp_groups") != e.kernel.npos;
  });
  for (const bool a : {false, true})
    for (const bool b : {false, true}) check_product<D>(1, 72, 40, 136, a, b, false, 0);
  check_product<D>(2, 40, 72, 200, false, true, true, 0);
  check_product<D>(1, 40, 40, 4104, false, true, false, 3);  // in parts
  check_product<D>(2, 136, 264, 72, false, false, false, 3);
  check_product<D>(1, 136, 99, 72, false, false, false, 1);  // rows of no whole vectors
  fg::set_launch_hook(before);
  if constexpr (fg::detail::has_warp_groups<D>) {
    EXPECT_GE(launches_of_warp_groups, D::warp_group_units(0) > 0 ? 8 : 0);
  }
}

TYPED_TEST(products_of_many_rows, f32_as_tf32_where_allowed) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  launches_of_warp_groups = 0;
  const auto before = fg::set_launch_hook([](const fg::launch_event& e) {
    launches_of_warp_groups += e.kernel.find("gemm_warp_groups") != e.kernel.npos;
  });
  const auto product = [&](const auto& on, i64 m, i64 n, i64 k, layout of_a, f32 low) {
    std::vector<double> of_a_values, of_b_values, want;
    for (i64 e = 0; e < m * k; ++e) of_a_values.push_back(value(1, 0, e / k, e % k) + low);
    for (i64 e = 0; e < n * k; ++e) of_b_values.push_back(value(2, 0, e / k, e % k));
    for (i64 e = 0; e < m * n; ++e) {
      double sum = 0;
      for (i64 q = 0; q < k; ++q)
        sum += of_a_values[static_cast<std::size_t>(e / n * k + q)] *
               of_b_values[static_cast<std::size_t>(e % n * k + q)];
      want.push_back(sum);
    }
    test_tensor<f32, D> a({m, k}, of_a, of_a_values), b({n, k}, layout::contiguous, of_b_values);
    return values_of(fg::linear(on, a.in(), b.in())) == want;
  };
  // Integers, and of some of them bits that tf32 does not hold.
  const f32 more = 1 + 0x1p-12F;
  EXPECT_TRUE(product(s, 72, 40, 100, layout::contiguous, 0));
  EXPECT_TRUE(product(s, 72, 40, 100, layout::contiguous, more));
  EXPECT_EQ(launches_of_warp_groups, 0);
  const auto on = fg::allow_tf32(s);
  EXPECT_TRUE(product(on, 72, 40, 100, layout::contiguous, 0));
  EXPECT_TRUE(product(on, 264, 200, 196, layout::transposed, 0));  // copied first
  EXPECT_TRUE(product(on, 24, 40, 33, layout::contiguous, 0));
  fg::set_launch_hook(before);
  if constexpr (fg::detail::has_warp_groups<D>)
    if (D::warp_group_units(0) > 0) {
      EXPECT_EQ(launches_of_warp_groups, 2);
      EXPECT_FALSE(product(on, 72, 40, 100, layout::contiguous, more));
    }
}

// ---- planted mistakes: one of a warp group's operations goes wrong

template <fault Fault, class Tile>
bool is_noticed() {
  constexpr major along = major::along;
  using kernel = faulty_kernel<kernel_of<bf16, bf16, Tile>, Fault>;
  const problem<bf16, bf16> p{1, 130, 200, 300, along, along};
  std::string what;
  return has_mistake([&] { return wrong_results<Tile, bf16, bf16, kernel>(p, 1, what); });
}
TEST(warp_groups, mistakes_are_noticed) {
  EXPECT_FALSE((is_noticed<fault::none, turns>()));
  EXPECT_FALSE((is_noticed<fault::none, joint_cluster>()));
  EXPECT_TRUE((is_noticed<fault::late_products, joint_cluster>()));
  EXPECT_TRUE((is_noticed<fault::late_products, turns>()));
  EXPECT_TRUE((is_noticed<fault::wrong_phase, joint_cluster>()));
  EXPECT_TRUE((is_noticed<fault::no_wait, joint_cluster>()));
  EXPECT_TRUE((is_noticed<fault::few_bytes, joint_cluster>()));
  EXPECT_TRUE((is_noticed<fault::wrong_descriptor, turns>()));
  EXPECT_TRUE((is_noticed<fault::no_fence, turns>()));
  EXPECT_TRUE((is_noticed<fault::no_warp_barrier, turns>()));
  EXPECT_TRUE((is_noticed<fault::early_slab, turns>()));
}

enum class fenced { all, all_that_products_read, not_the_last };

/// One warp group writes operands, and behind them what is no operand; the other multiplies them.
template <fenced What>
struct product_of_writes {
  static constexpr int max_threads = 256, min_blocks = 1, scratch = 3 * 64 * 128;
  template <class Block>
  static void run(Block& block) {
    constexpr major along = major::along;
    const fk::warp_group_unit<typename Block::machine_type> unit(block.machine());
    const u32 base = unit.address(block.template scratch<fg::u64>(scratch / 8));
    const u32 thread = static_cast<u32>(block.thread());
    if (thread >= 128) {
      const auto write = [&](u32 first, u32 end) {
        for (u32 i = first + thread - 128; i < end; i += 128) unit.write(base + 16 * i, {});
      };
      write(0, 1024 - 128);
      if (What == fenced::not_the_last) unit.fence_writes();
      write(1024 - 128, 1024);
      if (What == fenced::all_that_products_read) unit.fence_writes();
      write(1024, 1536);
      if (What == fenced::all) unit.fence_writes();
    }
    block.sync();
    if (thread >= 128) return;
    f32 sums[32];
    unit.begin();
    for (u32 q = 0; q < 4; ++q)
      unit.template multiply<bf16, along, along>(
          sums, fk::matrix_descriptor<along>(base + 32 * q),
          fk::matrix_descriptor<along>(base + 64 * 128 + 32 * q), q > 0 ? 1 : 0);
    unit.commit();
    unit.template await<0>();
  }
};
template <fenced What>
void multiply_writes() {
  using kernel = product_of_writes<What>;
  fk::run_emulated_clusters<32, kernel>("writes", 1, 1, kernel::max_threads, kernel::scratch);
}
TEST(warp_groups, products_of_what_is_fenced) {
  multiply_writes<fenced::all>();
  multiply_writes<fenced::all_that_products_read>();
  const fg::error missing = error_of([] { multiply_writes<fenced::not_the_last>(); });
  EXPECT_EQ(missing.expected(), "a fence between a write and products") << missing.what();
}

}  // namespace
}  // namespace flaggems_test
