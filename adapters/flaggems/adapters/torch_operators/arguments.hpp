// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The arguments of PyTorch's boxed calls as the registry takes them. Part of torch_operators.hpp.
#pragma once

#include <flaggems/adapters/torch.hpp>
#include <flaggems/kernel/family/random/philox.hpp>
#include <flaggems/ops/plan/checks.hpp>
#include <flaggems/registry/registry.hpp>

#include <ATen/core/ivalue.h>
#include <c10/core/DefaultDtype.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <bit>
#include <string_view>

namespace flaggems::detail {

/// What differs by who calls.
struct torch_argument_rules {
  philox_generator* generator = nullptr;  ///< that of generators; null: callers give a seed
  bool masks_index = false;               ///< masks among indices are ours
  int device_index = -1;                  ///< -1: that of the first tensor
};

/// The arguments of a call as the registry takes them.
template <class Device>
class torch_arguments {
 public:
  /// Reads them; `left_because` says why that was not possible.
  torch_arguments(const schema& s, c10::ArrayRef<c10::IValue> values,
                  const torch_argument_rules& rules = {})
      : rules_(rules), device_index_(rules.device_index) {
    std::size_t tensors = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (s.parameters[i].kind <= parameter_kind::tensors)
        tensors += values[i].isList() ? values[i].toListRef().size() : 1;
    views_.reserve(tensors);  // views of tensors that do not move
    for (std::size_t i = 0; i < values.size() && left_because.empty(); ++i)
      arguments_[i] = read(s.parameters[i], values[i]);
  }
  /// Why ATen would choose another dtype than ours do, or another precision; empty if it would not.
  [[nodiscard]] std::string_view other_dtype() const {
    if (wrapped_kind_ > kind_with_dims_) return "a number that decides the dtype of the result";
    if (wrapped_kind_ == 2 && has_narrow_) return "a number that the operands' dtype would round";
    if (kind_with_dims_ < 2 && c10::get_default_dtype_as_scalartype() != c10::kFloat)
      return "another default dtype than f32";
    return {};
  }
  /// Whether the `outputs` tensors at the end, or the first of them, would have operands repeated
  /// into them: ATen gives an output the sizes of the result instead.
  [[nodiscard]] bool repeats_into(std::size_t outputs) const {
    const auto operands = std::span(views_.data(), views_.size() - outputs);
    const std::span<const i64> sizes = views_[operands.size()].sizes();
    for (const any_view<Device>& x : operands)
      if (!broadcasts_to(x.sizes(), sizes)) return false;  // the operator knows what it expects
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      bool is_given = false;
      for (const any_view<Device>& x : operands) {
        const std::size_t left = sizes.size() - x.sizes().size();
        is_given = is_given || (d >= left && x.sizes()[d - left] == sizes[d]);
      }
      if (!is_given) return true;
    }
    return false;
  }
  [[nodiscard]] std::span<const boxed<Device>> list(std::size_t n) const { return {arguments_, n}; }
  [[nodiscard]] int device_index() const { return device_index_ < 0 ? 0 : device_index_; }

  std::string_view left_because;
  /// Whether such a call was never ours: of another device or layout, or what no operator has.
  [[nodiscard]] bool is_atens() const {
    return is_atens_ || obstacle == torch_obstacle::device || obstacle == torch_obstacle::layout;
  }
  /// Where a tensor cannot be viewed.
  torch_obstacle obstacle = torch_obstacle::none;
  const at::Tensor* obstructed = nullptr;

 private:
  boxed<Device> leave(const char* reason) {
    left_because = reason;
    return {};
  }
  boxed<Device> leave_to_aten(const char* reason) {
    is_atens_ = true;
    return leave(reason);
  }
  void read_tensor(const at::Tensor& t) {
    if (device_index_ < 0 && t.defined() && t.device().has_index())
      device_index_ = t.device().index();
    obstacle = obstacle_of<Device>(t, device_index_, torch_gradients::refused);
    if (obstacle != torch_obstacle::none) [[unlikely]] {
      left_because = to_string(obstacle);
      obstructed = &t;
      return;
    }
    views_.push_back(view_of(t));
    const dtype type = views_.back().dtype();
    const int kind = bindings::kind_number(type);
    if (t.unsafeGetTensorImpl()->is_wrapped_number()) {
      wrapped_kind_ = (std::max)(wrapped_kind_, kind);
    } else if (t.dim() > 0) {
      kind_with_dims_ = (std::max)(kind_with_dims_, kind);
      has_narrow_ = has_narrow_ || (kind == 2 && size_of(type) < 4);
    }
  }
  any_view<Device> view_of(const at::Tensor& t) {
    if constexpr (has_no_elements<Device>) {
      // Tensors that share a storage lie in one part of the addresses.
      const void* const storage = t.storage().unsafeGetStorageImpl();
      const auto at = std::find(storages_.begin(), storages_.end(), storage);
      const auto place = static_cast<u64>(at - storages_.begin()) + 1;
      if (at == storages_.end()) storages_.push_back(storage);
      const dtype type = from_torch(t.scalar_type());
      const auto layout = layout_of_torch(t);
      const u64 address = (place << 52) + static_cast<u64>(layout.offset * size_of(type));
      return any_view<Device>(std::bit_cast<void*>(address), type, layout.sizes, layout.strides);
    } else {
      return view_of_torch<Device>(t, false);
    }
  }
  boxed<Device> read(const parameter& p, const c10::IValue& v) {
    if (p.kind == parameter_kind::generator && rules_.generator != nullptr)
      return *rules_.generator;
    if (v.isNone()) return std::nullopt;
    switch (p.kind) {
      case parameter_kind::tensor:
        if (!v.isTensor()) break;
        if (p.optional && !v.toTensor().defined()) return std::nullopt;
        read_tensor(v.toTensor());
        if (!left_because.empty()) return {};
        return views_.back();
      case parameter_kind::tensors: {
        if (!v.isList()) break;
        // PyTorch boxes Tensor?[] as a list of optionals.
        const bool may_be_absent = p.type.starts_with("Tensor?");
        const std::size_t first = views_.size();
        for (const c10::IValue& t : v.toListRef()) {
          if (may_be_absent && (t.isNone() || !t.toTensor().defined())) {
            views_.emplace_back();
            continue;
          }
          read_tensor(t.toTensor());
          if (!left_because.empty()) return {};
          if (const dtype type = views_.back().dtype();
              may_be_absent && !rules_.masks_index && type != dtype::i64 && type != dtype::i32)
            return leave_to_aten("masks among the indices");
        }
        return std::span<const any_view<Device>>(views_.data() + first, views_.size() - first);
      }
      case parameter_kind::dtype: {
        if (!v.isInt()) break;
        const int found = dtype_of_scalar_type[static_cast<std::size_t>(v.toInt())];
        if (found < 0) return leave("a type that is not ours");
        return static_cast<dtype>(found);
      }
      case parameter_kind::memory_format:
        if (!v.isInt()) break;
        switch (static_cast<c10::MemoryFormat>(v.toInt())) {
          case c10::MemoryFormat::Contiguous: return memory_format::contiguous_format;
          case c10::MemoryFormat::Preserve: return memory_format::preserve_format;
          case c10::MemoryFormat::ChannelsLast: return memory_format::channels_last;
          case c10::MemoryFormat::ChannelsLast3d: return memory_format::channels_last_3d;
          default: break;
        }
        break;
      case parameter_kind::generator:
        if (!v.isInt()) break;
        generator_ = {static_cast<u64>(v.toInt()), 0};  // a seed, which callers in C++ give
        return generator_;
      case parameter_kind::string:
        if (!v.isString()) break;
        return std::string_view(v.toStringRef());
      case parameter_kind::unsupported:
        // Where new tensors would be anyway; elsewhere they are ATen's.
        if (v.isDevice()) {
          const c10::Device there = v.toDevice();
          if (there.type() == torch_device<Device>::type &&
              (has_one_device<Device> || !there.has_index() || there.index() == device_index()))
            return std::nullopt;
          return leave_to_aten(to_string(torch_obstacle::device));
        }
        if (!v.isInt()) break;
        if (static_cast<c10::Layout>(v.toInt()) == c10::kStrided) return std::nullopt;
        return leave_to_aten(to_string(torch_obstacle::layout));
      default:
        if (v.isBool() && p.name == "pin_memory") {
          if (!v.toBool()) return std::nullopt;
          return leave_to_aten("pinned memory");
        }
        if (v.isBool()) return v.toBool();
        if (v.isInt()) return v.toInt();
        if (v.isDouble()) return v.toDouble();
        if (v.isComplexDouble() && complex_read_ < max_lists)
          return complex_[complex_read_++] = v.toComplexDouble();
        if (v.isIntList() && lists_read_ < max_lists) {
          auto& list = lists_[lists_read_++];
          for (const i64 x : v.toIntList()) list.push_back(x);
          return int_list(list.data(), static_cast<int>(list.size()));
        }
        if (v.isBoolList() && bools_.empty()) {
          for (const bool x : v.toBoolList()) bools_.push_back(x);
          return std::span<const bool>(bools_.data(), bools_.size());
        }
    }
    return leave("an argument of a kind that ours do not take");
  }

  static constexpr int max_lists = 4;
  boxed<Device> arguments_[max_parameters + max_results];
  c10::SmallVector<any_view<Device>, 4> views_;
  c10::SmallVector<i64, 6> lists_[max_lists];
  c10::SmallVector<bool, 4> bools_;
  c10::SmallVector<const void*, 4> storages_;
  c128 complex_[max_lists];
  philox_generator generator_;
  torch_argument_rules rules_;
  int lists_read_ = 0, complex_read_ = 0, device_index_ = -1;
  bool is_atens_ = false;
  // Of Python's numbers, which are tensors of ATen without dimensions, and of what has dimensions.
  int wrapped_kind_ = -1, kind_with_dims_ = -1;
  bool has_narrow_ = false;
};

}  // namespace flaggems::detail
