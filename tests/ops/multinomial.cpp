// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/multinomial.hpp>
#include <support/ops.hpp>

#include <algorithm>
#include <numeric>
#include <set>

namespace flaggems_test {
namespace {

using fg::philox_generator;
using fg::u64;
__extension__ using wide = unsigned __int128;

/// The samples of `rows` rows of n weights by the definitions, in long double and wide integers.
std::vector<double> reference(const std::vector<double>& p, i64 n, i64 count, bool replacement,
                              philox_generator g) {
  std::vector<double> out;
  const i64 rows = static_cast<i64>(p.size()) / n, drawn = replacement ? count : n;
  const i64 blocks = (drawn + 1) / 2;
  for (i64 row = 0; row < rows; ++row) {
    const double* const w = p.data() + row * n;
    const philox_generator own{g.seed, g.offset + static_cast<u64>(row * blocks)};
    if (replacement) {
      // 2^scale times the weights, rounded down, fits all of them and their sum in 63 bits.
      int exponent = 0;
      std::frexp(*std::max_element(w, w + n), &exponent);
      const int scale = 62 - static_cast<int>(std::floor(std::log2(n))) - exponent;
      std::vector<u64> sums{0};
      for (i64 i = 0; i < n; ++i) {
        const u64 x = static_cast<u64>(std::ldexp(w[i], scale));
        sums.push_back(sums.back() + (w[i] > 0 ? (std::max)(x, u64(1)) : 0));
      }
      for (i64 k = 0; k < count; ++k) {
        const wide bits = fg::kernels::random_bits(own, static_cast<u64>(k));
        const u64 target = static_cast<u64>(bits * sums.back() >> 64);
        const auto after = std::upper_bound(sums.begin(), sums.end(), target);
        out.push_back(static_cast<double>(after - sums.begin() - 1));
      }
    } else {
      std::vector<std::pair<long double, i64>> times;
      for (i64 i = 0; i < n; ++i) {
        const u64 bits = fg::kernels::random_bits(own, static_cast<u64>(i)) | 1U;
        if (w[i] > 0)
          times.emplace_back((64 - std::log2(static_cast<long double>(bits))) / w[i], i);
      }
      std::sort(times.begin(), times.end());
      for (i64 k = 0; k < count; ++k)
        out.push_back(k < static_cast<i64>(times.size())
                          ? static_cast<double>(times[static_cast<std::size_t>(k)].second)
                          : -1);
    }
  }
  return out;
}

template <class D, class T>
void check(const shape& sizes, i64 count, layout in, layout to, const std::vector<double>& values) {
  SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to) + ", sizes " +
               fg::to_string(sizes) + ", samples " + std::to_string(count));
  test_tensor<T, D> probs(sizes, in, values);
  const i64 n = sizes[sizes.rank() - 1];
  shape result = sizes;
  result[sizes.rank() - 1] = count;
  philox_generator generator{7, 40};
  for (const bool replacement : {true, false}) {
    if (!replacement && count > n) continue;
    test_tensor<i64, D> out(result, to);
    const auto want = reference(probs.values(), n, count, replacement, generator);
    const u64 before = generator.offset;
    fg::multinomial(test_stream<D>(), probs.in(), count, replacement, generator, out.view());
    expect_equal(out.read(), want);
    EXPECT_TRUE(out.gaps_untouched());
    EXPECT_TRUE(probs.untouched());
    const i64 rows = sizes.rank() == 2 ? sizes[0] : 1, drawn = replacement ? count : n;
    EXPECT_EQ(generator.offset, before + static_cast<u64>(rows * ((drawn + 1) / 2)));
    EXPECT_EQ(generator.seed, 7U);
  }
}

/// Weights of very different sizes, every fourth 0, the last among them.
std::vector<double> weights(const shape& sizes) {
  std::vector<double> values = random_values(sizes, 0, 1);
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = std::ldexp(values[k], static_cast<int>(k * 7 % 13));
    if (k % 4 == 3) values[k] = 0;
  }
  return values;
}

template <class Case>
class multinomial_test : public ::testing::Test {};
using multinomial_cases =
    unless_reduced<cases<on_host<f32, bf16, f16, f64>, on_chips<f32, bf16, f64>>>;
TYPED_TEST_SUITE(multinomial_test, multinomial_cases);

// The same reference for all devices and levels: all give the same bits.
TYPED_TEST(multinomial_test, rows) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 n : {1, 2, 16, 33, 400, 1000})
      for (const i64 count : {i64{1}, n / 2, i64{300}})
        if (count > 0 && count <= (std::max)(n - n / 4, i64{300})) {
          const auto in = layout::contiguous;
          if (n == 1)
            check<D, T>({4, 1}, count, in, in, {1.0, 2.0, 3e-5, 4.0});
          else
            check<D, T>({3, n}, count, in, in, weights({3, n}));
        }
    check<D, T>({60}, 9, layout::offset, layout::negative, weights({60}));
  });
}

template <class Device>
class multinomial_layouts : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(multinomial_layouts, devices);

TYPED_TEST(multinomial_layouts, all_pairs) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts)
        check<TypeParam, f32>({4, 21}, 5, in, to, weights({4, 21}));
  });
}

TYPED_TEST(multinomial_layouts, empty_and_returning) {
  const auto& stream = test_stream<TypeParam>();
  philox_generator generator{1, 2};
  test_tensor<f32, TypeParam> none({0, 5});
  EXPECT_EQ(fg::multinomial(stream, none.in(), 3, true, generator).shape_of(), (shape{0, 3}));
  EXPECT_EQ(generator.offset, 2U);
  test_tensor<f32, TypeParam> probs({8}, layout::contiguous, weights({8}));
  const auto want = reference(probs.values(), 8, 6, true, generator);
  expect_equal(values_of(fg::multinomial(stream, probs.in(), 6, true, generator)), want);
}

TYPED_TEST(multinomial_layouts, extreme_weights) {
  const auto& stream = test_stream<TypeParam>();
  philox_generator generator{3, 0};
  const double least = std::numeric_limits<f64>::denorm_min(), most = 1.7e308;
  // Subnormal numbers alone, and the largest numbers: their sum would overflow.
  test_tensor<f64, TypeParam> probs(
      {3, 4}, layout::contiguous, {least, 0, 3 * least, 0, most, most, most, most, 0, 0, least, 0});
  const auto got = values_of(fg::multinomial(stream, probs.in(), 400, true, generator));
  i64 count[12] = {};
  for (std::size_t k = 0; k < got.size(); ++k)
    ++count[k / 400 * 4 + static_cast<std::size_t>(got[k])];
  EXPECT_EQ(count[0] + count[2], 400);
  EXPECT_NEAR(static_cast<double>(count[2]), 300, 40);
  for (int i = 4; i < 8; ++i) EXPECT_NEAR(static_cast<double>(count[i]), 100, 40);
  EXPECT_EQ(count[10], 400);
}

TYPED_TEST(multinomial_layouts, weights_that_are_none) {
  // Where the host can read them they are refused, on chips they count as 0.
  if (fg::host_accessible<TypeParam>) return;
  const auto& stream = test_stream<TypeParam>();
  philox_generator generator{5, 0};
  const double nan = std::nan("");
  test_tensor<f32, TypeParam> probs({3, 4}, layout::contiguous,
                                    {nan, 2, -1, HUGE_VAL, 0, nan, -2, -HUGE_VAL, 1, 0, 1, 0});
  expect_equal(values_of(fg::multinomial(stream, probs.in().narrow(0, 0, 2), 3, true, generator)),
               {1, 1, 1, -1, -1, -1});
  const auto got = values_of(fg::multinomial(stream, probs.in(), 3, false, generator));
  EXPECT_EQ(std::vector<double>(got.begin(), got.begin() + 6),
            (std::vector<double>{1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(got[6] + got[7], 2);
  EXPECT_NE(got[6], got[7]);
  EXPECT_EQ(got[8], -1);
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

/// Pearson's statistic is chi-square distributed: within 5 standard deviations of its mean.
void expect_distribution(const std::vector<double>& counts, const std::vector<double>& p) {
  const double n = std::accumulate(counts.begin(), counts.end(), 0.0);
  double statistic = 0, freedom = -1;
  for (std::size_t k = 0; k < p.size(); ++k) {
    if (p[k] == 0) {
      EXPECT_EQ(counts[k], 0) << k;
      continue;
    }
    statistic += (counts[k] - n * p[k]) * (counts[k] - n * p[k]) / (n * p[k]);
    freedom += 1;
  }
  EXPECT_LT(statistic, freedom + 5 * std::sqrt(2 * freedom));
  EXPECT_GT(statistic, freedom - 5 * std::sqrt(2 * freedom));
}

TEST(multinomial, chi_square_with_replacement) {
  for (const u64 seed : {1U, 2U, 3U}) {
    philox_generator generator{seed, 0};
    const std::vector<double> w = weights({100});
    const double sum = std::accumulate(w.begin(), w.end(), 0.0);
    std::vector<double> counts(100), p(100);
    for (std::size_t k = 0; k < 100; ++k) p[k] = w[k] / sum;
    test_tensor<f64> probs({100}, layout::contiguous, w);
    for (int call = 0; call < 2; ++call)  // of one sequence
      for (const double k :
           values_of(fg::multinomial(test_stream<host>(), probs.in(), 500000, true, generator)))
        counts[static_cast<std::size_t>(k)] += 1;
    expect_distribution(counts, p);
  }
}

TEST(multinomial, chi_square_without_replacement) {
  // All ordered pairs: P(i, j) = p_i p_j / (1 - p_i).
  constexpr std::size_t n = 6;
  const std::vector<double> p = {0.4, 0.3, 0.15, 0, 0.1, 0.05};
  for (const u64 seed : {1U, 2U, 3U}) {
    philox_generator generator{seed, 0};
    test_tensor<f64> one({1, n}, layout::contiguous, p);
    const auto probs = one.in().expand({300000, n});
    const auto got = values_of(fg::multinomial(test_stream<host>(), probs, 2, false, generator));
    std::vector<double> counts(n * n), want(n * n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (i != j) want[i * n + j] = p[i] * p[j] / (1 - p[i]);
    for (std::size_t k = 0; k < got.size(); k += 2)
      counts[static_cast<std::size_t>(got[k]) * n + static_cast<std::size_t>(got[k + 1])] += 1;
    expect_distribution(counts, want);
  }
}

TEST(multinomial, vocabulary) {
  check<host, f32>({2, 49152}, 50, layout::contiguous, layout::contiguous, weights({2, 49152}));
}

TEST(multinomial, says_what_is_missing) {
  philox_generator generator{1, 0};
  test_tensor<f32> none({2, 3}, layout::contiguous, {1, 1, 1}), one({3}, layout::contiguous, {1});
  const auto what = [&](auto& probs, i64 count, bool replacement) {
    const fg::error e = error_of([&] {
      (void)fg::multinomial(test_stream<host>(), probs.in(), count, replacement, generator);
    });
    return std::string(e.expected()) + ", got " + std::string(e.got());
  };
  EXPECT_EQ(what(none, 1, true), "a category of positive probability, got none in row 1");
  EXPECT_EQ(what(one, 2, false), "2 categories of positive probability, got 1 in row 0");
}

TEST(multinomial, refuses_bad_arguments) {
  const auto& stream = test_stream<host>();
  philox_generator generator{1, 0};
  test_tensor<f64> probs({2, 4}, layout::contiguous, {1, 2, 3, 4, 0, 1, 0, 1});
  test_tensor<i64> out({2, 3});
  const auto run = [&](const auto& p, i64 count, bool replacement) {
    fg::multinomial(stream, p, count, replacement, generator, out.view());
  };
  EXPECT_RAISES(run(probs.in().unsqueeze(0), 3, true), invalid_argument, "multinomial");
  EXPECT_RAISES(run(probs.in().select(0, 0).select(0, 0), 3, true), invalid_argument,
                "multinomial");
  EXPECT_RAISES(run(probs.in(), 0, true), invalid_argument, "multinomial");
  EXPECT_RAISES(run(probs.in(), -1, true), invalid_argument, "multinomial");
  EXPECT_RAISES(run(probs.in(), 5, false), invalid_argument, "multinomial");
  EXPECT_RAISES(run(probs.in(), 3, false), invalid_argument, "multinomial");  // row 1 has two
  EXPECT_RAISES(run(probs.in(), 2, true), shape_mismatch, "multinomial");
  EXPECT_RAISES(run(probs.in().narrow(1, 0, 0), 3, true), invalid_argument, "multinomial");
  for (const double bad : {-1.0, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    test_tensor<f64> wrong({2, 4}, layout::contiguous, {1, 2, 3, 4, 1, 1, bad, 1});
    EXPECT_RAISES(run(wrong.in(), 3, true), invalid_argument, "multinomial");
  }
  test_tensor<f64> zero({2, 4}, layout::contiguous, {1, 2, 3, 4, 0, -0.0, 0, 0});
  EXPECT_RAISES(run(zero.in(), 3, true), invalid_argument, "multinomial");
  const fg::tensor_view<i64, host> inside(reinterpret_cast<i64*>(probs.view().data()), {2, 3});
  EXPECT_RAISES(fg::multinomial(stream, probs.in(), 3, true, generator, inside), overlap,
                "multinomial");
  EXPECT_TRUE(probs.untouched() && out.untouched());
  EXPECT_EQ(generator.offset, 0U);
}
#endif

}  // namespace
}  // namespace flaggems_test
