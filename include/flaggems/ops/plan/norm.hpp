// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operands of normalisations as rows: over the trailing dimensions, or groups of channels.
#pragma once

#include <flaggems/kernel/family/row/contract.hpp>
#include <flaggems/kernel/family/row/space.hpp>
#include <flaggems/ops/plan/rows.hpp>
#include <flaggems/tensor/dtype.hpp>
#include <flaggems/tensor/optional.hpp>

#include <tuple>
#include <utility>

namespace flaggems::detail {

/// The rows of a normalisation, filled operand by operand: those of full size first.
class norm_plan {
 public:
  /// `dense`: all operands are contiguous, so that there is nothing to plan.
  norm_plan(std::span<const i64> sizes, int normalized, bool dense)
      : normalized_(static_cast<std::size_t>(normalized)),
        dense_(dense),
        outer_(sizes.first(dense ? 0 : sizes.size() - normalized_)),
        inner_(sizes.last(dense ? 0 : normalized_)) {
    if (!dense) return;
    i64 rows = 1, length = 1;
    for (std::size_t d = 0; d < sizes.size(); ++d)
      (d + normalized_ < sizes.size() ? rows : length) *= sizes[d];
    rows_ = rows;
    length_ = length;
  }

  template <class V>
  void add(const V& v) {
    ++full_;
    if (dense_) return;
    const std::size_t outer = v.sizes().size() - normalized_;
    outer_.add(v.sizes().first(outer), v.strides().first(outer));
    inner_.add(v.sizes().last(normalized_), v.strides().last(normalized_));
  }
  /// An operand with an element for each row, of the sizes before those normalised over, added
  /// after those of full size; its arguments are by_row and by_row_target.
  void add_by_row(std::span<const i64> sizes, std::span<const i64> strides) {
    if (dense_) return;
    outer_.add(sizes, strides);
  }
  /// The same, with sizes 1 behind those.
  template <class V>
  void add_by_row(const V& v) {
    const std::size_t outer = v.sizes().size() - normalized_;
    add_by_row(v.sizes().first(outer), v.strides().first(outer));
  }
  /// A weight or bias; as if broadcast along nothing if there is none.
  template <class V>
  void add_inner(const std::optional<V>& v) {
    if (dense_) return;
    static constexpr i64 none[max_rank] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (v)
      inner_.add(v->sizes(), v->strides());
    else
      inner_.add(std::span<const i64>(none, normalized_), std::span<const i64>(none, normalized_));
  }
  [[nodiscard]] bool empty() const {
    return rows_ * length_ == 0 || outer_.empty() || inner_.empty();
  }

  /// Call once, after the last operand. `in_order`: rows' elements stay in the order of their
  /// dimensions.
  [[nodiscard]] kernels::norm_space space(bool in_order = false) {
    if (dense_) return {1, 1, {rows_, length_}, rows_, length_};
    outer_.collapse();
    if (in_order)
      inner_.merge();
    else
      inner_.collapse();
    kernels::norm_space s{};
    s.outer_rank = outer_.rank();
    s.inner_rank = inner_.rank();
    s.rows = outer_.numel();
    s.length = inner_.numel();
    for (int d = 0; d < s.outer_rank; ++d) s.sizes[d] = outer_.size(d);
    for (int d = 0; d < s.inner_rank; ++d) s.sizes[s.outer_rank + d] = inner_.size(d);
    return s;
  }
  template <class T, class D>
  [[nodiscard]] kernels::row_arg<std::remove_const_t<T>> arg(int operand,
                                                             const tensor_view<T, D>& v) const {
    kernels::row_arg<std::remove_const_t<T>> r{v.data(), {}};
    copy_strides(operand, r.strides);
    return r;
  }
  template <class T, class D>
  [[nodiscard]] kernels::row_arg<T> arg(int operand,
                                        const std::optional<tensor_view<const T, D>>& v) const {
    return v ? arg(operand, *v) : kernels::row_arg<T>{nullptr, {}};
  }
  template <class T, class D>
  [[nodiscard]] kernels::row_target<T> target(int operand, const tensor_view<T, D>& v) const {
    kernels::row_target<T> r{v.data(), {}};
    copy_strides(operand, r.strides);
    return r;
  }

  /// Operand `k` of those by row.
  template <class T, class D>
  [[nodiscard]] kernels::row_arg<std::remove_const_t<T>> by_row(int k,
                                                                const tensor_view<T, D>& v) const {
    kernels::row_arg<std::remove_const_t<T>> r{v.data(), {}};
    copy_row_strides(k, r.strides);
    return r;
  }
  template <class T, class D>
  [[nodiscard]] kernels::row_target<T> by_row_target(int k, const tensor_view<T, D>& v) const {
    kernels::row_target<T> r{v.data(), {}};
    copy_row_strides(k, r.strides);
    return r;
  }
  /// Operand `k` of those by row as the first of the channels of each row.
  template <class T, class D>
  [[nodiscard]] kernels::by_channel<T> by_channel(int k,
                                                  const std::optional<tensor_view<const T, D>>& v,
                                                  const kernels::row_channels& channels) const {
    kernels::by_channel<T> r{v ? v->data() : nullptr, {}, channels};
    copy_row_strides(k, r.strides);
    return r;
  }

 private:
  void copy_row_strides(int k, i64 (&to)[max_rank]) const {
    for (int d = 0; d < max_rank; ++d) to[d] = 0;
    if (dense_)
      to[0] = 1;
    else
      for (int d = 0; d < outer_.rank(); ++d) to[d] = outer_.stride(full_ + k, d);
  }
  void copy_strides(int operand, i64 (&to)[max_rank]) const {
    if (dense_) {
      to[0] = operand < full_ ? length_ : 0;
      to[1] = 1;
      return;
    }
    const int outer = outer_.rank();
    for (int d = 0; d < max_rank; ++d) to[d] = 0;
    for (int d = 0; d < outer && operand < full_; ++d) to[d] = outer_.stride(operand, d);
    for (int d = 0; d < inner_.rank(); ++d) to[outer + d] = inner_.stride(operand, d);
  }

  std::size_t normalized_;
  bool dense_;
  i64 rows_ = 1, length_ = 1;
  iteration outer_, inner_;
  int full_ = 0;
};

/// Raises unless `out` can be written and shares no memory with the others.
template <class Out, class... X>
void check_separate(const char* op, const Out& out, const X&... others) {
  check_writable(op, out);
  const placed_layout written = layout_of(out);
  const auto check = [&](const auto& x) {
    if constexpr (requires { x.has_value(); }) {
      if (x) check_no_overlap(op, written, layout_of(*x));
    } else {
      check_no_overlap(op, written, layout_of(x));
    }
  };
  (check(others), ...);
}

/// Raises unless what is kept of each row has these sizes, can be written, and shares no memory
/// with the other operands or with one another.
template <class First, class... X>
void check_kept(const char* op, const shape& sizes, const std::tuple<const X&...>& others,
                const First& first) {
  check_output_sizes(op, sizes, first);
  std::apply([&](const auto&... x) { check_separate(op, first, x...); }, others);
}
template <class First, class Second, class... X>
void check_kept(const char* op, const shape& sizes, const std::tuple<const X&...>& others,
                const First& first, const Second& second) {
  check_kept(op, sizes, others, first);
  check_kept(op, sizes, std::tuple_cat(others, std::tie(first)), second);
}
template <class... X>
void check_kept(const char*, const shape&, const std::tuple<const X&...>&) {}

/// What is kept of each row, of a plan's operands by row, as results of a row program.
template <class... Kept>
auto kept_targets(const norm_plan& plan, const Kept&... kept) {
  return [&]<int... K>(std::integer_sequence<int, K...>) {
    return kernels::make_operands(plan.by_row_target(K, kept)...);
  }
  (std::make_integer_sequence<int, static_cast<int>(sizeof...(Kept))>());
}

/// Whether views, and optional ones where they exist, are contiguous.
template <class V>
bool is_dense(const V& v) {
  return v.is_contiguous();
}
template <class V>
bool is_dense(const std::optional<V>& v) {
  return !v || v->is_contiguous();
}

/// Raises unless the last sizes of x are `normalized_shape`, which is not empty.
template <class X>
void check_normalized(const char* op, const X& x, const shape& normalized_shape) {
  const int n = normalized_shape.rank();
  if (n == 0) [[unlikely]]
    raise(errc::invalid_argument, op, "a normalized_shape of at least one dimension", "[]");
  bool same = n <= x.rank();
  for (int d = 0; same && d < n; ++d) same = x.size(x.rank() - n + d) == normalized_shape[d];
  if (!same) [[unlikely]]
    raise(errc::shape_mismatch, op, "an input whose last sizes are " + to_string(normalized_shape),
          to_string(shape(x.sizes())));
}
/// x's sizes, with 1 in the place of those normalised over, which it checks.
template <class X>
shape kept_shape(const char* op, const X& x, const shape& normalized_shape) {
  check_normalized(op, x, normalized_shape);
  shape sizes(x.sizes());
  for (int d = 0; d < normalized_shape.rank(); ++d) sizes[x.rank() - 1 - d] = 1;
  return sizes;
}
/// Raises unless an optional weight has the sizes it must have.
template <class V>
void check_weight_sizes(const char* op, const char* what, const std::optional<V>& weight,
                        const shape& sizes) {
  if (weight && !same_sizes(weight->sizes(), sizes)) [[unlikely]]
    raise(errc::shape_mismatch, op, what + (" of sizes " + to_string(sizes)),
          to_string(shape(weight->sizes())));
}
/// The same, and that it shares no memory with `out`.
template <class V>
void check_weight(const char* op, const char* what, const std::optional<V>& weight,
                  const shape& sizes, const placed_layout& out) {
  check_weight_sizes(op, what, weight, sizes);
  if (weight && overlap(out, layout_of(*weight)) != overlap_kind::none) [[unlikely]]
    raise(errc::overlap, op, detail::text("an output that shares no memory with the ") + what,
          "one that does");
}

template <class... T>
inline constexpr bool has_f64 = (std::is_same_v<T, f64> || ...);
/// What norms compute in: f64 if any type is, else f32.
template <class... T>
using norm_compute = std::conditional_t<has_f64<T...>, f64, f32>;

/// Does not compile unless a norm writes Out and takes X, of which some may be absent; gives
/// whether it does.
template <class Out, class... X>
constexpr bool check_norm_types() {
  constexpr bool right = kernels::is_floating<value_t<Out>> &&
                         (kernels::is_floating<typename optional_element<X, f32>::type> && ...);
  static_assert(right, "flaggems: norms take floating-point tensors and weights");
  return right && check_elements_written<element_t<Out>>();
}

/// The machine epsilon of a floating-point type.
template <class T>
inline constexpr double epsilon_of = std::is_same_v<T, f64>      ? 0x1p-52
                                     : std::is_same_v<T, f32>    ? 0x1p-23
                                     : std::is_same_v<T, f16>    ? 0x1p-10
                                     : std::is_same_v<T, bf16>   ? 0x1p-7
                                     : std::is_same_v<T, f8e4m3> ? 0x1p-3
                                                                 : 0x1p-2;

inline launch_config norm_launch(const char* op, const kernels::norm_space& space, int operands) {
  launch_config config;
  config.op = op;
  config.work = work_of(space.rows, space.length, 8, operands);
  return config;
}

}  // namespace flaggems::detail
