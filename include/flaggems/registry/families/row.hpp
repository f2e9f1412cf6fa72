// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/rotary.hpp>
#include <flaggems/ops/softmax.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// Operators along one dimension. The names with _ in front are what back ends of PyTorch
/// implement.
struct row {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND_RESULT(flaggems::softmax, floating_types, "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::softmax, floating_types, "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"),
        FLAGGEMS_BIND(flaggems::softmax_backward, floating_types, line("_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor").writes("grad_input")),
        FLAGGEMS_BIND_RESULT(flaggems::log_softmax, floating_types, "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::log_softmax, floating_types, "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"),
        FLAGGEMS_BIND(flaggems::log_softmax_backward, floating_types, "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor"),
        FLAGGEMS_BIND(flaggems::layer_norm, floating_types, "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor"),
        FLAGGEMS_BIND(flaggems::rms_norm, floating_types, "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::fused_add_rms_norm, floating_types, "flaggems::fused_add_rms_norm(Tensor(a!) input, Tensor(b!) residual, Tensor weight, float epsilon) -> ()"),
        FLAGGEMS_BIND(flaggems::apply_rotary_pos_emb, floating_types, "flaggems::apply_rotary_pos_emb(Tensor q, Tensor k, Tensor cos, Tensor sin, Tensor? position_ids=None, bool rotary_interleaved=False) -> (Tensor q_out, Tensor k_out)"),
        FLAGGEMS_BIND(flaggems::apply_rotary_pos_emb_, floating_types, "flaggems::apply_rotary_pos_emb_(Tensor(a!) q, Tensor(b!) k, Tensor cos, Tensor sin, Tensor? position_ids=None, bool rotary_interleaved=False) -> ()"));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
