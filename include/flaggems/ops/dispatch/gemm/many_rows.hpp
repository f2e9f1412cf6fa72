// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of many rows on SIMT devices: by warp groups, in tiles on matrix units or in
// registers.
#pragma once

#include <flaggems/ops/dispatch/gemm/chosen.hpp>
#include <flaggems/ops/dispatch/gemm/tiled.hpp>
#include <flaggems/ops/dispatch/gemm/warp_groups.hpp>

namespace flaggems::detail {

/// Runs the product by warp groups; false, having written nothing, if they do not apply. What is
/// added may say how steps are summed (`sums`), or that 8-bit floats may be by the unit alone
/// (`fast_sums`).
template <class S, class A, class B, class Out, class Added>
bool multiply_by_warp_groups(const S& stream, gemm_call<A, B, Out, Added>& call, const Added& aux) {
  const auto run_by = [&]<class Sums>(const Sums& how) {
    return warp_group_gemm<S, A, B, Out, Added, Sums>(stream, call, aux, how).run();
  };
  if constexpr (requires { aux.sums; }) {
    return run_by(aux.sums);
  } else if constexpr (is_f8<A>) {
    if constexpr (requires { aux.fast_sums; })
      if (aux.fast_sums) return run_by(kernels::sums_of_unit{});
    return run_by(kernels::sums_in_f32{});
  } else {
    return run_by(kernels::sums_of_unit{});
  }
}

template <class S, class A, class B, class Out, class Added>
void multiply_many_rows(const S& stream, gemm_call<A, B, Out, Added>& call, const Added& aux) {
  using device = device_of<S>;
  using call_type = gemm_call<A, B, Out, Added>;
  using tiles = tiled_product<S, A, B, Out, Added, typename call_type::kernel_bias>;
  tensor<A, device> copy_a;
  tensor<B, device> copy_b;
  if constexpr (tiles::has_tiles && is_multiplied_along<A>) {
    const kernels::gemm_space& s = call.space;
    const f64 work = f64(s.m) * f64(s.n) * f64(s.k);
    if (s.k > 0 && work >= tuning<families::gemm, device>::work_to_align &&
        has_matrix_units(stream)) {
      align_operand(call.config.op, stream, s, call.a, s.m, copy_a);
      align_operand(call.config.op, stream, s, call.b, s.n, copy_b);
    }
  }
  if constexpr (!call_type::has_prologue && multiplies_by_warp_groups<S, A, B>)
    if (multiply_by_warp_groups(stream, call, aux)) return;
  with_chosen_bias<typename call_type::stored>(call.finish(aux), [&]<class Bias>(const Bias& last) {
    tiled_product<S, A, B, Out, Added, Bias>(stream, call, aux, last).run();
  });
}

/// The product of matrices of which `added` says how warp groups sum steps; false, having written
/// nothing, where there are none.
template <class S, class A, class B, class Out, class Added>
bool multiply_blocks(const char* op, const S& stream, const A& a, const B& b, const Out& out,
                     const Added& added) {
  using T = typename A::value_type;
  gemm_call<T, typename B::value_type, typename Out::value_type, Added> call;
  call.set_problem(op, a, b, out, added, 1);
  tensor<T, device_of<S>> copy_a, copy_b;
  align_operand(op, stream, call.space, call.a, call.space.m, copy_a);
  align_operand(op, stream, call.space, call.b, call.space.n, copy_b);
  return multiply_by_warp_groups(stream, call, added);
}

}  // namespace flaggems::detail
