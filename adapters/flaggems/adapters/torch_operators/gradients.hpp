// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of the operators that ATen lacks: a rule each, and one function of PyTorch's autograd
// that applies them. Part of torch_operators.hpp.
#pragma once

#include <flaggems/detail/text.hpp>
#include <flaggems/error.hpp>
#include <flaggems/registry/schema.hpp>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flaggems::detail {

using torch_tensors = std::vector<at::Tensor>;

/// What the gradients of a call are made of.
struct torch_backward_call {
  std::vector<c10::IValue> arguments;  ///< of tensors those that the rule keeps
  torch_tensors results;               ///< those that the rule keeps
  torch_tensors gradients;             ///< of the results
  /// A tensor among the arguments; undefined if it was not given.
  [[nodiscard]] at::Tensor operator[](std::size_t place) const {
    return arguments[place].isTensor() ? arguments[place].toTensor() : at::Tensor();
  }
};

/// A set of places.
template <class... Place>
constexpr u32 places(Place... place) {
  return (0u | ... | (1u << place));
}
constexpr bool has_place(u32 set, std::size_t place) { return (set >> place & 1u) != 0; }

/// How an operator's gradients are computed: by operators of PyTorch's dispatcher, so that they are
/// traced and differentiated as any.
struct torch_gradient_rule {
  std::string_view name;       ///< in the namespace flaggems
  u32 keeps;                   ///< places of the arguments that it needs
  bool keeps_results;          ///< whether it needs the results
  u32 of;                      ///< places of the arguments that have gradients, in the order given
  std::size_t differentiable;  ///< how many results have; the rest are statistics
  torch_tensors (*gradients)(const torch_backward_call&);
};

/// Calls an operator of ours by its name in the namespace.
inline std::vector<c10::IValue> call_by_name(const char* name, std::vector<c10::IValue> values) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&values);
  return values;
}
/// A gradient with the sizes and dtype of what it is the gradient of, which may have been repeated.
inline at::Tensor gradient_like(const at::Tensor& gradient, const at::Tensor& x) {
  return gradient.sum_to_size(x.sizes()).to(x.scalar_type());
}
/// Of x * (mean(x * x) + epsilon)^(-1/2) * (weight + offset), over weight's dimensions or as many.
inline torch_tensors rms_norm_gradients(const at::Tensor& gradient, const at::Tensor& input,
                                        const at::Tensor& weight, double offset, double epsilon,
                                        std::size_t dims) {
  const auto type = c10::promoteTypes(input.scalar_type(), c10::kFloat);
  const at::Tensor x = input.to(type), g = gradient.to(type);
  std::vector<std::int64_t> last(dims);
  for (std::size_t d = 0; d < dims; ++d) last[d] = -1 - static_cast<std::int64_t>(d);
  const at::Tensor inverse = x.mul(x).mean(last, true).add(epsilon).rsqrt();
  const at::Tensor normal = x.mul(inverse);
  const at::Tensor scaled = weight.defined() ? g.mul(weight.to(type).add(offset)) : g;
  const at::Tensor along = scaled.mul(normal).mean(last, true);
  return {gradient_like(scaled.sub(normal.mul(along)).mul(inverse), input),
          weight.defined() ? gradient_like(g.mul(normal), weight) : at::Tensor()};
}
inline torch_tensors rms_norm_forward_gradients(const torch_backward_call& c) {
  return rms_norm_gradients(c.gradients[0], c[0], c[2], 0, c.arguments[3].toDouble(),
                            c.arguments[1].toIntVector().size());
}
template <const char* Name>
torch_tensors halves_gradients(const torch_backward_call& c) {
  return {call_by_name(Name, {c.gradients[0], c[0]})[0].toTensor()};
}
inline constexpr char dswiglu_name[] = "flaggems::dswiglu", dgeglu_name[] = "flaggems::dgeglu",
                      dreglu_name[] = "flaggems::dreglu";
/// The rotation back, which is that by the negative angles.
inline torch_tensors rotary_gradients(const torch_backward_call& c) {
  const auto back = call_by_name(
      "flaggems::apply_rotary_pos_emb",
      {c.gradients[0], c.gradients[1], c[2], c[3].neg(), c.arguments[4], c.arguments[5]});
  return {back[0].toTensor(), back[1].toTensor()};
}

inline constexpr torch_gradient_rule torch_gradient_rules[] = {
    {"gelu_none", places(0), false, places(0), 1,
     [](const torch_backward_call& c) -> torch_tensors {
       return {at::gelu_backward(c.gradients[0], c[0])};
     }},
    {"gelu_tanh", places(0), false, places(0), 1,
     [](const torch_backward_call& c) -> torch_tensors {
       return {at::gelu_backward(c.gradients[0], c[0], "tanh")};
     }},
    {"squared_relu", places(0), false, places(0), 1,
     [](const torch_backward_call& c) -> torch_tensors {
       return {c.gradients[0].mul(c[0].relu()).mul(2)};
     }},
    {"swiglu", places(0), false, places(0), 1, &halves_gradients<dswiglu_name>},
    {"geglu", places(0), false, places(0), 1, &halves_gradients<dgeglu_name>},
    {"reglu", places(0), false, places(0), 1, &halves_gradients<dreglu_name>},
    {"silu_and_mul", places(0, 1), false, places(0, 1), 1,
     [](const torch_backward_call& c) -> torch_tensors {
       const at::Tensor &g = c.gradients[0], x = c[0], y = c[1];
       const at::Tensor wide = x.to(g.scalar_type()).expand_as(g);
       return {gradient_like(at::silu_backward(g.mul(y), wide), x),
               gradient_like(g.mul(at::silu(wide)), y)};
     }},
    {"gelu_and_mul", places(0, 1), false, places(0, 1), 1,
     [](const torch_backward_call& c) -> torch_tensors {
       const at::Tensor &g = c.gradients[0], x = c[0], y = c[1];
       const at::Tensor wide = x.to(g.scalar_type()).expand_as(g);
       const auto approximate = c.arguments[2].toStringView();
       return {gradient_like(at::gelu_backward(g.mul(y), wide, approximate), x),
               gradient_like(g.mul(at::gelu(wide, approximate)), y)};
     }},
    {"silu_and_mul_with_clamp", places(0, 1), false, places(0, 1), 1,
     [](const torch_backward_call& c) -> torch_tensors {
       const at::Tensor &g = c.gradients[0], x = c[0], y = c[1];
       const double limit = c.arguments[2].toDouble();
       const at::Tensor low = x.clamp_max(limit).expand_as(g);
       const at::Tensor above = x.gt(limit), outside = y.abs().gt(limit);
       const at::Tensor of_x = at::silu_backward(g.mul(y.clamp(-limit, limit)), low);
       return {gradient_like(of_x.masked_fill(above, 0), x),
               gradient_like(g.mul(at::silu(low)).masked_fill(outside, 0), y)};
     }},
    {"rms_norm_forward", places(0, 2), false, places(0, 2), 1, &rms_norm_forward_gradients},
    {"fused_rms_norm_forward", places(0, 2), false, places(0, 2), 1, &rms_norm_forward_gradients},
    {"gemma_rms_norm", places(0, 1), false, places(0, 1), 1,
     [](const torch_backward_call& c) -> torch_tensors {
       return rms_norm_gradients(c.gradients[0], c[0], c[1], 1, c.arguments[2].toDouble(),
                                 static_cast<std::size_t>(c[1].dim()));
     }},
    // It writes the sum in the place of the residual, and the norm of that in the place of input.
    {"fused_add_rms_norm", places(1, 2), false, places(0, 1, 2), 2,
     [](const torch_backward_call& c) -> torch_tensors {
       const auto of_norm =
           rms_norm_gradients(c.gradients[0], c[1], c[2], 0, c.arguments[3].toDouble(),
                              static_cast<std::size_t>(c[2].dim()));
       const at::Tensor of_sum = of_norm[0].add(c.gradients[1]);
       return {of_sum, of_sum, of_norm[1]};
     }},
    {"skip_layer_norm", places(0, 1, 3, 4), false, places(0, 1, 3, 4), 1,
     [](const torch_backward_call& c) -> torch_tensors {
       const at::Tensor sum = c[0].add(c[1]), weight = c[3], bias = c[4];
       const auto sizes = c.arguments[2].toIntVector();
       const auto [y, mean, rstd] =
           at::native_layer_norm(sum, sizes, weight, bias, c.arguments[5].toDouble());
       const auto [of_sum, of_weight, of_bias] =
           at::native_layer_norm_backward(c.gradients[0], sum, sizes, mean, rstd, weight, bias,
                                          {true, weight.defined(), bias.defined()});
       return {of_sum, of_sum, of_weight, of_bias};
     }},
    {"apply_rotary_pos_emb", places(2, 3, 4), false, places(0, 1), 2, &rotary_gradients},
    {"apply_rotary_pos_emb_", places(2, 3, 4), false, places(0, 1), 2, &rotary_gradients},
    {"scaled_dot_product_attention_forward", places(0, 1, 2, 3), true, places(0, 1, 2), 1,
     [](const torch_backward_call& c) -> torch_tensors {
       std::vector<c10::IValue> values{c.gradients[0], c[0],         c[1],
                                       c[2],           c.results[0], c.results[1]};
       values.insert(values.end(), c.arguments.begin() + 3, c.arguments.end());
       const auto given =
           call_by_name("flaggems::scaled_dot_product_attention_backward", std::move(values));
       return {given[0].toTensor(), given[1].toTensor(), given[2].toTensor()};
     }},
};

/// The rule of an operator; null if it has no gradients.
inline const torch_gradient_rule* find_gradient_rule(const schema& s) {
  if (s.space != "flaggems" || !s.overload.empty()) return nullptr;
  for (const torch_gradient_rule& rule : torch_gradient_rules)
    if (rule.name == s.name) return &rule;
  return nullptr;
}

/// A call on its way through autograd.
struct torch_forward_call {
  const schema& form;
  const torch_gradient_rule& rule;
  const c10::OperatorHandle& handle;
  c10::DispatchKeySet keys;
  c10::Stack* stack;
};

/// What autograd records of such a call.
struct torch_differentiated : torch::autograd::Function<torch_differentiated> {
  using context = torch::autograd::AutogradContext;

  /// The list: tensors among the arguments that are given. Gives the results; if there are none,
  /// the arguments that are written.
  static torch_tensors forward(context* ctx, torch_forward_call* call, at::TensorList) {
    const auto& parameters = call->form.parameters;
    std::vector<c10::IValue> arguments = last(*call->stack, parameters.size());
    {
      const at::AutoDispatchBelowADInplaceOrView below;
      call->handle.redispatchBoxed(call->keys & c10::after_ADInplaceOrView_keyset, call->stack);
    }
    torch_tensors results, statistics, written, kept;
    for (const c10::IValue& r : last(*call->stack, call->form.results.size()))
      (results.size() < call->rule.differentiable ? results : statistics).push_back(r.toTensor());
    std::int64_t tensors = 0, given = 0;  // places
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!is_given(arguments[i])) continue;
      tensors |= std::int64_t{1} << i;
      if (parameters[i].written) written.push_back(arguments[i].toTensor());
      if (has_place(call->rule.keeps, i)) {
        given |= std::int64_t{1} << i;
        kept.push_back(arguments[i].toTensor());
      }
      arguments[i] = c10::IValue();
    }
    if (results.empty()) results = written;
    results.insert(results.end(), statistics.begin(), statistics.end());
    if (call->rule.keeps_results) kept.insert(kept.end(), results.begin(), results.end());
    ctx->saved_data["arguments"] = c10::ivalue::Tuple::create(std::move(arguments));
    ctx->saved_data["tensors"] = tensors;
    ctx->saved_data["given"] = given;
    ctx->saved_data["rule"] = static_cast<std::int64_t>(&call->rule - torch_gradient_rules);
    ctx->save_for_backward(std::move(kept));
    ctx->mark_dirty(written);
    ctx->mark_non_differentiable(statistics);
    return results;
  }

  static torch_tensors backward(context* ctx, torch_tensors gradients) {
    const auto& rule =
        torch_gradient_rules[static_cast<std::size_t>(ctx->saved_data["rule"].toInt())];
    const auto tensors = static_cast<u32>(ctx->saved_data["tensors"].toInt());
    const auto given = static_cast<u32>(ctx->saved_data["given"].toInt());
    torch_backward_call call{ctx->saved_data["arguments"].toTupleRef().elements().vec(),
                             ctx->get_saved_variables(), std::move(gradients)};
    auto next = call.results.begin();
    for (std::size_t i = 0; i < call.arguments.size(); ++i)
      if (has_place(given, i)) call.arguments[i] = *next++;
    call.results.erase(call.results.begin(), next);
    const torch_tensors made = rule.gradients(call);
    torch_tensors r(1);  // of the call itself
    auto gradient = made.begin();
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const at::Tensor one = has_place(rule.of, i) ? *gradient++ : at::Tensor();
      if (has_place(tensors, i)) r.push_back(one);
    }
    return r;
  }

  static bool is_given(const c10::IValue& v) { return v.isTensor() && v.toTensor().defined(); }
  static std::vector<c10::IValue> last(const c10::Stack& stack, std::size_t n) {
    return {stack.end() - static_cast<std::ptrdiff_t>(n), stack.end()};
  }
};

/// An operator of ours with gradients: PyTorch's kernel for autograd, in front of that of the
/// device.
class torch_gradient_kernel final : public c10::OperatorKernel {
 public:
  torch_gradient_kernel(const schema& s, const torch_gradient_rule& rule) : form_(s), rule_(rule) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                  c10::Stack* stack) const {
    const auto& parameters = form_.parameters;
    const auto values = stack->end() - static_cast<std::ptrdiff_t>(parameters.size());
    torch_tensors tensors;
    bool needs = false;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const c10::IValue& v = values[static_cast<std::ptrdiff_t>(i)];
      if (!torch_differentiated::is_given(v)) continue;
      tensors.push_back(v.toTensor());
      if (!tensors.back().requires_grad() || !c10::GradMode::is_enabled()) continue;
      needs = true;
      if (!has_place(rule_.of, i)) [[unlikely]]
        raise(errc::not_supported, form_.name, "a tensor without gradients, as it gives none of it",
              text("one that requires them: ") + parameters[i].name);
    }
    if (!needs) return handle.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
    torch_forward_call call{form_, rule_, handle, keys, stack};
    const torch_tensors made = torch_differentiated::apply(&call, at::TensorList(tensors));
    const std::size_t results = form_.results.size();
    for (std::size_t i = 0; i < results; ++i) (*stack)[stack->size() - results + i] = made[i];
  }

 private:
  const schema& form_;
  const torch_gradient_rule& rule_;
};

}  // namespace flaggems::detail
