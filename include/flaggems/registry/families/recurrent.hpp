// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/delta_rule.hpp>
#include <flaggems/ops/recurrent.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// Recurrent networks, their cells, and other recurrences along sequences.
struct recurrent {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
// Of each network the forms for padded and packed sequences; and ours, with a generator for dropout.
#define FLAGGEMS_OF_NETWORK(name, own_name, states, more, results) \
        FLAGGEMS_BIND(flaggems::name, floating_types, line(own_name ".input(Tensor input, " states " hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first" more ") -> " results).without_out()), \
        FLAGGEMS_BIND(flaggems::name, floating_types, line(own_name ".data(Tensor data, Tensor batch_sizes, " states " hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional" more ") -> " results).without_out())
#define FLAGGEMS_NETWORK_LINE(name, states, results) \
        FLAGGEMS_OF_NETWORK(name, #name, states, "", results), \
        FLAGGEMS_OF_NETWORK(name, "flaggems::" #name "_with_dropout", states, ", *, Generator? generator=None", results)
    return std::tuple(
        FLAGGEMS_NETWORK_LINE(lstm, "Tensor[]", "(Tensor, Tensor, Tensor)"),
        FLAGGEMS_NETWORK_LINE(gru, "Tensor", "(Tensor, Tensor)"),
        FLAGGEMS_NETWORK_LINE(rnn_tanh, "Tensor", "(Tensor, Tensor)"),
        FLAGGEMS_NETWORK_LINE(rnn_relu, "Tensor", "(Tensor, Tensor)"),
        FLAGGEMS_BIND(flaggems::thnn_fused_lstm_cell, floating_types, line("_thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias=None, Tensor? hidden_bias=None) -> (Tensor, Tensor, Tensor)").outputs_after(5)),
        FLAGGEMS_BIND(flaggems::thnn_fused_lstm_cell_backward_impl, floating_types, line("_thnn_fused_lstm_cell_backward_impl(Tensor? grad_hy, Tensor? grad_cy, Tensor cx, Tensor cy, Tensor workspace, bool has_bias) -> (Tensor, Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::chunk_gated_delta_rule, floating_types, line("flaggems::chunk_gated_delta_rule(Tensor q, Tensor k, Tensor v, Tensor beta, Tensor g, int BT=64, Tensor? initial_state=None, bool output_final_state=False, Tensor? cu_seqlens=None, bool head_first=True, float? scale=None, bool use_qk_l2norm_in_kernel=False) -> (Tensor, Tensor)").keeps("g", "initial_state").without_out()),
        FLAGGEMS_BIND(flaggems::chunk_gated_delta_rule_fwd, floating_types, line("flaggems::chunk_gated_delta_rule_fwd(Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, float scale, Tensor? initial_state, bool output_final_state, Tensor? cu_seqlens=None) -> (Tensor, Tensor)").keeps("g", "initial_state").without_out()),
        FLAGGEMS_BIND(flaggems::fused_recurrent_gated_delta_rule_fwd, floating_types, line("flaggems::fused_recurrent_gated_delta_rule_fwd(Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, float scale, Tensor(a!) initial_state, bool inplace_final_state=True, Tensor? cu_seqlens=None, Tensor? ssm_state_indices=None, Tensor? num_accepted_tokens=None, bool use_qk_l2norm_in_kernel=False) -> (Tensor, Tensor)").keeps("g", "initial_state").without_out()));
#undef FLAGGEMS_NETWORK_LINE
#undef FLAGGEMS_OF_NETWORK
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
