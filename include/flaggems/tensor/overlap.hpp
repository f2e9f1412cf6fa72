// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether two views share memory: exact for common layouts, by a bounded search.
#pragma once

#include <flaggems/tensor/any_view.hpp>

namespace flaggems {

/// The address range [lo, hi) of a view's elements; lo == hi if empty.
struct byte_range {
  u64 lo = 0, hi = 0;

  [[nodiscard]] constexpr bool intersects(byte_range other) const noexcept {
    return lo < other.hi && other.lo < hi;
  }
};

/// The relation of an output's memory to an input's.
enum class overlap_kind {
  none,    ///< no byte in common
  exact,   ///< the same elements at the same indices: in place
  partial  ///< anything else, or not decided within the search budget
};

namespace detail {

/// The addresses of a view's elements: lo + sum(i * stride) for 0 <= i <= count, each `item` bytes
/// long. Strides are positive and descending.
struct address_set {
  byte_range range;
  i64 item = 0;
  int n = 0;
  i64 strides[max_rank] = {};
  i64 counts[max_rank] = {};  // size - 1

  /// The extent in bytes of dimensions `first` and on.
  [[nodiscard]] constexpr i64 span(int first) const noexcept {
    i64 bytes = item;
    for (int i = first; i < n; ++i) bytes += counts[i] * strides[i];
    return bytes;
  }
};

/// A view's address range: the part of address_set that needs no sorting.
[[nodiscard]] constexpr byte_range range_of(u64 data, i64 item, int_list sizes,
                                            int_list strides) noexcept {
  u64 first = 0, last = 0;  // of the elements
  for (int i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return {};
    // Unsigned: the stride of a single element can be any number.
    const u64 reach = static_cast<u64>(sizes[i] - 1) * static_cast<u64>(strides[i]);
    (strides[i] < 0 ? first : last) += reach;
  }
  const u64 bytes = static_cast<u64>(item);
  return {data + first * bytes, data + last * bytes + bytes};
}

[[nodiscard]] FLAGGEMS_NOINLINE_ONCE constexpr address_set addresses_of(u64 data, i64 item,
                                                                        int_list sizes,
                                                                        int_list strides) noexcept {
  address_set set;
  set.item = item;
  for (const i64 size : sizes)
    if (size == 0) return address_set{};
  for (int i = 0; i < sizes.size(); ++i) {
    const i64 count = sizes[i] - 1;
    // the stride of a single element can be any number
    if (count == 0 || strides[i] == 0) continue;
    const i64 stride = strides[i] * item;
    if (stride < 0) data -= static_cast<u64>(count) * static_cast<u64>(-stride);
    int at = set.n++;
    const i64 step = stride < 0 ? -stride : stride;
    for (; at > 0 && set.strides[at - 1] < step; --at) {
      set.strides[at] = set.strides[at - 1];
      set.counts[at] = set.counts[at - 1];
    }
    set.strides[at] = step;
    set.counts[at] = count;
  }
  set.range.lo = data;
  set.range.hi = data + static_cast<u64>(set.span(0));
  return set;
}

/// a / b rounded down, b > 0.
[[nodiscard]] constexpr i64 floor_div(i64 a, i64 b) noexcept { return a / b - (a % b < 0 ? 1 : 0); }

/// Whether dimensions ia and on of `a` and ib and on of `b`, which starts `delta` after a, share a
/// byte. Fixes the largest stride and tries each index difference for which the rest can still
/// overlap: one or two for slices of one parent. True once `budget` steps are used.
[[nodiscard]] FLAGGEMS_COLD_ONCE constexpr bool share_byte(const address_set& a, int ia,
                                                           const address_set& b, int ib, i64 delta,
                                                           int& budget) noexcept {
  if (delta >= a.span(ia) || -delta >= b.span(ib)) return false;
  if ((ia == a.n && ib == b.n) || --budget < 0) return true;
  const i64 sa = ia < a.n ? a.strides[ia] : 0, sb = ib < b.n ? b.strides[ib] : 0;
  const i64 step = sa > sb ? sa : sb;
  const i64 most = sa == step ? a.counts[ia] : 0, least = sb == step ? -b.counts[ib] : 0;
  const int next_a = ia + (sa == step), next_b = ib + (sb == step);
  // All k with -span(b) < delta - k * step < span(a).
  i64 first = floor_div(delta - a.span(next_a), step) + 1;
  i64 last = -floor_div(-delta - b.span(next_b), step) - 1;
  first = first < least ? least : first;
  last = last > most ? most : last;
  for (i64 k = first; k <= last; ++k)
    if (share_byte(a, next_a, b, next_b, delta - k * step, budget)) return true;
  return false;
}

[[nodiscard]] constexpr bool share_byte(const address_set& a, const address_set& b) noexcept {
  if (!a.range.intersects(b.range)) return false;
  constexpr i64 huge = i64{1} << 60;  // below it no sum above overflows
  if (a.span(0) > huge || b.span(0) > huge) return true;
  int budget = 256;
  return share_byte(a, 0, b, 0, static_cast<i64>(b.range.lo - a.range.lo), budget);
}

/// Whether two different indices, from dimension i on, give addresses that differ by -`delta`
/// bytes: solves delta + sum(d * stride) = 0 with |d| <= count, not all d zero.
[[nodiscard]] FLAGGEMS_COLD_ONCE constexpr bool meets_itself(const address_set& a, int i, i64 delta,
                                                             bool moved, int& budget) noexcept {
  const i64 reach = a.span(i) - a.item;
  if (delta > reach || -delta > reach) return false;
  if (i == a.n) return moved;
  if (--budget < 0) return true;
  const i64 rest = a.span(i + 1) - a.item, step = a.strides[i], count = a.counts[i];
  i64 first = -floor_div(delta + rest, step), last = floor_div(rest - delta, step);
  first = first < -count ? -count : first;
  last = last > count ? count : last;
  for (i64 d = first; d <= last; ++d)
    if (meets_itself(a, i + 1, delta + d * step, moved || d != 0, budget)) return true;
  return false;
}

[[nodiscard]] FLAGGEMS_ONCE constexpr bool has_internal_overlap(i64 item, int_list sizes,
                                                                int_list strides) {
  bool repeats = false, contiguous = true;
  u64 next = 1;
  for (int i = sizes.size() - 1; i >= 0; --i) {
    if (sizes[i] == 0) return false;
    if (sizes[i] == 1) continue;
    repeats |= strides[i] == 0;
    contiguous = contiguous && strides[i] == static_cast<i64>(next);
    next *= static_cast<u64>(sizes[i]);
  }
  if (contiguous) return false;
  if (repeats) return true;
  const address_set a = addresses_of(0, item, sizes, strides);
  bool nested = true;  // each step exceeds the extent of all smaller ones
  for (int i = 0; i < a.n && nested; ++i) nested = a.strides[i] >= a.span(i + 1);
  if (nested) return false;
  if (a.span(0) > i64{1} << 60) return true;
  int budget = 1024;
  return meets_itself(a, 0, 0, false, budget);
}

/// A type-erased view. Memory checks use it, so they are compiled once.
struct memory_layout {
  const unsigned char* data = nullptr;
  i64 item = 0;  // bytes of an element
  int_list sizes, strides;

  [[nodiscard]] byte_range range() const noexcept {
    return range_of(reinterpret_cast<u64>(data), item, sizes, strides);
  }
  [[nodiscard]] address_set addresses() const noexcept {
    return addresses_of(reinterpret_cast<u64>(data), item, sizes, strides);
  }
};
using layout_list = std::span<const memory_layout>;
template <class T, class Device>
[[nodiscard]] memory_layout layout_of(const tensor_view<T, Device>& v) noexcept {
  return {reinterpret_cast<const unsigned char*>(v.data()),
          static_cast<i64>(sizeof(T)),
          {v.sizes().data(), v.rank()},
          {v.strides().data(), v.rank()}};
}
template <class Device>
[[nodiscard]] memory_layout layout_of(const any_view<Device>& v) noexcept {
  return {static_cast<const unsigned char*>(v.data()), size_of(v.dtype()), v.sizes(), v.strides()};
}

/// The view itself if its rank is known at run time, else a copy of that form, to avoid copies.
template <class T, class Device>
const tensor_view<T, Device>& looked_at(const tensor_view<T, Device>& v) noexcept {
  return v;
}
template <class X>
auto looked_at(const X& x) noexcept {
  return as_view(x);
}

/// A layout with its address range, which is compared repeatedly.
struct placed_layout : memory_layout {
  byte_range within;

  // Member by member: a block copy would stall on the stores that have just written the layout.
  FLAGGEMS_NOINLINE_ONCE placed_layout(const memory_layout& v) noexcept
      : memory_layout{v.data,
                      v.item,
                      {v.sizes.data(), v.sizes.size()},
                      {v.strides.data(), v.strides.size()}},
        within(v.range()) {}
};

/// For layouts with overlapping ranges.
[[nodiscard]] FLAGGEMS_NOINLINE_ONCE overlap_kind overlap_of_near(const memory_layout& a,
                                                                  const memory_layout& b) noexcept {
  bool same = a.data == b.data && a.item == b.item && a.sizes.size() == b.sizes.size();
  for (int i = 0; same && i < a.sizes.size(); ++i)
    same = a.sizes[i] == b.sizes[i] && (a.sizes[i] == 1 || a.strides[i] == b.strides[i]);
  if (same) return overlap_kind::exact;
  return share_byte(a.addresses(), b.addresses()) ? overlap_kind::partial : overlap_kind::none;
}
[[nodiscard]] inline overlap_kind overlap(const placed_layout& a, const placed_layout& b) noexcept {
  return a.within.intersects(b.within) ? overlap_of_near(a, b) : overlap_kind::none;
}
[[nodiscard]] inline overlap_kind overlap(const placed_layout& a, const memory_layout& b) noexcept {
  return a.within.intersects(b.range()) ? overlap_of_near(a, b) : overlap_kind::none;
}

}  // namespace detail

/// The address range of the elements of `x`.
template <tensor_like X>
[[nodiscard]] byte_range memory_range(const X& x) noexcept {
  const auto& v = detail::looked_at(x);
  return detail::layout_of(v).range();
}

/// How `a` and `b` share memory. `exact`: same first element, element size, sizes and strides (for
/// sizes other than 1). `none` is proved: different device types, disjoint ranges, and interleaved
/// ones such as two slices of one parent; what takes too long to prove is `partial`.
template <tensor_like A, tensor_like B>
[[nodiscard]] overlap_kind overlap(const A& a, const B& b) noexcept {
  if constexpr (!std::is_same_v<device_t<const A&>, device_t<const B&>>) {
    return overlap_kind::none;
  } else {
    const auto& va = detail::looked_at(a);
    const auto& vb = detail::looked_at(b);
    return detail::overlap(detail::layout_of(va), detail::layout_of(vb));
  }
}

/// Whether two indices of `x` address (or, if that takes too long to exclude, may address) the same
/// element: a stride of 0 over several elements, or overlapping windows. Such a view must not be
/// written.
template <tensor_like X>
[[nodiscard]] bool has_internal_overlap(const X& x) noexcept {
  const auto& v = detail::looked_at(x);
  return detail::has_internal_overlap(static_cast<i64>(sizeof(value_t<const X&>)), v.sizes(),
                                      v.strides());
}

}  // namespace flaggems
