// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/gated.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>
#include <flaggems/registry/families/unary.hpp>

namespace flaggems::operator_families {

/// Gradients of activations.
struct activation_backward {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::sigmoid_backward, floating_types, line("sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::tanh_backward, floating_types, line("tanh_backward(Tensor grad_output, Tensor output) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::silu_backward, floating_types, line("silu_backward(Tensor grad_output, Tensor self) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::mish_backward, floating_types, line("mish_backward(Tensor grad_output, Tensor self) -> Tensor")),
        FLAGGEMS_BIND(flaggems::threshold_backward, floating_types, line("threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::softplus_backward, floating_types, line("softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::gelu_backward, floating_types, line("gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::elu_backward, floating_types, line("elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::leaky_relu_backward, floating_types, line("leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::logit_backward, floating_types, line("logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::log_sigmoid_backward, floating_types, line("log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::rrelu_with_noise_backward, floating_types, line("rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor")),
        FLAGGEMS_BIND(flaggems::prelu_kernel_backward, floating_types, line("_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)")),
        FLAGGEMS_BIND(flaggems::glu_backward, floating_types, line("glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::dswiglu, floating_types, line("flaggems::dswiglu(Tensor grad_output, Tensor input) -> Tensor")),
        FLAGGEMS_BIND(flaggems::dgeglu, floating_types, line("flaggems::dgeglu(Tensor grad_output, Tensor input) -> Tensor")),
        FLAGGEMS_BIND(flaggems::dreglu, floating_types, line("flaggems::dreglu(Tensor grad_output, Tensor input) -> Tensor")));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
