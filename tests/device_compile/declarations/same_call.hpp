// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether a declaration of ours calls a vendor's function as its header does.
#pragma once

#include <flaggems/kernel/lang/prelude.hpp>

#include <type_traits>

namespace flaggems_test {

template <class A, class B>
constexpr bool same_bytes() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B> || std::is_function_v<A>)
    return true;
  else if constexpr (
      !requires { sizeof(A); } || !requires { sizeof(B); })
    return true;  // a type that the vendor keeps to itself
  else
    return sizeof(A) == sizeof(B);
}
/// Whether a value of type A arrives as one of type B in a C call: device addresses are numbers
/// here, and pointers with some.
template <class A, class B>
constexpr bool same_parameter() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>)
    return std::is_same_v<A, B>;
  else if constexpr (std::is_pointer_v<A> != std::is_pointer_v<B>)
    return sizeof(A) == sizeof(B) && (std::is_pointer_v<A> || std::is_same_v<A, flaggems::u64>)&&(
                                         std::is_pointer_v<B> || std::is_same_v<B, flaggems::u64>);
  else if constexpr (std::is_pointer_v<A>)
    return same_bytes<std::remove_pointer_t<A>, std::remove_pointer_t<B>>();
  else
    return std::is_floating_point_v<A> == std::is_floating_point_v<B> && sizeof(A) == sizeof(B);
}
template <class A, class B>
struct same_call : std::false_type {};
template <class R, class... A, class S, class... B>
requires(sizeof...(A) == sizeof...(B)) struct same_call<R (*)(A...), S(B...)>
    : std::bool_constant<same_parameter<R, S>() && (same_parameter<A, B>() && ...)> {
};

}  // namespace flaggems_test
