// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Batches of sequences of several lengths: between rows one after the other and rows that are
// padded to one length, and what is chosen of each row of logits.
#pragma once

#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/comparison.hpp>
#include <flaggems/ops/nonzero.hpp>
#include <flaggems/ops/scan.hpp>
#include <flaggems/ops/search.hpp>
#include <flaggems/ops/statistics.hpp>
#include <flaggems/ops/topk.hpp>

#include <limits>
#include <span>
#include <type_traits>

namespace flaggems {
namespace detail {

/// The elements of x, of an index dimension first, at places; `pad` where those are -1.
template <class S, class T, class D>
auto padded_rows(const char* op, const S& stream, const tensor_view<const T, D>& x,
                 const tensor_view<const i64, D>& places, f64 pad) {
  if (places.rank() + x.rank() - 1 > max_rank) [[unlikely]]
    raise_rank(op, places.rank() + x.rank() - 1);
  shape sizes = places.shape_of();
  tensor_view<const i64, D> index = places;
  for (int d = 1; d < x.rank(); ++d) {
    sizes.push_back(x.size(d));
    index = index.unsqueeze(-1);
  }
  auto out = empty<T>(stream, sizes, op);
  if (out.empty()) return out;
  if (x.size(0) == 0) {
    fill(op, stream, out.view(), pad);
    return out;
  }
  check_indices(op, stream, places, x.size(0), i64(-1));
  const auto first = evaluate(stream, maximum(index, 0), op);  // where there is none
  shape strides = sizes;
  for (int d = 0; d < sizes.rank(); ++d) {
    const int own = d - places.rank() + 1;
    strides[d] = own > 0 ? x.stride(own) : 0;
  }
  launch_gather(op, stream,
                indexed_elements<const T, i64, D>{x.data(), strides, x.size(0), x.stride(0),
                                                  input_of(first).expand(sizes)},
                out.view());
  assign(stream, out, where(lt(index, 0), kernels::number_cast<T>(pad), out), op);
  return out;
}

/// The elements of a list at places.
template <class S, class D>
auto listed(const char* op, const S& stream, const tensor_view<const i64, D>& list,
            const tensor_view<const i64, D>& places) {
  auto out = empty<i64>(stream, places.shape_of(), op);
  shape none = places.shape_of();
  for (i64& k : none) k = 0;
  if (!out.empty())
    launch_gather(op, stream,
                  indexed_elements<const i64, i64, D>{list.data(), none, list.numel(),
                                                      list.stride(0), places},
                  out.view());
  return out;
}

/// The places in the next level of the parts at places, -1 where there is none: of each its first
/// and those behind it, -1 from its end on.
template <class S, class D>
auto places_within(const char* op, const S& stream, const tensor_view<const i64, D>& places,
                   const tensor_view<const i64, D>& offsets, i64 length) {
  if (places.rank() == max_rank) [[unlikely]]
    raise_rank(op, places.rank() + 1);
  shape sizes = places.shape_of();
  sizes.push_back(length);
  check_indices(op, stream, places, offsets.numel() - 1, i64(-1));
  const auto own = evaluate(stream, maximum(places, 0), op),
             behind = evaluate(stream, add(places, 1), op);
  const auto first = listed(op, stream, offsets, input_of(own)),
             end = listed(op, stream, offsets, input_of(behind));
  auto out = empty<i64>(stream, sizes, op);
  const expr<coordinate<D>> k(coordinate<D>(sizes, sizes.rank() - 1));
  const auto begins = first.view().unsqueeze(-1), ends = end.view().unsqueeze(-1);
  if (!out.empty())
    assign(stream, out, where(lt(k, sub(ends, begins)), add(begins, k), i64(-1)), op);
  return out;
}

/// 0 and the running sums of lengths, a vector of integers that are not negative.
template <class S, class X>
auto offsets_of(const char* op, const S& stream, const X& lengths) {
  const auto v = input_of(lengths);
  if (v.rank() != 1) [[unlikely]]
    raise_sizes(op, "a vector of lengths", v.sizes());
  const i64 n = v.numel();
  auto out = empty<i64>(stream, {n + 1}, op);
  fill(op, stream, out.view().narrow(0, 0, 1), 0);
  if (n > 0) cumsum(stream, v, out.view().narrow(0, 1, n), 0);
  return out;
}

/// The longest of lengths, 0 without any. Raises invalid_argument unless each is in [0, most] and
/// their sum at most `total`. It waits for the stream. offsets: as offsets_of has them.
template <class S, class X>
i64 checked_longest(const char* op, const S& stream, const X& lengths,
                    const tensor<i64, device_of<S>>& offsets, i64 most, i64 total) {
  if (offsets.numel() == 1) return 0;
  const auto [low, high] = aminmax(stream, lengths);
  const i64 least = static_cast<i64>(read_element(stream, low.view())),
            longest = static_cast<i64>(read_element(stream, high.view()));
  if (least < 0 || longest > most) [[unlikely]]
    raise(errc::invalid_argument, op, "lengths in [0, " + text(most) + "]",
          text(least < 0 ? least : longest));
  // A step is below 2^63, so that no sum wraps around without a negative one before it.
  const auto [first, last] = aminmax(stream, offsets);
  const i64 sum = read_element(stream, last.view());
  const bool wraps = read_element(stream, first.view()) < 0;
  if (wraps || sum > total) [[unlikely]]
    raise(errc::invalid_argument, op, "lengths that add up to at most " + text(total),
          wraps ? text("2^63 or more") : text(sum));
  return longest;
}

/// jagged_to_padded_dense_forward in the name of `op`.
template <class S, class T, class D, class List>
auto padded_batch(const char* op, const S& stream, const tensor_view<const T, D>& v,
                  const List& offsets, int_list max_lengths, f64 padding_value) {
  const auto levels = static_cast<int>(std::size(offsets));
  if (v.rank() == 0 || levels == 0 || max_lengths.size() != levels) [[unlikely]]
    raise(errc::invalid_argument, op, "values of some dimension, and a length for each of offsets",
          text(levels) + " and " + text(max_lengths.size()));
  tensor<i64, D> places;
  int level = 0;
  for (const auto& one : offsets) {
    const tensor_view<const i64, D> own(as_view(one));
    if (own.rank() != 1 || own.numel() == 0) [[unlikely]]
      raise_sizes(op, "vectors of at least one offset", own.sizes());
    if (max_lengths[level] < 0) [[unlikely]]
      raise_sizes(op, "lengths that are not negative", max_lengths);
    if (level == 0) {
      places = empty<i64>(stream, {own.numel() - 1}, op);
      if (!places.empty()) assign_node(op, stream, places.view(), sequence<i64>{0, 1});
    }
    places = places_within(op, stream, input_of(places), own, max_lengths[level++]);
  }
  return padded_rows(op, stream, v, input_of(places), padding_value);
}

/// indices = those of the most of logits in [first, end) of each row, less `base`, the rest -1.
template <class S, class T, class D, class First, class End, class Base, class J>
void top_k_within(const char* op, const S& stream, const tensor_view<const T, D>& logits,
                  const First& first, const End& end, const Base& base,
                  const tensor_view<J, D>& indices) {
  const i64 rows = logits.size(0), n = logits.size(1);
  const i64 k = kernels::min_of(indices.size(1), n);
  fill(op, stream, indices, -1);
  if (rows == 0 || k == 0) return;
  // Least of the negatives, so that NaN puts what is outside behind all numbers.
  const expr<coordinate<D>> column(coordinate<D>(logits.shape_of(), 1));
  const auto keys =
      evaluate(stream,
               where(logical_and(ge(column, first), lt(column, end)), cast<T>(neg(logits)),
                     kernels::number_cast<T>(std::numeric_limits<f32>::quiet_NaN())),
               op);
  const auto found = topk(stream, keys, k, 1, false);
  const auto places = found.indices.view();
  assign(
      stream, indices.narrow(1, 0, k),
      cast<J>(where(logical_and(ge(places, first), lt(places, end)), sub(places, base), i64(-1))),
      op);
}
template <class A, class B>
void check_sizes_of_rows(const char* op, i64 rows, const A& a, const B& b) {
  if (a.rank() != 1 || a.numel() != rows || b.rank() != 1 || b.numel() != rows) [[unlikely]]
    raise(errc::shape_mismatch, op, "vectors of " + text(rows) + " elements",
          to_string(shape(a.sizes())) + " and " + to_string(shape(b.sizes())));
}
template <class X, class J>
void check_top_k(const char* op, const X& logits, const J& indices) {
  if (logits.rank() != 2 || indices.rank() != 2 || indices.size(0) != logits.size(0)) [[unlikely]]
    raise(errc::shape_mismatch, op, "logits [rows, n] and indices [rows, k]",
          to_string(shape(logits.sizes())) + " and " + to_string(shape(indices.sizes())));
  check_separate(op, indices, logits);
}

}  // namespace detail

/// Rows of values one after the other as a padded batch, in a new tensor.
///
/// values: [total, ...]; offsets: one or more vectors of i64, a level each: where the parts of the
/// next level begin, and where the last one ends. The result is [parts of the first level,
/// max_lengths..., ...]. Longer parts are cut. Raises invalid_argument.
/// aten::_jagged_to_padded_dense_forward(Tensor values, Tensor[] offsets, SymInt[] max_lengths,
/// float padding_value=0.)
template <stream_like S, tensor_like X, class List>
requires(!tensor_like<List>)
    [[nodiscard]] auto jagged_to_padded_dense_forward(const S& stream, const X& values,
                                                      const List& offsets, int_list max_lengths,
                                                      f64 padding_value = 0) {
  same_device<S, X>();
  return detail::padded_batch("jagged_to_padded_dense_forward", stream, detail::input_of(values),
                              offsets, max_lengths, padding_value);
}

/// Sequences one after the other, x [total, ...] with `lengths`, as a batch [sequences, longest,
/// ...] with pad_value behind each, in a new tensor. Rows of x behind the last sequence are left
/// out, as by FlagGems. It waits for the stream. Raises invalid_argument, also for lengths that are
/// negative or add up to more than total. flag_gems::pack_seq_triton(Tensor x, Tensor lengths,
/// float pad_value=-inf)
template <stream_like S, tensor_like X, tensor_like Lengths>
[[nodiscard]] auto pack_seq(const S& stream, const X& x, const Lengths& lengths,
                            f64 pad_value = -std::numeric_limits<f64>::infinity()) {
  constexpr const char* op = "pack_seq";
  same_device<S, X, Lengths>();
  const auto v = detail::input_of(x);
  if (v.rank() == 0) [[unlikely]]
    detail::raise_sizes(op, "rows one after the other", v.sizes());
  const auto offsets = detail::offsets_of(op, stream, lengths);
  const i64 longest = detail::checked_longest(op, stream, lengths, offsets, v.size(0), v.size(0));
  const tensor_view<const i64, device_of<S>> list[] = {offsets.view()};
  return detail::padded_batch(op, stream, v, list, {longest}, pad_value);
}

/// The sequences of a padded batch [sequences, longest, ...] one after the other, [total, ...], in
/// a new tensor: the inverse of pack_seq. It waits for the stream. Raises invalid_argument, also
/// for lengths outside [0, longest]. flag_gems::unpack_seq_triton(Tensor packed_tensor, Tensor
/// lengths)
template <stream_like S, tensor_like X, tensor_like Lengths>
[[nodiscard]] auto unpack_seq(const S& stream, const X& packed, const Lengths& lengths) {
  constexpr const char* op = "unpack_seq";
  using T = value_t<const X&>;
  same_device<S, X, Lengths>();
  const auto v = detail::input_of(packed);
  const auto offsets = detail::offsets_of(op, stream, lengths);
  const i64 n = offsets.numel() - 1;
  if (v.rank() < 2 || v.size(0) != n) [[unlikely]]
    detail::raise_sizes(op, "a batch of as many sequences as lengths", v.sizes());
  detail::checked_longest(op, stream, lengths, offsets, v.size(1), kernels::highest<i64>());
  const auto ends = detail::input_of(offsets);
  const i64 total = detail::read_element(stream, ends.narrow(0, n, 1));
  auto rows = empty<i64>(stream, {total}, op);
  if (total > 0) {
    detail::assign_node(op, stream, rows.view(), detail::sequence<i64>{0, 1});
    const auto sequences = searchsorted(stream, ends.narrow(0, 1, n), rows, true);
    const auto first = detail::listed(op, stream, ends, detail::input_of(sequences));
    assign(stream, rows, add(mul(sequences, v.size(1)), sub(rows, first)), op);
  }
  const auto own = detail::copied<T>(op, stream, v);
  return detail::padded_rows(op, stream, detail::input_of(own).flatten(0, 1),
                             detail::input_of(rows), 0);
}

/// indices = the places of the largest logits between the start and the end of each row, counted
/// from its start, the largest first; -1 where a row has fewer. NaN is last.
///
/// logits: [rows, n] of floating point; row_starts, row_ends: [rows] of integers; indices: [rows,
/// k] of i32 or i64. Raises shape_mismatch or overlap. flag_gems::top_k_per_row_prefill(Tensor
/// logits, Tensor row_starts, Tensor row_ends, Tensor(a!) indices)
template <stream_like S, tensor_like X, tensor_like First, tensor_like End, tensor_like J>
void top_k_per_row_prefill(const S& stream, const X& logits, const First& row_starts,
                           const End& row_ends, J&& indices) {
  constexpr const char* op = "top_k_per_row_prefill";
  same_device<S, X, First, End, J>();
  if constexpr (element_type_in<floating_types, 1, X>()) {
    const auto v = detail::input_of(logits);
    detail::check_top_k(op, v, as_view(indices));
    const auto first = as_view(row_starts);
    const auto end = as_view(row_ends);
    detail::check_sizes_of_rows(op, v.size(0), first, end);
    const auto base = cast<i64>(first.unsqueeze(1));
    detail::top_k_within(op, stream, v, base, cast<i64>(end.unsqueeze(1)), base, as_view(indices));
  }
}
/// The same, counted from the rows' beginnings, in a new tensor [rows, topk] of i32.
/// flag_gems::bucket_sort_topk(Tensor inputs, Tensor starts, Tensor ends, int topk) -> Tensor
template <stream_like S, tensor_like X, tensor_like First, tensor_like End>
[[nodiscard]] auto bucket_sort_topk(const S& stream, const X& inputs, const First& starts,
                                    const End& ends, i64 topk) {
  constexpr const char* op = "bucket_sort_topk";
  same_device<S, X, First, End>();
  const auto v = detail::input_of(inputs);
  const auto first = as_view(starts);
  const auto end = as_view(ends);
  if (v.rank() != 2 || topk < 0) [[unlikely]]
    raise(errc::shape_mismatch, op, "inputs [rows, n], and topk >= 0",
          to_string(shape(v.sizes())) + " and " + detail::text(topk));
  detail::check_sizes_of_rows(op, v.size(0), first, end);
  auto indices = empty<i32>(stream, {v.size(0), topk}, op);
  if constexpr (element_type_in<floating_types, 1, X>())
    detail::top_k_within(op, stream, v, cast<i64>(first.unsqueeze(1)), cast<i64>(end.unsqueeze(1)),
                         i64(0), indices.view());
  return indices;
}
/// The same for the next_n tokens of each sequence, a row each: the last token sees the first
/// seq_lens elements, each token before it one less. Raises also invalid_argument, for a next_n
/// below 1. flag_gems::top_k_per_row_decode(Tensor logits, int next_n, Tensor seq_lens, Tensor(a!)
/// indices)
template <stream_like S, tensor_like X, tensor_like Lengths, tensor_like J>
void top_k_per_row_decode(const S& stream, const X& logits, i64 next_n, const Lengths& seq_lens,
                          J&& indices) {
  constexpr const char* op = "top_k_per_row_decode";
  using D = device_of<S>;
  same_device<S, X, Lengths, J>();
  if constexpr (element_type_in<floating_types, 1, X>()) {
    const auto v = detail::input_of(logits);
    const auto lengths = as_view(seq_lens);
    detail::check_top_k(op, v, as_view(indices));
    if (next_n < 1) [[unlikely]]
      raise(errc::invalid_argument, op, "a positive next_n", detail::text(next_n));
    i64 rows = 0;
    if (lengths.rank() != 1 || !detail::multiply(lengths.numel(), next_n, rows) ||
        rows != v.size(0)) [[unlikely]]
      raise(errc::shape_mismatch, op, "a length for each " + detail::text(next_n) + " rows",
            to_string(shape(lengths.sizes())) + " for " + detail::text(v.size(0)) + " rows");
    auto ends = empty<i64>(stream, {lengths.numel(), next_n}, op);
    const expr<detail::coordinate<D>> token(detail::coordinate<D>(ends.shape_of(), 1));
    if (!ends.empty())
      assign(stream, ends, add(sub(cast<i64>(lengths.unsqueeze(1)), next_n - 1), token), op);
    detail::top_k_within(op, stream, v, i64(0),
                         detail::input_of(ends).view({v.size(0)}).unsqueeze(1), i64(0),
                         as_view(indices));
  }
}

/// logits, in place: those of tokens that a row's prompt or output has are divided by its penalty
/// where they are positive, and multiplied by it elsewhere. logits: [rows, n] of floating point;
/// prompt_mask, output_mask: the same of bool; repetition_penalties: [rows] of that dtype. Raises
/// shape_mismatch or overlap. flag_gems::apply_repetition_penalties(Tensor(a!) logits, Tensor
/// prompt_mask, Tensor output_mask, Tensor repetition_penalties)
template <stream_like S, tensor_like X, tensor_like Prompt, tensor_like Output,
          tensor_like Penalties>
void apply_repetition_penalties(const S& stream, X&& logits, const Prompt& prompt_mask,
                                const Output& output_mask, const Penalties& repetition_penalties) {
  constexpr const char* op = "apply_repetition_penalties";
  using T = value_t<X>;
  same_device<S, X, Prompt, Output, Penalties>();
  static_assert(std::is_same_v<value_t<const Prompt&>, bool> &&
                    std::is_same_v<value_t<const Output&>, bool> &&
                    std::is_same_v<value_t<const Penalties&>, T>,
                "flaggems: masks are of bool, penalties of the logits' dtype");
  if constexpr (element_type_in<floating_types, 1, X>()) {
    const auto v = as_view(logits);
    const auto by = as_view(repetition_penalties);
    check_same_sizes(op, v, as_view(prompt_mask));
    check_same_sizes(op, v, as_view(output_mask));
    if (v.rank() != 2) [[unlikely]]
      detail::raise_sizes(op, "logits of two dimensions", v.sizes());
    detail::check_sizes_of_rows(op, v.size(0), by, by);
    const auto each = by.unsqueeze(1);
    assign(stream, v,
           where(logical_or(as_view(prompt_mask), as_view(output_mask)),
                 where(gt(v, 0), div(v, each), mul(v, each)), v),
           op);
  }
}

namespace detail {
/// Scores of beams beside log_probs: a number each stands before the last dimension.
template <class X, class Scores>
auto beside_probabilities(const X& log_probs, const Scores& scores) {
  return scores.rank() == 1 && log_probs.rank() > 1 ? scores.unsqueeze(-1) : scores;
}
}  // namespace detail

/// Scores of beams that are continued: log_probs + beam_scores, [beams] or [beams, 1] beside
/// [beams, n], as `add`. flag_gems::BeamSearchScore(Tensor log_probs, Tensor beam_scores) -> Tensor
/// (beam_search_score)
template <stream_like S, tensor_like X, tensor_like Scores, tensor_like Out>
void beam_search_score(const S& stream, const X& log_probs, const Scores& beam_scores, Out&& out) {
  add(stream, as_view(log_probs),
      detail::beside_probabilities(as_view(log_probs), as_view(beam_scores)), out);
}
template <stream_like S, tensor_like X, tensor_like Scores>
[[nodiscard]] auto beam_search_score(const S& stream, const X& log_probs,
                                     const Scores& beam_scores) {
  return add(stream, as_view(log_probs),
             detail::beside_probabilities(as_view(log_probs), as_view(beam_scores)));
}
/// The same in place. flag_gems::beam_search_score_(Tensor(a!) log_probs, Tensor beam_scores)
template <stream_like S, tensor_like X, tensor_like Scores>
void beam_search_score_(const S& stream, X&& log_probs, const Scores& beam_scores) {
  beam_search_score(stream, log_probs, beam_scores, log_probs);
}

}  // namespace flaggems
