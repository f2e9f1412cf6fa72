// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands: a list of values of different types, as kernels take them.
#pragma once

#include <flaggems/kernel/lang/prelude.hpp>

namespace flaggems::kernels {

template <int K, class T>
struct operand_item {
  T value;
};
template <class Indices, class... T>
struct operand_items;
template <int... K, class... T>
struct operand_items<int_sequence<K...>, T...> : operand_item<K, T>... {};

template <class... T>
struct operands : operand_items<typename make_int_sequence_type<sizeof...(T)>::type, T...> {
  static constexpr int count = sizeof...(T);
};

template <class... T>
FLAGGEMS_INLINE operands<T...> make_operands(const T&... x) {
  return {{{x}...}};
}
/// Operand K of a list.
template <int K, class T>
FLAGGEMS_INLINE const T& operand(const operand_item<K, T>& item) {
  return item.value;
}
template <int K, class T>
FLAGGEMS_INLINE T& operand(operand_item<K, T>& item) {
  return item.value;
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/lang/operands.hpp");
