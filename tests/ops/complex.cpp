// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Complex numbers, compared with std::complex<double> and, where zeros, infinities and NaN are
// concerned, with what PyTorch gives.
#include <flaggems/ops/arrange.hpp>
#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/complex.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/outer.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/stack.hpp>
#include <support/ops.hpp>

#include <complex>
#include <functional>

namespace flaggems_test {
namespace {

using fg::c128;
using fg::c64;
using number = std::complex<double>;
using numbers = std::vector<number>;

template <class C>
fg::kernels::real_of<C> part(double x) {
  return static_cast<fg::kernels::real_of<C>>(x);
}
template <class C>
C element(number z) {
  return {part<C>(z.real()), part<C>(z.imag())};
}

/// Complex numbers on a device, `gap` elements apart, and as std::complex<double>.
template <class C, class D>
class complex_tensor {
 public:
  complex_tensor(const shape& sizes, const numbers& values, i64 gap = 1) : sizes_(sizes) {
    std::vector<C> memory(values.size() * static_cast<std::size_t>(gap) + 1, C{7, 7});
    for (std::size_t k = 0; k < values.size(); ++k) {
      memory[k * static_cast<std::size_t>(gap)] = element<C>(values[k]);
      const C z = element<C>(values[k]);
      values_.emplace_back(z.re, z.im);
    }
    strides_ = fg::contiguous_strides(sizes);
    for (int d = 0; d < sizes.rank(); ++d) strides_[d] *= gap;
    storage_ = fg::empty<C>(test_stream<D>(), {static_cast<i64>(memory.size())});
    D::copy(storage_.data(), memory.data(), storage_.bytes(), fg::copy_kind::host_to_device,
            test_stream<D>().handle());
    test_stream<D>().synchronize();
  }
  [[nodiscard]] fg::tensor_view<C, D> view() { return {storage_.data(), sizes_, strides_}; }
  [[nodiscard]] fg::tensor_view<const C, D> in() { return view(); }
  [[nodiscard]] const numbers& values() const { return values_; }

 private:
  shape sizes_, strides_;
  fg::tensor<C, D> storage_;
  numbers values_;
};

/// The elements in row-major order, by way of their parts, so that no kernel of complex numbers is
/// used.
template <class C, class D>
numbers read(const fg::tensor_view<C, D>& x) {
  const auto parts = values_of(fg::clone(test_stream<D>(), fg::view_as_real(x)));
  numbers all;
  for (std::size_t k = 0; k + 1 < parts.size(); k += 2) all.emplace_back(parts[k], parts[k + 1]);
  return all;
}

template <class C, class D>
numbers read(const fg::tensor<C, D>& x) {
  return read(x.view());
}

numbers random_numbers(std::size_t n, double low = -2, double high = 2) {
  const auto parts = random_values({2 * static_cast<i64>(n)}, low, high);
  numbers all;
  for (std::size_t k = 0; k < n; ++k) all.emplace_back(parts[2 * k], parts[2 * k + 1]);
  return all;
}
template <class F>
numbers mapped(const numbers& a, F f) {
  numbers r;
  for (const number& x : a) r.push_back(f(x));
  return r;
}
template <class F>
numbers mapped(const numbers& a, const numbers& b, F f) {
  numbers r;
  for (std::size_t k = 0; k < a.size(); ++k) r.push_back(f(a[k], b[k % b.size()]));
  return r;
}

template <class C>
void expect_near(const numbers& got, const numbers& want, double times = 1) {
  const double bound = times * (std::is_same_v<C, c64> ? 1e-6 : 2e-15);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < got.size(); ++k)
    EXPECT_LE(std::abs(got[k] - want[k]), bound * (std::max)(std::abs(want[k]), 1e-3))
        << k << ": " << got[k] << " for " << want[k];
}
template <class C>
void expect_near(const std::vector<double>& got, const numbers& want, double times = 1) {
  numbers all;
  for (const double x : got) all.emplace_back(x, 0);
  expect_near<C>(all, want, times);
}
/// The same number, or both NaN; zeros of the same sign.
void expect_alike(double got, double want, const std::string& what) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what << ": " << got << " for " << want;
  } else if (want == 0 || std::isinf(want)) {
    EXPECT_TRUE(got == want && std::signbit(got) == std::signbit(want))
        << what << ": " << got << " for " << want;
  } else {
    EXPECT_NEAR(got / want, 1, 1e-6) << what << ": " << got << " for " << want;
  }
}

template <class Case>
class complex_numbers : public ::testing::Test {};
using complex_cases = cases<on_host<c64, c128>, on_chips<c64>, on_wide<c128>>;
TYPED_TEST_SUITE(complex_numbers, complex_cases);

TYPED_TEST(complex_numbers, formulas) {
  using C = typename TypeParam::type;
  using D = typename TypeParam::device;
  using T = fg::kernels::real_of<C>;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const i64 gap : {1, 3}) {
      SCOPED_TRACE(gap);
      const std::size_t n = 3 * 47;
      complex_tensor<C, D> a({3, 47}, random_numbers(n), gap), b({3, 47}, random_numbers(n), gap),
          row({47}, random_numbers(47), gap);
      const numbers &x = a.values(), &y = b.values(), &z = row.values();
      expect_near<C>(read(fg::add(s, a.in(), b.in())), mapped(x, y, std::plus<>()));
      expect_near<C>(read(fg::sub(s, a.in(), row.in())), mapped(x, z, std::minus<>()));
      expect_near<C>(read(fg::mul(s, a.in(), row.in())), mapped(x, z, std::multiplies<>()));
      expect_near<C>(read(fg::div(s, a.in(), b.in())), mapped(x, y, std::divides<>()), 4);
      expect_near<C>(read(fg::add(s, a.in(), b.in(), 2)),
                     mapped(x, y, [](number p, number q) { return p + 2.0 * q; }), 4);
      expect_near<C>(read(fg::sub(s, a.in(), b.in(), C{0, 1})),
                     mapped(x, y, [](number p, number q) { return p - number(0, 1) * q; }), 4);
      expect_near<C>(read(fg::mul(s, a.in(), C{1, 2})),
                     mapped(x, [](number p) { return p * number(1, 2); }), 4);
      expect_near<C>(read(fg::mul(s, fg::real(a.in()), b.in())),
                     mapped(x, y, [](number p, number q) { return p.real() * q; }));
      expect_near<C>(read(fg::neg(s, a.in())), mapped(x, [](number p) { return -p; }));
      expect_near<C>(read(fg::square(s, a.in())), mapped(x, [](number p) { return p * p; }), 4);
      expect_near<C>(read(fg::conj(s, a.in())), mapped(x, [](number p) { return std::conj(p); }));
      expect_near<C>(read(fg::exp(s, a.in())), mapped(x, [](number p) { return std::exp(p); }), 4);
      expect_near<C>(read(fg::sqrt(s, a.in())), mapped(x, [](number p) { return std::sqrt(p); }),
                     4);
      const auto size = fg::abs(s, a.in());
      static_assert(std::is_same_v<decltype(fg::abs(s, a.in())), fg::tensor<T, D>>);
      expect_near<C>(values_of(size), mapped(x, [](number p) { return number(std::abs(p)); }), 4);
      const auto angle = fg::angle(s, a.in());
      expect_near<C>(values_of(angle), mapped(x, [](number p) { return number(std::arg(p)); }), 4);
      expect_near<C>(read(fg::polar(s, size, angle)), x, 8);
      expect_near<C>(read(fg::complex_of(s, fg::imag(a.in()), fg::real(a.in()))),
                     mapped(x, [](number p) { return number(p.imag(), p.real()); }));
      complex_tensor<C, D> out({3, 47}, numbers(n), gap);
      fg::assign(s, out.view(), fg::exp(a.in()) * fg::conj(b.in()) + fg::abs(a.in()) - 1);
      expect_near<C>(
          read(out.view()),
          mapped(x, y,
                 [](number p, number q) { return std::exp(p) * std::conj(q) + std::abs(p) - 1.0; }),
          32);
    }
  });
}

TYPED_TEST(complex_numbers, comparison_and_choice) {
  using C = typename TypeParam::type;
  using D = typename TypeParam::device;
  const auto& s = test_stream<D>();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  complex_tensor<C, D> a({4}, {{1, 2}, {1, -2}, {nan, 0}, {0, 0}}),
      b({4}, {{1, 2}, {1, 2}, {nan, 0}, {-0.0, 0}});
  EXPECT_EQ(values_of(fg::eq(s, a.in(), b.in())), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(values_of(fg::ne(s, a.in(), b.in())), (std::vector<double>{0, 1, 1, 0}));
  EXPECT_EQ(values_of(fg::eq(s, a.in(), C{1, -2})), (std::vector<double>{0, 1, 0, 0}));
  const auto chosen = read(fg::where(s, fg::eq(a.in(), b.in()), a.in(), 3.0f));
  EXPECT_EQ(chosen, (numbers{{1, 2}, {3, 0}, {3, 0}, {0, 0}}));
}

// What PyTorch 2.15 gives on a processor, in f32 and f64 alike.
TYPED_TEST(complex_numbers, zeros_infinities_and_nan) {
  using C = typename TypeParam::type;
  using D = typename TypeParam::device;
  const auto& s = test_stream<D>();
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double pi = 3.14159265358979323846, large = static_cast<double>(3e38f);
  struct row {
    number x, exp, sqrt;
    double abs, angle;
  };
  const row rows[] = {
      {{0.0, 0.0}, {1, 0.0}, {0.0, 0.0}, 0, 0.0},
      {{-0.0, 0.0}, {1, 0.0}, {0.0, 0.0}, 0, pi},
      {{0.0, -0.0}, {1, -0.0}, {0.0, -0.0}, 0, -0.0},
      {{-0.0, -0.0}, {1, -0.0}, {0.0, -0.0}, 0, -pi},
      {{-1, 0.0}, {0.36787944117144233, 0.0}, {0.0, 1}, 1, pi},
      {{-1, -0.0}, {0.36787944117144233, -0.0}, {0.0, -1}, 1, -pi},
      {{inf, 0.0}, {inf, 0.0}, {inf, 0.0}, inf, 0.0},
      {{inf, -0.0}, {inf, -0.0}, {inf, -0.0}, inf, -0.0},
      {{inf, 1}, {inf, inf}, {inf, 0.0}, inf, 0.0},
      {{inf, 2}, {-inf, inf}, {inf, 0.0}, inf, 0.0},
      {{inf, inf}, {inf, nan}, {inf, inf}, inf, pi / 4},
      {{inf, nan}, {inf, nan}, {inf, nan}, inf, nan},
      {{-inf, 0.0}, {0.0, 0.0}, {0.0, inf}, inf, pi},
      {{-inf, 1}, {0.0, 0.0}, {0.0, inf}, inf, pi},
      {{-inf, 2}, {-0.0, 0.0}, {0.0, inf}, inf, pi},
      {{-inf, -1}, {0.0, -0.0}, {0.0, -inf}, inf, -pi},
      {{-inf, inf}, {0.0, 0.0}, {inf, inf}, inf, 3 * pi / 4},
      {{-inf, nan}, {0.0, 0.0}, {nan, inf}, inf, nan},
      {{nan, 0.0}, {nan, 0.0}, {nan, nan}, nan, nan},
      {{nan, -0.0}, {nan, -0.0}, {nan, nan}, nan, nan},
      {{nan, 1}, {nan, nan}, {nan, nan}, nan, nan},
      {{nan, inf}, {nan, nan}, {inf, inf}, inf, nan},
      {{nan, nan}, {nan, nan}, {nan, nan}, nan, nan},
      {{1, inf}, {nan, nan}, {inf, inf}, inf, pi / 2},
      {{1, nan}, {nan, nan}, {nan, nan}, nan, nan},
      {{0.0, inf}, {nan, nan}, {inf, inf}, inf, pi / 2},
      {{large, large},
       {-inf, inf},
       {1.9029767077386998e19, 7.88238761225471e18},
       std::is_same_v<C, c64> ? inf : 4.2426406948942856e38,
       pi / 4},
      {{1e-40, 0}, {1, 0.0}, {9.999973050521066e-21, 0.0}, 1e-40, 0.0},
  };
  numbers x;
  for (const row& r : rows) x.push_back(r.x);
  complex_tensor<C, D> a({static_cast<i64>(x.size())}, x);
  at_every_level<D>([&] {
    const auto exp = read(fg::exp(s, a.in())), sqrt = read(fg::sqrt(s, a.in()));
    const auto abs = values_of(fg::abs(s, a.in())), angle = values_of(fg::angle(s, a.in()));
    for (std::size_t k = 0; k < x.size(); ++k) {
      const std::string at =
          "(" + std::to_string(x[k].real()) + ", " + std::to_string(x[k].imag()) + ")";
      expect_alike(exp[k].real(), rows[k].exp.real(), "exp" + at);
      expect_alike(exp[k].imag(), rows[k].exp.imag(), "exp" + at);
      if (std::abs(x[k].real()) != 1e-40) {  // rounded to f32 in c64
        expect_alike(sqrt[k].real(), rows[k].sqrt.real(), "sqrt" + at);
        expect_alike(abs[k], rows[k].abs, "abs" + at);
      }
      expect_alike(sqrt[k].imag(), rows[k].sqrt.imag(), "sqrt" + at);
      expect_alike(angle[k], rows[k].angle, "angle" + at);
    }
  });
}

TYPED_TEST(complex_numbers, products_and_quotients_of_zeros_and_infinities) {
  using C = typename TypeParam::type;
  using D = typename TypeParam::device;
  const auto& s = test_stream<D>();
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct row {
    number a, b, quotient, product;
  };
  const row rows[] = {
      {{1, 2}, {0, 0}, {inf, inf}, {0.0, 0.0}},
      {{0, 0}, {0, 0}, {nan, nan}, {0.0, 0.0}},
      {{1, 2}, {inf, inf}, {nan, nan}, {nan, inf}},
      {{1, 2}, {inf, 0}, {0.0, 0.0}, {inf, inf}},
      {{inf, 1}, {2, 3}, {inf, -inf}, {inf, inf}},
      {{inf, inf}, {1, 0}, {nan, nan}, {nan, nan}},
      {{1, 1}, {nan, 1}, {nan, nan}, {nan, nan}},
      {{1e-30, 0}, {1e-30, 1e-30}, {0.5, -0.5}, {1e-60, 1e-60}},
      {{1e30, 1e30}, {1e30, 1e30}, {1, 0.0}, {nan, 2e60}},
      {{0, inf}, {0, 0}, {nan, inf}, {nan, nan}},
      {{-0.0, 0.0}, {1, 0.0}, {0.0, 0.0}, {-0.0, 0.0}},
      {{-0.0, -0.0}, {0.0, 1}, {-0.0, 0.0}, {0.0, -0.0}},
      {{1, 2}, {-0.0, 0.0}, {inf, inf}, {-0.0, 0.0}},
      {{1, -2}, {3, -0.0}, {1 / 3.0, -2 / 3.0}, {3, -6}},
  };
  numbers x, y;
  for (const row& r : rows) x.push_back(r.a), y.push_back(r.b);
  complex_tensor<C, D> a({static_cast<i64>(x.size())}, x), b({static_cast<i64>(x.size())}, y);
  at_every_level<D>([&] {
    const auto quotient = read(fg::div(s, a.in(), b.in()));
    const auto product = read(fg::mul(s, a.in(), b.in()));
    for (std::size_t k = 0; k < x.size(); ++k) {
      const std::string at = "row " + std::to_string(k);
      expect_alike(quotient[k].real(), rows[k].quotient.real(), at + ", quotient");
      if (rows[k].quotient.imag() == 0 && rows[k].quotient.real() == 1)
        EXPECT_LE(std::abs(quotient[k].imag()), 1e-7);
      else
        expect_alike(quotient[k].imag(), rows[k].quotient.imag(), at + ", quotient");
      if (std::abs(x[k]) > 1e20 || std::abs(x[k]) < 1e-20) continue;  // overflow in f32
      expect_alike(product[k].real(), rows[k].product.real(), at + ", product");
      expect_alike(product[k].imag(), rows[k].product.imag(), at + ", product");
    }
  });
}

TYPED_TEST(complex_numbers, copies_and_conversions) {
  using C = typename TypeParam::type;
  using D = typename TypeParam::device;
  const auto& s = test_stream<D>();
  const std::size_t n = 4 * 37;
  complex_tensor<C, D> a({4, 37}, random_numbers(n)), spread({4, 37}, random_numbers(n), 2);
  const numbers& x = a.values();
  expect_near<C>(read(fg::clone(s, a.in())), x, 0);
  expect_near<C>(read(fg::clone(s, spread.in())), spread.values(), 0);
  const auto turned = fg::contiguous(s, a.in().t());
  numbers want(n);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 37; ++j) want[j * 4 + i] = x[i * 37 + j];
  expect_near<C>(read(turned), want, 0);
  fg::copy_(s, spread.view(), a.in());
  expect_near<C>(read(spread.view()), x, 0);
  expect_near<c64>(read(fg::to<c64>(s, a.in())), x);
  expect_near<C>(read(fg::to<c128>(s, a.in())), x, 0);
  const auto re = mapped(x, [](number p) { return number(p.real()); });
  expect_near<c64>(values_of(fg::to<f32>(s, a.in())), re);
  expect_near<C>(read(fg::to<C>(s, fg::real(a.in()))), re, 0);
  expect_near<C>(values_of(fg::to<i64>(s, a.in())),
                 mapped(x, [](number p) { return number(std::trunc(p.real())); }), 0);
  complex_tensor<C, D> some({3}, {{0, 0}, {0, 2}, {-0.0, 0}});
  EXPECT_EQ(values_of(fg::to<bool>(s, some.in())), (std::vector<double>{0, 1, 0}));
  const auto joined = read(fg::cat(s, {a.in(), a.in()}, 0));
  expect_near<C>(numbers(joined.begin() + static_cast<std::ptrdiff_t>(n), joined.end()), x, 0);
}

TYPED_TEST(complex_numbers, moved) {
  using C = typename TypeParam::type;
  using D = typename TypeParam::device;
  const auto& s = test_stream<D>();
  complex_tensor<C, D> a({2, 3}, random_numbers(6), 2), b({2, 3}, random_numbers(6));
  const numbers &x = a.values(), &y = b.values();
  const auto arranged = [&](std::initializer_list<int> order) {
    numbers r;
    for (const int k : order)
      r.push_back(k < 6 ? x[static_cast<std::size_t>(k)] : y[static_cast<std::size_t>(k - 6)]);
    return r;
  };
  EXPECT_EQ(read(fg::flip(s, a.in(), {1})), arranged({2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(read(fg::roll(s, a.in(), 1, 0)), arranged({3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(read(fg::rot90(s, a.in())), arranged({2, 5, 1, 4, 0, 3}));
  EXPECT_EQ(read(fg::repeat(s, a.in(), {1, 2})), arranged({0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(read(fg::permute_copy(s, a.in(), {1, 0})), arranged({0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(read(fg::stack(s, std::vector{a.in(), b.in()}, 1)),
            arranged({0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
}

TYPED_TEST(complex_numbers, filled) {
  using C = typename TypeParam::type;
  using D = typename TypeParam::device;
  const auto& s = test_stream<D>();
  EXPECT_EQ(read(fg::zeros<C>(s, {3})), numbers(3));
  EXPECT_EQ(read(fg::ones<C>(s, {2})), numbers(2, 1.0));
  EXPECT_EQ(read(fg::full<C>(s, {2}, C{1, -2})), numbers(2, {1, -2}));
  EXPECT_EQ(read(fg::full<C>(s, {2}, 1.5)), numbers(2, 1.5));
  EXPECT_EQ(values_of(fg::full<f32>(s, {2}, C{2, 0})), std::vector<double>(2, 2));
  complex_tensor<C, D> x({5}, random_numbers(5), 2);
  fg::fill_(s, x.view(),
            std::complex<double>(3, 4) == number(3, 4) ? C(std::complex<float>(3, 4)) : C{0, 0});
  EXPECT_EQ(read(x.view()), numbers(5, {3, 4}));
  EXPECT_RAISES(fg::full<f32>(s, {2}, C{0, 1}), invalid_argument, "full");
  EXPECT_RAISES(fg::full<c64>(s, {2}, c128{1, 1e39}), invalid_argument, "full");
}

TYPED_TEST(complex_numbers, views_share_the_memory) {
  using C = typename TypeParam::type;
  using D = typename TypeParam::device;
  using T = fg::kernels::real_of<C>;
  const auto& s = test_stream<D>();
  complex_tensor<C, D> a({2, 3}, random_numbers(6), 2);
  const auto parts = fg::view_as_real(a.view());
  EXPECT_EQ(parts.shape_of(), (shape{2, 3, 2}));
  EXPECT_EQ(shape(parts.strides()), (shape{12, 4, 1}));
  EXPECT_EQ(static_cast<void*>(parts.data()), static_cast<void*>(a.view().data()));
  static_assert(std::is_same_v<decltype(fg::view_as_real(a.in())), fg::tensor_view<const T, D>>);
  const auto whole = fg::view_as_complex(parts);
  EXPECT_EQ(whole.data(), a.view().data());
  EXPECT_EQ(shape(whole.strides()), shape(a.view().strides()));
  fg::fill_(s, fg::real(a.view()), 5);
  fg::neg_(s, fg::imag(a.view()));
  EXPECT_EQ(read(a.view()), mapped(a.values(), [](number p) { return number(5, -p.imag()); }));
  EXPECT_EQ(fg::real(fg::real(a.view())).data(), parts.data());
  EXPECT_EQ(fg::resolve_conj(a.view()).data(), a.view().data());
  EXPECT_EQ(fg::resolve_neg(a.view()).data(), a.view().data());
  const auto empty = fg::empty<T>(s, {0, 2});
  EXPECT_EQ(fg::view_as_complex(empty).shape_of(), (shape{0}));
  const auto scalar = fg::empty<T>(s, {2});
  EXPECT_EQ(fg::view_as_complex(scalar).rank(), 0);
}

TYPED_TEST(complex_numbers, sums) {
  using C = typename TypeParam::type;
  using D = typename TypeParam::device;
  const auto& s = test_stream<D>();
  complex_tensor<C, D> a({5, 7}, random_numbers(35), 2);
  number all = 0;
  numbers rows(5), columns(7);
  for (std::size_t k = 0; k < 35; ++k) {
    all += a.values()[k];
    rows[k / 7] += a.values()[k];
    columns[k % 7] += a.values()[k];
  }
  expect_near<C>(read(fg::sum(s, a.in())), {all}, 32);
  expect_near<C>(read(fg::mean(s, a.in())), {all / 35.0}, 32);
  expect_near<C>(read(fg::sum(s, a.in(), -1)), rows, 32);
  const auto kept = fg::sum(s, a.in(), 0, true);
  EXPECT_EQ(kept.shape_of(), (shape{1, 7}));
  expect_near<C>(read(kept), columns, 32);
  complex_tensor<C, D> none({0, 2}, {});
  EXPECT_EQ(read(fg::sum(s, none.in(), 0)), numbers(2));
  // Of a number without dimensions, which 0 and -1 name all the same.
  const auto alone = a.in().select(0, 1).select(0, 2);
  EXPECT_EQ(read(fg::sum(s, alone)), numbers{a.values()[9]});
  EXPECT_EQ(read(fg::mean(s, alone, -1)), numbers{a.values()[9]});
  EXPECT_EQ(fg::sum(s, alone, 0, true).rank(), 0);
  // Of a formula.
  complex_tensor<C, D> b({7}, random_numbers(7));
  numbers products(5), conjugates(5);
  for (std::size_t k = 0; k < 35; ++k) {
    products[k / 7] += a.values()[k] * b.values()[k % 7];
    conjugates[k / 7] += std::conj(a.values()[k]) * b.values()[k % 7];
  }
  expect_near<C>(read(fg::sum(s, a.in() * b.in(), 1)), products, 64);
  expect_near<C>(read(fg::linalg_vecdot(s, a.in(), b.in())), conjugates, 64);
  expect_near<C>(read(fg::dot(s, a.in().select(0, 1), b.in())), {products[1]}, 64);
  expect_near<C>(read(fg::vdot(s, a.in().select(0, 1), b.in())), {conjugates[1]}, 64);
}

TYPED_TEST(complex_numbers, matrix_products) {
  using C = typename TypeParam::type;
  using D = typename TypeParam::device;
  const auto& s = test_stream<D>();
  const std::size_t m = 9, k = 21, n = 13;
  complex_tensor<C, D> a({9, 21}, random_numbers(m * k)), b({13, 21}, random_numbers(n * k), 2),
      c({9, 13}, random_numbers(m * n)), bias({13}, random_numbers(n)), v({21}, random_numbers(k));
  const numbers &x = a.values(), &y = b.values();
  numbers product(m * n), plus_input(m * n), plus_bias(m * n), by_vector(m);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t q = 0; q < k; ++q) by_vector[i] += x[i * k + q] * v.values()[q];
    for (std::size_t j = 0; j < n; ++j) {
      number& sum = product[i * n + j];
      for (std::size_t q = 0; q < k; ++q) sum += x[i * k + q] * y[j * k + q];
      plus_input[i * n + j] = 2.0 * sum - c.values()[i * n + j];
      plus_bias[i * n + j] = sum + bias.values()[j];
    }
  }
  expect_near<C>(read(fg::mm(s, a.in(), b.in().t())), product, 64);
  expect_near<C>(read(fg::linear(s, a.in(), b.in())), product, 64);
  expect_near<C>(read(fg::linear(s, a.in(), b.in(), bias.in())), plus_bias, 64);
  expect_near<C>(read(fg::mv(s, a.in(), v.in())), by_vector, 64);
  const auto batch = fg::bmm(s, a.in().unsqueeze(0), b.in().t().unsqueeze(0));
  expect_near<C>(read(batch), product, 64);
  fg::addmm(s, c.in(), a.in(), b.in().t(), c.view(), {.beta = -1, .alpha = 2});
  expect_near<C>(read(c.view()), plus_input, 64);
  complex_tensor<C, D> none({2, 0}, {});
  EXPECT_EQ(read(fg::mm(s, none.in(), none.in().t())), numbers(4));
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(complex_views, refuse_what_has_no_pairs) {
  const auto& s = test_stream<host>();
  const auto x = fg::zeros<f32>(s, {4, 4}), odd = fg::zeros<f32>(s, {4, 3});
  EXPECT_RAISES(fg::view_as_complex(x), shape_mismatch, "view_as_complex");
  EXPECT_RAISES(fg::view_as_complex(x.view().select(0, 0).select(0, 0)), shape_mismatch,
                "view_as_complex");
  EXPECT_RAISES(fg::view_as_complex(x.view().slice(1, 0, 4, 2)), invalid_argument,
                "view_as_complex");
  EXPECT_RAISES(fg::view_as_complex(odd.view().narrow(1, 0, 2)), invalid_argument,
                "view_as_complex");
  EXPECT_RAISES(fg::view_as_complex(x.view().narrow(1, 1, 2)), invalid_argument, "view_as_complex");
  const auto deep = fg::zeros<c64>(s, {1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_RAISES(fg::view_as_real(deep), not_supported, "view_as_real");
}

TEST(complex_promotion, is_that_of_pytorch) {
  const auto& s = test_stream<host>();
  const auto x = fg::zeros<f64>(s, {2}), single = fg::zeros<f64>(s, {});
  const auto f = fg::zeros<f32>(s, {2});
  const auto i = fg::zeros<i64>(s, {2});
  const auto z = fg::zeros<c64>(s, {2}), lone = fg::zeros<c64>(s, {});
  const auto wide = fg::zeros<c128>(s, {});
  using narrow_result = fg::tensor<c64, host>;
  using wide_result = fg::tensor<c128, host>;
  static_assert(std::is_same_v<decltype(fg::add(s, z, x)), wide_result>);
  static_assert(std::is_same_v<decltype(fg::add(s, z, i)), narrow_result>);
  static_assert(std::is_same_v<decltype(fg::add(s, z, 1.0)), narrow_result>);
  static_assert(std::is_same_v<decltype(fg::add(s, x, c64{0, 1})), wide_result>);
  static_assert(std::is_same_v<decltype(fg::add(s, f, c128{0, 1})), narrow_result>);
  static_assert(std::is_same_v<decltype(fg::add(s, i, c128{0, 1})), narrow_result>);
  static_assert(std::is_same_v<decltype(fg::add(s, z, fg::as_scalar(single))), narrow_result>);
  static_assert(std::is_same_v<decltype(fg::add(s, f, fg::as_scalar(wide))), narrow_result>);
  static_assert(std::is_same_v<decltype(fg::add(s, x, fg::as_scalar(lone))), wide_result>);
  static_assert(std::is_same_v<decltype(fg::eq(s, z, x)), fg::tensor<bool, host>>);
  EXPECT_RAISES(fg::add(s, f, wide), dtype_mismatch, "add");
}

TEST(complex_numbers_of_the_library, are_those_of_the_language) {
  const c64 z = std::complex<float>(1, 2);
  const std::complex<double> w = c128{3, 4};
  EXPECT_EQ(z, (c64{1, 2}));
  EXPECT_EQ(w, (std::complex<double>(3, 4)));
  static_assert(sizeof(c64) == sizeof(std::complex<float>) && alignof(c128) == 16);
}
#endif

}  // namespace
}  // namespace flaggems_test
