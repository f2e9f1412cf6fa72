// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/complex.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/outer.hpp>
#include <flaggems/ops/reduce.hpp>

#include "contract.hpp"

namespace contract {

using complex_numbers = types<fg::c64, fg::c128>;

void formulas() {
  each(complex_numbers{}, [](const auto& x) {
    using C = fg::value_t<decltype(x)>;
    (void)fg::neg(s, x);
    (void)fg::abs(s, x);
    (void)fg::angle(s, x);
    (void)fg::square(s, x);
    (void)fg::exp(s, x);
    (void)fg::sqrt(s, x);
    (void)fg::conj(s, x);
    (void)fg::where(s, fg::eq(x, x), x, C{0, 1});
    (void)fg::full<C>(s, {2}, C{0, 1});
    (void)fg::cat(s, {x, x}, 0);
  });
  each(cross<complex_numbers, types<fg::c64, fg::c128, f32, bf16, i32>>{},
       [](const auto& a, const auto& b) {
         (void)fg::add(s, a, b);
         (void)fg::sub(s, a, b, 2);
         (void)fg::mul(s, a, b);
         (void)fg::div(s, a, b);
         (void)fg::ne(s, a, b);
       });
  each(types<f32, f64>{}, [](const auto& x) {
    (void)fg::polar(s, x, x);
    (void)fg::complex_of(s, x, x);
  });
}

void conversions() {
  each(cross<complex_numbers, join<complex_numbers, real>>{}, [](const auto& a, const auto& b) {
    fg::copy_(s, a, b);
    fg::copy_(s, b, a);
  });
}

void products_and_sums() {
  each(complex_numbers{}, [](const auto& x) {
    (void)fg::mm(s, x, x);
    (void)fg::linear(s, x, x, fg::with_bias(x));
    (void)fg::addmm(s, x, x, x, {1, 2});
    (void)fg::sum(s, x);
    (void)fg::mean(s, x, 0);
    (void)fg::linalg_vecdot(s, x, x);
  });
}

}  // namespace contract
