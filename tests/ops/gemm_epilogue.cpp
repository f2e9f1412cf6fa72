// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products that store an expression over their sums.
#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/gemm_epilogue.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/rounding.hpp>
#include <support/gemm.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace flaggems_test {
namespace {

using fg::epilogue, fg::product;
using fg::i32, fg::i8, fg::u8;

/// The one form of the tests in f32: each is an instance of every kernel.
template <class Scale, class Bias, class Residual>
auto scaled_silu(const Scale& scale, const Bias& bias, const Residual& residual) {
  return epilogue(fg::silu(product * scale + bias) + residual);
}
template <class View>
auto scaled_silu(const View& everything) {
  return scaled_silu(everything, everything, everything);
}

/// silu(product * scale[row] + bias[column]) + residual, everything in layouts of their own.
template <class D, class T>
void check_linear(i64 m, i64 n, i64 k, layout lx, layout lw, layout lo, layout lr) {
  SCOPED_TRACE(std::string(to_string(lx)) + " * " + to_string(lw) + " to " + to_string(lo) + ", " +
               to_string(lr) + ", " + fg::to_string(shape{m, n, k}));
  test_tensor<T, D> x({m, k}, lx, random_values({m, k}));
  test_tensor<T, D> w({n, k}, lw, random_values({n, k}));
  test_tensor<f32, D> scale({m, 1}, layout::contiguous, random_values({m, 1}));
  test_tensor<T, D> bias({n}, layout::strided, random_values({n}));
  test_tensor<T, D> residual({m, n}, lr, random_values({m, n}));
  test_tensor<T, D> out({m, n}, lo);
  fg::linear(test_stream<D>(), x.in(), w.in(), out.view(),
             scaled_silu(scale.in(), bias.in(), residual.in()));
  auto want = sums_of(x.values(), w.values(), m, n, k);
  for (i64 e = 0; e < m * n; ++e)
    want[index(e)] =
        silu(want[index(e)] * scale.values()[index(e / n)] + bias.values()[index(e % n)]) +
        residual.values()[index(e)];
  expect_close<T>(out.read(), want, sum_tolerance<T>(k));
  EXPECT_TRUE(out.gaps_untouched());
  EXPECT_TRUE(x.untouched() && w.untouched() && residual.untouched());
}

template <class Device>
class gemm_epilogue : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(gemm_epilogue, devices);

// Formulas of 16 bits, whose functions SIMT devices have in shorter forms; both forms of gelu.
TYPED_TEST(gemm_epilogue, formulas_of_bf16) {
  constexpr i64 m = 40, n = 72, k = 64;
  test_tensor<bf16, TypeParam> x({m, k}, layout::contiguous, random_values({m, k}));
  test_tensor<bf16, TypeParam> w({n, k}, layout::contiguous, random_values({n, k}));
  test_tensor<bf16, TypeParam> bias({n}, layout::contiguous, random_values({n}));
  test_tensor<bf16, TypeParam> residual({m, n}, layout::contiguous, random_values({m, n}));
  const auto sums = sums_of(x.values(), w.values(), m, n, k);
  const auto check = [&](const auto& formula, const auto& want_of) {
    test_tensor<bf16, TypeParam> out({m, n}, layout::contiguous);
    fg::linear(test_stream<TypeParam>(), x.in(), w.in(), out.view(), epilogue(formula));
    std::vector<double> want(index(m * n));
    for (i64 e = 0; e < m * n; ++e)
      want[index(e)] =
          want_of(sums[index(e)] + bias.values()[index(e % n)]) + residual.values()[index(e)];
    expect_close<bf16>(out.read(), want, sum_tolerance<bf16>(k));
  };
  const auto sum = product + bias.in();
  check(fg::gelu(sum) + residual.in(),
        [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); });
  check(fg::gelu(sum, fg::gelu_approximate::tanh) + residual.in(), [](double v) {
    return v / 2 * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
  });
  check(fg::silu(sum) + residual.in(), [](double v) { return silu(v); });
}

// Sizes that take each of the host's kernels.
TYPED_TEST(gemm_epilogue, sizes) {
  at_every_level<TypeParam>([] {
    for (const shape& at :
         {shape{1, 1, 1}, shape{1, 70, 100}, shape{4, 90, 30}, shape{70, 3, 200}, shape{20, 21, 22},
          shape{70, 90, 40}, shape{33, 101, 700}, shape{5, 6, 0}})
      check_linear<TypeParam, f32>(at[0], at[1], at[2], layout::contiguous, layout::contiguous,
                                   layout::contiguous, layout::contiguous);
  });
}

TYPED_TEST(gemm_epilogue, layouts) {
  for (const layout lo : output_layouts)
    for (const layout lr : {layout::contiguous, layout::transposed, layout::broadcast}) {
      check_linear<TypeParam, f32>(9, 19, 37, layout::contiguous, layout::transposed, lo, lr);
      check_linear<TypeParam, f32>(70, 30, 80, layout::transposed, layout::contiguous, lo, lr);
    }
}

TYPED_TEST(gemm_epilogue, batches) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> a({3, 9, 20}, layout::contiguous, random_values({3, 9, 20}));
  test_tensor<f32, D> w({17, 20}, layout::contiguous, random_values({17, 20}));
  test_tensor<f32, D> scale({3, 1, 1}, layout::contiguous, random_values({3, 1, 1}));
  test_tensor<f32, D> out({3, 9, 17}, layout::offset);
  auto want = sums_of(a.values(), w.values(), 27, 17, 20);
  for (std::size_t e = 0; e < want.size(); ++e) want[e] *= scale.values()[e / (9 * 17)];
  fg::linear(s, a.in(), w.in(), out.view(), epilogue(product * scale.in()));
  expect_close<f32>(out.read(), want, sum_tolerance<f32>(20));
  test_tensor<f32, D> again({3, 9, 17}, layout::transposed);
  fg::bmm(s, a.in(), w.in().t().unsqueeze(0), again.view(), epilogue(product * scale.in()));
  expect_close<f32>(again.read(), want, sum_tolerance<f32>(20));
  EXPECT_TRUE(out.gaps_untouched() && again.gaps_untouched());
  // In new tensors.
  const auto made = fg::linear(s, a.in(), w.in(), epilogue(product * scale.in()));
  static_assert(std::is_same_v<decltype(made), const fg::tensor<f32, D>>);
  EXPECT_EQ(made.shape_of(), (shape{3, 9, 17}));
  expect_close<f32>(values_of(made), want, sum_tolerance<f32>(20));
  expect_close<f32>(
      values_of(fg::bmm(s, a.in(), w.in().t().unsqueeze(0), epilogue(product * scale.in()))), want,
      sum_tolerance<f32>(20));
}

// The residual is the output, of more terms than a block has: what it holds must live until then.
TYPED_TEST(gemm_epilogue, in_place) {
  using D = TypeParam;
  for (const shape& at : {shape{7, 9, 30}, shape{35, 50, 1300}}) {
    const i64 m = at[0], n = at[1], k = at[2];
    test_tensor<f32, D> a({m, k}, layout::contiguous, random_values({m, k}));
    test_tensor<f32, D> b({k, n}, layout::contiguous, random_values({k, n}));
    test_tensor<f32, D> out({m, n}, layout::contiguous, random_values({m, n}));
    auto want = out.values();
    for (i64 i = 0; i < m; ++i)
      for (i64 j = 0; j < n; ++j) {
        double sum = 0;
        for (i64 q = 0; q < k; ++q)
          sum += a.values()[index(i * k + q)] * b.values()[index(q * n + j)];
        want[index(i * n + j)] += 2 * sum;
      }
    fg::mm(test_stream<D>(), a.in(), b.in(), out.view(), epilogue(product * 2 + out.in()));
    expect_close<f32>(out.read(), want, sum_tolerance<f32>(2 * k));
    test_tensor<f32, D> residual({m, n}, layout::contiguous, out.values());
    expect_close<f32>(
        values_of(fg::mm(test_stream<D>(), a.in(), b.in(), epilogue(product * 2 + residual.in()))),
        want, sum_tolerance<f32>(2 * k));
  }
}

// Both at once, by the operators with batches.
TYPED_TEST(gemm_epilogue, batches_in_place) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const shape& at : {shape{3, 9, 17, 20}, shape{1, 35, 50, 1300}}) {
    const i64 batch = at[0], m = at[1], n = at[2], k = at[3];
    test_tensor<f32, D> a({batch, m, k}, layout::contiguous, random_values({batch, m, k}));
    test_tensor<f32, D> w({n, k}, layout::contiguous, random_values({n, k}));
    test_tensor<f32, D> scale({batch, 1, 1}, layout::contiguous, random_values({batch, 1, 1}));
    test_tensor<f32, D> bias({n}, layout::contiguous, random_values({n}));
    test_tensor<f32, D> out({batch, m, n}, layout::offset, random_values({batch, m, n}));
    test_tensor<f32, D> again({batch, m, n}, layout::transposed, out.values());
    auto want = sums_of(a.values(), w.values(), batch * m, n, k);
    for (std::size_t e = 0; e < want.size(); ++e)
      want[e] = silu(want[e] * scale.values()[e / index(m * n)] + bias.values()[e % index(n)]) +
                out.values()[e];
    fg::linear(s, a.in(), w.in(), out.view(), scaled_silu(scale.in(), bias.in(), out.in()));
    expect_close<f32>(out.read(), want, sum_tolerance<f32>(k));
    fg::bmm(s, a.in(), w.in().t().unsqueeze(0), again.view(),
            scaled_silu(scale.in(), bias.in(), again.in()));
    expect_close<f32>(again.read(), want, sum_tolerance<f32>(k));
    EXPECT_TRUE(out.gaps_untouched() && again.gaps_untouched());
  }
}

/// Scales of rows and columns make floats of integer sums.
template <class D, class A, class Out>
void check_integers(i64 m, i64 n, i64 k) {
  SCOPED_TRACE(fg::to_string(shape{m, n, k}));
  test_tensor<A, D> x(
      {m, k}, layout::contiguous,
      random_integers({m, k}, std::is_same_v<A, i8> ? -128 : 0, std::is_same_v<A, i8> ? 127 : 255));
  test_tensor<i8, D> w({n, k}, layout::contiguous, random_integers({n, k}, -128, 127));
  test_tensor<f32, D> row({m, 1}, layout::contiguous, random_values({m, 1}));
  test_tensor<f32, D> column({n}, layout::contiguous, random_values({n}));
  test_tensor<Out, D> out({m, n});
  fg::linear(test_stream<D>(), x.in(), w.in(), out.view(),
             epilogue(product * row.in() * column.in() * 1e-4F));
  auto want = sums_of(x.values(), w.values(), m, n, k);
  for (i64 e = 0; e < m * n; ++e)
    want[index(e)] *= row.values()[index(e / n)] * column.values()[index(e % n)] * 1e-4;
  expect_close<Out>(out.read(), want, tolerance_of<Out>());
}
TYPED_TEST(gemm_epilogue, integers_to_floats) {
  at_every_level<TypeParam>([] {
    for (const shape& at : {shape{1, 30, 70}, shape{20, 33, 40}, shape{37, 70, 1500}}) {
      check_integers<TypeParam, i8, f32>(at[0], at[1], at[2]);
      if constexpr (std::is_same_v<TypeParam, host>)
        check_integers<TypeParam, u8, bf16>(at[0], at[1], at[2]);
    }
  });
}

/// silu(even + bias) * odd + residual over pairs of columns, the first part in a tensor of its own
/// as well.
template <class D, class T>
void check_gates(i64 m, i64 n, i64 k, layout lo, layout ls) {
  SCOPED_TRACE(std::string(to_string(lo)) + ", " + to_string(ls) + ", " +
               fg::to_string(shape{m, n, k}));
  test_tensor<T, D> x({m, k}, layout::contiguous, random_values({m, k}));
  test_tensor<T, D> w({2 * n, k}, layout::contiguous, random_values({2 * n, k}));
  test_tensor<T, D> bias({n}, layout::contiguous, random_values({n}));
  test_tensor<T, D> residual({m, n}, layout::contiguous, random_values({m, n}));
  test_tensor<T, D> out({m, n}, lo), gate({m, n}, ls);
  fg::linear(test_stream<D>(), x.in(), w.in(), out.view(),
             epilogue(fg::silu(fg::also_store(gate.view(), fg::product_even + bias.in())) *
                          fg::product_odd +
                      residual.in()));
  const auto sums = sums_of(x.values(), w.values(), m, 2 * n, k), got = out.read();
  const tolerance each = sum_tolerance<T>(k);
  std::vector<double> gates(index(m * n));
  for (i64 e = 0; e < m * n; ++e) {
    const double opened = sums[index(2 * e)] + bias.values()[index(e % n)],
                 up = sums[index(2 * e + 1)];
    const double want = silu(opened) * up + residual.values()[index(e)];
    // What a sum is off by is multiplied by the other one.
    const auto of_sum = [&](double v) { return each.atol + each.rtol * std::abs(v); };
    EXPECT_NEAR(
        got[index(e)], want,
        1.2 * of_sum(opened) * std::abs(up) + of_sum(up) * std::abs(silu(opened)) + of_sum(want))
        << e;
    gates[index(e)] = opened;
  }
  expect_close<T>(gate.read(), gates, sum_tolerance<T>(k));
  EXPECT_TRUE(out.gaps_untouched() && gate.gaps_untouched());
}
// Sizes that take kernels of few rows, tiles and, aligned, warp groups, whole and in part.
TYPED_TEST(gemm_epilogue, pairs_of_columns) {
  using D = TypeParam;
  at_every_level<D>([] {
    for (const shape& at : {shape{1, 8, 16}, shape{5, 12, 30}, shape{20, 21, 22}, shape{70, 45, 40},
                            shape{33, 10, 700}, shape{3, 4, 0}})
      check_gates<D, f32>(at[0], at[1], at[2], layout::contiguous, layout::contiguous);
  });
  for (const layout lo : output_layouts) check_gates<D, f32>(19, 26, 20, lo, layout::transposed);
  for (const shape& at :
       {shape{70, 72, 64}, shape{40, 45, 64}, shape{150, 68, 80}, shape{9, 30, 64}})
    check_gates<D, bf16>(at[0], at[1], at[2], layout::contiguous, layout::offset);
  check_gates<D, bf16>(70, 72, 64, layout::transposed, layout::strided);
}
TYPED_TEST(gemm_epilogue, pairs_in_batches_and_new_tensors) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> a({3, 20, 12}, layout::contiguous, random_values({3, 20, 12}));
  test_tensor<f32, D> w({34, 12}, layout::contiguous, random_values({34, 12}));
  const auto sums = sums_of(a.values(), w.values(), 60, 34, 12);
  std::vector<double> want(60 * 17);
  for (std::size_t e = 0; e < want.size(); ++e) want[e] = sums[2 * e] - sums[2 * e + 1];
  const auto formula = epilogue(fg::product_even - fg::product_odd);
  const auto made = fg::linear(s, a.in(), w.in(), formula);
  EXPECT_EQ(made.shape_of(), (shape{3, 20, 17}));
  expect_close<f32>(values_of(made), want, sum_tolerance<f32>(12));
  const auto by_batches = fg::bmm(s, a.in(), w.in().t().unsqueeze(0), formula);
  EXPECT_EQ(by_batches.shape_of(), (shape{3, 20, 17}));
  expect_close<f32>(values_of(by_batches), want, sum_tolerance<f32>(12));
  expect_close<f32>(values_of(fg::mm(s, a.in().reshape({60, 12}), w.in().t(), formula)), want,
                    sum_tolerance<f32>(12));
}

/// relu(product + bias), and what relu is given.
template <class D, class T>
void check_stored(i64 m, i64 n, i64 k, layout lo, layout ls) {
  SCOPED_TRACE(std::string(to_string(lo)) + ", " + to_string(ls) + ", " +
               fg::to_string(shape{m, n, k}));
  test_tensor<T, D> x({m, k}, layout::contiguous, random_values({m, k}));
  test_tensor<T, D> w({n, k}, layout::contiguous, random_values({n, k}));
  test_tensor<T, D> bias({n}, layout::contiguous, random_values({n}));
  test_tensor<T, D> out({m, n}, lo), before({m, n}, ls);
  fg::linear(test_stream<D>(), x.in(), w.in(), out.view(),
             epilogue(fg::maximum(fg::also_store(before.view(), product + bias.in()), 0)));
  auto want = sums_of(x.values(), w.values(), m, n, k);
  for (i64 e = 0; e < m * n; ++e) want[index(e)] += bias.values()[index(e % n)];
  expect_close<T>(before.read(), want, sum_tolerance<T>(k));
  for (double& v : want) v = std::max(v, 0.0);
  expect_close<T>(out.read(), want, sum_tolerance<T>(k));
  EXPECT_TRUE(out.gaps_untouched() && before.gaps_untouched());
}
TYPED_TEST(gemm_epilogue, a_second_result) {
  using D = TypeParam;
  at_every_level<D>([] {
    for (const shape& at : {shape{1, 70, 100}, shape{4, 90, 30}, shape{70, 3, 200},
                            shape{20, 21, 22}, shape{33, 101, 700}, shape{5, 6, 0}})
      check_stored<D, f32>(at[0], at[1], at[2], layout::contiguous, layout::contiguous);
  });
  for (const layout ls : output_layouts) check_stored<D, f32>(19, 26, 20, layout::transposed, ls);
  for (const shape& at : {shape{70, 136, 64}, shape{40, 45, 64}, shape{9, 80, 64}})
    check_stored<D, bf16>(at[0], at[1], at[2], layout::contiguous, layout::offset);
}

// Results of 8 bits: floats by a scale, integers rounded and cut.
TYPED_TEST(gemm_epilogue, results_of_8_bits) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const shape& at : {shape{4, 50, 64}, shape{70, 72, 64}}) {
    const i64 m = at[0], n = at[1], k = at[2];
    test_tensor<bf16, D> x({m, k}, layout::contiguous, random_values({m, k}));
    test_tensor<bf16, D> w({n, k}, layout::contiguous, random_values({n, k}));
    test_tensor<fg::f8e4m3, D> floats({m, n});
    test_tensor<i8, D> integers({m, n});
    fg::linear(s, x.in(), w.in(), floats.view(), epilogue(product * 0.25F));
    fg::linear(s, x.in(), w.in(), integers.view(),
               epilogue(fg::cast<i8>(fg::clamp(fg::round(product * 40.0F), -128, 127))));
    const auto sums = sums_of(x.values(), w.values(), m, n, k);
    std::vector<double> want(sums.size());
    for (std::size_t e = 0; e < want.size(); ++e) want[e] = sums[e] * 0.25;
    expect_close<fg::f8e4m3>(floats.read(), want, {0.07, 1e-3});
    const auto got = integers.read();
    for (std::size_t e = 0; e < want.size(); ++e)
      EXPECT_NEAR(got[e], std::clamp(std::nearbyint(sums[e] * 40), -128.0, 127.0), 1) << e;
  }
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(gemm_epilogue_types, bf16_on_the_host) {
  at_every_level<host>([] {
    for (const shape& at : {shape{1, 70, 100}, shape{40, 50, 700}, shape{9, 80, 192}})
      check_linear<host, bf16>(at[0], at[1], at[2], layout::contiguous, layout::contiguous,
                               layout::contiguous, layout::contiguous);
  });
}
TEST(gemm_epilogue_types, product_as_f64) {
  test_tensor<double> a({20, 30}, layout::contiguous, random_values({20, 30}));
  test_tensor<double> w({90, 30}, layout::contiguous, random_values({90, 30}));
  test_tensor<double> out({20, 90});
  fg::linear(test_stream<host>(), a.in(), w.in(), out.view(), epilogue(fg::product_as<double> + 1));
  auto want = sums_of(a.values(), w.values(), 20, 90, 30);
  for (double& x : want) x += 1;
  expect_close<double>(out.read(), want, sum_tolerance<double>(30));
}
// The sums themselves: to another type than the operands', and of integers.
TEST(gemm_epilogue_types, sums_as_they_are) {
  test_tensor<bf16> a({20, 30}, layout::contiguous, random_values({20, 30}));
  test_tensor<bf16> w({90, 30}, layout::contiguous, random_values({90, 30}));
  test_tensor<f32> out({20, 90}), plain({20, 90});
  fg::linear(test_stream<host>(), a.in(), w.in(), out.view(), epilogue(product));
  fg::linear(test_stream<host>(), a.in(), w.in(), plain.view());
  expect_equal(out.read(), plain.read());
  test_tensor<i8> x({20, 30}, layout::contiguous, random_integers({20, 30}, -128, 127));
  test_tensor<i8> y({90, 30}, layout::contiguous, random_integers({90, 30}, -128, 127));
  test_tensor<i32> sums({20, 90});
  fg::linear(test_stream<host>(), x.in(), y.in(), sums.view(), epilogue(fg::product_as<i32> + 7));
  auto want = sums_of(x.values(), y.values(), 20, 90, 30);
  for (double& e : want) e += 7;
  expect_equal(sums.read(), want);
}

TEST(gemm_epilogue_types, same_bits_with_any_number_of_threads) {
  test_tensor<f32> x({70, 900}, layout::contiguous, random_values({70, 900}));
  test_tensor<f32> w({130, 900}, layout::contiguous, random_values({130, 900}));
  test_tensor<f32> aux({130}, layout::contiguous, random_values({130}));
  std::vector<double> first;
  for (const int threads : {1, 2, 5}) {
    host::set_num_threads(threads);
    test_tensor<f32> out({70, 130});
    fg::linear(test_stream<host>(), x.in(), w.in(), out.view(), scaled_silu(aux.in()));
    if (threads == 1)
      first = out.read();
    else
      expect_equal(out.read(), first);
  }
}

TEST(gemm_epilogue_errors, bad_input) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3, 4}), w({5, 4}), out({3, 5}), bias({4}), rows({3}), cube({1, 3, 5});
  const auto mismatch = fg::errc::shape_mismatch;
  EXPECT_EQ(code_of([&] { fg::linear(s, x.in(), w.in(), out.view(), scaled_silu(bias.in())); }),
            mismatch);
  EXPECT_EQ(code_of([&] { fg::linear(s, x.in(), w.in(), out.view(), scaled_silu(rows.in())); }),
            mismatch);
  EXPECT_EQ(code_of([&] { fg::linear(s, x.in(), w.in(), out.view(), scaled_silu(cube.in())); }),
            mismatch);
  EXPECT_EQ(code_of([&] { fg::linear(s, x.in(), w.in(), x.view(), scaled_silu(bias.in())); }),
            mismatch);
  EXPECT_EQ(code_of([&] { fg::mm(s, x.in(), w.in(), out.view(), scaled_silu(bias.in())); }),
            mismatch);
  EXPECT_EQ(code_of([&] {
              fg::linear(s, x.in(), w.in(), out.view(), scaled_silu(out.in().narrow(0, 0, 1)));
            }),
            fg::errc::overlap);
  test_tensor<f32> square({4, 4});
  EXPECT_EQ(code_of([&] {
              fg::linear(s, square.in(), square.in(), square.view(), scaled_silu(bias.in()));
            }),
            fg::errc::overlap);
  // A second result of other sizes, or that lies where another tensor does; half a pair.
  EXPECT_EQ(code_of([&] {
              fg::linear(s, x.in(), w.in(), out.view(),
                         epilogue(fg::also_store(out.view(), product) + 1));
            }),
            fg::errc::overlap);
  EXPECT_EQ(code_of([&] {
              fg::linear(s, x.in(), w.in(), out.view(),
                         epilogue(fg::also_store(x.view().narrow(0, 0, 1), product) + 1));
            }),
            mismatch);
  EXPECT_EQ(code_of([&] {
              fg::linear(s, square.in(), w.in().narrow(0, 0, 4), out.view().narrow(1, 0, 4),
                         epilogue(fg::also_store(square.view(), product) + 1));
            }),
            mismatch);
  EXPECT_EQ(code_of([&] { fg::linear(s, x.in(), w.in(), out.view(), epilogue(fg::product_even)); }),
            mismatch);
  EXPECT_TRUE(out.untouched() && x.untouched() && square.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
