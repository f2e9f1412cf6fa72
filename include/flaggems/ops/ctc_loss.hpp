// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Connectionist temporal classification (Graves et al. 2006): the loss of sequences whose labels
// are not aligned to their steps, and its gradient.
#pragma once

#include <flaggems/kernel/family/recurrent/ctc.hpp>
#include <flaggems/launch/implementation.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/ops/comparison.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/native_norm.hpp>
#include <flaggems/ops/nonzero.hpp>
#include <flaggems/ops/plan/loss.hpp>
#include <flaggems/ops/statistics.hpp>
#include <flaggems/ops/triangle.hpp>

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace flaggems {
namespace operators {
struct ctc_loss;
struct ctc_loss_backward;
}  // namespace operators

namespace detail {

/// Lengths as they are given: a list, or a tensor, for which it waits.
template <class S, class L>
std::vector<i64> lengths_of(const char* op, const S& stream, const L& given) {
  if constexpr (tensor_like<const L&>) {
    return read_vector(op, stream, tensor_view<const i64, device_of<S>>(as_view(given)));
  } else {
    const int_list list(given);
    return {list.begin(), list.end()};
  }
}

/// The sequences of a call, checked.
template <class S, class T, class J>
struct ctc_batch {
  using D = device_of<S>;
  tensor_view<const T, D> log_probs;
  tensor_view<const J, D> targets;
  tensor<i64, D> lengths;  // [3, B]: of steps, of labels, and where labels begin
  i64 blank = 0, most_labels = 0;

  ctc_batch(const char* op, const S& stream, const tensor_view<const T, D>& probs,
            const tensor_view<const J, D>& labels, const std::vector<i64>& input_lengths,
            const std::vector<i64>& target_lengths, i64 blank_label)
      : log_probs(probs), targets(labels), blank(blank_label) {
    if (probs.rank() != 3) [[unlikely]]
      raise_sizes(op, "log probabilities [steps, batch, classes]", probs.sizes());
    if (labels.rank() != 1 && labels.rank() != 2) [[unlikely]]
      raise_sizes(op, "targets of one or two dimensions", labels.sizes());
    if (blank < 0 || blank >= probs.size(2)) [[unlikely]]
      raise(errc::invalid_argument, op, "a blank below " + text(probs.size(2)), text(blank));
    const i64 batch = probs.size(1);
    const bool is_padded = labels.rank() == 2;
    const auto n = static_cast<std::size_t>(batch);
    if (input_lengths.size() != n || target_lengths.size() != n ||
        (is_padded && labels.size(0) != batch)) [[unlikely]]
      raise(errc::shape_mismatch, op, "lengths and targets of " + text(batch) + " sequences",
            text(static_cast<i64>(input_lengths.size())) + ", " +
                text(static_cast<i64>(target_lengths.size())) + " and " +
                to_string(labels.shape_of()));
    std::vector<i64> all(3 * n);
    i64 begin = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const i64 steps = input_lengths[k], count = target_lengths[k];
      if (steps < 0 || steps > probs.size(0)) [[unlikely]]
        raise(errc::invalid_argument, op, "input_lengths in [0, " + text(probs.size(0)) + "]",
              text(steps));
      const i64 most = is_padded ? labels.size(1) : labels.size(0) - begin;
      if (count < 0 || count > most) [[unlikely]]
        raise(errc::invalid_argument, op, "target_lengths in [0, " + text(most) + "]", text(count));
      all[k] = steps;
      all[n + k] = count;
      all[2 * n + k] =
          is_padded ? static_cast<i64>(k) * labels.stride(0) : begin * labels.stride(0);
      begin += count;
      most_labels = kernels::max_of(most_labels, count);
    }
    if (!is_padded && begin != labels.size(0)) [[unlikely]]
      raise(errc::invalid_argument, op, "target_lengths that sum to " + text(labels.size(0)),
            text(begin));
    lengths = from_values<i64>(stream, std::span<const i64>(all), {3, batch});
  }
  [[nodiscard]] i64 places() const { return 2 * most_labels + 1; }
  [[nodiscard]] shape alpha_sizes() const {
    return {log_probs.size(1), log_probs.size(0), places()};
  }
  [[nodiscard]] kernels::ctc_sequences<T, J> arg() const {
    return {log_probs.size(0),
            log_probs.size(1),
            log_probs.size(2),
            places(),
            blank,
            log_probs.data(),
            log_probs.stride(0),
            log_probs.stride(1),
            log_probs.stride(2),
            targets.data(),
            targets.stride(-1),
            lengths.data()};
  }
  [[nodiscard]] launch_config config(const char* op, i64 scratch) const {
    launch_config r;
    r.op = op;
    r.tiles = log_probs.size(1);
    r.work = work_of(log_probs.size(0), log_probs.size(1), places(), 64);  // limit: operations
    r.scratch = scratch;
    return r;
  }
};

template <class S, class T, class J>
auto ctc_forward_of(const char* op, const S& stream, const ctc_batch<S, T, J>& batch) {
  using C = kernels::compute_type<T>;
  std::pair r(empty<C>(stream, {batch.log_probs.size(1)}, op),
              empty<C>(stream, batch.alpha_sizes(), op));
  if (r.first.empty() || replaced<operators::ctc_loss>(op, stream, batch, r.first, r.second))
    return r;
  launch<kernels::ctc_forward<T, J>>(stream, batch.config(op, scratch_bytes<C>(2 * batch.places())),
                                     batch.arg(), kernels::global_ptr<C>(r.second.data()),
                                     kernels::global_ptr<C>(r.first.data()));
  return r;
}

template <class S, class T, class J, class C, class D>
tensor<T, D> ctc_gradient(const char* op, const S& stream, const ctc_batch<S, T, J>& batch,
                          const tensor_view<const T, D>& grad,
                          const tensor_view<const C, D>& losses,
                          const tensor_view<const C, D>& given_alpha, bool zero_infinity) {
  const auto& x = batch.log_probs;
  const shape sequences{x.size(1)};
  for (const auto& sizes : {grad.sizes(), losses.sizes()})
    if (!same_sizes(sizes, sequences)) [[unlikely]]
      raise_other_sizes(op, sequences, sizes);
  if (!same_sizes(given_alpha.sizes(), batch.alpha_sizes())) [[unlikely]]
    raise_other_sizes(op, batch.alpha_sizes(), given_alpha.sizes());
  auto out = empty<T>(stream, x.shape_of(), op);
  if (out.empty() ||
      replaced<operators::ctc_loss_backward>(op, stream, batch, grad, losses, given_alpha, out))
    return out;
  // Of classes that are no labels the probability alone; behind a sequence's last step zeros.
  const auto over = [](const auto& v) { return v.unsqueeze(0).unsqueeze(-1); };
  const expr<coordinate<D>> step(coordinate<D>(x.shape_of(), 0));
  const auto inside = lt(step, over(batch.lengths.view().select(0, 0)));
  const auto shares = mul(exp(cast<C>(x)), cast<C>(over(grad)));
  const C infinity = kernels::from_bits<C>(kernels::infinity_bits<C>());
  if (zero_infinity)
    assign(stream, out,
           cast<T>(where(logical_and(inside, ne(over(losses), infinity)), shares, C(0))), op);
  else
    assign(stream, out, cast<T>(where(inside, shares, C(0))), op);
  tensor<C, D> own_alpha, own_losses;
  const auto alpha = as_row(op, stream, given_alpha, own_alpha);
  const auto of_sequences = as_row(op, stream, losses, own_losses);
  launch<kernels::ctc_backward<T, J>>(stream,
                                      batch.config(op, scratch_bytes<C>(2 * batch.places()) +
                                                           2 * scratch_bytes<i64>(batch.places())),
                                      batch.arg(), kernels::global_ptr<const C>(alpha.data()),
                                      kernels::global_ptr<const C>(of_sequences.data()),
                                      kernels::global_ptr<const T>(grad.data()), grad.stride(0),
                                      zero_infinity ? 1 : 0, kernels::global_ptr<T>(out.data()));
  return out;
}

template <class S, class X, class Targets, class L, class M>
auto ctc_batch_of(const char* op, const S& stream, const X& log_probs, const Targets& targets,
                  const L& input_lengths, const M& target_lengths, i64 blank) {
  using T = value_t<const X&>;
  using J = value_t<const Targets&>;
  static_assert(kind_of<T> == kind::floating && (std::is_same_v<J, i64> || std::is_same_v<J, i32>),
                "flaggems: log probabilities are of floating point, and targets of i64 or i32");
  return ctc_batch<S, T, J>(op, stream, as_view(log_probs), as_view(targets),
                            lengths_of(op, stream, input_lengths),
                            lengths_of(op, stream, target_lengths), blank);
}

}  // namespace detail

/// The losses [B] of sequences, and the log_alpha [B, T, 2 L + 1] of ctc_loss_backward, in new
/// tensors of f32, or f64: loss[b] = -log of the sum, over all ways to spread the labels of b with
/// blanks between them over its steps, of the product of their probabilities; L is the greatest
/// number of labels. log_alpha is -inf at places that a sequence does not have.
///
/// log_probs [T, B, C], any strides; targets [B, most labels], or all labels one sequence after the
/// other, of i64 or i32; lengths: lists, or tensors of i64, for which it waits, of at most T steps
/// and labels. A label that is no class has probability 0. Raises invalid_argument or
/// shape_mismatch before anything is written. aten::_ctc_loss(Tensor log_probs, Tensor targets,
/// int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor,
/// Tensor)
template <stream_like S, tensor_like X, tensor_like Targets, class L, class M>
[[nodiscard]] auto ctc_loss_forward(const S& stream, const X& log_probs, const Targets& targets,
                                    const L& input_lengths, const M& target_lengths, i64 blank = 0,
                                    [[maybe_unused]] bool zero_infinity = false) {
  constexpr const char* op = "ctc_loss_forward";
  same_device<S, X, Targets>();
  return detail::ctc_forward_of(
      op, stream,
      detail::ctc_batch_of(op, stream, log_probs, targets, input_lengths, target_lengths, blank));
}

/// The gradient of ctc_loss_forward's losses for log_probs, in a new tensor [T, B, C]: of class c
/// at a step, (exp(log_probs) - the share of alignments with c there) times grad[b]; as ATen's,
/// that of a loss whose log_probs are those of a softmax. Zero behind a sequence's last step, and
/// with zero_infinity where its loss is infinite.
///
/// grad, neg_log_likelihood [B], log_alpha as ctc_loss_forward gave it. Sums are in order. Raises
/// as ctc_loss_forward. aten::_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets,
/// int[] input_lengths, int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int
/// blank, bool zero_infinity=False) -> Tensor
template <stream_like S, tensor_like G, tensor_like X, tensor_like Targets, class L, class M,
          tensor_like Losses, tensor_like Alpha>
[[nodiscard]] auto ctc_loss_backward(const S& stream, const G& grad, const X& log_probs,
                                     const Targets& targets, const L& input_lengths,
                                     const M& target_lengths, const Losses& neg_log_likelihood,
                                     const Alpha& log_alpha, i64 blank,
                                     bool zero_infinity = false) {
  constexpr const char* op = "ctc_loss_backward";
  same_device<S, G, X, Targets, Losses, Alpha>();
  using C = kernels::compute_type<value_t<const X&>>;
  using D = device_of<S>;
  static_assert(
      std::is_same_v<value_t<const Alpha&>, C> && std::is_same_v<value_t<const Losses&>, C>,
      "flaggems: neg_log_likelihood and log_alpha are what ctc_loss_forward gave");
  return detail::ctc_gradient(
      op, stream,
      detail::ctc_batch_of(op, stream, log_probs, targets, input_lengths, target_lengths, blank),
      detail::input_of(grad), tensor_view<const C, D>(as_view(neg_log_likelihood)),
      tensor_view<const C, D>(as_view(log_alpha)), zero_infinity);
}

/// The losses of ctc_loss_forward, in a new tensor of log_probs' dtype: each; their sum; or the
/// mean of each divided by its number of labels, at least 1. With zero_infinity infinite ones count
/// as 0. log_probs [T, B, C], or [T, C] of one sequence, whose loss has no dimension.
///
/// Otherwise as ctc_loss_forward. aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[]
/// input_lengths, int[] target_lengths, int blank=0, int reduction=Mean, bool zero_infinity=False)
/// -> Tensor
template <stream_like S, tensor_like X, tensor_like Targets, class L, class M>
[[nodiscard]] auto ctc_loss(const S& stream, const X& log_probs, const Targets& targets,
                            const L& input_lengths, const M& target_lengths, i64 blank = 0,
                            loss_reduction reduced = reduction::mean, bool zero_infinity = false) {
  constexpr const char* op = "ctc_loss";
  same_device<S, X, Targets>();
  using T = value_t<const X&>;
  using C = kernels::compute_type<T>;
  const reduction how = reduced.of(op);
  const auto given = detail::input_of(log_probs);
  const bool is_one = given.rank() == 2;
  const auto batch = detail::ctc_batch_of(op, stream, is_one ? given.unsqueeze(1) : given, targets,
                                          input_lengths, target_lengths, blank);
  auto losses = detail::ctc_forward_of(op, stream, batch).first;
  const C infinity = kernels::from_bits<C>(kernels::infinity_bits<C>());
  if (zero_infinity && !losses.empty())
    assign(stream, losses, where(eq(losses, infinity), C(0), losses), op);
  const bool is_each = how == reduction::none;
  auto out = empty<T>(stream, is_each && !is_one ? losses.shape_of() : shape{}, op);
  if (is_each) {
    const auto each = is_one ? losses.view().squeeze(0) : losses.view();
    if (!out.empty()) assign(stream, out, cast<T>(each), op);
    return out;
  }
  const i64 sequences[] = {0};
  if (how == reduction::mean) {
    const auto counts = maximum(batch.lengths.view().select(0, 1), 1);
    detail::reduce_values<operators::mean, kernels::sum_of, C>(
        op, stream, div(losses, cast<C>(counts)), out.view(), int_list(sequences, 1), false,
        detail::reduction_result::mean);
  } else {
    detail::sum_into<C>(op, stream, losses, out.view(), int_list(sequences, 1), false);
  }
  return out;
}

}  // namespace flaggems
