// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How norms are computed.
#pragma once

#include <flaggems/kernel/family/row/norm.hpp>
#include <flaggems/kernel/family/row/simt/norm.hpp>
#include <flaggems/ops/dispatch/held_rows.hpp>
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
bool begin_alike(const A& a, const B& b, i64 width) {
  const auto first = [](const auto& x) {
    return reinterpret_cast<std::uintptr_t>(x.data) / sizeof(*x.data);
  };
  const auto apart = static_cast<i64>(first(a) - first(b)), more = a.strides[0] - b.strides[0];
  return ((apart | more) & (width - 1)) == 0;
}

/// Launches a norm's form that holds rows in a chip's registers, by f(config, teams, packs, rows,
/// whole), the last three constants, if its operands are contiguous along the rows. `first` is the
/// one that is held, the last one the result. `Paired`: as in held_rows.
template <class D, bool Paired = false, class F, class First, class... Operands>
bool launch_held_norm(launch_config config, const kernels::norm_space& space, i64 long_packs,
                      bool much_beside, const F& f, const First& first,
                      const Operands&... operands) {
  if constexpr (has_vectors<D>) {
    return false;
  } else {
    if (!held_rows::take(space.rows, space.length, space.outer_rank) ||
        !has_dense_rows(space, first, operands...))
      return false;
    constexpr int width = kernels::pack_size<std::remove_cvref_t<decltype(*first.data)>>;
    const int outer = space.outer_rank;
    bool paired = false;
    if constexpr (Paired) ((paired = outer <= 1 && begin_alike(first, operands, width)), ...);
    const held_rows held(
        space.rows, space.length, width,
        begins_packs(first, outer, width) && (begins_packs(operands, outer, width) && ...),
        long_packs, {.much_beside = much_beside, .paired = paired});
    held.configure(config, space.rows);
    held.template visit<Paired>(
        [&](auto packs, auto rows, auto whole) { f(config, held.teams, packs, rows, whole); });
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
  const auto held = [&](const launch_config& c, kernels::row_teams teams, auto packs, auto rows,
                        auto whole) {
    launch<kernels::layer_norm_chip<T, WeightType, O, C, packs, rows, whole>>(
        stream, c, space, teams, in, weights, biases, target, static_cast<C>(eps));
  };
  // (Elsewhere two rows and what is beside them take more registers than there are.)
  constexpr bool paired = sizeof(T) >= 2 && sizeof(WeightType) <= sizeof(T) && sizeof(C) == 4;
  if (launch_held_norm<D, paired>(config, space, 2048, true, held, in, weights, biases, target))
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
  const auto held = [&](const launch_config& c, kernels::row_teams teams, auto packs, auto rows,
                        auto whole) {
    launch<kernels::rms_norm_chip<T, WeightType, O, C, packs, rows, whole>>(
        stream, c, space, teams, in, weights, target, static_cast<C>(epsilon));
  };
  if (launch_held_norm<D>(config, space, 2048, false, held, in, weights, target)) return;
  launch<kernels::rms_norm<T, WeightType, O, C>>(stream, config, space, in, weights, target,
                                                 static_cast<C>(epsilon));
}
template <class T, class Sum, class WeightType, class C, class S>
void launch_add_rms_norm(const S& stream, const launch_config& config,
                         const kernels::norm_space& space, const kernels::row_target<T>& inout,
                         const kernels::row_target<Sum>& sums,
                         const kernels::row_arg<WeightType>& weights, double eps) {
  using D = device_of<S>;
  const auto held = [&](const launch_config& c, kernels::row_teams teams, auto packs, auto rows,
                        auto whole) {
    launch<kernels::fused_add_rms_norm_chip<T, Sum, WeightType, C, packs, rows, whole>>(
        stream, c, space, teams, inout, sums, weights, static_cast<C>(eps));
  };
  if (launch_held_norm<D>(config, space, 4096, false, held, sums, inout, weights)) return;
  launch<kernels::fused_add_rms_norm<T, Sum, WeightType, C>>(stream, config, space, inout, sums,
                                                             weights, static_cast<C>(eps));
}

}  // namespace flaggems::detail
