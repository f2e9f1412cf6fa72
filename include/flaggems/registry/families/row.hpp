// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/cross_entropy.hpp>
#include <flaggems/ops/group_norm.hpp>
#include <flaggems/ops/native_norm.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/rotary.hpp>
#include <flaggems/ops/safe_softmax.hpp>
#include <flaggems/ops/softmax.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems {

/// The options of cross_entropy_loss from the numbers of its schema; reduction: none, mean, sum.
inline cross_entropy_options options_of(std::type_identity<cross_entropy_options>, i64 reduced,
                                        i64 ignore_index, f64 label_smoothing) {
  return {loss_reduction(reduced).of("cross_entropy_loss"), ignore_index, label_smoothing};
}

namespace bindings {
/// The target of cross_entropy_loss: class indices of i64, or probabilities of the operands' dtype.
struct class_target {
  static constexpr std::string_view parameter = "target";
  template <class T, class D>
  using example = tensor_view<const i64, D>;
  template <class T, class Dtypes, class D, class F>
  static void choose(const boxed<D>& source, const F& f) {
    if (is_floating_point(source.view().dtype()))
      f(source.view().template as<const T>());
    else
      f(source.view().template as<const i64>());
  }
};
using loss_types = with_choice<floating_types, class_target>;
}  // namespace bindings
}  // namespace flaggems

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
        FLAGGEMS_BIND_RESULT(flaggems::log_softmax, floating_types, line("special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::safe_softmax, floating_types, "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::scaled_softmax_forward, floating_types, line("flaggems::scaled_softmax_forward(Tensor input_t, float scale_factor) -> Tensor")),
        FLAGGEMS_BIND(flaggems::scaled_softmax_backward, floating_types, line("flaggems::scaled_softmax_backward(Tensor grad_output, Tensor softmax_results, float scale_factor) -> Tensor").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::log_softmax_backward, floating_types, "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor"),
        FLAGGEMS_BIND(flaggems::layer_norm, floating_types, "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor"),
        FLAGGEMS_BIND(flaggems::rms_norm, floating_types, "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::native_layer_norm, floating_types, "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)"),
        FLAGGEMS_BIND(flaggems::native_layer_norm_backward, floating_types, line("native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)").keeps("mean", "rstd").without_out()),
        FLAGGEMS_BIND(flaggems::fused_rms_norm, floating_types, line("_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::rms_norm_forward, floating_types, line("flaggems::rms_norm_forward(Tensor x, SymInt[] normalized_shape, Tensor? weight=None, float eps=1e-05) -> (Tensor y, Tensor inv_rms)").without_out().also("fused_rms_norm_forward")),
        FLAGGEMS_BIND(flaggems::fused_rms_norm_backward, floating_types, line("_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, Tensor? weight, bool[2] output_mask) -> (Tensor, Tensor)").keeps("rstd").without_out()),
        FLAGGEMS_BIND(flaggems::group_norm, floating_types, "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor"),
        FLAGGEMS_BIND(flaggems::native_group_norm, floating_types, line("native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)").outputs_after(7)),
        FLAGGEMS_BIND(flaggems::native_group_norm_backward, floating_types, line("native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)").keeps("mean", "rstd").without_out()),
        FLAGGEMS_BIND(flaggems::rms_norm_backward, floating_types, line("flaggems::rms_norm_backward(Tensor dy, Tensor x, Tensor inv_rms, SymInt[] normalized_shape, Tensor? weight, float eps=1e-05) -> (Tensor, Tensor)").keeps("inv_rms").without_out()),
        FLAGGEMS_BIND(flaggems::cross_entropy_loss, bindings::loss_types, line("cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor").options_from("reduction")),
        FLAGGEMS_BIND(flaggems::fused_add_rms_norm, floating_types, "flaggems::fused_add_rms_norm(Tensor(a!) input, Tensor(b!) residual, Tensor weight, float epsilon) -> ()"),
        FLAGGEMS_BIND(flaggems::apply_rotary_pos_emb, floating_types, "flaggems::apply_rotary_pos_emb(Tensor q, Tensor k, Tensor cos, Tensor sin, Tensor? position_ids=None, bool rotary_interleaved=False) -> (Tensor q_out, Tensor k_out)"),
        FLAGGEMS_BIND(flaggems::apply_rotary_pos_emb_, floating_types, "flaggems::apply_rotary_pos_emb_(Tensor(a!) q, Tensor(b!) k, Tensor cos, Tensor sin, Tensor? position_ids=None, bool rotary_interleaved=False) -> ()"));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
