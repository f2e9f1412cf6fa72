// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Callables of all kinds, none of which says that it is to be inlined, against a reference in
// double. run.py compiles this at every optimisation level and runs it at every level of the host.
#include <flaggems/kernel/math/math.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/vendors/host.hpp>

#include <cmath>
#include <cstdio>
#include <functional>

namespace fk = flaggems::kernels;

template <class V>
__attribute__((noinline)) V apart(V v) {
  using fk::exp;
  return select(v > V(0.5F), exp(v), fk::sqrt(v));
}
template <class V>
__attribute__((noinline)) V product(const V& a, V b) {
  return a * b;
}

namespace {

template <class V>
using value = std::remove_cvref_t<V>;

struct polynomial {
  float a, b;
  template <class V>
  auto operator()(V v) const {
    return ((V(a) * v + V(b)) * v - V(a)) * v + V(b);
  }
};
struct power {  // calls itself: what no compiler inlines whole
  template <class V>
  V operator()(V v, int n) const {
    return n == 0 ? V(1.0F) : v * (*this)(v, n - 1);
  }
  template <class V>
  V operator()(V v) const {
    return (*this)(v, times);
  }
  int times;
};
// A function, and a function object that erases its type, are of one level's vectors each.
template <class V>
V plain_function(V v) {
  return v * v + V(1.0F);
}
struct through_pointer {
  template <class V>
  V operator()(V v) const {
    V (*volatile f)(V) = plain_function<V>;
    return f(v);
  }
};
struct through_std_function {
  template <class V>
  V operator()(V v) const {
    const std::function<V(V)> f = [](V x) { return x + V(2.0F); };
    return f(v);
  }
};

using stream = flaggems::stream<flaggems::host>;
using flaggems::i64;

int failures = 0;

void expect_near(const char* name, i64 at, double got, double want, double tolerance) {
  if (std::abs(got - want) <= tolerance * (1 + std::abs(want))) return;
  if (++failures < 20)
    std::printf("%s, element %lld: %.9g, expected %.9g\n", name, static_cast<long long>(at), got,
                want);
}

constexpr i64 size = 37;  // whole vectors of every level, and a tail

template <class E, class R>
void expect(const char* name, const stream& s, const E& e, R reference, double tolerance = 1e-6) {
  const auto got = flaggems::evaluate(s, e);
  for (i64 i = 0; i < size; ++i)
    expect_near(name, i, static_cast<double>(got.data()[i]),
                static_cast<double>(reference((static_cast<double>(i) + 1) / 16)), tolerance);
}

}  // namespace

int main() {
  using flaggems::apply;
  const stream s;
  auto x = flaggems::empty<float>(s, {size});
  auto y = flaggems::empty<flaggems::bf16>(s, {size});
  for (i64 i = 0; i < size; ++i) {
    x.data()[i] = static_cast<float>(i + 1) / 16;
    y.data()[i] = flaggems::bf16(static_cast<float>(i + 1) / 16);
  }
  const auto square = [](auto v) { return v * v + 1.0F; };
  const auto square_of = [](double v) { return v * v + 1; };
  expect("lambda", s, apply(square, x), square_of);
  expect("by reference", s, apply([](const auto& v) noexcept { return v * v + 1.0F; }, x),
         square_of);
  expect("16 bits", s, flaggems::cast<float>(apply(square, y)), square_of);
  const float k = x.data()[7];
  expect("capture", s, apply([k](auto v) { return k * v - k; }, x),
         [](double v) { return v / 2 - 0.5; });
  expect("capture in a formula", s, 2 * apply([k](auto v) { return k * v; }, x) + 1,
         [](double v) { return v + 1; });
  expect(
      "callable of a callable", s,
      flaggems::exp(apply([&k](auto v) { return v - k; }, apply([=](auto v) { return v * k; }, x))),
      [](double v) { return std::exp(v / 2 - 0.5); });
  expect("nested", s, apply([k](auto v) { return [&](auto w) { return w / k; }(v) + v; }, x),
         [](double v) { return v * 3; });
  expect("functor", s, apply(polynomial{2, 3}, x),
         [](double v) { return ((2 * v + 3) * v - 2) * v + 3; });
  expect("function pointer", s, apply(through_pointer{}, x), square_of);
  expect("std::function", s, apply(through_std_function{}, x), [](double v) { return v + 2; });
  expect(
      "recursive", s, apply(power{5}, x), [](double v) { return std::pow(v, 5); }, 1e-5);
  expect("noinline", s, apply([](auto v) { return apart(v); }, x),
         [](double v) { return v > 0.5 ? std::exp(v) : std::sqrt(v); });
  expect("two operands", s, apply([](auto a, const auto& b) { return product(a, b); }, x, y),
         [](double v) { return v * v; });
  expect("three operands", s, apply([](auto a, auto b, auto c) { return a * b - c; }, x, y, x),
         [](double v) { return v * v - v; });
  expect("select", s,
         apply(
             [](auto v) {
               using V = value<decltype(v)>;
               return select((v > V(0.5F)) & !(v >= V(1.5F)), fk::greater_of(v, V(1.0F)),
                             fk::lesser_of(v, V(2.0F)));
             },
             x),
         [](double v) { return v > 0.5 && v < 1.5 ? std::fmax(v, 1) : std::fmin(v, 2); });
  expect("mathematics", s,
         apply(
             [](auto v) {
               using V = value<decltype(v)>;
               return fk::exp(-v) + fk::log(v) + fk::tanh(v) + fk::sqrt(v) + fk::abs(v - V(1.0F)) +
                      fk::fma(v, v, V(1.0F));
             },
             x),
         [](double v) {
           return std::exp(-v) + std::log(v) + std::tanh(v) + std::sqrt(v) + std::abs(v - 1) +
                  v * v + 1;
         });
  expect("casts", s,
         apply(
             [](auto v) {
               const auto whole = fk::convert<flaggems::i32>(v);
               const auto low = fk::convert<flaggems::u8>(whole * whole);
               return fk::convert<float>(fk::convert<double>(low) * 0.5) +
                      fk::convert<float>(whole > 1);
             },
             x),
         [](double v) { return std::floor(v) * std::floor(v) / 2 + (v >= 2 ? 1 : 0); });
  const auto sixes = flaggems::full<int>(s, {size}, 6), fours = flaggems::full<int>(s, {size}, 4);
  expect("division of integers", s,
         apply([](auto a, auto b) { return a / b + a % b; }, sixes, fours),
         [](double) { return 3; });
  expect_near(
      "sum of captures", 0,
      static_cast<double>(*flaggems::sum(s, apply([k](auto v) { return v - v + k; }, x)).data()),
      size / 2.0, 1e-6);
  double total = 0;
  for (i64 i = 0; i < size; ++i) total += square_of((static_cast<double>(i) + 1) / 16);
  expect_near("sum", 0, static_cast<double>(*flaggems::sum(s, apply(square, x)).data()), total,
              1e-6);
  return failures == 0 ? 0 : 1;
}
