// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Shapes: sizes of up to `max_rank` dimensions, known at run or compile time, and checked
// arithmetic on them.
#pragma once

#include <flaggems/error.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

#include <initializer_list>
#include <span>
#include <type_traits>

namespace flaggems {

/// In `extents`: a size known only at run time.
inline constexpr i64 dynamic_extent = -1;

struct any_extents;

/// A parameter that takes a list of integers: `{2, -1}`, a shape, a std::span, a C array, a
/// std::vector. It does not own them, so it must not outlive the call.
class int_list {
 public:
  constexpr int_list() = default;
  constexpr int_list(const i64* data, int size) : data_(data), size_(size) {}
  constexpr int_list(std::initializer_list<i64> list) : size_(checked(list.size())) {
    data_ = list.begin();
  }
  constexpr int_list(std::span<const i64> list) : data_(list.data()), size_(checked(list.size())) {}
  template <class Container>
  requires requires(const Container& c) { std::span<const i64>(c.data(), c.size()); }
  constexpr int_list(const Container& list) : data_(list.data()), size_(checked(list.size())) {}
  template <std::size_t Size>
  constexpr int_list(const i64 (&list)[Size]) : data_(list), size_(checked(Size)) {}
  constexpr int_list(const any_extents& sizes);

  [[nodiscard]] constexpr const i64* data() const noexcept { return data_; }
  [[nodiscard]] constexpr int size() const noexcept { return size_; }
  [[nodiscard]] constexpr const i64& operator[](int i) const noexcept { return data_[i]; }
  [[nodiscard]] constexpr const i64* begin() const noexcept { return data_; }
  [[nodiscard]] constexpr const i64* end() const noexcept { return data_ + size_; }

 private:
  // Lists longer than any rank are rejected by their users; this only avoids overflow of int.
  static constexpr int checked(std::size_t n) { return n > 0x7fffffff ? 0x7fffffff : int(n); }

  const i64* data_ = nullptr;
  int size_ = 0;
};

/// A parameter that takes dimensions: one, `1`, or a list as int_list takes it, `{0, 1}`.
class dim_list {
 public:
  constexpr dim_list() = default;
  template <class Dim>
  requires(std::is_integral_v<Dim> && !std::is_same_v<Dim, bool>) constexpr dim_list(Dim dim)
      : one_(static_cast<i64>(dim)), is_one_(true) {}
  constexpr dim_list(std::initializer_list<i64> list) : list_(list) {}
  template <class List>
  requires std::is_convertible_v<const List&, int_list>
  constexpr dim_list(const List& list) : list_(list) {}

  /// The list, which must not outlive this.
  constexpr operator int_list() const noexcept { return is_one_ ? int_list(&one_, 1) : list_; }

 private:
  int_list list_;
  i64 one_ = 0;
  bool is_one_ = false;
};

/// "[2, 3]"; converts to std::string_view and std::string.
[[nodiscard]] FLAGGEMS_COLD_ONCE fixed_text to_string(int_list list) {
  fixed_text r("[");
  for (int i = 0; i < list.size(); ++i) {
    if (i != 0) r += ", ";
    r += fixed_text(list[i]);
  }
  r += "]";
  return r;
}

namespace detail {

// Error paths of shapes.
[[noreturn]] FLAGGEMS_COLD_ONCE void raise_rank(const char* op, int rank) {
  raise(errc::invalid_argument, op, "at most 8 dimensions", text(rank));
}
[[noreturn]] FLAGGEMS_COLD_ONCE void raise_dim(const char* op, i64 dim, int rank) {
  raise(errc::out_of_range, op,
        rank == 0 ? text("a dimension of a 0-dimensional tensor (-1 or 0)")
                  : "a dimension in [" + text(-rank) + ", " + text(rank - 1) + "]",
        text(dim));
}
[[noreturn]] FLAGGEMS_COLD_ONCE void raise_sizes(const char* op, const char* expected,
                                                 int_list got) {
  raise(errc::invalid_argument, op, expected, to_string(got));
}
[[noreturn]] FLAGGEMS_COLD_ONCE void raise_shapes(const char* op, const char* expected, int_list a,
                                                  int_list b) {
  raise(errc::shape_mismatch, op, expected, to_string(a) + " and " + to_string(b));
}
[[noreturn]] FLAGGEMS_COLD_ONCE void raise_null(const char* op, int_list sizes) {
  raise(errc::invalid_argument, op, "a pointer to the elements of sizes " + to_string(sizes),
        "null");
}
[[noreturn]] FLAGGEMS_COLD_ONCE void raise_misaligned(const char* op, u64 address, i64 alignment) {
  raise(errc::invalid_argument, op,
        "a pointer that is a multiple of the element type's " + text(alignment) + " bytes",
        "one that is " + text(static_cast<i64>(address % static_cast<u64>(alignment))) + " beyond");
}
[[noreturn]] FLAGGEMS_COLD_ONCE void raise_index_count(int count, int rank) {
  raise(errc::invalid_argument, "tensor_view", text(rank) + " indices", text(count));
}
[[noreturn]] FLAGGEMS_COLD_ONCE void raise_index(const char* op, int dim, i64 index, i64 size) {
  raise(errc::out_of_range, op,
        "an index in [" + text(-size) + ", " + text(size - 1) + "] of dimension " + text(dim),
        text(index));
}
[[noreturn]] FLAGGEMS_COLD_ONCE void raise_element(int dim, i64 index, i64 size) {
  raise(errc::out_of_range, "tensor_view",
        "0 <= index < " + text(size) + " in dimension " + text(dim), text(index));
}

/// a * b into `result`; false on overflow.
[[nodiscard]] constexpr bool multiply(i64 a, i64 b, i64& result) noexcept {
  return !__builtin_mul_overflow(a, b, &result);
}
/// a + b into `result`; false on overflow.
[[nodiscard]] constexpr bool add(i64 a, i64 b, i64& result) noexcept {
  return !__builtin_add_overflow(a, b, &result);
}
/// a * b modulo 2^64, for strides that address no element: those of sizes 0 and 1, and all of an
/// empty view, can be any number.
[[nodiscard]] constexpr i64 wrapped_product(i64 a, i64 b) noexcept {
  return static_cast<i64>(static_cast<u64>(a) * static_cast<u64>(b));
}

/// Copies `n` numbers, at most `max_rank`, one by one. (Compilers turn a simple loop into `rep
/// movs` or memcpy, which are slower for so few.)
constexpr void copy_few(i64* to, const i64* from, int n) noexcept {
  for (int i = 0; i < max_rank; ++i) {
    if (i >= n) break;
    to[i] = from[i];
  }
}

}  // namespace detail

/// The sizes of a tensor, with the rank known at run time: a small owning value. Rank 0 has one
/// element.
struct any_extents {
  static constexpr int static_rank = -1;

  constexpr any_extents() = default;
  /// Copies the list. Raises invalid_argument for more than `max_rank` entries; the entries are not
  /// checked.
  constexpr any_extents(std::initializer_list<i64> sizes) { assign(int_list(sizes)); }
  constexpr any_extents(int_list sizes) { assign(sizes); }
  template <class Container>
  requires requires(const Container& c) { std::span<const i64>(c.data(), c.size()); }
  constexpr any_extents(const Container& sizes) { assign(int_list(sizes)); }

  [[nodiscard]] constexpr int rank() const noexcept { return rank_; }
  [[nodiscard]] constexpr const i64* data() const noexcept { return sizes_; }
  /// The number of dimensions, as in a container; `rank()` as std::size_t.
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    return static_cast<std::size_t>(rank_);
  }
  [[nodiscard]] constexpr i64 operator[](int dim) const noexcept { return sizes_[dim]; }
  [[nodiscard]] constexpr i64& operator[](int dim) noexcept { return sizes_[dim]; }
  [[nodiscard]] constexpr const i64* begin() const noexcept { return sizes_; }
  [[nodiscard]] constexpr const i64* end() const noexcept { return sizes_ + rank_; }
  [[nodiscard]] constexpr i64* begin() noexcept { return sizes_; }
  [[nodiscard]] constexpr i64* end() noexcept { return sizes_ + rank_; }
  constexpr operator std::span<const i64>() const noexcept { return {sizes_, size()}; }

  /// The product of the sizes; 1 for rank 0. Only for sizes of a valid tensor.
  [[nodiscard]] constexpr i64 numel() const noexcept {
    i64 n = 1;
    for (const i64 s : *this) n *= s;
    return n;
  }

  /// Appends one dimension. Raises invalid_argument if there are `max_rank` already.
  constexpr void push_back(i64 size) {
    if (rank_ == max_rank) [[unlikely]]
      detail::raise_rank("shape", rank_ + 1);
    sizes_[rank_++] = size;
  }
  /// Inserts a dimension before dimension `dim` (0 .. rank).
  constexpr void insert(int dim, i64 size) {
    push_back(size);
    // Over the whole array: with the rank as bound, GCC 12 warns of bounds when inlined.
    for (int i = max_rank - 1; i > dim; --i) sizes_[i] = sizes_[i - 1];
    sizes_[dim] = size;
  }
  /// Removes dimension `dim` (0 .. rank - 1).
  constexpr void erase(int dim) {
    for (int i = dim + 1; i < rank_; ++i) sizes_[i - 1] = sizes_[i];
    --rank_;
  }

  friend constexpr bool operator==(const any_extents& a, const any_extents& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a.sizes_[i] != b.sizes_[i]) return false;
    return true;
  }

 private:
  constexpr void assign(int_list sizes) {
    if (sizes.size() > max_rank) [[unlikely]]
      detail::raise_rank("shape", sizes.size());
    rank_ = sizes.size();
    detail::copy_few(sizes_, sizes.data(), rank_);
  }

  i64 sizes_[max_rank] = {};
  int rank_ = 0;
};

/// A shape, strides, or dimensions, as a value.
using shape = any_extents;

constexpr int_list::int_list(const any_extents& sizes) : data_(sizes.data()), size_(sizes.rank()) {}

namespace detail {
template <unsigned Size>
struct i64_array {
  i64 values[Size] = {};
  constexpr i64 get(int i) const noexcept { return values[i]; }
  constexpr void set(int i, i64 value) noexcept { values[i] = value; }
  constexpr const i64* data() const noexcept { return values; }
};
template <>
struct i64_array<0> {
  constexpr i64 get(int) const noexcept { return 0; }
  constexpr void set(int, i64) noexcept {}
  constexpr const i64* data() const noexcept { return nullptr; }
};
}  // namespace detail

/// Sizes known at compile time, except those given as `dynamic_extent`, which alone are stored. As
/// std::extents.
template <i64... E>
struct extents : private detail::i64_array<((E == dynamic_extent) + ... + 0u)> {
  static_assert(sizeof...(E) <= max_rank, "extents: at most 8 dimensions");
  static_assert(((E >= dynamic_extent) && ...), "extents: a size must not be negative");

  static constexpr int static_rank = static_cast<int>(sizeof...(E));
  static constexpr int dynamic_rank = ((E == dynamic_extent) + ... + 0);

  constexpr extents() = default;
  /// From the sizes of all dimensions. Raises shape_mismatch if they differ from static extents.
  constexpr explicit extents(int_list sizes) {
    if (!matches(sizes)) [[unlikely]]
      detail::raise_shapes("extents", "sizes equal to the static extents (-1: any)", shape{E...},
                           sizes);
    int next = 0;
    for (int i = 0; i < static_rank; ++i)
      if (static_size(i) == dynamic_extent) this->set(next++, sizes[i]);
  }

  [[nodiscard]] static constexpr int rank() noexcept { return static_rank; }
  /// The static size of dimension `dim` (0 .. rank - 1), or `dynamic_extent`.
  [[nodiscard]] static constexpr i64 static_size(int dim) noexcept {
    constexpr i64 sizes[sizeof...(E) + 1] = {E..., 0};
    return sizes[dim];
  }
  [[nodiscard]] constexpr i64 operator[](int dim) const noexcept {
    if (static_size(dim) != dynamic_extent) return static_size(dim);
    int index = 0;
    for (int i = 0; i < dim; ++i) index += static_size(i) == dynamic_extent;
    return this->get(index);
  }
  /// Whether `sizes` match these extents.
  [[nodiscard]] static constexpr bool matches(int_list sizes) noexcept {
    if (sizes.size() != static_rank) return false;
    for (int i = 0; i < static_rank; ++i)
      if (static_size(i) != dynamic_extent && static_size(i) != sizes[i]) return false;
    return true;
  }
  constexpr operator shape() const {
    shape sizes;
    for (int i = 0; i < static_rank; ++i) sizes.push_back((*this)[i]);
    return sizes;
  }
};

// ---- dimensions and shapes

/// `dim`, counted from the end if negative, as 0 .. rank - 1. A 0-dimensional tensor has dimension
/// 0, as in ATen. Raises out_of_range that names `op`.
[[nodiscard]] constexpr int normalize_dim(i64 dim, int rank, const char* op) {
  const int n = rank == 0 ? 1 : rank;
  if (dim < -n || dim >= n) [[unlikely]]
    detail::raise_dim(op, dim, rank);
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

/// The sizes without dimension `dim`, as of a reduction along it. As in ATen, a 0-dimensional
/// tensor has dimension 0 and keeps its sizes. Raises out_of_range that names `op`.
[[nodiscard]] constexpr shape without_dim(int_list sizes, i64 dim, const char* op) {
  shape left(sizes);
  const int d = normalize_dim(dim, left.rank(), op);
  if (left.rank() > 0) left.erase(d);
  return left;
}

/// A set of dimensions as a bit mask; an empty list means all dimensions, as in ATen's reductions.
/// Raises out_of_range, or invalid_argument for a repeated dimension.
[[nodiscard]] constexpr u32 normalize_dims(int_list dims, int rank, const char* op) {
  if (dims.size() == 0) return (1u << rank) - 1u;
  u32 mask = 0;
  for (const i64 dim : dims) {
    const u32 bit = 1u << normalize_dim(dim, rank, op);
    if ((mask & bit) != 0) [[unlikely]]
      detail::raise_sizes(op, "each dimension at most once", dims);
    mask |= bit;
  }
  return mask;
}

/// The number of elements for these sizes. Raises invalid_argument, naming `op`, for a negative
/// size, a rank above `max_rank`, and more elements than i64 counts (with sizes of 0 counted as 1,
/// so that strides are always representable).
constexpr i64 checked_numel(int_list sizes, const char* op) {
  if (sizes.size() > max_rank) [[unlikely]]
    detail::raise_rank(op, sizes.size());
  i64 product = 1;
  bool is_empty = false, fits = true;
  for (const i64 s : sizes) {
    if (s < 0) [[unlikely]]
      detail::raise_sizes(op, "sizes that are not negative", sizes);
    is_empty |= s == 0;
    fits = fits && detail::multiply(product, s == 0 ? 1 : s, product);
  }
  if (!fits) [[unlikely]]
    detail::raise_sizes(op, "fewer than 2^63 elements", sizes);
  return is_empty ? 0 : product;
}

/// Row-major strides, in elements, of a contiguous tensor of these sizes; of sizes that no tensor
/// has, any.
[[nodiscard]] constexpr shape contiguous_strides(const shape& sizes) {
  shape strides = sizes;
  u64 step = 1;
  for (int i = sizes.rank() - 1; i >= 0; --i) {
    strides[i] = static_cast<i64>(step);
    step *= sizes[i] == 0 ? 1 : static_cast<u64>(sizes[i]);
  }
  return strides;
}

/// The broadcast shape of a and b: aligned at the last dimension, sizes equal or 1. Raises
/// shape_mismatch that names `op`.
[[nodiscard]] constexpr shape broadcast_shapes(const shape& a, const shape& b, const char* op) {
  shape r = a.rank() >= b.rank() ? a : b;
  const int da = r.rank() - a.rank(), db = r.rank() - b.rank();
  for (int i = 0; i < r.rank(); ++i) {
    const i64 sa = i < da ? 1 : a[i - da], sb = i < db ? 1 : b[i - db];
    if (sa != sb && sa != 1 && sb != 1) [[unlikely]]
      detail::raise_shapes(op, "shapes that broadcast together", a, b);
    r[i] = sa == 1 ? sb : sa;
  }
  return r;
}

}  // namespace flaggems
