// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/complex.hpp>
#include <flaggems/ops/creation.hpp>

#include <flaggems/registry/rows.hpp>

namespace flaggems::bindings {

/// A number as an element of T, as ATen's masked_fill takes one of any kind: truncated. Raises
/// invalid_argument for one that the dtype does not hold.
template <class T, class V>
auto filling_number(V value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != V(0);
  } else if constexpr (kernels::is_integer<T>) {
    detail::check_range<T>("masked_fill", value);
    return kernels::number_cast<T>(value);
  } else {
    return value;
  }
}
template <class S, class X, class M, class V>
auto masked_fill(const S& stream, const X& x, const M& mask, V value) {
  return flaggems::masked_fill(stream, x, mask, filling_number<value_t<const X&>>(value));
}
template <class S, class X, class M, class Out, class V>
void masked_fill(const S& stream, const X& x, const M& mask, Out&& out, V value) {
  flaggems::masked_fill(stream, x, mask, filling_number<value_t<const X&>>(value), out);
}
template <class S, class X, class M, class V>
void masked_fill_(const S& stream, X&& x, const M& mask, V value) {
  flaggems::masked_fill_(stream, x, mask, filling_number<value_t<X&>>(value));
}

}  // namespace flaggems::bindings

namespace flaggems::operator_families {

/// Arithmetic beyond the basic operators.
struct arithmetic {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
#define FLAGGEMS_NAMES bindings::no_names
    return bindings::lines(0
        , FLAGGEMS_BIND_IN_PLACE(flaggems::conj_physical, numeric_or_complex_types, "conj_physical(Tensor self) -> Tensor")
        , FLAGGEMS_BIND(flaggems::conj_copy, numeric_or_complex_types, "_conj_copy(Tensor self) -> Tensor")
        , FLAGGEMS_BIND(flaggems::polar, part_types, "polar(Tensor abs, Tensor angle) -> Tensor")
        , FLAGGEMS_BIND(flaggems::complex_of, part_types, "complex(Tensor real, Tensor imag) -> Tensor")
        FLAGGEMS_UNARY_LINE(deg2rad, to_float, FLAGGEMS_NAMES)
        FLAGGEMS_UNARY_LINE(rad2deg, to_float, FLAGGEMS_NAMES)
        FLAGGEMS_OVERLOADED_LINE(fmod, arithmetic, Scalar, FLAGGEMS_NAMES)
        FLAGGEMS_OVERLOADED_LINE(remainder, arithmetic, Scalar, FLAGGEMS_NAMES)
        , FLAGGEMS_BIND(flaggems::remainder, arithmetic_types, line("remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor").promotes())
        , FLAGGEMS_BIND(flaggems::fmax, numeric_types, line("fmax(Tensor self, Tensor other) -> Tensor").promotes())
        , FLAGGEMS_BIND(flaggems::fmin, numeric_types, line("fmin(Tensor self, Tensor other) -> Tensor").promotes())
        , FLAGGEMS_BIND_IN_PLACE(flaggems::heaviside, numeric_types, line("heaviside(Tensor self, Tensor values) -> Tensor").promotes())
        FLAGGEMS_BINARY_LINE(gcd, whole_number, FLAGGEMS_NAMES)
        FLAGGEMS_BINARY_LINE(lcm, whole_number, FLAGGEMS_NAMES)
        FLAGGEMS_BINARY_LINE(hypot, floating, FLAGGEMS_NAMES)
        , FLAGGEMS_BIND(flaggems::float_power, numeric_types, line("float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor").promotes())
        , FLAGGEMS_BIND(flaggems::float_power, numeric_types, line("float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor").promotes())
        , FLAGGEMS_BIND(flaggems::float_power_, type_list<f64>, line("float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)").promotes())
        , FLAGGEMS_BIND(flaggems::float_power_, type_list<f64>, line("float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)").promotes())
        , FLAGGEMS_BIND(flaggems::float_power, numeric_types, line("float_power.Scalar(Scalar self, Tensor exponent) -> Tensor").promotes())
        , FLAGGEMS_BIND_IN_PLACE(flaggems::lerp, floating_types, line("lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor").promotes())
        , FLAGGEMS_BIND_IN_PLACE(flaggems::lerp, floating_types, line("lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor").promotes())
        , FLAGGEMS_BIND(flaggems::masked_scale, floating_types, "_masked_scale(Tensor self, Tensor mask, float scale) -> Tensor")
        , FLAGGEMS_BIND(flaggems::masked_scale, floating_types, "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor")
        , FLAGGEMS_BIND(flaggems::masked_scale, floating_types, "flaggems::dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor")
        , FLAGGEMS_BIND(flaggems::rsub, arithmetic_or_complex_types, line("rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor").promotes())
        , FLAGGEMS_BIND(flaggems::rsub, arithmetic_or_complex_types, line("rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor").promotes())
        , FLAGGEMS_BIND_IN_PLACE(flaggems::add_relu, arithmetic_types, line("_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor").promotes().out("out"))
        , FLAGGEMS_BIND_IN_PLACE(flaggems::floor_divide, arithmetic_types, line("floor_divide(Tensor self, Tensor other) -> Tensor").promotes().in_place("Tensor"))
        , FLAGGEMS_BIND_IN_PLACE(flaggems::floor_divide, arithmetic_types, line("floor_divide.Scalar(Tensor self, Scalar other) -> Tensor").promotes())
        , FLAGGEMS_BIND_IN_PLACE(flaggems::addcmul, arithmetic_types, line("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor").promotes().outputs_after(3))
        , FLAGGEMS_BIND_IN_PLACE(flaggems::addcdiv, floating_types, line("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor").promotes().outputs_after(3))
        , FLAGGEMS_BIND_IN_PLACE(bindings::masked_fill, numeric_types, "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor")
        , FLAGGEMS_BIND_IN_PLACE(flaggems::masked_fill, numeric_types, line("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor").promotes())
        , FLAGGEMS_BIND_IN_PLACE(flaggems::clamp_min, numeric_types, line("clamp_min(Tensor self, Scalar min) -> Tensor").promotes())
        , FLAGGEMS_BIND_IN_PLACE(flaggems::clamp_min, numeric_types, line("clamp_min.Tensor(Tensor self, Tensor min) -> Tensor").promotes())
        , FLAGGEMS_BIND_IN_PLACE(flaggems::clamp_max, numeric_types, line("clamp_max(Tensor self, Scalar max) -> Tensor").promotes())
        , FLAGGEMS_BIND_IN_PLACE(flaggems::clamp_max, numeric_types, line("clamp_max.Tensor(Tensor self, Tensor max) -> Tensor").promotes())
#undef FLAGGEMS_NAMES
    );
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
