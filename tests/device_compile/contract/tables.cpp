// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The rows of the tables beside the basic one, each with a third of the types that it takes; which,
// the length of its name decides.
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/bitwise.hpp>
#include <flaggems/ops/comparison.hpp>
#include <flaggems/ops/rounding.hpp>

#include "contract.hpp"

namespace contract {
namespace takes {  // what the rules of the tables take
using numeric = real;
using arithmetic = numbers;
using to_float = real;
using to_f64 = real;
using floating = floats;
using to_bool = real;
using whole = integers;
using bits = join<integers, types<bool>>;
}  // namespace takes

template <int Third, class List>
struct third_of {
  using type = types<>;
};
template <int Third, class T, class... Ts>
struct third_of<Third, types<T, Ts...>> {
  using type = join<std::conditional_t<sizeof...(Ts) % 3 == Third, types<T>, types<>>,
                    typename third_of<Third, types<Ts...>>::type>;
};
template <int Length, class List>
using third = typename third_of<Length % 3, List>::type;

#define UNARY(name, rule, ...) \
  each(third<sizeof(#name), takes::rule>{}, [](const auto& x) { (void)fg::name(s, x); });
#define UNARY1(name, rule, ...) \
  each(third<sizeof(#name), takes::rule>{}, [](const auto& x) { (void)fg::name(s, x, 0.5); });
#define UNARY2(name, rule, ...) \
  each(third<sizeof(#name), takes::rule>{}, [](const auto& x) { (void)fg::name(s, x, 1, 2); });
#define BINARY(name, rule, ...)                    \
  each(twice<third<sizeof(#name), takes::rule>>{}, \
       [](const auto& a, const auto& b) { (void)fg::name(s, a, b); });
#define BINARY1(name, rule, ...)                   \
  each(twice<third<sizeof(#name), takes::rule>>{}, \
       [](const auto& a, const auto& b) { (void)fg::name(s, a, b, 0.5); });
#define BINARY2(name, rule, ...)                   \
  each(twice<third<sizeof(#name), takes::rule>>{}, \
       [](const auto& a, const auto& b) { (void)fg::name(s, a, b, 1, 2); });
#define TERNARY(name, rule, ...)                   \
  each(twice<third<sizeof(#name), takes::rule>>{}, \
       [](const auto& a, const auto& b) { (void)fg::name(s, a, b, b); });

void rounding() {
  FLAGGEMS_ROUNDING_TABLE(UNARY, BINARY)
  each(floats{}, [](const auto& x) { (void)fg::round(s, x, 2); });
}

void comparison() {
  FLAGGEMS_COMPARISON_TABLE(UNARY)
  each(twice<real>{}, [](const auto& a, const auto& b) { (void)fg::isclose(s, a, b); });
}

void bitwise() { FLAGGEMS_BITWISE_TABLE(UNARY, BINARY) }

void arithmetic() {
  FLAGGEMS_ARITHMETIC_TABLE(UNARY, BINARY, BINARY1, TERNARY)
  each(twice<types<f32, bf16, i64>>{}, [](const auto& a, const auto& b) {
    (void)fg::add_relu(s, a, b, 2);
    (void)fg::addcmul(s, a, b, b, 2);
    (void)fg::addcdiv(s, a, b, 3);
    (void)fg::masked_fill(s, a, some<bool>(), 1);
  });
}

}  // namespace contract
