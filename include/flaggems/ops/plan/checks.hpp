// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks that operators make of their tensors before they write. They look at views without their
// types, so that a program compiles them once, and what builds a message is out of line.
#pragma once

#include <flaggems/tensor/extents.hpp>
#include <flaggems/tensor/overlap.hpp>

#include <type_traits>

namespace flaggems {

namespace detail {

/// Whether the host can read elements on D: then indices and the like are checked before anything
/// is written.
template <class D>
inline constexpr bool host_reads = host_accessible<D>;

[[noreturn]] FLAGGEMS_COLD_ONCE void raise_output_sizes(const char* op, int_list expected,
                                                        int_list got) {
  raise(errc::shape_mismatch, op, "an output of sizes " + to_string(expected), to_string(got));
}
[[noreturn]] FLAGGEMS_COLD_ONCE void raise_other_sizes(const char* op, int_list expected,
                                                       int_list got) {
  raise(errc::shape_mismatch, op, "sizes " + to_string(expected), to_string(got));
}

FLAGGEMS_NOINLINE_ONCE void check_writable(const char* op, const memory_layout& out) {
  if (has_internal_overlap(out.item, out.sizes, out.strides)) [[unlikely]]
    raise(errc::overlap, op, "an output without internal overlap",
          "strides that put several elements on one place");
}
/// For operators that work in place. The input may be a placed_layout, too.
template <class Layout>
FLAGGEMS_NOINLINE void check_no_partial_overlap(const char* op, const placed_layout& out,
                                                const Layout& in) {
  if (overlap(out, in) == overlap_kind::partial) [[unlikely]]
    raise(errc::overlap, op, "an output that shares no memory with an input, or is that input",
          "an output that overlaps an input in part");
}
/// For those that do not.
template <class Layout>
FLAGGEMS_NOINLINE void check_no_overlap(const char* op, const placed_layout& out,
                                        const Layout& in) {
  if (overlap(out, in) != overlap_kind::none) [[unlikely]]
    raise(errc::overlap, op, "an output that shares no memory with an input",
          "an output that overlaps an input");
}
/// The older name of check_no_overlap.
template <class Layout>
void check_apart(const char* op, const placed_layout& out, const Layout& in) {
  check_no_overlap(op, out, in);
}

/// Does not compile for an output of const elements T. Where a kernel's own errors would hide the
/// message, use the result (whether they are not const), or an overload for `tensor_view<const T,
/// D>`.
template <class T>
constexpr bool check_elements_written() {
  static_assert(!std::is_const_v<T>,
                "flaggems: expected an output that can be written, got a view of const elements");
  return !std::is_const_v<T>;
}
/// Does not compile unless Out is what indices can be written to; gives whether it is.
template <class Out>
constexpr bool check_indices_written() {
  constexpr bool right = std::is_same_v<value_t<Out>, i64>;
  static_assert(right, "flaggems: indices are written to a tensor of i64");
  return right && check_elements_written<typename view_of<Out>::element_type>();
}
template <class Out>
void check_writable(const char* op, const Out& out) {
  check_elements_written<typename Out::element_type>();
  check_writable(op, layout_of(out));
}

inline bool same_sizes(int_list a, int_list b) noexcept {
  bool same = a.size() == b.size();
  for (int d = 0; same && d < a.size(); ++d) same = a[d] == b[d];
  return same;
}

/// Whether a tensor of sizes `a` broadcasts to sizes `to`.
inline bool broadcasts_to(int_list a, int_list to) noexcept {
  const int missing = to.size() - a.size();
  bool fits = missing >= 0;
  for (int d = 0; fits && d < a.size(); ++d) fits = a[d] == to[missing + d] || a[d] == 1;
  return fits;
}

/// Raises unless `out` has these sizes.
template <class Out>
void check_output_sizes(const char* op, const shape& sizes, const Out& out) {
  if (!same_sizes(out.sizes(), sizes)) [[unlikely]]
    raise_output_sizes(op, sizes, out.sizes());
}

/// Whether all tensors are contiguous, of the output's sizes, and each disjoint from the output or
/// exactly it: the common case, which needs no plan.
template <class Out>
struct flat_operands {
  const Out& out;
  i64 n;
  bool all, in_place = false;
  explicit flat_operands(const Out& o) : out(o), n(o.numel()), all(o.is_contiguous()) {}
  template <class T, class D>
  void operator()(const tensor_view<T, D>& v) {
    if (!all) return;
    all = v.rank() == out.rank();
    for (int d = 0; all && d < v.rank(); ++d) {
      const auto i = static_cast<std::size_t>(d);
      all = v.sizes()[i] == out.sizes()[i] &&
            (v.strides()[i] == out.strides()[i] || v.sizes()[i] == 1);
    }
    const byte_range read = first_bytes(v), written = first_bytes(out);
    const bool exact = read.lo == written.lo && read.hi == written.hi;
    in_place = in_place || exact;
    all = all && (exact || !read.intersects(written));
  }
  void position() {}

 private:
  template <class View>
  byte_range first_bytes(const View& v) const {
    const auto lo = reinterpret_cast<u64>(v.data());
    return {lo, lo + static_cast<u64>(n) * sizeof(typename View::value_type)};
  }
};

}  // namespace detail

/// Raises shape_mismatch unless `b` has the sizes of `a`.
template <class A, class B>
void check_same_sizes(const char* op, const A& a, const B& b) {
  if (!detail::same_sizes(a.sizes(), b.sizes())) [[unlikely]]
    detail::raise_other_sizes(op, a.sizes(), b.sizes());
}

/// Raises overlap if `out` can not be written element by element, or shares memory with one of `in`
/// other than as exactly the same view.
template <class Out, class... In>
void check_output(const char* op, const Out& out, const In&... in) {
  detail::check_writable(op, out);
  if constexpr (sizeof...(In) > 0) {
    const detail::placed_layout to(detail::layout_of(out));
    (detail::check_no_partial_overlap(op, to, detail::layout_of(in)), ...);
  }
}

namespace detail {
/// Both checks, of an operator whose output has the input's sizes and may be the input. Gives
/// whether both are contiguous, which is soon found: then they are right.
template <class Out, class X>
bool check_same_shape(const char* op, const Out& out, const X& x) {
  check_elements_written<typename Out::element_type>();
  flat_operands<Out> flat(out);
  flat(x);
  if (!flat.all) {
    check_same_sizes(op, x, out);
    check_output(op, out, x);
  }
  return flat.all;
}
}  // namespace detail

}  // namespace flaggems
