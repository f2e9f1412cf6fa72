// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/random/multinomial.hpp>
#include <flaggems/ops/sort.hpp>

namespace flaggems {

namespace operators {
struct multinomial;
}
namespace detail {

template <class P>
shape multinomial_shape(const P& probs, i64 num_samples, bool replacement) {
  constexpr const char* op = "multinomial";
  if (probs.rank() != 1 && probs.rank() != 2) [[unlikely]]
    raise(errc::invalid_argument, op, "probabilities of 1 or 2 dimensions",
          "sizes " + to_string(shape(probs.sizes())));
  if (num_samples <= 0) [[unlikely]]
    raise(errc::invalid_argument, op, "at least one sample", text(num_samples));
  const i64 n = probs.size(-1);
  if (n == 0 || (!replacement && num_samples > n)) [[unlikely]]
    raise(errc::invalid_argument, op,
          n == 0 ? text("at least one category")
                 : "at most " + text(n) + " samples without replacement",
          n == 0 ? text("none") : text(num_samples));
  shape sizes(probs.sizes());
  sizes[sizes.rank() - 1] = num_samples;
  return sizes;
}

/// Raises unless every row can be sampled from. Where the host cannot read them nothing is checked.
template <class S, class T, class D>
void check_probabilities(const S& stream, const tensor_view<const T, D>& probs, i64 num_samples,
                         bool replacement) {
  if constexpr (host_reads<D>) {
    using C = kernels::compute_type<T>;
    constexpr const char* op = "multinomial";
    if constexpr (!is_synchronous<D>) ref(stream).synchronize();
    const i64 rows = probs.rank() == 2 ? probs.size(0) : 1, n = probs.size(-1);
    const i64 stride = probs.stride(-1), row_stride = probs.rank() == 2 ? probs.stride(0) : 0;
    const C infinity = kernels::from_bits<C>(kernels::infinity_bits<C>());
    for (i64 row = 0; row < rows; ++row) {
      const T* const p = probs.data() + row * row_stride;
      i64 legal = 0, positive = 0;
      for (i64 i = 0; i < n; ++i) {
        const C x = kernels::number_cast<C>(p[i * stride]);
        legal += x >= C(0) && x < infinity ? 1 : 0;
        positive += x > C(0) ? 1 : 0;
      }
      if (legal != n) [[unlikely]]
        raise(errc::invalid_argument, op, "probabilities that are finite and not negative",
              text(n - legal) + " others in row " + text(row));
      const i64 needed = replacement ? 1 : num_samples;
      if (positive < needed) [[unlikely]]
        raise(errc::invalid_argument, op,
              needed == 1 ? text("a category of positive probability")
                          : text(needed) + " categories of positive probability",
              (positive == 0 ? text("none") : text(positive)) + " in row " + text(row));
    }
  } else {
    static_cast<void>(stream), static_cast<void>(probs);
    static_cast<void>(num_samples), static_cast<void>(replacement);
  }
}

template <class S, class T, class D, class Out>
void multinomial_into(const S& stream, const tensor_view<const T, D>& from, i64 num_samples,
                      bool replacement, philox_generator& generator, const Out& to) {
  constexpr const char* op = "multinomial";
  const shape sizes = multinomial_shape(from, num_samples, replacement);
  check_output_sizes(op, sizes, to);
  check_indices_output(op, from, to);
  if (to.empty()) return;
  check_probabilities(stream, from, num_samples, replacement);
  if (replaced<operators::multinomial>(op, stream, from, num_samples, replacement, generator, to))
    return;

  const int dim = from.rank() - 1;
  const i64 n = from.size(dim), rows = from.numel() / n;
  row_plan plan(from.sizes(), dim);
  plan.add(from);
  plan.add(to);
  const kernels::row_space space = plan.space();
  // Every row starts at a new block of the generator.
  const i64 drawn = replacement ? num_samples : n, spacing = drawn + drawn % 2;
  const kernels::multinomial_options options{generator, num_samples, spacing};
  launch_config config;
  config.op = op;
  config.work = work_of(from.numel(), replacement ? 16 : 64) + work_of(to.numel(), 128);
  config.threads = static_cast<int>(kernels::sort_threads);
  if (replacement) {
    config.tiles = workspace_slots<D>(rows, n);
    auto sums = empty<u64>(stream, {config.tiles, n}, op);
    launch<kernels::multinomial_with_replacement<T>>(
        stream, config, space, options, plan.arg(0, from), plan.target(1, to),
        kernels::global_ptr<u64>(sums.data()), config.tiles);
  } else {
    sort_memory<u64, D> memory(op, stream, rows, n, num_samples);
    auto keys = empty<u64>(stream, {memory.slots, n}, op);
    config.tiles = memory.slots;
    config.scratch = scratch_bytes<i64>(kernels::sort_counters);
    launch<kernels::multinomial_without_replacement<T>>(
        stream, config, space, options, plan.arg(0, from), plan.target(1, to),
        kernels::global_ptr<u64>(keys.data()), memory.arg());
  }
  generator = kernels::advanced(generator, static_cast<u64>(rows * spacing));
}

}  // namespace detail

/// out = indices drawn from each row of `probs`, with probabilities in proportion to its elements.
///
/// Shapes: probs [M] or [R, M], floating-point, need not sum to 1; out [num_samples] or
/// [R, num_samples], i64, which shares no memory with probs. Without replacement the indices of a
/// row differ, and come in the order in which they would be drawn one after another. A category of
/// probability 0 is never drawn; a positive one below M 2^-61 times the row's largest counts as at
/// most that. `generator` is advanced by as much as was drawn; the same state gives the same
/// samples on every device. Where the host cannot read `probs`, elements that are not positive and
/// finite count as 0, and the index is -1 where no category is left. Raises invalid_argument (rank,
/// num_samples, more samples than categories without replacement; and where the host can read them,
/// probabilities that are negative, infinite or NaN, and fewer positive ones than the samples
/// need), shape_mismatch or overlap, before anything is written.
/// aten::multinomial.out(Tensor self, SymInt num_samples, bool replacement=False, *, Generator?
/// generator=None, Tensor(a!) out)
template <stream_like S, tensor_like P, tensor_like Out>
void multinomial(const S& stream, const P& probs, i64 num_samples, bool replacement,
                 philox_generator& generator, Out&& out) {
  same_device<S, P, i64, i64, i64, Out>();
  if constexpr (element_type_in<floating_types, 1, P>() && detail::check_indices_written<Out>())
    detail::multinomial_into(stream, tensor_view<const value_t<P>, device_of<S>>(as_view(probs)),
                             num_samples, replacement, generator, as_view(out));
}

/// multinomial in a new tensor.
template <stream_like S, tensor_like P>
[[nodiscard]] auto multinomial(const S& stream, const P& probs, i64 num_samples, bool replacement,
                               philox_generator& generator) {
  auto out = empty<i64>(stream, detail::multinomial_shape(as_view(probs), num_samples, replacement),
                        "multinomial");
  multinomial(stream, probs, num_samples, replacement, generator, out);
  return out;
}

}  // namespace flaggems
