// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a line of the registry says, and what follows from it: the schemas of an operator's forms,
// and what each parameter is to the typed operator.
#pragma once

#include <flaggems/registry/registry.hpp>
#include <flaggems/tensor/dtype.hpp>

#include <array>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

namespace flaggems::bindings {

/// What a line says. Each word returns the line, so that words are chained.
struct line_facts {
  std::string_view text;
  dtype_rule rule = dtype_rule::same;
  int number = 1;
  std::string_view out_overload{}, in_place_overload{}, other_names[4] = {};
  std::string_view braced_from{}, sized_by{}, float_if_none{};
  std::string_view kept_one{}, kept_other{}, kept_third{}, kept_fourth{};
  std::string_view encoded_one{}, encoded_other{}, updated_one{}, updated_other{};
  std::string_view output_name = "out", second_output{};
  int outputs_at = -1;
  bool has_out = true, same_outputs = false, has_values_as_target = false, has_bool_results = true;
  memory_format format_of_none = memory_format::contiguous_format;

  constexpr line_facts(const char* schema) : text(schema) {}

  /// Operands of several dtypes are promoted.
  constexpr line_facts promotes() const {
    line_facts r = *this;
    r.rule = dtype_rule::promoted;
    return r;
  }
  /// And integers and bool become f32.
  constexpr line_facts to_float() const {
    line_facts r = *this;
    r.rule = dtype_rule::to_float;
    return r;
  }
  /// Operands are promoted; and integers become f32 where this parameter is None.
  constexpr line_facts to_float_without(std::string_view name) const {
    line_facts r = promotes();
    r.float_if_none = name;
    return r;
  }
  /// To be raised when the schema or its meaning changes.
  constexpr line_facts version(int n) const {
    line_facts r = *this;
    r.number = n;
    return r;
  }
  /// The overload of the out= form, if it is not the functional one with "_out" behind it.
  constexpr line_facts out(std::string_view name) const {
    line_facts r = *this;
    r.out_overload = name;
    return r;
  }
  /// What the out= form calls its output, or its two outputs.
  constexpr line_facts writes(std::string_view name, std::string_view second = {}) const {
    line_facts r = *this;
    r.output_name = name;
    r.second_output = second;
    return r;
  }
  /// The overload of the in-place form, if it is not the functional one's.
  constexpr line_facts in_place(std::string_view name) const {
    line_facts r = *this;
    r.in_place_overload = name;
    return r;
  }
  constexpr line_facts without_out() const {
    line_facts r = *this;
    r.has_out = false;
    return r;
  }
  /// An output has the result's dtype: ATen refuses others, too.
  constexpr line_facts exact_out() const {
    line_facts r = *this;
    r.same_outputs = true;
    return r;
  }
  /// The results' dtype, where it is given, is not bool: ATen refuses it, too.
  constexpr line_facts without_bool_results() const {
    line_facts r = *this;
    r.has_bool_results = false;
    return r;
  }
  /// `target` has the operands' dtype, and no indices.
  constexpr line_facts values_as_target() const {
    line_facts r = *this;
    r.has_values_as_target = true;
    return r;
  }
  /// The typed operator takes its outputs after this many arguments; else after the last tensor.
  constexpr line_facts outputs_after(int n) const {
    line_facts r = *this;
    r.outputs_at = n;
    return r;
  }
  /// The parameters from this one on are members of an options struct, in order.
  constexpr line_facts options_from(std::string_view name) const {
    line_facts r = *this;
    r.braced_from = name;
    return r;
  }
  /// Of this tensor only sizes and strides are read, so that its dtype does not matter.
  constexpr line_facts sized_as(std::string_view name) const {
    line_facts r = *this;
    r.sized_by = name;
    return r;
  }
  /// Tensors of the dtype in which norms keep statistics.
  constexpr line_facts keeps(std::string_view one, std::string_view other = {},
                             std::string_view third = {}, std::string_view fourth = {}) const {
    line_facts r = *this;
    r.kept_one = one;
    r.kept_other = other;
    r.kept_third = third;
    r.kept_fourth = fourth;
    return r;
  }
  /// Tensors of f8e4m3.
  constexpr line_facts encodes(std::string_view one, std::string_view other) const {
    line_facts r = *this;
    r.encoded_one = one;
    r.encoded_other = other;
    return r;
  }
  /// Tensors that are written, although the schema does not say so.
  constexpr line_facts updates(std::string_view one, std::string_view other) const {
    line_facts r = *this;
    r.updated_one = one;
    r.updated_other = other;
    return r;
  }
  /// What MemoryFormat? None means.
  constexpr line_facts none_is(memory_format format) const {
    line_facts r = *this;
    r.format_of_none = format;
    return r;
  }
  /// Another name of the same operator.
  constexpr line_facts also(std::string_view name) const {
    line_facts r = *this;
    for (std::string_view& one : r.other_names)
      if (one.empty()) {
        one = name;
        return r;
      }
    detail::raise_schema("at most four other names", name);
  }
};
/// A line with words: line("schema").promotes().
constexpr line_facts line(const char* schema) { return {schema}; }

/// A line without a choice. A choice has `parameter`, the name of one that it passes to the
/// operator in one of several types: choose<T, Dtypes>(argument, f) calls f with that; example<T,
/// Device> is one of the types.
struct no_choice {
  static constexpr std::string_view parameter{};
};

// ---- the schemas of a line's forms

/// Whether an operator of this name may have an in-place form: ATen has none of these, and a name
/// of its own must not mean more.
constexpr bool may_be_in_place(std::string_view name) {
  for (const std::string_view none :
       {"hardshrink", "softshrink", "softplus", "log_sigmoid", "signbit"})
    if (name == none) return false;
  return !name.starts_with("special_");
}

struct schema_text {
  char data[1200] = {};
  int size = 0;
  constexpr void put(std::string_view s) {
    for (const char c : s) {
      if (size == 1200) detail::raise_schema("at most 1200 characters", s);
      data[size++] = c;
    }
  }
  [[nodiscard]] constexpr std::string_view view() const {
    return {data, static_cast<std::size_t>(size)};
  }
};

/// The schema of a form under a name (of `other_names`; -1: its own).
constexpr schema_text text_of(const line_facts& line, form which, int alias) {
  const auto parsed = parse_schema(line.text);
  const schema s = parsed.view();
  schema_text r;
  if (!s.space.empty()) r.put(s.space), r.put("::");
  r.put(alias < 0 ? s.name : line.other_names[alias]);
  if (which == form::in_place) r.put("_");
  const auto open = detail::place_of(line.text, "("), arrow = detail::place_of(line.text, ") -> ");
  const std::string_view list = line.text.substr(open + 1, arrow - open - 1);
  if (which == form::out) {
    r.put(".");
    if (!line.out_overload.empty())
      r.put(line.out_overload);
    else if (s.overload.empty())
      r.put("out");
    else
      r.put(s.overload), r.put("_out");
  } else {
    const bool other = which == form::in_place && !line.in_place_overload.empty();
    const std::string_view overload = other ? line.in_place_overload : s.overload;
    if (!overload.empty()) r.put("."), r.put(overload);
  }
  r.put("(");
  if (which == form::functional) {
    r.put(list), r.put(line.text.substr(arrow));
  } else if (which == form::in_place) {
    if (!list.starts_with("Tensor "))
      detail::raise_schema("a Tensor first, for the in-place form", list);
    r.put("Tensor(a!)"), r.put(list.substr(6)), r.put(") -> Tensor(a!)");
  } else {
    r.put(list);
    const bool keyword = !s.parameters.empty() && s.parameters.back().keyword_only;
    if (!list.empty()) r.put(", ");
    if (!keyword) r.put("*, ");
    const auto put_alias = [&](std::size_t k) {
      const char alias_text[] = {'T', 'e', 'n', 's', 'o', 'r', '(', static_cast<char>('a' + k),
                                 '!', ')'};
      r.put(std::string_view(alias_text, sizeof alias_text));
    };
    for (std::size_t k = 0; k < s.results.size(); ++k) {
      if (k != 0) r.put(", ");
      put_alias(k), r.put(" ");
      if (!s.results[k].name.empty())
        r.put(s.results[k].name);
      else if (s.results.size() == 1 || (k == 0 && !line.second_output.empty()))
        r.put(line.output_name);
      else if (k == 1 && !line.second_output.empty())
        r.put(line.second_output);
      else {
        const char number[] = {'o', 'u', 't', static_cast<char>('0' + k)};
        r.put(std::string_view(number, 4));
      }
    }
    r.put(s.results.size() == 1 ? ") -> " : ") -> (");
    for (std::size_t k = 0; k < s.results.size(); ++k) {
      if (k != 0) r.put(", ");
      put_alias(k);
      if (!s.results[k].name.empty()) r.put(" "), r.put(s.results[k].name);
    }
    if (s.results.size() != 1) r.put(")");
  }
  return r;
}

/// The parts of a schema in arrays that are exactly as long.
template <int Parameters, int Results>
struct exact_parts {
  std::string_view space, name, overload;
  std::array<parameter, static_cast<std::size_t>(Parameters)> parameters{};
  std::array<schema_result, static_cast<std::size_t>(Results)> results{};

  constexpr explicit exact_parts(const detail::parsed_schema& all)
      : space(all.space), name(all.name), overload(all.overload) {
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = all.parameters[i];
    for (std::size_t i = 0; i < results.size(); ++i) results[i] = all.results[i];
  }
};

/// The schema of a line's form as a constant.
template <class Line, form Form, int Alias>
struct schema_of {
  static constexpr schema_text text = text_of(Line::facts(), Form, Alias);
  static constexpr int parameters = parse_schema(text.view()).parameter_count;
  static constexpr int results = parse_schema(text.view()).result_count;
  static constexpr exact_parts<parameters, results> parts{parse_schema(text.view())};
  static constexpr schema value{text.view(),    parts.space,      parts.name,
                                parts.overload, parts.parameters, parts.results};
};

// ---- what a parameter is to the typed operator

/// Hints, which change no result of ours (sorts are stable, copies new), and what types say
/// already.
constexpr bool is_hint(std::string_view name) {
  for (const std::string_view hint :
       {"cudnn_enable", "cudnn_enabled", "non_blocking", "copy", "pin_memory", "layout", "device",
        "stable", "deterministic", "scheduler_metadata", "num_splits", "cp_rank",
        "return_softmax_lse", "rng_state", "unused"})
    if (name == hint) return true;
  return false;
}
/// What the typed operators do not have, or say by a type: only False is taken.
constexpr bool must_be_false(std::string_view name) {
  return name == "half_to_float" || name == "out_int32";
}

constexpr role role_of(const line_facts& line, std::string_view choice, const parameter& p) {
  if (p.kind != parameter_kind::tensor && p.kind != parameter_kind::tensors) return role::no_tensor;
  if (p.name == "rng_state" || p.name == "unused") return role::no_tensor;  // not read
  if (p.name == choice) return role::choice;
  if (p.name == line.sized_by) return role::sizes;
  if (p.name == line.kept_one || p.name == line.kept_other || p.name == line.kept_third ||
      p.name == line.kept_fourth)
    return role::kept;
  if (p.name == line.encoded_one || p.name == line.encoded_other) return role::encoded;
  for (const std::string_view index :
       {"index", "indices", "position_ids", "target", "repeats", "slot_mapping", "topk_indices",
        "token_expert_indices", "input_ids", "tid2eid", "sorter", "lengths", "seq_lens",
        "row_starts", "row_ends", "offsets"})
    if (p.name == index && !(index == "target" && line.has_values_as_target)) return role::index;
  for (const std::string_view length :
       {"cu_seqlens_q", "cu_seqlens_k", "cum_seq_q", "cum_seq_k", "seqused_k", "block_table",
        "scheduler_metadata", "cp_tot_seqused_k", "growth_tracker", "zero_point"})
    if (p.name == length) return role::length;
  for (const std::string_view mask :
       {"condition", "mask", "dropout_mask", "prompt_mask", "output_mask"})
    if (p.name == mask) return role::condition;
  return role::element;
}

constexpr u32 accepted(const parameter& p) {
  using enum boxed_kind;
  const auto bit = [](boxed_kind k) { return 1u << static_cast<unsigned>(k); };
  const u32 absent = p.optional ? bit(none) : 0u;
  switch (p.kind) {
    case parameter_kind::tensor: return absent | bit(tensor);
    case parameter_kind::tensors: return absent | bit(tensors);
    case parameter_kind::integer: return absent | bit(integer);
    case parameter_kind::floating: return absent | bit(floating) | bit(integer);
    case parameter_kind::boolean: return absent | bit(boolean);
    case parameter_kind::scalar: return absent | bit(integer) | bit(floating) | bit(boolean);
    case parameter_kind::integers: return absent | bit(integers) | bit(integer);
    case parameter_kind::numbers: return absent | bit(numbers);
    case parameter_kind::booleans: return absent | bit(booleans);
    case parameter_kind::dtype: return absent | bit(dtype);
    case parameter_kind::string: return absent | bit(string);
    case parameter_kind::generator: return absent | bit(generator);
    case parameter_kind::memory_format: return absent | bit(memory_format);
    case parameter_kind::unsupported: return absent;
  }
  return 0;
}

/// Text as an argument; if it is the name of an enumerator, it converts to the enumeration that the
/// operator takes, by `E spelled(std::string_view, std::type_identity<E>)`, found by E.
struct text_argument {
  std::string_view text;
  template <class E>
  requires std::is_enum_v<E>
  operator E() const { return spelled(text, std::type_identity<E>{}); }
  operator std::string_view() const { return text; }
};

/// The last arguments of an operator that takes them as an options struct: its members in order, or
/// what `T options_of(std::type_identity<T>, ...)`, found by T, makes of them.
template <class... A>
struct braced {
  std::tuple<A...> members;
  template <class T>
  requires std::is_aggregate_v<T>
  operator T() const {
    return std::apply(
        [](const A&... a) {
          if constexpr (requires { options_of(std::type_identity<T>{}, a...); })
            return options_of(std::type_identity<T>{}, a...);
          else
            return T{a...};
        },
        members);
  }
};

template <role Role, class T>
struct role_element {
  using type = T;
};
template <class T>
struct role_element<role::index, T> {
  using type = i64;
};
template <class T>
struct role_element<role::length, T> {
  using type = i32;
};
template <class T>
struct role_element<role::condition, T> {
  using type = bool;
};
template <class T>
struct role_element<role::kept, T> {
  using type = std::conditional_t<std::is_same_v<T, f64>, f64, f32>;
};
template <class T>
struct role_element<role::encoded, T> {
  using type = f8e4m3;
};
template <role Role, class T>
using element_of_role = typename role_element<Role, T>::type;

/// The views of a list of tensors.
template <class E, class D>
std::vector<tensor_view<E, D>> views_of(const boxed<D>& v) {
  std::vector<tensor_view<E, D>> list;
  list.reserve(v.views().size());
  for (const any_view<D>& x : v.views()) list.push_back(x.template as<E>());
  return list;
}
/// A view whose elements are not read, as one of any element type.
template <class E, class D>
tensor_view<const E, D> sizes_of(const any_view<D>& x) {
  return {detail::unchecked_t{}, static_cast<const E*>(x.data()), shape(x.sizes()),
          shape(x.strides())};
}

}  // namespace flaggems::bindings
