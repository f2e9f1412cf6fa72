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

/// A pass over the rows of one side.
template <kernels::attention_side Side, kernels::stepping Steps, class S, class T, class C,
          class Mask>
void launch_attention_gradient(const char* op, const S& stream,
                               const kernels::attention_space& space,
                               const kernels::attention_backward_args<T, C>& args,
                               const Mask& mask) {
  using kernel = kernels::attention_backward<T, C, Mask, Side, Steps>;
  const i64 depth = kernels::round_up(space.head_size, 16),
            width = kernels::round_up(space.value_size, 16);
  const i64 rows = kernel::rows_of(space);
  launch_config config;
  config.op = op;
  config.tiles = space.batches * kernels::ceil_div(rows, i64{kernel::rows});
  if (config.tiles == 0) return;
  config.work = work_of(2, space.batches * rows, depth + width,
                        kernel::of_queries ? space.keys : space.group * space.queries);
  config.scratch = 2 * scratch_bytes<C>(kernel::rows * depth) +
                   2 * scratch_bytes<C>(kernel::rows * i64{kernel::tile}) +
                   2 * scratch_bytes<C>(kernel::rows * width);
  config.threads = tuning<families::attention, device_of<S>>::threads;
  launch<kernel>(stream, config, space, args, mask);
}

/// The gradients by the kernels that suit the device. `sum_dots` gives the sums of grad_out * out
/// of each query where a kernel does not compute them.
template <class S, class T, class C, class Mask, class F>
void launch_attention_backward(const char* op, const S& stream,
                               const kernels::attention_space& space,
                               const attention_gradient_args<T, C>& x, const Mask& mask,
                               const F& sum_dots) {
  using kernels::attention_side, kernels::stepping;
  if constexpr (has_simt<device_of<S>> && differentiates_by_warp_groups<device_of<S>> &&
                std::is_same_v<Mask, kernels::no_mask> &&
                (std::is_same_v<T, bf16> || std::is_same_v<T, f16>))
    if (warp_group_gradients<S, T>(stream, space, x).run(op)) return;
  const auto sums = sum_dots();
  kernels::attention_arg<const C> dots = x.dots;
  dots.data = sums.data();
  const kernels::attention_backward_args<T, C> of_queries{x.q,  x.grad_out, x.k, x.v,    x.logs,
                                                          dots, x.grad_q,   {},  x.scale};
  const kernels::attention_backward_args<T, C> of_keys{x.k,  x.v,      x.q,      x.grad_out, x.logs,
                                                       dots, x.grad_k, x.grad_v, x.scale};
  const auto is_line = [](const auto& arg, i64 size) { return arg.element == 1 || size == 1; };
  const auto run = [&]<stepping Steps>(std::integral_constant<stepping, Steps>) {
    launch_attention_gradient<attention_side::queries, Steps>(op, stream, space, of_queries, mask);
    launch_attention_gradient<attention_side::keys, Steps>(op, stream, space, of_keys, mask);
  };
  if (is_line(x.q, space.head_size) && is_line(x.k, space.head_size) &&
      is_line(x.v, space.value_size) && is_line(x.grad_out, space.value_size))
    run(std::integral_constant<stepping, stepping::contiguous>{});
  else
    run(std::integral_constant<stepping, stepping::strided>{});
}

}  // namespace flaggems::detail
