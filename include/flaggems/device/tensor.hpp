// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors that own their memory.
#pragma once

#include <flaggems/device/memory_pool.hpp>
#include <flaggems/device/stream.hpp>
#include <flaggems/tensor/dtype.hpp>
#include <flaggems/tensor/overlap.hpp>
#include <flaggems/tensor/view.hpp>

#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

namespace flaggems {

namespace detail {
template <class Device>
void copy_bytes(const stream_ref<Device>& stream, void* to, const void* from, i64 bytes,
                copy_kind kind) {
  if (bytes == 0) return;
  const on_device<Device> scope(stream.device_index());
  Device::copy(to, from, bytes, kind, stream.handle());
}

/// Does not compile.
template <class... X, class View>
View refuse_temporary(const View& view) {
  static_assert(sizeof...(X) == 99,
                "flaggems: a temporary tensor ends with the statement, before its view: give the "
                "tensor a name");
  return view;
}
}  // namespace detail

/// An owning tensor. Its memory is allocated and freed in the order of a stream; elements are
/// dense, in row-major order unless created with a memory_format or strides. Move only; `clone`
/// copies. Views must not outlive it. A const tensor is not written. Moved-from tensors have no
/// elements (sizes [0], null pointer); operators accept them, and they can be assigned to.
template <class T, class Device = host>
class tensor {
  static_assert(
      requires { sizeof(Device); },
      "flaggems: a tensor needs the header of its device type, to_host flaggems/vendors/host.hpp");

  static_assert(!std::is_const_v<T>, "tensor: T is an element type, not const");
  static_assert(element<T> || std::is_integral_v<T>, "flaggems: tensor: T is not an element type");
  static_assert(
      element<T> || !std::is_integral_v<T>,
      "flaggems: long long, char and their like are not element types: use flaggems::i64, "
      "i8 or another of a fixed width");

 public:
  using element_type = T;
  using value_type = T;
  using device_type = Device;

  /// No elements: sizes [0].
  tensor() = default;
  /// Uninitialised, for work in the order of `stream`. Raises invalid_argument for impossible
  /// sizes, and out_of_memory, both in the name of `op`.
  tensor(const stream_ref<Device>& stream, const shape& sizes, const char* op = "tensor")
      : storage_(bytes_of(sizes, op), stream, op),
        view_(detail::unchecked_t{}, static_cast<T*>(storage_.data()), sizes,
              contiguous_strides(sizes)) {}

  /// The same with given strides, in elements. Also raises shape_mismatch unless they have the
  /// right rank and address each element once, without gaps.
  tensor(const stream_ref<Device>& stream, const shape& sizes, const shape& strides, const char* op)
      : storage_(bytes_under(sizes, strides, op), stream, op),
        view_(detail::unchecked_t{}, static_cast<T*>(storage_.data()), sizes, strides) {}

  tensor(tensor&& other) noexcept
      : storage_(std::move(other.storage_)), view_(std::exchange(other.view_, {})) {}
  tensor& operator=(tensor&& other) noexcept {
    if (this != &other) {
      storage_ = std::move(other.storage_);
      view_ = std::exchange(other.view_, {});
      other.storage_ = {};
    }
    return *this;
  }

  /// Views of the tensor and of parts of it. Views of temporaries do not compile, as they would
  /// dangle.
  [[nodiscard]] tensor_view<T, Device> view() & noexcept { return view_; }
  [[nodiscard]] tensor_view<const T, Device> view() const& noexcept { return view_; }
  template <class... X>
  tensor_view<T, Device> view(const X&...) && {
    return detail::refuse_temporary<X...>(view_);
  }
  operator tensor_view<T, Device>() noexcept { return view(); }
  operator tensor_view<const T, Device>() const noexcept { return view(); }

  [[nodiscard]] T* data() noexcept { return view_.data(); }
  [[nodiscard]] const T* data() const noexcept { return view_.data(); }
  [[nodiscard]] int rank() const noexcept { return view_.rank(); }
  [[nodiscard]] std::span<const i64> sizes() const noexcept { return view_.sizes(); }
  [[nodiscard]] std::span<const i64> strides() const noexcept { return view_.strides(); }
  /// The size of a dimension. Raises out_of_range.
  [[nodiscard]] i64 size(i64 dim) const { return view_.size(dim); }
  /// The stride of a dimension, in elements. Raises out_of_range.
  [[nodiscard]] i64 stride(i64 dim) const { return view_.stride(dim); }
  [[nodiscard]] shape shape_of() const noexcept { return shape(view_.sizes()); }
  [[nodiscard]] i64 numel() const noexcept { return view_.numel(); }
  [[nodiscard]] i64 bytes() const noexcept { return numel() * static_cast<i64>(sizeof(T)); }
  [[nodiscard]] bool empty() const noexcept { return numel() == 0; }
  /// As in tensor_view.
  [[nodiscard]] bool is_contiguous() const noexcept { return view_.is_contiguous(); }
  [[nodiscard]] bool is_contiguous(memory_format format) const noexcept {
    return view_.is_contiguous(format);
  }
  [[nodiscard]] static constexpr dtype dtype_of_element() noexcept { return dtype_of<T>; }

  /// An element, as in tensor_view; for memory that the host can read.
  template <class... Index>
  requires(host_accessible<Device>) [[nodiscard]] T& operator()(Index... index) {
    return view()(index...);
  }
  template <class... Index>
  requires(host_accessible<Device>) [[nodiscard]] const T& operator()(Index... index) const {
    return view()(index...);
  }
  [[nodiscard]] T& operator[](i64 i) requires(host_accessible<Device>) { return view()(i); }
  [[nodiscard]] const T& operator[](i64 i) const requires(host_accessible<Device>) {
    return view()(i);
  }
  /// Deleted for memory that the host cannot read: copy the tensor by to_host.
  template <class... Index>
  requires(!host_accessible<Device>) T& operator()(const Index&...) const {
    return detail::refuse_access<Device>(view_.data());
  }
  template <class Index>
  requires(!host_accessible<Device>) T& operator[](const Index&) const {
    return detail::refuse_access<Device>(view_.data());
  }

#define FLAGGEMS_FORWARD(name)                    \
  template <class... X>                           \
  [[nodiscard]] auto name(const X&... x)& {       \
    return view().name(x...);                     \
  }                                               \
  template <class... X>                           \
  [[nodiscard]] auto name(const X&... x) const& { \
    return view().name(x...);                     \
  }                                               \
  template <class... X>                           \
  tensor_view<T, Device> name(const X&...)&& {    \
    return detail::refuse_temporary<X...>(view_); \
  }
#define FLAGGEMS_FORWARD_LIST(name)                                           \
  [[nodiscard]] auto name(int_list list)& { return view().name(list); }       \
  [[nodiscard]] auto name(int_list list) const& { return view().name(list); } \
  template <class... X>                                                       \
  tensor_view<T, Device> name(int_list, const X&...)&& {                      \
    return detail::refuse_temporary<X...>(view_);                             \
  }
  /// Views of this tensor, as in tensor_view.
  FLAGGEMS_FORWARD(slice)
  FLAGGEMS_FORWARD(narrow)
  FLAGGEMS_FORWARD(select)
  FLAGGEMS_FORWARD(transpose)
  FLAGGEMS_FORWARD(t)
  FLAGGEMS_FORWARD(unsqueeze)
  FLAGGEMS_FORWARD(squeeze)
  FLAGGEMS_FORWARD(flatten)
  FLAGGEMS_FORWARD(split)
  FLAGGEMS_FORWARD(chunk)
  FLAGGEMS_FORWARD_LIST(view)
  FLAGGEMS_FORWARD_LIST(reshape)
  FLAGGEMS_FORWARD_LIST(permute)
  FLAGGEMS_FORWARD_LIST(expand)
  FLAGGEMS_FORWARD_LIST(broadcast_to)
  FLAGGEMS_FORWARD_LIST(flip)
#undef FLAGGEMS_FORWARD
#undef FLAGGEMS_FORWARD_LIST

  /// The device of its memory; 0 if empty.
  [[nodiscard]] int device_index() const noexcept { return storage_.device_index(); }

  /// A copy with the same strides, in the order of `stream`. Raises out_of_memory, and
  /// device_mismatch for a stream of another device.
  [[nodiscard]] tensor clone(const stream_ref<Device>& stream) const {
    if (!empty()) detail::require_device<Device>("clone", device_index(), stream.device_index());
    tensor copy(stream, shape_of(), shape(strides()), "clone");
    detail::copy_bytes(stream, copy.data(), data(), bytes(), copy_kind::device_to_device);
    return copy;
  }
  /// Delays reuse of the memory, once this tensor ends, until the work that `stream` has on it is
  /// done. Needed where it is used in another stream than the one it was created for.
  void record_stream(const stream_ref<Device>& stream) { storage_.record_stream(stream); }
  /// The stream in whose order the memory is used; the device's default stream if empty.
  [[nodiscard]] stream_ref<Device> stream() const { return storage_.stream(); }
  /// Another owner of the memory, which is freed with its last owner.
  [[nodiscard]] pool_block<Device> share_memory() const noexcept { return storage_.share(); }
  /// Gives the memory up: its owner is what this returns, and the tensor has no elements.
  [[nodiscard]] pool_block<Device> release() && noexcept {
    view_ = {};
    return std::move(storage_);
  }

 private:
  static i64 bytes_under(const shape& sizes, const shape& strides, const char* op) {
    const i64 bytes = bytes_of(sizes, op);
    detail::check_layout(sizes, strides, static_cast<i64>(sizeof(T)), op);
    if (!detail::is_dense(sizes, strides)) [[unlikely]]
      detail::raise_shapes(op, "strides that give each element a place of its own, without gaps",
                           sizes, strides);
    return bytes;
  }
  static i64 bytes_of(const shape& sizes, const char* op) {
    i64 bytes = 0;
    if (!detail::multiply(checked_numel(sizes, op), static_cast<i64>(sizeof(T)), bytes))
        [[unlikely]]
      detail::raise_sizes(op, "fewer than 2^63 bytes", sizes);
    return bytes;
  }

  pool_block<Device> storage_;
  tensor_view<T, Device> view_;  // cached: calls need not create it
};

/// Deleted: the view of a temporary tensor.
template <class T, class Device>
tensor_view<T, Device> as_view(tensor<T, Device>&& x) {
  return std::move(x).view();
}

/// An uninitialised tensor (ATen empty). Raises invalid_argument for impossible sizes, and
/// out_of_memory, both in the name of `op`.
template <class T, stream_like S>
[[nodiscard]] tensor<T, device_of<S>> empty(const S& stream, const shape& sizes,
                                            const char* op = "empty") {
  return {ref(stream), sizes, op};
}

/// The same in a memory format; channels_last is for four dimensions, channels_last_3d for five.
/// Raises invalid_argument for other ranks and for preserve_format.
/// aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype, MemoryFormat? memory_format)
template <class T, stream_like S>
[[nodiscard]] tensor<T, device_of<S>> empty(const S& stream, const shape& sizes,
                                            memory_format format) {
  if (format == memory_format::preserve_format) [[unlikely]]
    raise(errc::invalid_argument, "empty", "a format of its own", "preserve_format");
  return {ref(stream), sizes, detail::strides_in(format, sizes, {}, "empty"), "empty"};
}
/// An uninitialised tensor with given strides. Raises shape_mismatch for strides with gaps or
/// overlaps, which ATen allows, and as `empty`. aten::empty_strided(SymInt[] size, SymInt[] stride,
/// *, ScalarType? dtype)
template <class T, stream_like S>
[[nodiscard]] tensor<T, device_of<S>> empty_strided(const S& stream, const shape& sizes,
                                                    const shape& strides) {
  return {ref(stream), sizes, strides, "empty_strided"};
}

namespace detail {
/// T, or a default where that is void.
template <class T, class Default>
using type_or = std::conditional_t<std::is_void_v<T>, Default, T>;
/// A tensor of T and the sizes of a view, in a format.
template <class T, class S, class View>
[[nodiscard]] tensor<T, device_of<S>> empty_as(const S& stream, const View& x, memory_format format,
                                               const char* op) {
  if (format == memory_format::contiguous_format) return empty<T>(stream, x.shape_of(), op);
  return {ref(stream), x.shape_of(), strides_in(format, x.sizes(), x.strides(), op), op};
}
/// A tensor of T and x's sizes, whose dimensions are in the order of x's in memory.
template <class T, class S, class X>
[[nodiscard]] tensor<T, device_of<S>> empty_in_order(const S& stream, const X& x, const char* op) {
  const auto v = as_view(x);
  return empty_as<T>(
      stream, v,
      v.is_contiguous() ? memory_format::contiguous_format : memory_format::preserve_format, op);
}
}  // namespace detail

/// An uninitialised contiguous tensor of the element type and sizes of `x`.
template <stream_like S, tensor_like X>
[[nodiscard]] auto empty_like(const S& stream, const X& x, const char* op = "empty_like") {
  return empty<value_t<X>>(stream, as_view(x).shape_of(), op);
}
/// The same in a memory format, of dtype T if one is given. Raises invalid_argument if x has the
/// wrong rank for it.
/// aten::empty_like(Tensor self, *, ScalarType? dtype, MemoryFormat? memory_format)
template <class T = void, stream_like S, tensor_like X>
[[nodiscard]] auto empty_like(const S& stream, const X& x, memory_format format) {
  return detail::empty_as<detail::type_or<T, value_t<X>>>(stream, as_view(x), format, "empty_like");
}

namespace detail {
[[noreturn]] FLAGGEMS_COLD_ONCE void raise_count(const char* op, i64 count, const shape& sizes) {
  raise(errc::shape_mismatch, op,
        detail::text(sizes.numel()) + " values for sizes " + to_string(sizes), detail::text(count));
}
template <class T, class Device>
void copy_in(const stream_ref<Device>& stream, tensor<T, Device>& to, const T* from) {
  if (to.empty()) return;
  copy_bytes(stream, to.data(), from, to.bytes(), copy_kind::host_to_device);
  stream.synchronize();  // the caller's memory may go away
}
}  // namespace detail

/// A tensor of the given values in row-major order. Returns once they are copied. Raises
/// shape_mismatch if their number differs from the sizes' product.
template <class T, stream_like S>
[[nodiscard]] tensor<T, device_of<S>> from_values(const S& stream, std::span<const T> values,
                                                  const shape& sizes) {
  auto result = empty<T>(stream, sizes, "from_values");
  if (result.numel() != static_cast<i64>(values.size())) [[unlikely]]
    detail::raise_count("from_values", static_cast<i64>(values.size()), sizes);
  detail::copy_in(ref(stream), result, values.data());
  return result;
}
template <class T, stream_like S>
[[nodiscard]] tensor<T, device_of<S>> from_values(const S& stream, std::initializer_list<T> values,
                                                  const shape& sizes) {
  return from_values<T>(stream, std::span<const T>(values.begin(), values.size()), sizes);
}
/// A tensor of rank 1.
template <class T, stream_like S>
[[nodiscard]] tensor<T, device_of<S>> from_values(const S& stream, std::span<const T> values) {
  return from_values<T>(stream, values, {static_cast<i64>(values.size())});
}
template <class T, stream_like S>
[[nodiscard]] tensor<T, device_of<S>> from_values(const S& stream,
                                                  std::initializer_list<T> values) {
  return from_values<T>(stream, values, {static_cast<i64>(values.size())});
}

namespace detail {
template <class T, class Device>
[[nodiscard]] memory_layout layout_of(const tensor<T, Device>& x) noexcept {
  return {reinterpret_cast<const unsigned char*>(x.data()), static_cast<i64>(sizeof(T)), x.sizes(),
          x.strides()};
}
template <class X>
inline constexpr bool has_layout = false;
template <class T, class Device>
inline constexpr bool has_layout<tensor<T, Device>> = true;
template <class T, class Device>
inline constexpr bool has_layout<tensor_view<T, Device>> = true;
/// The tensor itself if `layout_of` accepts it, else its view.
template <class X>
[[nodiscard]] decltype(auto) in_place(const X& x) {
  if constexpr (has_layout<X>)
    return (x);
  else
    return as_view(x);
}

/// The strides of a copy of v's bytes as they lie. Raises invalid_argument unless v is dense.
template <class View>
shape strides_to_copy(const char* op, const View& v) {
  if (v.is_contiguous()) return contiguous_strides(v.sizes());
  if (!is_dense(v.sizes(), v.strides())) [[unlikely]]
    raise(errc::invalid_argument, op, "a tensor without gaps",
          "sizes " + to_string(shape(v.sizes())) + " with strides " + to_string(v.strides()));
  return v.strides();
}
/// Raises if x is known to be on another device than the stream's, which tensors tell and views do
/// not.
template <class Device, class X>
void require_on_device([[maybe_unused]] const char* op,
                       [[maybe_unused]] const stream_ref<Device>& stream,
                       [[maybe_unused]] const X& x) {
  if constexpr (std::is_same_v<device_t<X>, Device> && requires { x.device_index(); })
    if (x.numel() != 0) require_device<Device>(op, x.device_index(), stream.device_index());
}
}  // namespace detail

/// A copy of x in host memory, with x's strides; returns once it is complete. Raises
/// invalid_argument unless x's elements are dense, in whatever order, and device_mismatch if it is
/// a tensor, not a view, of another device than the stream's.
template <stream_like S, tensor_like X>
[[nodiscard]] tensor<value_t<X>, host> to_host(const S& stream, const X& x) {
  static_assert(std::is_same_v<device_of<S>, device_t<X>>,
                "flaggems: to_host takes a stream of the device that the tensor is on");
  const auto from = as_view(x);
  const shape strides = detail::strides_to_copy("to_host", from);
  detail::require_on_device("to_host", ref(stream), x);
  using target = tensor<value_t<X>, host>;  // dependent: host may be defined later
  target result(stream_ref<typename target::device_type>(), from.shape_of(), strides, "to_host");
  detail::copy_bytes(ref(stream), result.data(), from.data(), from.bytes(),
                     copy_kind::device_to_host);
  ref(stream).synchronize();
  return result;
}

/// A copy of x, which is in host memory, on the stream's device, with x's strides; returns once x
/// has been read. Raises invalid_argument unless x's elements are dense.
template <stream_like S, tensor_like X>
[[nodiscard]] tensor<value_t<X>, device_of<S>> from_host(const S& stream, const X& x) {
  static_assert(std::is_same_v<device_t<X>, host>,
                "flaggems: from_host takes a tensor in the host's memory");
  const auto from = as_view(x);
  tensor<value_t<X>, device_of<S>> result(ref(stream), from.shape_of(),
                                          detail::strides_to_copy("from_host", from), "from_host");
  detail::copy_in(ref(stream), result, static_cast<const value_t<X>*>(from.data()));
  return result;
}

}  // namespace flaggems
