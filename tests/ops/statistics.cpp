// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/statistics.hpp>
#include <support/ops.hpp>

#include <functional>

namespace flaggems_test {
namespace {

const double infinity = std::numeric_limits<double>::infinity();

/// f(row) for the elements along `dim` of each row.
template <class F>
std::vector<double> by_rows(const std::vector<double>& x, const shape& sizes, int dim, F&& f) {
  i64 inner = 1, outer = 1;
  for (int d = 0; d < dim; ++d) outer *= sizes[d];
  for (int d = dim + 1; d < sizes.rank(); ++d) inner *= sizes[d];
  std::vector<double> y;
  for (i64 o = 0; o < outer; ++o)
    for (i64 i = 0; i < inner; ++i) {
      std::vector<double> row;
      for (i64 k = 0; k < sizes[dim]; ++k)
        row.push_back(x[static_cast<std::size_t>((o * sizes[dim] + k) * inner + i)]);
      y.push_back(f(row));
    }
  return y;
}
using rows = const std::vector<double>&;
double mean(rows r) {
  double s = 0;
  for (const double v : r) s += v;
  return s / static_cast<double>(r.size());
}
double variance(rows r, double correction) {
  double s = 0;
  for (const double v : r) s += (v - mean(r)) * (v - mean(r));
  return s / (static_cast<double>(r.size()) - correction);
}
double norm(rows r, double p) {
  double s = 0, most = 0, least = infinity;
  for (const double v : r) {
    most = std::max(most, std::abs(v)), least = std::min(least, std::abs(v));
    s += p == 0 ? v != 0 : std::pow(std::abs(v), p);
  }
  return p == infinity ? most : p == -infinity ? least : p == 0 ? s : std::pow(s, 1 / p);
}
double log_sum_exp(rows r) {
  double s = 0;
  for (const double v : r) s += std::exp(v);
  return std::log(s);
}
template <bool Max>
std::size_t place(rows r) {
  std::size_t k = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    if (std::isnan(r[i])) return i;
    if (Max ? r[i] > r[k] : r[i] < r[k]) k = i;
  }
  return k;
}

template <class Case>
class statistics : public ::testing::Test {};
using statistic_cases = cases<on_host<bf16>, on_chips<f32>, on_wide<f32>>;
TYPED_TEST_SUITE(statistics, statistic_cases);

TYPED_TEST(statistics, along_a_dimension) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  struct one {
    const char* name;
    std::function<double(rows)> want;
    std::function<void(const fg::tensor_view<const T, D>&, const fg::tensor_view<T, D>&, i64)> run;
  };
  const one table[] = {
      {"var", [](rows r) { return variance(r, 1); },
       [&](auto x, auto out, i64 d) { fg::var(s, x, out, d); }},
      {"std", [](rows r) { return std::sqrt(variance(r, 0)); },
       [&](auto x, auto out, i64 d) { fg::stddev(s, x, out, d, 0.0); }},
      {"logsumexp", log_sum_exp, [&](auto x, auto out, i64 d) { fg::logsumexp(s, x, out, d); }},
      {"norm 2", [](rows r) { return norm(r, 2); },
       [&](auto x, auto out, i64 d) { fg::norm(s, x, out, {}, d); }},
      {"norm 3", [](rows r) { return norm(r, 3); },
       [&](auto x, auto out, i64 d) { fg::linalg_vector_norm(s, x, out, 3, d); }},
      {"norm 1", [](rows r) { return norm(r, 1); },
       [&](auto x, auto out, i64 d) { fg::linalg_vector_norm(s, x, out, 1, d); }},
      {"norm 0", [](rows r) { return norm(r, 0); },
       [&](auto x, auto out, i64 d) { fg::linalg_vector_norm(s, x, out, 0, d); }},
      {"norm inf", [](rows r) { return norm(r, infinity); },
       [&](auto x, auto out, i64 d) { fg::linalg_vector_norm(s, x, out, infinity, d); }},
      {"norm -inf", [](rows r) { return norm(r, -infinity); },
       [&](auto x, auto out, i64 d) { fg::linalg_vector_norm(s, x, out, -infinity, d); }},
  };
  const shape sizes{3, 11, 5};
  at_every_level<D>([&] {
    for (const layout in : {layout::contiguous, layout::transposed, layout::negative})
      for (const int dim : {0, 1, 2}) {
        test_tensor<T, D> x(sizes, in, random_values(sizes));
        const shape left = fg::without_dim(sizes, dim, "test");
        for (const one& o : table) {
          SCOPED_TRACE(std::string(o.name) + ", " + to_string(in) + ", dim " + std::to_string(dim));
          test_tensor<T, D> out(left, layout::strided);
          o.run(x.in(), out.view(), dim - 3);
          expect_close<T>(out.read(), by_rows(x.values(), sizes, dim, o.want), tolerance_of<T>(2));
          EXPECT_TRUE(out.gaps_untouched());
        }
        const auto both = fg::var_mean(s, x.in(), dim, 0.0, true);
        EXPECT_EQ(both.second.size(dim), 1);
        expect_close<T>(values_of(both.first),
                        by_rows(x.values(), sizes, dim, [](rows r) { return variance(r, 0); }));
        expect_close<T>(values_of(both.second), by_rows(x.values(), sizes, dim, mean));
      }
  });
  test_tensor<T, D> x(sizes, layout::contiguous, random_values(sizes));
  expect_close<T>(values_of(fg::var(s, x.in())), {variance(x.values(), 1)});
  expect_close<T>(values_of(fg::norm(s, x.in())), {norm(x.values(), 2)}, tolerance_of<T>(10));
}

// Columns, which GPUs read once: whole vectors of them and others, cut into parts and not.
TYPED_TEST(statistics, of_columns) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  for (const shape& sizes : {shape{2100, 16}, shape{2, 333, 8}, shape{131, 7}, shape{1, 5, 3}}) {
    const int dim = sizes.rank() - 2;
    SCOPED_TRACE(fg::to_string(sizes));
    test_tensor<T, D> x(sizes, layout::contiguous, random_values(sizes, 2, 3));
    const auto want = [&](const auto& of) { return by_rows(x.values(), sizes, dim, of); };
    const auto both = fg::var_mean(s, x.in(), dim, 1.0, true);
    expect_close<T>(values_of(both.first), want([](rows r) { return variance(r, 1); }),
                    tolerance_of<T>(4));
    expect_close<T>(values_of(both.second), want(mean), tolerance_of<T>(2));
    expect_close<T>(values_of(fg::stddev(s, x.in(), dim, 0.0)),
                    want([](rows r) { return std::sqrt(variance(r, 0)); }), tolerance_of<T>(4));
    expect_close<T>(values_of(fg::logsumexp(s, x.in(), dim)), want(log_sum_exp),
                    tolerance_of<T>(2));
    expect_close<T>(values_of(fg::norm(s, x.in(), {}, dim)),
                    want([](rows r) { return norm(r, 2); }), tolerance_of<T>(10));
  }
}

// Elements that are all but equal, alone far from the others, infinite, or no numbers.
TYPED_TEST(statistics, of_hard_columns) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const shape sizes{1000, 8};
  auto values = random_values(sizes, -1, 1);
  for (std::size_t k = 0; k < values.size(); k += 8) {
    values[k] = 3.25;
    values[k + 1] += 1024;
    values[k + 3] = -infinity;
  }
  values[2] = 1e6;
  values[8 * 17 + 4] = infinity;
  values[8 * 18 + 5] = std::nan("");
  values[8 * 19 + 6] = -infinity;
  test_tensor<T, D> x(sizes, layout::contiguous, values);
  const auto var = values_of(fg::var(s, x.in(), 0)), logs = values_of(fg::logsumexp(s, x.in(), 0));
  const auto want = by_rows(x.values(), sizes, 0, [](rows r) { return variance(r, 1); });
  EXPECT_EQ(var[0], 0);
  const double off = sizeof(T) == 4 ? 1e-5 : 1e-2;
  if (sizeof(T) == 4) {
    EXPECT_NEAR(var[1], want[1], 1e-3);
  }
  EXPECT_NEAR(var[2] / want[2], 1, off);
  for (const int k : {3, 4, 5, 6}) EXPECT_TRUE(std::isnan(var[static_cast<std::size_t>(k)])) << k;
  EXPECT_EQ(logs[3], -infinity);
  EXPECT_EQ(logs[4], infinity);
  EXPECT_TRUE(std::isnan(logs[5]));
  const auto sums = by_rows(x.values(), sizes, 0, log_sum_exp);
  for (const std::size_t k : {0U, 6U, 7U}) EXPECT_NEAR(logs[k] / sums[k], 1, off) << k;
  EXPECT_NEAR(logs[2] / x.values()[2], 1, off);
}

template <class Device>
class extremes : public ::testing::Test {};
TYPED_TEST_SUITE(extremes, all_devices);

TYPED_TEST(extremes, values_and_places) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const shape sizes{4, 9, 3};
  for (const layout in : input_layouts)
    for (const int dim : {0, 1, 2}) {
      SCOPED_TRACE(std::string(to_string(in)) + std::to_string(dim));
      auto values = random_integers(sizes, -5, 5);
      values[40] = std::nan("");
      test_tensor<f32, D> x(sizes, in, values);
      const shape left = fg::without_dim(sizes, dim, "test");
      test_tensor<f32, D> out(left, layout::transposed);
      test_tensor<i64, D> places(left, layout::negative);
      fg::max(s, x.in(), out.view(), places.view(), dim);
      expect_equal(places.read(), by_rows(x.values(), sizes, dim, [](rows r) {
                     return static_cast<double>(place<true>(r));
                   }));
      const auto largest =
          by_rows(x.values(), sizes, dim, [](rows r) { return r[place<true>(r)]; });
      const auto smallest =
          by_rows(x.values(), sizes, dim, [](rows r) { return r[place<false>(r)]; });
      expect_equal(out.read(), largest);
      EXPECT_TRUE(out.gaps_untouched() && places.gaps_untouched());
      const auto kept = fg::min(s, x.in(), dim - 3, true);
      EXPECT_EQ(kept.indices.size(dim), 1);
      expect_equal(values_of(kept.values), smallest);
      const auto both = fg::aminmax(s, x.in(), dim);
      expect_equal(values_of(both.first), smallest);
      expect_equal(values_of(both.second), largest);
      expect_equal(values_of(fg::count_nonzero(s, x.in(), dim)),
                   by_rows(x.values(), sizes, dim, [](rows r) { return norm(r, 0); }));
    }
  test_tensor<f32, D> one({}, layout::contiguous, {3}),
      row({4}, layout::contiguous, {1, std::nan(""), 2, 0});
  const auto alone = fg::max(s, one.in(), 0);
  expect_equal(values_of(alone.values), {3});
  expect_equal(values_of(alone.indices), {0});
  expect_equal(values_of(fg::min(s, one.in())), {3});
  expect_equal(values_of(fg::nansum(s, row.in())), {3});
  expect_equal(values_of(fg::count_nonzero(s, row.in())), {3});
}

TYPED_TEST(extremes, distances) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({2, 3}, layout::transposed, {0, 1, 2, 3, 4, 5}),
      one({3}, layout::strided, {1, 1, 1}), none({0}), out(shape{});
  EXPECT_NEAR(values_of(fg::dist(s, x.in(), one.in()))[0], std::sqrt(31.0), 1e-6);
  expect_equal(values_of(fg::dist(s, x.in(), one.in(), 1)), {11});
  expect_equal(values_of(fg::dist(s, x.in(), one.in(), 0)), {5});
  fg::dist(s, x.in(), one.in(), out.view(), infinity);
  expect_equal(out.read(), {4});
  expect_equal(values_of(fg::dist(s, none.in(), none.in())), {0});
  EXPECT_RAISES(fg::dist(s, none.in(), none.in(), infinity), invalid_argument, "dist");
  EXPECT_RAISES(fg::dist(s, x.in(), x.in(), one.view()), shape_mismatch, "dist");
  EXPECT_RAISES(fg::dist(s, x.in(), x.in(), x.view()), overlap, "dist");
}

TYPED_TEST(extremes, special_cases) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> none({2, 0}), row({3}, layout::contiguous, {-infinity, -infinity, -infinity}),
      high({2}, layout::contiguous, {1000, 1000}), x({2, 2}, layout::transposed, {1, 2, 3, 4}),
      y({2, 2}, layout::contiguous, {1, 2, 3, 4.001}),
      nan({2}, layout::contiguous, {std::nan(""), infinity});
  expect_equal(values_of(fg::logsumexp(s, none.in(), 1)), {-infinity, -infinity});
  expect_equal(values_of(fg::logsumexp(s, row.in(), 0)), {-infinity});
  expect_close<f32>(values_of(fg::logsumexp(s, high.in(), 0)), {1000 + std::log(2.0)});
  test_tensor<f32, D> limits({3, 2}, layout::contiguous,
                             {infinity, 1, infinity, -infinity, std::nan(""), infinity});
  for (const bool turned : {false, true}) {  // along rows, and by any strides
    const auto sums =
        values_of(turned ? fg::logsumexp(s, limits.in().transpose(0, 1).unsqueeze(2), {0, 2})
                         : fg::logsumexp(s, limits.in(), 1));
    EXPECT_EQ(sums[0], infinity);
    EXPECT_EQ(sums[1], infinity);
    EXPECT_TRUE(std::isnan(sums[2]));
  }
  EXPECT_TRUE(std::isnan(values_of(fg::var(s, row.in().narrow(0, 0, 1)))[0]));
  for (const double order : {infinity, -infinity, -1.0, -2.0}) {
    EXPECT_RAISES(fg::linalg_vector_norm(s, none.in(), order, 1), invalid_argument,
                  "linalg_vector_norm");
    EXPECT_EQ(fg::linalg_vector_norm(s, none.in(), order, 0).shape_of(), (shape{0}));
  }
  for (const double order : {0.0, 0.5, 2.0})
    expect_equal(values_of(fg::linalg_vector_norm(s, none.in(), order, 1)), {0, 0});
  expect_equal(values_of(fg::trace(s, x.in())), {5});
  EXPECT_TRUE(fg::equal(s, x.in(), x.in()) && fg::equal(s, none.in(), none.in()));
  EXPECT_FALSE(fg::equal(s, x.in(), y.in()) || fg::equal(s, x.in(), high.in()));
  EXPECT_TRUE(fg::allclose(s, x.in(), y.in(), 1e-3) && fg::allclose(s, none.in(), none.in()));
  EXPECT_FALSE(fg::allclose(s, x.in(), y.in()) || fg::allclose(s, nan.in(), nan.in()));
  EXPECT_TRUE(fg::allclose(s, nan.in(), nan.in(), 1e-5, 1e-8, true));
  EXPECT_FALSE(fg::allclose(s, high.in(), nan.in(), 1e-5, 1e-8, true));
  // Integers that are one f64.
  constexpr i64 most = std::numeric_limits<i64>::max();
  const auto great = fg::full<i64>(s, {2}, most), less = fg::full<i64>(s, {2}, most - 1);
  EXPECT_FALSE(fg::allclose(s, great, less, 0, 0));
  EXPECT_TRUE(fg::allclose(s, great, great, 0, 0) && fg::allclose(s, great, less));
}

TYPED_TEST(extremes, truth_of_one_element) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> no({}, layout::contiguous, {-0.0}), yes({1, 1}, layout::contiguous, {0.25}),
      nan({1}, layout::contiguous, {std::nan("")}), two({2});
  test_tensor<i64, D> large({}, layout::contiguous, {4294967296.0});
  EXPECT_FALSE(fg::is_nonzero(s, no.in()));
  EXPECT_TRUE(fg::is_nonzero(s, yes.in()) && fg::is_nonzero(s, nan.in()));
  EXPECT_TRUE(fg::is_nonzero(s, large.in()));
  fg::assert_async(s, yes.in());
  EXPECT_EQ(code_of([&] { fg::assert_async(s, no.in(), "none"); }), fg::errc::invalid_argument);
  EXPECT_EQ(values_of(fg::functional_assert_async(s, yes.in(), "some", large.in())),
            large.values());
  test_tensor<bool, D> truths({3}, layout::negative, {1, 0, 1});
  EXPECT_EQ(values_of(fg::is_all_true(s, truths.in())), std::vector<double>{0});
  EXPECT_EQ(values_of(fg::is_any_true(s, truths.in())), std::vector<double>{1});
  EXPECT_EQ(code_of([&] { static_cast<void>(fg::is_nonzero(s, two.in())); }),
            fg::errc::invalid_argument);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(statistics_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3, 4}), out({3}), none({2, 0});
  test_tensor<i64> places({3}), few({2});
  test_tensor<f32> one({}, layout::contiguous, {-8});
  EXPECT_EQ(values_of(fg::logsumexp(s, one.in(), 0))[0], -8);
  EXPECT_RAISES(fg::max(s, x.in(), 2), out_of_range, "max");
  EXPECT_RAISES(fg::max(s, x.in(), out.view(), few.view(), 1), shape_mismatch, "max");
  EXPECT_RAISES(fg::max(s, none.in(), 1), invalid_argument, "max");
  EXPECT_RAISES(fg::min(s, x.in(), x.view().select(1, 0), places.view(), 1), overlap, "min");
  EXPECT_RAISES(fg::var(s, x.in(), out.view(), 0), shape_mismatch, "var");
  EXPECT_RAISES(fg::norm(s, x.in(), x.view().select(1, 0), {}, 1), overlap, "norm");
  EXPECT_RAISES(fg::logsumexp(s, x.in(), {1, 1}), invalid_argument, "logsumexp");
  EXPECT_RAISES(fg::trace(s, out.in()), invalid_argument, "trace");
  EXPECT_RAISES(fg::allclose(s, x.in(), out.in()), shape_mismatch, "allclose");
  EXPECT_RAISES(static_cast<void>(fg::allclose(s, x.in(), x.in(), -1.0)), invalid_argument,
                "allclose");
  EXPECT_RAISES(static_cast<void>(fg::allclose(s, x.in(), x.in(), 0, std::nan(""))),
                invalid_argument, "allclose");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
