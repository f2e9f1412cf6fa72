// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous copies between host and device, and between devices of one type.
#pragma once

#include <flaggems/device/stream.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/tensor/view.hpp>

#include <new>
#include <type_traits>
#include <utility>

namespace flaggems {

namespace detail {
template <class View>
void require_contiguous(const char* op, const View& v) {
  if (!v.is_contiguous()) [[unlikely]]
    raise(errc::invalid_argument, op, "a contiguous tensor",
          "sizes " + to_string(shape(v.sizes())) + " with strides " + to_string(v.strides()));
}

// Device types without pinned memory fall back to ordinary host memory.
template <class Device>
void* allocate_pinned(i64 bytes) {
  if constexpr (device_pinned_memory<Device>)
    return Device::allocate_pinned(bytes);
  else
    return ::operator new (static_cast<std::size_t>(bytes), std::align_val_t{256}, std::nothrow);
}
template <class Device>
void deallocate_pinned(void* data) noexcept {
  if constexpr (device_pinned_memory<Device>)
    Device::deallocate_pinned(data);
  else
    ::operator delete (data, std::align_val_t{256});
}

}  // namespace detail

/// A contiguous tensor in page-locked host memory: copies to and from devices run at bus speed and
/// asynchronously (`copy_async`), also in graphs. Allocation is slow, so reuse it. It must outlive
/// copies that use it. Move only; moved-from, it has no elements.
template <class T, class Device>
class pinned {
  static_assert(!std::is_const_v<T> && element<T>, "pinned: T is an element type, not const");

 public:
  using element_type = T;
  using value_type = T;
  using device_type = host;

  /// No elements: sizes [0].
  pinned() = default;
  /// Uninitialised. Raises invalid_argument for impossible sizes, out_of_memory, and
  /// device_unavailable.
  explicit pinned(const shape& sizes) {
    i64 bytes = 0;
    if (!detail::multiply(checked_numel(sizes, "pinned"), static_cast<i64>(sizeof(T)), bytes))
        [[unlikely]]
      detail::raise_sizes("pinned", "fewer than 2^63 bytes", sizes);
    void* const data = bytes == 0 ? nullptr : detail::allocate_pinned<Device>(bytes);
    if (data == nullptr && bytes != 0) [[unlikely]]
      raise(errc::out_of_memory, "pinned", detail::text(bytes) + " bytes that can be pinned",
            "none");
    view_ = tensor_view<T, host>(static_cast<T*>(data), sizes);
  }
  pinned(pinned&& other) noexcept : view_(std::exchange(other.view_, {})) {}
  pinned& operator=(pinned&& other) noexcept {
    std::swap(view_, other.view_);
    return *this;
  }
  ~pinned() {
    if (view_.data() != nullptr) detail::deallocate_pinned<Device>(view_.data());
  }

  [[nodiscard]] tensor_view<T, host> view() noexcept { return view_; }
  [[nodiscard]] tensor_view<const T, host> view() const noexcept { return view_; }
  operator tensor_view<T, host>() noexcept { return view(); }
  operator tensor_view<const T, host>() const noexcept { return view(); }
  [[nodiscard]] T* data() noexcept { return view_.data(); }
  [[nodiscard]] const T* data() const noexcept { return view_.data(); }
  [[nodiscard]] T& operator[](i64 i) { return view()(i); }
  [[nodiscard]] const T& operator[](i64 i) const { return view()(i); }
  [[nodiscard]] i64 numel() const noexcept { return view_.numel(); }
  [[nodiscard]] i64 bytes() const noexcept { return numel() * static_cast<i64>(sizeof(T)); }

 private:
  tensor_view<T, host> view_;
};

namespace detail {
template <class To, class From>
constexpr copy_kind kind_of_copy() {
  if constexpr (std::is_same_v<device_t<To>, device_t<From>>)
    return copy_kind::device_to_device;
  else
    return std::is_same_v<device_t<To>, host> ? copy_kind::device_to_host
                                              : copy_kind::host_to_device;
}
}  // namespace detail

/// Copies src to dst, contiguous tensors of equal types and sizes, each on the host or on the
/// stream's device, in stream order. Host memory must stay valid, and the source unchanged, until
/// the copy is done. Asynchronous if that memory is `pinned`; otherwise the driver may copy before
/// it returns. Raises shape_mismatch, invalid_argument for non-contiguous tensors, and
/// device_mismatch.
template <stream_like S, tensor_like Dst, tensor_like Src>
requires std::is_same_v<value_t<Dst>, value_t<Src>> &&
    (std::is_same_v<device_t<Dst>, host> || std::is_same_v<device_t<Dst>, device_of<S>>)&&(
        std::is_same_v<device_t<Src>, host> ||
        std::is_same_v<device_t<Src>, device_of<S>>)void copy_async(const S& stream, Dst&& dst,
                                                                    const Src& src) {
  static_assert(!std::is_const_v<element_t<Dst>>, "flaggems: copy_async: dst is const");
  const auto to = as_view(dst);
  const auto from = as_view(src);
  detail::require_contiguous("copy_async", to);
  detail::require_contiguous("copy_async", from);
  if (to.shape_of() != from.shape_of()) [[unlikely]]
    raise(errc::shape_mismatch, "copy_async", "two tensors of equal sizes",
          to_string(to.shape_of()) + " and " + to_string(from.shape_of()));
  const stream_ref<device_of<S>> on = ref(stream);
  detail::require_on_device("copy_async", on, dst);
  detail::require_on_device("copy_async", on, src);
  detail::copy_bytes(on, to.data(), from.data(), from.bytes(), detail::kind_of_copy<Dst, Src>());
}

/// A copy of x on the device of the stream `to`, possibly another one of the same type, ordered
/// after all work queued in `from`, a stream of x's device, and before later work in both. The host
/// does not wait. Raises out_of_memory, and device_mismatch if `from` is of another device than x.
template <stream_like S, class T>
[[nodiscard]] tensor<T, device_of<S>> to_device(const S& to, const tensor<T, device_of<S>>& x,
                                                const S& from) {
  using device = device_of<S>;
  const stream_ref<device> there = ref(to), here = ref(from);
  detail::require_on_device("to_device", here, x);
  tensor<T, device> result(there, x.shape_of(), shape(x.strides()), "to_device");
  if (x.empty()) return result;
  if (!(there == here)) {
    event<device> written(here.device_index());
    written.record(here);
    there.wait(written);
  }
  if (there.device_index() == here.device_index()) {
    detail::copy_bytes(there, result.data(), x.data(), x.bytes(), copy_kind::device_to_device);
  } else {
    const detail::on_device<device> scope(there.device_index());
    static_assert(detail::has_one_device<device> || device_peer_copies<device>,
                  "flaggems: to_device: this device type copies on one device alone");
    if constexpr (device_peer_copies<device>)
      device::copy_from_peer(result.data(), x.data(), x.bytes(), here.device_index(),
                             there.handle());
  }
  if (!(there == here)) {
    event<device> read(there.device_index());
    read.record(there);
    here.wait(read);
  }
  return result;
}

}  // namespace flaggems
