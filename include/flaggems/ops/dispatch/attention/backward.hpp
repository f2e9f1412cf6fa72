// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How the gradients of attention are computed: of 16 bits by warp groups or by tiles on matrix
// units (kernel/family/attention/simt/warp_group_gradients.hpp, gradients_mma.hpp), others row by
// row, of queries and then of keys.
#pragma once

#include <flaggems/kernel/family/attention/backward.hpp>
#include <flaggems/kernel/family/attention/simt/gradients_mma.hpp>
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

/// Whether the lines of an operand are aligned to vectors of `width` elements.
template <int width, class T>
bool are_vec_aligned(const kernels::attention_arg<T>& x, int rank, i64 size) {
  i64 all = size | x.head | x.position;
  for (int d = 0; d < rank; ++d) all |= x.batch[d];
  return x.element == 1 && kernels::is_vec_aligned<width>(x.data) && (all & (width - 1)) == 0;
}

/// Gradients in T (bf16 or f16) by tiles on matrix units.
template <class S, class T, class Problem, class Mask>
struct gradients_by_tiles {
  using numbers = tuning<families::attention, device_of<S>>;
  using args = kernels::attention_backward_args<T, f32>;
  static constexpr int width = kernels::vec_size<T>;
  static constexpr bool exists = matrix_instructions_of<device_of<S>> == matrix_instructions::mma &&
                                 (std::is_same_v<T, bf16> || std::is_same_v<T, f16>);
  const char* op;
  const S& stream;
  const Problem& problem;
  const args &of_queries, &of_keys;
  const Mask& mask;

  /// Runs it; false, having done nothing, if the operands are not aligned, or too large for the
  /// kernel's counts.
  bool run() const {
    constexpr i64 most = i64{1} << 28;  // limit of 32-bit counts
    const kernels::attention_space rows = rows_of(problem);
    const i64 blocks = kernels::ceil_div(kernels::max_of(rows.head_size, rows.value_size),
                                         i64{kernels::prefill_elements});
    const auto aligned = [&](const auto& x, i64 size) {
      return are_vec_aligned<width>(x, rows.rank, size);
    };
    if (blocks > 2 || rows.queries > most / kernels::max_of(rows.group, i64{1}) ||
        rows.keys > most || !aligned(of_queries.row, rows.head_size) ||
        !aligned(of_queries.grad, rows.head_size) ||
        !aligned(of_queries.row_value, rows.value_size) || !aligned(of_keys.row, rows.head_size) ||
        !aligned(of_keys.grad, rows.head_size) || !aligned(of_keys.row_value, rows.value_size) ||
        !aligned(of_keys.grad_value, rows.value_size))
      return false;
    if (blocks == 2)
      go<2>();
    else
      go<1>();
    return true;
  }

 private:
  template <int Blocks>
  void go() const {
    pass<kernels::attention_side::queries, Blocks>(of_queries);
    pass<kernels::attention_side::keys, Blocks>(of_keys);
  }
  template <kernels::attention_side Side, int Blocks>
  void pass(const args& x) const {
    using kernel =
        kernels::attention_gradient_tiles<T, Mask, Side, Blocks, numbers::gradient_others,
                                          numbers::prefill_warps>;
    launch_config config;
    config.op = op;
    config.tiles = problem.template gradient_tiles<Side>(kernel::rows);
    if (config.tiles == 0) return;
    config.threads = kernel::max_threads;
    config.scratch = kernel::most_scratch;
    config.blocks_per_unit = 0;
    launch<kernel>(stream, config, problem, x, mask);
  }
};

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
  if constexpr (has_simt<device_of<S>>)
    if constexpr (gradients_by_tiles<S, T, Problem, Mask>::exists)
      if (gradients_by_tiles<S, T, Problem, Mask>{op, stream, problem, of_queries, of_keys, mask}
              .run())
        return;
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
