// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/softmax.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

/// softmax or its logarithm along `dim` of row-major values.
std::vector<double> reference(const std::vector<double>& x, const shape& sizes, int dim, bool log) {
  std::vector<double> y(x.size());
  if (x.empty()) return y;
  i64 inner = 1;
  for (int d = dim + 1; d < sizes.rank(); ++d) inner *= sizes[d];
  const i64 n = sizes.rank() == 0 ? 1 : sizes[dim];
  const i64 outer = static_cast<i64>(x.size()) / (inner * n);
  for (i64 o = 0; o < outer; ++o)
    for (i64 i = 0; i < inner; ++i) {
      const auto at = [&](i64 k) { return static_cast<std::size_t>((o * n + k) * inner + i); };
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (i64 k = 0; k < n; ++k) largest = std::fmax(largest, x[at(k)]);
      for (i64 k = 0; k < n; ++k) sum += std::exp(x[at(k)] - largest);
      for (i64 k = 0; k < n; ++k) {
        const double shifted = x[at(k)] - largest;
        y[at(k)] = log ? shifted - std::log(sum) : std::exp(shifted) / sum;
      }
    }
  return y;
}

template <class D, class T, class Out = T>
void check(const shape& sizes, i64 dim, layout in, layout to, const std::vector<double>& values) {
  SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to) + ", sizes " +
               fg::to_string(sizes) + ", dim " + std::to_string(dim));
  test_tensor<T, D> x(sizes, in, values);
  const int d = static_cast<int>(dim < 0 ? dim + (std::max)(sizes.rank(), 1) : dim);
  for (const bool log : {false, true}) {
    test_tensor<Out, D> out(sizes, to);
    if (log)
      fg::log_softmax(test_stream<D>(), x.in(), out.view(), dim);
    else
      fg::softmax(test_stream<D>(), x.in(), out.view(), dim);
    tolerance tol = tolerance_of<Out>();
    if (sizeof(Out) >= 4) tol.atol = sizeof(Out) == 8 ? 1e-13 : 1e-6;
    expect_close<Out>(out.read(), reference(x.values(), sizes, d, log), tol);
    EXPECT_TRUE(out.gaps_untouched());
    EXPECT_TRUE(x.untouched());
  }
}

/// The gradients of row-major values y that softmax, or its logarithm, gave.
std::vector<double> gradient(const std::vector<double>& g, const std::vector<double>& y,
                             const shape& sizes, int dim, bool log) {
  std::vector<double> x(g.size());
  i64 inner = 1;
  for (int d = dim + 1; d < sizes.rank(); ++d) inner *= sizes[d];
  const i64 n = sizes[dim], outer = static_cast<i64>(g.size()) / (inner * n);
  for (i64 o = 0; o < outer; ++o)
    for (i64 i = 0; i < inner; ++i) {
      const auto at = [&](i64 k) { return static_cast<std::size_t>((o * n + k) * inner + i); };
      double sum = 0;
      for (i64 k = 0; k < n; ++k) sum += log ? g[at(k)] : g[at(k)] * y[at(k)];
      for (i64 k = 0; k < n; ++k)
        x[at(k)] = log ? g[at(k)] - std::exp(y[at(k)]) * sum : y[at(k)] * (g[at(k)] - sum);
    }
  return x;
}

template <class D, class T>
void check_backward(const shape& sizes, int dim, layout of_grad, layout of_y, layout to) {
  SCOPED_TRACE(std::string(to_string(of_grad)) + ", " + to_string(of_y) + " to " + to_string(to) +
               ", sizes " + fg::to_string(sizes) + ", dim " + std::to_string(dim));
  for (const bool log : {false, true}) {
    const auto values = reference(random_values(sizes, -3, 3), sizes, dim, log);
    test_tensor<T, D> y(sizes, of_y, values), g(sizes, of_grad, random_values(sizes, -2, 2));
    test_tensor<T, D> out(sizes, to);
    const auto run = [&](auto&& grad_input) {
      if (log)
        fg::log_softmax_backward(test_stream<D>(), g.in(), y.in(), grad_input, dim);
      else
        fg::softmax_backward(test_stream<D>(), g.in(), y.in(), grad_input, dim);
    };
    run(out.view());
    tolerance tol = tolerance_of<T>();
    tol.atol = sizeof(T) == 8 ? 1e-12 : sizeof(T) == 4 ? 2e-5 : 2e-2;
    const auto want = gradient(g.values(), y.values(), sizes, dim, log);
    expect_close<T>(out.read(), want, tol);
    EXPECT_TRUE(out.gaps_untouched());
    EXPECT_TRUE(y.untouched());
    EXPECT_TRUE(g.untouched());
    run(g.view());  // in place
    expect_close<T>(g.read(), want, tol);
  }
}

template <class Case>
class softmax_test : public ::testing::Test {};
TYPED_TEST_SUITE(softmax_test, float_cases);

TYPED_TEST(softmax_test, contiguous) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 n : {1, 2, 3, 15, 16, 17, 64, 100, 1000}) {
      const shape sizes{5, n};
      check<D, T>(sizes, -1, layout::contiguous, layout::contiguous, random_values(sizes, -9, 9));
    }
    for (const i64 dim : {0, 1, 2, -1}) {
      const shape sizes{3, 7, 20};
      check<D, T>(sizes, dim, layout::contiguous, layout::contiguous, random_values(sizes, -9, 9));
    }
  });
}

TYPED_TEST(softmax_test, backward) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 n : {1, 7, 16, 100, 1000, 1001, 9000})
      check_backward<D, T>({5, n}, 1, layout::contiguous, layout::contiguous, layout::contiguous);
    check_backward<D, T>({3, 7, 20}, 1, layout::contiguous, layout::contiguous, layout::contiguous);
    check_backward<D, T>({5, 129}, 1, layout::offset, layout::contiguous, layout::strided);
    check_backward<D, T>({5, 129}, 1, layout::negative, layout::transposed, layout::contiguous);
  });
}

template <class Device>
class softmax_layouts : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(softmax_layouts, devices);

TYPED_TEST(softmax_layouts, all_pairs) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts)
        for (const i64 dim : {0, 1, 2}) {
          const shape sizes{2, 5, 19};
          check<TypeParam, f32>(sizes, dim, in, to, random_values(sizes, -5, 5));
        }
    const shape sizes{2, 1, 3, 1, 2, 3};
    check<TypeParam, f32>(sizes, 2, layout::negative, layout::strided, random_values(sizes));
  });
}

TYPED_TEST(softmax_layouts, backward) {
  for (const layout of_grad : {layout::contiguous, layout::transposed, layout::negative})
    for (const layout of_y : {layout::contiguous, layout::strided, layout::offset})
      for (const int dim : {0, 2})
        check_backward<TypeParam, f32>({2, 5, 19}, dim, of_grad, of_y, layout::contiguous);
  for (const i64 n : {24, 400, 6000, 33000})
    check_backward<TypeParam, f32>({3, n}, 1, layout::contiguous, layout::contiguous,
                                   layout::contiguous);
}

TYPED_TEST(softmax_layouts, rows_of_all_lengths) {
  // What chips hold in registers depends on the length; of 33,000 a block does not hold all, nor
  // of 270,000 a cluster of blocks.
  for (const i64 n : {8, 24, 200, 400, 900, 1500, 6000, 9000, 33000, 270000})
    for (const i64 more : {0, 1}) {
      const shape sizes{n < 1000 ? 5 : 1, n + more};
      const auto values = random_values(sizes, -9, 9);
      check<TypeParam, f32>(sizes, 1, layout::contiguous, layout::contiguous, values);
      if (n < 1000) check<TypeParam, f32>(sizes, 1, layout::offset, layout::contiguous, values);
    }
  check<TypeParam, f32>({515, 300}, 1, layout::contiguous, layout::contiguous,
                        random_values({515, 300}, -9, 9));  // of hundreds a warp has one each
  check<TypeParam, f32>({3, 5, 64}, 2, layout::contiguous, layout::transposed,
                        random_values({3, 5, 64}));
}

/// Rows shared by the blocks of a cluster, of which not all fits the threads' registers: some waits
/// in block-local memory, of the longer ones the remainder is read again.
template <class D, class T>
void check_staged_rests() {
  namespace fk = fg::kernels;
  constexpr i64 width = fk::vec_size<T>;
  for (const i64 vectors : {520, 700, 1000, 1024, 1300}) {
    const i64 n = vectors * width, rows = 3;
    const auto values = random_values({rows, n}, -9, 9);
    test_tensor<T, D> x({rows, n}, layout::contiguous, values), out(shape{rows, n});
    fg::launch_config config;
    config.op = "softmax";
    config.tiles = rows;
    config.threads = 32;
    config.cluster = 2;
    const fk::row_threads groups{fk::row_threads::cluster, 8 * 32};
    config.scratch = 16 * groups.staged;
    const auto operands = fg::detail::row_operands_of(
        fg::detail::inputs(fk::row_arg<T>{x.in().data(), {n, 1}}),
        fg::detail::outputs(fk::row_target<T>{out.view().data(), {n, 1}}));
    using program = fk::softmax_program<f32, false>;
    fg::launch<fk::register_row_program<program, std::remove_cv_t<decltype(operands)>, 8, 1, true>>(
        test_stream<D>(), config, fk::row_space{1, {rows}, rows, n}, groups, operands, program{});
    expect_close<T>(out.read(), reference(x.values(), {rows, n}, 1, false), tolerance_of<T>());
  }
}

TYPED_TEST(softmax_layouts, rests_of_long_rows) {
  if constexpr (!fg::host_accessible<TypeParam>) {
    check_staged_rests<TypeParam, f32>();
    check_staged_rests<TypeParam, bf16>();
  }
}

// Rows that are no multiple of 16 bytes go through a chip's block-local memory in tiles, a row to
// 1, 2, 4 or 8 threads; long ones where they are many.
template <class D, class T>
void check_short_rows() {
  for (const i64 n : {1, 7, 9, 18, 33, 34, 35, 36, 39, 41, 63, 65, 67})
    for (const i64 rows : {1, 131})
      check<D, T>({rows, n}, 1, layout::contiguous, layout::contiguous,
                  random_values({rows, n}, -9, 9));
  if constexpr (sizeof(T) == 2)
    for (const i64 n : {77, 79, 81, 100, 127, 129, 133})
      check<D, T>({67, n}, 1, layout::contiguous, layout::contiguous,
                  random_values({67, n}, -9, 9));
  for (const layout in : {layout::contiguous, layout::offset})  // an operand begins no pack
    check<D, T>({37, 33}, 1, in, in == layout::offset ? layout::contiguous : layout::offset,
                random_values({37, 33}, -9, 9));
  test_tensor<T, D> x({130, 33}, layout::contiguous, random_values({130, 33}, -9, 9));
  const auto want = reference(x.values(), {130, 33}, 1, false);
  fg::softmax(test_stream<D>(), x.in(), x.view(), 1);
  expect_close<T>(x.read(), want, tolerance_of<T>());
}

TYPED_TEST(softmax_layouts, short_rows) {
  using D = TypeParam;
  if constexpr (!std::is_same_v<D, host>) {
    check_short_rows<D, f32>();
    check_short_rows<D, bf16>();
    check_short_rows<D, f16>();
    for (const shape& sizes : {shape{2100, 127}, shape{1030, 258}})
      check<D, f32>(sizes, 1, layout::contiguous, layout::contiguous, random_values(sizes, -9, 9));
    for (const shape& sizes : {shape{2070, 255}, shape{140000, 3}})
      check<D, bf16>(sizes, 1, layout::contiguous, layout::contiguous, random_values(sizes, -9, 9));
    // Rows that lie apart.
    const auto values = random_values({40, 40}, -9, 9);
    test_tensor<bf16, D> x({40, 40}, layout::contiguous, values), out({40, 40});
    fg::softmax(test_stream<D>(), x.in().narrow(1, 0, 33), out.view().narrow(1, 0, 33), 1);
    std::vector<double> narrow, got, all = x.values();
    const auto results = out.read();
    for (std::size_t k = 0; k < all.size(); ++k)
      if (k % 40 < 33) narrow.push_back(all[k]), got.push_back(results[k]);
    expect_close<bf16>(got, reference(narrow, {40, 33}, 1, false), tolerance_of<bf16>());
  }
}

TYPED_TEST(softmax_layouts, short_rows_of_special_values) {
  using D = TypeParam;
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const i64 n : {17, 33, 37, 67, 129}) {
    const shape sizes{12, n};
    const auto columns = static_cast<std::size_t>(n);
    std::vector<double> values = random_values(sizes);
    // Two rows each, which begin in a word and within one: of -inf, with one inf, with a NaN at
    // the beginning and at the end, with one number that is not -inf.
    for (std::size_t row = 0; row < 10; ++row)
      for (std::size_t k = 0; k < columns; ++k) {
        double& v = values[row * columns + k];
        if (row < 2 || (row >= 8 && k != 5)) v = -inf;
        if (row / 2 == 1 && k == columns / 2) v = inf;
        if ((row / 2 == 2 && k == 0) || (row / 2 == 3 && k + 1 == columns)) v = nan;
      }
    test_tensor<bf16, D> x(sizes, layout::contiguous, values), soft(sizes), log(sizes);
    fg::softmax(test_stream<D>(), x.in(), soft.view(), 1);
    fg::log_softmax(test_stream<D>(), x.in(), log.view(), 1);
    const auto s = soft.read(), l = log.read();
    for (std::size_t k = 0; k < 10 * columns; ++k) {
      const bool is_lone = k >= 8 * columns, is_it = k % columns == 5;
      EXPECT_TRUE(is_lone ? s[k] == (is_it ? 1 : 0) : std::isnan(s[k])) << n << ' ' << k;
      EXPECT_TRUE(is_lone ? l[k] == (is_it ? 0 : -inf) : std::isnan(l[k])) << n << ' ' << k;
    }
    for (std::size_t k = 10 * columns; k < 12 * columns; ++k) EXPECT_GT(s[k], 0) << n << ' ' << k;
  }
}

TYPED_TEST(softmax_layouts, empty_and_scalar) {
  for (const shape& sizes : {shape{0}, shape{0, 5}, shape{5, 0}, shape{3, 0, 4}})
    check<TypeParam, f32>(sizes, -1, layout::contiguous, layout::contiguous, {});
  check<TypeParam, f32>({}, 0, layout::contiguous, layout::contiguous, {3.0});
  check<TypeParam, f32>({}, -1, layout::offset, layout::offset, {3.0});
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(softmax, other_output_dtype) {
  const shape sizes{4, 33};
  check<host, bf16, f32>(sizes, 1, layout::contiguous, layout::strided, random_values(sizes));
  check<host, f32, f64>(sizes, 1, layout::strided, layout::contiguous, random_values(sizes));
}
#endif

TYPED_TEST(softmax_layouts, special_values) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  at_every_level<TypeParam>([] {
    const shape sizes{6, 17};
    std::vector<double> values = random_values(sizes);
    for (std::size_t k = 0; k < 17; ++k) {
      values[k] = -inf;                               // a row of -inf: NaN
      if (k % 2 == 0) values[17 + k] = -inf;          // half of them: 0
      if (k == 3) values[2 * 17 + k] = inf;           // one inf: NaN
      if (k == 16) values[3 * 17 + k] = nan;          // NaN in the tail
      if (k == 2) values[4 * 17 + k] = nan;           // NaN in a vector
      values[5 * 17 + k] = 1e30 * (k == 5 ? 1 : -1);  // far apart
    }
    test_tensor<f32, TypeParam> x(sizes, layout::contiguous, values);
    test_tensor<f32, TypeParam> soft(sizes), log(sizes);
    fg::softmax(test_stream<TypeParam>(), x.in(), soft.view(), 1);
    fg::log_softmax(test_stream<TypeParam>(), x.in(), log.view(), 1);
    const auto s = soft.read(), l = log.read();
    for (std::size_t k = 0; k < 17; ++k) {
      for (const std::size_t row : {0u, 2u, 3u, 4u}) {
        EXPECT_TRUE(std::isnan(s[row * 17 + k])) << row << ' ' << k;
        EXPECT_TRUE(std::isnan(l[row * 17 + k])) << row << ' ' << k;
      }
      if (k % 2 == 0) {
        EXPECT_EQ(s[17 + k], 0);
        EXPECT_EQ(l[17 + k], -inf);
      }
      EXPECT_EQ(s[5 * 17 + k], k == 5 ? 1 : 0);
    }
  });
}

TYPED_TEST(softmax_layouts, in_place_and_returning) {
  const shape sizes{4, 21};
  const std::vector<double> values = random_values(sizes, -4, 4);
  test_tensor<f32, TypeParam> x(sizes, layout::transposed, values);
  const auto want = reference(x.values(), sizes, 1, false);
  const auto got = fg::softmax(test_stream<TypeParam>(), x.in(), 1);
  expect_close<f32>(values_of(got), want, {1e-6, 1e-7});
  const auto log = fg::log_softmax(test_stream<TypeParam>(), x.in(), 1);
  expect_close<f32>(values_of(log), reference(x.values(), sizes, 1, true), {1e-6, 1e-6});
  fg::softmax(test_stream<TypeParam>(), x.in(), x.view(), 1);
  expect_close<f32>(x.read(), want, {1e-6, 1e-7});
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(softmax, long_rows_and_many_threads) {
  const shape sizes{37, 50257};
  check<host, f32>(sizes, 1, layout::contiguous, layout::contiguous, random_values(sizes, -9, 9));
  check<host, f32>({1 << 16, 3}, 1, layout::contiguous, layout::contiguous,
                   random_values({1 << 16, 3}, -9, 9));
}

TEST(softmax, refuses_bad_arguments) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({4, 6}, layout::contiguous, random_values({4, 6}));
  test_tensor<f32> out({4, 6});
  EXPECT_RAISES(fg::softmax(stream, x.in(), out.view(), 2), out_of_range, "softmax");
  EXPECT_RAISES(fg::softmax(stream, x.in(), out.view(), -3), out_of_range, "softmax");
  EXPECT_RAISES(fg::log_softmax(stream, x.in(), out.view().t(), 0), shape_mismatch, "log_softmax");
  EXPECT_RAISES(fg::softmax(stream, x.in(), out.view().narrow(0, 0, 1).expand({4, 6}), 1), overlap,
                "softmax");
  EXPECT_RAISES(fg::softmax(stream, x.view().narrow(0, 0, 3), x.view().narrow(0, 1, 3), 1), overlap,
                "softmax");
  EXPECT_RAISES(fg::softmax_backward(stream, x.in(), x.in(), out.view(), 2), out_of_range,
                "softmax_backward");
  EXPECT_RAISES(fg::softmax_backward(stream, x.in(), x.in().narrow(0, 0, 3), out.view(), 0),
                shape_mismatch, "softmax_backward");
  EXPECT_RAISES(fg::log_softmax_backward(stream, x.in(), x.in(), out.view().t(), 0), shape_mismatch,
                "log_softmax_backward");
  EXPECT_RAISES(fg::log_softmax_backward(stream, out.in().narrow(0, 0, 3), x.view().narrow(0, 0, 3),
                                         x.view().narrow(0, 1, 3), 1),
                overlap, "log_softmax_backward");
  EXPECT_TRUE(x.untouched());
  EXPECT_TRUE(out.untouched());
}

// A NaN in a row makes the row NaN; rows of no elements, and no rows, have nothing to write.
TYPED_TEST(softmax_layouts, backward_of_nan_and_of_nothing) {
  const auto& stream = test_stream<TypeParam>();
  test_tensor<f32, TypeParam> g({2, 3}, layout::contiguous, {1, std::nan(""), 2, 1, 2, 3});
  test_tensor<f32, TypeParam> y({2, 3}, layout::contiguous, {0.25, 0.5, 0.25, 0.25, 0.5, 0.25});
  const auto got = values_of(fg::softmax_backward(stream, g.in(), y.in(), 1));
  for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(std::isnan(got[k])) << k;
  for (std::size_t k = 3; k < 6; ++k) EXPECT_FALSE(std::isnan(got[k])) << k;
  for (const shape& sizes : {shape{0, 3}, shape{2, 0}}) {
    test_tensor<f32, TypeParam> none(sizes);
    EXPECT_EQ(fg::softmax_backward(stream, none.in(), none.in(), 1).numel(), 0);
    EXPECT_EQ(fg::log_softmax_backward(stream, none.in(), none.in(), 1).numel(), 0);
  }
}

#endif

template <class D>
class softmax_of_integers : public ::testing::Test {};
TYPED_TEST_SUITE(softmax_of_integers, all_devices);

template <class T, class D>
void expect_softmax_as_of_floats() {
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const shape& sizes : {shape{3, 5}, shape{4, 64}, shape{2, 300}})
      for (const i64 dim : {0, 1}) {
        const auto values = random_integers(sizes, 0, 1);
        test_tensor<T, D> x(sizes, layout::contiguous, values);
        test_tensor<f32, D> same(sizes, layout::contiguous, values), out(sizes);
        const tolerance tol = tolerance_of<f32>();
        expect_close<f32>(values_of(fg::softmax<f32>(s, x.in(), dim)),
                          values_of(fg::softmax(s, same.in(), dim)), tol);
        fg::log_softmax(s, x.in(), out.view(), dim);
        expect_close<f32>(out.read(), values_of(fg::log_softmax(s, same.in(), dim)), tol);
      }
  });
}
TYPED_TEST(softmax_of_integers, are_those_of_floats) {
  expect_softmax_as_of_floats<std::int64_t, TypeParam>();
  expect_softmax_as_of_floats<std::uint8_t, TypeParam>();
  expect_softmax_as_of_floats<bool, TypeParam>();
}

}  // namespace
}  // namespace flaggems_test
