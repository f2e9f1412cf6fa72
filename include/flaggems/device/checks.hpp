// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Compile-time checks of operators' arguments, with messages that name what is wrong.
#pragma once

#include <flaggems/device/stream.hpp>
#include <flaggems/tensor/dtype.hpp>
#include <flaggems/tensor/view.hpp>

#include <type_traits>

namespace flaggems {

namespace detail {

template <class X>
constexpr auto argument_device() {
  using type = std::remove_cvref_t<X>;
  if constexpr (tensor_like<X>)
    return std::type_identity<device_t<X>>{};
  else if constexpr (requires { typename type::device_type; })
    return std::type_identity<typename type::device_type>{};
  else
    return std::type_identity<void>{};  // a number: on any device
}

// Compilers print a failed condition, so its name spells the message:
// stream_on<A>::and_argument_on<K, B>.
template <class A>
struct stream_on {
  template <int K, class B>
  static constexpr bool and_argument_on = std::is_same_v<A, B> || std::is_void_v<B>;
};
template <class A, int K, class B>
constexpr void check_same_device() {
  static_assert(stream_on<A>::template and_argument_on<K, B>,
                "flaggems: stream is on device A but argument K is on device B");
}

template <class A, class... X, int... K>
constexpr void check_same_devices(std::integer_sequence<int, K...>) {
  (check_same_device<A, K + 1, typename decltype(argument_device<X>())::type>(), ...);
}

// Likewise: argument<K, T>::is_one_of<what the operator takes>.
template <int K, class T>
struct argument {
  template <class... Allowed>
  static constexpr bool is_one_of = (std::is_same_v<T, Allowed> || ...);
};
template <class T, int K, class... Allowed>
constexpr bool check_element_type() {
  static_assert(argument<K, T>::template is_one_of<Allowed...>,
                "flaggems: argument K has element type T, which this operator does not take");
  return argument<K, T>::template is_one_of<Allowed...>;
}
template <class X, int K, class... Allowed>
constexpr bool check_element_type(type_list<Allowed...>) {
  if constexpr (tensor_like<X>)
    return check_element_type<value_t<X>, K, Allowed...>();
  else
    return true;
}

}  // namespace detail

/// Does not compile unless every argument with a device is on the stream's device type; numbers
/// have none. Arguments count from 1.
template <stream_like S, class... X>
constexpr void same_device() {
  detail::check_same_devices<device_of<S>, X...>(
      std::make_integer_sequence<int, static_cast<int>(sizeof...(X))>{});
}
/// The same, deduced from the arguments.
template <stream_like S, class... X>
constexpr void same_device(const S&, const X&...) {
  same_device<S, X...>();
}

/// Does not compile unless the element type of X, argument K of an operator, is in the type_list.
/// Returns whether it is: under `if constexpr` a kernel's own errors do not hide the message.
template <class List, int K, class X>
constexpr bool element_type_in() {
  return detail::check_element_type<X, K>(List{});
}

}  // namespace flaggems
