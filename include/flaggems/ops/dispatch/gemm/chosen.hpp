// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Epilogues of products on SIMT devices without choices: what a kernel would branch by at each
// element, such as the form of gelu, is chosen by the host, and where results have 16 bits, their
// functions are the narrow ones (kernel/math/narrow.hpp).
#pragma once

#include <flaggems/kernel/family/gemm/epilogue.hpp>
#include <flaggems/kernel/family/pointwise/functors.hpp>

#include <type_traits>

namespace flaggems::detail {

/// Whether an epilogue reads only floats of 16 bits besides the product, and computes in f32: as
/// for a pointwise formula, results of 16 bits then need no functions of f32.
template <class E>
inline constexpr bool is_of_small_floats = false;
template <class T>
inline constexpr bool is_of_small_floats<kernels::aux_arg<T, f32>> = kernels::is_small_float<T>;
template <>
inline constexpr bool is_of_small_floats<kernels::product_value<f32>> = true;
template <int Part>
inline constexpr bool is_of_small_floats<kernels::product_half<f32, Part>> = true;
template <class T, class E>
inline constexpr bool is_of_small_floats<kernels::stored_value<T, E>> =
    kernels::is_small_float<T>&& is_of_small_floats<E>;
template <>
inline constexpr bool is_of_small_floats<kernels::literal<f32>> = true;
template <class F, class... E>
inline constexpr bool is_of_small_floats<kernels::node<f32, F, E...>> = (is_of_small_floats<E> &&
                                                                         ...);

/// next(e) with what each functor of e chooses in its place, with `Narrow` the narrow form of that.
template <bool Narrow, class E, class Next>
auto with_chosen(const E& leaf, const Next& next) {
  return next(leaf);
}
template <bool Narrow, class T, class E, class Next>
auto with_chosen(const kernels::stored_value<T, E>& x, const Next& next) {
  return with_chosen<Narrow>(x.e, [&]<class Chosen>(const Chosen& e) {
    kernels::stored_value<T, Chosen> r{e, x.data, {}};
    for (int d = 0; d < max_rank; ++d) r.strides[d] = x.strides[d];
    return next(r);
  });
}
template <bool Narrow, class R, class F, class Next, class... E>
auto with_chosen_functor(const F& f, const Next& next, const E&... e) {
  return with_choice(f, [&](auto chosen) {
    if constexpr (Narrow) {
      const auto narrow = narrow_form(chosen);
      return next(kernels::node<R, std::remove_const_t<decltype(narrow)>, E...>{narrow, e...});
    } else {
      return next(kernels::node<R, decltype(chosen), E...>{chosen, e...});
    }
  });
}
template <bool Narrow, class R, class F, class A, class Next>
auto with_chosen(const kernels::node<R, F, A>& e, const Next& next) {
  return with_chosen<Narrow>(
      e.a, [&](const auto& a) { return with_chosen_functor<Narrow, R>(e.f, next, a); });
}
template <bool Narrow, class R, class F, class A, class B, class Next>
auto with_chosen(const kernels::node<R, F, A, B>& e, const Next& next) {
  return with_chosen<Narrow>(e.a, [&](const auto& a) {
    return with_chosen<Narrow>(
        e.b, [&](const auto& b) { return with_chosen_functor<Narrow, R>(e.f, next, a, b); });
  });
}
template <bool Narrow, class R, class F, class A, class B, class D, class Next>
auto with_chosen(const kernels::node<R, F, A, B, D>& e, const Next& next) {
  return with_chosen<Narrow>(e.a, [&](const auto& a) {
    return with_chosen<Narrow>(e.b, [&](const auto& b) {
      return with_chosen<Narrow>(
          e.d, [&](const auto& d) { return with_chosen_functor<Narrow, R>(e.f, next, a, b, d); });
    });
  });
}

/// next(bias), whose epilogue has no choices left, for results of T.
template <class T, class Bias, class Next>
auto with_chosen_bias(const Bias& bias, const Next& next) {
  return next(bias);
}
template <class T, class E, class Next>
auto with_chosen_bias(const kernels::gemm_epilogue<E>& bias, const Next& next) {
  constexpr bool is_narrow = kernels::is_small_float<T> && is_of_small_floats<E>;
  return with_chosen<is_narrow>(bias.value, [&](const auto& e) {
    return next(kernels::gemm_epilogue<std::remove_cvref_t<decltype(e)>>{e});
  });
}

}  // namespace flaggems::detail
