// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What of std::mdspan the adapter uses, with the standard's names, for compilers whose library has
// none. It aborts where a precondition of the standard's does not hold, which a library need not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <span>
#include <utility>

namespace support::md {

namespace detail {
constexpr void require(bool holds) {
  if (!holds) std::abort();
}
}  // namespace detail

template <class Index, std::size_t... Extent>
class extents {
 public:
  using index_type = Index;
  static constexpr std::size_t rank() noexcept { return sizeof...(Extent); }
  static constexpr std::size_t static_extent(std::size_t i) noexcept {
    constexpr std::size_t all[] = {Extent..., 0};
    return all[i];
  }
  constexpr extents() noexcept {
    for (std::size_t i = 0; i < rank(); ++i)
      if (static_extent(i) != std::dynamic_extent) sizes_[i] = static_cast<Index>(static_extent(i));
  }
  constexpr explicit extents(const std::array<Index, sizeof...(Extent)>& sizes) : sizes_(sizes) {
    for (std::size_t i = 0; i < rank(); ++i) {
      detail::require(std::cmp_greater_equal(sizes[i], 0));
      detail::require(static_extent(i) == std::dynamic_extent ||
                      std::cmp_equal(sizes[i], static_extent(i)));
    }
  }
  [[nodiscard]] constexpr Index extent(std::size_t i) const noexcept { return sizes_[i]; }

 private:
  std::array<Index, sizeof...(Extent)> sizes_{};
};

namespace detail {

template <class Index, std::size_t Rank, std::size_t... Extent>
struct dynamic : dynamic<Index, Rank - 1, std::dynamic_extent, Extent...> {};
template <class Index, std::size_t... Extent>
struct dynamic<Index, 0, Extent...> {
  using type = extents<Index, Extent...>;
};

/// A mapping with strides that are given, or follow from the extents.
template <class Extents>
class mapping {
 public:
  using extents_type = Extents;
  using index_type = typename Extents::index_type;
  static constexpr std::size_t rank = Extents::rank();
  using strides_type = std::array<index_type, rank>;

  [[nodiscard]] constexpr const Extents& extents() const noexcept { return extents_; }
  [[nodiscard]] constexpr index_type stride(std::size_t i) const noexcept requires(rank > 0) {
    return strides_[i];
  }
  [[nodiscard]] constexpr std::size_t place(const std::array<index_type, rank>& at) const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      detail::require(std::cmp_greater_equal(at[i], 0) && at[i] < extents_.extent(i));
      sum += static_cast<std::size_t>(at[i]) * static_cast<std::size_t>(strides_[i]);
    }
    return sum;
  }

 protected:
  constexpr mapping(const Extents& e, const strides_type& strides)
      : extents_(e), strides_(strides) {}

  Extents extents_;
  strides_type strides_;
};

template <bool IsRight, class Extents>
constexpr typename mapping<Extents>::strides_type packed(const Extents& e) {
  typename mapping<Extents>::strides_type strides{};
  std::size_t step = 1;
  for (std::size_t k = 0; k < Extents::rank(); ++k) {
    const std::size_t i = IsRight ? Extents::rank() - 1 - k : k;
    strides[i] = static_cast<typename Extents::index_type>(step);
    step *= static_cast<std::size_t>(e.extent(i));
  }
  detail::require(std::in_range<typename Extents::index_type>(step));
  return strides;
}

}  // namespace detail

template <class Index, std::size_t Rank>
using dextents = typename detail::dynamic<Index, Rank>::type;

struct layout_right {
  template <class Extents>
  struct mapping : detail::mapping<Extents> {
    constexpr mapping(const Extents& e) : detail::mapping<Extents>(e, detail::packed<true>(e)) {}
  };
};
struct layout_left {
  template <class Extents>
  struct mapping : detail::mapping<Extents> {
    constexpr mapping(const Extents& e) : detail::mapping<Extents>(e, detail::packed<false>(e)) {}
  };
};
struct layout_stride {
  template <class Extents>
  struct mapping : detail::mapping<Extents> {
    constexpr mapping(const Extents& e,
                      const typename detail::mapping<Extents>::strides_type& strides)
        : detail::mapping<Extents>(e, strides) {
      // Positive, and in some order each at least the product of the one before and its extent.
      constexpr std::size_t count = Extents::rank();
      std::array<bool, count> done{};
      __extension__ using wide = unsigned __int128;
      wide least = 1;
      for (std::size_t k = 0; k < count; ++k) {
        std::size_t next = count;
        for (std::size_t i = 0; i < count; ++i)
          if (!done[i] && (next == count || strides[i] < strides[next] ||
                           (strides[i] == strides[next] && e.extent(i) < e.extent(next))))
            next = i;
        detail::require(std::cmp_greater(strides[next], 0));
        detail::require(static_cast<wide>(strides[next]) >= least);
        least = static_cast<wide>(strides[next]) * static_cast<wide>(e.extent(next));
        done[next] = true;
      }
    }
  };
};

template <class T>
struct default_accessor {
  using element_type = T;
  using reference = T&;
  using data_handle_type = T*;
};

template <class T, class Extents, class Layout = layout_right, class Accessor = default_accessor<T>>
class mdspan {
 public:
  using element_type = T;
  using extents_type = Extents;
  using layout_type = Layout;
  using accessor_type = Accessor;
  using mapping_type = typename Layout::template mapping<Extents>;
  using index_type = typename Extents::index_type;
  using data_handle_type = typename Accessor::data_handle_type;

  constexpr mdspan(data_handle_type data, const mapping_type& mapping)
      : data_(data), mapping_(mapping) {}

  static constexpr std::size_t rank() noexcept { return Extents::rank(); }
  [[nodiscard]] constexpr index_type extent(std::size_t i) const {
    return mapping_.extents().extent(i);
  }
  [[nodiscard]] constexpr index_type stride(std::size_t i) const { return mapping_.stride(i); }
  [[nodiscard]] constexpr const mapping_type& mapping() const noexcept { return mapping_; }
  [[nodiscard]] constexpr data_handle_type data_handle() const noexcept { return data_; }
  [[nodiscard]] constexpr T& operator[](const std::array<index_type, Extents::rank()>& at) const {
    return data_[mapping_.place(at)];
  }

 private:
  data_handle_type data_;
  mapping_type mapping_;
};

}  // namespace support::md
