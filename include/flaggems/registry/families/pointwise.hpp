// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/arithmetic.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// How div rounds.
struct rounding_choice {
  static constexpr std::string_view parameter = "rounding_mode";
  template <class T, class D>
  using example = rounding_mode::trunc_t;
  template <class T, class Dtypes, class D, class F>
  static void choose(const boxed<D>& mode, const F& f) {
    if (!mode.is_none() && mode.text() == "trunc") return f(rounding_mode::trunc);
    if (!mode.is_none() && mode.text() == "floor") return f(rounding_mode::floor);
    if constexpr (is_floating_point(dtype_of<T>))  // others have become f32
      if (mode.is_none()) return f(rounding_mode::none);
    raise(errc::invalid_argument, "div", "rounding_mode of None, trunc or floor",
          mode.is_none() ? std::string_view("None") : mode.text());
  }
};
using rounded_types = bindings::with_choice<arithmetic_types, rounding_choice>;

/// Pointwise operators of two operands and more.
struct pointwise {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND_IN_PLACE(flaggems::add, numeric_or_complex_types, line("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor").promotes().out("out")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::add, numeric_or_complex_types, line("add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor").promotes()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::sub, arithmetic_or_complex_types, line("sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor").promotes().out("out").also("subtract")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::sub, arithmetic_or_complex_types, line("sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor").promotes().also("subtract")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::mul, numeric_or_complex_types, line("mul.Tensor(Tensor self, Tensor other) -> Tensor").promotes().out("out").also("multiply")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::mul, numeric_or_complex_types, line("mul.Scalar(Tensor self, Scalar other) -> Tensor").promotes().also("multiply")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::div, inexact_types, line("div.Tensor(Tensor self, Tensor other) -> Tensor").to_float().out("out").also("divide").also("true_divide")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::div, inexact_types, line("div.Scalar(Tensor self, Scalar other) -> Tensor").to_float().also("divide").also("true_divide")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::div, rounded_types, line("div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor").to_float_without("rounding_mode").out("out_mode").also("divide")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::div, rounded_types, line("div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor").to_float_without("rounding_mode").also("divide")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::pow, arithmetic_types, line("pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor").promotes().in_place("Tensor")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::pow, arithmetic_types, line("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor").promotes().in_place("Scalar")),
        FLAGGEMS_BIND(flaggems::pow, arithmetic_types, line("pow.Scalar(Scalar self, Tensor exponent) -> Tensor").promotes()),
        FLAGGEMS_BIND(flaggems::maximum, numeric_types, line("maximum(Tensor self, Tensor other) -> Tensor").promotes()),
        FLAGGEMS_BIND(flaggems::minimum, numeric_types, line("minimum(Tensor self, Tensor other) -> Tensor").promotes()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::eq, numeric_or_complex_types, line("eq.Tensor(Tensor self, Tensor other) -> Tensor").promotes()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::eq, numeric_or_complex_types, line("eq.Scalar(Tensor self, Scalar other) -> Tensor").promotes()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::ne, numeric_or_complex_types, line("ne.Tensor(Tensor self, Tensor other) -> Tensor").promotes().also("not_equal")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::ne, numeric_or_complex_types, line("ne.Scalar(Tensor self, Scalar other) -> Tensor").promotes().also("not_equal")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::lt, numeric_types, line("lt.Tensor(Tensor self, Tensor other) -> Tensor").promotes().also("less")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::lt, numeric_types, line("lt.Scalar(Tensor self, Scalar other) -> Tensor").promotes().also("less")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::le, numeric_types, line("le.Tensor(Tensor self, Tensor other) -> Tensor").promotes().also("less_equal")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::le, numeric_types, line("le.Scalar(Tensor self, Scalar other) -> Tensor").promotes().also("less_equal")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::gt, numeric_types, line("gt.Tensor(Tensor self, Tensor other) -> Tensor").promotes().also("greater")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::gt, numeric_types, line("gt.Scalar(Tensor self, Scalar other) -> Tensor").promotes().also("greater")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::ge, numeric_types, line("ge.Tensor(Tensor self, Tensor other) -> Tensor").promotes().also("greater_equal")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::ge, numeric_types, line("ge.Scalar(Tensor self, Scalar other) -> Tensor").promotes().also("greater_equal")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::logical_and, numeric_types, line("logical_and(Tensor self, Tensor other) -> Tensor").promotes()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::logical_or, numeric_types, line("logical_or(Tensor self, Tensor other) -> Tensor").promotes()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::logical_xor, numeric_types, line("logical_xor(Tensor self, Tensor other) -> Tensor").promotes()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::clamp, numeric_types, line("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor").promotes().also("clip")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::clamp, numeric_types, line("clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor").promotes().also("clip")),
        FLAGGEMS_BIND(flaggems::where, numeric_or_complex_types, line("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor").promotes()),
        FLAGGEMS_BIND(flaggems::where, numeric_or_complex_types, line("where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor").promotes().without_out()),
        FLAGGEMS_BIND(flaggems::where, numeric_or_complex_types, line("where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor").promotes().without_out()));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
