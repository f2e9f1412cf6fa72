// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a line of the registry says, and what follows from it: the schemas of an operator's forms,
// and what each parameter is to the typed operator.
#pragma once

#include <flaggems/registry/registry.hpp>
#include <flaggems/tensor/dtype.hpp>

#include <array>
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
  std::string_view encoded_one{}, encoded_other{}, updated_one{}, updated_other{}, of_bytes{},
      length_one{}, read_one{};
  dtype encoded_result = dtype::f8e4m3;
  std::string_view output_name = "out", second_output{}, with_dtypes{};
  int outputs_at = -1;
  bool has_out = true, same_outputs = false, has_values_as_target = false, has_bool_results = true;
  memory_format format_of_none = memory_format::contiguous_format;

  constexpr line_facts(const char* schema) : text(schema) {}
  /// These with another value of one.
  template <class V>
  constexpr line_facts with(V line_facts::*one, std::type_identity_t<V> value) const {
    line_facts r = *this;
    r.*one = value;
    return r;
  }

  /// Operands of several dtypes are promoted.
  constexpr line_facts promotes() const { return with(&line_facts::rule, dtype_rule::promoted); }
  /// And integers and bool become f32.
  constexpr line_facts to_float() const { return with(&line_facts::rule, dtype_rule::to_float); }
  /// Operands are promoted; and integers become f32 where this parameter is None.
  constexpr line_facts to_float_without(std::string_view name) const {
    return promotes().with(&line_facts::float_if_none, name);
  }
  /// To be raised when the schema or its meaning changes.
  constexpr line_facts version(int n) const { return with(&line_facts::number, n); }
  /// The overload of the out= form, if it is not the functional one with "_out" behind it.
  constexpr line_facts out(std::string_view name) const {
    return with(&line_facts::out_overload, name);
  }
  /// What the out= form calls its output, or its two outputs.
  constexpr line_facts writes(std::string_view name, std::string_view second = {}) const {
    return with(&line_facts::output_name, name).with(&line_facts::second_output, second);
  }
  /// The overload of the in-place form, if it is not the functional one's.
  constexpr line_facts in_place(std::string_view name) const {
    return with(&line_facts::in_place_overload, name);
  }
  constexpr line_facts without_out() const { return with(&line_facts::has_out, false); }
  /// An output has the result's dtype: ATen refuses others, too.
  constexpr line_facts exact_out() const { return with(&line_facts::same_outputs, true); }
  /// The results' dtype, where it is given, is not bool: ATen refuses it, too.
  constexpr line_facts without_bool_results() const {
    return with(&line_facts::has_bool_results, false);
  }
  /// `target` has the operands' dtype, and no indices.
  constexpr line_facts values_as_target() const {
    return with(&line_facts::has_values_as_target, true);
  }
  /// The typed operator takes its outputs after this many arguments; else after the last tensor.
  constexpr line_facts outputs_after(int n) const { return with(&line_facts::outputs_at, n); }
  /// The parameters from this one on are members of an options struct, in order.
  constexpr line_facts options_from(std::string_view name) const {
    return with(&line_facts::braced_from, name);
  }
  /// Of this tensor only sizes and strides are read, so that its dtype does not matter.
  constexpr line_facts sized_as(std::string_view name) const {
    return with(&line_facts::sized_by, name);
  }
  /// Tensors of the dtype in which norms keep statistics.
  constexpr line_facts keeps(std::string_view one, std::string_view other = {},
                             std::string_view third = {}, std::string_view fourth = {}) const {
    return with(&line_facts::kept_one, one)
        .with(&line_facts::kept_other, other)
        .with(&line_facts::kept_third, third)
        .with(&line_facts::kept_fourth, fourth);
  }
  /// Tensors of f8e4m3, and the result's dtype if none is given.
  constexpr line_facts encodes(std::string_view one, std::string_view other = {},
                               dtype result = dtype::f8e4m3) const {
    return with(&line_facts::encoded_one, one)
        .with(&line_facts::encoded_other, other)
        .with(&line_facts::encoded_result, result);
  }
  /// Tensors of any dtype, by names with spaces between; the operator takes each as an any_view.
  constexpr line_facts takes_any(std::string_view names) const {
    return with(&line_facts::with_dtypes, names);
  }
  /// A tensor of i32, whose name says i64 elsewhere.
  constexpr line_facts counts(std::string_view one) const {
    return with(&line_facts::length_one, one);
  }
  /// What is a hint elsewhere.
  constexpr line_facts reads(std::string_view one) const {
    return with(&line_facts::read_one, one);
  }
  /// A tensor of u8: bytes of a layout of their own.
  constexpr line_facts bytes_in(std::string_view name) const {
    return with(&line_facts::of_bytes, name);
  }
  /// Tensors that are written, although the schema does not say so.
  constexpr line_facts updates(std::string_view one, std::string_view other) const {
    return with(&line_facts::updated_one, one).with(&line_facts::updated_other, other);
  }
  /// What MemoryFormat? None means.
  constexpr line_facts none_is(memory_format format) const {
    return with(&line_facts::format_of_none, format);
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

/// Whether a list of names with spaces between has this one.
constexpr bool has_name(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const auto end = list.find(' ');
    if (list.substr(0, end) == name) return true;
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return false;
}

/// Hints, which change no result of ours (sorts are stable, copies new), and what types say
/// already.
inline constexpr std::string_view hints =
    "cudnn_enable cudnn_enabled non_blocking copy pin_memory layout device stable deterministic "
    "scheduler_metadata num_splits cp_rank return_softmax_lse rng_state unused benchmark "
    "allow_tf32 n_splits num_splits_key tile_scheduler_metadata schedule_metadata philox_seed "
    "philox_offset";
constexpr bool is_hint(std::string_view name) { return has_name(hints, name); }
/// What the typed operators do not have: only False is taken.
constexpr bool must_be_false(std::string_view name) {
  return has_name("half_to_float return_debug_mask shared_storage_dqdkdv return_p_sum", name);
}
/// Where True makes indices of i64 ones of i32: a template argument of the typed operators.
inline constexpr std::string_view narrow_results = "out_int32";

/// Tensors that are not read; those of i64; those of i32; and those of bool.
inline constexpr std::string_view unread_tensors =
    "rng_state unused philox_seed philox_offset tile_scheduler_metadata schedule_metadata "
    "num_splits";
inline constexpr std::string_view index_tensors =
    "index indices position_ids target repeats slot_mapping topk_indices token_expert_indices "
    "input_ids tid2eid sorter lengths seq_lens row_starts row_ends offsets topk_idx_out "
    "crow_indices col_indices observer_on fake_quant_on batch_sizes offset2bag bag_size "
    "maximum_indices targets input_lengths target_lengths cu_seqlens ssm_state_indices "
    "num_accepted_tokens positions axis_map starts ends";
inline constexpr std::string_view length_tensors =
    "cu_seqlens_q cu_seqlens_k cum_seq_q cum_seq_k seqused_k block_table scheduler_metadata "
    "cp_tot_seqused_k growth_tracker zero_point offs x_sf cu_seqlen query_start_loc gather_lens "
    "token_to_req_indices cache_seqlens indices_in_kvcache extra_indices_in_kvcache topk_length "
    "extra_topk_length topk_idxs q_scale cu_seqlen_ks cu_seqlen_ke context_lens block_tables "
    "cu_seqlens_k_new seqused_q leftpad_k pivots LU_pivots";
inline constexpr std::string_view mask_tensors =
    "condition mask dropout_mask prompt_mask output_mask is_valid_token";

constexpr role role_of(const line_facts& line, std::string_view choice, const parameter& p) {
  if (p.kind != parameter_kind::tensor && p.kind != parameter_kind::tensors) return role::no_tensor;
  if (has_name(unread_tensors, p.name)) return role::no_tensor;
  if (p.name == line.length_one) return role::length;
  if (p.name == choice) return role::choice;
  if (has_name(line.with_dtypes, p.name)) return role::any;
  if (p.name == line.sized_by) return role::sizes;
  if (p.name == line.kept_one || p.name == line.kept_other || p.name == line.kept_third ||
      p.name == line.kept_fourth)
    return role::kept;
  if (p.name == line.encoded_one || p.name == line.encoded_other) return role::encoded;
  if (p.name == line.of_bytes) return role::bytes;
  if (has_name(index_tensors, p.name) && !(p.name == "target" && line.has_values_as_target))
    return role::index;
  if (has_name(length_tensors, p.name)) return role::length;
  if (has_name(mask_tensors, p.name)) return role::condition;
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
template <class T>
struct role_element<role::bytes, T> {
  using type = u8;
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
