// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators on the bits of integers: the rows of kernel/family/pointwise/tables/bitwise.hpp in the
// forms of ops/forms.hpp, and the operators of the language on expressions.
#pragma once

#include <flaggems/kernel/family/pointwise/tables/bitwise.hpp>
#include <flaggems/ops/forms.hpp>

namespace flaggems {

namespace operators {
FLAGGEMS_BITWISE_TABLE(FLAGGEMS_NAME, FLAGGEMS_NAME)
}  // namespace operators

FLAGGEMS_BITWISE_TABLE(FLAGGEMS_UNARY, FLAGGEMS_BINARY)

// ---- a & b is bitwise_and(a, b), and so on
#define FLAGGEMS_OPERATOR(symbol, name)                                                        \
  template <operand A, operand B>                                                              \
  requires(tensor_operand<A> || tensor_operand<B>) [[nodiscard]] auto operator symbol(A&& a,   \
                                                                                      B&& b) { \
    return name(std::forward<A>(a), std::forward<B>(b));                                       \
  }
FLAGGEMS_OPERATOR(&, bitwise_and)
FLAGGEMS_OPERATOR(|, bitwise_or)
FLAGGEMS_OPERATOR(^, bitwise_xor)
FLAGGEMS_OPERATOR(<<, bitwise_left_shift)
FLAGGEMS_OPERATOR(>>, bitwise_right_shift)
#undef FLAGGEMS_OPERATOR
template <tensor_operand A>
[[nodiscard]] auto operator~(A&& a) {
  return bitwise_not(std::forward<A>(a));
}

}  // namespace flaggems
