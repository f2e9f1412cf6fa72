// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/batch_norm.hpp>
#include <flaggems/ops/cross_entropy.hpp>
#include <flaggems/ops/group_norm.hpp>
#include <flaggems/ops/native_norm.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/rotary.hpp>
#include <flaggems/ops/safe_softmax.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/weight_norm.hpp>

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
/// A reserve of bytes, which is not read.
template <const char* Name>
struct unread_reserve {
  static constexpr std::string_view parameter = Name;
  template <class T, class D>
  using example = std::nullopt_t;
  template <class T, class Dtypes, class D, class F>
  static void choose(const boxed<D>&, const F& f) {
    f(std::nullopt);
  }
};
inline constexpr char reserve_name[] = "reserveSpace", reserved_name[] = "reservedSpace";
using reserve_types = with_choice<floating_types, unread_reserve<reserve_name>>;
using reserved_types = with_choice<floating_types, unread_reserve<reserved_name>>;
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
        FLAGGEMS_BIND(flaggems::native_batch_norm, floating_types, line("native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)").updates("running_mean", "running_var").without_out()),
        FLAGGEMS_BIND(flaggems::batch_norm, floating_types, line("batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor").updates("running_mean", "running_var").without_out()),
        FLAGGEMS_BIND(flaggems::native_batch_norm_legit, floating_types, line("_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::native_batch_norm_legit, floating_types, line("_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::native_batch_norm_legit_no_training, floating_types, line("_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::native_batch_norm_legit_functional, floating_types, line("_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)").without_out()),
        FLAGGEMS_BIND(flaggems::batch_norm_with_update, floating_types, line("_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::batch_norm_with_update_functional, floating_types, line("_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)").without_out()),
        FLAGGEMS_BIND(flaggems::batch_norm_no_update, floating_types, line("_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::batch_norm_impl_index, floating_types, line("flaggems::batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> (Tensor, Tensor, Tensor, Tensor)").updates("running_mean", "running_var").without_out()),
        FLAGGEMS_BIND(flaggems::batch_norm_impl_index_backward, bindings::reserved_types, line("_batch_norm_impl_index_backward(int impl_index, Tensor input, Tensor grad_output, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var_transform, bool train, float eps, bool[3] output_mask, Tensor reservedSpace) -> (Tensor, Tensor, Tensor)").keeps("save_mean", "save_var_transform").without_out()),
        FLAGGEMS_BIND(flaggems::cudnn_batch_norm, floating_types, line("cudnn_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor, Tensor)").updates("running_mean", "running_var").without_out()),
        FLAGGEMS_BIND(flaggems::miopen_batch_norm, floating_types, line("miopen_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor)").updates("running_mean", "running_var").without_out()),
        FLAGGEMS_BIND(flaggems::native_batch_norm_backward, floating_types, line("native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)").keeps("save_mean", "save_invstd").without_out()),
        FLAGGEMS_BIND(flaggems::cudnn_batch_norm_backward, bindings::reserve_types, line("cudnn_batch_norm_backward(Tensor input, Tensor grad_output, Tensor weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var, float epsilon, Tensor reserveSpace) -> (Tensor, Tensor, Tensor)").keeps("save_mean", "save_var").without_out()),
        FLAGGEMS_BIND(flaggems::miopen_batch_norm_backward, floating_types, line("miopen_batch_norm_backward(Tensor input, Tensor grad_output, Tensor weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var, float epsilon) -> (Tensor, Tensor, Tensor)").keeps("save_mean", "save_var").without_out()),
        FLAGGEMS_BIND(flaggems::instance_norm, floating_types, line("instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor").updates("running_mean", "running_var").without_out()),
        FLAGGEMS_BIND(flaggems::weight_norm, floating_types, line("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::weight_norm_interface, floating_types, line("_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)")),
        FLAGGEMS_BIND(flaggems::weight_norm_interface_backward, floating_types, line("_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim) -> (Tensor, Tensor)").keeps("saved_norms")),
        FLAGGEMS_BIND(flaggems::te_rmsnorm_fwd, floating_types, line("flaggems::te_rmsnorm_fwd(Tensor input, Tensor weight, float eps, bool zero_centered_gamma=False) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::te_rmsnorm_bwd, floating_types, line("flaggems::te_rmsnorm_bwd(Tensor dz, Tensor x, Tensor rsigma, Tensor gamma, bool zero_centered_gamma=False) -> (Tensor, Tensor)").keeps("rsigma").without_out()),
        FLAGGEMS_BIND(flaggems::cross_entropy_loss, bindings::loss_types, line("cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor").options_from("reduction")),
        FLAGGEMS_BIND(flaggems::fused_add_rms_norm, floating_types, "flaggems::fused_add_rms_norm(Tensor(a!) input, Tensor(b!) residual, Tensor weight, float epsilon) -> ()"),
        FLAGGEMS_BIND(flaggems::apply_rotary_pos_emb, floating_types, "flaggems::apply_rotary_pos_emb(Tensor q, Tensor k, Tensor cos, Tensor sin, Tensor? position_ids=None, bool rotary_interleaved=False) -> (Tensor q_out, Tensor k_out)"),
        FLAGGEMS_BIND(flaggems::apply_rotary_pos_emb_, floating_types, "flaggems::apply_rotary_pos_emb_(Tensor(a!) q, Tensor(b!) k, Tensor cos, Tensor sin, Tensor? position_ids=None, bool rotary_interleaved=False) -> ()"));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
