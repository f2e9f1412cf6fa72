// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// One step of an LSTM, and its gradient.
#pragma once

#include <flaggems/kernel/family/recurrent/cells.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/statistics.hpp>

#include <optional>
#include <tuple>

namespace flaggems {

namespace operators {
struct lstm_cell;
struct lstm_cell_backward;
}  // namespace operators

/// Gradients of an LSTM cell; those not asked for are absent.
template <class T, class D>
struct lstm_cell_gradients {
  std::optional<tensor<T, D>> gates, cx, bias;
  [[nodiscard]] auto tie() { return std::tie(gates, cx, bias); }
};

namespace detail {

template <class T, class D>
kernels::cell_input<std::remove_const_t<T>> cell_input_of(const tensor_view<T, D>& m) {
  return {m.data(), m.stride(0), m.stride(1)};
}
template <class T, class D>
kernels::cell_output<T> cell_output_of(const tensor_view<T, D>& m) {
  return {m.data(), m.stride(0), m.stride(1)};
}
/// A bias [n], the same in all rows, if there is one.
template <class T, class D>
kernels::cell_input<T> cell_bias_of(const std::optional<tensor_view<const T, D>>& v) {
  if (!v) return {nullptr, 0, 0};
  return {v->data(), 0, v->stride(0)};
}

inline launch_config cell_config(const char* op, i64 rows, i64 length) {
  launch_config config;
  config.op = op;
  config.tiles = rows * kernels::ceil_div(length, kernels::cell_columns);
  config.work = work_of(rows, length, 64);  // limit: operations of an element
  return config;
}
template <class Cell, class S, class G, class T, class K>
void launch_cell(const char* op, const S& stream, const kernels::cell_step<G, T, K>& step) {
  if (step.rows == 0 || step.length == 0) return;
  using kernel = kernels::recurrent_cell<Cell, G, T, K>;
  launch<kernel>(stream, cell_config(op, step.rows, step.length), step);
}

/// Raises unless a matrix has these sizes.
template <class X>
void check_cell_sizes(const char* op, const char* what, const X& x, const shape& sizes) {
  if (!same_sizes(x.sizes(), sizes)) [[unlikely]]
    raise(errc::shape_mismatch, op, text(what) + " of sizes " + to_string(sizes),
          to_string(x.shape_of()));
}

/// The sizes [B, H] of a cell state, whose gates are [B, 4 H].
template <class Gates, class C>
shape lstm_state_sizes(const char* op, const Gates& gates, const C& cx) {
  if (cx.rank() != 2) [[unlikely]]
    raise_sizes(op, "a cell state [B, H]", cx.sizes());
  check_cell_sizes(op, "gates", gates, {cx.size(0), 4 * cx.size(1)});
  return cx.shape_of();
}

template <class S, class T, class D>
void lstm_cell_into(const char* op, const S& stream, const tensor_view<const T, D>& input_gates,
                    const tensor_view<const T, D>& hidden_gates, const tensor_view<const T, D>& cx,
                    const std::optional<tensor_view<const T, D>>& input_bias,
                    const std::optional<tensor_view<const T, D>>& hidden_bias,
                    const tensor_view<T, D>& hy, const tensor_view<T, D>& cy,
                    const tensor_view<T, D>& workspace) {
  const shape state = lstm_state_sizes(op, input_gates, cx);
  check_same_sizes(op, hidden_gates, input_gates);
  if (input_bias.has_value() != hidden_bias.has_value()) [[unlikely]]
    raise(errc::invalid_argument, op, "both biases or none", "one");
  for (const auto* bias : {&input_bias, &hidden_bias})
    if (*bias) check_cell_sizes(op, "a bias", **bias, {4 * state[1]});
  check_output_sizes(op, state, hy);
  check_output_sizes(op, state, cy);
  check_output_sizes(op, input_gates.shape_of(), workspace);
  const tensor_view<T, D> outs[] = {hy, cy, workspace};
  for (int i = 0; i < 3; ++i) {
    check_writable(op, outs[i]);
    const placed_layout written(layout_of(outs[i]));
    for (const auto& in : {input_gates, hidden_gates, cx})
      check_no_overlap(op, written, layout_of(in));
    for (const auto* bias : {&input_bias, &hidden_bias})
      if (*bias) check_no_overlap(op, written, layout_of(**bias));
    for (int j = 0; j < i; ++j) check_no_overlap(op, written, layout_of(outs[j]));
  }
  if (replaced<operators::lstm_cell>(op, stream, input_gates, hidden_gates, cx, input_bias,
                                     hidden_bias, hy, cy, workspace))
    return;
  launch_cell<kernels::lstm_cell>(op, stream,
                                  kernels::cell_step<T, T, T>{state[0],
                                                              state[1],
                                                              cell_input_of(input_gates),
                                                              cell_input_of(hidden_gates),
                                                              cell_bias_of<T, D>(input_bias),
                                                              cell_bias_of<T, D>(hidden_bias),
                                                              {nullptr, 0, 0},
                                                              cell_input_of(cx),
                                                              cell_output_of(hy),
                                                              {nullptr, 0, 0},
                                                              cell_output_of(cy),
                                                              cell_output_of(workspace)});
}

template <class S, class T, class D>
lstm_cell_gradients<T, D> lstm_cell_gradient(
    const char* op, const S& stream, const std::optional<tensor_view<const T, D>>& grad_hy,
    const std::optional<tensor_view<const T, D>>& grad_cy, const tensor_view<const T, D>& cx,
    const tensor_view<const T, D>& cy, const tensor_view<const T, D>& workspace, bool has_bias) {
  const shape state = lstm_state_sizes(op, workspace, cx);
  check_same_sizes(op, cx, cy);
  for (const auto* grad : {&grad_hy, &grad_cy})
    if (*grad) check_cell_sizes(op, "a gradient", **grad, state);
  lstm_cell_gradients<T, D> r;
  if (!grad_hy && !grad_cy) return r;
  r.gates.emplace(empty<T>(stream, workspace.shape_of(), op));
  r.cx.emplace(empty<T>(stream, state, op));
  if (has_bias) r.bias.emplace(empty<T>(stream, {workspace.size(1)}, op));
  if (replaced<operators::lstm_cell_backward>(op, stream, grad_hy, grad_cy, cx, cy, workspace, r))
    return r;
  using kernel = kernels::lstm_cell_gradient<T>;
  const auto given = [](const auto& grad) {
    return grad ? cell_input_of(*grad) : kernels::cell_input<T>{nullptr, 0, 0};
  };
  const kernels::lstm_cell_gradient_step<T> step{state[0],
                                                 state[1],
                                                 given(grad_hy),
                                                 given(grad_cy),
                                                 cell_input_of(cx),
                                                 cell_input_of(cy),
                                                 cell_input_of(workspace),
                                                 cell_output_of(r.gates->view()),
                                                 cell_output_of(r.cx->view())};
  if (state.numel() > 0) launch<kernel>(stream, cell_config(op, state[0], state[1]), step);
  const i64 batch[] = {0};
  if (has_bias)
    sum_into<arithmetic_t<T>>(op, stream, input_of(*r.gates), r.bias->view(), int_list(batch, 1),
                              false);
  return r;
}

}  // namespace detail

/// A step of an LSTM whose gates' products are given: of their sums i, f, g, o with the biases, cy
/// = sigmoid(f) cx + sigmoid(i) tanh(g), hy = sigmoid(o) tanh(cy); workspace has the gates' values.
///
/// input_gates, hidden_gates, workspace [B, 4 H], cx, hy, cy [B, H], biases [4 H], both or none;
/// one floating-point dtype, any strides, computed in f32 or f64. Outputs share no memory with
/// others. Raises shape_mismatch, invalid_argument or overlap before anything is written.
/// aten::_thnn_fused_lstm_cell.out(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor?
/// input_bias=None, Tensor? hidden_bias=None, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2)
template <stream_like S, tensor_like X, tensor_like H, tensor_like C, optional_tensor A,
          optional_tensor B2, tensor_like HY, tensor_like CY, tensor_like W>
void thnn_fused_lstm_cell(const S& stream, const X& input_gates, const H& hidden_gates, const C& cx,
                          const A& input_bias, const B2& hidden_bias, HY&& hy, CY&& cy,
                          W&& workspace) {
  same_device<S, X, H, C, A, B2, HY, CY, W>();
  using T = value_t<const X&>;
  using D = device_of<S>;
  if constexpr (element_type_in<floating_types, 1, X>())
    detail::lstm_cell_into<S, T, D>(
        "thnn_fused_lstm_cell", stream, as_view(input_gates), as_view(hidden_gates), as_view(cx),
        detail::optional_view<T, D>(input_bias), detail::optional_view<T, D>(hidden_bias),
        as_view(hy), as_view(cy), as_view(workspace));
}
template <stream_like S, tensor_like X, tensor_like H, tensor_like C,
          optional_tensor A = std::nullopt_t, optional_tensor B2 = std::nullopt_t>
[[nodiscard]] auto thnn_fused_lstm_cell(const S& stream, const X& input_gates,
                                        const H& hidden_gates, const C& cx,
                                        const A& input_bias = std::nullopt,
                                        const B2& hidden_bias = std::nullopt) {
  constexpr const char* op = "thnn_fused_lstm_cell";
  using T = value_t<const X&>;
  const shape state = detail::lstm_state_sizes(op, as_view(input_gates), as_view(cx));
  std::tuple r(empty<T>(stream, state, op), empty<T>(stream, state, op),
               empty<T>(stream, as_view(input_gates).shape_of(), op));
  thnn_fused_lstm_cell(stream, input_gates, hidden_gates, cx, input_bias, hidden_bias,
                       std::get<0>(r), std::get<1>(r), std::get<2>(r));
  return r;
}

/// The gradients of thnn_fused_lstm_cell, which gave cy and workspace, in new tensors: of the gates
/// [B, 4 H], of cx [B, H], and with has_bias that of a bias [4 H]. Without a gradient of hy or cy
/// there are none. Raises shape_mismatch before anything is written.
/// aten::_thnn_fused_lstm_cell_backward_impl(Tensor? grad_hy, Tensor? grad_cy, Tensor cx, Tensor
/// cy, Tensor workspace, bool has_bias) -> (Tensor, Tensor, Tensor)
template <stream_like S, optional_tensor G, optional_tensor H, tensor_like X, tensor_like Y,
          tensor_like W>
[[nodiscard]] auto thnn_fused_lstm_cell_backward_impl(const S& stream, const G& grad_hy,
                                                      const H& grad_cy, const X& cx, const Y& cy,
                                                      const W& workspace, bool has_bias) {
  same_device<S, G, H, X, Y, W>();
  using T = value_t<const W&>;
  using D = device_of<S>;
  static_assert(detail::kind_of<T> == detail::kind::floating,
                "flaggems: an LSTM is of floating point");
  return detail::lstm_cell_gradient<S, T, D>(
      "thnn_fused_lstm_cell_backward_impl", stream, detail::optional_view<T, D>(grad_hy),
      detail::optional_view<T, D>(grad_cy), as_view(cx), as_view(cy), as_view(workspace), has_bias);
}

}  // namespace flaggems
