// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Views of std::mdspan, std::span and other contiguous ranges, and mdspans of views. mdspan is the
// standard library's where that has it (C++23), else that of Kokkos if it is included before this.
// Another one's namespace is given as FLAGGEMS_MDSPAN_NAMESPACE, before this and the same in all
// files of a program. Without any, what is about spans remains.
#pragma once

#include <flaggems/tensor/dtype.hpp>
#include <flaggems/tensor/view.hpp>

#include <version>

#if !defined(FLAGGEMS_MDSPAN_NAMESPACE)
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#define FLAGGEMS_MDSPAN_NAMESPACE std
#elif defined(MDSPAN_IMPL_STANDARD_NAMESPACE)
#define FLAGGEMS_MDSPAN_NAMESPACE MDSPAN_IMPL_STANDARD_NAMESPACE
#endif
#endif

#include <array>
#include <cstddef>
#include <limits>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace flaggems {

namespace detail {

/// std::dynamic_extent is ours as i64, -1.
template <std::size_t... Extent>
using extents_from_std = extents<static_cast<i64>(Extent)...>;

template <class T>
inline constexpr bool require_element = [] {
  static_assert(element<T>,
                "flaggems: the elements of this mdspan or range are not of one of our types: "
                "docs/use.md has them (i64 for long long, c64 for std::complex<float>)");
  return true;
}();

}  // namespace detail

// ---- spans and ranges

/// The view, in host memory, of what std::span can be made of: spans, arrays, vectors; a size that
/// is known at compile time stands in its type. The range must outlive it; temporaries that own
/// their elements do not compile.
template <class Range>
requires std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>
[[nodiscard]] constexpr auto from_span(Range&& range) {
  static_assert(std::ranges::borrowed_range<Range>,
                "flaggems: from_span: a temporary range ends with the statement, before its view: "
                "give the range a name");
  const std::span elements(range);
  using span = decltype(elements);
  using T = typename span::element_type;
  static_assert(detail::require_element<T>);
  return tensor_view<T, host, detail::extents_from_std<span::extent>>(
      elements.data(), {static_cast<i64>(elements.size())});
}

/// The same elements with these sizes, in row-major order. Raises shape_mismatch unless their
/// product is the number of elements.
template <class Range>
requires std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>
[[nodiscard]] constexpr auto from_span(Range&& range, int_list sizes) {
  const auto v = from_span(std::forward<Range>(range)).view();
  if (checked_numel(sizes, "from_span") != v.numel()) [[unlikely]]
    raise(errc::shape_mismatch, "from_span", "as many elements as sizes " + to_string(sizes),
          detail::text(v.numel()));
  return v.view(sizes);
}

#if defined(FLAGGEMS_MDSPAN_NAMESPACE)

namespace detail {

namespace md = ::FLAGGEMS_MDSPAN_NAMESPACE;

template <class Extents>
inline constexpr bool is_md_extents = false;
template <class Index, std::size_t... Extent>
inline constexpr bool is_md_extents<md::extents<Index, Extent...>> = true;

template <class Extents>
struct from_md;
template <class Index, std::size_t... Extent>
struct from_md<md::extents<Index, Extent...>> {
  static_assert(sizeof...(Extent) <= max_rank, "flaggems: an mdspan of more than 8 dimensions");
  using type = extents_from_std<Extent...>;
};

template <class Mdspan>
inline constexpr bool is_plain_mdspan = [] {
  using T = typename Mdspan::element_type;
  using layout_type = typename Mdspan::layout_type;
  static_assert(require_element<T>);
  static_assert(std::is_same_v<typename Mdspan::accessor_type, md::default_accessor<T>>,
                "flaggems: only an mdspan with default_accessor is a view: kernels would not ask "
                "another accessor");
  static_assert(std::is_same_v<layout_type, md::layout_right> ||
                    std::is_same_v<layout_type, md::layout_left> ||
                    std::is_same_v<layout_type, md::layout_stride>,
                "flaggems: an mdspan's layout must be layout_right, layout_left or layout_stride");
  return true;
}();

/// Column-major strides.
[[nodiscard]] constexpr shape left_strides(const shape& sizes) {
  shape reversed = sizes;
  for (int i = 0; i < sizes.rank(); ++i) reversed[i] = sizes[sizes.rank() - 1 - i];
  const shape strides = contiguous_strides(reversed);
  for (int i = 0; i < sizes.rank(); ++i) reversed[i] = strides[sizes.rank() - 1 - i];
  return reversed;
}

/// The strides with those that address nothing replaced: by 1 where the size is 1, which is least.
[[nodiscard]] constexpr shape md_strides(int_list sizes, int_list strides) {
  shape used = contiguous_strides(sizes);
  if (shape(sizes).numel() == 0) return used;
  for (int i = 0; i < sizes.size(); ++i) used[i] = sizes[i] == 1 ? 1 : strides[i];
  return used;
}

/// Whether layout_stride may have these strides: positive, and each not below the reach of those
/// before it in order of size, so that no two indices lead to one element.
[[nodiscard]] constexpr bool are_md_strides(const shape& sizes, const shape& strides) noexcept {
  if (sizes.numel() == 0) return true;
  i64 reach = 1;
  u32 left = (1u << sizes.rank()) - 1u;
  while (left != 0) {
    int least = -1;
    for (int i = 0; i < sizes.rank(); ++i)
      if ((left >> i & 1u) != 0 && (least < 0 || strides[i] < strides[least] ||
                                    (strides[i] == strides[least] && sizes[i] < sizes[least])))
        least = i;
    if (strides[least] < reach) return false;
    // Views reach less than 2^63 bytes; a product beyond that is of the last dimension.
    if (!multiply(strides[least], sizes[least], reach)) reach = (std::numeric_limits<i64>::max)();
    left &= ~(1u << least);
  }
  return true;
}

template <class Mdspan, class View>
constexpr Mdspan make_mdspan(const View& v) {
  constexpr const char* op = "to_mdspan";
  using md_extents = typename Mdspan::extents_type;
  using index = typename md_extents::index_type;
  using layout_type = typename Mdspan::layout_type;
  constexpr std::size_t rank = md_extents::rank();
  using ours = typename from_md<md_extents>::type;
  const shape sizes = v.shape_of();
  if (!ours::matches(sizes)) [[unlikely]] {
    shape wanted;
    for (int i = 0; i < ours::static_rank; ++i) wanted.push_back(ours::static_size(i));
    raise_shapes(op, "the mdspan's extents (-1: any)", wanted, sizes);
  }
  shape strides = md_strides(sizes, v.strides());
  if constexpr (std::is_same_v<layout_type, md::layout_stride>) {
    if (!are_md_strides(sizes, strides)) [[unlikely]]
      raise(errc::invalid_argument, op,
            "positive strides that give each element a place of its own", to_string(strides));
  } else {
    constexpr bool is_right = std::is_same_v<layout_type, md::layout_right>;
    const shape wanted = is_right ? contiguous_strides(sizes) : left_strides(sizes);
    if (strides != md_strides(sizes, wanted)) [[unlikely]]
      raise_shapes(op,
                   is_right ? "elements in the order of layout_right, those of strides"
                            : "elements in the order of layout_left, those of strides",
                   wanted, shape(v.strides()));
  }
  // The mapping computes in `index`: sizes, strides and the last element's place must fit.
  i64 span = 1;
  bool fits = true;
  for (int i = 0; i < sizes.rank(); ++i) {
    fits = fits && std::in_range<index>(sizes[i]) && std::in_range<index>(strides[i]);
    if (!v.empty()) span += (sizes[i] - 1) * strides[i];
  }
  if (!fits || !std::in_range<index>(span)) [[unlikely]]
    raise_shapes(op, "sizes and strides that fit in the mdspan's index_type", sizes, strides);
  std::array<index, rank> md_sizes{}, given{};
  for (std::size_t i = 0; i < rank; ++i) {
    md_sizes[i] = static_cast<index>(sizes[static_cast<int>(i)]);
    given[i] = static_cast<index>(strides[static_cast<int>(i)]);
  }
  const md_extents e(md_sizes);
  if constexpr (std::is_same_v<layout_type, md::layout_stride>)
    return Mdspan(v.data(), typename Mdspan::mapping_type(e, given));
  else
    return Mdspan(v.data(), typename Mdspan::mapping_type(e));
}

}  // namespace detail

/// The view of an mdspan's elements, in the memory of `Device`, with its static extents. Layouts
/// are layout_right, layout_left and layout_stride, the accessor the default one; others do not
/// compile. Raises as the constructor of tensor_view.
template <class Device = host, class T, class Extents, class Layout, class Accessor>
[[nodiscard]] constexpr auto from_mdspan(
    const detail::md::mdspan<T, Extents, Layout, Accessor>& m) {
  static_assert(detail::is_plain_mdspan<std::remove_cvref_t<decltype(m)>>);
  using view = tensor_view<T, Device, typename detail::from_md<Extents>::type>;
  shape sizes;
  for (std::size_t i = 0; i < Extents::rank(); ++i) sizes.push_back(static_cast<i64>(m.extent(i)));
  if constexpr (std::is_same_v<Layout, detail::md::layout_stride> && Extents::rank() > 0) {
    shape strides;
    for (std::size_t i = 0; i < Extents::rank(); ++i)
      strides.push_back(static_cast<i64>(m.stride(i)));
    return view(m.data_handle(), sizes, strides);
  } else if constexpr (std::is_same_v<Layout, detail::md::layout_left>) {
    static_cast<void>(checked_numel(sizes, "from_mdspan"));
    return view(m.data_handle(), sizes, detail::left_strides(sizes));
  } else {
    return view(m.data_handle(), sizes);
  }
}

/// The mdspan of type `Mdspan` of a view's or tensor's elements, in memory that the host reads, as
/// in `to_mdspan<std::mdspan<float, std::dextents<int, 2>>>(x)`. Raises shape_mismatch unless rank
/// and static extents are equal, and for elements in another order than that of layout_right or
/// layout_left, or numbers beyond its index_type; invalid_argument for what layout_stride forbids:
/// strides of 0, negative ones, and those by which elements overlap.
template <class Mdspan, tensor_like X>
requires(detail::is_md_extents<typename Mdspan::extents_type>) [[nodiscard]] constexpr Mdspan
    to_mdspan(X&& x) {
  using T = typename Mdspan::element_type;
  static_assert(detail::is_plain_mdspan<Mdspan>);
  static_assert(std::is_same_v<T, element_t<X>> || std::is_same_v<T, const element_t<X>>,
                "flaggems: to_mdspan: the mdspan's elements are of another type, or not const");
  static_assert(host_accessible<device_t<X>>,
                "flaggems: to_mdspan: the host cannot read the elements of this device");
  return detail::make_mdspan<Mdspan>(as_view(std::forward<X>(x)));
}

/// The same for a view whose rank stands in its type: the mdspan has its static extents, i64 as
/// index_type and layout_stride.
template <class T, class Device, i64... E>
[[nodiscard]] constexpr auto to_mdspan(const tensor_view<T, Device, extents<E...>>& v) {
  using detail::md::extents;
  return to_mdspan<detail::md::mdspan<T, extents<i64, static_cast<std::size_t>(E)...>,
                                      detail::md::layout_stride>>(v);
}

#endif

}  // namespace flaggems
