// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What typed operators return, taken as results of boxed calls.
#pragma once

#include <flaggems/registry/boxed.hpp>
#include <flaggems/tensor/dtype.hpp>

#include <optional>
#include <tuple>
#include <utility>

namespace flaggems::bindings {

/// New memory under strides that an owning tensor has not: with gaps, or elements in one place.
template <class T, class D>
struct strided_memory {
  tensor<T, D> memory;
  tensor_view<T, D> view;  // of it
};
template <class D, class T>
void take(any_tensor<D>* to, strided_memory<T, D>&& x) {
  *to = any_tensor<D>(x.view, std::move(x.memory).release());
}
/// Takes a new result.
template <class D, class T>
void take(any_tensor<D>* to, tensor<T, D>&& x) {
  *to = any_tensor<D>(std::move(x));
}
/// Takes a view of an argument, or what is a view or new.
template <class D>
void take(any_tensor<D>* to, any_view<D>&& x) {
  *to = any_tensor<D>(x);
}
template <class D>
void take(any_tensor<D>* to, any_tensor<D>&& x) {
  *to = std::move(x);
}
/// Takes a list of tensors or views, or a bool.
template <class D, class List>
void take(any_results<D>* to, List&& list) {
  for (auto&& x : list) to->tensors.emplace_back(std::move(x));
}
template <class D>
void take(any_results<D>* to, bool truth) {
  to->truth = truth;
}
template <class D, class R>
requires requires(R& r) { r.values, r.indices; }
void take(any_tensor<D>* to, R&& r) {
  to[0] = any_tensor<D>(std::move(r.values));
  to[1] = any_tensor<D>(std::move(r.indices));
}
template <class D, class A, class B>
void take(any_tensor<D>* to, std::pair<A, B>&& r) {
  to[0] = any_tensor<D>(std::move(r.first));
  to[1] = any_tensor<D>(std::move(r.second));
}
template <class D, class... R>
void take(any_tensor<D>* to, std::tuple<R...>&& r) {
  std::apply([&](auto&... x) { ((*to++ = any_tensor<D>(std::move(x))), ...); }, r);
}

/// Takes results with names, `tie()` of which are all; those that are absent stay empty.
template <class D, class T>
void take_one(any_tensor<D>& to, tensor<T, D>& x) {
  to = any_tensor<D>(std::move(x));
}
template <class D, class T>
void take_one(any_tensor<D>& to, std::optional<tensor<T, D>>& x) {
  to = x ? any_tensor<D>(std::move(*x)) : any_tensor<D>();
}
template <class D, class R>
requires requires(R& r) { r.tie(); }
void take(any_tensor<D>* to, R&& r) {
  std::apply([&](auto&... x) { (take_one(*to++, x), ...); }, r.tie());
}
/// Takes those among which integers are.
template <class D, class X>
void append_one(any_results<D>& to, X& x) {
  if constexpr (std::is_same_v<X, i64>)
    to.integers.push_back(x);
  else
    take_one(to.tensors.emplace_back(), x);
}
template <class D, class R>
requires requires(R& r) { r.tie(); }
void take(any_results<D>* to, R&& r) {
  std::apply([&](auto&... x) { (append_one(*to, x), ...); }, r.tie());
}

template <class R>
struct result_types {
  using list = type_list<>;
};
template <class T, class D>
struct result_types<tensor<T, D>> {
  using list = type_list<T>;
};
template <class T, class D>
struct result_types<strided_memory<T, D>> {
  using list = type_list<T>;
};
template <class R>
requires requires(R& r) { r.values, r.indices; }
struct result_types<R> {
  using list = type_list<value_t<decltype(std::declval<R&>().values)>, i64>;
};
template <class T>
struct tensor_element {
  using type = typename T::value_type;
};
template <class T>
struct tensor_element<std::optional<T>> {
  using type = typename T::value_type;
};
template <>
struct tensor_element<i64> {
  using type = i64;
};
template <class R>
requires requires(R& r) { r.tie(); }
struct result_types<R> {
  template <class... A>
  static type_list<typename tensor_element<A>::type...> elements(const std::tuple<A&...>&);
  using list = decltype(elements(std::declval<R&>().tie()));
};
template <class A, class B>
struct result_types<std::pair<A, B>> {
  using list = type_list<typename A::value_type, typename B::value_type>;
};
template <class... A>
struct result_types<std::tuple<A...>> {
  using list = type_list<typename A::value_type...>;
};

}  // namespace flaggems::bindings
