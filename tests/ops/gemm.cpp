// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/expr.hpp>
#include <flaggems/ops/gemm.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using fg::i8;

std::size_t index(i64 i) { return static_cast<std::size_t>(i); }

/// out[i, j] = sum of a[i, q] * b[q, j] over row-major values.
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, i64 m,
                            i64 n, i64 k) {
  std::vector<double> out(index(m * n));
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j)
      for (i64 q = 0; q < k; ++q)
        out[index(i * n + j)] += a[index(i * k + q)] * b[index(q * n + j)];
  return out;
}
std::vector<double> transposed(const std::vector<double>& a, i64 m, i64 n) {
  std::vector<double> t(a.size());
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j) t[index(j * m + i)] = a[index(i * n + j)];
  return t;
}

/// What sums of k products of numbers below 2 in magnitude may be off by.
template <class T>
tolerance sum_tolerance(i64 k) {
  tolerance tol = tolerance_of<T>();
  const double unit = sizeof(T) == 8 ? 1e-15 : 2e-7;
  tol.atol = unit * 4 * static_cast<double>(k + 1);
  return tol;
}

template <class D, class A, class B = A, class Out = A>
void check_mm(i64 m, i64 n, i64 k, layout la, layout lb, layout lo) {
  SCOPED_TRACE(std::string(to_string(la)) + " * " + to_string(lb) + " to " + to_string(lo) + ", " +
               fg::to_string(shape{m, n, k}));
  test_tensor<A, D> a({m, k}, la, random_values({m, k}));
  test_tensor<B, D> b({k, n}, lb, random_values({k, n}));
  test_tensor<Out, D> out({m, n}, lo);
  fg::mm(test_stream<D>(), a.in(), b.in(), out.view());
  expect_close<Out>(out.read(), product(a.values(), b.values(), m, n, k), sum_tolerance<Out>(k));
  EXPECT_TRUE(out.gaps_untouched());
  EXPECT_TRUE(a.untouched() && b.untouched());
}

template <class Case>
class gemm_test : public ::testing::Test {};
TYPED_TEST_SUITE(gemm_test, float_cases);

TYPED_TEST(gemm_test, sizes) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 m : {1, 3, 4, 5, 33})
      for (const i64 n : {1, 4, 7, 150})
        for (const i64 k : {0, 1, 15, 40, 300}) {
          check_mm<D, T>(m, n, k, layout::contiguous, layout::contiguous, layout::contiguous);
          check_mm<D, T>(m, n, k, layout::contiguous, layout::transposed, layout::contiguous);
        }
  });
}

template <class Device>
class gemm_layouts : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(gemm_layouts, devices);

TYPED_TEST(gemm_layouts, all) {
  at_every_level<TypeParam>([] {
    for (const layout a : input_layouts)
      for (const layout b : input_layouts)
        for (const layout to : output_layouts) {
          check_mm<TypeParam, f32>(5, 19, 37, a, b, to);
          check_mm<TypeParam, f32>(1, 9, 21, a, b, to);
        }
  });
}

// Chips read the other matrix by packs, along the sum or across it, in parts; those with matrix
// units take tiles for more than 1 row of 16 bits.
TYPED_TEST(gemm_layouts, few_rows) {
  using D = TypeParam;
  for (const i64 m : {1, 3, 16}) {
    check_mm<D, f32>(m, 37, 1036, layout::contiguous, layout::transposed, layout::contiguous);
    check_mm<D, f32>(m, 72, 1100, layout::contiguous, layout::contiguous, layout::strided);
    check_mm<D, bf16>(m, 37, 1032, layout::contiguous, layout::transposed, layout::contiguous);
  }
  // More tiles than blocks that run at once.
  check_mm<D, bf16>(3, 4230, 136, layout::contiguous, layout::transposed, layout::contiguous);
  check_mm<D, bf16>(9, 8450, 136, layout::contiguous, layout::transposed, layout::contiguous);
  check_mm<D, bf16>(2, 72, 700, layout::contiguous, layout::contiguous, layout::contiguous);
  check_mm<D, bf16>(70, 9, 264, layout::contiguous, layout::transposed, layout::contiguous);
}

// ... by blocks that have several tiles each, and fewer threads than asked for.
template <class Kernel, class D, class T>
void check_few_blocks(i64 m, i64 n, i64 k, int rows, int columns,
                      std::initializer_list<int> block_sizes) {
  namespace fk = fg::kernels;
  test_tensor<T, D> a({m, k}, layout::contiguous, random_values({m, k}));
  test_tensor<T, D> b({n, k}, layout::contiguous, random_values({n, k}));
  const auto want = product(a.values(), transposed(b.values(), n, k), m, n, k);
  for (const int threads : block_sizes)
    for (const int sharing : {0, 1, 3}) {
      SCOPED_TRACE(fg::to_string(shape{m, n, k, threads, sharing}));
      const i64 at_once = (Kernel::max_threads / 32 >> sharing) * columns;
      const i64 row_tiles = fk::ceil_div(m, i64{rows}), column_tiles = fk::ceil_div(n, at_once);
      const auto narrow = [](i64 x) { return static_cast<fg::i32>(x); };
      const fk::skinny_space space{1,
                                   narrow(m),
                                   narrow(n),
                                   narrow(k),
                                   rows,
                                   narrow(at_once),
                                   fg::detail::divider_by(row_tiles),
                                   fg::detail::divider_by(column_tiles),
                                   static_cast<fg::u32>(row_tiles * column_tiles),
                                   sharing};
      test_tensor<T, D> out({m, n}, layout::contiguous);
      fg::launch_config config;
      config.op = "few rows";
      config.threads = threads;
      config.tiles = 2;
      config.scratch = Kernel::most_scratch;
      fg::launch<Kernel>(test_stream<D>(), config, space, fk::skinny_arg<T>{a.in().data(), k, 1, 0},
                         fk::skinny_arg<T>{b.in().data(), k, 1, 0},
                         fk::skinny_out<T, f32>{out.view().data(), n, 1, 0, 1.0F}, fk::no_bias{});
      expect_close<T>(out.read(), want, sum_tolerance<T>(k));
    }
}
TYPED_TEST(gemm_layouts, few_rows_by_few_blocks) {
  using D = TypeParam;
  if constexpr (!fg::host_accessible<D>) {
    using namespace fg::kernels;
    const auto sizes = {64, 192, 256};
    check_few_blocks<gemm_skinny<f32, f32, f32, f32, no_bias, 1, 4, 32, 2, 256>, D, f32>(
        1, 77, 1036, 1, 4, sizes);
    check_few_blocks<gemm_skinny<f32, f32, f32, f32, no_bias, 4, 4, 32, 1, 256>, D, f32>(
        7, 77, 260, 4, 4, sizes);
    check_few_blocks<gemm_skinny_tiles<bf16, bf16, no_bias, 1, 1, 2, 256>, D, bf16>(7, 77, 520, 8,
                                                                                    16, {256});
  }
}

TYPED_TEST(gemm_layouts, mv) {
  using D = TypeParam;
  for (const layout la : input_layouts)
    for (const layout lx : {layout::contiguous, layout::strided, layout::negative}) {
      test_tensor<f32, D> a({23, 70}, la, random_values({23, 70}));
      test_tensor<f32, D> x({70}, lx, random_values({70}));
      test_tensor<f32, D> out({23}, layout::strided);
      fg::mv(test_stream<D>(), a.in(), x.in(), out.view());
      expect_close<f32>(out.read(), product(a.values(), x.values(), 23, 1, 70),
                        sum_tolerance<f32>(70));
      EXPECT_TRUE(out.gaps_untouched());
    }
}

TYPED_TEST(gemm_layouts, bmm) {
  using D = TypeParam;
  for (const i64 batch_a : {3, 1})
    for (const i64 batch_b : {3, 1})
      for (const layout lb : {layout::contiguous, layout::transposed, layout::negative}) {
        const i64 batch = (std::max)(batch_a, batch_b);
        test_tensor<f32, D> a({batch_a, 5, 33}, layout::contiguous,
                              random_values({batch_a, 5, 33}));
        test_tensor<f32, D> b({batch_b, 33, 18}, lb, random_values({batch_b, 33, 18}));
        test_tensor<f32, D> out({batch, 5, 18}, layout::transposed);
        fg::bmm(test_stream<D>(), a.in(), b.in(), out.view());
        std::vector<double> want;
        for (i64 k = 0; k < batch; ++k) {
          const auto part = [k](const auto& values, i64 of, i64 size) {
            const auto first = values.begin() + (of == 1 ? 0 : k * size);
            return std::vector<double>(first, first + size);
          };
          const auto one = product(part(a.values(), batch_a, 5 * 33),
                                   part(b.values(), batch_b, 33 * 18), 5, 18, 33);
          want.insert(want.end(), one.begin(), one.end());
        }
        expect_close<f32>(out.read(), want, sum_tolerance<f32>(33));
        EXPECT_TRUE(out.gaps_untouched());
      }
}

TYPED_TEST(gemm_layouts, linear) {
  using D = TypeParam;
  at_every_level<D>([] {
    for (const layout lx : input_layouts)
      for (const layout lw : {layout::contiguous, layout::transposed, layout::strided})
        for (const bool biased : {false, true}) {
          SCOPED_TRACE(std::string(to_string(lx)) + ", weight " + to_string(lw));
          test_tensor<f32, D> x({2, 3, 5, 40}, lx, random_values({2, 3, 5, 40}));
          test_tensor<f32, D> w({21, 40}, lw, random_values({21, 40}));
          test_tensor<f32, D> bias({21}, layout::strided, random_values({21}));
          test_tensor<f32, D> out({2, 3, 5, 21}, layout::offset);
          if (biased)
            fg::linear(test_stream<D>(), x.in(), w.in(), bias.in(), out.view());
          else
            fg::linear(test_stream<D>(), x.in(), w.in(), out.view());
          auto want = product(x.values(), transposed(w.values(), 21, 40), 30, 21, 40);
          for (std::size_t e = 0; biased && e < want.size(); ++e) want[e] += bias.values()[e % 21];
          expect_close<f32>(out.read(), want, sum_tolerance<f32>(40));
          EXPECT_TRUE(out.gaps_untouched());
        }
  });
  test_tensor<f32, D> x({40}, layout::contiguous, random_values({40}));
  test_tensor<f32, D> w({21, 40}, layout::contiguous, random_values({21, 40}));
  test_tensor<f32, D> bias({21}, layout::contiguous, random_values({21}));
  auto want = product(x.values(), transposed(w.values(), 21, 40), 1, 21, 40);
  expect_close<f32>(values_of(fg::linear(test_stream<D>(), x.in(), w.in())), want,
                    sum_tolerance<f32>(40));
  for (std::size_t e = 0; e < want.size(); ++e) want[e] += bias.values()[e];
  expect_close<f32>(
      values_of(fg::linear(test_stream<D>(), x.in(), w.in(), fg::with_bias(bias.in()))), want,
      sum_tolerance<f32>(40));
  // What is const, or a temporary tensor, can only be the bias; it stays what it was.
  expect_close<f32>(values_of(fg::linear(test_stream<D>(), x.in(), w.in(), bias.in())), want,
                    sum_tolerance<f32>(40));
  expect_equal(bias.read(), bias.values());
  for (std::size_t e = 0; e < want.size(); ++e) want[e] -= bias.values()[e];
  expect_close<f32>(
      values_of(fg::linear(test_stream<D>(), x.in(), w.in(), fg::zeros(test_stream<D>(), {21}))),
      want, sum_tolerance<f32>(40));
}

TYPED_TEST(gemm_layouts, linear_of_a_vector) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const std::vector<fg::i64>& sizes :
       {std::vector<fg::i64>{40}, {7, 40}, {2, 3, 40}, {2, 0, 40}}) {
    const fg::shape rows(fg::int_list(sizes.data(), static_cast<int>(sizes.size()) - 1));
    const fg::shape all(fg::int_list(sizes.data(), static_cast<int>(sizes.size())));
    test_tensor<f32, D> x(all, layout::transposed, random_values(all));
    test_tensor<f32, D> w({40}, layout::strided, random_values({40}));
    test_tensor<f32, D> bias(fg::shape{}, layout::contiguous, random_values({1}));
    test_tensor<f32, D> out(rows, layout::contiguous);
    auto want = product(x.values(), w.values(), rows.numel(), 1, 40);
    fg::linear(s, x.in(), w.in(), out.view());
    expect_close<f32>(out.read(), want, sum_tolerance<f32>(40));
    const auto made = fg::linear(s, x.in(), w.in());
    EXPECT_EQ(made.shape_of(), rows);
    expect_close<f32>(values_of(made), want, sum_tolerance<f32>(40));
    for (auto& one : want) one += bias.values()[0];
    fg::linear(s, x.in(), w.in(), bias.in(), out.view());
    expect_close<f32>(out.read(), want, sum_tolerance<f32>(40));
    test_tensor<f32, D> two({2}, layout::contiguous, random_values({2}));
    EXPECT_EQ(code_of([&] { fg::linear(s, x.in(), w.in(), two.in(), out.view()); }),
              fg::errc::shape_mismatch);
    EXPECT_EQ(code_of([&] { fg::linear(s, x.in(), two.in(), out.view()); }),
              fg::errc::shape_mismatch);
  }
}

TYPED_TEST(gemm_layouts, addmm) {
  using D = TypeParam;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const i64 k : {0, 20, 200})
    for (const shape& sizes : {shape{7, 11}, shape{11}, shape{7, 1}, shape{1, 11}, shape{}})
      for (const double beta : {1.0, -0.5, 0.0}) {
        test_tensor<f32, D> input(
            sizes, layout::contiguous,
            beta == 0 ? std::vector<double>(index(sizes.numel()), nan) : random_values(sizes));
        test_tensor<f32, D> a({7, k}, layout::contiguous, random_values({7, k}));
        test_tensor<f32, D> b({k, 11}, layout::transposed, random_values({k, 11}));
        test_tensor<f32, D> out({7, 11}, layout::strided);
        fg::addmm(test_stream<D>(), input.in(), a.in(), b.in(), out.view(),
                  {.beta = beta, .alpha = 2.5});
        auto want = product(a.values(), b.values(), 7, 11, k);
        for (i64 i = 0; i < 7; ++i)
          for (i64 j = 0; j < 11; ++j) {
            const i64 rows = sizes.rank() == 2 && sizes[0] == 7 ? 1 : 0;
            const bool columns = sizes.rank() > 0 && sizes[sizes.rank() - 1] == 11;
            const i64 at = rows * i * (columns ? 11 : 1) + (columns ? j : 0);
            double& x = want[index(i * 11 + j)];
            x *= 2.5;
            if (beta != 0) x += beta * input.values()[index(at)];
          }
        expect_close<f32>(out.read(), want, sum_tolerance<f32>(3 * k + 3));
        EXPECT_TRUE(out.gaps_untouched());
      }
  // In place.
  test_tensor<f32, D> a({4, 9}, layout::contiguous, random_values({4, 9}));
  test_tensor<f32, D> b({9, 6}, layout::contiguous, random_values({9, 6}));
  test_tensor<f32, D> out({4, 6}, layout::contiguous, random_values({4, 6}));
  auto want = product(a.values(), b.values(), 4, 6, 9);
  for (std::size_t e = 0; e < want.size(); ++e) want[e] += out.values()[e];
  fg::addmm(test_stream<D>(), out.in(), a.in(), b.in(), out.view());
  expect_close<f32>(out.read(), want, sum_tolerance<f32>(12));
  test_tensor<f32, D> batches({2, 4, 6}, layout::contiguous, random_values({2, 4, 6}));
  fg::baddbmm(test_stream<D>(), out.in(), a.in().unsqueeze(0),
              b.in().unsqueeze(0).expand({2, 9, 6}), batches.view(), {.beta = 0});
}

// Owning tensors whose columns lie side by side, as operands and as outputs.
TYPED_TEST(gemm_layouts, of_tensors_in_another_order) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  for (const i64 n : {2, 7, 40}) {
    const shape sizes{n, n + 3}, turned{n + 3, n};
    test_tensor<f32, D> x(sizes, layout::contiguous, random_values(sizes));
    test_tensor<f32, D> w(turned, layout::contiguous, random_values(turned));
    const auto in_columns = [&](const auto& from) {
      auto to = fg::empty_strided<f32>(stream, from.shape_of(), {1, from.size(0)});
      fg::assign(stream, to, from);
      return to;
    };
    const auto a = in_columns(x.in());
    const auto b = in_columns(w.in());
    const auto want = product(x.values(), w.values(), n, n, n + 3);
    const auto expect = [&](const auto& result) {
      auto rows = fg::empty<f32>(stream, {n, n});
      fg::assign(stream, rows, result);
      expect_close<f32>(values_of(rows), want, sum_tolerance<f32>(n + 3));
    };
    auto out = fg::empty_strided<f32>(stream, {n, n}, {1, n});
    expect(fg::mm(stream, a, b));
    fg::mm(stream, a, b, out);
    expect(out.view());
    const auto weight = in_columns(w.in().t());
    expect(fg::linear(stream, a, weight));
    fg::linear(stream, a, weight, out);
    expect(out.view());
    fg::addmm(stream, out, a, b, out, {.beta = 0});
    expect(out.view());
  }
}

TYPED_TEST(gemm_layouts, factors_of_integers) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  test_tensor<i64, D> a({2, 1}, layout::contiguous, {3, -4}), b({1, 2}, layout::contiguous, {1, 5});
  test_tensor<i64, D> input({2}, layout::contiguous, {100, 200}), out({2, 2});
  const auto expect = [&](const fg::gemm_scalars<i64>& scalars, const std::vector<double>& want) {
    fg::addmm(stream, input.in(), a.in(), b.in(), out.view(), scalars);
    expect_equal(out.read(), want);
    test_tensor<i64, D> batches({1, 2, 2});
    fg::baddbmm(stream, input.in(), a.in().unsqueeze(0), b.in().unsqueeze(0), batches.view(),
                scalars);
    expect_equal(batches.read(), want);
    const auto made =
        fg::baddbmm(stream, input.in(), a.in().unsqueeze(0), b.in().unsqueeze(0), scalars);
    static_assert(std::is_same_v<decltype(made), const fg::tensor<i64, D>>);
    EXPECT_EQ(made.shape_of(), (shape{1, 2, 2}));
    expect_equal(values_of(made), want);
    expect_equal(values_of(fg::addmm(stream, input.in(), a.in(), b.in(), scalars)), want);
  };
  const long long two = 2;
  expect({.beta = two, .alpha = fg::u8{3}}, {209, 445, 188, 340});
  expect({.beta = true, .alpha = -1.0f}, {97, 185, 104, 220});
  // Without their fractions, as in ATen.
  expect({.beta = 0.6, .alpha = 2.9}, {6, 30, -8, -40});
  expect({.beta = 1, .alpha = bf16(0.5f)}, {100, 200, 100, 200});
  const auto before = out.read();
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), 0x1p63, -0x1.8p63,
                           std::numeric_limits<double>::infinity()}) {
    EXPECT_RAISES(fg::addmm(stream, input.in(), a.in(), b.in(), out.view(), {.alpha = bad}),
                  invalid_argument, "addmm");
    EXPECT_RAISES(fg::addmm(stream, input.in(), a.in(), b.in(), out.view(), {.beta = bad}),
                  invalid_argument, "addmm");
    EXPECT_RAISES((void)fg::baddbmm(stream, input.in(), a.in().unsqueeze(0), b.in().unsqueeze(0),
                                    {.beta = bad}),
                  invalid_argument, "baddbmm");
  }
  EXPECT_RAISES((void)fg::baddbmm(stream, input.in(), a.in(), b.in()), shape_mismatch, "baddbmm");
  expect_equal(out.read(), before);
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(gemm, mixed_types) {
  at_every_level<host>([] {
    for (const i64 m : {1, 6})
      for (const layout lb : {layout::transposed, layout::contiguous, layout::strided})
        check_mm<host, f32, bf16, f32>(m, 21, 45, layout::contiguous, lb, layout::contiguous);
  });
}

template <class T>
void check_integers(double low, double high) {
  const auto a_values = random_integers({5, 40}, static_cast<i64>(low), static_cast<i64>(high));
  const auto b_values = random_integers({40, 9}, static_cast<i64>(low), static_cast<i64>(high));
  for (const layout la : {layout::contiguous, layout::negative})
    for (const layout lb : {layout::contiguous, layout::transposed}) {
      test_tensor<T> a({5, 40}, la, a_values), b({40, 9}, lb, b_values), out({5, 9});
      fg::mm(test_stream<host>(), a.in(), b.in(), out.view());
      auto want = product(a.values(), b.values(), 5, 9, 40);
      for (double& x : want) x = static_cast<double>(static_cast<T>(static_cast<i64>(x)));
      expect_equal(out.read(), want);
    }
}
TEST(gemm, integers_wrap_around) { check_integers<i8>(-100, 100); }

TEST(gemm, special_values) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const layout lb : {layout::contiguous, layout::transposed})
    for (const i64 m : {1, 2}) {
      std::vector<double> x(index(m * 20), 1.0), w(index(20 * 4), 1.0);
      w[0 * 4 + 1] = inf;
      w[3 * 4 + 2] = nan;
      w[0 * 4 + 3] = inf, w[1 * 4 + 3] = -inf;
      test_tensor<bf16> a({m, 20}, layout::contiguous, x), b({20, 4}, lb, w);
      const auto y = values_of(fg::mm(test_stream<host>(), a.in(), b.in()));
      for (i64 i = 0; i < m; ++i) {
        EXPECT_EQ(y[index(4 * i)], 20);
        EXPECT_EQ(y[index(4 * i + 1)], inf);
        EXPECT_TRUE(std::isnan(y[index(4 * i + 2)]));
        EXPECT_TRUE(std::isnan(y[index(4 * i + 3)]));
      }
    }
}

TEST(gemm, bad_input) {
  const auto& s = test_stream<host>();
  test_tensor<f32> a({3, 4}), b({4, 5}), out({3, 5}), v({4}), w({5, 4}), y({3}), cube({2, 3, 4});
  const auto mismatch = fg::errc::shape_mismatch;
  EXPECT_EQ(code_of([&] { fg::mm(s, a.in(), w.in(), out.view()); }), mismatch);
  EXPECT_EQ(code_of([&] { fg::mm(s, a.in(), b.in(), a.view()); }), mismatch);
  EXPECT_EQ(code_of([&] { fg::mm(s, v.in(), b.in(), out.view()); }), mismatch);
  EXPECT_EQ(code_of([&] { (void)fg::mm(s, a.in(), cube.in()); }), mismatch);
  EXPECT_EQ(code_of([&] { fg::mv(s, a.in(), y.in(), y.view()); }), mismatch);
  EXPECT_EQ(code_of([&] { fg::mv(s, a.in(), v.in(), v.view()); }), mismatch);
  EXPECT_EQ(code_of([&] { fg::linear(s, a.in(), b.in(), out.view()); }), mismatch);
  EXPECT_EQ(code_of([&] { fg::linear(s, a.in(), w.in(), v.in(), out.view()); }), mismatch);
  // What is not const behind the weight is the output; who meant a bias is told how to give one.
  test_tensor<f32> bias({w.sizes()[0]});
  const fg::error raised = error_of([&] { fg::linear(s, a.in(), w.in(), bias.view()); });
  EXPECT_NE(std::string(raised.what()).find("(a bias is with_bias(b))"), std::string::npos);
  EXPECT_EQ(code_of([&] { fg::bmm(s, cube.in(), b.in(), out.view()); }), mismatch);
  EXPECT_EQ(code_of([&] { fg::bmm(s, cube.in(), cube.in(), out.view()); }), mismatch);
  EXPECT_EQ(code_of([&] { fg::addmm(s, v.in(), a.in(), b.in(), out.view()); }), mismatch);
  test_tensor<f32> square({4, 4});
  EXPECT_EQ(code_of([&] { fg::mm(s, square.in(), w.in().t().narrow(1, 0, 4), square.view()); }),
            fg::errc::overlap);
  EXPECT_EQ(code_of([&] { fg::addmm(s, out.in().narrow(0, 0, 1), a.in(), b.in(), out.view()); }),
            fg::errc::overlap);
  EXPECT_EQ(code_of([&] {
              fg::mm(s, a.in(), b.in(), out.view().narrow(0, 0, 1).expand({3, 5}));
            }),
            fg::errc::overlap);
  EXPECT_TRUE(out.untouched() && a.untouched() && square.untouched() && y.untouched());
}

TEST(gemm, empty) {
  const auto& s = test_stream<host>();
  for (const shape& sizes : {shape{0, 4, 5}, shape{3, 0, 5}, shape{0, 0, 0}}) {
    test_tensor<f32> a({sizes[0], sizes[2]}), b({sizes[2], sizes[1]}), out({sizes[0], sizes[1]});
    fg::mm(s, a.in(), b.in(), out.view());
  }
  // No terms: zeros, in every form of the product, and no address made of a null pointer (which a
  // sanitizer reports).
  for (const i64 m : {1, 3, 20, 70})
    for (const i64 n : {1, 5, 20, 70}) {
      const auto a = fg::empty<f32>(s, {m, 0}), b = fg::empty<f32>(s, {0, n});
      const auto many = fg::empty<f32>(s, {2, m, 0});
      const auto zeros = [](const auto& out) {
        for (const double v : values_of(out)) EXPECT_EQ(v, 0);
      };
      zeros(fg::mm(s, a, b));
      zeros(fg::mm(s, b.view().t(), a.view().t()));
      zeros(fg::bmm(s, many, b.view().expand({2, 0, n})));
      zeros(fg::linear(s, many, fg::empty<f32>(s, {n, 0})));
    }
}

TEST(gemm, same_bits_with_any_number_of_threads) {
  const auto& s = test_stream<host>();
  test_tensor<f32> a({37, 500}, layout::contiguous, random_values({37, 500}));
  test_tensor<f32> b({500, 300}, layout::contiguous, random_values({500, 300}));
  host::set_num_threads(1);
  const auto one = values_of(fg::mm(s, a.in(), b.in()));
  host::set_num_threads(3);
  expect_equal(values_of(fg::mm(s, a.in(), b.in())), one);
}
#endif

}  // namespace
}  // namespace flaggems_test
