// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What authors of operators along one dimension need on the host side: checks of the output, and
// the operands as rows.
#pragma once

#include <flaggems/device/checks.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/streaming.hpp>
#include <flaggems/ops/plan/checks.hpp>
#include <flaggems/ops/plan/iteration.hpp>

#include <cstddef>
#include <type_traits>

namespace flaggems {

/// The rows along `dim` of a tensor of the given sizes, any strides; operands are added in turn, at
/// most 16. The dimensions besides `dim` are sorted by stride and merged where all operands allow,
/// so rows come in any order and a kernel cannot tell which one it has: what depends on a row's
/// index is an operand. A weight for each element of a row or for each row is one too, its view
/// expanded to the plan's sizes: `weight.expand(sizes)`, `scale.unsqueeze(-1).expand(sizes)`. An
/// output that lacks `dim`, a number for each row, is added as `out.unsqueeze(dim)`, and the kernel
/// writes its element 0.
class row_plan {
 public:
  /// `dense`: all operands are contiguous and have the plan's sizes, and `dim` is the last
  /// dimension, so that there is nothing to plan.
  FLAGGEMS_ONCE row_plan(std::span<const i64> sizes, int dim, bool dense = false)
      : dim_(dim), dense_(dense), it_(dense ? shape() : without_dim(sizes, dim, "row_plan")) {
    length_ = sizes.empty() ? 1 : sizes[static_cast<std::size_t>(dim)];
    rows_ = 1;
    for (int d = 0; dense && d < dim; ++d) rows_ *= sizes[static_cast<std::size_t>(d)];
  }

  /// Adds an operand that has the plan's sizes, except along `dim`.
  template <class T, class D>
  void add(const tensor_view<T, D>& v) {
    if (dense_)
      ++count_;
    else
      add(v.sizes(), v.strides());
  }

  /// Whether there is nothing to do: no rows, or rows of no elements. (A result for each row is to
  /// be written for those too: there, ask for `space().rows == 0`.)
  [[nodiscard]] bool empty() const { return rows_ == 0 || it_.empty() || length_ == 0; }
  /// The elements of a row.
  [[nodiscard]] i64 length() const { return length_; }

  /// The rows as the kernel sees them. Call once, after the last operand.
  [[nodiscard]] FLAGGEMS_ONCE kernels::row_space space() {
    planned_ = count_;
    if (dense_) return {1, {rows_}, rows_, length_};
    it_.collapse();
    kernels::row_space s{};
    s.rank = it_.rank();
    s.rows = it_.numel();
    s.length = length_;
    for (int d = 0; d < s.rank; ++d) s.sizes[d] = it_.size(d);
    return s;
  }
  /// Operand number `operand` (in order of `add`) as a kernel's argument, to read. Raises
  /// out_of_range if it was not added before `space()`.
  template <class T, class D>
  [[nodiscard]] kernels::row_arg<std::remove_const_t<T>> arg(int operand,
                                                             const tensor_view<T, D>& v) const {
    kernels::row_arg<std::remove_const_t<T>> r{v.data(), {}};
    copy_strides(operand, r.strides);
    return r;
  }
  /// The same, to write.
  template <class T, class D>
  [[nodiscard]] kernels::row_target<T> target(int operand, const tensor_view<T, D>& v) const {
    kernels::row_target<T> r{v.data(), {}};
    copy_strides(operand, r.strides);
    return r;
  }

 private:
  FLAGGEMS_NOINLINE_ONCE void add(std::span<const i64> sizes, std::span<const i64> strides) {
    it_.add(without_dim(sizes, dim_, "row_plan"), without_dim(strides, dim_, "row_plan"));
    own_[count_++] = strides.empty() ? 1 : strides[static_cast<std::size_t>(dim_)];
  }
  [[noreturn]] FLAGGEMS_COLD_ONCE void raise_operand(int operand) const {
    raise(errc::out_of_range, "row_plan", "an operand that was added before space() was called",
          detail::text("number ") + detail::text(operand) + " of " + detail::text(planned_));
  }
  void copy_strides(int operand, i64 (&to)[max_rank]) const {
    if (operand < 0 || operand >= planned_) [[unlikely]]
      raise_operand(operand);
    if (dense_) {
      to[0] = length_;
      to[1] = 1;
      return;
    }
    it_.copy_strides(operand, to);
    to[it_.rank()] = own_[operand];
  }

  int dim_;
  bool dense_;
  i64 length_ = 1, rows_ = 1;
  detail::iteration it_;
  i64 own_[detail::max_operands];
  int count_ = 0, planned_ = 0;  // operands that were added, and before `space()`
};

namespace detail {
/// The block-local bytes of a row program of rows of n elements that computes in C
/// (kernel/family/row/staged.hpp): the staged row, and on the host copies of rows of T that are
/// not contiguous, of a group of rows each.
template <class C, class Device, class... T>
[[nodiscard]] constexpr i64 staged_scratch(i64 n) noexcept {
  if constexpr (has_simt<Device>) return scratch_bytes<C>(n);
  const i64 all = (n > kernels::group_elements ? n : kernels::group_elements) + 16 * 16;
  return scratch_bytes<C>(all) + (scratch_bytes<T>(all) + ... + 0);
}

/// Whether the rows of `out`, computed from those of x, are written past the caches.
template <class D, class X, class Out>
bool streams_rows(const X& x, const Out& out) {
  return static_cast<const void*>(x.data()) != static_cast<const void*>(out.data()) &&
         is_streamed<D>(x.numel() *
                        i64{sizeof(typename X::value_type) + sizeof(typename Out::value_type)});
}

}  // namespace detail

}  // namespace flaggems
