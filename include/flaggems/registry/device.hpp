// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What is compiled once a device: the checks and conversions of boxed calls, and the list of
// families. Included by the source file that has FLAGGEMS_REGISTRY.
#pragma once

#include <flaggems/ops/plan/checks.hpp>
#include <flaggems/ops/promotion.hpp>
#include <flaggems/registry/registry.hpp>

#include <type_traits>
#include <vector>

namespace flaggems {

namespace bindings {

/// The families of a device; defined by FLAGGEMS_REGISTRY.
template <class Device>
struct linked_families;

[[nodiscard]] FLAGGEMS_COLD inline detail::text text_of(boxed_kind kind) {
  constexpr const char* names[] = {"nothing",
                                   "None",
                                   "a tensor",
                                   "a list of tensors",
                                   "an integer",
                                   "a floating-point number",
                                   "a bool",
                                   "a list of integers",
                                   "a list of numbers",
                                   "a list of bools",
                                   "a dtype",
                                   "a string",
                                   "a generator",
                                   "a memory format"};
  return detail::text(names[static_cast<int>(kind)]);
}

[[noreturn]] FLAGGEMS_COLD inline void raise_argument(const schema& s, int place, boxed_kind got) {
  const parameter& p = s.parameters[static_cast<std::size_t>(place)];
  raise(errc::invalid_argument, s.key(),
        detail::text(p.type) + " for argument " + detail::text(p.name), text_of(got));
}
[[noreturn]] FLAGGEMS_COLD inline void raise_count(const schema& s, const char* what, i64 expected,
                                                   i64 got) {
  raise(errc::invalid_argument, s.key(), detail::text(expected) + what, detail::text(got));
}

/// An argument of a parameter's default.
template <class Device>
boxed<Device> default_of(const parameter& p) {
  const default_value& v = p.value;
  using enum boxed_kind;
  switch (v.kind) {
    case none: return std::nullopt;
    case integer: return v.integer;
    case floating: return v.number;
    case boolean: return v.integer != 0;
    case integers: return int_list();
    case string: return v.text;
    case memory_format:
      for (const auto format :
           {flaggems::memory_format::contiguous_format, flaggems::memory_format::preserve_format,
            flaggems::memory_format::channels_last, flaggems::memory_format::channels_last_3d})
        if (to_string(format) == v.text) return format;
      [[fallthrough]];
    default: return {};
  }
}

/// What the elements of the operands and the numbers promote to; raises dtype_mismatch where there
/// is no common dtype.
template <class Device>
dtype promoted_dtype(const schema& s, const slot* slots, const boxed<Device>* arguments) {
  std::vector<detail::promoted_operand> operands;
  detail::kind numbers = detail::kind::boolean;
  for (std::size_t i = 0; i < s.parameters.size(); ++i) {
    const boxed<Device>& v = arguments[i];
    if (slots[i].plays == role::element && !v.is_none())
      for (const any_view<Device>& x : v.views())
        operands.push_back({static_cast<int>(x.dtype()), x.rank() > 0});
    if (slots[i].promotes && !v.is_none()) {
      const auto own = v.kind() == boxed_kind::floating  ? detail::kind::floating
                       : v.kind() == boxed_kind::integer ? detail::kind::integer
                                                         : detail::kind::boolean;
      numbers = own > numbers ? own : numbers;
    }
  }
  const int found =
      detail::result_dtype(operands.data(), static_cast<int>(operands.size()), numbers);
  if (found < 0) [[unlikely]]
    raise(errc::dtype_mismatch, s.key(), "dtypes that have a common one", "dtypes that do not");
  return static_cast<dtype>(found);
}

/// Where results without operands get their dtype: of numbers, or f32.
template <class Device>
dtype dtype_of_numbers(const schema& s, const boxed<Device>* arguments) {
  bool any = false, floating = false, integer = false;
  for (std::size_t i = 0; i < s.parameters.size(); ++i) {
    if (s.parameters[i].kind != parameter_kind::scalar) continue;
    any = true;
    floating = floating || arguments[i].kind() == boxed_kind::floating;
    integer = integer || arguments[i].kind() == boxed_kind::integer;
  }
  return !any || floating ? dtype::f32 : integer ? dtype::i64 : dtype::bool_;
}

/// to = from, converted, by the operator copy_.
template <class Device>
void copy_converted(const stream_ref<Device>& stream, std::string_view op,
                    const any_view<Device>& to, const any_view<Device>& from) {
  const auto* const copy = registry<Device>::find("copy_");
  if (copy == nullptr || !copy->has(to.dtype()) || !copy->has(from.dtype())) [[unlikely]]
    raise(errc::dtype_mismatch, op,
          "dtypes that the program was compiled for, with the family copy",
          detail::text(to_string(from.dtype())) + " to " + to_string(to.dtype()));
  static_cast<void>((*copy)(stream, {to, from}));
}

/// x as another dtype, in new memory.
template <class Device>
any_tensor<Device> converted(const stream_ref<Device>& stream, std::string_view op,
                             const any_view<Device>& x, dtype type) {
  any_tensor<Device> r = visit(type, [&](auto t) -> any_tensor<Device> {
    return empty<typename decltype(t)::type>(stream, shape(x.sizes()), "convert");
  });
  copy_converted(stream, op, r.view(), x);
  return r;
}

/// Operands converted for a call, and their memory.
template <class Device>
class converted_arguments {
 public:
  converted_arguments(const registered_operator<Device>& op, const slot* slots,
                      const stream_ref<Device>& stream, const boxed<Device>* arguments, dtype type,
                      bool keep_first) {
    const schema& s = op.schema();
    std::size_t tensors = 0;
    for (std::size_t i = 0; i < s.parameters.size(); ++i)
      if (s.parameters[i].kind <= parameter_kind::tensors) tensors += arguments[i].views().size();
    memory_.reserve(tensors);  // views of tensors that do not move
    lists_.reserve(s.parameters.size());
    for (std::size_t i = 0; i < s.parameters.size(); ++i) {
      arguments_[i] = arguments[i];
      const role plays = slots[i].plays;
      if (arguments[i].is_none() || (i == 0 && keep_first)) continue;
      if (plays == role::element) convert(i, stream, s.key(), type);
      if (plays == role::index) convert(i, stream, s.key(), dtype::i64);
      if (plays == role::condition) convert(i, stream, s.key(), dtype::bool_);
    }
  }
  [[nodiscard]] const boxed<Device>* data() const noexcept { return arguments_; }

 private:
  void convert(std::size_t i, const stream_ref<Device>& stream, std::string_view op, dtype type) {
    std::vector<any_view<Device>>& list = lists_.emplace_back();
    for (const any_view<Device>& x : arguments_[i].views()) {
      if (x.dtype() != type) memory_.push_back(converted(stream, op, x, type));
      list.push_back(x.dtype() == type ? x : memory_.back().view());
    }
    if (arguments_[i].kind() == boxed_kind::tensor)
      arguments_[i] = list.front();
    else
      arguments_[i] = std::span<const any_view<Device>>(list);
  }

  boxed<Device> arguments_[detail::max_parameters + detail::max_results];
  std::vector<any_tensor<Device>> memory_;
  std::vector<std::vector<any_view<Device>>> lists_;
};

template <class Device>
[[noreturn]] FLAGGEMS_COLD void raise_no_instance(const registered_operator<Device>& op,
                                                  dtype got) {
  dtype compiled[dtype_count];
  int n = 0;
  for (int d = 0; d < dtype_count; ++d)
    if (op.has(static_cast<dtype>(d))) compiled[n++] = static_cast<dtype>(d);
  const detail::text name(op.schema().key());
  if (n == 0)
    raise(errc::dtype_mismatch, name, "one of the dtypes that it was compiled for: none", "");
  detail::raise_dtype(name.c_str(), compiled, n, got);
}

}  // namespace bindings

template <class Device>
void registered_operator<Device>::call(const stream_ref<Device>& stream,
                                       std::span<const boxed<Device>> given,
                                       std::span<any_tensor<Device>> results) const {
  using namespace bindings;
  const flaggems::schema& s = *schema_;
  const int count = static_cast<int>(s.parameters.size());
  const int wanted = form_ == form::functional ? facts_->new_results : 0;
  if (static_cast<int>(results.size()) != wanted) [[unlikely]]
    raise_count(s, " new tensors", wanted, static_cast<i64>(results.size()));
  if (static_cast<int>(given.size()) > count) [[unlikely]]
    raise_count(s, " arguments at most", count, static_cast<i64>(given.size()));

  const boxed<Device>* arguments = given.data();
  boxed<Device> complete[detail::max_parameters + detail::max_results];
  bool left_out = static_cast<int>(given.size()) < count;
  for (const boxed<Device>& v : given) left_out = left_out || v.kind() == boxed_kind::unset;
  if (left_out) {
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool has = at < given.size() && given[at].kind() != boxed_kind::unset;
      complete[i] = has ? given[at] : default_of<Device>(s.parameters[at]);
    }
    arguments = complete;
  }

  // The operands' dtype, and whether all are of it.
  dtype type = dtype::f32;
  bool found = false, one_dtype = true, direct = true;
  int number = -1, limited = -1;
  for (int i = 0; i < count; ++i) {
    const boxed<Device>& v = arguments[i];
    if ((slots_[i].accepts >> static_cast<unsigned>(v.kind()) & 1u) == 0) [[unlikely]]
      raise_argument(s, i, v.kind());
    switch (slots_[i].plays) {
      case role::no_tensor:
        if (slots_[i].promotes && !v.is_none()) number = std::max(number, kind_number(v.kind()));
        if (slots_[i].limited) limited = kind_number(v.kind());
        if (slots_[i].is_false && v.boolean()) [[unlikely]]
          raise(errc::not_supported, s.key(),
                detail::text(s.parameters[static_cast<std::size_t>(i)].name) + " = False", "True");
        break;
      case role::element:
        if (v.is_none()) break;
        for (const any_view<Device>& x : v.views()) {
          one_dtype = one_dtype && (!found || x.dtype() == type);
          if (!found) type = x.dtype();
          found = true;
        }
        break;
      case role::sizes:
        type = v.view().dtype();
        found = true;
        break;
      case role::index: direct = direct && (v.is_none() || v.view().dtype() == dtype::i64); break;
      case role::condition: direct = direct && v.view().dtype() == dtype::bool_; break;
      default: break;
    }
  }

  const bool with_dtype =
      facts_->dtype_parameter >= 0 && !arguments[facts_->dtype_parameter].is_none();
  const dtype own = type;
  if (with_dtype && !facts_->passes_dtype) {
    if (arguments[facts_->dtype_parameter].dtype() != type || !one_dtype) [[unlikely]]
      raise(errc::dtype_mismatch, s.key(), "the dtype of the operands", "another one");
  } else if (with_dtype) {
    type = arguments[facts_->dtype_parameter].dtype();
  } else if (!found) {
    type = dtype_of_numbers(s, arguments);
  } else if (!one_dtype && facts_->rule == dtype_rule::same) {
    raise(errc::dtype_mismatch, s.key(), "tensors of one dtype", "several");
  } else if (!one_dtype || number > kind_number(type)) {
    type = promoted_dtype(s, slots_, arguments);
  }
  const bool to_float = facts_->rule == dtype_rule::to_float ||
                        (facts_->float_if_none >= 0 && arguments[facts_->float_if_none].is_none());
  if (to_float && !is_floating_point(type)) type = dtype::f32;
  if (limited >= 0 && (limited == 2 || limited == 0) && limited != kind_number(type)) [[unlikely]]
    raise(errc::invalid_argument, s.key(),
          detail::text("an alpha that is not ") + (limited == 2 ? "floating-point" : "a bool") +
              " for operands of " + to_string(type),
          "one");
  const auto at = static_cast<unsigned>(type);
  const instance<Device>* const one =
      at < static_cast<unsigned>(dtype_count) ? &facts_->instances[at] : nullptr;
  if (one == nullptr || function_of(*one) == nullptr) [[unlikely]]
    raise_no_instance(*this, type);

  // What is written has the results' dtypes, or gets them converted.
  const bool elements_differ = found && facts_->converts && (!one_dtype || own != type);
  const int first_output = form_ == form::out ? count - facts_->new_results : 0;
  const int outputs = form_ == form::out ? facts_->new_results : form_ == form::in_place ? 1 : 0;
  bool same_outputs = true;
  for (int k = 0; k < outputs; ++k) {
    const dtype result = with_dtype || form_ == form::in_place ? type : one->results[k];
    same_outputs = same_outputs && arguments[first_output + k].view().dtype() == result;
  }
  if (direct && !elements_differ && same_outputs) [[likely]]
    return function_of(*one)({stream, arguments, results.data(), with_dtype});

  const converted_arguments<Device> operands(*this, slots_, stream, arguments, type,
                                             form_ == form::in_place && same_outputs);
  if (same_outputs) return function_of(*one)({stream, operands.data(), results.data(), with_dtype});
  any_tensor<Device> made[detail::max_results];
  one->create({stream, operands.data(), made, with_dtype});
  for (int k = 0; k < outputs; ++k) {
    const any_view<Device>& to = arguments[first_output + k].view();
    const any_view<Device>& from = made[k].view();
    if (kind_number(from.dtype()) > kind_number(to.dtype())) [[unlikely]]
      raise(errc::dtype_mismatch, s.key(),
            "an output whose dtype holds results of " + detail::text(to_string(from.dtype())),
            to_string(to.dtype()));
    if (form_ == form::out && !detail::same_sizes(to.sizes(), from.sizes())) [[unlikely]]
      raise(errc::shape_mismatch, s.key(), "an output of sizes " + to_string(shape(from.sizes())),
            to_string(shape(to.sizes())));
  }
  for (int k = 0; k < outputs; ++k)
    copy_converted(stream, s.key(), arguments[first_output + k].view(), made[k].view());
}

template <class Device>
std::span<const typename registry<Device>::family> registry<Device>::families() {
  return bindings::linked_families<Device>::list;
}

}  // namespace flaggems

/// Makes registry<Device> of these families, each of which has FLAGGEMS_REGISTRY_FAMILY somewhere
/// in the program. In namespace scope of one source file of a program.
#define FLAGGEMS_REGISTRY(Device, ...)                                              \
  template <>                                                                       \
  struct flaggems::bindings::linked_families<Device> {                              \
    template <class... Family>                                                      \
    struct all {                                                                    \
      static constexpr ::flaggems::registry<Device>::family list[] = {              \
          &::flaggems::bindings::family_operators<Family, Device>::get...};         \
    };                                                                              \
    static constexpr ::std::span<const ::flaggems::registry<Device>::family> list = \
        all<__VA_ARGS__>::list;                                                     \
  };                                                                                \
  template class flaggems::registered_operator<Device>;                             \
  template class flaggems::registry<Device>
