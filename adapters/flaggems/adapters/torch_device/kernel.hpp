// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators of the registry as ATen's of a device type. Part of torch_device.hpp.
#pragma once

#include <flaggems/adapters/torch_device/functions.hpp>
#include <flaggems/adapters/torch_operators.hpp>

#include <ATen/native/TypeProperties.h>

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace flaggems::detail {

/// An operator of the registry as ATen's boxed kernel for tensors of PrivateUse1.
template <class Device>
class torch_device_kernel final : public c10::OperatorKernel {
  using functions = torch_functions<Device>;
  using fallback = torch_fallback<Device>;
  using values_list = c10::ArrayRef<c10::IValue>;
  using changed_values = c10::SmallVector<c10::IValue, 0>;  // the arguments, some of them others

 public:
  /// `twin`: of one with outputs, the form that makes new results; null if there is none.
  torch_device_kernel(const registered_operator<Device>& op,
                      const registered_operator<Device>* twin, std::string name)
      : op_(op), twin_(twin), name_(std::move(name)) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet, c10::Stack* stack) const {
    const std::size_t n = op_.schema().parameters.size();
    const values_list values(stack->data() + (stack->size() - n), n);
    c10::SmallVector<c10::IValue, max_results> results;
    std::string left;
    try {
      left = run(values, results);
    } catch (const error& e) {
      // Nothing is written before an operator raises: ATen's takes more types, and says what is
      // wrong as PyTorch's users know it.
      if (e.code() == errc::out_of_memory) TORCH_CHECK_WITH(OutOfMemoryError, false, e.what());
      if (e.code() == errc::driver_error) throw;
      left = e.what();
      if (e.code() != errc::dtype_mismatch && e.code() != errc::not_supported &&
          !fallback::may(name_)) {
        TORCH_CHECK_INDEX(e.code() != errc::out_of_range, left);
        TORCH_CHECK(false, left);
      }
    }
    if (!left.empty()) [[unlikely]]
      return fallback::run_because(handle, stack, left);
    fallback::ran_here(name_);
    stack->erase(stack->end() - static_cast<std::ptrdiff_t>(n), stack->end());
    for (c10::IValue& r : results) stack->push_back(std::move(r));
  }

 private:
  /// Why the call is not ours; empty if it has run.
  std::string run(values_list values, c10::SmallVectorImpl<c10::IValue>& results) const {
    const int device_index = device_of(values);
    const on_device<Device> scope(device_index);
    changed_values changed;
    if (const auto refused = bring_numbers(values, changed, device_index); !refused.empty())
      return std::string(refused);

    std::optional<std::lock_guard<std::mutex>> lock;
    philox_generator* generator = nullptr;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (op_.schema().parameters[i].kind != parameter_kind::generator) continue;
      at::Generator g = values[i].isGenerator() ? values[i].toGenerator()
                                                : torch_default_generator<Device>(device_index);
      TORCH_CHECK(g.device().type() == c10::DeviceType::PrivateUse1, "Expected a '", Device::name,
                  "' device type for generator but found '", g.device(), "'");
      lock.emplace(g.mutex());
      generator = &static_cast<torch_generator<Device>*>(g.unsafeGetGeneratorImpl())->philox;
    }
    const torch_argument_rules rules{generator, true, device_index};

    std::optional<torch_arguments<Device>> arguments;
    arguments.emplace(op_.schema(), values, rules);
    if (!arguments->left_because.empty()) return std::string(arguments->left_because);
    if (op_.promotes() && !arguments->other_dtype().empty()) {
      if (!promote(values, changed)) return std::string(arguments->other_dtype());
      arguments.emplace(op_.schema(), values, rules);
    }
    const auto stream = torch_stream<Device>(device_index);
    if (op_.form() == bindings::form::out) {
      torch_write(
          op_, twin_, *arguments, values, stream,
          [&](any_tensor<Device>&& x) { return torch_result(std::move(x), device_index); },
          [](const at::Tensor& from, const at::Tensor& to) {
            functions::copy_from(from, to, false);
          });
      for (std::size_t k = values.size() - op_.schema().results.size(); k < values.size(); ++k)
        results.push_back(values[k]);
      return {};
    }
    make(*arguments, values, stream, device_index, results);
    return {};
  }

  template <class F>
  static void for_each_tensor(const c10::IValue& v, F&& f) {
    if (v.isTensor()) {
      if (v.toTensor().defined()) f(v.toTensor());
    } else if (v.isTensorList()) {
      for (const at::Tensor& t : v.toTensorVector()) f(t);
    } else if (v.isList() && v.toListRef().size() > 0) {
      for (const c10::IValue& t : v.toListRef())
        if (t.isTensor() && t.toTensor().defined()) f(t.toTensor());
    }
  }
  /// That of the first tensor or device among the arguments, else the current one.
  static int device_of(values_list values) {
    if (values[0].isTensor() && values[0].toTensor().defined() &&
        functions::is_here(values[0].toTensor())) [[likely]]
      return values[0].toTensor().device().index();
    int index = -1;
    for (const c10::IValue& v : values) {
      if (index < 0)
        for_each_tensor(v, [&](const at::Tensor& t) {
          if (index < 0 && functions::is_here(t)) index = t.device().index();
        });
      if (index < 0 && v.isDevice() && v.toDevice().type() == c10::DeviceType::PrivateUse1)
        index = v.toDevice().index();
    }
    return torch_device_of<Device>(index).index();
  }
  static void change(values_list& values, changed_values& changed, std::size_t i, at::Tensor t) {
    if (changed.empty()) {
      changed.append(values.begin(), values.end());
      values = values_list(changed.data(), changed.size());
    }
    changed[i] = std::move(t);
  }
  /// The dtype that ATen computes in.
  at::ScalarType common_type(values_list values) const {
    at::native::ResultTypeState state = {};
    for (std::size_t i = 0; i < values.size(); ++i)
      if (op_.form() != bindings::form::out || !op_.schema().parameters[i].written)
        for_each_tensor(values[i], [&](const at::Tensor& t) {
          state = at::native::update_result_type_state(t, state);
        });
    return at::native::result_type(state);
  }
  bool has(at::ScalarType type) const {
    const int found = dtype_of_scalar_type[static_cast<std::size_t>(type)];
    return found >= 0 && op_.has(static_cast<dtype>(found));
  }
  /// Python's numbers come as tensors of the CPU without dimensions: they go to the device, in the
  /// dtype of the call where their own is not compiled (f64, on many devices).
  std::string_view bring_numbers(values_list& values, changed_values& changed,
                                 int device_index) const {
    const c10::Device here = torch_device_of<Device>(device_index);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i].isTensor() || !values[i].toTensor().defined()) continue;
      const at::Tensor& t = values[i].toTensor();
      if (t.device() == here) continue;
      TORCH_CHECK(t.dim() == 0 && t.device().type() == c10::DeviceType::CPU,
                  "Expected all tensors to be on the same device, but found at least two devices, ",
                  here, " and ", t.device());
      if (dtype_of_scalar_type[static_cast<std::size_t>(t.scalar_type())] < 0)
        return "a type that is not ours";
      const at::ScalarType common = has(t.scalar_type()) ? t.scalar_type() : common_type(values);
      const at::Tensor number = has(common) ? t.to(common) : t;
      at::Tensor there = at::empty({}, number.options().device(here));
      functions::from_host(number, there);
      there.unsafeGetTensorImpl()->set_wrapped_number(t.unsafeGetTensorImpl()->is_wrapped_number());
      change(values, changed, i, std::move(there));
    }
    return {};
  }
  /// Operands that are not written get the dtype that ATen computes in. False if it has none.
  bool promote(values_list& values, changed_values& changed) const {
    const schema& s = op_.schema();
    const at::ScalarType common = common_type(values);
    if (!c10::isFloatingType(common) && c10::get_default_dtype_as_scalartype() != c10::kFloat)
      return false;  // those that give floats give other ones
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i].isTensor() || !values[i].toTensor().defined()) continue;
      const at::Tensor& t = values[i].toTensor();
      if (s.parameters[i].written) {
        TORCH_CHECK(c10::canCast(common, t.scalar_type()), "result type ", common,
                    " can't be cast to the desired output type ", t.scalar_type());
        continue;
      }
      at::Tensor other = t.scalar_type() == common ? t.alias() : t.to(common);
      if (t.dim() == 0) other.unsafeGetTensorImpl()->set_wrapped_number(false);
      change(values, changed, i, std::move(other));
    }
    return true;
  }

  /// New results, or arguments that are written.
  void make(const torch_arguments<Device>& arguments, values_list values,
            const stream_ref<Device>& stream, int device_index,
            c10::SmallVectorImpl<c10::IValue>& results) const {
    const schema& s = op_.schema();
    any_tensor<Device> made[max_results];
    any_results<Device> made_otherwise;
    if (s.gives_tensors())
      op_.call(stream, arguments.list(values.size()),
               std::span(made, static_cast<std::size_t>(s.new_results())));
    else
      op_.call(stream, arguments.list(values.size()), made_otherwise);

    std::size_t written = 0;
    any_tensor<Device>* next = s.gives_tensors() ? made : made_otherwise.tensors.data();
    auto number = made_otherwise.integers.begin();
    for (const schema_result& r : s.results) {
      if (r.kind == parameter_kind::boolean) {
        results.emplace_back(made_otherwise.truth);
      } else if (r.kind == parameter_kind::integer) {
        results.emplace_back(*number++);
      } else if (r.kind == parameter_kind::tensors) {
        c10::List<at::Tensor> list;
        for (any_tensor<Device>& x : made_otherwise.tensors)
          list.push_back(torch_result(std::move(x), device_index));
        results.emplace_back(std::move(list));
      } else if (r.written) {
        while (!s.parameters[written].written) ++written;
        results.push_back(values[written++]);
      } else {
        results.emplace_back(torch_result(std::move(*next++), device_index));
      }
    }
  }
  const registered_operator<Device>& op_;
  const registered_operator<Device>* twin_;
  std::string name_;
};

}  // namespace flaggems::detail
