// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/device/graph.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/norm.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using values = std::vector<double>;

/// (x - mean) / sqrt(variance + eps) * weight + bias over slices of `n`; an empty weight or bias is
/// none. Without `centre` the mean is taken as 0.
values reference(const values& x, std::size_t n, const values& weight, const values& bias,
                 double eps, bool centre) {
  values y(x.size());
  for (std::size_t start = 0; start < x.size(); start += n) {
    double mean = 0, squares = 0;
    for (std::size_t k = 0; centre && k < n; ++k) mean += x[start + k];
    mean /= static_cast<double>(n);
    for (std::size_t k = 0; k < n; ++k) squares += (x[start + k] - mean) * (x[start + k] - mean);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + eps);
    for (std::size_t k = 0; k < n; ++k) {
      y[start + k] = (x[start + k] - mean) * scale;
      if (!weight.empty()) y[start + k] *= weight[k];
      if (!bias.empty()) y[start + k] += bias[k];
    }
  }
  return y;
}

template <class T>
tolerance near() {
  tolerance tol = tolerance_of<T>();
  if (sizeof(T) == 4) tol = {2e-6, 2e-6};
  if (sizeof(T) == 8) tol = {1e-13, 1e-13};
  return tol;
}

template <class D, class T, class W = T>
void check(const shape& sizes, const shape& normalized, layout in, layout of_weight, layout to) {
  SCOPED_TRACE(std::string(to_string(in)) + ", weight " + to_string(of_weight) + ", to " +
               to_string(to) + ", sizes " + fg::to_string(sizes) + " over " +
               fg::to_string(normalized));
  const auto& stream = test_stream<D>();
  const auto n = static_cast<std::size_t>(normalized.numel());
  test_tensor<T, D> x(sizes, in, random_values(sizes, -3, 4));
  test_tensor<W, D> weight(normalized, of_weight, random_values(normalized));
  test_tensor<W, D> bias(normalized, of_weight, random_values(normalized));
  const double eps = 1e-3;
  {
    test_tensor<T, D> out(sizes, to);
    fg::layer_norm(stream, x.in(), normalized, weight.in(), bias.in(), out.view(), eps);
    expect_close<T>(out.read(), reference(x.values(), n, weight.values(), bias.values(), eps, true),
                    near<T>());
    EXPECT_TRUE(out.gaps_untouched());
  }
  {
    test_tensor<T, D> out(sizes, to);
    fg::rms_norm(stream, x.in(), normalized, weight.in(), out.view(), eps);
    expect_close<T>(out.read(), reference(x.values(), n, weight.values(), {}, eps, false),
                    near<T>());
    EXPECT_TRUE(out.gaps_untouched());
  }
  if (in != layout::broadcast || sizes.rank() == 0) {
    test_tensor<T, D> inout(sizes, in, x.values());
    test_tensor<T, D> residual(sizes, to, random_values(sizes));
    fg::fused_add_rms_norm(stream, inout.view(), residual.view(), weight.in(), eps);
    values sum = residual.values();
    for (std::size_t k = 0; k < sum.size(); ++k) {
      // The sum in the type that computes, then in the one that is stored.
      const auto wide = fg::kernels::number_cast<fg::kernels::compute_type<T>>(sum[k]) +
                        fg::kernels::number_cast<fg::kernels::compute_type<T>>(x.values()[k]);
      sum[k] = fg::kernels::number_cast<f64>(fg::kernels::number_cast<T>(wide));
    }
    expect_equal(residual.read(), sum);
    expect_close<T>(inout.read(), reference(sum, n, weight.values(), {}, eps, false), near<T>());
    EXPECT_TRUE(inout.gaps_untouched());
    EXPECT_TRUE(residual.gaps_untouched());
  }
  EXPECT_TRUE(x.untouched());
  EXPECT_TRUE(weight.untouched());
}

template <class Case>
class norm_test : public ::testing::Test {};
TYPED_TEST_SUITE(norm_test, float_cases);

TYPED_TEST(norm_test, contiguous) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 n : {1, 2, 15, 16, 33, 64, 300})
      check<D, T>({3, n}, {n}, layout::contiguous, layout::contiguous, layout::contiguous);
    check<D, T>({2, 3, 4, 9}, {4, 9}, layout::contiguous, layout::contiguous, layout::contiguous);
    check<D, T>({7}, {7}, layout::contiguous, layout::contiguous, layout::contiguous);
  });
}

template <class Device>
class norm_layouts : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(norm_layouts, devices);

TYPED_TEST(norm_layouts, all) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts) {
        check<TypeParam, f32>({3, 2, 19}, {19}, in, layout::contiguous, to);
        check<TypeParam, f32>({3, 2, 19}, {2, 19}, in, layout::transposed, to);
      }
    for (const layout of_weight : input_layouts) {
      check<TypeParam, f32>({2, 3, 5, 7}, {3, 5, 7}, layout::transposed, of_weight,
                            layout::negative);
      check<TypeParam, f32>({5, 20}, {20}, layout::contiguous, of_weight, layout::contiguous);
    }
  });
}

TYPED_TEST(norm_layouts, rows_of_all_lengths) {
  // What chips hold in registers depends on the length; of 33,000 a block does not hold all, nor
  // of 270,000 a cluster of blocks.
  for (const i64 n : {8, 24, 200, 400, 900, 1500, 6000, 9000, 33000, 270000})
    for (const i64 more : {0, 1}) {
      const auto in = n < 1000 ? layout::offset : layout::contiguous;
      check<TypeParam, f32>({n < 1000 ? 3 : 1, n + more}, {n + more}, in, layout::contiguous,
                            layout::contiguous);
      if (n < 1000)
        check<TypeParam, f32>({3, n + more}, {n + more}, layout::contiguous, layout::offset,
                              layout::contiguous);
    }
  // Of hundreds a warp has one each.
  check<TypeParam, f32>({515, 300}, {300}, layout::contiguous, layout::contiguous,
                        layout::contiguous);
}

// Rows that are no multiple of 16 bytes go through a chip's block-local memory in tiles, a row to
// 1, 2, 4 or 8 threads; long ones where they are many.
template <class D, class T>
void check_short_rows() {
  for (const i64 n : {1, 7, 9, 18, 33, 34, 35, 36, 39, 41, 63, 65, 67})
    for (const i64 rows : {1, 131})
      check<D, T>({rows, n}, {n}, layout::contiguous, layout::contiguous, layout::contiguous);
  if constexpr (sizeof(T) == 2)
    for (const i64 n : {77, 79, 81, 100, 127, 129, 133})
      check<D, T>({67, n}, {n}, layout::contiguous, layout::contiguous, layout::contiguous);
  check<D, T>({37, 33}, {33}, layout::offset, layout::contiguous, layout::contiguous);
  check<D, T>({37, 33}, {33}, layout::contiguous, layout::offset, layout::contiguous);
  check<D, T>({37, 33}, {33}, layout::contiguous, layout::strided, layout::contiguous);
  check<D, T>({37, 33}, {33}, layout::contiguous, layout::contiguous, layout::offset);
  check<D, T>({5, 7, 3, 11}, {3, 11}, layout::contiguous, layout::contiguous, layout::contiguous);
}

TYPED_TEST(norm_layouts, short_rows) {
  using D = TypeParam;
  if constexpr (!std::is_same_v<D, host>) {
    check_short_rows<D, f32>();
    check_short_rows<D, bf16>();
    check_short_rows<D, f16>();
    check<D, bf16, f32>({131, 33}, {33}, layout::contiguous, layout::contiguous,
                        layout::contiguous);
    const auto& stream = test_stream<D>();
    for (const shape& sizes : {shape{2100, 127}, shape{1030, 258}}) {
      const i64 n = sizes[1];
      const auto columns = static_cast<std::size_t>(n);
      test_tensor<f32, D> x(sizes, layout::contiguous, random_values(sizes, -3, 4));
      test_tensor<f32, D> w({n}, layout::contiguous, random_values({n}));
      expect_close<f32>(values_of(fg::layer_norm(stream, x.in(), {n}, w.in(), w.in())),
                        reference(x.values(), columns, w.values(), w.values(), 1e-5, true),
                        near<f32>());
      const auto want = reference(x.values(), columns, {}, {}, 0x1p-23, false);
      fg::rms_norm(stream, x.in(), {n}, std::nullopt, x.view());
      expect_close<f32>(x.read(), want, near<f32>());
    }
    // Rows that lie apart.
    test_tensor<bf16, D> x({40, 40}, layout::contiguous, random_values({40, 40}, -3, 4));
    test_tensor<bf16, D> out({40, 40});
    fg::layer_norm(stream, x.in().narrow(1, 0, 33), {33}, std::nullopt, std::nullopt,
                   out.view().narrow(1, 0, 33));
    values narrow, got;
    const values all = x.values(), results = out.read();
    for (std::size_t k = 0; k < all.size(); ++k)
      if (k % 40 < 33) narrow.push_back(all[k]), got.push_back(results[k]);
    expect_close<bf16>(got, reference(narrow, 33, {}, {}, 1e-5, true), near<bf16>());
  }
}

TYPED_TEST(norm_layouts, short_rows_of_special_values) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr bool is_host = std::is_same_v<D, host>;
  for (const i64 n : {17, 33, 37, 67}) {
    const auto columns = static_cast<std::size_t>(n);
    // Two rows each: with a NaN at the beginning, with an infinity at the end, a mean of 10^4
    // times the deviation, one outlier first, equal elements whose sum is infinite.
    const shape sizes{10, n};
    values v = random_values(sizes, -1, 1);
    for (std::size_t k = 0; k < v.size(); ++k) {
      const std::size_t what = k / columns / 2, i = k % columns;
      if (what == 0 && i == 0) v[k] = std::nan("");
      if (what == 1 && i + 1 == columns) v[k] = inf;
      if (what == 2) v[k] += 10000;
      if (what == 3 && i == 0) v[k] = 1e17;
      if (what == 4) v[k] = 1e38;
    }
    test_tensor<f32, D> x(sizes, layout::contiguous, v);
    const values layer = values_of(fg::layer_norm(stream, x.in(), {n}));
    const values rms = values_of(fg::rms_norm(stream, x.in(), {n}));
    const values want = reference(x.values(), columns, {}, {}, 1e-5, true);
    for (std::size_t k = 0; k < v.size(); ++k) {
      const std::size_t what = k / columns / 2;
      SCOPED_TRACE(std::to_string(n) + ", element " + std::to_string(k));
      const bool is_last = k % columns + 1 == columns;
      const double off = what == 3 ? 1e-4 : !is_host ? 2e-5 : 4e-3;
      switch (what) {
        case 0: EXPECT_TRUE(std::isnan(layer[k]) && std::isnan(rms[k])); break;
        case 1:
          EXPECT_TRUE(std::isnan(layer[k]) && (is_last ? std::isnan(rms[k]) : rms[k] == 0));
          break;
        case 4: EXPECT_EQ(layer[k], 0); break;
        default: EXPECT_NEAR(layer[k], want[k], off); break;
      }
    }
  }
}

TYPED_TEST(norm_layouts, without_weight_or_bias) {
  const auto& stream = test_stream<TypeParam>();
  test_tensor<f32, TypeParam> x({4, 21}, layout::strided, random_values({4, 21}));
  test_tensor<f32, TypeParam> w({21}, layout::contiguous, random_values({21}));
  expect_close<f32>(values_of(fg::layer_norm(stream, x.in(), {21})),
                    reference(x.values(), 21, {}, {}, 1e-5, true), near<f32>());
  expect_close<f32>(values_of(fg::layer_norm(stream, x.in(), {21}, std::nullopt, w.in())),
                    reference(x.values(), 21, {}, w.values(), 1e-5, true), near<f32>());
  expect_close<f32>(values_of(fg::layer_norm(stream, x.in(), {21}, w.in())),
                    reference(x.values(), 21, w.values(), {}, 1e-5, true), near<f32>());
  expect_close<f32>(values_of(fg::rms_norm(stream, x.in(), {21})),
                    reference(x.values(), 21, {}, {}, 0x1p-23, false), near<f32>());
  std::optional<fg::tensor_view<const f32, TypeParam>> maybe;
  expect_close<f32>(values_of(fg::rms_norm(stream, x.in(), {21}, maybe)),
                    reference(x.values(), 21, {}, {}, 0x1p-23, false), near<f32>());
  maybe = w.in();
  expect_close<f32>(values_of(fg::rms_norm(stream, x.in(), {21}, maybe)),
                    reference(x.values(), 21, w.values(), {}, 0x1p-23, false), near<f32>());
  fg::rms_norm(stream, x.in(), {21}, w.in(), x.view(), 0.5);
  expect_close<f32>(x.read(), reference(x.values(), 21, w.values(), {}, 0.5, false), near<f32>());
}

TYPED_TEST(norm_layouts, empty) {
  const auto& stream = test_stream<TypeParam>();
  test_tensor<f32, TypeParam> none({0, 8}), also({8, 0}), w({8}), empty_w({0});
  fg::layer_norm(stream, none.in(), {8}, w.in(), w.in(), none.view());
  fg::rms_norm(stream, also.in(), {0}, empty_w.in(), also.view());
  EXPECT_TRUE(none.untouched());
  EXPECT_TRUE(also.untouched());
}

TEST(norm, default_eps_is_that_of_the_dtype) {
  const values zero_but_one{0.001, 0, 0, 0};
  test_tensor<bf16> x({1, 4}, layout::contiguous, zero_but_one);
  expect_close<bf16>(values_of(fg::rms_norm(test_stream<host>(), x.in(), {4})),
                     reference(x.values(), 4, {}, {}, 0x1p-7, false), {0.01, 0});
  test_tensor<f64> y({1, 4}, layout::contiguous, {1e-9, 0, 0, 0});
  expect_close<f64>(values_of(fg::rms_norm(test_stream<host>(), y.in(), {4})),
                    reference(y.values(), 4, {}, {}, 0x1p-52, false), {1e-12, 0});
}

TYPED_TEST(norm_layouts, weights_written_by_the_call_before) {
  // A launch may begin before the one ahead of it has ended, and weights be kept by a cache that
  // follows no writes: rows of 65,536 have theirs read so.
  const fg::stream<TypeParam> stream;
  constexpr std::size_t rounds = 6;
  for (const i64 n : {2048, 65536}) {
    values ones(static_cast<std::size_t>(n), 1);
    for (std::size_t k = 1; k < ones.size(); k += 2) ones[k] = -1;
    test_tensor<bf16, TypeParam> x({n}, layout::contiguous, ones);
    test_tensor<bf16, TypeParam> weight({n}, layout::contiguous);
    test_tensor<bf16, TypeParam> layer({rounds, n}, layout::contiguous);
    test_tensor<bf16, TypeParam> rms({rounds, n}, layout::contiguous);
    values expected(rounds * ones.size());
    for (std::size_t k = 0; k < expected.size(); ++k)
      expected[k] = ones[k % ones.size()] * static_cast<double>(k / ones.size() + 1);
    const auto calls = [&] {
      for (i64 k = 0; k < static_cast<i64>(rounds); ++k) {
        fg::fill_(stream, weight.view(), k + 1);
        fg::layer_norm(stream, x.in(), {n}, weight.in(), std::nullopt, layer.view().select(0, k));
        fg::rms_norm(stream, x.in(), {n}, weight.in(), rms.view().select(0, k), 1e-5);
      }
    };
    const auto check_and_clear = [&] {
      stream.synchronize();
      expect_equal(layer.read(), expected);
      expect_equal(rms.read(), expected);
      fg::fill_(stream, layer.view(), 0);
      fg::fill_(stream, rms.view(), 0);
    };
    calls();
    check_and_clear();
    if constexpr (fg::device_graphs<TypeParam>) {
      fg::graph<TypeParam> graph = fg::capture(stream, calls);
      graph.launch(stream);
      check_and_clear();
    }
  }
}

TYPED_TEST(norm_layouts, mixed_dtypes) {
  for (const i64 n : {40, 41, 700, 701})  // of odd ones a chip finds weights across its accesses
    check<TypeParam, bf16, f32>({5, n}, {n}, layout::contiguous, layout::contiguous,
                                layout::contiguous);
}

/// layer_norm of rows of which a chip's block works on two at once, as it does of very many.
template <class D, class T, class W>
void check_paired(i64 rows, i64 n, layout in, bool has_weight, bool has_bias) {
  SCOPED_TRACE(std::to_string(rows) + " of " + std::to_string(n) + ", " + to_string(in));
  namespace fk = fg::kernels;
  constexpr int width = fk::vec_size<T>;
  values numbers = random_values({rows, n}, -3, 4);
  const auto columns = static_cast<std::size_t>(n);
  // From a row's first element the others differ by far more than from each other.
  for (std::size_t k = 0; k < numbers.size(); k += 3 * columns) numbers[k] = 3000;
  const test_tensor<T, D> as_rows({rows, n}, layout::contiguous, numbers);
  test_tensor<T, D> x({rows, n}, in, numbers), out({rows, n}, in);  // which begin alike
  test_tensor<W, D> weight({n}, layout::offset, random_values({n}));
  test_tensor<W, D> bias({n}, layout::contiguous, random_values({n}));
  const fg::detail::register_rows<D> resident(i64{1} << 21, n, width, false, 2048,
                                              {.many_aux = true, .paired = true});
  ASSERT_EQ(resident.pair_stride, width);
  fg::launch_config config;
  config.op = "layer_norm";
  resident.configure(config, rows);
  const auto run = [&](fg::tensor_view<T, D> to) {
    const auto operands = fg::detail::row_operands_of(
        fg::detail::inputs(fk::row_arg<T>{x.in().data(), {x.view().stride(0), 1}}),
        fg::detail::outputs(fk::row_target<T>{to.data(), {to.stride(0), 1}}),
        fg::detail::inputs(fk::row_arg<W>{has_weight ? weight.in().data() : nullptr, {0, 1}},
                           fk::row_arg<W>{has_bias ? bias.in().data() : nullptr, {0, 1}}));
    using program = fk::layer_norm_program<f32>;
    fg::launch<
        fk::register_row_program<program, std::remove_cv_t<decltype(operands)>, 4, 2, false>>(
        test_stream<D>(), config, fk::norm_space{1, 1, {rows, n}, rows, n}, resident.groups,
        operands, program{1e-3F});
  };
  const values want = reference(x.values(), columns, has_weight ? weight.values() : values(),
                                has_bias ? bias.values() : values(), 1e-3, true);
  tolerance tol = near<T>();
  if (sizeof(T) == 4) tol = {1e-5, 1e-5};
  run(out.view());
  expect_close<T>(out.read(), want, tol);
  EXPECT_TRUE(out.gaps_untouched());
  EXPECT_TRUE(x.untouched());
  run(x.view());
  expect_close<T>(x.read(), want, tol);
  EXPECT_TRUE(x.gaps_untouched());
}

TYPED_TEST(norm_layouts, odd_rows_two_at_once) {
  using D = TypeParam;
  if constexpr (!fg::host_accessible<D>) {
    for (const i64 rows : {1, 4, 7, 13})
      check_paired<D, f32, f32>(rows, 269, layout::contiguous, true, true);
    for (const i64 rows : {5, 8, 19, 32})
      check_paired<D, bf16, bf16>(rows, 529, layout::contiguous, true, true);
    check_paired<D, bf16, bf16>(11, 1023, layout::offset, true, true);
    check_paired<D, bf16, bf16>(11, 600, layout::offset, false, true);
    check_paired<D, f32, bf16>(9, 301, layout::contiguous, true, false);
    check_paired<D, f32, bf16>(9, 1003, layout::offset, true, true);
    check_paired<D, f32, f32>(9, 1002, layout::offset, false, false);
    // Each row begins where an access may, and its end is odd.
    check_paired<D, f32, f32>(6, 4099, layout::contiguous, true, true);
  }
}

TYPED_TEST(norm_layouts, variance_does_not_cancel) {
  // The mean is 10^4 times the deviation: E[x^2] - E[x]^2 would lose every digit of f32. So would,
  // in the third row, the squares of differences from its first element; the fourth, whose
  // threads may share a warp with its, is an ordinary one.
  for (const i64 n : {200, 1000, 40000}) {
    const auto columns = static_cast<std::size_t>(n);
    values v = random_values({4, n}, -1, 1);
    for (std::size_t k = 0; k < 2 * columns; ++k) v[k] += 10000;
    v[2 * columns] = 3000;
    test_tensor<f32, TypeParam> x({4, n}, layout::contiguous, v);
    expect_close<f32>(
        values_of(fg::layer_norm(test_stream<TypeParam>(), x.in(), {n})),
        reference(x.values(), columns, {}, {}, 1e-5, true),
        std::is_same_v<TypeParam, host> ? tolerance{1e-3, 2e-3} : tolerance{1e-5, 1e-5});
  }
}

TEST(norm, long_rows_and_many_threads) {
  check<host, f32>({3, 70001}, {70001}, layout::contiguous, layout::contiguous, layout::contiguous);
  check<host, f32>({5000, 24}, {24}, layout::contiguous, layout::contiguous, layout::contiguous);
}

TEST(norm, nan_and_infinity) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  test_tensor<f32> x({2, 5}, layout::contiguous, {1, 2, std::nan(""), 3, 4, 1, inf, 2, 3, 4});
  const values layer = values_of(fg::layer_norm(test_stream<host>(), x.in(), {5}));
  for (const double y : layer) EXPECT_TRUE(std::isnan(y));
  const values rms = values_of(fg::rms_norm(test_stream<host>(), x.in(), {5}));
  for (std::size_t k = 0; k < 5; ++k) EXPECT_TRUE(std::isnan(rms[k]));
  for (std::size_t k = 5; k < 10; ++k) EXPECT_TRUE(k == 6 ? std::isnan(rms[k]) : rms[k] == 0) << k;
}

TYPED_TEST(norm_layouts, numbers_whose_sum_is_infinite) {
  const auto& stream = test_stream<TypeParam>();
  for (const i64 n : {60, 100, 200, 1000})
    for (const double large : {1e12, 1e17, 1e25, 1e30, 1e36}) {
      test_tensor<f32, TypeParam> x({2, n}, layout::contiguous,
                                    values(static_cast<std::size_t>(2 * n), large));
      test_tensor<f32, TypeParam> out({2, n});
      fg::layer_norm(stream, x.in(), {n}, std::nullopt, std::nullopt, out.view());
      for (const double y : out.read()) ASSERT_EQ(y, 0) << large << ' ' << n;
    }
}

// Copies of all strided rows have room, those of the wide residual twice: read, and written back.
TYPED_TEST(norm_layouts, adds_wide_residuals_in_strided_rows) {
  const shape sizes{2, 6001};
  test_tensor<bf16, TypeParam> x(sizes, layout::strided, random_values(sizes, -3, 4));
  test_tensor<f32, TypeParam> residual(sizes, layout::strided, random_values(sizes));
  test_tensor<bf16, TypeParam> weight({6001}, layout::strided, random_values({6001}));
  values sum = residual.values();
  for (std::size_t k = 0; k < sum.size(); ++k)
    sum[k] = static_cast<float>(static_cast<float>(sum[k]) + static_cast<float>(x.values()[k]));
  fg::fused_add_rms_norm(test_stream<TypeParam>(), x.view(), residual.view(), weight.in(), 1e-3);
  expect_equal(residual.read(), sum);
  expect_close<bf16>(x.read(), reference(sum, 6001, weight.values(), {}, 1e-3, false),
                     near<bf16>());
  EXPECT_TRUE(x.gaps_untouched());
  EXPECT_TRUE(residual.gaps_untouched());
}

// The squares of the differences from the first element are infinite, the variance is not.
TYPED_TEST(norm_layouts, begins_with_an_outlier) {
  for (const i64 n : {50, 1000, 40000}) {
    values v = random_values(shape{n});
    v[0] = 1e18;
    test_tensor<f32, TypeParam> x({1, n}, layout::contiguous, v);
    expect_close<f32>(values_of(fg::layer_norm(test_stream<TypeParam>(), x.in(), {n})),
                      reference(x.values(), static_cast<std::size_t>(n), {}, {}, 1e-5, true),
                      tolerance{1e-4, 1e-4});
  }
}

TEST(norm, refuses_bad_arguments) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({4, 6}, layout::contiguous, random_values({4, 6}));
  test_tensor<f32> out({4, 6}), w({6}), five({5});
  EXPECT_RAISES(fg::layer_norm(stream, x.in(), {}, w.in(), w.in(), out.view()), invalid_argument,
                "layer_norm");
  EXPECT_RAISES(fg::layer_norm(stream, x.in(), {5}, five.in(), five.in(), out.view()),
                shape_mismatch, "layer_norm");
  EXPECT_RAISES(fg::layer_norm(stream, x.in(), {2, 4, 6}, w.in(), w.in(), out.view()),
                shape_mismatch, "layer_norm");
  EXPECT_RAISES(fg::layer_norm(stream, x.in(), {6}, five.in(), w.in(), out.view()), shape_mismatch,
                "layer_norm");
  EXPECT_RAISES(fg::layer_norm(stream, x.in(), {6}, w.in(), five.in(), out.view()), shape_mismatch,
                "layer_norm");
  EXPECT_RAISES(fg::layer_norm(stream, x.in(), {6}, w.in(), w.in(), out.view().t()), shape_mismatch,
                "layer_norm");
  EXPECT_RAISES(fg::layer_norm(stream, x.in(), {6}, out.view().select(0, 1), w.in(), out.view()),
                overlap, "layer_norm");
  EXPECT_RAISES(fg::rms_norm(stream, x.in(), {6}, five.in(), out.view()), shape_mismatch,
                "rms_norm");
  EXPECT_RAISES(
      fg::rms_norm(stream, x.view().narrow(0, 0, 3), {6}, w.in(), x.view().narrow(0, 1, 3)),
      overlap, "rms_norm");
  EXPECT_RAISES(
      fg::rms_norm(stream, x.in(), {6}, w.in(), out.view().narrow(0, 0, 1).expand({4, 6})), overlap,
      "rms_norm");
  EXPECT_RAISES(fg::fused_add_rms_norm(stream, x.view(), out.view(), five.in()), shape_mismatch,
                "fused_add_rms_norm");
  EXPECT_RAISES(fg::fused_add_rms_norm(stream, x.view(), x.view(), w.in()), overlap,
                "fused_add_rms_norm");
  EXPECT_RAISES(fg::fused_add_rms_norm(stream, x.view(), out.view().narrow(0, 0, 3), w.in()),
                shape_mismatch, "fused_add_rms_norm");
  EXPECT_RAISES(fg::fused_add_rms_norm(stream, x.view(), out.view(), x.view().select(0, 0)),
                overlap, "fused_add_rms_norm");
  EXPECT_TRUE(x.untouched());
  EXPECT_TRUE(out.untouched());
}

}  // namespace
}  // namespace flaggems_test
