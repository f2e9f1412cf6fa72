// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a row program, found before kernels are made of it: their messages would fill
// pages. A program whose `run` is constexpr runs on a row that has types but no elements.
#pragma once

#include <flaggems/kernel/family/row/contract.hpp>

#include <type_traits>

namespace flaggems::kernels {
struct isa_baseline;
template <class T, class Isa>
struct simd;  // complete where kernels are compiled for the host
}  // namespace flaggems::kernels

namespace flaggems::detail {

/// The first call of a row program whose function, or index, does not suit the operands.
enum class row_fault { none, sum, weighted_sum, update, each, number, store, index };

/// A value of type V for each row, named but not computed; and what functions of elements get of
/// it.
template <class V>
struct row_value {
  using of_row = V;
};
template <class C, class Isa>
struct row_value<kernels::simd<C, Isa>> {
  using of_row = C;
};
template <class C, class Isa, int Count>
struct row_value<kernels::sums<kernels::simd<C, Isa>, Count>> {
  using of_row = kernels::sums<C, Count>;
};
/// Where a parameter would be.
struct some_parameter {
  [[nodiscard]] bool exists() const;
  template <class V>
  [[nodiscard]] V load(int) const;
};

template <class... A>
struct row_arguments {};
template <class V, int>
using element_in_row = V;
template <class V, int>
using parameter_in_row = kernels::optional_parameter<some_parameter, int, V>;
/// Elements V of inputs and of parameters, then what comes of values X...
template <class V, class Inputs, class Params, class... X>
struct arguments_along;
template <class V, int... Input, int... K, class... X>
struct arguments_along<V, kernels::int_sequence<Input...>, kernels::int_sequence<K...>, X...> {
  using type = row_arguments<element_in_row<V, Input>..., parameter_in_row<V, K>...,
                             typename row_value<X>::of_row...>;
};
/// What f gives, or no_value where it does not take A...
struct no_value {};
template <class F, class... A>
FLAGGEMS_HD constexpr auto value_given(const F&, row_arguments<A...>) {
  if constexpr (requires(const F& f, const A&... a) { f(a...); })
    return row_value<
        std::remove_cvref_t<decltype(std::declval<const F&>()(std::declval<const A&>()...))>>();
  else
    return no_value();
}

/// In the place of the rows that kernels give a program: elements are of type V, and there are as
/// many operands. (Their types would make messages long.) The first fault is put into `found`.
template <class Program, class V, int Inputs, int Outputs, int Params, int Results,
          class... Numbers>
class checked_row {
  using C = typename Program::compute;
  using M = typename Program::terms;
  static constexpr int numbers = static_cast<int>(sizeof...(Numbers));
  using none = kernels::int_sequence<>;
  using first = kernels::int_sequence<0>;
  using inputs = kernels::make_int_sequence<Inputs>;
  using params = kernels::make_int_sequence<Params>;
  template <class Elements, class Optional, class... X>
  using along = typename arguments_along<V, Elements, Optional, X...>::type;

 public:
  FLAGGEMS_HD constexpr explicit checked_row(row_fault& found) : fault_(&found) {}

  FLAGGEMS_HD constexpr C part() const { return C(1); }
  FLAGGEMS_HD constexpr i64 length() const { return 1; }
  FLAGGEMS_HD constexpr row_value<V> pivot() const { return {}; }
  template <class Terms>
  FLAGGEMS_HD constexpr auto reduce() const {
    if constexpr (M::pivot_kind == kernels::pivots::partial)
      return row_value<kernels::pivoted_sum<V>>();
    else
      return row_value<typename M::template state<V>>();
  }
  template <class F, class... X>
  FLAGGEMS_HD constexpr auto sum(const F& f, row_value<X>...) const {
    return summed(row_fault::sum, value_given(f, along<inputs, none, X...>()));
  }
  template <class F, class... X>
  FLAGGEMS_HD constexpr auto weighted_sum(const F& f, row_value<X>...) const {
    return summed(row_fault::weighted_sum, value_given(f, along<inputs, params, X...>()));
  }
  template <class F, class G>
  FLAGGEMS_HD constexpr row_value<V> update(const F& f, const G& g) const {
    summed(row_fault::update, value_given(f, along<inputs, none>()));
    return summed(row_fault::update, value_given(g, along<first, none>()));
  }
  template <class F, class... X>
  FLAGGEMS_HD constexpr auto each(const F& f, row_value<X>...) const {
    return given(row_fault::each, value_given(f, row_arguments<X...>()));
  }
  template <int K, class F>
  FLAGGEMS_HD constexpr auto number(const F& f) const {
    if constexpr (K < numbers) {
      using list = kernels::operands<Numbers...>;
      using T = std::remove_cvref_t<decltype(kernels::operand<K>(std::declval<list>()))>;
      given(row_fault::number, value_given(f, row_arguments<T>()));
    } else {
      note(row_fault::index);
    }
    return row_value<V>();
  }
  template <int K>
  FLAGGEMS_HD constexpr row_value<V> at() const {
    if (K >= numbers) note(row_fault::index);
    return {};
  }
  template <int K, class F, class... X>
  FLAGGEMS_HD constexpr void store(const F& f, row_value<X>...) const {
    if (K >= Outputs) note(row_fault::index);
    using terms = std::conditional_t<Program::traits.has_updates, first, inputs>;
    summed(row_fault::store, value_given(f, along<terms, params, X...>()));
  }
  template <int K, class X>
  FLAGGEMS_HD constexpr void put(row_value<X>) const {
    if (K >= Results) note(row_fault::index);
  }

 private:
  FLAGGEMS_HD constexpr void note(row_fault what) const {
    if (*fault_ == row_fault::none) *fault_ = what;
  }
  template <class R>
  FLAGGEMS_HD constexpr auto given(row_fault what, R result) const {
    if constexpr (std::is_same_v<R, no_value>) {
      note(what);
      return row_value<V>();
    } else {
      return result;
    }
  }
  /// A sum of what a function gave: of numbers, or of several.
  template <class R>
  FLAGGEMS_HD constexpr row_value<V> summed(row_fault what, row_value<R>) const {
    if (!std::is_convertible_v<R, V>) note(what);
    return {};
  }
  template <class R, int Count>
  FLAGGEMS_HD constexpr row_value<kernels::sums<V, Count>> summed(
      row_fault, row_value<kernels::sums<R, Count>>) const {
    return {};
  }
  FLAGGEMS_HD constexpr row_value<V> summed(row_fault what, no_value) const {
    note(what);
    return {};
  }
  row_fault* fault_;  // not a member: a program may take its row by const&
};

template <class Row, class Program>
constexpr row_fault fault_of_row_program() {
  row_fault fault = row_fault::none;
  Row row(fault);
  Program{}.run(row);
  return fault;
}
template <class Row, class Program>
concept checks_row_program = std::is_default_constructible_v<Program> && requires {
  typename std::integral_constant<row_fault, fault_of_row_program<Row, Program>()>;
};

template <class Program, class V, class Operands>
struct checked_row_of;
template <class Program, class V, class... In, class... Out, class... W, class... Numbers,
          class... Results>
struct checked_row_of<
    Program, V,
    kernels::row_operands<kernels::operands<In...>, kernels::operands<Out...>,
                          kernels::operands<W...>, kernels::operands<kernels::row_arg<Numbers>...>,
                          kernels::operands<Results...>>> {
  using type = checked_row<Program, V, sizeof...(In), sizeof...(Out), sizeof...(W),
                           sizeof...(Results), Numbers...>;
};

/// Says what is wrong with a row program whose `run` is constexpr; gives whether nothing is.
template <class Row, class Program>
constexpr bool check_row_program() {
  if constexpr (checks_row_program<Row, Program>) {
    constexpr row_fault fault = fault_of_row_program<Row, Program>();
    static_assert(fault != row_fault::sum,
                  "flaggems: the function of a row program's sum(f, x...) takes an element of each "
                  "input, then x..., and gives a number or sums");
    static_assert(
        fault != row_fault::weighted_sum,
        "flaggems: the function of a row program's weighted_sum(f, x...) takes an element "
        "of each input and of each parameter, then x..., and gives a number or sums");
    static_assert(
        fault != row_fault::update,
        "flaggems: of a row program's update(f, g), f takes an element of each input, and "
        "g what f gave");
    static_assert(fault != row_fault::each,
                  "flaggems: the function of a row program's each(f, x...) takes x...");
    static_assert(
        fault != row_fault::number,
        "flaggems: the function of a row program's number<K>(f) takes the row's number K");
    static_assert(fault != row_fault::store,
                  "flaggems: the function of a row program's store<K>(f, x...) takes an element of "
                  "each input and of each parameter, then x..., and gives the element of output K");
    static_assert(fault != row_fault::index,
                  "flaggems: a row program names an output, number or result that row_operands_of "
                  "does not give it");
    return fault == row_fault::none;
  } else {
    return true;
  }
}

/// What elements are for a row program on a device.
template <class C, bool Vectors>
struct row_element {
  using type = C;
};
template <class C>
requires std::is_arithmetic_v<C>
struct row_element<C, true> {
  using type = kernels::simd<C, kernels::isa_baseline>;
};

}  // namespace flaggems::detail
