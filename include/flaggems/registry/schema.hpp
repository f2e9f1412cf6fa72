// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operator schemas as ATen writes them, parsed by constant expressions:
//   [namespace::]name[.overload](type name[=default], ..., *, ...) -> type
// A malformed schema raises, which in a constant expression does not compile.
#pragma once

#include <flaggems/error.hpp>
#include <flaggems/kernel/lang/number.hpp>
#include <flaggems/tensor/dtype.hpp>
#include <flaggems/tensor/memory_format.hpp>

#include <span>
#include <string_view>

namespace flaggems {

/// What an argument of a boxed call is.
enum class boxed_kind : u8 {
  unset,  ///< left out: the parameter's default
  none,   ///< None, for an optional parameter
  tensor,
  tensors,
  integer,
  floating,
  boolean,
  integers,
  numbers,
  booleans,
  dtype,
  string,
  generator,
  memory_format,
  complex_number
};

/// What a parameter of a schema takes.
enum class parameter_kind : u8 {
  tensor,
  tensors,
  integer,
  floating,
  boolean,
  scalar,  ///< Scalar: a number or bool
  integers,
  numbers,
  booleans,
  dtype,
  string,
  generator,
  memory_format,
  unsupported  ///< Layout and Device: None alone is taken
};

/// A default value.
struct default_value {
  boxed_kind kind = boxed_kind::unset;
  i64 integer = 0;   // also bool, a dtype, a memory format, and the single element of a list
  i64 list[4] = {};  // of integers
  int count = 0;
  f64 number = 0;
  std::string_view text{};
};

/// A parameter of a schema.
struct parameter {
  std::string_view name, type;
  parameter_kind kind = parameter_kind::tensor;
  bool optional = false;      ///< type?
  bool keyword_only = false;  ///< after *
  bool written = false;       ///< Tensor(a!)
  default_value value;
};

/// A result of a schema: a tensor, an integer, a list of tensors, or a bool. One that is written is
/// an argument.
struct schema_result {
  std::string_view name, type;
  parameter_kind kind = parameter_kind::tensor;
  bool written = false;
  bool is_view = false;  ///< Tensor(a): it has the memory of an argument
};

namespace detail {
/// Where `part` begins in `whole`, from a place on. (std::string_view::find is no constant under
/// g++'s sanitizers.)
constexpr std::size_t place_of(std::string_view whole, std::string_view part,
                               std::size_t from = 0) {
  for (std::size_t at = from; at + part.size() <= whole.size(); ++at) {
    std::size_t k = 0;
    while (k < part.size() && whole[at + k] == part[k]) ++k;
    if (k == part.size()) return at;
  }
  return std::string_view::npos;
}
}  // namespace detail

/// A schema. It refers to its text and to its storage, which must live as long.
struct schema {
  std::string_view text;
  std::string_view space;  ///< the namespace; empty is aten
  std::string_view name, overload;
  std::span<const parameter> parameters;
  std::span<const schema_result> results;

  /// "name.overload", after "space::" if it is not aten: what it is found by.
  [[nodiscard]] constexpr std::string_view key() const {
    return text.substr(0, detail::place_of(text, "("));
  }
  /// The place of a parameter; -1 if there is none of this name.
  [[nodiscard]] constexpr int find(std::string_view parameter_name) const {
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].name == parameter_name) return static_cast<int>(i);
    return -1;
  }
  /// Whether the results are new tensors and arguments, and no views, integers, list or bool.
  [[nodiscard]] constexpr bool gives_tensors() const {
    for (const schema_result& r : results)
      if (r.is_view || r.kind != parameter_kind::tensor) return false;
    return true;
  }
  /// How many results are no arguments.
  [[nodiscard]] constexpr int new_results() const {
    int n = 0;
    for (const schema_result& r : results) n += r.written ? 0 : 1;
    return n;
  }
};

namespace detail {

inline constexpr int max_parameters = 32, max_results = 9;

[[noreturn]] FLAGGEMS_COLD inline void raise_schema(const char* expected, std::string_view got) {
  raise(errc::invalid_argument, "schema", expected, got);
}

/// A schema and the memory of its parts.
struct parsed_schema {
  std::string_view text, space, name, overload;
  parameter parameters[max_parameters];
  schema_result results[max_results];
  int parameter_count = 0, result_count = 0;

  [[nodiscard]] constexpr schema view() const {
    return {text,
            space,
            name,
            overload,
            std::span<const parameter>(parameters, static_cast<std::size_t>(parameter_count)),
            std::span<const schema_result>(results, static_cast<std::size_t>(result_count))};
  }
};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}
constexpr std::string_view identifier(std::string_view s, const char* expected) {
  bool right = !s.empty() && !is_digit(s.front());
  for (const char c : s) right = right && (is_letter(c) || is_digit(c));
  if (!right) raise_schema(expected, s);
  return s;
}

/// A decimal number whose digits are an integer of f64, with a small exponent, which one product
/// rounds right.
constexpr f64 decimal_number(std::string_view s) {
  const std::string_view whole = s;
  const bool negative = !s.empty() && s.front() == '-';
  if (negative) s.remove_prefix(1);
  f64 digits = 0;
  int scale = 0, count = 0;
  bool point = false;
  while (!s.empty() && (is_digit(s.front()) || (s.front() == '.' && !point))) {
    if (s.front() == '.') {
      point = true;
    } else {
      digits = digits * 10 + (s.front() - '0');
      scale -= point ? 1 : 0;
      ++count;
    }
    s.remove_prefix(1);
  }
  if (!s.empty() && s.front() == 'e') {
    s.remove_prefix(1);
    const bool down = !s.empty() && s.front() == '-';
    if (!s.empty() && (s.front() == '-' || s.front() == '+')) s.remove_prefix(1);
    int exponent = s.empty() ? 1000 : 0;
    while (!s.empty() && is_digit(s.front()) && exponent < 1000) {
      exponent = exponent * 10 + (s.front() - '0');
      s.remove_prefix(1);
    }
    scale += down ? -exponent : exponent;
  }
  if (!s.empty() || count == 0 || digits >= 9007199254740992.0 || scale > 22 || scale < -22)
    raise_schema("a number of at most 15 digits, or 16 below 2^53", whole);
  f64 power = 1;
  for (int k = 0; k < (scale < 0 ? -scale : scale); ++k) power *= 10;
  const f64 value = scale < 0 ? digits / power : digits * power;
  return negative ? -value : value;
}

constexpr parameter_kind kind_of_type(std::string_view base, bool list) {
  struct entry {
    const char* name;
    parameter_kind one, many;
  };
  using enum parameter_kind;
  constexpr entry types[] = {
      {"Tensor", tensor, tensors},           {"int", integer, integers},
      {"SymInt", integer, integers},         {"float", floating, numbers},
      {"bool", boolean, booleans},           {"Scalar", scalar, unsupported},
      {"ScalarType", dtype, unsupported},    {"str", string, unsupported},
      {"Generator", generator, unsupported}, {"MemoryFormat", memory_format, unsupported},
      {"Layout", unsupported, unsupported},  {"Device", unsupported, unsupported},
  };
  for (const entry& t : types) {
    if (base != t.name) continue;
    if (list && t.many == unsupported) break;
    return list ? t.many : t.one;
  }
  raise_schema("a type of schemas", base);
}

/// The type `s`: its name, list, alias and optional parts. `(a!)` says that it is written, `(a)`
/// that results are views of it, `(a -> *)` that elements of a list are.
struct parsed_type {
  parameter_kind kind = parameter_kind::tensor;
  bool optional = false, written = false, is_alias = false;
};
constexpr parsed_type type_of_text(std::string_view s) {
  const std::string_view whole = s;
  parsed_type r;
  bool list = false;
  if (s.ends_with('?')) {
    r.optional = true;
    s.remove_suffix(1);
  }
  if (s.ends_with(']')) {
    const auto open = s.rfind('[');
    if (open == std::string_view::npos) raise_schema("[ before ]", whole);
    for (const char c : s.substr(open + 1, s.size() - open - 2))
      if (!is_digit(c)) raise_schema("a length between [ and ]", whole);
    list = true;
    s = s.substr(0, open);
    if (s == "Tensor?") s.remove_suffix(1);  // elements may be absent
  }
  if (s.ends_with(')')) {
    const auto open = s.rfind('(');
    if (open == std::string_view::npos) raise_schema("( before )", whole);
    const std::string_view alias = s.substr(open + 1, s.size() - open - 2);
    const std::string_view behind = alias.empty() ? alias : alias.substr(1);
    if (alias.empty() || !is_letter(alias.front()) ||
        !(behind.empty() || behind == "!" || behind == " -> *"))
      raise_schema("an alias as (a), (a!) or (a -> *)", whole);
    r.written = behind == "!";
    r.is_alias = !r.written;
    s = s.substr(0, open);
  }
  r.kind = kind_of_type(s, list);
  if (r.written && r.kind != parameter_kind::tensor && r.kind != parameter_kind::tensors)
    raise_schema("a Tensor that is written", whole);
  return r;
}

constexpr default_value default_of_text(std::string_view s, const parameter& p) {
  default_value r;
  r.text = s;
  using enum parameter_kind;
  if (s == "None") {
    if (!p.optional) raise_schema("an optional type for the default None", p.type);
    r.kind = boxed_kind::none;
    return r;
  }
  switch (p.kind) {
    case boolean:
      if (s != "True" && s != "False") raise_schema("True or False", s);
      r.kind = boxed_kind::boolean;
      r.integer = s == "True" ? 1 : 0;
      return r;
    case integer:
    case floating:
    case scalar:
      if (p.kind == scalar && (s == "True" || s == "False")) {
        r.kind = boxed_kind::boolean;
        r.integer = s == "True" ? 1 : 0;
        return r;
      }
      if (p.kind == integer && s == "Mean") {  // the one enumerator of ATen's schemas
        r.kind = boxed_kind::integer;
        r.integer = 1;
        return r;
      }
      r.number = decimal_number(s);
      r.integer = static_cast<i64>(r.number);
      r.kind = s.rfind('.') == std::string_view::npos && s.rfind('e') == std::string_view::npos
                   ? boxed_kind::integer
                   : boxed_kind::floating;
      if (p.kind == integer && r.kind != boxed_kind::integer) raise_schema("an integer", s);
      return r;
    case integers:
      r.kind = boxed_kind::integers;
      if (s.front() == '[' && s.back() == ']') {
        s = s.substr(1, s.size() - 2);
        while (!s.empty()) {
          if (r.count == 4) raise_schema("at most four integers", s);
          const std::size_t comma = place_of(s, ",");
          r.list[r.count++] = static_cast<i64>(decimal_number(trimmed(s.substr(0, comma))));
          s = comma == std::string_view::npos ? std::string_view() : s.substr(comma + 1);
        }
        return r;
      }
      r.number = decimal_number(s);
      r.integer = static_cast<i64>(r.number);
      r.kind = boxed_kind::integer;
      return r;
    case string:
      if (s.size() < 2 || (s.front() != '\'' && s.front() != '"') || s.back() != s.front())
        raise_schema("a string in quotes", s);
      r.text = s.substr(1, s.size() - 2);
      r.kind = boxed_kind::string;
      return r;
    case memory_format:
      r.kind = boxed_kind::memory_format;
      for (const auto format :
           {flaggems::memory_format::contiguous_format, flaggems::memory_format::preserve_format,
            flaggems::memory_format::channels_last, flaggems::memory_format::channels_last_3d}) {
        r.integer = static_cast<i64>(format);
        if (to_string(format) == s) return r;
      }
      raise_schema("the name of a memory format", s);
    case dtype:
      if (s != "long") raise_schema("long, the one default of a ScalarType", s);
      r.kind = boxed_kind::dtype;
      r.integer = static_cast<i64>(flaggems::dtype::i64);
      return r;
    default: raise_schema("no default but None for this type", s);
  }
}

/// Cuts the text before the first ',' that stands outside of brackets and quotes off `list`.
constexpr std::string_view next_item(std::string_view& list) {
  std::size_t end = 0;
  int depth = 0;
  bool quoted = false;
  while (end < list.size() && (list[end] != ',' || depth != 0 || quoted)) {
    const char c = list[end++];
    if (c == '\'' || c == '"') quoted = !quoted;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
  }
  const std::string_view item = trimmed(list.substr(0, end));
  const bool more = end < list.size();
  list = more ? list.substr(end + 1) : std::string_view();
  if (item.empty() || (more && trimmed(list).empty())) raise_schema("something around ','", item);
  return item;
}

constexpr parameter parameter_of_text(std::string_view item, bool keyword_only) {
  parameter p;
  p.keyword_only = keyword_only;
  const auto equals = place_of(item, "=");
  std::string_view given;
  if (equals != std::string_view::npos) {
    given = trimmed(item.substr(equals + 1));
    if (given.empty()) raise_schema("a default after =", item);
    item = trimmed(item.substr(0, equals));
  }
  const auto space = item.rfind(' ');
  if (space == std::string_view::npos) raise_schema("a type and a name", item);
  p.name = identifier(item.substr(space + 1), "the name of a parameter");
  p.type = trimmed(item.substr(0, space));
  const parsed_type type = type_of_text(p.type);
  p.kind = type.kind;
  p.optional = type.optional;
  p.written = type.written;
  if (!given.empty()) p.value = default_of_text(given, p);
  return p;
}

}  // namespace detail

/// The parts of a schema. Raises invalid_argument, which tells what it expected, if it is
/// malformed.
[[nodiscard]] constexpr detail::parsed_schema parse_schema(std::string_view text) {
  using namespace detail;
  parsed_schema r;
  r.text = text;
  const auto open = place_of(text, "(");
  if (open == std::string_view::npos) raise_schema("a name and its parameters in ()", text);
  std::string_view name = text.substr(0, open);
  if (const auto colons = place_of(name, "::"); colons != std::string_view::npos) {
    r.space = identifier(name.substr(0, colons), "a namespace before ::");
    name = name.substr(colons + 2);
  }
  const auto dot = place_of(name, ".");
  r.name = identifier(name.substr(0, dot), "the name of an operator");
  if (dot != std::string_view::npos)
    r.overload = identifier(name.substr(dot + 1), "the name of an overload");

  const auto arrow = place_of(text, ") -> ", open);
  if (arrow == std::string_view::npos) raise_schema("results after ) -> ", text);
  std::string_view list = text.substr(open + 1, arrow - open - 1);
  bool keyword_only = false;
  while (!list.empty()) {
    const std::string_view item = next_item(list);
    if (item == "*") {
      if (keyword_only) raise_schema("one *", text);
      keyword_only = true;
      continue;
    }
    if (r.parameter_count == max_parameters) raise_schema("at most 32 parameters", text);
    const parameter p = parameter_of_text(item, keyword_only);
    for (int i = 0; i < r.parameter_count; ++i)
      if (r.parameters[i].name == p.name) raise_schema("parameters of different names", p.name);
    r.parameters[r.parameter_count++] = p;
  }

  std::string_view results = trimmed(text.substr(arrow + 5));
  if (results.empty()) raise_schema("results after ) -> ", text);
  if (results.front() == '(') {
    if (results.back() != ')') raise_schema(") at the end", results);
    results = results.substr(1, results.size() - 2);
  }
  while (!results.empty()) {
    const std::string_view item = next_item(results);
    if (r.result_count == max_results) raise_schema("at most 9 results", text);
    const auto space = place_of(item, " ");
    using enum parameter_kind;
    schema_result& one = r.results[r.result_count++];
    one.type = item.substr(0, space);
    if (space != std::string_view::npos)
      one.name = identifier(item.substr(space + 1), "the name of a result");
    const parsed_type type = type_of_text(one.type);
    const bool is_alone = type.kind == tensors || type.kind == boolean;
    const bool is_beside = type.kind == integer && r.result_count > 1;
    if ((type.kind != tensor && !is_beside && !is_alone) || type.optional)
      raise_schema("results of type Tensor, Tensor[] or bool, or integers behind tensors", item);
    const parameter_kind first = r.result_count > 1 ? r.results[0].kind : tensor;
    if (r.result_count > 1 && (is_alone || first == tensors || first == boolean))
      raise_schema("a list or a bool as the only result", text);
    one.kind = type.kind;
    one.written = type.written;
    one.is_view = type.is_alias;
  }
  return r;
}

}  // namespace flaggems
