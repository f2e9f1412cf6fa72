// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Outputs of PyTorch's calls, which get the sizes of the results. Part of torch_operators.hpp.
#pragma once

#include <flaggems/adapters/torch_operators/arguments.hpp>
#include <flaggems/registry/registry.hpp>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/native/Resize.h>
#include <c10/util/Exception.h>

#include <span>
#include <utility>

namespace flaggems::detail {

/// Of an operator with outputs the form that makes new results; null if there is none.
template <class Device>
const registered_operator<Device>* torch_twin_of(
    const registered_operator<Device>& op, std::span<const registered_operator<Device>> family) {
  if (op.form() != bindings::form::out) return nullptr;
  const schema& s = op.schema();
  const auto inputs = s.parameters.size() - s.results.size();
  for (const registered_operator<Device>& other : family) {
    const schema& t = other.schema();
    if (other.form() != bindings::form::functional || t.name != s.name ||
        t.parameters.size() != inputs || t.results.size() != s.results.size())
      continue;
    bool same = true;
    for (std::size_t i = 0; i < inputs; ++i)
      same = same && t.parameters[i].name == s.parameters[i].name &&
             t.parameters[i].type == s.parameters[i].type;
    if (same) return &other;
  }
  return nullptr;
}

/// Calls an operator with outputs. Those of other sizes are resized, with PyTorch's warning if they
/// had elements, and `copy(result, output)` writes `to_tensor(result)`, which `twin` made.
template <class Device, class ToTensor, class Copy>
void torch_write(const registered_operator<Device>& op, const registered_operator<Device>* twin,
                 const torch_arguments<Device>& arguments, c10::ArrayRef<c10::IValue> values,
                 const stream_ref<Device>& stream, const ToTensor& to_tensor, const Copy& copy) {
  const std::size_t outputs = op.schema().results.size(), inputs = values.size() - outputs;
  bool is_sized = !arguments.repeats_into(outputs);
  for (std::size_t k = inputs; k < values.size(); ++k)
    is_sized = is_sized && values[k].toTensor().numel() > 0;
  if (is_sized || twin == nullptr) {
    try {
      op.call(stream, arguments.list(values.size()), {});
      return;
    } catch (const error& e) {
      if (e.code() != errc::shape_mismatch || twin == nullptr) throw;
    }
  }
  any_tensor<Device> made[max_results];
  at::Tensor results[max_results];
  twin->call(stream, arguments.list(inputs), std::span(made, outputs));
  for (std::size_t k = 0; k < outputs; ++k) {  // before any output is written
    results[k] = to_tensor(std::move(made[k]));
    const auto from = results[k].scalar_type(), to = values[inputs + k].toTensor().scalar_type();
    TORCH_CHECK(c10::canCast(from, to), "result type ", from,
                " can't be cast to the desired output type ", to);
  }
  for (std::size_t k = 0; k < outputs; ++k) {
    const at::Tensor& out = values[inputs + k].toTensor();
    at::native::resize_output(out, results[k].sizes());
    copy(results[k], out);
  }
}

}  // namespace flaggems::detail
