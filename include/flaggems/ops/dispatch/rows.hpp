// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Launches of row programs (kernel/family/row/contract.hpp): in tiles of short rows or in registers
// on SIMT devices, else staged in block-local memory.
#pragma once

#include <flaggems/kernel/family/row/simt/registers.hpp>
#include <flaggems/kernel/family/row/staged.hpp>
#include <flaggems/launch/host_entry.hpp>
#include <flaggems/ops/dispatch/register_rows.hpp>
#include <flaggems/ops/dispatch/short_rows.hpp>
#include <flaggems/ops/plan/row_check.hpp>

#include <limits>

namespace flaggems::detail {

/// Groups of operands, for row_operands_of.
template <class... T>
kernels::operands<kernels::row_arg<T>...> inputs(const kernels::row_arg<T>&... x) {
  return kernels::make_operands(x...);
}
template <class... T>
kernels::operands<kernels::row_target<T>...> outputs(const kernels::row_target<T>&... x) {
  return kernels::make_operands(x...);
}
template <class In, class Out, class Params = kernels::operands<>,
          class Numbers = kernels::operands<>, class Results = kernels::operands<>>
kernels::row_operands<In, Out, Params, Numbers, Results> row_operands_of(
    const In& in, const Out& out, const Params& params = {}, const Numbers& numbers = {},
    const Results& results = {}) {
  return {in, out, params, numbers, results};
}

/// f(each operand along rows...): inputs, outputs and parameters.
template <class Operands, class F>
decltype(auto) with_row_operands(const Operands& all, const F& f) {
  return [&]<int... Input, int... J, int... K>(kernels::int_sequence<Input...>,
                                               kernels::int_sequence<J...>,
                                               kernels::int_sequence<K...>)
      ->decltype(auto) {
    return f(kernels::place_of(all, kernels::operand<Input>(all.in))...,
             kernels::operand<J>(all.out)..., kernels::operand<K>(all.params)...);
  }
  (kernels::make_int_sequence<decltype(all.in)::count>{},
   kernels::make_int_sequence<decltype(all.out)::count>{},
   kernels::make_int_sequence<decltype(all.params)::count>{});
}

/// Whether the elements of an operand's rows are contiguous; what is read by channel asks for
/// nothing, nor does what is absent.
template <class Operand>
bool has_dense_rows(const Operand& x, int outer) {
  return x.data == nullptr || x.strides[outer] == 1;
}
template <class T>
bool has_dense_rows(const kernels::by_channel<T>&, int) {
  return true;
}
template <class T>
bool are_vec_aligned(const kernels::by_channel<T>&, int, i64) {
  return true;
}

/// Whether the rows of two operands begin at multiples of `width` elements together.
template <class A, class B>
bool have_same_offset(const A& a, const B& b, i64 width) {
  const auto first = [](const auto& x) {
    return reinterpret_cast<std::uintptr_t>(x.data) / sizeof(*x.data);
  };
  const auto apart = static_cast<i64>(first(a) - first(b)), more = a.strides[0] - b.strides[0];
  return ((apart | more) & (width - 1)) == 0;
}

/// What the registers of two rows allow, of one input and output and two parameters.
template <class C, class T, class Operands>
inline constexpr bool pairs_rows = false;
template <class C, class T, class O, class W, class X>
inline constexpr bool
    pairs_rows<C, T,
               kernels::row_operands<kernels::operands<kernels::row_arg<T>>,
                                     kernels::operands<kernels::row_target<O>>,
                                     kernels::operands<kernels::row_arg<W>, kernels::row_arg<X>>>> =
        sizeof(T) >= 2 && sizeof(C) == 4 && sizeof(W) <= sizeof(T) && sizeof(X) <= sizeof(T);

/// Whether a program runs on tiles of short rows: one input, one output, and parameters.
template <class Operands>
inline constexpr bool has_tiles = false;
template <class T, class O, class Params>
inline constexpr bool has_tiles<kernels::row_operands<
    kernels::operands<kernels::row_arg<T>>, kernels::operands<kernels::row_target<O>>, Params>> =
    true;

template <class Program, class... W>
kernels::tile_row_program<Program, W...> tile_program(
    const Program& program, const kernels::operands<kernels::row_arg<W>...>& params) {
  return [&]<int... K>(kernels::int_sequence<K...>) {
    return kernels::tile_row_program<Program, W...>{
        program, kernels::pointers_of(kernels::operand<K>(params)...)};
  }
  (kernels::make_int_sequence<sizeof...(W)>{});
}

/// Runs `program` on rows in registers; gives whether it could.
template <class Program, class S, class Space, class T, class... More, class Out, class Params,
          class Numbers, class Results>
bool launch_register_rows(
    const S& stream, launch_config& config, const Space& space,
    const kernels::row_operands<kernels::operands<kernels::row_arg<T>, More...>, Out, Params,
                                Numbers, Results>& all,
    const Program& program) {
  using Operands = std::remove_cvref_t<decltype(all)>;
  using C = typename Program::compute;
  constexpr auto traits = Program::traits;
  const int outer = kernels::outer_rank(space);
  using placement = register_rows<device_of<S>>;
  if (!placement::take(space.rows, space.length, outer)) return false;
  constexpr int width = kernels::vec_size<T>;
  constexpr bool pairs = pairs_rows<C, T, Operands>;
  bool paired = false;
  // (Elsewhere two rows and their parameters take more registers than there are.)
  if constexpr (pairs)
    paired = outer <= 1 &&
             have_same_offset(kernels::operand<0>(all.in), kernels::operand<0>(all.out), width);
  const bool aligned = with_row_operands(
      all, [&](const auto&... x) { return (are_vec_aligned(x, outer, width) && ...); });
  const placement rows(space.rows, space.length, width, aligned, traits.long_vectors,
                       {.many_aux = traits.many_parameters,
                        .paired = paired,
                        .stages_rest = traits.stages,
                        .reads_once = traits.reads_once});
  rows.configure(config, space.rows);
  rows.template visit<pairs>([&](auto vectors, auto count, auto whole) {
    launch<kernels::register_row_program<Program, Operands, vectors, count, whole>>(
        stream, config, space, rows.groups, all, program);
  });
  return true;
}

/// The kernel of `program` for the rows' length and strides.
template <class Program, class S, class Space, class Operands>
void launch_checked_rows(const S& stream, launch_config config, const Space& space,
                         const Operands& all, const Program& program) {
  using C = typename Program::compute;
  using T =
      kernels::remove_const<std::remove_pointer_t<decltype(kernels::operand<0>(all.in).data)>>;
  config.tiles = space.rows;
  // (A type without -inf, as integers are, has nothing to fill a thread's empty places with.)
  if constexpr (has_simt<device_of<S>> &&
                !(Program::traits.fills_lowest && !std::numeric_limits<T>::has_infinity)) {
    const int outer = kernels::outer_rank(space);
    const bool dense =
        kernels::inner_rank(space) == 1 &&
        with_row_operands(all, [&](const auto&... x) { return (has_dense_rows(x, outer) && ...); });
    if (dense) {
      if constexpr (has_tiles<Operands>) {
        if (launch_short_rows<C>(stream, config, space.rows, space.length, outer,
                                 kernels::operand<0>(all.in), kernels::operand<0>(all.out),
                                 tile_program(program, all.params)))
          return;
      }
      if (launch_register_rows(stream, config, space, all, program)) return;
    }
  }
  config.scratch = with_row_operands(all, [&](const auto&... x) {
    return staged_scratch<C, device_of<S>, std::remove_cvref_t<decltype(*x.data)>...>(space.length);
  });
  if constexpr (Program::traits.has_updates && !has_simt<device_of<S>>)  // the rows written back
    config.scratch += staged_scratch<T, device_of<S>>(space.length);
  launch<kernels::staged_row_program<Program, Operands>>(stream, config, space, all, program);
}

/// Runs `program` on the rows of its operands. All checks have passed.
template <class Program, class S, class Space, class Operands>
void launch_rows(const S& stream, const launch_config& config, const Space& space,
                 const Operands& all, const Program& program) {
  using V = typename row_element<typename Program::compute, !has_simt<device_of<S>>>::type;
  if constexpr (check_row_program<typename checked_row_of<Program, V, Operands>::type, Program>())
    launch_checked_rows(stream, config, space, all, program);
}

// Row programs of f32 that flaggems::compiled has: of an input, an output and parameters.
using row_f32 = kernels::row_arg<f32>;
template <class... Params>
using rows_f32 =
    kernels::row_operands<kernels::operands<row_f32>, kernels::operands<kernels::row_target<f32>>,
                          kernels::operands<Params...>, kernels::operands<>, kernels::operands<>>;
#define FLAGGEMS_ROWS_ONCE(program, space, ...)                                            \
  FLAGGEMS_KERNEL_ONCE(kernels::staged_row_program<program, rows_f32<__VA_ARGS__>>, space, \
                       rows_f32<__VA_ARGS__>, program)

}  // namespace flaggems::detail
