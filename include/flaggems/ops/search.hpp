// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The places of numbers in sorted sequences.
#pragma once

#include <flaggems/kernel/family/order/search.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/plan/indices.hpp>
#include <flaggems/ops/plan/norm.hpp>

#include <optional>
#include <string_view>
#include <type_traits>

namespace flaggems {
namespace operators {
struct searchsorted;
}  // namespace operators

/// Whether the place of a number is before elements that equal it, or behind them.
enum class search_side : int { left, right };

/// The side of ATen's name. Raises invalid_argument for others.
inline search_side spelled(std::string_view text, std::type_identity<search_side>) {
  if (text == "left") return search_side::left;
  if (text == "right") return search_side::right;
  raise(errc::invalid_argument, "searchsorted", "a side of left or right", text);
}

namespace detail {

/// The type in which a number is looked for among elements of T.
template <class T, class V>
using searched_number =
    std::conditional_t<kind_of<T> == kind::floating, arithmetic_t<T>,
                       std::conditional_t<kind_of<V> == kind::floating, f32,
                                          std::conditional_t<std::is_same_v<T, u64>, u64, i64>>>;

/// Raises unless there is a sequence of sizes [n], or one for each of the values but their last
/// dimension.
inline void check_sequences(const char* op, const shape& sequences, const shape& values) {
  bool fits = sequences.rank() == 1 || (sequences.rank() > 1 && sequences.rank() == values.rank());
  for (int d = 0; fits && sequences.rank() > 1 && d + 1 < values.rank(); ++d)
    fits = sequences[d] == values[d];
  if (!fits) [[unlikely]]
    raise(errc::shape_mismatch, op,
          "one sequence, or sequences of the values' sizes but the last one",
          to_string(sequences) + " for values " + to_string(values));
}

template <class S, class T, class V, class O, class D>
void search_into(const char* op, const S& stream, const tensor_view<const T, D>& sequences,
                 const tensor_view<const V, D>& values, const tensor_view<O, D>& out, bool right,
                 const std::optional<search_side>& side,
                 const std::optional<tensor_view<const i64, D>>& sorter) {
  static_assert(std::is_same_v<O, i64> || std::is_same_v<O, i32>,
                "flaggems: places are of dtype i64 or i32");
  using C = arithmetic_t<typename decltype(common_type<T, V>())::type>;
  check_sequences(op, sequences.shape_of(), values.shape_of());
  check_output_sizes(op, values.shape_of(), out);
  check_separate(op, out, sequences, values, sorter);
  if (side == search_side::left && right) [[unlikely]]
    raise(errc::invalid_argument, op, "a side that right does not contradict", "left and true");
  const i64 n = sequences.size(-1);
  if (std::is_same_v<O, i32> && n >> 31 != 0) [[unlikely]]
    raise(errc::out_of_range, op, "places that i32 can hold", text(n));
  if (sorter) {
    check_same_sizes(op, sequences, *sorter);
    check_indices(op, stream, *sorter, n);
  }
  const bool behind = right || side == search_side::right;
  if (out.empty() ||
      replaced<operators::searchsorted>(op, stream, sequences, values, out, behind, sorter))
    return;
  const auto strides_of = [&](const auto& v) {
    shape strides = values.shape_of();
    for (int d = 0; d < strides.rank(); ++d)
      strides[d] = v.rank() > 1 && d + 1 < strides.rank() ? v.stride(d) : 0;
    return strides;
  };
  iteration it(out.sizes());
  it.add(out.sizes(), out.strides());
  it.add(out.sizes(), values.strides());
  it.add(out.sizes(), strides_of(sequences));
  it.add(out.sizes(), sorter ? strides_of(*sorter) : strides_of(sequences));
  it.collapse();
  using kernel = kernels::search<C, T, V, O>;
  kernels::target<O> to{out.data(), {}};
  kernels::arg<V, V> from{values.data(), {}};
  kernels::sorted_sequences<T> in{};
  in.data = sequences.data();
  in.step = sequences.stride(-1);
  in.order = sorter ? sorter->data() : nullptr;
  in.order_step = sorter ? sorter->stride(-1) : 0;
  in.length = n;
  it.copy_strides(0, to.strides);
  it.copy_strides(1, from.strides);
  it.copy_strides(2, in.strides);
  it.copy_strides(3, in.order_strides);
  const kernels::tiling space = it.tiles(kernel::tile);
  launch_config config;
  config.op = op;
  config.tiles = space.tiles;
  config.work = work_of(out.numel(), sizeof(V) + sizeof(O), 64);
  launch<kernel>(stream, config, space, to, from, in, static_cast<i32>(behind ? 1 : 0));
}

/// With a tensor of values, or a number, whose result has no dimensions.
template <class S, class X, class V, class Out, class Sorter>
void search_any(const char* op, const S& stream, const X& sequences, const V& values, Out&& out,
                bool right, const std::optional<search_side>& side, const Sorter& sorter) {
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Out, Sorter>();
  const auto order = optional_view<i64, D>(sorter);
  if constexpr (tensor_like<V>) {
    same_device<S, V>();
    search_into(op, stream, input_of(sequences), input_of(values), as_view(out), right, side,
                order);
  } else {
    const auto one = filled<searched_number<T, V>>(op, stream, {}, values);
    search_into(op, stream, input_of(sequences), input_of(one), as_view(out), right, side, order);
  }
}
template <class V>
shape searched_sizes(const V& values) {
  if constexpr (tensor_like<V>)
    return as_view(values).shape_of();
  else
    return {};
}

}  // namespace detail

/// out = the places at which `values`, a tensor or a number, would be put into sorted sequences: of
/// the first element that is not less, or, with `right` or that side, that is greater. The place of
/// NaN is behind all.
///
/// Shapes: sorted_sequence: [n], or that of values but for the last size; sorter, of i64: the same,
/// the order in which the sequences are sorted; out: the values' sizes, of i64 or i32. Numbers are
/// compared in the promoted dtype. Raises shape_mismatch, overlap, out_of_range (of the sorter,
/// where the host can read it), or invalid_argument if side is left and right is set.
/// aten::searchsorted.Tensor_out(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool
/// right=False, str? side=None, Tensor? sorter=None, Tensor(a!) out)
template <stream_like S, tensor_like X, class V, tensor_like Out,
          optional_tensor Sorter = std::nullopt_t>
requires(tensor_like<V> ||
         scalar_operand<V>) void searchsorted(const S& stream, const X& sorted_sequence,
                                              const V& values, Out&& out, bool right = false,
                                              std::optional<search_side> side = {},
                                              const Sorter& sorter = std::nullopt) {
  detail::search_any("searchsorted", stream, sorted_sequence, values, out, right, side, sorter);
}
/// The places in a new tensor of i64, or of Result. aten::searchsorted.Tensor(Tensor
/// sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor?
/// sorter=None)
template <class Result = i64, stream_like S, tensor_like X, class V,
          optional_tensor Sorter = std::nullopt_t>
requires(!tensor_like<Result> && (tensor_like<V> || scalar_operand<V>))
    [[nodiscard]] auto searchsorted(const S& stream, const X& sorted_sequence, const V& values,
                                    bool right = false, std::optional<search_side> side = {},
                                    const Sorter& sorter = std::nullopt) {
  auto out = empty<Result>(stream, detail::searched_sizes(values), "searchsorted");
  searchsorted(stream, sorted_sequence, values, out, right, side, sorter);
  return out;
}

/// out = the numbers of the intervals between sorted boundaries, a vector, in which the elements of
/// x, a tensor or a number, lie; as searchsorted. aten::bucketize.Tensor_out(Tensor self, Tensor
/// boundaries, *, bool out_int32=False, bool right=False, Tensor(a!) out)
template <stream_like S, class V, tensor_like X, tensor_like Out>
requires(tensor_like<V> || scalar_operand<V>) void bucketize(const S& stream, const V& x,
                                                             const X& boundaries, Out&& out,
                                                             bool right = false) {
  if (as_view(boundaries).rank() != 1) [[unlikely]]
    detail::raise_sizes("bucketize", "boundaries of one dimension", as_view(boundaries).sizes());
  detail::search_any("bucketize", stream, boundaries, x, out, right, {}, std::nullopt);
}
/// The numbers of intervals in a new tensor of i64, or of Result. aten::bucketize.Tensor(Tensor
/// self, Tensor boundaries, *, bool out_int32=False, bool right=False)
template <class Result = i64, stream_like S, class V, tensor_like X>
requires(!tensor_like<Result> && (tensor_like<V> || scalar_operand<V>))
    [[nodiscard]] auto bucketize(const S& stream, const V& x, const X& boundaries,
                                 bool right = false) {
  auto out = empty<Result>(stream, detail::searched_sizes(x), "bucketize");
  bucketize(stream, x, boundaries, out, right);
  return out;
}

}  // namespace flaggems
