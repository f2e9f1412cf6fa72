// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Every operator with every element type that it takes, called for flaggems::cuda. Programs of this
// folder name the kernels of such calls, which run.py compiles (`contract`); they are not linked.
// CONTRACT_PART of CONTRACT_PARTS is a share of a file's types, so of its kernels.
#pragma once

#include <flaggems/tensor/dtype.hpp>
#include <flaggems/vendors/cuda.hpp>

#include <utility>

#ifndef CONTRACT_PARTS
#define CONTRACT_PARTS 1
#define CONTRACT_PART 0
#endif

namespace contract {

namespace fg = flaggems;
using fg::bf16, fg::f16, fg::f32, fg::f64, fg::f8e4m3, fg::f8e5m2;
using fg::i16, fg::i32, fg::i64, fg::i8, fg::u16, fg::u32, fg::u64, fg::u8;

// ---- types
template <class... Ts>
using types = fg::type_list<Ts...>;
using floats = types<f32, bf16, f64, f16, f8e4m3, f8e5m2>;
using integers = types<i64, u8, i32, i8, i16, u16, u32, u64>;
template <class A, class B>
struct pair;

template <class... Lists>
struct joined;
template <class... Ts>
struct joined<types<Ts...>> {
  using type = types<Ts...>;
};
template <class... Ts, class... Us, class... Lists>
struct joined<types<Ts...>, types<Us...>, Lists...> : joined<types<Ts..., Us...>, Lists...> {};
/// Lists behind each other.
template <class... Lists>
using join = typename joined<Lists...>::type;

template <class List, class More>
struct crossed;
template <class... Ts, class... Us>
struct crossed<types<Ts...>, types<Us...>> {
  template <class T>
  using beside = types<pair<T, Us>...>;
  using type = join<types<>, beside<Ts>...>;
};
/// Each type with each of another list.
template <class List, class More>
using cross = typename crossed<List, More>::type;

template <class List>
struct doubled;
template <class... Ts>
struct doubled<types<Ts...>> {
  using type = types<pair<Ts, Ts>...>;
};
/// Each type with itself.
template <class List>
using twice = typename doubled<List>::type;

using numbers = join<integers, floats>;
using real = join<numbers, types<bool>>;
/// The mixed pairs that matter: of several kinds, of 8 bytes with 1, of 16 bits with 32, and those
/// whose common type is neither.
using mixed = join<cross<types<bool>, types<i64, f64, f32, bf16, i8>>,
                   cross<types<i64>, types<i8, i16, i32, u8, bool>>,
                   cross<types<f32>, types<f16, bf16, f64, i64, u16>>,
                   types<pair<u8, i8>, pair<f16, bf16>, pair<bf16, i64>>>;
using index_types = types<i64, i32>;

/// Whether two tensors are of one type.
template <class A, class B>
inline constexpr bool is_one = std::is_same_v<A, B>;

// ---- calls
/// What calls are given; none of them runs.
extern const fg::stream<fg::cuda>& s;
template <class T>
const fg::tensor_view<T, fg::cuda>& some();

template <class T>
struct call_with {
  template <class F>
  static void run(F f) {
    f(some<T>());
  }
};
template <class A, class B>
struct call_with<pair<A, B>> {
  template <class F>
  static void run(F f) {
    f(some<A>(), some<B>());
  }
};

template <class... Ts, class F, std::size_t... N>
void each_of(types<Ts...>, F f, std::index_sequence<N...>) {
  const auto run = [&]<class T, std::size_t Number>() {
    if constexpr (Number % CONTRACT_PARTS == CONTRACT_PART) call_with<T>::run(f);
  };
  (run.template operator()<Ts, N>(), ...);
}
/// f(x) for a tensor of each type of a list, f(a, b) for those of a pair.
template <class... Ts, class F>
void each(types<Ts...> list, F f) {
  each_of(list, f, std::index_sequence_for<Ts...>());
}

}  // namespace contract
