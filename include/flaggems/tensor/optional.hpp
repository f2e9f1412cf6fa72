// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Arguments that may be absent.
#pragma once

#include <flaggems/tensor/view.hpp>

#include <concepts>
#include <optional>
#include <type_traits>

namespace flaggems {

/// A view, an owning tensor, an optional of one, or std::nullopt.
template <class X>
concept optional_tensor = tensor_like<X> ||
    std::is_same_v<std::remove_cvref_t<X>, std::nullopt_t> ||
    requires(const std::remove_cvref_t<X>& x) {
  { x.has_value() } -> std::same_as<bool>;
  requires tensor_like<decltype(*x)>;
};

namespace detail {

template <class X>
constexpr auto optional_parts() {
  if constexpr (tensor_like<const X&>)
    return std::type_identity<tensor_view<const value_t<const X&>, device_t<const X&>>>{};
  else if constexpr (std::is_same_v<X, std::nullopt_t>)
    return std::type_identity<void>{};
  else
    return optional_parts<typename X::value_type>();
}
/// The device of an optional tensor; void for none.
template <class X>
using optional_view_t = typename decltype(optional_parts<std::remove_cvref_t<X>>())::type;

/// The element type of an optional tensor, `Default` for std::nullopt.
template <class X, class Default>
struct optional_element {
  using type = typename optional_view_t<X>::value_type;
};
template <class X, class Default>
requires std::is_void_v<optional_view_t<X>>
struct optional_element<X, Default> {
  using type = Default;
};

/// The view of an optional tensor of element type T on device D, if there is one.
template <class T, class D, class X>
std::optional<tensor_view<const T, D>> optional_view(const X& x) {
  using view = tensor_view<const T, D>;
  if constexpr (tensor_like<const X&> && std::is_convertible_v<const X&, view>)
    return std::optional<view>(std::in_place, x);  // constructed in place
  else if constexpr (tensor_like<const X&>)
    return view(as_view(x));
  else if constexpr (std::is_same_v<X, std::nullopt_t>)
    return std::nullopt;
  else if (x.has_value())
    return optional_view<T, D>(*x);
  else
    return std::nullopt;
}

}  // namespace detail
}  // namespace flaggems
