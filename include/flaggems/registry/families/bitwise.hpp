// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/bitwise.hpp>

#include <flaggems/registry/rows.hpp>

namespace flaggems::operator_families {

/// Operators on the bits of integers.
struct bitwise {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
#define FLAGGEMS_LINE_OF(name, rule, ...) FLAGGEMS_UNARY_LINE(name, rule, bindings::no_names)
// ATen calls the overload of a shift by a number otherwise.
#define FLAGGEMS_SCALAR_OF_bits Scalar
#define FLAGGEMS_SCALAR_OF_whole_number Tensor_Scalar
#define FLAGGEMS_NAMED_LINES(name, rule, scalar) FLAGGEMS_OVERLOADED_LINE(name, rule, scalar, bindings::no_names)
#define FLAGGEMS_LINES_OF(name, rule, ...)                                                                    \
  FLAGGEMS_NAMED_LINES(name, rule, FLAGGEMS_SCALAR_OF_##rule)                                                 \
  , FLAGGEMS_BIND(flaggems::name, bindings::row_types<detail::rule>,                                          \
                  line(#name ".Scalar_Tensor(Scalar self, Tensor other) -> Tensor").promotes())
// What Python calls for a & b and a &= b.
#define FLAGGEMS_PYTHON_LINES(python, name, types)                                                             \
  , FLAGGEMS_BIND(flaggems::name, types, line("__" #python "__.Tensor(Tensor self, Tensor other) -> Tensor").promotes().without_out()) \
  , FLAGGEMS_BIND(flaggems::name, types, line("__" #python "__.Scalar(Tensor self, Scalar other) -> Tensor").promotes().without_out()) \
  , FLAGGEMS_BIND(flaggems::name##_, types, line("__i" #python "__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)").promotes())    \
  , FLAGGEMS_BIND(flaggems::name##_, types, line("__i" #python "__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)").promotes())
    return bindings::lines(0
        FLAGGEMS_BITWISE_TABLE(FLAGGEMS_LINE_OF, FLAGGEMS_LINES_OF)
        FLAGGEMS_PYTHON_LINES(and, bitwise_and, bit_types)
        FLAGGEMS_PYTHON_LINES(or, bitwise_or, bit_types)
        FLAGGEMS_PYTHON_LINES(xor, bitwise_xor, bit_types)
        FLAGGEMS_PYTHON_LINES(lshift, bitwise_left_shift, whole_types)
        FLAGGEMS_PYTHON_LINES(rshift, bitwise_right_shift, whole_types)
#undef FLAGGEMS_LINE_OF
#undef FLAGGEMS_SCALAR_OF_bits
#undef FLAGGEMS_SCALAR_OF_whole_number
#undef FLAGGEMS_NAMED_LINES
#undef FLAGGEMS_LINES_OF
#undef FLAGGEMS_PYTHON_LINES
    );
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
