// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Non-owning views: a pointer, sizes and strides in elements, and the device in the type.
#pragma once

#include <flaggems/tensor/extents.hpp>
#include <flaggems/tensor/layout.hpp>
#include <flaggems/tensor/memory_format.hpp>

#include <limits>
#include <type_traits>

namespace flaggems {

/// The device type of this machine's processor, defined by vendors/host.hpp.
struct host;

/// Whether the host can read this device's memory: views of it have `operator()`. A vendor
/// specialises it to false.
template <class Device>
inline constexpr bool host_accessible = true;

template <class T, class Device = host, class Extents = any_extents>
class tensor_view;

namespace detail {

template <class T>
inline constexpr bool is_tensor_view = false;
template <class T, class Device, class Extents>
inline constexpr bool is_tensor_view<tensor_view<T, Device, Extents>> = true;

/// A view's sizes and strides that are not in its type.
template <class Extents>
class view_base : private Extents {
 public:
  [[nodiscard]] static constexpr int rank() noexcept { return Extents::static_rank; }
  [[nodiscard]] constexpr shape sizes() const { return static_cast<const Extents&>(*this); }
  [[nodiscard]] constexpr shape shape_of() const { return sizes(); }
  [[nodiscard]] constexpr std::span<const i64> strides() const noexcept {
    return {strides_.data(), static_cast<std::size_t>(rank())};
  }

 protected:
  constexpr view_base(int_list sizes, int_list strides) : Extents(sizes) {
    for (int i = 0; i < rank(); ++i) strides_.set(i, strides[i]);
  }
  [[nodiscard]] constexpr i64 size_at(int i) const noexcept { return Extents::operator[](i); }
  [[nodiscard]] constexpr i64 stride_at(int i) const noexcept { return strides_.get(i); }
  [[nodiscard]] constexpr i64 count() const noexcept {
    i64 n = 1;
    for (int i = 0; i < rank(); ++i) n *= size_at(i);
    return n;
  }

 private:
  [[no_unique_address]] i64_array<static_cast<unsigned>(Extents::static_rank)> strides_;
};

template <>
class view_base<any_extents> {
 public:
  [[nodiscard]] constexpr int rank() const noexcept { return sizes_.rank(); }
  [[nodiscard]] constexpr std::span<const i64> sizes() const noexcept { return sizes_; }
  [[nodiscard]] constexpr const shape& shape_of() const noexcept { return sizes_; }
  [[nodiscard]] constexpr std::span<const i64> strides() const noexcept {
    return {strides_, static_cast<std::size_t>(rank())};
  }

 protected:
  constexpr view_base(int_list sizes, int_list strides) : sizes_(sizes), numel_(sizes_.numel()) {
    copy_few(strides_, strides.data(), rank());
  }
  [[nodiscard]] constexpr i64 size_at(int i) const noexcept { return sizes_[i]; }
  [[nodiscard]] constexpr i64 stride_at(int i) const noexcept { return strides_[i]; }
  [[nodiscard]] constexpr i64 count() const noexcept { return numel_; }

 private:
  any_extents sizes_;
  i64 strides_[max_rank] = {};
  // Cached, as operators ask for it repeatedly. (It also keeps the pointer after it in a 16-byte
  // word of its own: copies of a view just made then do not stall.)
  i64 numel_;
};

struct unchecked_t {};

/// Does not compile for device memory that the host cannot read.
template <class Device, class T>
constexpr T& refuse_access(T* data) {
  static_assert(host_accessible<Device>,
                "flaggems: the host cannot read the elements of this device: to_host(stream, x) "
                "makes a copy that it can");
  return *data;
}

/// Walks over what computes its elements by operator[].
template <class Range>
class element_iterator {
 public:
  constexpr element_iterator(const Range& range, i64 i) : range_(&range), i_(i) {}
  constexpr auto operator*() const { return (*range_)[i_]; }
  constexpr element_iterator& operator++() { return ++i_, *this; }
  friend constexpr bool operator==(element_iterator a, element_iterator b) { return a.i_ == b.i_; }
  friend constexpr bool operator!=(element_iterator a, element_iterator b) { return a.i_ != b.i_; }

 private:
  const Range* range_;
  i64 i_;
};

}  // namespace detail

/// The parts of a view along one dimension, computed on access: the result of `split`, `chunk` and
/// `tensor_split`.
template <class View>
class view_parts {
 public:
  /// `count` parts of `part` elements, the first `larger` of them of one more; the last may be cut.
  constexpr view_parts(const View& whole, int dim, i64 part, i64 count, i64 larger = 0)
      : whole_(whole), dim_(dim), part_(part), count_(count), larger_(larger) {}
  /// The number of parts.
  [[nodiscard]] constexpr i64 size() const noexcept { return count_; }
  /// Part `i`, 0 <= i < size(); the last may be smaller than the others.
  [[nodiscard]] constexpr View operator[](i64 i) const {
    if (i < 0 || i >= count_) [[unlikely]]
      detail::raise_index("split", dim_, i, count_);
    const i64 start = i * part_ + (i < larger_ ? i : larger_), rest = whole_.size(dim_) - start;
    const i64 length = part_ + (i < larger_ ? 1 : 0);
    return whole_.narrow(dim_, start, length < rest ? length : rest);
  }

  [[nodiscard]] constexpr auto begin() const { return detail::element_iterator(*this, 0); }
  [[nodiscard]] constexpr auto end() const { return detail::element_iterator(*this, size()); }

 private:
  View whole_;
  int dim_;
  i64 part_, count_, larger_;
};

/// The views at each index of one dimension, computed on access: the result of `unbind`.
template <class View>
class view_slices {
 public:
  constexpr view_slices(const View& whole, int dim) : whole_(whole), dim_(dim) {}
  /// The size of the dimension.
  [[nodiscard]] constexpr i64 size() const { return whole_.size(dim_); }
  /// The view at index `i`, 0 <= i < size().
  [[nodiscard]] constexpr View operator[](i64 i) const { return whole_.select(dim_, i); }

  [[nodiscard]] constexpr auto begin() const { return detail::element_iterator(*this, 0); }
  [[nodiscard]] constexpr auto end() const { return detail::element_iterator(*this, size()); }

 private:
  View whole_;
  int dim_;
};

namespace detail {

// Parts of any kind of view.
template <class View>
constexpr view_slices<View> unbind(const View& v, i64 dim) {
  return {v, existing_dim(dim, v.rank(), "unbind")};
}
template <class View>
constexpr view_parts<View> split(const View& v, i64 split_size, i64 dim) {
  const int d = existing_dim(dim, v.rank(), "split");
  const i64 n = v.size(d);
  if (split_size < 0 || (split_size == 0 && n != 0)) [[unlikely]]
    raise(errc::invalid_argument, "split", "a positive split_size", text(split_size));
  const i64 count = split_size == 0 || n == 0 ? 1 : (n - 1) / split_size + 1;
  return {v, d, split_size, count};
}
template <class View>
constexpr view_parts<View> chunk(const View& v, i64 chunks, i64 dim) {
  const int d = existing_dim(dim, v.rank(), "chunk");
  if (chunks <= 0) [[unlikely]]
    raise(errc::invalid_argument, "chunk", "a positive number of chunks", text(chunks));
  const i64 n = v.size(d);
  if (n == 0) return {v, d, 0, chunks};
  return split(v, (n - 1) / chunks + 1, d);
}
template <class View>
constexpr view_parts<View> tensor_split(const View& v, i64 sections, i64 dim) {
  const int d = existing_dim(dim, v.rank(), "tensor_split");
  if (sections <= 0) [[unlikely]]
    raise(errc::invalid_argument, "tensor_split", "a positive number of sections", text(sections));
  const i64 n = v.size(d);
  return {v, d, n / sections, sections, n % sections};
}
/// The dimensions as bits.
constexpr u32 squeezed(int_list dims, int rank) {
  return dims.size() == 0 ? 0u : normalize_dims(dims, rank, "squeeze");
}

}  // namespace detail

/// A view of elements of type T (const for input) in the memory of `Device`: the element at indices
/// (i, j, ...) is data()[i * stride(0) + j * stride(1) + ...]. Non-owning; copies are shallow.
/// Sizes may be 0, strides any number. View operations check their arguments and raise `error`;
/// negative dimensions count from the end.
template <class T, class Device, class Extents>
class tensor_view : public detail::view_base<Extents> {
  using base = detail::view_base<Extents>;

 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  using device_type = Device;
  using extents_type = Extents;
  /// The result of view operations.
  using view_type = tensor_view<T, Device>;

  static_assert(!std::is_reference_v<T> && !std::is_volatile_v<T>,
                "tensor_view: T is an element type, const or not");

  /// No elements: a null pointer and sizes [0].
  constexpr tensor_view() requires std::is_same_v<Extents, any_extents> : base({0}, {1}),
                                                                          data_(nullptr) {}

  /// A contiguous (row-major) view of `data`. Raises invalid_argument for impossible sizes and, if
  /// there are elements, for a null or misaligned pointer (copy misaligned elements as bytes
  /// first).
  constexpr tensor_view(T* data, int_list new_sizes)
      : base(new_sizes, checked_strides(new_sizes)), data_(data) {
    check_data("tensor_view");
  }

  /// A view with given strides, in elements. Raises shape_mismatch if their number differs from
  /// that of the sizes or the elements span 2^63 bytes, and otherwise as above.
  constexpr tensor_view(T* data, int_list new_sizes, int_list new_strides)
      : base(new_sizes,
             (detail::check_layout(new_sizes, new_strides, bytes_of_element, "tensor_view"),
              new_strides)),
        data_(data) {
    check_data("tensor_view");
  }

  /// A contiguous view with static sizes.
  constexpr explicit tensor_view(T* data) requires(Extents::static_rank >= 0 &&
                                                   std::is_empty_v<Extents>)
      : tensor_view(data, shape(Extents{})) {}

  /// From a view of mutable elements to one of const elements.
  template <class T2>
  requires(!std::is_same_v<T2, T> && std::is_same_v<const T2, T>) constexpr tensor_view(
      const tensor_view<T2, Device, Extents>& other)
      : base(other), data_(other.data()) {}

  /// Implicit conversion from views of the same elements, or mutable ones to const, whose extents
  /// fit without a check.
  template <class T2, class Extents2>
  requires(std::is_same_v<const T2, T> || std::is_same_v<T2, T>) &&
      (!std::is_same_v<Extents2, Extents>)&&std::is_same_v<
          Extents, any_extents> constexpr tensor_view(const tensor_view<T2, Device, Extents2>&
                                                          other)
      : base(shape(other.sizes()), other.strides()),
  data_(other.data()) {}

  /// Explicit conversion to static or other extents: raises shape_mismatch if the sizes differ.
  template <class T2, class Extents2>
  requires(std::is_same_v<const T2, T> || std::is_same_v<T2, T>) &&
      (!std::is_same_v<Extents, any_extents> &&
       !std::is_same_v<Extents,
                       Extents2>)constexpr explicit tensor_view(const tensor_view<T2, Device,
                                                                                  Extents2>& other)
      : base(shape(other.sizes()), other.strides()),
  data_(other.data()) {}

  /// From sizes and strides known to be valid for `data`. Internal.
  constexpr tensor_view(detail::unchecked_t, T* data, const shape& new_sizes,
                        const shape& new_strides)
      : base(new_sizes, new_strides), data_(data) {}

  using base::rank;     ///< The number of dimensions.
  using base::sizes;    ///< All sizes: a span, or a `shape` if static.
  using base::strides;  ///< All strides, in elements.

  /// The element at indices 0.
  [[nodiscard]] constexpr T* data() const noexcept { return data_; }
  /// The size of a dimension. Raises out_of_range.
  [[nodiscard]] constexpr i64 size(i64 dim) const {
    return this->size_at(detail::existing_dim(dim, rank(), "size"));
  }
  /// The stride of a dimension, in elements. Raises out_of_range.
  [[nodiscard]] constexpr i64 stride(i64 dim) const {
    return this->stride_at(detail::existing_dim(dim, rank(), "stride"));
  }
  /// The sizes as a value.
  [[nodiscard]] constexpr flaggems::shape shape_of() const { return base::shape_of(); }
  /// The number of elements.
  [[nodiscard]] constexpr i64 numel() const noexcept { return this->count(); }
  /// The bytes of all elements: numel() * sizeof(T).
  [[nodiscard]] constexpr i64 bytes() const noexcept { return numel() * bytes_of_element; }
  [[nodiscard]] constexpr bool empty() const noexcept { return numel() == 0; }
  /// Whether the elements are dense in row-major order. Strides of dimensions of size 1 are
  /// ignored; an empty view is contiguous.
  [[nodiscard]] constexpr bool is_contiguous() const noexcept {
    return detail::is_contiguous(sizes(), strides());
  }
  /// Whether the elements are dense in that format; preserve_format means contiguous_format here.
  [[nodiscard]] constexpr bool is_contiguous(memory_format format) const noexcept {
    return detail::is_contiguous(sizes(), strides(), format);
  }

  /// The element at the indices, one per dimension, 0 <= index < size. Raises invalid_argument for
  /// a wrong number of indices and out_of_range for indices; FLAGGEMS_BOUNDS_CHECK=0 disables both
  /// checks, except for no index at all.
  template <class... Index>
  requires(host_accessible<Device> && (std::is_convertible_v<Index, i64> && ...))
      [[nodiscard]] constexpr T&
      operator()(Index... index) const {
    constexpr int n = static_cast<int>(sizeof...(Index));
    static_assert(Extents::static_rank < 0 ? n <= max_rank : Extents::static_rank == n,
                  "tensor_view: as many indices as dimensions");
    i64 offset = 0;
    [[maybe_unused]] int dim = 0;
    if constexpr (FLAGGEMS_BOUNDS_CHECK || n == 0)
      if (rank() != n) [[unlikely]]
        detail::raise_index_count(n, rank());
#if FLAGGEMS_BOUNDS_CHECK
    ((check_index(dim, static_cast<i64>(index)), ++dim), ...);
    dim = 0;
#endif
    ((offset += static_cast<i64>(index) * this->stride_at(dim++)), ...);
    return data_[offset];
  }

  /// Element i of a view of rank 1; checked as in `operator()`.
  [[nodiscard]] constexpr T& operator[](i64 i) const
      requires(host_accessible<Device> &&
               (Extents::static_rank == 1 || Extents::static_rank == -1)) {
    return (*this)(i);
  }

  /// Deleted for memory that the host cannot read: copy it by to_host.
  template <class... Index>
  requires(!host_accessible<Device>) constexpr T& operator()(const Index&...) const {
    return detail::refuse_access<Device>(data_);
  }
  template <class Index>
  requires(!host_accessible<Device>) constexpr T& operator[](const Index&) const {
    return detail::refuse_access<Device>(data_);
  }

  // ---- views of the same elements

  /// This view with its rank at run time.
  [[nodiscard]] constexpr view_type view() const { return *this; }
  /// Elements start, start + step, ... before `end` of dimension `dim`. As in Python, negative
  /// start and end count from the end and are clamped. step >= 1.
  [[nodiscard]] constexpr view_type slice(i64 dim, i64 start = 0,
                                          i64 end = (std::numeric_limits<i64>::max)(),
                                          i64 step = 1) const {
    return with(detail::slice(parts(), dim, start, end, step));
  }
  /// `length` elements from `start` on of dimension `dim`, without clamping.
  [[nodiscard]] constexpr view_type narrow(i64 dim, i64 start, i64 length) const {
    return with(detail::narrow(parts(), dim, start, length));
  }
  /// Index `index` of dimension `dim`; removes the dimension.
  [[nodiscard]] constexpr view_type select(i64 dim, i64 index) const {
    return with(detail::select(parts(), dim, index));
  }
  /// Dimension i of the result is dimension dims[i].
  [[nodiscard]] constexpr view_type permute(int_list dims) const {
    return with(detail::permute(parts(), dims, "permute"));
  }
  /// Exchanges two dimensions.
  [[nodiscard]] constexpr view_type transpose(i64 dim0, i64 dim1) const {
    detail::layout v = parts();
    detail::transpose(v, dim0, dim1);
    return with(v);
  }
  /// The transposed matrix; identity for ranks 0 and 1.
  [[nodiscard]] constexpr view_type t() const {
    detail::layout v = parts();
    detail::t(v);
    return with(v);
  }
  /// Moves dimension `source` to `destination`; the others keep their order.
  [[nodiscard]] constexpr view_type movedim(i64 source, i64 destination) const {
    return with(detail::movedim(parts(), source, destination));
  }
  /// Broadcasts dimensions of size 1 and new leading ones, with stride 0; -1 keeps a size. Raises
  /// shape_mismatch for other sizes, and beyond 2^63 bytes.
  [[nodiscard]] constexpr view_type expand(int_list new_sizes) const {
    return with(detail::expand(parts(), new_sizes, bytes_of_element, "expand"));
  }
  /// As `expand`.
  [[nodiscard]] constexpr view_type broadcast_to(int_list new_sizes) const {
    return with(detail::expand(parts(), new_sizes, bytes_of_element, "broadcast_to"));
  }
  /// The same elements in row-major order under other sizes, one of which may be -1. Raises
  /// invalid_argument where that requires a copy.
  [[nodiscard]] constexpr view_type view(int_list new_sizes) const {
    return with(detail::reshape(parts(), new_sizes, "view"));
  }
  /// As `view`: never copies.
  [[nodiscard]] constexpr view_type reshape(int_list new_sizes) const {
    return with(detail::reshape(parts(), new_sizes, "reshape"));
  }
  /// Without the dimensions of size 1.
  [[nodiscard]] constexpr view_type squeeze() const { return with(detail::squeeze(parts(), ~0u)); }
  /// Without those of the dimensions `dims` that have size 1.
  [[nodiscard]] constexpr view_type squeeze(int_list dims) const {
    return with(detail::squeeze(parts(), detail::squeezed(dims, rank())));
  }
  [[nodiscard]] constexpr view_type squeeze(i64 dim) const { return squeeze(int_list(&dim, 1)); }
  /// Inserts a dimension of size 1 as dimension `dim`.
  [[nodiscard]] constexpr view_type unsqueeze(i64 dim) const {
    return with(detail::unsqueeze(parts(), dim));
  }
  /// Reverses the order of elements along `dims`.
  [[nodiscard]] constexpr view_type flip(int_list dims) const {
    return with(detail::flip(parts(), dims));
  }
  /// Merges dimensions start_dim .. end_dim. Raises where that requires a copy.
  [[nodiscard]] constexpr view_type flatten(i64 start_dim = 0, i64 end_dim = -1) const {
    return with(detail::flatten(parts(), start_dim, end_dim));
  }
  /// Splits dimension `dim` into these sizes, one of which may be -1.
  [[nodiscard]] constexpr view_type unflatten(i64 dim, int_list new_sizes) const {
    return with(detail::unflatten(parts(), dim, new_sizes));
  }
  /// Arbitrary sizes and strides from data() + storage_offset on. The caller guarantees that the
  /// elements exist. Raises as the constructor does.
  [[nodiscard]] constexpr view_type as_strided(int_list new_sizes, int_list new_strides,
                                               i64 storage_offset = 0) const {
    detail::check_layout(new_sizes, new_strides, bytes_of_element, "as_strided");
    const view_type base_view(detail::unchecked_t{}, data_, new_sizes, new_strides);
    base_view.check_data("as_strided");
    i64 bytes = 0;
    if (__builtin_mul_overflow(storage_offset, static_cast<i64>(bytes_of_element), &bytes))
        [[unlikely]]
      raise(errc::invalid_argument, "as_strided", "a storage_offset of fewer than 2^63 bytes",
            detail::text(storage_offset));
    return view_type(detail::unchecked_t{}, data_ + storage_offset, new_sizes, new_strides);
  }
  /// The elements whose index in dim2 is that in dim1 plus `offset`, as a new last dimension.
  [[nodiscard]] constexpr view_type diagonal(i64 offset = 0, i64 dim1 = 0, i64 dim2 = 1) const {
    return with(detail::diagonal(parts(), offset, dim1, dim2));
  }
  /// Windows of `window` elements along `dim`, one every `step`: they replace the dimension, and
  /// their elements are a new last one.
  [[nodiscard]] constexpr view_type unfold(i64 dim, i64 window, i64 step) const {
    return with(detail::unfold(parts(), dim, window, step));
  }
  /// The views at each index of `dim`, without the dimension.
  [[nodiscard]] constexpr view_slices<view_type> unbind(i64 dim = 0) const {
    return detail::unbind(view(), dim);
  }
  /// Parts of `split_size` (the last may be smaller) along `dim`.
  [[nodiscard]] constexpr view_parts<view_type> split(i64 split_size, i64 dim = 0) const {
    return detail::split(view(), split_size, dim);
  }
  /// At most `chunks` parts of equal size (the last may be smaller) along `dim`.
  [[nodiscard]] constexpr view_parts<view_type> chunk(i64 chunks, i64 dim = 0) const {
    return detail::chunk(view(), chunks, dim);
  }
  /// Exactly `sections` parts along `dim`, whose sizes differ by at most one, the larger ones
  /// first.
  [[nodiscard]] constexpr view_parts<view_type> tensor_split(i64 sections, i64 dim = 0) const {
    return detail::tensor_split(view(), sections, dim);
  }

 private:
  static constexpr i64 bytes_of_element = static_cast<i64>(sizeof(T));

  static constexpr flaggems::shape checked_strides(int_list sizes) {
    i64 bytes = 0;
    if (!detail::multiply(checked_numel(sizes, "tensor_view"), bytes_of_element, bytes))
        [[unlikely]]
      detail::raise_sizes("tensor_view", "fewer than 2^63 bytes", sizes);
    return contiguous_strides(sizes);
  }
  template <class, class, class>
  friend class tensor_view;
  constexpr void check_data(const char* op) const {
    if (data_ == nullptr && !empty()) [[unlikely]]
      detail::raise_null(op, flaggems::shape(sizes()));
    if (!std::is_constant_evaluated())
      if (const auto address = reinterpret_cast<u64>(data_); address % alignof(T) != 0 && !empty())
          [[unlikely]]
        detail::raise_misaligned(op, address, static_cast<i64>(alignof(T)));
  }
  constexpr void check_index(int dim, i64 index) const {
    if (index < 0 || index >= this->size_at(dim)) [[unlikely]]
      detail::raise_element(dim, index, this->size_at(dim));
  }
  [[nodiscard]] constexpr detail::layout parts() const {
    return {base::shape_of(), flaggems::shape(strides()), 0};
  }
  [[nodiscard]] constexpr view_type with(const detail::layout& v) const {
    return view_type(detail::unchecked_t{}, data_ + v.offset, v.sizes, v.strides);
  }

  T* data_;
};

// ---- tensor-like types

/// The view with run-time rank of a view.
template <class T, class Device, class Extents>
[[nodiscard]] constexpr tensor_view<T, Device> as_view(const tensor_view<T, Device, Extents>& v) {
  return v;
}
/// The view of a type whose `view()` returns one (owning tensors).
template <class X>
requires(!detail::is_tensor_view<std::remove_cvref_t<X>>) && requires(X&& x) {
  requires detail::is_tensor_view<std::remove_cvref_t<decltype(x.view())>>;
}
[[nodiscard]] constexpr auto as_view(X&& x) {
  using view = typename std::remove_cvref_t<decltype(x.view())>::view_type;
  return view(x.view());  // no copy if it has that type
}

/// Views, owning tensors, and types for which argument-dependent lookup finds an `as_view`.
template <class X>
concept tensor_like = requires(X&& x) {
  requires detail::is_tensor_view<std::remove_cvref_t<decltype(as_view(x))>>;
};

namespace detail {
template <tensor_like X>
using view_of = std::remove_cvref_t<decltype(as_view(std::declval<X&>()))>;
}  // namespace detail

/// The element type of a tensor-like type: const if it cannot be written.
template <tensor_like X>
using element_t = typename detail::view_of<X>::element_type;
/// The element type without const.
template <tensor_like X>
using value_t = typename detail::view_of<X>::value_type;
/// The device type of a tensor-like type.
template <tensor_like X>
using device_t = typename detail::view_of<X>::device_type;

}  // namespace flaggems
