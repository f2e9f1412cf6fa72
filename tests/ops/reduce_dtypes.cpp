// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Every reduction in every dtype, lanes along the reduced and along the kept dimension.
#include <flaggems/ops/reduce.hpp>
#include <support/ops.hpp>

#include <cmath>

namespace flaggems_test {
namespace {

using std::int32_t, std::int8_t, std::uint8_t;

/// Values of a [5, 37] tensor, small enough for exact sums and products in every type.
template <class T>
std::vector<double> small_values() {
  if constexpr (std::is_same_v<T, bool>) return random_integers({5, 37}, 0, 1);
  if constexpr (std::is_unsigned_v<T>) return random_integers({5, 37}, 0, 2);
  return random_integers({5, 37}, -1, 1);
}

struct folded {
  double sum = 0, prod = 1, largest = -1e300, smallest = 1e300, any = 0, all = 1;
  void add(double x) {
    sum += x;
    prod *= x;
    largest = std::fmax(largest, x);
    smallest = std::fmin(smallest, x);
    any = any != 0 || x != 0 ? 1 : 0;
    all = all != 0 && x != 0 ? 1 : 0;
  }
};

/// Calls f(what the reduction over dim folds to, ...) for each member.
template <class T, class D>
void check_all() {
  at_every_level<D>([] {
    for (const i64 dim : {0, 1}) {
      test_tensor<T, D> x({5, 37}, dim == 0 ? layout::contiguous : layout::offset,
                          small_values<T>());
      std::vector<folded> groups(dim == 0 ? 37 : 5);
      for (std::size_t i = 0; i < 5; ++i)
        for (std::size_t j = 0; j < 37; ++j) groups[dim == 0 ? j : i].add(x.values()[i * 37 + j]);
      const auto expect = [&](const auto& got, double folded::*member, double divisor = 1) {
        std::vector<double> want;
        for (const folded& g : groups) want.push_back(g.*member / divisor);
        using R = fg::value_t<decltype(got)>;
        expect_close<R>(values_of(got), want, {divisor == 1 ? 0 : 1e-7, 0});
      };
      const auto& stream = test_stream<D>();
      constexpr bool floating = fg::detail::kind_of<T> == fg::detail::kind::floating;
      expect(fg::sum(stream, x.in(), {dim}), &folded::sum);
      expect(fg::amax(stream, x.in(), {dim}), &folded::largest);
      expect(fg::amin(stream, x.in(), {dim}), &folded::smallest);
      expect(fg::any(stream, x.in(), {dim}), &folded::any);
      expect(fg::all(stream, x.in(), {dim}), &folded::all);
      if constexpr (std::is_same_v<D, host>) {
        expect(fg::prod(stream, x.in(), {dim}), &folded::prod);
        if constexpr (floating)
          expect(fg::mean(stream, x.in(), {dim}), &folded::sum, dim == 0 ? 5 : 37);
      }
      const auto best = values_of(fg::argmax(stream, x.in(), dim));
      for (std::size_t g = 0; g < groups.size(); ++g) {
        const auto b = static_cast<std::size_t>(best[g]);
        for (std::size_t k = 0; k <= b; ++k) {
          const double v = x.values()[dim == 0 ? k * 37 + g : g * 37 + k];
          EXPECT_TRUE(k == b ? v == groups[g].largest : v < groups[g].largest);
        }
      }
      static_assert(std::is_same_v<fg::value_t<decltype(fg::sum(stream, x.in()))>,
                                   std::conditional_t<floating, T, i64>>);
      static_assert(std::is_same_v<fg::value_t<decltype(fg::amax(stream, x.in()))>, T>);
      using truth = std::conditional_t<std::is_same_v<T, uint8_t>, uint8_t, bool>;
      static_assert(std::is_same_v<fg::value_t<decltype(fg::any(stream, x.in()))>, truth>);
      static_assert(std::is_same_v<fg::value_t<decltype(fg::all(stream, x.in()))>, truth>);
    }
  });
}

template <class Case>
class reduce_dtypes : public ::testing::Test {};
using dtype_cases =
    cases<on_host<f64, bf16, f16, fg::i32, i64, fg::u8, bool>, on_chips<bf16, fg::u8>>;
TYPED_TEST_SUITE(reduce_dtypes, dtype_cases);

TYPED_TEST(reduce_dtypes, rows_and_columns) {
  check_all<typename TypeParam::type, typename TypeParam::device>();
}

TEST(reduce_other_result, of_int_in_f32) {
  test_tensor<int32_t> x({3, 5}, layout::contiguous, random_integers({3, 5}, -9, 9));
  test_tensor<f32> out({3});
  fg::sum(test_stream<host>(), x.in(), out.view(), {1});
  std::vector<double> want(3, 0.0);
  for (std::size_t k = 0; k < 15; ++k) want[k / 5] += x.values()[k];
  expect_equal(out.read(), want);
  const auto wide = fg::sum<f64>(test_stream<host>(), out.in(), {0}, true);
  static_assert(std::is_same_v<fg::value_t<decltype(wide)>, f64>);
  expect_equal(values_of(wide), {want[0] + want[1] + want[2]});
}

template <class D>
class reduce_result_dtype : public ::testing::Test {};
TYPED_TEST_SUITE(reduce_result_dtype, all_devices);

// Elements are converted to the result's dtype before they are folded.
TYPED_TEST(reduce_result_dtype, converts_first) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const i64 n : {2, 40}) {
      std::vector<double> both, large(static_cast<std::size_t>(n), 4294967296.0);
      for (i64 i = 0; i < n; ++i) both.push_back(i % 2 == 0 ? 1 : -1);
      test_tensor<std::int64_t, D> x({n}, layout::contiguous, both),
          y({n}, layout::contiguous, large), columns({n, 3});
      test_tensor<f32, D> halves({n}, layout::contiguous, std::vector<double>(both.size(), 0.5));
      test_tensor<bool, D> out(shape{});
      expect_equal(values_of(fg::sum<bool>(s, x.in())), {1});
      expect_equal(values_of(fg::prod<bool>(s, y.in())), {1});
      expect_equal(values_of(fg::sum<bool>(s, halves.in())), {1});
      fg::sum(s, x.in(), out.view());
      expect_equal(out.read(), {1});
      expect_equal(values_of(fg::sum<bool>(s, x.in().unsqueeze(1).expand({n, 3}), {0})), {1, 1, 1});
      expect_equal(values_of(fg::mean<f32>(s, y.in())), {4294967296.0});
    }
  });
}

template <class D>
class reduce_accuracy : public ::testing::Test {};
TYPED_TEST_SUITE(reduce_accuracy, all_devices);

// Equal terms round in the same direction, the more of them are added in a row.
TYPED_TEST(reduce_accuracy, of_many_equal_terms) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const i64 n : {i64{4096}, i64{100000}, i64{std::is_same_v<D, host> ? 4000000 : 300000}}) {
      test_tensor<f32, D> x({n}, layout::contiguous,
                            std::vector<double>(static_cast<std::size_t>(n), 0.1));
      const double term = static_cast<double>(0.1F), count = static_cast<double>(n);
      const double bound = 5e-7;
      const auto expect = [&](const auto& got, double want) {
        for (const double value : values_of(got)) {
          EXPECT_LE(std::fabs(value - want), bound * want) << n;
        }
      };
      expect(fg::sum(s, x.in()), term * count);
      expect(fg::mean(s, x.in()), term);
      const auto columns = x.in().unsqueeze(1).expand({n, 5});
      expect(fg::mean(s, columns, {0}), term);
      const auto planes = x.in().view({n / 16, 16});
      expect(fg::sum(s, planes, {0}), term * static_cast<double>(n / 16));
    }
  });
}

// Terms that are rows, or pieces of them, are added one by one, or a few at a time.
TYPED_TEST(reduce_accuracy, of_long_columns_and_of_many_pieces) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  struct sum_case {
    float term;
    i64 n;
    double bound;
  };
  at_every_level<D>([&] {
    for (const sum_case& c : {sum_case{0.1F, 100000, 2e-7}, sum_case{0.7F, 100000, 2e-7},
                              sum_case{0.1F, 1000000, 3e-7}}) {
      const double term = static_cast<double>(c.term), want = term * static_cast<double>(c.n);
      test_tensor<f32, D> x({16}, layout::contiguous, std::vector<double>(16, term));
      const auto all = x.in();
      const auto expect = [&](const auto& got, double bound, const char* what) {
        for (const double value : values_of(got))
          EXPECT_LE(std::fabs(value - want), bound * want) << what << c.n << " of " << c.term;
      };
      expect(fg::sum(s, all.slice(0, 0, 8).expand({c.n, 8}), {0}), c.bound, "columns: ");
      expect(fg::sum(s, all.slice(0, 0, 3).expand({c.n, 3}), {0}), c.bound, "three columns: ");
      expect(fg::sum(s, all.slice(0, 0, 8, 2).expand({c.n, 4}), {0}), 3.5e-7, "every other one: ");
      expect(fg::sum(s, all.view({4, 4}).expand({c.n / 4, 4, 4}), {0, 2}), 3.5e-7, "pieces: ");
      expect(fg::sum(s, all.view({2, 2, 4}).expand({c.n / 2, 2, 2, 4}), {0, 2}), c.bound,
             "columns along two dimensions: ");
    }
  });
}

}  // namespace
}  // namespace flaggems_test
