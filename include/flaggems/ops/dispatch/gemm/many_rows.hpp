// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of many rows on SIMT devices: by warp groups, in tiles on matrix units or in
// registers. Also of the windows of images, which lie in the images' lines as they are: a window's
// terms in pieces, one of each line.
#pragma once

#include <flaggems/ops/dispatch/gemm/chosen.hpp>
#include <flaggems/ops/dispatch/gemm/tiled.hpp>
#include <flaggems/ops/dispatch/gemm/warp_groups.hpp>

#include <type_traits>

namespace flaggems::operators {
struct gemm;
}

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

/// Whether some of a stream's devices multiply lines in pieces: warp groups those of 16 bits,
/// others f32 in full precision.
template <class S, class T>
inline constexpr bool has_window_products = [] {
  using device = device_of<S>;
  if constexpr (!has_simt<device> || has_implementation<operators::gemm, device>)
    return false;
  else if constexpr (sizeof(T) == 2)
    return multiplies_by_warp_groups<S, T, T>;
  else
    return std::is_same_v<T, f32> && !allows_tf32<S> && device::capabilities::async_copy;
}();

/// Whether this device has such products of m lines and n windows, `step` elements apart, in pieces
/// of so many terms.
template <class T, class S>
bool takes_windows(const S& stream, i64 m, i64 n, i64 step, i64 terms) {
  using device = device_of<S>;
  constexpr i64 few = tuning<families::gemm, device>::few_rows;
  constexpr i64 whole = sizeof(T) == 2 ? 64 : 16;  // limit: terms of a step
  if (m <= few || n <= few || terms == 0 || terms % whole != 0 || step % kernels::vec_size<T> != 0)
    return false;
  if constexpr (sizeof(T) == 2) return device::warp_group_units(ref(stream).device_index()) != 0;
  return true;
}

/// The product of a and windows b, whose lines are in `pieces`; false, having written nothing, if
/// it is none for such kernels. The operands lie along the sum.
template <class S, class A, class B, class Out, class Added>
bool multiply_windows(const char* op, const S& stream, const A& a, const B& b,
                      const line_pieces& pieces, const Out& out, const Added& added) {
  using T = typename A::value_type;
  using call_type = gemm_call<T, T, typename Out::value_type, Added>;
  call_type call;
  call.set_problem(op, a, b, out, added, 1);
  call.pieces_of_b = pieces;
  if constexpr (sizeof(T) == 2) {
    return multiply_by_warp_groups(stream, call, added);
  } else {
    return with_chosen_bias<typename call_type::stored>(
        call.finish(added), [&]<class Bias>(const Bias& last) {
          return tiled_product<S, T, T, typename Out::value_type, Added, Bias>(stream, call, added,
                                                                               last)
              .run_pieces();
        });
  }
}

}  // namespace flaggems::detail
