// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/random.hpp>
#include <support/ops.hpp>

#include <algorithm>
#include <functional>
#include <numbers>
#include <numeric>
#include <set>

namespace flaggems_test {
namespace {

using fg::philox_generator;
using fg::u32;
using fg::u64;
using std::numbers::pi;

/// The bits of element k: word k % 4 of block k / 4, or half k % 2 of block k / 2.
template <class T>
u64 bits_of(const philox_generator& g, u64 k) {
  constexpr u64 all = sizeof(T) == 8 ? 2 : 4;
  const u64 at = g.offset + k / all;
  const auto block =
      fg::kernels::philox4x32({{static_cast<u32>(at), static_cast<u32>(at >> 32), 0, 0}},
                              static_cast<u32>(g.seed), static_cast<u32>(g.seed >> 32));
  const auto* const w = block.word;
  return all == 4 ? w[k % 4] : k % 2 == 0 ? w[0] | u64(w[1]) << 32 : w[2] | u64(w[3]) << 32;
}
template <class T>
constexpr int digits = std::is_same_v<T, bf16>  ? 8
                       : std::is_same_v<T, f16> ? 11
                       : std::is_same_v<T, f32> ? 24
                                                : 53;
template <class T>
constexpr int wide_digits = sizeof(T) == 8 ? 53 : 24;
template <class T>
double unit(const philox_generator& g, u64 k, int used = wide_digits<T>) {
  return std::ldexp(static_cast<double>(bits_of<T>(g, k) >> ((sizeof(T) == 8 ? 64 : 32) - used)),
                    -used);
}
/// In (0, 1], as the type that is computed in.
template <class T>
double positive_unit(const philox_generator& g, u64 k) {
  const int used = sizeof(T) == 8 ? 53 : 31;
  const double whole = static_cast<double>(bits_of<T>(g, k) >> ((sizeof(T) == 8 ? 64 : 32) - used));
  if (sizeof(T) == 8) return std::ldexp(whole + 0.5, -used);
  return std::ldexp(static_cast<double>(static_cast<float>(static_cast<float>(whole) + 0.5F)),
                    -used);
}
template <class T>
double normal(const philox_generator& g, u64 k) {
  const u64 even = k / 2 * 2;
  const double radius = std::sqrt(-2 * std::log(positive_unit<T>(g, even)));
  const double angle = 2 * pi * unit<T>(g, even + 1);
  return radius * (k % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

/// All distributions of T on D against these formulas.
template <class D, class T>
void check_formulas(const shape& sizes, layout to) {
  SCOPED_TRACE(std::string(to_string(to)) + ", sizes " + fg::to_string(sizes));
  const auto& stream = test_stream<D>();
  const auto n = static_cast<u64>(sizes.numel());
  philox_generator g{9, 0xfffffffeU};
  const auto check = [&](const auto& draw, const auto& want, tolerance tol) {
    const philox_generator before = g;
    test_tensor<T, D> out(sizes, to);
    draw(out.view());
    std::vector<double> wanted;
    for (u64 k = 0; k < n; ++k) wanted.push_back(want(before, k));
    if (tol.rtol == 0 && tol.atol == 0)
      expect_equal(out.read(), wanted);
    else
      expect_close<T>(out.read(), wanted, tol);
    EXPECT_TRUE(out.gaps_untouched());
    const u64 all = sizeof(T) == 8 ? 2 : 4;
    EXPECT_EQ(g.offset, before.offset + (n + all - 1) / all);
    EXPECT_EQ(g.seed, 9U);
  };
  const auto u = [](const philox_generator& from, u64 k) { return unit<T>(from, k); };
  const double eps = std::ldexp(1.0, 1 - digits<T>);
  const tolerance near{8 * eps, 4 * eps};
  check([&](const auto& x) { fg::uniform_(stream, x, 0, 1, g); },
        [&](const philox_generator& from, u64 k) {
          return unit<T>(from, k, (std::min)(digits<T>, wide_digits<T>));
        },
        {0, 0});
  check([&](const auto& x) { fg::bernoulli_(stream, x, 0.3, g); },
        [&](const philox_generator& from, u64 k) {
          return u(from, k) < (sizeof(T) == 8 ? 0.3 : static_cast<double>(0.3F)) ? 1 : 0;
        },
        {0, 0});
  check([&](const auto& x) { fg::normal_(stream, x, 3, 0.5, g); },
        [&](const philox_generator& from, u64 k) { return 3 + 0.5 * normal<T>(from, k); }, near);
  check([&](const auto& x) { fg::log_normal_(stream, x, 0.5, 0.25, g); },
        [&](const philox_generator& from, u64 k) {
          return std::exp(0.5 + 0.25 * normal<T>(from, k));
        },
        near);
  check(
      [&](const auto& x) { fg::exponential_(stream, x, 2, g); },
      [&](const philox_generator& from, u64 k) { return -std::log(positive_unit<T>(from, k)) / 2; },
      near);
  check([&](const auto& x) { fg::cauchy_(stream, x, 1, 2, g); },
        [&](const philox_generator& from, u64 k) {
          return 1 + 2 * std::tan(pi * (positive_unit<T>(from, k) - 0.5));
        },
        {256 * eps, 64 * eps});
}

template <class Case>
class random_test : public ::testing::Test {};
using random_cases =
    unless_reduced<cases<on_host<f32, bf16, f16, f64>, on_chips<f32, bf16, f64>, on_wide<f32>>>;
TYPED_TEST_SUITE(random_test, random_cases);

// The same formulas for all devices, levels and strides.
TYPED_TEST(random_test, formulas) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    check_formulas<D, T>({203}, layout::contiguous);
    check_formulas<D, T>({203}, layout::offset);
    check_formulas<D, T>({5, 3, 8}, layout::transposed);
    check_formulas<D, T>({7, 12}, layout::strided);
    check_formulas<D, T>({0, 3}, layout::contiguous);
    check_formulas<D, T>({}, layout::contiguous);
  });
}

template <class Device>
class random_devices : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(random_devices, devices);

TYPED_TEST(random_devices, integers) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  at_every_level<D>([&] {
    philox_generator g{4, 7};
    const auto from_bits = [](const philox_generator& from, u64 k, u64 count, i64 low) {
      __extension__ using wide = unsigned __int128;
      return static_cast<double>(
          low + static_cast<i64>(static_cast<wide>(bits_of<i64>(from, k)) * count >> 64));
    };
    const auto check = [&](const auto& got, const philox_generator& from, u64 count, i64 low) {
      std::vector<double> want;
      const auto values = values_of(got);
      for (u64 k = 0; k < values.size(); ++k) want.push_back(from_bits(from, k, count, low));
      expect_equal(values, want);
    };
    auto before = g;
    check(fg::randint(stream, -3, 8, {101}, g), before, 11, -3);
    EXPECT_EQ(g.offset, before.offset + 51);
    before = g;
    check(fg::randint<fg::u8>(stream, 256, {9, 5}, g), before, 256, 0);
    before = g;
    check(fg::randint<f32>(stream, 1000, {77}, g), before, 1000, 0);
    test_tensor<bool, D> bits({64});
    before = g;
    fg::random_(stream, bits.view(), g);
    std::vector<double> want;
    for (u64 k = 0; k < 64; ++k) want.push_back(static_cast<double>(bits_of<i64>(before, k) >> 63));
    expect_equal(bits.read(), want);
    // The whole range of a dtype.
    test_tensor<fg::i8, D> bytes({33});
    before = g;
    fg::random_(stream, bytes.view(), g);
    want.clear();
    for (u64 k = 0; k < 33; ++k) want.push_back(static_cast<double>(bits_of<i64>(before, k) >> 57));
    expect_equal(bytes.read(), want);
    const double least = -9223372036854775808.0;
    test_tensor<i64, D> all({400});
    fg::random_(stream, all.view(), std::numeric_limits<i64>::min(),
                std::numeric_limits<i64>::max(), g);
    const auto drawn = all.read();
    EXPECT_LT(*std::min_element(drawn.begin(), drawn.end()), least * 0.95);
    EXPECT_GT(*std::max_element(drawn.begin(), drawn.end()), -least * 0.95);
    fg::random_(stream, all.view(), 5, g);
    const auto few = all.read();
    EXPECT_EQ(*std::min_element(few.begin(), few.end()), 0);
    EXPECT_EQ(*std::max_element(few.begin(), few.end()), 4);
  });
}

TYPED_TEST(random_devices, permutations) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  philox_generator g{4, 7};
  for (const i64 n : {0, 1, 2, 300}) {
    auto got = values_of(fg::randperm(stream, n, g));
    const auto other = values_of(fg::randperm<f32>(stream, n, g));
    EXPECT_TRUE(n <= 2 || got != other);
    std::sort(got.begin(), got.end());
    for (i64 k = 0; k < n; ++k) EXPECT_EQ(got[static_cast<std::size_t>(k)], static_cast<double>(k));
  }
  philox_generator again{4, 8};  // by the keys
  const auto places = values_of(fg::randperm(stream, 50, again));
  for (std::size_t k = 1; k < places.size(); ++k) {
    const auto key = [&](std::size_t i) {
      return static_cast<i64>(bits_of<i64>({4, 8}, static_cast<u64>(places[i])));
    };
    EXPECT_LT(key(k - 1), key(k));
  }
}

TYPED_TEST(random_devices, of_tensors) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  at_every_level<D>([&] {
    philox_generator g{5, 1};
    auto before = g;
    test_tensor<f32, D> p({2, 6}, layout::strided,
                          {0, 1, 0.5, 0.25, 0.75, 0.5, 1, 0, NAN, -1, 2, 0.5});
    test_tensor<f32, D> rows({3, 2, 6});
    fg::bernoulli_(stream, rows.view(), p.in(), g);
    std::vector<double> want;
    for (u64 k = 0; k < 36; ++k) want.push_back(unit<f32>(before, k) < p.values()[k % 12] ? 1 : 0);
    expect_equal(rows.read(), want);
    EXPECT_EQ(g.offset, before.offset + 9);
    EXPECT_EQ(values_of(fg::bernoulli(stream, p.in(), before)),
              (std::vector<double>(want.begin(), want.begin() + 12)));

    before = g;
    test_tensor<f32, D> mean({3}, layout::contiguous, {-5, 0, 5}),
        std_of({2, 1}, layout::contiguous, {0, 2});
    const auto both = fg::normal(stream, mean.in(), std_of.in(), g);
    EXPECT_EQ(both.shape_of(), (shape{2, 3}));
    want.clear();
    for (u64 k = 0; k < 6; ++k)
      want.push_back((static_cast<double>(k % 3) - 1) * 5 +
                     (k < 3 ? 0 : 2 * normal<f32>(before, k)));
    want[0] = want[3] - 2 * normal<f32>(before, 3);
    expect_close<f32>(values_of(both), want, {1e-6, 1e-6});
    EXPECT_EQ(values_of(fg::normal(stream, mean.in(), 0.0, g)), (std::vector<double>{-5, 0, 5}));
    EXPECT_EQ(fg::normal(stream, 1.0, std_of.in(), g).shape_of(), (shape{2, 1}));

    test_tensor<f32, D> rates({6}, layout::contiguous, {0, 3, 40, -1, INFINITY, NAN});
    before = g;
    const auto counts = values_of(fg::poisson(stream, rates.in(), g));
    EXPECT_EQ(g.offset, before.offset + 6);
    EXPECT_EQ(counts[0], 0);
    EXPECT_EQ(counts[4], INFINITY);
    EXPECT_TRUE(std::isnan(counts[3]) && std::isnan(counts[5]));
    EXPECT_EQ(counts[1], std::floor(counts[1]));
    EXPECT_NEAR(counts[2], 40, 30);
  });
}

TYPED_TEST(random_devices, new_tensors) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  philox_generator g{5, 1}, same{5, 1};
  test_tensor<f16, D> x({2, 3, 4, 5}, layout::contiguous);
  const auto a = fg::rand_like(stream, x.in(), g);
  const auto b = fg::rand<f16>(stream, {2, 3, 4, 5}, same);
  EXPECT_EQ(values_of(a), values_of(b));
  philox_generator third{5, 1};
  const auto last = fg::rand_like(stream, x.in(), third, fg::memory_format::channels_last);
  EXPECT_FALSE(last.view().is_contiguous());
  EXPECT_EQ(values_of(fg::contiguous(stream, last)), values_of(b));
  EXPECT_EQ(values_of(fg::randn_like<f32>(stream, x.in(), g)),
            values_of(fg::randn(stream, {2, 3, 4, 5}, same)));
  EXPECT_EQ(values_of(fg::randint_like<i64>(stream, x.in(), -2, 3, g)),
            values_of(fg::randint(stream, -2, 3, {2, 3, 4, 5}, same)));
  EXPECT_EQ(g.offset, same.offset);
  const auto u = fg::uniform(stream, x.in(), -1, 1, g);
  test_tensor<f16, D> out({2, 3, 4, 5});
  fg::uniform(stream, x.in(), -1, 1, same, out.view());
  EXPECT_EQ(values_of(u), out.read());
  EXPECT_TRUE(x.untouched());
}

TYPED_TEST(random_devices, forms) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  test_tensor<f32, D> x({3, 7});
  const auto check = [&](const auto& drawn, const auto& draw_in_place) {
    philox_generator g{5, 1}, same{5, 1};
    const auto got = drawn(g);
    draw_in_place(same);
    expect_equal(values_of(got), x.read());
    EXPECT_EQ(g.offset, same.offset);
  };
  check([&](auto& g) { return fg::log_normal(stream, x.in(), 1, 2, g); },
        [&](auto& g) { fg::log_normal_(stream, x.view(), 1, 2, g); });
  check([&](auto& g) { return fg::cauchy(stream, x.in(), 1, 2, g); },
        [&](auto& g) { fg::cauchy_(stream, x.view(), 1, 2, g); });
  check([&](auto& g) { return fg::exponential(stream, x.in(), 2, g); },
        [&](auto& g) { fg::exponential_(stream, x.view(), 2, g); });
  check([&](auto& g) { return fg::normal(stream, x.in(), 1, 2, g); },
        [&](auto& g) { fg::normal_(stream, x.view(), 1, 2, g); });
  check([&](auto& g) { return fg::bernoulli(stream, x.in(), 0.5, g); },
        [&](auto& g) { fg::bernoulli_(stream, x.view(), 0.5, g); });
  check([&](auto& g) { return fg::geometric(stream, x.in(), 0.25, g); },
        [&](auto& g) { fg::geometric_(stream, x.view(), 0.25, g); });
  // Of integers, as of f32.
  philox_generator g{5, 1};
  test_tensor<fg::i32, D> whole({3, 7});
  fg::geometric_(stream, whole.view(), 0.25, g);
  EXPECT_EQ(whole.read(), x.read());
  for (const double v : x.read()) EXPECT_GE(v, 1);
}

TYPED_TEST(random_devices, refuse_options) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  const double nan = std::nan("");
  philox_generator g{5, 1};
  test_tensor<f32, D> x({4});
  for (const double no : {-0.5, nan}) {
    EXPECT_RAISES(fg::normal_(stream, x.view(), 0, no, g), invalid_argument, "normal_");
    EXPECT_RAISES(fg::log_normal_(stream, x.view(), 0, no, g), invalid_argument, "log_normal_");
    EXPECT_RAISES(fg::exponential_(stream, x.view(), no, g), invalid_argument, "exponential_");
    EXPECT_RAISES(fg::cauchy_(stream, x.view(), 0, no, g), invalid_argument, "cauchy_");
    EXPECT_RAISES(fg::geometric_(stream, x.view(), no, g), invalid_argument, "geometric_");
    EXPECT_RAISES(fg::bernoulli_(stream, x.view(), no, g), invalid_argument, "bernoulli_");
    EXPECT_RAISES(fg::uniform_(stream, x.view(), 0, no, g), invalid_argument, "uniform_");
    EXPECT_RAISES((void)fg::normal(stream, x.view(), no, g), invalid_argument, "normal");
  }
  EXPECT_RAISES(fg::log_normal_(stream, x.view(), 0, 0, g), invalid_argument, "log_normal_");
  EXPECT_RAISES(fg::exponential_(stream, x.view(), 0, g), invalid_argument, "exponential_");
  EXPECT_RAISES(fg::geometric_(stream, x.view(), 1, g), invalid_argument, "geometric_");
  EXPECT_RAISES(fg::bernoulli_(stream, x.view(), 1.5, g), invalid_argument, "bernoulli_");
  EXPECT_RAISES(fg::uniform_(stream, x.view(), -1e308, 1e308, g), invalid_argument, "uniform_");
  EXPECT_RAISES(fg::uniform_(stream, x.view(), 0, 1e39, g), invalid_argument, "uniform_");
  EXPECT_RAISES(fg::uniform_(stream, x.view(), -3e38, 3e38, g), invalid_argument, "uniform_");
  EXPECT_RAISES(fg::random_(stream, x.view(), 3, 3, g), invalid_argument, "random_");
  auto bits = fg::zeros<bool>(stream, {4});
  EXPECT_RAISES(fg::random_(stream, bits.view(), 0, 3, g), invalid_argument, "random_");
  EXPECT_RAISES(fg::random_(stream, bits.view(), -1, g), invalid_argument, "random_");
  EXPECT_RAISES(fg::random_(stream, x.view(), 20000000, std::nullopt, g), invalid_argument,
                "random_");
  EXPECT_RAISES((void)fg::randint<fg::u8>(stream, -1, 3, {2}, g), invalid_argument, "randint");
  EXPECT_RAISES((void)fg::randint<fg::u8>(stream, 257, {2}, g), invalid_argument, "randint");
  EXPECT_RAISES((void)fg::randperm(stream, -1, g), invalid_argument, "randperm");
  EXPECT_RAISES((void)fg::randperm<fg::i8>(stream, 129, g), invalid_argument, "randperm");
  EXPECT_RAISES(fg::uniform_(stream, x.view().narrow(0, 0, 1).expand({4}), 0, 1, g), overlap,
                "uniform_");
  EXPECT_RAISES(fg::uniform(stream, x.view(), 0, 1, g, x.view().narrow(0, 0, 2)), shape_mismatch,
                "uniform");
  EXPECT_RAISES(fg::bernoulli_(stream, x.view(), test_tensor<f32, D>({3}).in(), g), shape_mismatch,
                "bernoulli_");
  EXPECT_TRUE(x.untouched());
  EXPECT_EQ(g.offset, 1U);
}

#if FLAGGEMS_TEST_HOST  // about the host

// ---- distributions, on the host with fixed seeds

constexpr i64 many = 100000;

/// sqrt(n) times the greatest distance of the distribution functions (Kolmogorov and Smirnov).
double distance(std::vector<double> x, const std::function<double(double)>& cdf) {
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double most = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double f = cdf(x[k]), i = static_cast<double>(k);
    most = (std::max)(most, (std::max)(f - i / n, (i + 1) / n - f));
  }
  return std::sqrt(n) * most;
}
/// For integers from `low` on with these probabilities: chi squared over its degrees of freedom.
double chi_squared(const std::vector<double>& x, i64 low, const std::vector<double>& probability) {
  std::vector<double> count(probability.size());
  double others = 0, rest = 1, sum = 0;
  for (const double v : x) {
    const double at = v - static_cast<double>(low);
    if (at >= 0 && at < static_cast<double>(count.size()))
      ++count[static_cast<std::size_t>(at)];
    else
      ++others;
  }
  const auto n = static_cast<double>(x.size());
  for (std::size_t k = 0; k < count.size(); ++k) {
    rest -= probability[k];
    sum += (count[k] - n * probability[k]) * (count[k] - n * probability[k]) / (n * probability[k]);
  }
  if (rest * n > 1)
    sum += (others - n * rest) * (others - n * rest) / (n * rest);
  else
    EXPECT_LT(others, 10);
  return sum / static_cast<double>(count.size());
}
struct moments {
  double mean = 0, variance = 0, neighbours = 0;  // the correlation of neighbours
};
moments moments_of(const std::vector<double>& x) {
  moments m;
  const auto n = static_cast<double>(x.size());
  m.mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  for (std::size_t k = 0; k < x.size(); ++k) {
    m.variance += (x[k] - m.mean) * (x[k] - m.mean) / n;
    if (k > 0) m.neighbours += (x[k] - m.mean) * (x[k - 1] - m.mean) / n;
  }
  m.neighbours /= m.variance;
  return m;
}

template <class T>
struct random_distributions : testing::Test {
  philox_generator g{20261126, 0};
  template <class F>
  std::vector<double> draw(const F& f) {
    auto x = fg::empty<T>(test_stream<host>(), {many});
    f(test_stream<host>(), x.view());
    return values_of(x);
  }
  /// A distance above 1.95 has a probability of 1 in 1000; the seeds are fixed.
  void expect(const std::vector<double>& x, const std::function<double(double)>& cdf) {
    EXPECT_LT(distance(x, cdf), 1.95);
    EXPECT_LT(std::fabs(moments_of(x).neighbours), 0.012);
  }
  void expect_moments(const std::vector<double>& x, double mean, double variance) {
    const auto m = moments_of(x);
    EXPECT_NEAR(m.mean, mean, 4 * std::sqrt(variance / static_cast<double>(many)));
    EXPECT_NEAR(m.variance, variance, 0.03 * variance);
  }
};
using distribution_types = testing::Types<f32, f64>;
TYPED_TEST_SUITE(random_distributions, distribution_types);

TYPED_TEST(random_distributions, continuous) {
  auto& generator = this->g;
  auto x =
      this->draw([&](const auto& s, const auto& to) { fg::uniform_(s, to, -2, 6, generator); });
  this->expect(x, [](double v) { return (v + 2) / 8; });
  this->expect_moments(x, 2, 64.0 / 12);
  EXPECT_TRUE(std::all_of(x.begin(), x.end(), [](double v) { return v >= -2 && v < 6; }));
  const auto bell = [](double v) { return std::erfc(-v / std::sqrt(2.0)) / 2; };
  x = this->draw([&](const auto& s, const auto& to) { fg::normal_(s, to, 3, 0.5, generator); });
  this->expect(x, [&](double v) { return bell((v - 3) / 0.5); });
  this->expect_moments(x, 3, 0.25);
  x = this->draw(
      [&](const auto& s, const auto& to) { fg::log_normal_(s, to, 0.5, 0.25, generator); });
  this->expect(x, [&](double v) { return bell((std::log(v) - 0.5) / 0.25); });
  x = this->draw([&](const auto& s, const auto& to) { fg::exponential_(s, to, 2.5, generator); });
  this->expect(x, [](double v) { return -std::expm1(-2.5 * v); });
  this->expect_moments(x, 0.4, 0.16);
  EXPECT_GT(*std::min_element(x.begin(), x.end()), 0);
  x = this->draw([&](const auto& s, const auto& to) { fg::cauchy_(s, to, -1, 3, generator); });
  EXPECT_LT(distance(x, [](double v) { return 0.5 + std::atan((v + 1) / 3) / pi; }), 1.95);
}

TYPED_TEST(random_distributions, discrete) {
  auto& generator = this->g;
  // Over 10 degrees of freedom a ratio of 3 has a probability below 1 in 1000.
  auto x =
      this->draw([&](const auto& s, const auto& to) { fg::bernoulli_(s, to, 0.3, generator); });
  EXPECT_LT(chi_squared(x, 0, {0.7, 0.3}), 5);
  std::vector<double> p;
  for (int k = 0; k < 20; ++k) p.push_back(0.25 * std::pow(0.75, k));
  x = this->draw([&](const auto& s, const auto& to) { fg::geometric_(s, to, 0.25, generator); });
  EXPECT_LT(chi_squared(x, 1, p), 3);
  this->expect_moments(x, 4, 12);
  x = this->draw([&](const auto& s, const auto& to) { fg::random_(s, to, -5, 6, generator); });
  EXPECT_LT(chi_squared(x, -5, std::vector<double>(11, 1.0 / 11)), 3);
  for (const double rate : {0.5, 4.0, 9.5, 10.5, 60.0}) {
    const i64 low = static_cast<i64>((std::max)(0.0, rate - 2.5 * std::sqrt(rate)));
    p.clear();
    for (double k = static_cast<double>(low); k < rate + 2.5 * std::sqrt(rate); ++k)
      p.push_back(std::exp(k * std::log(rate) - rate - std::lgamma(k + 1)));
    const auto rates = fg::full<TypeParam>(test_stream<host>(), {many}, rate);
    x = values_of(fg::poisson(test_stream<host>(), rates, generator));
    SCOPED_TRACE(rate);
    EXPECT_LT(chi_squared(x, low, p), 3);
    this->expect_moments(x, rate, rate);
  }
}

TEST(random_permutations, are_equally_likely) {
  philox_generator g{3, 0};
  std::vector<double> orders;
  for (int turn = 0; turn < 4800; ++turn) {
    const auto p = values_of(fg::randperm(test_stream<host>(), 4, g));
    double number = 0;  // of the order, by Lehmer's code
    for (std::size_t k = 0; k < 4; ++k) {
      double below = 0;
      for (std::size_t j = k + 1; j < 4; ++j) below += p[j] < p[k] ? 1 : 0;
      number = number * static_cast<double>(4 - k) + below;
    }
    orders.push_back(number);
  }
  EXPECT_LT(chi_squared(orders, 0, std::vector<double>(24, 1.0 / 24)), 2.3);
}

#endif

}  // namespace
}  // namespace flaggems_test
