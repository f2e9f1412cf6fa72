// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products on AMD's matrix units: their instructions modelled on the emulator, with waves of 64
// lanes (MFMA) and of 32 (WMMA). Sums of small integers, which are exact, through the public
// operators; the tiles of the vendor's list; planted mistakes, each of which has to be noticed.
// FLAGGEMS_TEST_PRODUCTS is as in gemm_exact.cpp, of which these take a 1,250th part each. All is
// of chips (ops_on_chips).
#include <flaggems/kernel/block/simt/matrix_units.hpp>
#include <flaggems/ops/gemm_epilogue.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/vendors/hip.hpp>
#include <support/gemm.hpp>
#include <support/unit_devices.hpp>

#include <cstdlib>
#include <random>
#include <string>
#include <utility>

#if FLAGGEMS_TEST_CHIPS

namespace flaggems_test {
namespace {

namespace fk = fg::kernels;
using fg::f16, fg::i32, fg::i8, fg::u8;
using fk::major;

/// What products were launched.
struct launches {
  int tiles = 0, others = 0;
  std::string rejected;
};
launches seen;
class launch_watch {
 public:
  launch_watch()
      : before_(fg::set_launch_hook([](const fg::launch_event& e) {
          const bool is_tiles = e.kernel.find("gemm_tiles") != std::string_view::npos;
          if (!e.rejected.empty())
            seen.rejected = e.rejected;
          else if (e.kernel.find("gemm_") != std::string_view::npos)
            ++(is_tiles ? seen.tiles : seen.others);
        })) {
    seen = {};
  }
  ~launch_watch() { fg::set_launch_hook(before_); }
  launch_watch(const launch_watch&) = delete;
  launch_watch& operator=(const launch_watch&) = delete;

 private:
  fg::launch_hook before_;
};

template <class T>
std::vector<double> integers(const shape& sizes, std::mt19937& random) {
  std::vector<double> values(index(sizes.numel()));
  for (double& x : values) x = (std::is_same_v<T, u8> ? 0 : -3) + static_cast<int>(random() % 7);
  return values;
}
/// As the result is rounded: once from the sum to f32, and to Out.
template <class Out>
double rounded(double x) {
  if constexpr (fk::is_floating<Out> && sizeof(Out) <= 4)
    return fk::number_cast<f64>(fk::number_cast<Out>(fk::number_cast<f32>(x)));
  else
    return x;
}
template <class Out>
void expect_exact(const std::vector<double>& got, const std::vector<double>& want, i64 columns) {
  i64 wrong = 0, first = -1;
  for (std::size_t e = 0; e < got.size(); ++e)
    if (got[e] != rounded<Out>(want[e])) {
      if (first < 0) first = static_cast<i64>(e);
      ++wrong;
    }
  ASSERT_EQ(wrong, 0) << "the first at row " << first / columns << ", column " << first % columns
                      << ": " << got[index(first)] << ", expected " << want[index(first)];
}

/// mm of operands that lie along the sum or across it, of whole vectors or not.
template <class D, class T, class Out>
void check_mm(i64 m, i64 n, i64 k, bool a_along, bool b_along, std::mt19937& random) {
  SCOPED_TRACE(fg::to_string(shape{m, n, k}) + (a_along ? " along" : " across") +
               (b_along ? " along" : " across"));
  const layout how[] = {layout::transposed, layout::contiguous};
  test_tensor<T, D> a({m, k}, how[a_along], integers<T>({m, k}, random));
  test_tensor<T, D> w({n, k}, how[b_along], integers<T>({n, k}, random));
  test_tensor<Out, D> out({m, n}, layout::contiguous);
  fg::mm(test_stream<D>(), a.in(), w.in().t(), out.view());
  expect_exact<Out>(out.read(), sums_of(a.values(), w.values(), m, n, k), n);
  ASSERT_TRUE(out.gaps_untouched());
}

template <class Case>
class gemm_units : public ::testing::Test {};
template <class D, class T, class Out>
struct unit_case {
  using device = D;
  using type = T;
  using result = Out;
};
using unit_cases =
    ::testing::Types<unit_case<fg::simt64, bf16, f32>, unit_case<fg::simt64, f64, f64>,
                     unit_case<fg::simt64, i8, i32>, unit_case<wmma_chip, bf16, bf16>,
                     unit_case<wmma_chip, u8, i32>>;
TYPED_TEST_SUITE(gemm_units, unit_cases);

TYPED_TEST(gemm_units, exact) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  using Out = typename TypeParam::result;
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<i64>(random() % static_cast<unsigned>(n)); };
  constexpr i64 vector = fk::vec_size<T>;
  const char* const products = std::getenv("FLAGGEMS_TEST_PRODUCTS");
  const i64 turns = (products == nullptr ? 5000 : std::strtoll(products, nullptr, 10)) / 1250;
  for (i64 turn = 0; turn < turns && !::testing::Test::HasFatalFailure(); ++turn) {
    // Of some types units take operands along the sum alone without a copy.
    const bool both = !fg::detail::is_multiplied_along<T>;
    const bool a_along = !both || turn % 2 == 0, b_along = !both || turn / 2 % 2 == 0;
    const i64 m = 17 + below(70), n = 17 + below(70), k = 1 + below(200);
    const auto whole = [&](i64 x) { return fk::round_up(x, vector); };
    launch_watch watch;
    check_mm<D, T, Out>(a_along ? m : whole(m), b_along ? n : whole(n),
                        a_along || b_along ? whole(k) : k, a_along, b_along, random);
    EXPECT_EQ(seen.tiles, 1);
    EXPECT_EQ(seen.others, seen.tiles > 1 ? 1 : 0);
  }
  // Parts of a long sum, which a second launch adds up; what is no whole vector, by other kernels.
  launch_watch watch;
  check_mm<D, T, Out>(20, 24, 1600, true, true, random);
  EXPECT_EQ(seen.tiles, 1);
  EXPECT_EQ(seen.others, 1);
  check_mm<D, T, Out>(19, 23, 37, true, false, random);
  EXPECT_EQ(seen.tiles, 1);
  // So large that operands are copied to whole vectors first.
  if constexpr (std::is_same_v<T, bf16>) {
    check_mm<D, T, Out>(131, 257, 301, false, true, random);
    EXPECT_EQ(seen.tiles, 2);
  }
}

TEST(gemm_unit_forms, epilogues_and_batches) {
  using D = fg::simt64;
  const auto& s = test_stream<D>();
  std::mt19937 random(2);
  const i64 batch = 3, m = 41, n = 56, k = 72;
  test_tensor<bf16, D> a({batch, m, k}, layout::contiguous, integers<bf16>({batch, m, k}, random));
  test_tensor<bf16, D> w({batch, n, k}, layout::contiguous, integers<bf16>({batch, n, k}, random));
  test_tensor<bf16, D> bias({n}, layout::contiguous, integers<bf16>({n}, random));
  test_tensor<bf16, D> residual({m, n}, layout::strided, integers<bf16>({m, n}, random));
  const auto part = [&](const std::vector<double>& all, i64 b) {
    const auto size = static_cast<std::ptrdiff_t>(all.size() / index(batch));
    return std::vector<double>(all.begin() + b * size, all.begin() + (b + 1) * size);
  };
  launch_watch watch;
  {
    test_tensor<f32, D> out({batch, m, n}, layout::contiguous);
    fg::bmm(s, a.in(), w.in().transpose(1, 2), out.view());
    for (i64 b = 0; b < batch; ++b)
      expect_exact<f32>(part(out.read(), b),
                        sums_of(part(a.values(), b), part(w.values(), b), m, n, k), n);
  }
  const auto a0 = a.in().select(0, 1), w0 = w.in().select(0, 1);
  const auto want = sums_of(part(a.values(), 1), part(w.values(), 1), m, n, k);
  for (const layout to : {layout::contiguous, layout::transposed}) {
    test_tensor<bf16, D> out({m, n}, to);
    fg::linear(s, a0, w0, bias.in(), out.view());
    std::vector<double> sums = want;
    for (std::size_t e = 0; e < sums.size(); ++e) sums[e] += bias.values()[e % index(n)];
    expect_exact<bf16>(out.read(), sums, n);
    fg::linear(s, a0, w0, out.view(), fg::epilogue(fg::product * 2 + bias.in() + residual.in()));
    for (std::size_t e = 0; e < sums.size(); ++e)
      sums[e] = 2 * want[e] + bias.values()[e % index(n)] + residual.values()[e];
    expect_exact<bf16>(out.read(), sums, n);
  }
  EXPECT_EQ(seen.tiles, 5);
  EXPECT_EQ(seen.others, 0);
}

TEST(gemm_units_dispatch, device_without_units_says_so) {
  std::mt19937 random(3);
  launch_watch watch;
  check_mm<chip_without_units, bf16, f32>(40, 48, 64, true, true, random);
  EXPECT_EQ(seen.tiles, 0);
  EXPECT_EQ(seen.others, 1);
  EXPECT_EQ(seen.rejected, "this device has no such matrix units");
}

/// The number of wrong results of a kernel's tile: a * w^T + 0 of integers, on the emulator.
template <class Unit, class T, class Tile, major A, major B, bool Checked = false>
i64 wrong_results(i64 m, i64 n, i64 k) {
  using C = fk::mma_sum<T>;
  using kernel = fk::gemm_tiles<T, C, fk::no_bias, Tile, A, B, Unit>;
  std::mt19937 random(4);
  const std::vector<double> a = integers<T>({m, k}, random), w = integers<T>({n, k}, random);
  const auto laid = [&](const std::vector<double>& from, i64 lines, major how) {
    std::vector<T> to(from.size() + 16);
    for (i64 i = 0; i < lines; ++i)
      for (i64 q = 0; q < k; ++q)
        to[index(how == major::along ? i * k + q : q * lines + i)] =
            fk::number_cast<T>(from[index(i * k + q)]);
    return to;
  };
  alignas(16) static std::vector<T> of_a, of_w;
  of_a = laid(a, m, A), of_w = laid(w, n, B);
  std::vector<C> out(index(m * n));
  const auto operand = [&](const T* data, i64 lines, major how) {
    fk::gemm_arg<T> x{};
    x.data = data;
    x.line = how == major::along ? k : 1;
    x.along = how == major::along ? 1 : lines;
    return x;
  };
  fk::gemm_space space{};
  space.m = m, space.n = n, space.k = k;
  space.batches = 1, space.rank = 0;
  space.tile_rows = Tile::rows, space.tile_columns = Tile::columns;
  space.row_tiles = fk::ceil_div(m, i64{Tile::rows});
  space.column_tiles = fk::ceil_div(n, i64{Tile::columns});
  space.group = 1;
  fk::gemm_out<C, C> to{};
  to.data = out.data();
  to.row = n, to.column = 1;
  to.alpha = 1;
  fk::run_emulated<Unit::lanes, kernel>("mm", 2, Tile::threads, kernel::most_scratch, space,
                                        operand(of_a.data(), m, A), operand(of_w.data(), n, B), to,
                                        fk::no_bias{}, fk::sum_parts<C>{1, k, nullptr});
  const std::vector<double> want = sums_of(a, w, m, n, k);
  i64 wrong = 0;
  for (std::size_t e = 0; e < want.size(); ++e)
    wrong += static_cast<C>(static_cast<i64>(want[e])) != out[e];
  return wrong;
}

/// Every tile of a device's list, over an edge of it.
template <class D, class T, major A, major B>
void check_tiles() {
  using numbers = fg::tuning<fg::families::gemm, D>;
  using unit = fg::detail::matrix_unit_of<D, T>;
  const auto check = [](auto index) {
    constexpr fg::gemm_tile t = numbers::tiles[index];
    using tile = fk::mma_tile<t.rows, t.columns, t.depth, t.stages, t.warp_rows, t.warp_columns,
                              t.blocks, unit::lanes>;
    SCOPED_TRACE(std::to_string(t.rows) + "x" + std::to_string(t.columns));
    EXPECT_EQ((wrong_results<unit, T, tile, A, B>(t.rows - 8, t.columns + 8, 72)), 0);
  };
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (check(std::integral_constant<std::size_t, K>{}), ...);
  }
  (std::make_index_sequence<std::size(numbers::tiles)>{});
}
TEST(gemm_unit_tiles, cdna) {
  check_tiles<fg::hip, bf16, major::along, major::across>();
  check_tiles<fg::hip, f64, major::across, major::along>();
}
TEST(gemm_unit_tiles, rdna) { check_tiles<fg::hip32, f16, major::along, major::across>(); }

// Planted mistakes.
template <class Unit>
struct lines_of_lanes_swapped : Unit {
  static int line(int lane) { return Unit::line(lane < 2 ? lane ^ 1 : lane); }
};
template <class Unit>
struct terms_of_lanes_swapped : Unit {
  static int byte(int lane) { return Unit::byte(lane == 3 || lane == 19 ? lane ^ 16 : lane); }
};
template <class Unit>
struct copy_missing : Unit {
  static int line(int lane) { return lane == 17 ? 0 : Unit::line(lane); }
};
template <class Unit>
struct rows_of_lanes_swapped : Unit {
  static int row(int lane) { return Unit::row(lane == 20 ? 21 : lane == 21 ? 20 : lane); }
};
template <class Unit>
struct columns_shifted : Unit {
  static int column(int lane) { return Unit::column(lane ^ 16); }
};

template <class Unit, class T>
i64 wrong_of() {
  using tile = fk::mma_tile<64, 64, 32, 2, 2, 2, 1, Unit::lanes>;
  return wrong_results<Unit, T, tile, major::along, major::along>(64, 64, 64);
}
TEST(gemm_unit_tiles, of_other_types) {
  EXPECT_EQ((wrong_of<fk::mfma_unit<f16>, f16>()), 0);
  EXPECT_EQ((wrong_of<fk::mfma_unit<f32>, f32>()), 0);
  EXPECT_EQ((wrong_of<fk::wmma_unit<f16>, f16>()), 0);
  EXPECT_EQ((wrong_of<fk::wmma_unit<i8>, i8>()), 0);
}
TEST(gemm_unit_faults, found) {
  using mfma = fk::mfma_unit<bf16>;
  using wmma = fk::wmma_unit<bf16>;
  EXPECT_EQ((wrong_of<mfma, bf16>()), 0);
  EXPECT_EQ((wrong_of<wmma, bf16>()), 0);
  EXPECT_GT((wrong_of<lines_of_lanes_swapped<mfma>, bf16>()), 0);
  EXPECT_GT((wrong_of<terms_of_lanes_swapped<mfma>, bf16>()), 0);
  EXPECT_GT((wrong_of<rows_of_lanes_swapped<mfma>, bf16>()), 0);
  EXPECT_GT((wrong_of<columns_shifted<mfma>, bf16>()), 0);
  EXPECT_GT((wrong_of<lines_of_lanes_swapped<wmma>, bf16>()), 0);
  EXPECT_GT((wrong_of<copy_missing<wmma>, bf16>()), 0);
  EXPECT_GT((wrong_of<columns_shifted<wmma>, bf16>()), 0);
}

}  // namespace
}  // namespace flaggems_test

#endif
