// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A list of index tensors, one for each of some first dimensions: what index and index_put take.
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/nonzero.hpp>
#include <flaggems/ops/plan/indices.hpp>
#include <flaggems/tensor/any_view.hpp>

#include <optional>
#include <span>
#include <tuple>
#include <vector>

namespace flaggems::detail {

template <class X>
inline constexpr bool is_optional_index = false;
template <class X>
inline constexpr bool is_optional_index<std::optional<X>> = true;
template <>
inline constexpr bool is_optional_index<std::nullopt_t> = true;

/// The indices as views of i64, those of bool replaced by the coordinates of their true elements;
/// raises for what does not fit x's sizes, and for indices out of range.
template <class S, class D>
class index_list {
 public:
  using entry = std::optional<tensor_view<const i64, D>>;

  template <class List>
  index_list(const char* op, const S& stream, const shape& x, const List& list)
      : op_(op), x_(x), stream_(stream) {
    if constexpr (requires { std::tuple_size<List>::value; })
      std::apply([&](const auto&... index) { (add(index), ...); }, list);
    else
      for (const auto& index : list) add(index);
    int first = -1, last = -1;
    bool any = false;
    for (int d = 0; d < static_cast<int>(views_.size()); ++d) {
      if (!views_[static_cast<std::size_t>(d)]) continue;
      const auto& v = *views_[static_cast<std::size_t>(d)];
      sizes_ = any ? broadcast_shapes(sizes_, v.shape_of(), op) : v.shape_of();
      if (!any) first = d;
      beside_ = beside_ && (!any || last == d - 1);
      last = d;
      any = true;
    }
    if (!any) [[unlikely]]
      raise(errc::invalid_argument, op, "at least one index", "none");
    place_ = beside_ ? first : 0;
    for (int d = 0; d < static_cast<int>(views_.size()); ++d)
      if (const entry& v = views_[static_cast<std::size_t>(d)])
        check_indices(op, stream, *v, x_[d], {}, true);
    if (x_.rank() - count() + sizes_.rank() > max_rank) [[unlikely]]
      raise(errc::invalid_argument, op, "a result of at most 8 dimensions",
            text(x_.rank() - count() + sizes_.rank()));
  }

  [[nodiscard]] std::span<const entry> views() const { return views_; }
  /// The sizes that the indices broadcast to, and where they stand in the result's.
  [[nodiscard]] const shape& index_sizes() const { return sizes_; }
  [[nodiscard]] int place() const { return place_; }
  [[nodiscard]] shape result_sizes() const {
    shape r;
    for (int d = 0; d < x_.rank(); ++d)
      if (!is_indexed(d)) r.push_back(x_[d]);
    for (int d = 0; d < sizes_.rank(); ++d) r.insert(place_ + d, sizes_[d]);
    return r;
  }
  /// Those of a new result: in the order of x's dimensions in memory, and the indices'.
  template <class T>
  [[nodiscard]] shape result_strides(const tensor_view<T, D>& x) const {
    const shape sizes = result_sizes(), strides = kept_strides(operand(x));
    return dense_strides(sizes, 1 + static_cast<int>(views_.size()), [&](int k, int d) -> i64 {
      if (k == 0) return strides[d];
      const entry& v = views_[static_cast<std::size_t>(k - 1)];
      const int own = v ? d - place_ - (sizes_.rank() - v->rank()) : -1;
      return own < 0 || own >= v->rank() || v->size(own) != sizes[d] ? 0 : v->stride(own);
    });
  }
  /// Raises overlap if an index shares memory with what is written.
  void check(const placed_layout& written) const {
    for (const entry& v : views_)
      if (v) check_no_overlap(op_, written, layout_of(*v));
  }
  /// x as the indices see it: with a dimension of size 1 for each mask without dimensions.
  template <class T>
  [[nodiscard]] tensor_view<T, D> operand(tensor_view<T, D> x) const {
    for (int d = 0; d < x_.rank(); ++d)
      if ((added_ >> d & 1u) != 0) x = x.unsqueeze(d);
    return x;
  }
  /// That of the strides of an operand's indexed dimensions.
  template <class T>
  [[nodiscard]] common_step step_of(const tensor_view<T, D>& x) const {
    common_step step;
    for (int d = 0; d < x_.rank(); ++d)
      if (is_indexed(d)) step.add(x_[d], x.stride(d));
    return step;
  }
  /// The elements of an operand that are meant, over the result's dimensions (one, if it has none);
  /// writes their offsets.
  template <class T>
  auto elements(const tensor_view<T, D>& x, element_offsets<S, D>& offsets) const {
    for (int d = 0; d < x_.rank(); ++d)
      if (is_indexed(d))
        offsets.add(leaf<i64, D>{*views_[static_cast<std::size_t>(d)]}, x_[d], x.stride(d), true);
    shape strides = kept_strides(x);
    shape sizes = result_sizes();
    tensor_view<const i64, D> index = offsets.view();
    for (int d = place_ + sizes_.rank(); d < sizes.rank(); ++d) index = index.unsqueeze(-1);
    if (sizes.rank() == 0) sizes.push_back(1), strides.push_back(0);
    return indexed_elements<T, i64, D>{x.data() + offsets.lowest(), strides, offsets.reach(),
                                       offsets.step(), index.expand(sizes)};
  }
  /// The result's dimensions in which several elements may be of one place.
  [[nodiscard]] u32 meeting() const {
    const int n = sizes_.rank();
    return ((u32{1} << n) - 1u) << place_;
  }

 private:
  /// x's strides in the result's dimensions; 0 in those of the indices.
  template <class T>
  [[nodiscard]] shape kept_strides(const tensor_view<T, D>& x) const {
    shape strides;
    for (int d = 0; d < x_.rank(); ++d)
      if (!is_indexed(d)) strides.push_back(x.stride(d));
    for (int d = 0; d < sizes_.rank(); ++d) strides.insert(place_ + d, 0);
    return strides;
  }
  [[nodiscard]] bool is_indexed(int d) const {
    return d < static_cast<int>(views_.size()) && views_[static_cast<std::size_t>(d)].has_value();
  }
  [[nodiscard]] int count() const {
    int n = 0;
    for (const entry& v : views_) n += v ? 1 : 0;
    return n;
  }
  void put(entry v) {
    if (static_cast<int>(views_.size()) >= x_.rank()) [[unlikely]]
      raise(errc::invalid_argument, op_, "at most " + text(x_.rank()) + " indices", "more");
    views_.push_back(std::move(v));
  }
  template <class X>
  void add(const X& index) {
    if constexpr (std::is_same_v<X, std::nullopt_t>) {
      put({});
    } else if constexpr (is_optional_index<X>) {
      if (index)
        add(*index);
      else
        put({});
    } else if constexpr (std::is_same_v<X, any_view<D>>) {
      add_any(index);
    } else {
      using J = value_t<const X&>;
      static_assert(std::is_same_v<J, i64> || std::is_same_v<J, i32> || std::is_same_v<J, bool>,
                    "flaggems: indices are of dtype i64, i32 or bool");
      const tensor_view<const J, D> v(as_view(index));
      if constexpr (std::is_same_v<J, bool>) {
        const int first = static_cast<int>(views_.size());
        for (int d = 0; d < v.rank(); ++d)
          if (first + d >= x_.rank() || v.size(d) != x_[first + d]) [[unlikely]]
            raise_shapes(op_, "a mask of the sizes of the dimensions that it is for", x_,
                         v.shape_of());
        if (v.rank() == 0) {  // index 0 or none, of a dimension of its own
          if (x_.rank() == max_rank) [[unlikely]]
            raise(errc::invalid_argument, op_, "at most 8 dimensions with those of masks", "more");
          x_.insert(first, 1);
          added_ |= u32{1} << first;
          memory_.push_back(nonzero_indices(op_, stream_, v));
          put(tensor_view<const i64, D>(memory_.back().view()));
          return;
        }
        const auto columns = own(nonzero_indices(op_, stream_, v), v.shape_of());
        for (int d = 0; d < v.rank(); ++d) put(columns.select(1, d));
      } else if constexpr (std::is_same_v<J, i32>) {
        memory_.push_back(copied<i64>(op_, stream_, v));
        put(tensor_view<const i64, D>(memory_.back().view()));
      } else {
        put(v);
      }
    }
  }
  /// An index whose dtype is known at run time; any_view() stands for none.
  void add_any(const any_view<D>& index) {
    switch (index.dtype()) {
      case dtype::i64: return add(index.template as<const i64>());
      case dtype::i32: return add(index.template as<const i32>());
      case dtype::bool_: return add(index.template as<const bool>());
      default: break;
    }
    if (!is_absent(index)) [[unlikely]]
      raise(errc::dtype_mismatch, op_, "indices of dtype i64, i32 or bool",
            to_string(index.dtype()));
    put({});
  }
  tensor_view<const i64, D> own(const tensor<i64, D>& indices, const shape& sizes) {
    memory_.push_back(empty<i64>(stream_, {indices.numel(), sizes.rank()}, op_));
    const auto columns = memory_.back().view();
    if (!columns.empty()) put_coordinates(op_, stream_, indices.view(), sizes, columns);
    return columns;
  }

  const char* op_;
  shape x_, sizes_;
  const S& stream_;
  u32 added_ = 0;  // the dimensions that x gets for masks without any
  bool beside_ = true;
  int place_ = 0;
  std::vector<entry> views_;
  std::vector<tensor<i64, D>> memory_;
};

}  // namespace flaggems::detail
