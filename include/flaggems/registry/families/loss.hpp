// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/ctc_loss.hpp>
#include <flaggems/ops/loss.hpp>
#include <flaggems/ops/nll_loss.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// Losses of tensors and their targets, and their gradients.
struct loss {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::nll_loss_forward, floating_types, line("nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)").out("output")),
        FLAGGEMS_BIND(flaggems::nll_loss2d_forward, floating_types, line("nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)").out("output")),
        FLAGGEMS_BIND(flaggems::nll_loss_nd_forward, floating_types, line("flaggems::nll_loss_nd_forward(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::nll_loss_nd, floating_types, line("nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::nll_loss_backward, floating_types, line("nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::nll_loss2d_backward, floating_types, line("nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor").out("grad_input").writes("grad_input")),
        FLAGGEMS_BIND(flaggems::nll_loss_nd_backward, floating_types, line("flaggems::nll_loss_nd_backward(Tensor grad_output, Tensor input, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100, Tensor? total_weight=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::mse_loss, floating_types, line("mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor").values_as_target()),
        FLAGGEMS_BIND(flaggems::huber_loss, floating_types, line("huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor").values_as_target()),
        FLAGGEMS_BIND(flaggems::smooth_l1_loss, floating_types, line("smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0) -> Tensor").values_as_target()),
        FLAGGEMS_BIND(flaggems::soft_margin_loss, floating_types, line("soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor").values_as_target()),
        FLAGGEMS_BIND(flaggems::ctc_loss, floating_types, line("ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=Mean, bool zero_infinity=False) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::ctc_loss, floating_types, line("ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=Mean, bool zero_infinity=False) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::ctc_loss_forward, floating_types, line("_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::ctc_loss_forward, floating_types, line("_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::ctc_loss_backward, floating_types, line("_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor").keeps("neg_log_likelihood", "log_alpha").without_out()),
        FLAGGEMS_BIND(flaggems::ctc_loss_backward, floating_types, line("_ctc_loss_backward.Tensor(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor").keeps("neg_log_likelihood", "log_alpha").without_out()),
        FLAGGEMS_BIND(flaggems::binary_cross_entropy, floating_types, line("binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor").values_as_target()),
        FLAGGEMS_BIND(flaggems::binary_cross_entropy_with_logits, floating_types, line("binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=Mean) -> Tensor").values_as_target()),
        FLAGGEMS_BIND(flaggems::margin_ranking_loss, floating_types, line("margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean) -> Tensor").values_as_target()),
        FLAGGEMS_BIND(flaggems::mse_loss_backward, floating_types, line("mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor").out("grad_input").writes("grad_input").values_as_target()),
        FLAGGEMS_BIND(flaggems::huber_loss_backward, floating_types, line("huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor").writes("grad_input").values_as_target()),
        FLAGGEMS_BIND(flaggems::smooth_l1_loss_backward, floating_types, line("smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor").out("grad_input").writes("grad_input").values_as_target()),
        FLAGGEMS_BIND(flaggems::soft_margin_loss_backward, floating_types, line("soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor").out("grad_input").writes("grad_input").values_as_target()),
        FLAGGEMS_BIND(flaggems::binary_cross_entropy_backward, floating_types, line("binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor").out("grad_input").writes("grad_input").values_as_target()));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
