// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How norms are computed.
#pragma once

#include <flaggems/kernel/family/row/norm.hpp>
#include <flaggems/kernel/family/row/simt/norm.hpp>
#include <flaggems/ops/dispatch/register_rows.hpp>
#include <flaggems/ops/dispatch/short_rows.hpp>

namespace flaggems::detail {

/// Whether the rows of a norm's operands, and its weights, are contiguous.
template <class... Operands>
bool has_dense_rows(const kernels::norm_space& space, const Operands&... operands) {
  return space.inner_rank == 1 &&
         ((operands.data == nullptr || operands.strides[space.outer_rank] == 1) && ...);
}

/// Whether the rows of two operands begin at multiples of `width` elements together.
template <class A, class B>
bool have_same_offset(const A& a, const B& b, i64 width) {
  const auto first = [](const auto& x) {
    return reinterpret_cast<std::uintptr_t>(x.data) / sizeof(*x.data);
  };
  const auto difference = static_cast<i64>(first(a) - first(b)), more = a.strides[0] - b.strides[0];
  return ((difference | more) & (width - 1)) == 0;
}

/// Launches a norm's form that holds rows in a SIMT device's registers, by f(config, thread groups,
/// vectors, rows, whole), the last three constants, if its operands are contiguous along the rows.
/// `first` is the one that is held, the last one the result. `Paired`: as in register_rows.
template <class D, bool Paired = false, class F, class First, class... Operands>
bool launch_register_norm(launch_config config, const kernels::norm_space& space,
                          i64 long_row_vectors, bool many_aux, const F& f, const First& first,
                          const Operands&... operands) {
  if constexpr (has_vectors<D>) {
    return false;
  } else {
    if (!register_rows::take(space.rows, space.length, space.outer_rank) ||
        !has_dense_rows(space, first, operands...))
      return false;
    constexpr int width = kernels::vec_size<std::remove_cvref_t<decltype(*first.data)>>;
    const int outer = space.outer_rank;
    bool paired = false;
    if constexpr (Paired) ((paired = outer <= 1 && have_same_offset(first, operands, width)), ...);
    const register_rows resident(
        space.rows, space.length, width,
        are_vec_aligned(first, outer, width) && (are_vec_aligned(operands, outer, width) && ...),
        long_row_vectors, {.many_aux = many_aux, .paired = paired});
    resident.configure(config, space.rows);
    resident.template visit<Paired>([&](auto vectors, auto rows, auto is_aligned) {
      f(config, resident.groups, vectors, rows, is_aligned);
    });
    return true;
  }
}

/// Each norm by the kernels that suit the device and its rows: short or register-resident ones on
/// SIMT devices, else the generic form. All checks have passed.
template <class T, class WeightType, class O, class C, class S>
void launch_layer_norm(const S& stream, const launch_config& config,
                       const kernels::norm_space& space, const kernels::row_arg<T>& in,
                       const kernels::row_arg<WeightType>& weights,
                       const kernels::row_arg<WeightType>& biases,
                       const kernels::row_target<O>& target, double eps) {
  using D = device_of<S>;
  if (has_dense_rows(space, in, weights, biases, target) &&
      launch_short_rows<C>(
          stream, config, space.rows, space.length, space.outer_rank, in, target,
          kernels::short_layer_norm<WeightType>{weights.data, biases.data, static_cast<f32>(eps)}))
    return;
  const auto resident = [&](const launch_config& c, kernels::row_threads groups, auto vectors,
                            auto rows, auto is_aligned) {
    launch<kernels::simt_layer_norm<T, WeightType, O, C, vectors, rows, is_aligned>>(
        stream, c, space, groups, in, weights, biases, target, static_cast<C>(eps));
  };
  // (Elsewhere two rows and what is beside them take more registers than there are.)
  constexpr bool paired = sizeof(T) >= 2 && sizeof(WeightType) <= sizeof(T) && sizeof(C) == 4;
  if (launch_register_norm<D, paired>(config, space, 2048, true, resident, in, weights, biases,
                                      target))
    return;
  launch<kernels::layer_norm<T, WeightType, O, C>>(stream, config, space, in, weights, biases,
                                                   target, static_cast<C>(eps));
}
template <class T, class WeightType, class O, class C, class S>
void launch_rms_norm(const S& stream, const launch_config& config, const kernels::norm_space& space,
                     const kernels::row_arg<T>& in, const kernels::row_arg<WeightType>& weights,
                     const kernels::row_target<O>& target, double epsilon) {
  using D = device_of<S>;
  if (has_dense_rows(space, in, weights, target) &&
      launch_short_rows<C>(
          stream, config, space.rows, space.length, space.outer_rank, in, target,
          kernels::short_rms_norm<WeightType>{weights.data, static_cast<f32>(epsilon)}))
    return;
  const auto resident = [&](const launch_config& c, kernels::row_threads groups, auto vectors,
                            auto rows, auto is_aligned) {
    launch<kernels::simt_rms_norm<T, WeightType, O, C, vectors, rows, is_aligned>>(
        stream, c, space, groups, in, weights, target, static_cast<C>(epsilon));
  };
  if (launch_register_norm<D>(config, space, 2048, false, resident, in, weights, target)) return;
  launch<kernels::rms_norm<T, WeightType, O, C>>(stream, config, space, in, weights, target,
                                                 static_cast<C>(epsilon));
}
template <class T, class Sum, class WeightType, class C, class S>
void launch_add_rms_norm(const S& stream, const launch_config& config,
                         const kernels::norm_space& space, const kernels::row_target<T>& inout,
                         const kernels::row_target<Sum>& sums,
                         const kernels::row_arg<WeightType>& weights, double eps) {
  using D = device_of<S>;
  const auto resident = [&](const launch_config& c, kernels::row_threads groups, auto vectors,
                            auto rows, auto is_aligned) {
    launch<kernels::simt_fused_add_rms_norm<T, Sum, WeightType, C, vectors, rows, is_aligned>>(
        stream, c, space, groups, inout, sums, weights, static_cast<C>(eps));
  };
  if (launch_register_norm<D>(config, space, 4096, false, resident, sums, inout, weights)) return;
  launch<kernels::fused_add_rms_norm<T, Sum, WeightType, C>>(stream, config, space, inout, sums,
                                                             weights, static_cast<C>(eps));
}

}  // namespace flaggems::detail
