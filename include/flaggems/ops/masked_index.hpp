// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads and sums of elements at indices that count where a mask says so; elsewhere they may lie
// outside.
#pragma once

#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gather.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/scatter.hpp>

#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

namespace flaggems {
namespace detail {

/// Copies of indices, those outside moved to the nearest end of their dimension.
template <class S, class D>
class indices_inside {
 public:
  template <class List>
  indices_inside(const char* op, const S& stream, const shape& sizes, const List& list)
      : op_(op), stream_(stream), sizes_(sizes) {
    if constexpr (requires { std::tuple_size<List>::value; })
      std::apply([&](const auto&... index) { (add(index), ...); }, list);
    else
      for (const auto& index : list) add(index);
    for (const auto& one : memory_)
      views_.push_back(one ? std::optional<tensor_view<const i64, D>>(one->view()) : std::nullopt);
  }
  [[nodiscard]] const std::vector<std::optional<tensor_view<const i64, D>>>& views() const {
    return views_;
  }
  [[nodiscard]] bool is_indexed(int d) const {
    return d < static_cast<int>(memory_.size()) && memory_[static_cast<std::size_t>(d)].has_value();
  }

 private:
  template <class X>
  void add(const X& index) {
    if constexpr (std::is_same_v<X, std::nullopt_t>) {
      memory_.emplace_back();
    } else if constexpr (is_optional_index<X>) {
      if (index)
        add(*index);
      else
        memory_.emplace_back();
    } else if constexpr (std::is_same_v<X, any_view<D>>) {
      if (is_absent(index))
        memory_.emplace_back();
      else if (index.dtype() == dtype::i64)
        add(index.template as<const i64>());
      else if (index.dtype() == dtype::i32)
        add(index.template as<const i32>());
      else
        raise(errc::dtype_mismatch, op_, "indices of dtype i64 or i32", to_string(index.dtype()));
    } else {
      using J = value_t<const X&>;
      static_assert(std::is_same_v<J, i64> || std::is_same_v<J, i32>,
                    "flaggems: indices are of dtype i64 or i32");
      const int d = static_cast<int>(memory_.size());
      if (d >= sizes_.rank()) [[unlikely]]
        raise(errc::invalid_argument, op_, "at most " + text(sizes_.rank()) + " indices", "more");
      const i64 n = sizes_[d] == 0 ? 1 : sizes_[d];
      auto own = empty<i64>(stream_, as_view(index).shape_of(), op_);
      if (!own.empty())
        assign(stream_, own, minimum(maximum(cast<i64>(as_view(index)), -n), n - 1), op_);
      memory_.emplace_back(std::move(own));
    }
  }

  const char* op_;
  const S& stream_;
  shape sizes_;
  std::vector<std::optional<tensor<i64, D>>> memory_;
  std::vector<std::optional<tensor_view<const i64, D>>> views_;
};

}  // namespace detail

/// x[i, :, j] where the mask is true, `fill` elsewhere, in a new tensor.
///
/// mask of bool, which broadcasts to the result; indices as in `index`, of i64 or i32: where the
/// mask is true they are meant to be in range, others are moved to the nearest end. A dimension
/// without elements may be indexed; then all of the result is `fill`. Raises shape_mismatch or
/// invalid_argument. aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar
/// fill)
template <stream_like S, tensor_like X, tensor_like Mask, class List, scalar_operand V>
[[nodiscard]] auto unsafe_masked_index(const S& stream, const X& x, const Mask& mask,
                                       const List& indices, V fill) {
  constexpr const char* op = "unsafe_masked_index";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Mask>();
  static_assert(std::is_same_v<value_t<const Mask&>, bool>, "flaggems: a mask is of bool");
  const tensor_view<const T, D> from(as_view(x));
  const tensor_view<const bool, D> where_true(as_view(mask));
  const detail::indices_inside<S, D> inside(op, stream, from.shape_of(), indices);
  const auto value = detail::filled<T>(op, stream, {}, fill);
  const auto masked = [&](auto found) {
    assign(stream, found, where(where_true, found, value), op);
    return found;
  };
  if (!from.empty()) return masked(index(stream, from, inside.views()));
  shape sizes = from.shape_of();
  for (int d = 0; d < sizes.rank(); ++d)
    if (sizes[d] == 0 && inside.is_indexed(d)) sizes[d] = 1;
  return masked(index(stream, detail::filled<T>(op, stream, sizes, fill), inside.views()));
}

/// x with the values added where the mask is true, at indices as in unsafe_masked_index, in a new
/// tensor; values of one place are summed.
///
/// mask of bool and values broadcast together to the sizes that x has at the indices. Raises
/// shape_mismatch or invalid_argument. aten::_unsafe_masked_index_put_accumulate(Tensor self,
/// Tensor mask, Tensor?[] indices, Tensor values)
template <stream_like S, tensor_like X, tensor_like Mask, class List, tensor_like Values>
[[nodiscard]] auto unsafe_masked_index_put_accumulate(const S& stream, const X& x, const Mask& mask,
                                                      const List& indices, const Values& values) {
  constexpr const char* op = "unsafe_masked_index_put_accumulate";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Mask, Values>();
  static_assert(
      std::is_same_v<value_t<const Mask&>, bool> && std::is_same_v<value_t<const Values&>, T>,
      "flaggems: a mask is of bool, values of the dtype of what they are added to");
  const tensor_view<const T, D> to(as_view(x)), added(as_view(values));
  const tensor_view<const bool, D> where_true(as_view(mask));
  const detail::indices_inside<S, D> inside(op, stream, to.shape_of(), indices);
  if (to.empty()) return detail::copied<T>(op, stream, to, memory_format::preserve_format);
  const auto zero = detail::filled<T>(op, stream, {}, 0);
  auto kept = empty<T>(stream, broadcast_shapes(added.shape_of(), where_true.shape_of(), op), op);
  if (!kept.empty()) assign(stream, kept, where(where_true, added, zero), op);
  return index_put(stream, to, inside.views(), kept, true);
}

}  // namespace flaggems
