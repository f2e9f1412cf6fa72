// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Lines of the registry for the rows of a pointwise table: FLAGGEMS_UNARY_LINE and the like give
// the schema that follows from a row, with the other names of a list.
#pragma once

#include <flaggems/ops/nodes.hpp>
#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::bindings {

/// The dtypes that a rule of the tables takes; `to_float` and `to_f64` convert the others.
template <class Rule>
struct types_of_rule {
  using type = operator_families::numeric_types;
};
template <>
struct types_of_rule<flaggems::detail::arithmetic> {
  using type = operator_families::arithmetic_types;
};
template <>
struct types_of_rule<flaggems::detail::to_float> {
  using type = floating_types;
};
template <>
struct types_of_rule<flaggems::detail::floating> {
  using type = floating_types;
};
template <>
struct types_of_rule<flaggems::detail::whole_number> {
  using type = operator_families::whole_types;
};
template <>
struct types_of_rule<flaggems::detail::bits> {
  using type = operator_families::bit_types;
};
template <class Rule>
using row_types = typename types_of_rule<Rule>::type;

/// Another name of an operator.
struct other_name {
  std::string_view other, name;
};
inline constexpr other_name no_names[] = {{}};
#define FLAGGEMS_OTHER_NAME(other, name) {#other, #name},

/// Rows of which ATen has no operator: their names begin with flaggems::.
inline constexpr std::string_view own_rows[] = {"squared_relu"};
constexpr bool is_own(std::string_view row) {
  for (const std::string_view own : own_rows)
    if (own == row) return true;
  return false;
}

/// The line of a row's schema, with its other names; operands are promoted by the row's rule.
template <class Rule, int Operands, class Names>
constexpr line_facts row_line(const char* text, const Names& names) {
  line_facts r(text);
  if constexpr (std::is_same_v<Rule, flaggems::detail::to_float>)
    r = r.to_float();
  else if (Operands > 1)
    r = r.promotes();
  const std::string_view all(text);
  const auto end = all.find_first_of(".(");
  for (const other_name& n : names)
    if (n.name == all.substr(0, end)) r = r.also(n.other);
  return r;
}

/// The lines but the first, which stands before the comma that each row begins with.
template <class... Line>
constexpr auto lines(int, Line... line) {
  return std::tuple(line...);
}

}  // namespace flaggems::bindings

#define FLAGGEMS_ROW_LINE(bind, name, rule, operands, text, names)                  \
  , bind(flaggems::name, ::flaggems::bindings::row_types<::flaggems::detail::rule>, \
         ::flaggems::bindings::row_line<::flaggems::detail::rule, operands>(        \
             ::flaggems::bindings::is_own(#name) ? "flaggems::" text : text, names))
/// name(Tensor self), with an in-place form and without; `names`: an array of other_name.
#define FLAGGEMS_UNARY_LINE(name, rule, names) \
  FLAGGEMS_ROW_LINE(FLAGGEMS_BIND_IN_PLACE, name, rule, 1, #name "(Tensor self) -> Tensor", names)
#define FLAGGEMS_PREDICATE_LINE(name, rule, names) \
  FLAGGEMS_ROW_LINE(FLAGGEMS_BIND, name, rule, 1, #name "(Tensor self) -> Tensor", names)
/// name(Tensor self, Tensor other), without overloads for numbers.
#define FLAGGEMS_BINARY_LINE(name, rule, names)            \
  FLAGGEMS_ROW_LINE(FLAGGEMS_BIND_IN_PLACE, name, rule, 2, \
                    #name "(Tensor self, Tensor other) -> Tensor", names)
/// name.Tensor, and name with a number, whose overload is `scalar`.
#define FLAGGEMS_OVERLOADED_LINE(name, rule, scalar, names)                      \
  FLAGGEMS_ROW_LINE(FLAGGEMS_BIND_IN_PLACE, name, rule, 2,                       \
                    #name ".Tensor(Tensor self, Tensor other) -> Tensor", names) \
  FLAGGEMS_ROW_LINE(FLAGGEMS_BIND_IN_PLACE, name, rule, 2,                       \
                    #name "." #scalar "(Tensor self, Scalar other) -> Tensor", names)
/// name(Tensor self, Scalar option=...), with one option and more, without other names.
#define FLAGGEMS_UNARY1_LINE(name, rule, p, p0, ...)                    \
  FLAGGEMS_ROW_LINE(FLAGGEMS_BIND_IN_PLACE, name, rule, 1,              \
                    #name "(Tensor self, Scalar " #p #p0 ") -> Tensor", \
                    ::flaggems::bindings::no_names)
#define FLAGGEMS_UNARY2_LINE(name, rule, p, p0, q, q0, ...)                                \
  FLAGGEMS_ROW_LINE(FLAGGEMS_BIND_IN_PLACE, name, rule, 1,                                 \
                    #name "(Tensor self, Scalar " #p #p0 ", Scalar " #q #q0 ") -> Tensor", \
                    ::flaggems::bindings::no_names)
#define FLAGGEMS_UNARY3_LINE(name, rule, p, p0, q, q0, r, r0, ...)                             \
  FLAGGEMS_ROW_LINE(FLAGGEMS_BIND_IN_PLACE, name, rule, 1,                                     \
                    #name "(Tensor self, Scalar " #p #p0 ", Scalar " #q #q0 ", Scalar " #r #r0 \
                          ") -> Tensor",                                                       \
                    ::flaggems::bindings::no_names)
