// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions: every set of dimensions, layouts, dtypes, special values, ties, accuracy, bits that
// do not depend on the number of threads, errors.
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <support/ops.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>

namespace flaggems_test {
namespace {

using std::int32_t, std::uint8_t;
constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

/// The sizes that a reduction over `dims` leaves, and fold(values of a group in row-major order).
struct reduced {
  shape sizes;
  std::vector<double> values;
};
using fold_function = std::function<double(const std::vector<double>&)>;
reduced reference(const std::vector<double>& x, const shape& sizes, const shape& dims, bool keepdim,
                  const fold_function& fold) {
  bool folds[fg::max_rank] = {};
  const int rank = (std::max)(sizes.rank(), 1);  // a tensor without dimensions has one to name
  for (int k = 0; k < dims.rank(); ++k) folds[dims[k] < 0 ? dims[k] + rank : dims[k]] = true;
  if (dims.rank() == 0) std::fill(std::begin(folds), std::end(folds), true);
  reduced r;
  i64 groups = 1;
  for (int d = 0; d < sizes.rank(); ++d) {
    if (!folds[d]) groups *= sizes[d];
    if (!folds[d])
      r.sizes.push_back(sizes[d]);
    else if (keepdim)
      r.sizes.push_back(1);
  }
  std::vector<std::vector<double>> group(static_cast<std::size_t>(groups));
  for (i64 k = 0; k < static_cast<i64>(x.size()); ++k) {
    i64 rest = k, place = 0, stride = 1;
    for (int d = sizes.rank() - 1; d >= 0; --d) {
      if (!folds[d]) {
        place += rest % sizes[d] * stride;
        stride *= sizes[d];
      }
      rest /= sizes[d];
    }
    group[static_cast<std::size_t>(place)].push_back(x[static_cast<std::size_t>(k)]);
  }
  for (const auto& g : group) r.values.push_back(fold(g));
  return r;
}

// ---- one type an operator: how it is called, what it gives, its reference
#define FLAGGEMS_OPERATOR(op, result, reference_body)                   \
  struct op##_op {                                                      \
    [[maybe_unused]] static constexpr const char* name = #op;           \
    template <class T>                                                  \
    using gives = result;                                               \
    template <class... X>                                               \
    static auto run(const X&... x) {                                    \
      return fg::op(x...);                                              \
    }                                                                   \
    static double want(const std::vector<double>& v) { reference_body } \
  };
template <class T>
using number_result = std::conditional_t<std::is_integral_v<T>, i64, T>;
FLAGGEMS_OPERATOR(sum, number_result<T>, double s = 0; for (double x : v) s += x; return s;)
FLAGGEMS_OPERATOR(mean, T, return sum_op::want(v) / static_cast<double>(v.size());)
FLAGGEMS_OPERATOR(prod, number_result<T>, double s = 1; for (double x : v) s *= x; return s;)
FLAGGEMS_OPERATOR(amax, T, double s = -inf; for (double x
                                                 : v) if (x > s || std::isnan(x)) s = x;
                  return s;)
FLAGGEMS_OPERATOR(amin, T, double s = inf; for (double x
                                                : v) if (x < s || std::isnan(x)) s = x;
                  return s;)
FLAGGEMS_OPERATOR(any, bool, for (double x : v) if (x != 0) return 1; return 0;)
FLAGGEMS_OPERATOR(all, bool, for (double x : v) if (x == 0) return 0; return 1;)

template <class Op, class T, class D = host>
void check(test_tensor<T, D>& x, const shape& dims, bool keepdim, layout to, double slack = 1e-6) {
  using R = typename Op::template gives<T>;
  SCOPED_TRACE(std::string(Op::name) + " of sizes " + fg::to_string(x.sizes()) + " over " +
               fg::to_string(dims) + (keepdim ? " keepdim" : "") + " to " + to_string(to));
  const reduced want = reference(x.values(), x.sizes(), dims, keepdim, Op::want);
  test_tensor<R, D> out(want.sizes, to);
  Op::run(test_stream<D>(), x.in(), out.view(), dims, keepdim);
  const bool exact =
      std::is_integral_v<R> || std::is_same_v<Op, amax_op> || std::is_same_v<Op, amin_op>;
  tolerance tol = tolerance_of<R>();
  tol.atol = slack;
  if (exact) tol = {0, 0};
  expect_close<R>(out.read(), want.values, tol);
  EXPECT_TRUE(out.gaps_untouched());
  EXPECT_TRUE(x.untouched());
}

/// All subsets of the dimensions of a tensor of this rank; the empty list means all of them.
std::vector<shape> subsets(int rank) {
  std::vector<shape> r;
  for (int bits = 0; bits < 1 << rank; ++bits) {
    shape dims;
    for (int d = 0; d < rank; ++d)
      if ((bits >> d & 1) != 0) dims.push_back(bits % 3 == 0 ? d - rank : d);
    r.push_back(dims);
  }
  return r;
}

template <class D>
class reduce_layouts : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(reduce_layouts, devices);

TYPED_TEST(reduce_layouts, every_set_of_dimensions) {
  using D = TypeParam;
  const shape sizes{3, 4, 2, 19};
  const auto values = random_values(sizes);
  at_every_level<D>([&] {
    int turn = 0;
    for (const layout in : input_layouts)
      for (const shape& dims : subsets(4)) {
        SCOPED_TRACE(to_string(in));
        test_tensor<f32, D> x(sizes, in, values);
        const layout to = output_layouts[++turn % 5];
        check<sum_op>(x, dims, turn % 2 == 0, to, 1e-4);
        check<amax_op>(x, dims, turn % 2 == 1, to);
        check<any_op>(x, dims, turn % 2 == 1, to);
      }
  });
}

TYPED_TEST(reduce_layouts, sizes) {
  using D = TypeParam;
  at_every_level<D>([&] {
    for (const shape& sizes :
         {shape{}, shape{1}, shape{5}, shape{16}, shape{31}, shape{1000}, shape{1, 1, 1},
          shape{2, 2, 2, 2, 2, 2, 2, 3}, shape{700, 3}, shape{3, 700}, shape{2, 40, 33}})
      for (const bool keepdim : {false, true}) {
        test_tensor<f32, D> x(sizes, layout::contiguous, random_values(sizes));
        for (const shape& dims : {shape{}, shape{0}, shape{-1}})
          check<sum_op>(x, dims, keepdim, layout::contiguous, 1e-4);
      }
  });
}

TYPED_TEST(reduce_layouts, nothing_to_reduce) {
  using D = TypeParam;
  for (const shape& sizes : {shape{0}, shape{3, 0}, shape{0, 3}, shape{2, 0, 3}})
    for (const shape& dims : subsets(sizes.rank())) {
      test_tensor<f32, D> x(sizes);
      check<sum_op>(x, dims, true, layout::contiguous);
      check<any_op>(x, dims, false, layout::contiguous);
    }
  test_tensor<f32, D> x({3, 0});
  test_tensor<f32, D> out({3}), none({0});
  EXPECT_RAISES(fg::amax(test_stream<D>(), x.in(), out.view(), {1}), invalid_argument, "amax");
  EXPECT_TRUE(out.untouched());
  fg::amax(test_stream<D>(), x.in(), none.view(), {0});  // no results, each of three elements
}

TYPED_TEST(reduce_layouts, special_values) {
  using D = TypeParam;
  at_every_level<D>([&] {
    for (const i64 n : {3, 8, 33, 200})
      for (const double special : {inf, -inf, nan})
        for (const i64 at : {i64{0}, n / 2, n - 1}) {
          std::vector<double> values = random_values({n});
          values[static_cast<std::size_t>(at)] = special;
          test_tensor<f32, D> row({1, n}, layout::contiguous, values);
          test_tensor<f32, D> column({n, 1}, layout::strided, values);
          for (const i64 dim : {0, 1}) {
            for (test_tensor<f32, D>* x : {&row, &column}) {
              check<sum_op>(*x, {dim}, false, layout::contiguous, 1e-4);
              check<amax_op>(*x, {dim}, false, layout::contiguous);
              check<any_op>(*x, {dim}, false, layout::contiguous);
            }
          }
        }
    // All -inf, and a zero of either sign is no truth.
    test_tensor<f32, D> low({2, 9}, layout::contiguous, std::vector<double>(18, -inf));
    check<amax_op>(low, {1}, false, layout::contiguous);
    check<amax_op>(low, {0}, false, layout::contiguous);
    test_tensor<f32, D> zeros({2, 9}, layout::contiguous, std::vector<double>(18, -0.0));
    check<any_op>(zeros, {1}, false, layout::contiguous);
  });
}

// ---- the index of the extreme
template <class D, class T>
void check_index(const std::vector<double>& values, const shape& sizes, std::optional<i64> dim,
                 layout in) {
  test_tensor<T, D> x(sizes, in, values);
  shape dims;
  if (dim) dims.push_back(*dim);
  for (const bool largest : {true, false})
    for (const bool keepdim : {true, false}) {
      const auto fold = [&](const std::vector<double>& v) {
        std::size_t best = 0;
        for (std::size_t k = 1; k < v.size(); ++k) {
          if (std::isnan(v[best])) break;
          if (std::isnan(v[k]) || (largest ? v[k] > v[best] : v[k] < v[best])) best = k;
        }
        return static_cast<double>(best);
      };
      const reduced want = reference(x.values(), sizes, dims, keepdim, fold);
      test_tensor<i64, D> out(want.sizes, layout::strided);
      SCOPED_TRACE(std::string(largest ? "argmax" : "argmin") + " of sizes " +
                   fg::to_string(sizes) + " along " + fg::to_string(dims) + ", " + to_string(in));
      if (largest)
        fg::argmax(test_stream<D>(), x.in(), out.view(), dim, keepdim);
      else
        fg::argmin(test_stream<D>(), x.in(), out.view(), dim, keepdim);
      expect_equal(out.read(), want.values);
      EXPECT_TRUE(out.gaps_untouched());
    }
}

TYPED_TEST(reduce_layouts, argmax) {
  using D = TypeParam;
  at_every_level<D>([&] {
    for (const layout in : input_layouts)
      for (const std::optional<i64> dim : {std::optional<i64>{}, std::optional<i64>{0},
                                           std::optional<i64>{1}, std::optional<i64>{-1}}) {
        const shape sizes{4, 5, 37};
        check_index<D, f32>(random_values(sizes), sizes, dim, in);
        check_index<D, f32>(random_integers(sizes, 0, 2), sizes, dim, in);  // ties: the first
      }
    std::vector<double> values = random_values({3, 70});
    values[17] = values[50] = nan;
    values[70 + 69] = nan;
    for (std::size_t k = 140; k < 210; ++k) values[k] = -inf;
    check_index<D, f32>(values, {3, 70}, 1, layout::contiguous);
    check_index<D, f32>(values, {3, 70}, 1, layout::transposed);
    check_index<D, f32>(values, {3, 70}, 0, layout::contiguous);
    check_index<D, f32>(values, {3, 70}, std::nullopt, layout::transposed);
    // Down columns: of two NaNs the first, the least of all, and ties of rows that a thread folds.
    std::vector<double> columns = random_integers({300, 16}, 0, 9);
    for (const std::size_t row : {251u, 37u, 38u}) columns[row * 16 + 3] = nan;
    for (std::size_t row = 0; row < 300; ++row) columns[row * 16 + 5] = -inf;
    columns[299 * 16 + 7] = columns[298 * 16 + 7] = 10;
    for (const layout in : {layout::contiguous, layout::offset}) {
      check_index<D, f32>(columns, {300, 16}, 0, in);
      check_index<D, bf16>(columns, {300, 16}, 0, in);
    }
    check_index<D, f32>({4.0}, {}, std::nullopt, layout::contiguous);
    check_index<D, f32>({4.0}, {}, -1, layout::contiguous);
  });
}

// Few results of many elements are cut into parts, along rows and across them.
TYPED_TEST(reduce_layouts, parts) {
  using D = TypeParam;
  for (const shape& sizes : {shape{2, 33001}, shape{9000, 3}, shape{70, 3, 500}, shape{2, 3000, 8}})
    for (const layout in : {layout::contiguous, layout::offset}) {
      test_tensor<f32, D> x(sizes, in, random_values(sizes));
      const auto ties = random_integers(sizes, 0, 40);
      for (const shape& dims : subsets(sizes.rank())) {
        check<sum_op>(x, dims, false, layout::strided, 1e-2);
        if (dims.rank() < 2)
          check_index<D, f32>(ties, sizes,
                              dims.rank() == 0 ? std::optional<i64>{} : std::optional<i64>{dims[0]},
                              in);
      }
    }
  const shape sizes{2, 66001};
  test_tensor<bf16, D> x(sizes, layout::offset, random_values(sizes));
  check<amax_op>(x, {1}, false, layout::contiguous);
  check<amax_op>(x, {0}, false, layout::contiguous);
}

// Rows of so few packs that a chip's thread has one of several rows.
TYPED_TEST(reduce_layouts, short_rows) {
  using D = TypeParam;
  const shape sizes{70001, 16};
  std::vector<double> values = random_integers(sizes, 0, 9);
  values[16 * 70000 + 5] = values[16 * 70000 + 14] = values[33] = nan;
  for (const layout in : {layout::contiguous, layout::offset}) {
    test_tensor<bf16, D> x(sizes, in, values);
    check<sum_op>(x, {1}, false, layout::contiguous);
    check<amax_op>(x, {1}, false, layout::strided);
    check_index<D, bf16>(values, sizes, 1, in);
  }
}

TYPED_TEST(reduce_layouts, expressions) {
  using D = TypeParam;
  const std::size_t m = 7, n = 264;
  test_tensor<f32, D> x({7, 264}, layout::contiguous, random_values({7, 264}));
  test_tensor<f32, D> row({264}, layout::contiguous, random_values({264}));
  test_tensor<bf16, D> column({7, 1}, layout::contiguous, random_values({7, 1}));
  test_tensor<f32, D> sums({7}), columns({264});
  const auto e = (x.in() - column.in()) * row.in();
  fg::sum(test_stream<D>(), e, sums.view(), {1});
  fg::sum(test_stream<D>(), e, columns.view(), {0});
  std::vector<double> along(m, 0.0), across(n, 0.0);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const double v = (x.values()[i * n + j] - column.values()[i]) * row.values()[j];
      along[i] += v;
      across[j] += v;
    }
  expect_close<f32>(sums.read(), along, {1e-5, 1e-4});
  expect_close<f32>(columns.read(), across, {1e-5, 1e-4});
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(reduce, argmax_of_many) {  // cut into parts
  const i64 n = 1000003;
  auto x = fg::empty<f32>(test_stream<host>(), {n});
  for (i64 k = 0; k < n; ++k) x.data()[k] = static_cast<f32>(k % 1000);
  EXPECT_EQ(fg::argmax(test_stream<host>(), x).data()[0], 999);
  x.data()[700001] = 5000;
  x.data()[900001] = 5000;
  EXPECT_EQ(fg::argmax(test_stream<host>(), x).data()[0], 700001);
  x.data()[900000] = std::nanf("");
  EXPECT_EQ(fg::argmax(test_stream<host>(), x).data()[0], 900000);
}

// ---- accuracy and reproducibility
TEST(reduce, sum_of_ten_million) {
  const i64 n = 10000000;
  auto x = fg::empty<f32>(test_stream<host>(), {n});
  std::uniform_real_distribution<float> distribution(0, 1);
  double want = 0;
  for (i64 k = 0; k < n; ++k) {
    x.data()[k] = distribution(generator());
    want += static_cast<double>(x.data()[k]);
  }
  at_every_level<host>([&] {
    EXPECT_NEAR(fg::sum(test_stream<host>(), x).data()[0] / want, 1, 2e-7);
    EXPECT_NEAR(fg::sum(test_stream<host>(), x, {0}, true).data()[0] / want, 1, 2e-7);
    // Lanes along the kept dimension.
    const auto columns = fg::sum(test_stream<host>(), x.view().view({n / 10, 10}), {0});
    double total = 0;
    for (int k = 0; k < 10; ++k) total += static_cast<double>(columns.data()[k]);
    EXPECT_NEAR(total / want, 1, 1e-6);
    EXPECT_NEAR(fg::mean(test_stream<host>(), x).data()[0] / (want / static_cast<double>(n)), 1,
                3e-7);
  });
}

TEST(reduce, long_sums_in_any_layout) {
  const i64 n = i64{1} << 19;
  const auto x = fg::full<f32>(test_stream<host>(), {n, 4}, 0.1f);
  const auto column = x.view().slice(1, 0, 1);
  const double each = static_cast<double>(0.1f), want = each * static_cast<double>(n);
  const auto expect_sum = [](const auto& view, const shape& dims, double sum, int line) {
    for (const double got : values_of(fg::sum(test_stream<host>(), view, dims)))
      EXPECT_NEAR(got / sum, 1, 8e-6) << line;
  };
  at_every_level<host>([&] {
    expect_sum(x.view(), {0}, want, __LINE__);
    expect_sum(x.view().view({4, n}).t(), {0}, want, __LINE__);
    expect_sum(x.view().slice(1, 0, 3), {0}, want, __LINE__);
    expect_sum(x.view().slice(1, 0, 3), {0, 1}, 3 * want, __LINE__);
    expect_sum(column, {0}, want, __LINE__);
    expect_sum(column.expand({n, 2}), {0, 1}, 2 * want, __LINE__);
    // Many results, each of a share of its own.
    expect_sum(x.view().view({64, n / 64, 4}).slice(2, 0, 3), {1, 2}, 3 * want / 64, __LINE__);
    EXPECT_NEAR(fg::mean(test_stream<host>(), x, {0}).data()[3] / each, 1, 8e-6);
  });
  test_tensor<f32, chip32> y({70000, 3}, layout::contiguous, std::vector<double>(210000, 0.1));
  test_tensor<f32, chip32> sums({3});
  fg::sum(test_stream<chip32>(), y.in(), sums.view(), {0});
  for (const double got : sums.read()) EXPECT_NEAR(got / (each * 70000), 1, 8e-6);
}

TEST(reduce, same_bits_on_any_number_of_threads) {
  fg::detail::thread_pool& pool = fg::detail::host_thread_pool();
  const int threads = pool.num_threads();
  const shape sizes{9, 1000, 171};
  test_tensor<f32> x(sizes, layout::contiguous, random_values(sizes));
  for (const shape& dims : subsets(3)) {
    std::vector<double> first;
    for (const int n : {1, 2, 3, 5}) {
      pool.set_num_threads(n);
      const auto y = values_of(fg::sum(test_stream<host>(), x.in(), dims));
      if (first.empty()) first = y;
      EXPECT_EQ(first, y) << n << " threads over " << fg::to_string(dims);
    }
  }
  pool.set_num_threads(threads);
}

// Results side by side need no plan, others do.
TEST(reduce, same_bits_wherever_results_go) {
  at_every_level<host>([&] {
    for (const i64 n : {1, 2, 16384, 16385, 40000, 65536}) {
      test_tensor<f32> x({3, n}, layout::contiguous, random_values({3, n}));
      const auto all = [&](layout to) {
        const auto& stream = test_stream<host>();
        test_tensor<f32> sum({3}, to), mean({3, 1}, to), largest({3}, to);
        test_tensor<i64> at({3}, to);
        fg::sum(stream, x.in(), sum.view(), {1});
        fg::mean(stream, fg::square(x.in()), mean.view(), {1}, true);
        fg::amax(stream, x.in(), largest.view(), {-1});
        fg::argmax(stream, x.in(), at.view(), 1);
        std::vector<double> results = sum.read();
        for (const auto& more : {mean.read(), largest.read(), at.read()})
          results.insert(results.end(), more.begin(), more.end());
        return results;
      };
      EXPECT_EQ(all(layout::contiguous), all(layout::strided)) << n;
    }
  });
}

TEST(reduce, expression_as_input) {
  const shape sizes{7, 33};
  test_tensor<f32> x(sizes, layout::strided, random_values(sizes)),
      y({33}, layout::negative, random_values({33}));
  test_tensor<f32> out({7});
  fg::sum(test_stream<host>(), fg::square(x.in()) * y.in(), out.view(), {1});
  std::vector<double> want(7, 0.0);
  for (std::size_t i = 0; i < 7; ++i)
    for (std::size_t j = 0; j < 33; ++j)
      want[i] += x.values()[i * 33 + j] * x.values()[i * 33 + j] * y.values()[j];
  expect_close<f32>(out.read(), want, {1e-5, 1e-5});
}

/// The identity, which once sums another tensor.
struct sums_within {
  template <class V>
  V operator()(const V& x) const {
    if (left.fetch_sub(1) == 1) (void)fg::sum(test_stream<host>(), *other);
    return x;
  }
  static inline std::atomic<i64> left{0};
  static inline const fg::tensor<f32>* other = nullptr;
};
TEST(reduce, functors_may_reduce) {
  const auto& s = test_stream<host>();
  const auto x = fg::full<f32>(s, {1 << 22}, 1), other = fg::full<f32>(s, {1 << 24}, 2);
  sums_within::other = &other;
  const int threads = host::num_threads();
  for (const int n : {1, 2}) {
    host::set_num_threads(n);
    sums_within::left = 1000;  // while partial results are there
    EXPECT_EQ(values_of(fg::sum(s, fg::apply(sums_within{}, x)))[0], 1 << 22) << n;
  }
  host::set_num_threads(threads);
}

TEST(reduce, integers_wrap) {
  auto x = fg::empty<i64>(test_stream<host>(), {40});
  for (int k = 0; k < 40; ++k) x.data()[k] = i64{1} << 62;
  for (const i64 rows : {1, 2, 20, 40})  // 40 * 2^62 = 0 modulo 2^64; both orders of the loops
    for (const i64 dim : {0, 1}) {
      const auto v = x.view().view({rows, 40 / rows});
      const i64 n = v.size(dim);
      const auto s = fg::sum(test_stream<host>(), v, {dim});
      EXPECT_EQ(s.data()[0], static_cast<i64>(static_cast<std::uint64_t>(n) << 62));
    }
  auto y = fg::empty<int32_t>(test_stream<host>(), {70});
  for (int k = 0; k < 70; ++k) y.data()[k] = 2;
  EXPECT_EQ(fg::prod(test_stream<host>(), y).data()[0], 0);
  EXPECT_EQ(fg::prod(test_stream<host>(), y.view().narrow(0, 0, 63)).data()[0],
            std::numeric_limits<i64>::min());
  auto z = fg::empty<int32_t>(test_stream<host>(), {3});
  for (int k = 0; k < 3; ++k) z.data()[k] = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(fg::sum(test_stream<host>(), z).data()[0],
            3 * i64{std::numeric_limits<int32_t>::max()});
}

template <class F, class W>
void expect_one_dimension(const F& f, const W& want) {
  expect_equal(values_of(f), values_of(want));
  EXPECT_EQ(f.shape_of(), want.shape_of());
}

TEST(reduce, one_dimension_without_braces) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 3, 4}, layout::contiguous, random_values({2, 3, 4}));
  const auto v = x.in();
  const int last = -1;
  const std::vector<i64> outer{0, 1};
  expect_one_dimension(fg::sum(s, v, 1), fg::sum(s, v, {1}));
  expect_one_dimension(fg::sum(s, v, 0), fg::sum(s, v, {0}));
  expect_one_dimension(fg::sum<double>(s, v, last, true), fg::sum<double>(s, v, {2}, true));
  expect_one_dimension(fg::sum(s, v, outer), fg::sum(s, v, {0, 1}));
  expect_one_dimension(fg::sum(s, v, shape{0, 1}), fg::sum(s, v, {1, 0}));
  expect_one_dimension(fg::sum(s, v, {}, true), fg::sum(s, v, {0, 1, 2}, true));
  expect_one_dimension(fg::mean(s, v, 1u), fg::mean(s, v, {1}));
  expect_one_dimension(fg::prod(s, v, i64{1}), fg::prod(s, v, {1}));
  expect_one_dimension(fg::amax(s, v, 1, true), fg::amax(s, v, {1}, true));
  expect_one_dimension(fg::amin(s, v * 2, -2), fg::amin(s, v * 2, {1}));
  expect_one_dimension(fg::any(s, v, 1), fg::any(s, v, {1}));
  expect_one_dimension(fg::all(s, v, 1), fg::all(s, v, {1}));
  expect_one_dimension(fg::argmax(s, v, 1), fg::argmax(s, v, {1}));
  test_tensor<f32> out({2, 1, 4}), same({2, 1, 4});
  fg::sum(s, v, out.view(), 1, true);
  fg::sum(s, v, same.view(), {1}, true);
  expect_equal(out.read(), same.read());
  EXPECT_EQ(code_of([&] { (void)fg::sum(s, v, 3); }), fg::errc::out_of_range);
}

TEST(reduce, errors) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({4, 6}, layout::contiguous, random_values({4, 6}));
  test_tensor<f32> out({4}), wide({4, 4});
  test_tensor<i64> index({4});
  EXPECT_RAISES(fg::sum(stream, x.in(), out.view(), {2}), out_of_range, "sum");
  EXPECT_RAISES(fg::sum(stream, x.in(), out.view(), {-3}), out_of_range, "sum");
  EXPECT_RAISES(fg::sum(stream, x.in(), out.view(), {1, -1}), invalid_argument, "sum");
  EXPECT_RAISES(fg::sum(stream, x.in(), out.view(), {0}), shape_mismatch, "sum");
  EXPECT_RAISES(fg::sum(stream, x.in(), out.view(), {1}, true), shape_mismatch, "sum");
  EXPECT_RAISES(fg::sum(stream, x.in(), out.view().narrow(0, 0, 1).expand({4}), {1}), overlap,
                "sum");
  EXPECT_RAISES(fg::sum(stream, x.in(), x.view().select(1, 0), {1}), overlap, "sum");
  const i64 many = i64{1} << 40;
  const f32 one = 1;
  const fg::tensor_view<const f32> unit(&one, {1, 1});
  const auto product = fg::mul(unit.expand({many, 1}), unit.expand({1, many}));
  EXPECT_RAISES(fg::sum(stream, product, out.view().select(0, 0)), invalid_argument, "sum");
  EXPECT_RAISES((void)fg::argmax(stream, product), invalid_argument, "argmax");
  EXPECT_RAISES(fg::argmax(stream, x.in(), index.view(), 2), out_of_range, "argmax");
  EXPECT_RAISES(fg::argmax(stream, x.in(), index.view(), 0), shape_mismatch, "argmax");
  EXPECT_RAISES(
      fg::argmax(stream, x.in().narrow(0, 0, 0), index.view().narrow(0, 0, 0).view({0}), 0),
      shape_mismatch, "argmax");
  EXPECT_RAISES((void)fg::argmax(stream, x.in().narrow(0, 0, 0)), invalid_argument, "argmax");
  EXPECT_RAISES(fg::sum(stream, x.in() + wide.in(), out.view(), {1}), shape_mismatch, "sum");
  EXPECT_TRUE(out.untouched());
  EXPECT_TRUE(x.untouched());
  EXPECT_TRUE(index.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
