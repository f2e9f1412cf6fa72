// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/gated.hpp>

#include <flaggems/registry/rows.hpp>

namespace flaggems::operator_families {

/// Activations with parameters, and those of the halves of a tensor.
struct activation {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
// (Numbers of activations are floating-point; integer operands are for the typed operators.)
#define FLAGGEMS_LINE_OF(name, rule, ...) FLAGGEMS_UNARY_LINE(name, rule, bindings::no_names)
#define FLAGGEMS_LINE2_OF(name, rule, ...) FLAGGEMS_UNARY2_LINE(name, floating, __VA_ARGS__)
#define FLAGGEMS_NO_LINE(name, rule, ...)
    return bindings::lines(0
        FLAGGEMS_ACTIVATION_TABLE(FLAGGEMS_LINE_OF, FLAGGEMS_UNARY1_LINE, FLAGGEMS_LINE2_OF, FLAGGEMS_UNARY3_LINE, FLAGGEMS_NO_LINE, FLAGGEMS_NO_LINE)
#undef FLAGGEMS_LINE_OF
#undef FLAGGEMS_LINE2_OF
#undef FLAGGEMS_NO_LINE
        , FLAGGEMS_BIND(flaggems::prelu_kernel, floating_types, line("_prelu_kernel(Tensor self, Tensor weight) -> Tensor"))
        , FLAGGEMS_BIND(flaggems::prelu, floating_types, line("prelu(Tensor self, Tensor weight) -> Tensor"))
        , FLAGGEMS_BIND(flaggems::silu_and_mul_with_clamp, floating_types, line("flaggems::silu_and_mul_with_clamp(Tensor x, Tensor y, float limit) -> Tensor"))
        , FLAGGEMS_BIND_IN_PLACE(flaggems::logit, floating_types, line("logit(Tensor self, float? eps=None) -> Tensor").to_float().also("special_logit"))
        , FLAGGEMS_BIND_IN_PLACE(flaggems::nan_to_num, numeric_types, line("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor"))
        , FLAGGEMS_BIND(flaggems::log_sigmoid_forward, floating_types, line("log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)"))
        , FLAGGEMS_BIND(flaggems::glu, floating_types, line("glu(Tensor self, int dim=-1) -> Tensor"))
        , FLAGGEMS_BIND(flaggems::swiglu, floating_types, line("flaggems::swiglu(Tensor input) -> Tensor"))
        , FLAGGEMS_BIND(flaggems::geglu, floating_types, line("flaggems::geglu(Tensor input) -> Tensor"))
        , FLAGGEMS_BIND(flaggems::reglu, floating_types, line("flaggems::reglu(Tensor input) -> Tensor")));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
