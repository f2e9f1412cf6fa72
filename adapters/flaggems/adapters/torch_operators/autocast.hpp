// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch's autocast does with operators: a policy each, and one boxed kernel that casts the
// arguments. Part of torch_operators.hpp and torch_device.hpp.
#pragma once

#include <flaggems/kernel/lang/prelude.hpp>
#include <flaggems/registry/schema.hpp>

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstddef>
#include <string_view>
#include <utility>

namespace flaggems::detail {

/// PyTorch's lists: what operators of lower precision take, what needs f32 for its accuracy, what
/// gets dtype=f32, and what takes operands of one type, the widest of them.
enum class torch_autocast : u8 { lower_precision_fp, fp32, fp32_set_opt_dtype, promote };

/// An operator of ours under autocast.
struct torch_autocast_rule {
  std::string_view name;  ///< in the namespace flaggems
  torch_autocast policy;
  int tensors;  ///< how many of the tensors are cast: the first ones
};
inline constexpr torch_autocast_rule torch_autocast_rules[] = {
    {"scaled_dot_product_attention_forward", torch_autocast::lower_precision_fp, 4},
    {"flash_attn_varlen_func", torch_autocast::lower_precision_fp, 3},
    {"rwkv_mm_sparsity", torch_autocast::lower_precision_fp, 2},
    {"rms_norm_forward", torch_autocast::fp32, 2},
    {"fused_rms_norm_forward", torch_autocast::fp32, 2},
    {"gemma_rms_norm", torch_autocast::fp32, 2},
    {"skip_layer_norm", torch_autocast::fp32, 4},
    {"silu_and_mul_with_clamp", torch_autocast::promote, 2},
};

/// Whether PyTorch has autocast for a type of device.
constexpr bool has_autocast(c10::DeviceType type) {
#ifdef AT_FORALL_LOWER_PRECISION_FP  // from libtorch 2.1 on
  if (type == c10::DeviceType::PrivateUse1) return true;
#endif
  return type == c10::DeviceType::CPU || type == c10::DeviceType::CUDA;
}

/// The rule of an operator; null if autocast leaves its arguments as they are.
inline const torch_autocast_rule* find_autocast_rule(const schema& s) {
  if (s.space != "flaggems" || !s.overload.empty()) return nullptr;
  for (const torch_autocast_rule& rule : torch_autocast_rules)
    if (rule.name == s.name) return &rule;
  return nullptr;
}

/// An operator under autocast on a type of device: calls it again, without autocast.
class torch_autocast_kernel final : public c10::OperatorKernel {
 public:
  explicit torch_autocast_kernel(c10::DeviceType type, torch_autocast policy, int tensors = 64)
      : type_(type), policy_(policy), tensors_(tensors) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet, c10::Stack* stack) const {
    const c10::impl::ExcludeDispatchKeyGuard without(
        at::autocast::get_autocast_dispatch_key_from_device_type(type_));
    const auto& arguments = handle.schema().arguments();
    const auto values = stack->end() - static_cast<std::ptrdiff_t>(arguments.size());
    if (policy_ == torch_autocast::fp32_set_opt_dtype) {
      if (values->isTensor() && at::autocast::is_eligible(values->toTensor(), type_))
        for (std::size_t i = 0; i < arguments.size(); ++i) {
          c10::IValue& v = values[static_cast<std::ptrdiff_t>(i)];
          if (arguments[i].name() == "dtype" && v.isNone()) v = c10::kFloat;
        }
    } else {
      const auto lower = at::autocast::get_lower_precision_fp_from_device_type(type_);
      at::ScalarType to = policy_ == torch_autocast::fp32 ? c10::kFloat : lower;
      if (policy_ == torch_autocast::promote)
        for_each_tensor(values, stack->end(),
                        [&](at::Tensor& t) { to = at::autocast::prioritize(to, t, type_); });
      for_each_tensor(values, stack->end(),
                      [&](at::Tensor& t) { t = at::autocast::cached_cast(to, t, type_); });
    }
    handle.callBoxed(stack);
  }

 private:
  template <class Value, class F>
  void for_each_tensor(Value v, Value end, const F& f) const {
    for (int left = tensors_; v != end && left > 0; ++v) {
      if (v->isTensor()) {
        at::Tensor t = v->toTensor();
        if (t.defined()) f(t);
        *v = t;
        --left;
      } else if (v->isTensorList()) {
        auto list = v->toTensorVector();
        for (at::Tensor& t : list) f(t);
        *v = std::move(list);
      }
    }
  }

  c10::DeviceType type_;
  torch_autocast policy_;
  int tensors_;
};

}  // namespace flaggems::detail
