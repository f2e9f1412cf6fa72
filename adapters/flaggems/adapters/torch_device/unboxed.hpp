// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Frequent operators as functions with ATen's own arguments, which spares a call the boxes. Part of
// torch_device.hpp.
#pragma once

#include <flaggems/adapters/torch_device/kernel.hpp>

#include <ATen/ATen.h>
#include <ATen/core/boxing/impl/boxing.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace flaggems::detail {

/// The arguments of a call of the simplest kind: tensors of one dtype on one device.
template <class Device>
class torch_plain_arguments {
 public:
  boxed<Device> read(const at::Tensor& t) {
    is_plain = is_plain && t.defined() && t.is_privateuseone() && t.layout() == c10::kStrided &&
               !t.is_conj() && !t.is_neg() && !t._is_zerotensor() && t.dim() <= max_rank;
    if (!is_plain) return {};
    if (tensors_ == 0) {
      type = t.scalar_type(), device_index = t.device().index();
      is_plain = dtype_of_scalar_type[static_cast<std::size_t>(type)] >= 0;
    } else {
      is_plain = type == t.scalar_type() && device_index == t.device().index();
    }
    if (!is_plain) return {};
    views_[tensors_] = view_of_torch<Device>(t, false);
    return views_[tensors_++];
  }
  boxed<Device> read(const at::Scalar& s) {
    if (s.isFloatingPoint()) return s.toDouble();
    if (s.isBoolean()) return s.toBool();
    is_plain = is_plain && s.isIntegral(false);
    return is_plain ? boxed<Device>(i64{s.toLong()}) : boxed<Device>();
  }
  boxed<Device> read(at::OptionalIntArrayRef list) {
    return list ? boxed<Device>(int_list(list->data(), static_cast<int>(list->size())))
                : boxed<Device>(std::nullopt);
  }
  boxed<Device> read(std::optional<at::ScalarType> other) {
    is_plain = is_plain && !other;
    return std::nullopt;
  }
  boxed<Device> read(std::int64_t n) { return i64{n}; }
  boxed<Device> read(bool b) { return b; }

  bool is_plain = true;
  at::ScalarType type = at::kFloat;
  int device_index = 0;

 private:
  static constexpr int most = 4;
  any_view<Device> views_[most];
  int tensors_ = 0;
};

/// An operator of ATen's with the signature that it has there.
template <class Device, class Op, class Signature = typename Op::schema>
struct torch_unboxed;
template <class Device, class Op, class Result, class... Args>
struct torch_unboxed<Device, Op, Result(Args...)> {
  static Result call(Args... args) {
    torch_plain_arguments<Device> plain;
    const boxed<Device> list[] = {plain.read(args)...};
    const auto type =
        static_cast<dtype>(dtype_of_scalar_type[static_cast<std::size_t>(plain.type)]);
    if (plain.is_plain && registered->op.has(type) && !is_double_default()) [[likely]] {
      const on_device<Device> scope(plain.device_index);
      const auto stream = torch_stream<Device>(plain.device_index);
      any_tensor<Device> made;
      constexpr bool makes = std::is_same_v<Result, at::Tensor>;
      bool has_run = true;
      try {
        registered->op.call(stream, list, std::span(&made, makes ? 1u : 0u));
      } catch (const error&) {
        has_run = false;  // the other way tells what is wrong; nothing is written yet
      }
      if (has_run) [[likely]] {
        torch_fallback<Device>::ran_here(registered->name);
        if constexpr (makes)
          return torch_result(std::move(made), plain.device_index);
        else
          return std::get<0>(std::forward_as_tuple(args...));
      }
    }
    return c10::impl::BoxedKernelWrapper<Result(Args...)>::call(registered->boxed_kernel,
                                                                registered->handle, {}, args...);
  }
  static bool is_double_default() { return c10::get_default_dtype_as_scalartype() != c10::kFloat; }

  struct state {
    const registered_operator<Device>& op;
    std::string name;
    c10::OperatorHandle handle;
    c10::BoxedKernel boxed_kernel;
  };
  /// Of the registration; set before the first call, and never destroyed.
  static inline state* registered = nullptr;
};

/// Adds the function of an operator if it has one.
template <class Device, class Op>
bool add_unboxed(torch::Library& m, const registered_operator<Device>& op,
                 std::unique_ptr<torch_device_kernel<Device>>& kernel) {
  std::string_view base = Op::name, overload = Op::overload_name;
  base.remove_prefix(6);  // aten::
  if (op.schema().name != base || op.schema().overload != overload) return false;
  using function = torch_unboxed<Device, Op>;
  const std::string key(op.schema().key());
  function::registered = new typename function::state{
      op, "aten::" + key,
      c10::Dispatcher::singleton().findSchemaOrThrow(Op::name, Op::overload_name),
      c10::BoxedKernel::makeFromFunctor(std::move(kernel))};
  m.impl(key.c_str(), TORCH_FN(function::call));
  return true;
}
/// The frequent ones.
template <class Device>
bool add_frequent(torch::Library& m, const registered_operator<Device>& op,
                  std::unique_ptr<torch_device_kernel<Device>>& kernel) {
  namespace ops = at::_ops;
  return [&]<class... Ops>(type_list<Ops...>) {
    return (add_unboxed<Device, Ops>(m, op, kernel) || ...);
  }(type_list<ops::add_Tensor, ops::add__Tensor, ops::sub_Tensor, ops::mul_Tensor, ops::mul__Tensor,
              ops::div_Tensor, ops::div__Tensor, ops::add_Scalar, ops::mul_Scalar, ops::mul__Scalar,
              ops::exp, ops::relu, ops::sigmoid, ops::tanh, ops::sqrt, ops::neg,
              ops::threshold_backward, ops::sum_dim_IntList, ops::mean_dim, ops::_softmax,
              ops::_log_softmax, ops::addcmul_, ops::addcdiv_, ops::lerp__Scalar, ops::mm, ops::bmm,
              ops::addmm>());
}

}  // namespace flaggems::detail
