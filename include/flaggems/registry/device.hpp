// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What is compiled once a device: the checks and conversions of boxed calls, and the list of
// families. Included by the source file that has FLAGGEMS_REGISTRY.
#pragma once

#include <flaggems/ops/plan/checks.hpp>
#include <flaggems/ops/promotion.hpp>
#include <flaggems/registry/line.hpp>
#include <flaggems/registry/registry.hpp>
#include <flaggems/tensor/overlap.hpp>

#include <algorithm>
#include <string>
#include <utility>
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
                                   "a memory format",
                                   "a complex number"};
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
    case integers: return int_list(v.list, v.count);
    case string: return v.text;
    case memory_format: return static_cast<flaggems::memory_format>(v.integer);
    case dtype: return static_cast<flaggems::dtype>(v.integer);
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
      const auto own = static_cast<detail::kind>(kind_number(v.kind()));
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
  int highest = -1;
  for (std::size_t i = 0; i < s.parameters.size(); ++i)
    if (s.parameters[i].kind == parameter_kind::scalar)
      highest = (std::max)(highest, kind_number(arguments[i].kind()));
  constexpr dtype types[] = {dtype::f32, dtype::bool_, dtype::i64, dtype::f32, dtype::c64};
  return types[highest + 1];
}

/// The operator copy_ for these dtypes; raises dtype_mismatch if it was not compiled.
template <class Device>
const registered_operator<Device>& check_conversion(std::string_view op, dtype to, dtype from) {
  const auto* const copy = registry<Device>::find("copy_");
  if (copy == nullptr || !copy->has(to) || !copy->has(from)) [[unlikely]]
    raise(errc::dtype_mismatch, op,
          "dtypes that the program was compiled for, with the family copy",
          detail::text(to_string(from)) + " to " + to_string(to));
  return *copy;
}
/// to = from, converted.
template <class Device>
void copy_converted(const stream_ref<Device>& stream, std::string_view op,
                    const any_view<Device>& to, const any_view<Device>& from) {
  static_cast<void>(check_conversion<Device>(op, to.dtype(), from.dtype())(stream, {to, from}));
}

/// Raises unless output k can be written, converted from `type`, and shares no memory with those
/// before it.
template <class Device>
void check_output(std::string_view op, const boxed<Device>* outputs, int k, dtype type) {
  const any_view<Device>& to = outputs[k].view();
  const std::string name(op);
  if (to.is_const()) [[unlikely]]
    raise(errc::invalid_argument, op, "an output that can be written", "a view of const elements");
  check_conversion<Device>(op, to.dtype(), type);
  detail::check_writable(name.c_str(), detail::layout_of(to));
  const detail::placed_layout written(detail::layout_of(to));
  for (int j = 0; j < k; ++j)
    if (overlap(written, detail::layout_of(outputs[j].view())) != overlap_kind::none) [[unlikely]]
      raise(errc::overlap, op, "outputs that share no memory", "two that do");
}

/// Whether indices of a dtype go to the typed operators as they are: i64; in lists i32 and masks of
/// bool, too.
template <class Device>
bool takes_index(const boxed<Device>& indices, dtype type) {
  const bool in_list = indices.kind() == boxed_kind::tensors;
  return type == dtype::i64 || (in_list && (type == dtype::i32 || type == dtype::bool_));
}

/// x as another dtype, in new memory.
template <class Device>
any_tensor<Device> converted(const stream_ref<Device>& stream, std::string_view op,
                             const any_view<Device>& x, dtype type) {
  any_tensor<Device> r = visit(type, [&](auto t) -> any_tensor<Device> {
    const shape sizes(x.sizes());
    return tensor<typename decltype(t)::type, Device>(
        stream, sizes, detail::dense_strides(sizes, x.strides()), "convert");
  });
  copy_converted(stream, op, r.view(), x);
  return r;
}

/// Operands converted for a call, and their memory. Of those that the call writes, give_back()
/// copies what is new to where it was asked for.
template <class Device>
class converted_arguments {
 public:
  converted_arguments(const registered_operator<Device>& op, const slot* slots,
                      const stream_ref<Device>& stream, const boxed<Device>* arguments, dtype type,
                      bool keep_first) {
    const schema& s = op.schema();
    given_ = std::span(arguments, s.parameters.size());
    slots_ = slots;
    std::size_t tensors = 0;
    for (std::size_t i = 0; i < s.parameters.size(); ++i)
      if (s.parameters[i].kind <= parameter_kind::tensors) tensors += arguments[i].views().size();
    memory_.reserve(tensors);  // views of tensors that do not move
    for (std::size_t i = op.form() == form::in_place ? 1 : 0; i < s.parameters.size(); ++i)
      written_[i] = slots[i].written;
    lists_.reserve(s.parameters.size());
    for (std::size_t i = 0; i < s.parameters.size(); ++i) {
      arguments_[i] = arguments[i];
      const role plays = slots[i].plays;
      if (arguments[i].is_none() || (i == 0 && keep_first)) continue;
      if (plays == role::element) convert(i, stream, s.key(), type);
      if (plays == role::index) convert(i, stream, s.key(), dtype::i64, true);
      if (plays == role::length) convert(i, stream, s.key(), dtype::i32);
      if (plays == role::condition) convert(i, stream, s.key(), dtype::bool_);
      if (plays == role::kept) convert(i, stream, s.key(), kept_dtype(type));
    }
  }
  [[nodiscard]] const boxed<Device>* data() const noexcept { return arguments_; }
  void give_back(const stream_ref<Device>& stream, std::string_view op) const {
    for (const auto& [to, from] : given_back_) copy_converted(stream, op, to, from);
  }

 private:
  /// Raises unless x of argument i, which has a copy of another dtype, can be written from that.
  void check_written(std::size_t i, std::string_view op, const any_view<Device>& x,
                     dtype type) const {
    if (kind_number(type) > kind_number(x.dtype())) [[unlikely]]
      raise(errc::dtype_mismatch, op,
            "a written argument whose dtype holds " + detail::text(to_string(type)),
            to_string(x.dtype()));
    if (x.is_const()) [[unlikely]]
      raise(errc::invalid_argument, op, "an argument that can be written",
            "a view of const elements");
    check_conversion<Device>(op, x.dtype(), type);
    detail::check_writable(std::string(op).c_str(), detail::layout_of(x));
    for (std::size_t j = 0; j < given_.size(); ++j)
      if (j != i && slots_[j].written && !given_[j].is_none())
        for (const any_view<Device>& other : given_[j].views())
          if (overlap(detail::layout_of(x), detail::layout_of(other)) != overlap_kind::none)
              [[unlikely]]
            raise(errc::overlap, op, "written arguments that share no memory", "two that do");
  }
  void convert(std::size_t i, const stream_ref<Device>& stream, std::string_view op, dtype type,
               bool of_indices = false) {
    std::vector<any_view<Device>>& list = lists_.emplace_back();
    for (const any_view<Device>& x : arguments_[i].views()) {
      if (of_indices && (detail::is_absent(x) || takes_index(arguments_[i], x.dtype()))) {
        list.push_back(x);
        continue;
      }
      if (x.dtype() != type && written_[i]) check_written(i, op, x, type);
      if (x.dtype() != type) memory_.push_back(converted(stream, op, x, type));
      list.push_back(x.dtype() == type ? x : memory_.back().view());
      if (x.dtype() != type && written_[i]) given_back_.emplace_back(x, list.back());
    }
    if (arguments_[i].kind() == boxed_kind::tensor)
      arguments_[i] = list.front();
    else
      arguments_[i] = std::span<const any_view<Device>>(list);
  }

  std::span<const boxed<Device>> given_;
  const slot* slots_ = nullptr;
  boxed<Device> arguments_[detail::max_parameters + detail::max_results];
  std::vector<any_tensor<Device>> memory_;
  std::vector<std::vector<any_view<Device>>> lists_;
  bool written_[detail::max_parameters + detail::max_results] = {};
  std::vector<std::pair<any_view<Device>, any_view<Device>>> given_back_;  // to, from
};

/// Raises for an alpha that the typed operators do not compile with: a floating-point one for other
/// operands, or a bool for numbers.
inline void check_alpha(const schema& s, int alpha, dtype type) {
  if (alpha == 1 || alpha == kind_number(type) || (alpha == 2 && is_complex(type))) return;
  raise(errc::invalid_argument, s.key(),
        detail::text("an alpha that is not ") +
            (alpha == 3   ? "complex"
             : alpha == 2 ? "floating-point"
                          : "a bool") +
            " for operands of " + to_string(type),
        "one");
}

template <class Device>
[[noreturn]] FLAGGEMS_COLD void raise_no_instance(const registered_operator<Device>& op,
                                                  dtype got) {
  dtype compiled[dtype_count];
  int n = 0;
  for (int d = 0; d < dtype_count; ++d)
    if (op.has(static_cast<dtype>(d))) compiled[n++] = static_cast<dtype>(d);
  const detail::text name(op.schema().key());
  if (n == 0)
    raise(errc::dtype_mismatch, name, "a dtype that it was compiled for (none)", to_string(got));
  detail::raise_dtype(name.c_str(), compiled, n, got);
}

}  // namespace bindings

template <class Device>
void registered_operator<Device>::call(const stream_ref<Device>& stream,
                                       std::span<const boxed<Device>> given,
                                       std::span<any_tensor<Device>> results) const {
  using namespace bindings;
  const flaggems::schema& s = *schema_;
  if (facts_->gives != parameter_kind::tensor) [[unlikely]]
    raise(errc::invalid_argument, s.key(), "any_results for what it gives", "tensors");
  const int wanted = wanted_results();
  if (static_cast<int>(results.size()) != wanted) [[unlikely]]
    raise_count(s, " new tensors", wanted, static_cast<i64>(results.size()));
  call_with_defaults(stream, given, results.data(), nullptr);
}
template <class Device>
void registered_operator<Device>::call(const stream_ref<Device>& stream,
                                       std::span<const boxed<Device>> given,
                                       any_results<Device>& results) const {
  results = {};
  if (facts_->gives != parameter_kind::tensor)
    return call_with_defaults(stream, given, nullptr, &results);
  results.tensors.resize(static_cast<std::size_t>(wanted_results()));
  call_with_defaults(stream, given, results.tensors.data(), nullptr);
}

template <class Device>
void registered_operator<Device>::call_with_defaults(const stream_ref<Device>& stream,
                                                     std::span<const boxed<Device>> given,
                                                     any_tensor<Device>* results,
                                                     any_results<Device>* any) const {
  using namespace bindings;
  const flaggems::schema& s = *schema_;
  const std::size_t count = s.parameters.size();
  if (given.size() > count) [[unlikely]]
    raise_count(s, " arguments at most", static_cast<i64>(count), static_cast<i64>(given.size()));
  bool left_out = given.size() < count;
  for (const boxed<Device>& v : given) left_out = left_out || v.kind() == boxed_kind::unset;
  if (!left_out) return call_complete(stream, given.data(), results, any);

  boxed<Device> complete[detail::max_parameters + detail::max_results];
  for (std::size_t i = 0; i < count; ++i) {
    const bool has = i < given.size() && given[i].kind() != boxed_kind::unset;
    complete[i] = has ? given[i] : default_of<Device>(s.parameters[i]);
  }
  call_complete(stream, complete, results, any);
}

template <class Device>
void registered_operator<Device>::call_complete(const stream_ref<Device>& stream,
                                                const boxed<Device>* arguments,
                                                any_tensor<Device>* results,
                                                any_results<Device>* any) const {
  using namespace bindings;
  const flaggems::schema& s = *schema_;
  const int count = static_cast<int>(s.parameters.size());
  // The operands' dtype, whether all are of it, and the highest kind of the numbers.
  dtype own = dtype::f32;
  bool found = false, one_dtype = true, direct = true;
  int number = -1, alpha = -1;
  u32 kept = 0;  // dtypes, as bits
  bool encoded = false;
  for (int i = 0; i < count; ++i) {
    const boxed<Device>& v = arguments[i];
    const slot& at = slots_[i];
    if ((at.accepts >> static_cast<unsigned>(v.kind()) & 1u) == 0) [[unlikely]]
      raise_argument(s, i, v.kind());
    if (v.is_none()) continue;
    switch (at.plays) {
      case role::no_tensor:
        if (at.promotes) number = (std::max)(number, kind_number(v.kind()));
        if (at.limited) alpha = kind_number(v.kind());
        if (at.is_false && v.boolean()) [[unlikely]]
          raise(errc::not_supported, s.key(),
                detail::text(s.parameters[static_cast<std::size_t>(i)].name) + " = False", "True");
        break;
      case role::element:
      case role::sizes:
        for (const any_view<Device>& x : v.views()) {
          one_dtype = one_dtype && (!found || x.dtype() == own);
          if (!found) own = x.dtype();
          found = true;
        }
        break;
      case role::index:
        for (const any_view<Device>& x : v.views()) {
          if (detail::is_absent(x)) continue;
          const bool in_list = v.kind() == boxed_kind::tensors;
          const bool as_is = takes_index(v, x.dtype());
          // Bytes in lists are masks for ATen, which it deprecates.
          if (!as_is && (kind_number(x.dtype()) != 1 || (in_list && x.dtype() == dtype::u8)))
              [[unlikely]]
            raise(errc::dtype_mismatch, s.key(),
                  detail::text(in_list ? "signed integers or masks of bool for argument "
                                       : "integers for argument ") +
                      s.parameters[static_cast<std::size_t>(i)].name,
                  to_string(x.dtype()));
          direct = direct && as_is;
        }
        break;
      case role::length:
        if (kind_number(v.view().dtype()) != 1) [[unlikely]]
          raise(errc::dtype_mismatch, s.key(),
                detail::text("integers for argument ") +
                    s.parameters[static_cast<std::size_t>(i)].name,
                to_string(v.view().dtype()));
        direct = direct && v.view().dtype() == dtype::i32;
        break;
      case role::condition: direct = direct && v.view().dtype() == dtype::bool_; break;
      case role::kept: kept |= 1u << static_cast<unsigned>(v.view().dtype()); break;
      case role::encoded:
        if (v.view().dtype() != dtype::f8e4m3) [[unlikely]]
          raise(errc::dtype_mismatch, s.key(), "f8e4m3", to_string(v.view().dtype()));
        encoded = true;
        break;
      case role::bytes:
        if (v.view().dtype() != dtype::u8) [[unlikely]]
          raise(errc::dtype_mismatch, s.key(),
                detail::text("u8 for argument ") + s.parameters[static_cast<std::size_t>(i)].name,
                to_string(v.view().dtype()));
        break;
      case role::choice:
      case role::any:
      case role::output: break;
    }
  }

  // The dtype that the operator runs in.
  dtype type = own;
  const bool with_dtype =
      facts_->dtype_parameter >= 0 && !arguments[facts_->dtype_parameter].is_none();
  if (with_dtype && facts_->passes_dtype)
    type = arguments[facts_->dtype_parameter].dtype();
  else if (with_dtype && (arguments[facts_->dtype_parameter].dtype() != own || !one_dtype))
    raise(errc::dtype_mismatch, s.key(), "the dtype of the operands", "another one");
  else if (!found)
    type = encoded ? facts_->encoded_result : dtype_of_numbers(s, arguments);
  else if (!one_dtype && facts_->rule == dtype_rule::same && !facts_->gives_views)
    raise(errc::dtype_mismatch, s.key(), "tensors of one dtype", "several");
  else if (!facts_->gives_views && (!one_dtype || number > kind_number(own)))
    type = promoted_dtype(s, slots_, arguments);
  const bool to_float = facts_->rule == dtype_rule::to_float ||
                        (facts_->float_if_none >= 0 && arguments[facts_->float_if_none].is_none());
  if (to_float && kind_number(type) < 2 && (found || !with_dtype)) type = dtype::f32;
  if (alpha >= 0) check_alpha(s, alpha, type);
  const auto index = static_cast<unsigned>(type);
  if (index >= static_cast<unsigned>(dtype_count) || instance_of(type) == nullptr) [[unlikely]]
    raise_no_instance(*this, type);
  const instance<Device>& one = facts_->instances[index];
  if (with_dtype && !one.may_be_given) [[unlikely]]
    raise(errc::dtype_mismatch, s.key(), "a dtype of integers or floats", to_string(type));

  const bool differ = found && facts_->converts && (!one_dtype || own != type);
  bool same_outputs = true;
  for (int k = 0; k < outputs(); ++k)
    same_outputs = same_outputs && arguments[first_output() + k].view().dtype() ==
                                       result_dtype(one, arguments, with_dtype, type, k);
  direct = direct && (kept & ~(1u << static_cast<unsigned>(kept_dtype(type)))) == 0;
  if (direct && !differ && same_outputs) [[likely]]
    function_of(one)({stream, arguments, results, with_dtype, any});
  else
    call_converted(one, {stream, arguments, results, with_dtype, any}, type, same_outputs);
}

/// The dtype of result k of a call in `type`.
template <class Device>
dtype registered_operator<Device>::result_dtype(const bindings::instance<Device>& one,
                                                const boxed<Device>* arguments, bool with_dtype,
                                                dtype type, int k) const {
  if (with_dtype || form_ == bindings::form::in_place) return type;
  const int narrow = facts_->narrow_parameter;
  return narrow >= 0 && arguments[narrow].boolean() ? dtype::i32 : one.results[k];
}

/// The call with operands of other dtypes converted, and results for outputs of other dtypes.
template <class Device>
void registered_operator<Device>::call_converted(const bindings::instance<Device>& one,
                                                 const bindings::call_frame<Device>& frame,
                                                 dtype type, bool same_outputs) const {
  using namespace bindings;
  const flaggems::schema& s = *schema_;
  const converted_arguments<Device> operands(*this, slots_, frame.stream, frame.arguments, type,
                                             form_ == form::in_place && same_outputs);
  if (same_outputs) {
    function_of(one)({frame.stream, operands.data(), frame.results, frame.with_dtype, frame.any});
    return operands.give_back(frame.stream, s.key());
  }
  // Before the call, which may write other arguments.
  for (int k = 0; k < outputs(); ++k) {
    const dtype from = result_dtype(one, frame.arguments, frame.with_dtype, type, k);
    const dtype to = frame.arguments[first_output() + k].view().dtype();
    if (facts_->same_outputs && from != to) [[unlikely]]
      raise(errc::dtype_mismatch, s.key(), detail::text("an output of ") + to_string(from),
            to_string(to));
    if (kind_number(from) > kind_number(to)) [[unlikely]]
      raise(errc::dtype_mismatch, s.key(),
            "an output whose dtype holds results of " + detail::text(to_string(from)),
            to_string(to));
    check_output(s.key(), frame.arguments + first_output(), k, from);
  }
  any_tensor<Device> made[detail::max_results];
  one.create({frame.stream, operands.data(), made, frame.with_dtype});
  for (int k = 0; k < outputs(); ++k) {
    const any_view<Device>& to = frame.arguments[first_output() + k].view();
    const any_view<Device>& from = made[k].view();
    if (!detail::same_sizes(to.sizes(), from.sizes())) [[unlikely]]
      raise(errc::shape_mismatch, s.key(), "an output of sizes " + to_string(shape(from.sizes())),
            to_string(shape(to.sizes())));
  }
  for (int k = 0; k < outputs(); ++k)
    copy_converted(frame.stream, s.key(), frame.arguments[first_output() + k].view(),
                   made[k].view());
  operands.give_back(frame.stream, s.key());
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
