// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators that ATen asks of a back end and the registry does not have, made of others, so that
// they run on the device; and convolutions, which the CPU has. Part of torch_device.hpp.
#pragma once

#include <flaggems/adapters/torch_device/functions.hpp>

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

namespace flaggems::detail {

template <class Device>
struct torch_composed {
  using optional_tensor = std::optional<at::Tensor>;
  static bool has(const optional_tensor& t) { return t && t->defined(); }

  // ---- the negative log likelihood, of classes [N, C] or [C]
  struct picked {
    at::Tensor rows, ignored, classes, weights;
  };
  /// Of each row its class, 0 where it is ignored, and its weight, 0 where it is ignored.
  static picked pick(const at::Tensor& self, const at::Tensor& target,
                     const optional_tensor& weight, std::int64_t ignore_index) {
    TORCH_CHECK(self.dim() == 1 || self.dim() == 2, "input tensor should be 1D or 2D");
    TORCH_CHECK(
        target.dim() == self.dim() - 1 && (self.dim() == 1 || target.size(0) == self.size(0)),
        "size mismatch (got input: ", self.sizes(), ", target: ", target.sizes(), ")");
    picked r;
    r.rows = self.dim() == 1 ? self.unsqueeze(0) : self;
    const at::Tensor t = target.reshape({-1});
    r.ignored = t.eq(ignore_index);
    r.classes = t.masked_fill(r.ignored, 0);
    r.weights = has(weight) ? weight->index_select(0, r.classes)
                            : at::ones(r.classes.sizes(), self.options());
    r.weights = r.weights.masked_fill(r.ignored, 0);
    return r;
  }
  static std::tuple<at::Tensor, at::Tensor> nll_loss_forward(const at::Tensor& self,
                                                             const at::Tensor& target,
                                                             const optional_tensor& weight,
                                                             std::int64_t reduction,
                                                             std::int64_t ignore_index) {
    const picked p = pick(self, target, weight, ignore_index);
    const at::Tensor losses = p.rows.gather(1, p.classes.unsqueeze(1))
                                  .squeeze(1)
                                  .mul(p.weights)
                                  .neg()
                                  .masked_fill(p.ignored, 0);
    if (reduction == at::Reduction::None)
      return {losses.reshape(target.sizes()), at::zeros({}, self.options())};
    const at::Tensor total = p.weights.sum(), sum = losses.sum();
    return {reduction == at::Reduction::Mean ? sum.div(total) : sum, total};
  }
  static at::Tensor nll_loss_backward(const at::Tensor& grad_output, const at::Tensor& self,
                                      const at::Tensor& target, const optional_tensor& weight,
                                      std::int64_t reduction, std::int64_t ignore_index,
                                      const at::Tensor& total_weight) {
    const picked p = pick(self, target, weight, ignore_index);
    at::Tensor g = reduction == at::Reduction::None ? grad_output.reshape({-1}) : grad_output;
    if (reduction == at::Reduction::Mean) g = g.div(total_weight);
    const at::Tensor rows = p.weights.mul(g).neg().masked_fill(p.ignored, 0).unsqueeze(1);
    const at::Tensor r = at::zeros(p.rows.sizes(), self.options());
    return r.scatter(1, p.classes.unsqueeze(1), rows).reshape(self.sizes());
  }

  // ---- batch norms, which write their running statistics, as PyTorch's fallback would not
  struct channels {  // of [N, C, ...]
    at::DimVector others;
    at::DimVector shape;
    explicit channels(const at::Tensor& x) : shape(static_cast<std::size_t>(x.dim()), 1) {
      for (std::int64_t d = 0; d < x.dim(); ++d)
        if (d != 1) others.push_back(d);
      shape[1] = x.size(1);
    }
    [[nodiscard]] at::Tensor spread(const at::Tensor& t) const { return t.reshape(shape); }
    [[nodiscard]] at::Tensor sum(const at::Tensor& t) const { return t.sum(others); }
  };
  static at::Tensor inverse_deviation(const at::Tensor& variance, double eps) {
    return variance.add(eps).rsqrt();
  }
  static std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm(
      const at::Tensor& x, const optional_tensor& weight, const optional_tensor& bias,
      const optional_tensor& running_mean, const optional_tensor& running_var, bool training,
      double momentum, double eps) {
    const channels c(x);
    at::Tensor mean, inverse, saved_mean, saved_inverse;
    if (training) {
      const auto n = x.numel() / (std::max)(x.size(1), std::int64_t{1});
      mean = c.sum(x).div(n);
      const at::Tensor variance = c.sum(x.sub(c.spread(mean)).square()).div(n);
      inverse = inverse_deviation(variance, eps);
      saved_mean = mean, saved_inverse = inverse;
      if (has(running_mean)) running_mean->mul_(1 - momentum).add_(mean, momentum);
      if (has(running_var))
        running_var->mul_(1 - momentum)
            .add_(variance, momentum * static_cast<double>(n) / static_cast<double>(n - 1));
    } else {
      mean = *running_mean, inverse = inverse_deviation(*running_var, eps);
      saved_mean = saved_inverse = at::empty({0}, mean.options());
    }
    at::Tensor y = x.sub(c.spread(mean)).mul(c.spread(inverse));
    if (has(weight)) y = y.mul(c.spread(*weight));
    if (has(bias)) y = y.add(c.spread(*bias));
    return {y, saved_mean, saved_inverse};
  }
  static std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm_backward(
      const at::Tensor& grad, const at::Tensor& x, const optional_tensor& weight,
      const optional_tensor& running_mean, const optional_tensor& running_var,
      const optional_tensor& saved_mean, const optional_tensor& saved_inverse, bool training,
      double eps, std::array<bool, 3> wanted) {
    const channels c(x);
    const at::Tensor mean = training ? *saved_mean : *running_mean;
    const at::Tensor inverse = training ? *saved_inverse : inverse_deviation(*running_var, eps);
    const at::Tensor normal = x.sub(c.spread(mean)).mul(c.spread(inverse));
    const at::Tensor of_weight = c.sum(grad.mul(normal)), of_bias = c.sum(grad);
    at::Tensor of_x;
    if (wanted[0]) {
      of_x = grad;
      if (training) {
        const auto n = x.numel() / (std::max)(x.size(1), std::int64_t{1});
        of_x = grad.sub(c.spread(of_bias.div(n))).sub(normal.mul(c.spread(of_weight.div(n))));
      }
      of_x = of_x.mul(c.spread(has(weight) ? inverse.mul(*weight) : inverse));
    }
    return {of_x, wanted[1] ? of_weight : at::Tensor(), wanted[2] ? of_bias : at::Tensor()};
  }
  static std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm_legit(
      const at::Tensor& x, const optional_tensor& weight, const optional_tensor& bias,
      at::Tensor& running_mean, at::Tensor& running_var, bool training, double momentum,
      double eps) {
    return batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps);
  }
  static std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm_without_stats(
      const at::Tensor& x, const optional_tensor& weight, const optional_tensor& bias,
      bool training, double momentum, double eps) {
    return batch_norm(x, weight, bias, {}, {}, training, momentum, eps);
  }

  // ---- cells of recurrent networks, whose workspace is ours to choose
  static at::Tensor with_bias(const at::Tensor& gates, const optional_tensor& bias) {
    return has(bias) ? gates.add(*bias) : gates;
  }
  /// Gates i f g o; the workspace has them activated.
  static std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(
      const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cx,
      const optional_tensor& input_bias, const optional_tensor& hidden_bias) {
    const auto gates =
        with_bias(input_gates, input_bias).add(with_bias(hidden_gates, hidden_bias)).chunk(4, 1);
    const at::Tensor i = gates[0].sigmoid(), f = gates[1].sigmoid(), g = gates[2].tanh(),
                     o = gates[3].sigmoid();
    const at::Tensor cy = f.mul(cx).add(i.mul(g));
    return {o.mul(cy.tanh()), cy, at::cat({i, f, g, o}, 1)};
  }
  static std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell_backward(
      const optional_tensor& grad_hy, const optional_tensor& grad_cy, const at::Tensor& cx,
      const at::Tensor& cy, const at::Tensor& workspace, bool has_bias) {
    const auto gates = workspace.chunk(4, 1);
    const at::Tensor &i = gates[0], &f = gates[1], &g = gates[2], &o = gates[3];
    const at::Tensor t = cy.tanh();
    at::Tensor grad_o = at::zeros(cy.sizes(), cy.options()), grad_c = grad_o;
    if (has(grad_cy)) grad_c = *grad_cy;
    if (has(grad_hy)) {
      grad_o = grad_hy->mul(t);
      grad_c = grad_c.add(grad_hy->mul(o).mul(t.square().neg().add(1)));
    }
    const auto of_sigmoid = [](const at::Tensor& s) { return s.mul(s.neg().add(1)); };
    const at::Tensor grad_gates =
        at::cat({grad_c.mul(g).mul(of_sigmoid(i)), grad_c.mul(cx).mul(of_sigmoid(f)),
                 grad_c.mul(i).mul(g.square().neg().add(1)), grad_o.mul(of_sigmoid(o))},
                1);
    return {grad_gates, grad_c.mul(f), has_bias ? grad_gates.sum(0) : at::Tensor()};
  }
  /// Gates r z n; the workspace has them activated, the state, and what r multiplies.
  static std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input_gates,
                                                     const at::Tensor& hidden_gates,
                                                     const at::Tensor& hx,
                                                     const optional_tensor& input_bias,
                                                     const optional_tensor& hidden_bias) {
    const auto x = with_bias(input_gates, input_bias).chunk(3, 1);
    const auto h = with_bias(hidden_gates, hidden_bias).chunk(3, 1);
    const at::Tensor r = x[0].add(h[0]).sigmoid(), z = x[1].add(h[1]).sigmoid();
    const at::Tensor n = x[2].add(r.mul(h[2])).tanh();
    return {n.add(z.mul(hx.sub(n))), at::cat({r, z, n, hx, h[2]}, 1)};
  }
  static std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> gru_cell_backward(
      const at::Tensor& grad, const at::Tensor& workspace, bool has_bias) {
    const auto parts = workspace.chunk(5, 1);
    const at::Tensor &r = parts[0], &z = parts[1], &n = parts[2], &hx = parts[3], &h = parts[4];
    const auto of_sigmoid = [](const at::Tensor& s) { return s.mul(s.neg().add(1)); };
    const at::Tensor of_n = grad.mul(z.neg().add(1)).mul(n.square().neg().add(1));
    const at::Tensor of_r = of_n.mul(h).mul(of_sigmoid(r));
    const at::Tensor of_z = grad.mul(hx.sub(n)).mul(of_sigmoid(z));
    const at::Tensor of_input = at::cat({of_r, of_z, of_n}, 1);
    const at::Tensor of_hidden = at::cat({of_r, of_z, of_n.mul(r)}, 1);
    return {of_input, of_hidden, grad.mul(z), has_bias ? of_input.sum(0) : at::Tensor(),
            has_bias ? of_hidden.sum(0) : at::Tensor()};
  }

  // ---- convolutions, which PyTorch's boxed fallback does not serve
  static optional_tensor on_host(const optional_tensor& t) {
    return has(t) ? optional_tensor(t->cpu()) : std::nullopt;
  }
  static at::Tensor convolution(const at::Tensor& x, const at::Tensor& w,
                                const optional_tensor& bias, at::IntArrayRef stride,
                                at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                                at::IntArrayRef output_padding, std::int64_t groups) {
    torch_fallback<Device>::enter("aten::convolution_overrideable", none);
    return at::convolution(x.cpu(), w.cpu(), on_host(bias), stride, padding, dilation, transposed,
                           output_padding, groups)
        .to(x.device());
  }
  static std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
      const at::Tensor& grad, const at::Tensor& x, const at::Tensor& w, at::IntArrayRef stride,
      at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
      at::IntArrayRef output_padding, std::int64_t groups, std::array<bool, 3> wanted) {
    torch_fallback<Device>::enter("aten::convolution_backward_overrideable", none);
    const std::int64_t channels = transposed ? w.size(1) * groups : w.size(0);
    auto [of_x, of_w, of_bias] =
        at::convolution_backward(grad.cpu(), x.cpu(), w.cpu(), at::IntArrayRef(channels), stride,
                                 padding, dilation, transposed, output_padding, groups, wanted);
    const auto back = [&](const at::Tensor& t) { return t.defined() ? t.to(x.device()) : t; };
    return {back(of_x), back(of_w), back(of_bias)};
  }
  static constexpr const char* none = "none in its registry";

  static void add_to(torch::Library& m) {
    m.impl("nll_loss_forward", TORCH_FN(nll_loss_forward));
    m.impl("nll_loss_backward", TORCH_FN(nll_loss_backward));
    m.impl("native_batch_norm", TORCH_FN(batch_norm));
    m.impl("_native_batch_norm_legit", TORCH_FN(batch_norm_legit));
    m.impl("_native_batch_norm_legit.no_stats", TORCH_FN(batch_norm_without_stats));
    m.impl("native_batch_norm_backward", TORCH_FN(batch_norm_backward));
    m.impl("_thnn_fused_lstm_cell", TORCH_FN(lstm_cell));
    m.impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstm_cell_backward));
    m.impl("_thnn_fused_gru_cell", TORCH_FN(gru_cell));
    m.impl("_thnn_fused_gru_cell_backward", TORCH_FN(gru_cell_backward));
    m.impl("convolution_overrideable", TORCH_FN(convolution));
    m.impl("convolution_backward_overrideable", TORCH_FN(convolution_backward));
  }
};

}  // namespace flaggems::detail
