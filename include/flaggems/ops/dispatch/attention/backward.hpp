// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How the gradients of attention are computed: of 16 bits by warp groups
// (kernel/family/attention/simt/warp_group_gradients.hpp), others row by row, of queries and then
// of keys.
#pragma once

#include <flaggems/kernel/family/attention/backward.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/attention/warp_group_gradients.hpp>

#include <type_traits>

namespace flaggems::detail {

/// The others that a row may see: of sequences, in the mean.
inline i64 others_of_row(const kernels::attention_gradient_problem& x, bool of_queries) {
  return of_queries ? x.keys : x.group * x.queries;
}
inline i64 others_of_row(const kernels::sequence_gradient_problem& x, bool of_queries) {
  return (of_queries ? x.total_keys : x.group * x.total_queries) / x.count;
}

/// A pass over the rows of one side.
template <kernels::attention_side Side, kernels::stepping Steps, class S, class Problem, class T,
          class C, class Mask>
void launch_attention_gradient(const char* op, const S& stream, const Problem& problem,
                               const kernels::attention_backward_args<T, C>& args,
                               const Mask& mask) {
  using kernel = kernels::attention_backward<T, C, Mask, Side, Steps>;
  const i64 depth = kernels::round_up(problem.head_size, 16),
            width = kernels::round_up(problem.value_size, 16);
  launch_config config;
  config.op = op;
  config.tiles = problem.template gradient_tiles<Side>(kernel::rows);
  if (config.tiles == 0) return;
  config.work = work_of(2, config.tiles * kernel::rows, depth + width,
                        others_of_row(problem, kernel::of_queries));
  config.scratch = 2 * scratch_bytes<C>(kernel::rows * depth) +
                   2 * scratch_bytes<C>(kernel::rows * i64{kernel::tile}) +
                   2 * scratch_bytes<C>(kernel::rows * width);
  config.threads = tuning<families::attention, device_of<S>>::threads;
  launch<kernel>(stream, config, problem, args, mask);
}

/// The gradients by the kernels that suit the device, of attention_gradient_problem or
/// sequence_gradient_problem, which may have windows if HasWindows. `sum_dots` gives the sums of
/// grad_out * out of each query where a kernel does not compute them.
template <bool HasWindows, class S, class Problem, class T, class C, class Mask, class F>
void launch_attention_backward(const char* op, const S& stream, const Problem& problem,
                               const attention_gradient_args<T, C>& x, const Mask& mask,
                               const F& sum_dots) {
  using kernels::attention_side, kernels::stepping;
  if constexpr (has_simt<device_of<S>> && differentiates_by_warp_groups<device_of<S>> &&
                std::is_same_v<Mask, kernels::no_mask> &&
                (std::is_same_v<T, bf16> || std::is_same_v<T, f16>))
    if (warp_group_gradients<S, T, Problem, HasWindows>(stream, problem, x).run(op)) return;
  const auto sums = sum_dots();
  kernels::attention_arg<const C> dots = x.dots;
  dots.data = sums.data();
  const kernels::attention_backward_args<T, C> of_queries{x.q,  x.grad_out, x.k, x.v,    x.logs,
                                                          dots, x.grad_q,   {},  x.scale};
  const kernels::attention_backward_args<T, C> of_keys{x.k,  x.v,      x.q,      x.grad_out, x.logs,
                                                       dots, x.grad_k, x.grad_v, x.scale};
  const auto is_line = [](const auto& arg, i64 size) { return arg.element == 1 || size == 1; };
  const auto run = [&]<stepping Steps>(std::integral_constant<stepping, Steps>) {
    launch_attention_gradient<attention_side::queries, Steps>(op, stream, problem, of_queries,
                                                              mask);
    launch_attention_gradient<attention_side::keys, Steps>(op, stream, problem, of_keys, mask);
  };
  if (is_line(x.q, problem.head_size) && is_line(x.k, problem.head_size) &&
      is_line(x.v, problem.value_size) && is_line(x.grad_out, problem.value_size))
    run(std::integral_constant<stepping, stepping::contiguous>{});
  else
    run(std::integral_constant<stepping, stepping::strided>{});
}

}  // namespace flaggems::detail
