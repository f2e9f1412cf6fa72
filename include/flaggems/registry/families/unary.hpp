// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/pointwise.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems {

/// What ATen's `approximate` says. Raises invalid_argument for any other text.
inline gelu_approximate spelled(std::string_view text, std::type_identity<gelu_approximate>) {
  if (text != "none" && text != "tanh") [[unlikely]]
    raise(errc::invalid_argument, "gelu", "approximate of none or tanh", text);
  return text == "tanh" ? gelu_approximate::tanh : gelu_approximate::none;
}

}  // namespace flaggems

namespace flaggems::operator_families {

/// Pointwise operators of one operand, and the gated ones of transformers.
struct unary {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND_IN_PLACE(flaggems::neg, arithmetic_or_complex_types, line("neg(Tensor self) -> Tensor").also("negative")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::abs, numeric_or_complex_types, line("abs(Tensor self) -> Tensor").also("absolute")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::square, numeric_or_complex_types, "square(Tensor self) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::relu, arithmetic_types, "relu(Tensor self) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::exp, inexact_types, line("exp(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::exp2, floating_types, line("exp2(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::expm1, floating_types, line("expm1(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::log, floating_types, line("log(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::log1p, floating_types, line("log1p(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::log2, floating_types, line("log2(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::sqrt, inexact_types, line("sqrt(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::rsqrt, floating_types, line("rsqrt(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::reciprocal, floating_types, line("reciprocal(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::sin, floating_types, line("sin(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::cos, floating_types, line("cos(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::tanh, floating_types, line("tanh(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::erf, floating_types, line("erf(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::sigmoid, floating_types, line("sigmoid(Tensor self) -> Tensor").to_float()),
        FLAGGEMS_BIND_IN_PLACE(flaggems::silu, floating_types, "silu(Tensor self) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::logical_not, numeric_types, "logical_not(Tensor self) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::gelu, floating_types, "gelu(Tensor self, *, str approximate='none') -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::gelu_none, floating_types, "flaggems::gelu_none(Tensor self) -> Tensor"),
        FLAGGEMS_BIND_IN_PLACE(flaggems::gelu_tanh, floating_types, "flaggems::gelu_tanh(Tensor self) -> Tensor"),
        FLAGGEMS_BIND(flaggems::silu_and_mul, floating_types, line("flaggems::silu_and_mul(Tensor x, Tensor y) -> Tensor").promotes()),
        FLAGGEMS_BIND(flaggems::gelu_and_mul, floating_types, line("flaggems::gelu_and_mul(Tensor x, Tensor y, str approximate='none') -> Tensor").promotes()));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
