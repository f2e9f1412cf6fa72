// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/scan.hpp>
#include <support/ops.hpp>

#include <functional>

namespace flaggems_test {
namespace {

/// A scan in double: fold(state, x, place) changes the state; `places` where that is from.
struct scanned {
  std::vector<double> values, places;
};
template <class Join>
scanned reference(const std::vector<double>& x, const shape& sizes, int dim, const Join& join) {
  scanned r{x, std::vector<double>(x.size())};
  i64 inner = 1;
  for (int d = dim + 1; d < sizes.rank(); ++d) inner *= sizes[d];
  const i64 n = sizes[dim], all = sizes.numel();
  for (i64 k = 0; k < all; ++k) {
    const i64 i = k / inner % n;
    if (i == 0) continue;
    const auto at = static_cast<std::size_t>(k), before = static_cast<std::size_t>(k - inner);
    r.places[at] = r.places[before];
    r.values[at] = join(r.values[before], x[at], static_cast<double>(i), r.places[at]);
  }
  return r;
}

const auto add = [](double a, double b, double, double&) { return a + b; };
const auto multiply = [](double a, double b, double, double&) { return a * b; };
const auto add_exponentials = [](double a, double b, double, double&) {
  const double most = std::max(a, b);
  return std::isinf(most) ? most : most + std::log(std::exp(a - most) + std::exp(b - most));
};
template <bool Max>
double later(double a, double b, double i, double& place) {
  if (std::isnan(b) || (!std::isnan(a) && (Max ? b >= a : b <= a))) return place = i, b;
  return a;
}

template <class D, class T, class F, class Join>
void check_sums(const F& scan, const Join& join, const shape& sizes, int dim, layout in, layout to,
                double low = -2, double high = 2) {
  SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to) + ", sizes " +
               fg::to_string(sizes) + ", dim " + std::to_string(dim));
  test_tensor<T, D> x(sizes, in, random_values(sizes, low, high)), out(sizes, to);
  scan(x.in(), out.view(), dim - sizes.rank());
  expect_close<T>(out.read(), reference(x.values(), sizes, dim, join).values, tolerance_of<T>());
  EXPECT_TRUE(out.gaps_untouched());
  EXPECT_TRUE(x.untouched());
}

template <class D, class T, class F, class Join>
void check_extremes(const F& scan, const Join& join, const shape& sizes, int dim, layout in,
                    layout to) {
  SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to) + ", dim " +
               std::to_string(dim));
  auto values = random_integers(sizes, -3, 3);  // with ties
  for (std::size_t k = 5; k < values.size(); k += 23) values[k] = std::nan("");
  test_tensor<T, D> x(sizes, in, values), out(sizes, to);
  test_tensor<i64, D> places(sizes, to);
  scan(x.in(), out.view(), places.view(), dim);
  const auto want = reference(x.values(), sizes, dim, join);
  expect_equal(out.read(), want.values);
  expect_equal(places.read(), want.places);
  EXPECT_TRUE(out.gaps_untouched() && places.gaps_untouched());
}

/// Rows with few new extremes, with one at each element, and with a NaN in between.
template <class D, class T>
void check_rare_extremes() {
  const auto& s = test_stream<D>();
  constexpr i64 n = 150;
  std::vector<double> values;
  for (int row = 0; row < 3; ++row)
    for (i64 i = 0; i < n; ++i)
      values.push_back(row == 0 ? static_cast<double>(-(i * 7 % 60)) : static_cast<double>(i) / 4);
  if constexpr (!fg::kernels::is_integer<T>) values[2 * n + 70] = std::nan("");
  const shape sizes{3, n};
  test_tensor<T, D> x(sizes, layout::contiguous, values);
  const auto highest = fg::cummax(s, x.in(), 1), lowest = fg::cummin(s, x.in(), 1);
  const auto high = reference(x.values(), sizes, 1, later<true>),
             low = reference(x.values(), sizes, 1, later<false>);
  expect_equal(values_of(highest.values), high.values);
  expect_equal(values_of(highest.indices), high.places);
  expect_equal(values_of(lowest.values), low.values);
  expect_equal(values_of(lowest.indices), low.places);
}

template <class Device>
class scans : public ::testing::Test {};
TYPED_TEST_SUITE(scans, all_devices);

TYPED_TEST(scans, layouts) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const auto cumsum = [&](auto x, auto out, i64 dim) { fg::cumsum(s, x, out, dim); };
  const auto cumprod = [&](auto x, auto out, i64 dim) { fg::cumprod(s, x, out, dim); };
  const auto logs = [&](auto x, auto out, i64 dim) { fg::logcumsumexp(s, x, out, dim); };
  const auto cummax = [&](auto x, auto v, auto i, i64 dim) { fg::cummax(s, x, v, i, dim); };
  const auto cummin = [&](auto x, auto v, auto i, i64 dim) { fg::cummin(s, x, v, i, dim); };
  at_every_level<D>([&] {
    for (const layout in : input_layouts)
      for (const layout to : {layout::contiguous, layout::negative})
        for (const int dim : {0, 1, 2}) {
          const shape sizes{3, 11, 9};
          check_sums<D, f32>(cumsum, add, sizes, dim, in, to);
          check_extremes<D, f32>(cummax, later<true>, sizes, dim, in, to);
        }
    for (const int dim : {0, 1}) {
      const shape sizes{5, 300};
      check_sums<D, f32>(cumprod, multiply, sizes, dim, layout::strided, layout::transposed, 0.9,
                         1.1);
      check_sums<D, f32>(logs, add_exponentials, sizes, dim, layout::contiguous, layout::offset);
      check_extremes<D, f32>(cummin, later<false>, sizes, dim, layout::offset, layout::strided);
    }
  });
}

// Rows beside each other, in whole vectors and a rest.
TYPED_TEST(scans, neighbours) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const auto cumsum = [&](auto x, auto out, i64 dim) { fg::cumsum(s, x, out, dim); };
  const auto cumprod = [&](auto x, auto out, i64 dim) { fg::cumprod(s, x, out, dim); };
  at_every_level<D>([&] {
    for (const layout in : {layout::contiguous, layout::broadcast})
      for (const layout to : {layout::contiguous, layout::offset, layout::strided}) {
        check_sums<D, f32>(cumsum, add, {7, 149}, 0, in, to);
        check_sums<D, bf16>(cumsum, add, {2, 5, 21}, 1, in, to);
      }
    check_sums<D, f64>(cumprod, multiply, {6, 77}, 0, layout::contiguous, layout::contiguous, 0.9,
                       1.1);
    const shape sizes{5, 35};
    test_tensor<fg::u8, D> bytes(sizes, layout::contiguous, random_integers(sizes, 0, 255));
    expect_equal(values_of(fg::cumsum(s, bytes.in(), 0)),
                 reference(bytes.values(), sizes, 0, add).values);
  });
}

TYPED_TEST(scans, rare_extremes) {
  using D = TypeParam;
  at_every_level<D>([&] {
    check_rare_extremes<D, f32>();
    check_rare_extremes<D, bf16>();
    check_rare_extremes<D, fg::i16>();
  });
}

// Rows that are cut into chunks, alone and beside each other.
TYPED_TEST(scans, long_rows) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const auto cummax = [&](auto x, auto v, auto i, i64 dim) { fg::cummax_helper(s, x, v, i, dim); };
  check_extremes<D, f32>(cummax, later<true>, {70001}, 0, layout::contiguous, layout::contiguous);
  const shape sizes{66000, 9};
  test_tensor<bool, D> x(sizes, layout::contiguous, random_integers(sizes, 0, 1));
  expect_equal(values_of(fg::cumsum(s, x.in(), 0)), reference(x.values(), sizes, 0, add).values);
}

/// Exact sums of integers along rows of n, which GPUs read once in tiles.
template <class D, class T, class Result>
void check_tiles(i64 rows, i64 n, layout in, layout to) {
  SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to) + ", " + std::to_string(rows) +
               " rows of " + std::to_string(n));
  const shape sizes{rows, n};
  test_tensor<T, D> x(sizes, in, random_integers(sizes, 0, 1));
  test_tensor<Result, D> out(sizes, to);
  fg::cumsum(test_stream<D>(), x.in(), out.view(), 1);
  expect_equal(out.read(), reference(x.values(), sizes, 1, add).values);
  EXPECT_TRUE(out.gaps_untouched());
}

// A tile of f32 has 8192 elements, of i64 2048, of extremes of f64 1024; 255 tiles are a group.
TYPED_TEST(scans, tiles_of_long_rows) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const i64 n : {16384, 16385, 24575, 24576, 24577})
    check_tiles<D, f32, f32>(1, n, layout::contiguous, layout::contiguous);
  check_tiles<D, f32, f32>(3, 17001, layout::contiguous, layout::contiguous);
  check_tiles<D, f32, f32>(2, 16388, layout::negative, layout::strided);
  check_tiles<D, f32, f32>(2, 16392, layout::offset, layout::negative);
  check_tiles<D, bool, i64>(2, 6147, layout::contiguous, layout::contiguous);
  const auto cummin = [&](auto x, auto v, auto i, i64 dim) { fg::cummin(s, x, v, i, dim); };
  check_extremes<D, f64>(cummin, later<false>, {1, 255 * 1024 + 1025, 1}, 1, layout::contiguous,
                         layout::contiguous);

  const i64 n = 30000;
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> values(n, 1);
  values[9000] = inf;
  values[20000] = -inf;
  test_tensor<f32, D> x({n}, layout::contiguous, values);
  const auto want = reference(values, {n}, 0, add).values;
  const auto first = fg::cumsum(s, x.in(), 0);
  expect_equal(values_of(first), want);
  fg::cumsum_(s, x.view(), 0);
  expect_equal(x.read(), want);
  const auto logs = [&](auto in, auto out, i64 dim) { fg::logcumsumexp(s, in, out, dim); };
  check_sums<D, f32>(logs, add_exponentials, {2, 9000}, 1, layout::contiguous, layout::contiguous);
}

// Rows of about a warp's elements, and of about a block's.
TYPED_TEST(scans, tiles_of_short_rows) {
  using D = TypeParam;
  for (const i64 n : {1, 31, 127, 128, 129, 512, 1023, 1024, 1025, 2047, 2049, 8193})
    check_tiles<D, f32, f32>(3, n, layout::contiguous, layout::contiguous);
  check_tiles<D, f32, f32>(1100, 5, layout::contiguous, layout::contiguous);
  check_tiles<D, f32, f32>(5, 130, layout::offset, layout::negative);
  check_tiles<D, bool, i64>(9, 70, layout::contiguous, layout::transposed);
  const auto cummax = [&](auto x, auto v, auto i, i64 dim) {
    fg::cummax(test_stream<D>(), x, v, i, dim);
  };
  check_extremes<D, f64>(cummax, later<true>, {1030, 260}, 1, layout::contiguous,
                         layout::contiguous);
}

TYPED_TEST(scans, special_cases) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  test_tensor<f32, D> none({2, 0}), one({}, layout::contiguous, {3}),
      row({5}, layout::contiguous, {-inf, -inf, 1, inf, 2});
  EXPECT_EQ(fg::cumsum(s, none.in(), 1).shape_of(), (shape{2, 0}));
  expect_equal(values_of(fg::cumsum(s, one.in(), 0)), {3});
  const auto places = fg::cummin(s, one.in(), -1);
  expect_equal(values_of(places.values), {3});
  expect_equal(values_of(places.indices), {0});
  expect_equal(values_of(fg::logcumsumexp(s, row.in(), 0)), {-inf, -inf, 1, inf, inf});
  expect_equal(values_of(fg::cumsum(s, row.in().slice(0, 2), 0)), {1, inf, inf});
  expect_equal(values_of(fg::cumsum(s, row.in(), 0)), {-inf, -inf, -inf, nan, nan});
  fg::cumsum_(s, row.view().slice(0, 2), 0);
  expect_equal(row.read(), {-inf, -inf, 1, inf, inf});
}

template <class Case>
class scan_dtypes : public ::testing::Test {};
TYPED_TEST_SUITE(scan_dtypes, float_cases);

TYPED_TEST(scan_dtypes, sums) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    check_sums<D, T>([&](auto x, auto out, i64 dim) { fg::cumsum(s, x, out, dim); }, add, {4, 40},
                     1, layout::contiguous, layout::contiguous, 0, 2);
  });
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(scan, integers) {
  const auto& s = test_stream<host>();
  test_tensor<fg::u8> x({3}, layout::contiguous, {200, 100, 3});
  const auto sums = fg::cumsum(s, x.in(), 0);
  static_assert(std::is_same_v<fg::value_t<decltype(sums)>, i64>);
  expect_equal(values_of(sums), {200, 300, 303});
  expect_equal(values_of(fg::cumprod(s, x.in(), 0)), {200, 20000, 60000});
  expect_equal(values_of(fg::cumsum<f32>(s, x.in(), 0)), {200, 300, 303});
  fg::cumsum_(s, x.view(), 0);
  expect_equal(x.read(), {200, 44, 47});  // modulo 2^8
  test_tensor<i64> big({2}, layout::contiguous, {1, 2});
  big.view()(0) = (i64{1} << 62) + 1;
  EXPECT_EQ(fg::cummax(s, big.in(), 0).values.data()[1], (i64{1} << 62) + 1);
}

TEST(scan, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3, 4}), out({3, 5}), right({3, 4});
  test_tensor<i64> places({3, 4});
  EXPECT_RAISES(fg::cumsum(s, x.in(), 2), out_of_range, "cumsum");
  EXPECT_RAISES(fg::cumsum_(s, x.view(), 2), out_of_range, "cumsum_");
  EXPECT_RAISES(fg::cumsum(s, x.in(), out.view(), 0), shape_mismatch, "cumsum");
  EXPECT_RAISES(fg::cumprod(s, out.in().narrow(1, 0, 4), out.view().narrow(1, 1, 4), 0), overlap,
                "cumprod");
  EXPECT_RAISES(fg::cummax(s, x.in(), right.view(), places.view().narrow(1, 0, 3), 0),
                shape_mismatch, "cummax");
  EXPECT_RAISES(
      fg::cummax(s, x.in(), right.view(), places.view().narrow(0, 0, 1).expand({3, 4}), 0), overlap,
      "cummax");
  EXPECT_TRUE(out.untouched());
  EXPECT_TRUE(right.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
