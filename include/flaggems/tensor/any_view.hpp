// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Views whose element type is known at run time, as files and adapters give.
#pragma once

#include <flaggems/tensor/dtype.hpp>
#include <flaggems/tensor/view.hpp>

namespace flaggems {

/// A `tensor_view` with a run-time element type, and possibly const elements. `as<T>()` or `visit`
/// restore the type. View operations are those of `tensor_view`.
template <class Device = host>
class any_view {
 public:
  using device_type = Device;

  /// No elements: a null pointer, f32, sizes [0].
  any_view() = default;

  /// A view of any element type.
  template <class T, class Extents>
  requires element<T> any_view(const tensor_view<T, Device, Extents>& v)
      : data_(const_cast<std::remove_const_t<T>*>(v.data())),
        sizes_(v.sizes()),
        strides_(v.strides()),
        dtype_(dtype_of<T>),
        is_const_(std::is_const_v<T>) {}

  /// The view of an owning tensor.
  template <class X>
  requires tensor_like<X> &&(!detail::is_tensor_view<std::remove_cvref_t<X>>)&&std::is_same_v<
      device_t<X>,
      Device> any_view(X&& x)  // NOLINT(bugprone-forwarding-reference-overload): constrained to
                               // tensors
      : any_view(as_view(x)) {}

  /// A contiguous view of `data`. Raises invalid_argument for impossible sizes and, if there are
  /// elements, for a null or misaligned pointer; dtype_mismatch for an invalid dtype.
  any_view(void* data, flaggems::dtype type, int_list sizes)
      : any_view(data, type, sizes,
                 (checked_numel(sizes, "any_view"), contiguous_strides(shape(sizes)))) {}
  any_view(const void* data, flaggems::dtype type, int_list sizes)
      : any_view(const_cast<void*>(data), type, sizes) {
    is_const_ = true;
  }
  /// A view with given strides, in elements. Raises shape_mismatch for impossible strides, and
  /// otherwise as above.
  any_view(void* data, flaggems::dtype type, int_list sizes, int_list strides)
      : data_(data),
        sizes_((detail::check_layout(sizes, strides, checked_size(type), "any_view"), sizes)),
        strides_(strides),
        dtype_(type) {
    if (data == nullptr && !empty()) [[unlikely]]
      detail::raise_null("any_view", sizes);
    if (const auto address = reinterpret_cast<u64>(data);
        address % static_cast<u64>(size_of(type)) != 0 && !empty()) [[unlikely]]
      detail::raise_misaligned("any_view", address, size_of(type));
  }
  any_view(const void* data, flaggems::dtype type, int_list sizes, int_list strides)
      : any_view(const_cast<void*>(data), type, sizes, strides) {
    is_const_ = true;
  }

  /// The element at indices 0. Must not be written if `is_const()`.
  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] flaggems::dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] bool is_const() const noexcept { return is_const_; }
  [[nodiscard]] int rank() const noexcept { return sizes_.rank(); }
  [[nodiscard]] std::span<const i64> sizes() const noexcept { return sizes_; }
  [[nodiscard]] std::span<const i64> strides() const noexcept { return strides_; }
  /// The size of a dimension. Raises out_of_range.
  [[nodiscard]] i64 size(i64 dim) const {
    return sizes_[detail::existing_dim(dim, rank(), "size")];
  }
  /// The stride of a dimension, in elements. Raises out_of_range.
  [[nodiscard]] i64 stride(i64 dim) const {
    return strides_[detail::existing_dim(dim, rank(), "stride")];
  }
  [[nodiscard]] i64 numel() const noexcept { return sizes_.numel(); }
  [[nodiscard]] i64 bytes() const noexcept { return numel() * size_of(dtype_); }
  [[nodiscard]] bool empty() const noexcept { return numel() == 0; }
  [[nodiscard]] bool is_contiguous() const noexcept {
    return detail::is_contiguous(sizes_, strides_);
  }

  /// The view with its element type; `as<const float>()` to read. Raises dtype_mismatch if the
  /// dtype is not T's, and invalid_argument if the elements are const and T is not.
  template <class T>
  requires element<T>
  [[nodiscard]] tensor_view<T, Device> as() const {
    if (dtype_ != dtype_of<T>) [[unlikely]] {
      constexpr flaggems::dtype expected = dtype_of<T>;
      detail::raise_dtype("any_view::as", &expected, 1, dtype_);
    }
    check(std::is_const_v<T> || !is_const_, errc::invalid_argument, "any_view::as",
          "a view of elements that may be written",
          "a view of const elements (as<const T>() reads it)");
    return tensor_view<T, Device>(detail::unchecked_t{}, static_cast<T*>(data_), sizes_, strides_);
  }

  // ---- views of the same elements, as in tensor_view
  [[nodiscard]] any_view slice(i64 dim, i64 start = 0, i64 end = (std::numeric_limits<i64>::max)(),
                               i64 step = 1) const {
    return with(detail::slice(parts(), dim, start, end, step));
  }
  [[nodiscard]] any_view narrow(i64 dim, i64 start, i64 length) const {
    return with(detail::narrow(parts(), dim, start, length));
  }
  [[nodiscard]] any_view select(i64 dim, i64 index) const {
    return with(detail::select(parts(), dim, index));
  }
  [[nodiscard]] any_view permute(int_list dims) const {
    return with(detail::permute(parts(), dims, "permute"));
  }
  [[nodiscard]] any_view transpose(i64 dim0, i64 dim1) const {
    detail::layout v = parts();
    detail::transpose(v, dim0, dim1);
    return with(v);
  }
  [[nodiscard]] any_view t() const {
    detail::layout v = parts();
    detail::t(v);
    return with(v);
  }
  [[nodiscard]] any_view movedim(i64 source, i64 destination) const {
    return with(detail::movedim(parts(), source, destination));
  }
  [[nodiscard]] any_view expand(int_list sizes) const {
    return with(detail::expand(parts(), sizes, size_of(dtype_), "expand"));
  }
  [[nodiscard]] any_view broadcast_to(int_list sizes) const {
    return with(detail::expand(parts(), sizes, size_of(dtype_), "broadcast_to"));
  }
  [[nodiscard]] any_view view(int_list sizes) const {
    return with(detail::reshape(parts(), sizes, "view"));
  }
  [[nodiscard]] any_view reshape(int_list sizes) const {
    return with(detail::reshape(parts(), sizes, "reshape"));
  }
  [[nodiscard]] any_view squeeze() const { return with(detail::squeeze(parts(), ~0u)); }
  [[nodiscard]] any_view squeeze(int_list dims) const {
    return with(detail::squeeze(parts(), detail::squeezed(dims, rank())));
  }
  [[nodiscard]] any_view squeeze(i64 dim) const { return squeeze(int_list(&dim, 1)); }
  [[nodiscard]] any_view unsqueeze(i64 dim) const { return with(detail::unsqueeze(parts(), dim)); }
  [[nodiscard]] any_view flip(int_list dims) const { return with(detail::flip(parts(), dims)); }
  [[nodiscard]] any_view flatten(i64 start_dim = 0, i64 end_dim = -1) const {
    return with(detail::flatten(parts(), start_dim, end_dim));
  }
  [[nodiscard]] any_view unflatten(i64 dim, int_list sizes) const {
    return with(detail::unflatten(parts(), dim, sizes));
  }
  [[nodiscard]] any_view diagonal(i64 offset = 0, i64 dim1 = 0, i64 dim2 = 1) const {
    return with(detail::diagonal(parts(), offset, dim1, dim2));
  }
  [[nodiscard]] any_view unfold(i64 dim, i64 window, i64 step) const {
    return with(detail::unfold(parts(), dim, window, step));
  }
  [[nodiscard]] any_view as_strided(int_list sizes, int_list strides,
                                    i64 storage_offset = 0) const {
    detail::check_layout(sizes, strides, size_of(dtype_), "as_strided");
    if (data_ == nullptr && shape(sizes).numel() != 0) [[unlikely]]
      detail::raise_null("as_strided", sizes);
    return with({sizes, strides, storage_offset});
  }
  [[nodiscard]] view_slices<any_view> unbind(i64 dim = 0) const {
    return detail::unbind(*this, dim);
  }
  [[nodiscard]] view_parts<any_view> split(i64 split_size, i64 dim = 0) const {
    return detail::split(*this, split_size, dim);
  }
  [[nodiscard]] view_parts<any_view> chunk(i64 chunks, i64 dim = 0) const {
    return detail::chunk(*this, chunks, dim);
  }
  [[nodiscard]] view_parts<any_view> tensor_split(i64 sections, i64 dim = 0) const {
    return detail::tensor_split(*this, sections, dim);
  }

 private:
  static i64 checked_size(flaggems::dtype type) {
    if (static_cast<unsigned>(type) >= static_cast<unsigned>(dtype_count)) [[unlikely]]
      raise(errc::dtype_mismatch, "any_view", "a dtype", detail::text(static_cast<i64>(type)));
    return size_of(type);
  }
  [[nodiscard]] detail::layout parts() const { return {sizes_, strides_, 0}; }
  [[nodiscard]] any_view with(const detail::layout& v) const {
    any_view r = *this;
    if (v.offset != 0) r.data_ = static_cast<char*>(data_) + v.offset * size_of(dtype_);
    r.sizes_ = v.sizes;
    r.strides_ = v.strides;
    return r;
  }

  void* data_ = nullptr;
  shape sizes_ = {0};
  shape strides_ = {1};
  flaggems::dtype dtype_ = flaggems::dtype::f32;
  bool is_const_ = false;
};

template <class T, class Device, class Extents>
any_view(const tensor_view<T, Device, Extents>&) -> any_view<Device>;

namespace detail {
/// Whether an index of a list is left out: any_view<Device>(), whose dtype is none of indices.
template <class Device>
bool is_absent(const any_view<Device>& x) {
  return x.data() == nullptr && x.dtype() == any_view<Device>().dtype();
}
}  // namespace detail

/// Calls `f` with the typed view of `v`, whose element type is one of Ts, and returns its result:
/// `tensor_view<const T, Device>`. Otherwise raises dtype_mismatch that names `op` and Ts.
template <class... Ts, class Device, class F>
requires(sizeof...(Ts) > 0) decltype(auto) visit(const any_view<Device>& v, F&& f, const char* op) {
  return visit<Ts...>(
      v.dtype(),
      [&](auto type) -> decltype(auto) {
        return f(v.template as<const typename decltype(type)::type>());
      },
      op);
}

/// As above for every element type.
template <class Device, class F>
decltype(auto) visit(const any_view<Device>& v, F&& f) {
  return visit(v.dtype(), [&](auto type) -> decltype(auto) {
    return f(v.template as<const typename decltype(type)::type>());
  });
}

/// Calls `f` with the writable typed view of `v`: `tensor_view<T, Device>`. Raises invalid_argument
/// if the elements are const.
template <class Device, class F>
decltype(auto) visit_mutable(const any_view<Device>& v, F&& f) {
  return visit(v.dtype(), [&](auto type) -> decltype(auto) {
    return f(v.template as<typename decltype(type)::type>());
  });
}

}  // namespace flaggems
