// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The operators of ATen without which there is no device: new tensors, views, storages and copies.
// Part of torch_device.hpp.
#pragma once

#include <flaggems/adapters/torch_device/fallback.hpp>
#include <flaggems/adapters/torch_device/memory.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/registry/registry.hpp>

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <optional>
#include <vector>

namespace flaggems::detail {

template <class Device>
struct torch_functions {
  using fallback = torch_fallback<Device>;
  static constexpr c10::DispatchKeySet keys{c10::DispatchKey::PrivateUse1};
  static bool is_here(const at::Tensor& t) {
    return t.device().type() == c10::DeviceType::PrivateUse1;
  }
  static stream_ref<Device> stream_of(const at::Tensor& t) {
    return torch_stream<Device>(t.device().index());
  }

  // ---- new tensors
  static void require_plain(std::optional<c10::Layout> layout, std::optional<bool> pin) {
    TORCH_CHECK_NOT_IMPLEMENTED(!layout || *layout == c10::kStrided, Device::name,
                                " has strided tensors alone");
    TORCH_CHECK(!pin || !*pin, "Only dense CPU tensors can be pinned");
  }
  static on_device<Device> scope_of(std::optional<c10::Device> d) {
    const int index = torch_device_of<Device>(d ? d->index() : -1).index();
    if (index >= Device::device_count()) [[unlikely]]
      raise_no_device<Device>("empty", index);
    return on_device<Device>(index);
  }
  static at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> type,
                          std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                          std::optional<bool> pin, std::optional<at::MemoryFormat> format) {
    require_plain(layout, pin);
    const auto scope = scope_of(device);
    return at::detail::empty_generic(size, &torch_allocator<Device>::get(), keys,
                                     c10::dtype_or_default(type), format);
  }
  static at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride,
                                  std::optional<at::ScalarType> type,
                                  std::optional<c10::Layout> layout,
                                  std::optional<c10::Device> device, std::optional<bool> pin) {
    require_plain(layout, pin);
    const auto scope = scope_of(device);
    return at::detail::empty_strided_generic(size, stride, &torch_allocator<Device>::get(), keys,
                                             c10::dtype_or_default(type));
  }

  // ---- storages
  static const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef size,
                                   std::optional<at::MemoryFormat> format) {
    TORCH_CHECK(!format || *format != at::MemoryFormat::Preserve,
                "Unsupported memory format: Preserve");
    auto* const impl = self.unsafeGetTensorImpl();
    if (self.sizes() != size) impl->set_sizes_contiguous(size);
    if (format) impl->empty_tensor_restride(*format);
    grow(self);
    return self;
  }
  static void grow(const at::Tensor& self) {
    if (self.numel() == 0) return;
    const auto bytes =
        static_cast<std::size_t>(self.storage_offset() + self.numel()) * self.itemsize();
    auto& storage = *self.storage().unsafeGetStorageImpl();
    if (storage.nbytes() < bytes) torch_hooks<Device>::resize(storage, bytes);
  }
  static at::Tensor& set_storage(at::Tensor& self, at::Storage source, std::int64_t offset,
                                 at::IntArrayRef size, at::IntArrayRef stride) {
    at::native::checkSetStorage(self, std::move(source), offset, size, stride);
    self.unsafeGetTensorImpl()->set_storage_offset(offset);
    const std::optional<at::IntArrayRef> strides =
        stride.data() != nullptr ? std::optional<at::IntArrayRef>(stride) : std::nullopt;
    if (strides) {
      self.unsafeGetTensorImpl()->set_sizes_and_strides(size, *strides, offset);
    } else {
      self.unsafeGetTensorImpl()->set_sizes_contiguous(size);
      grow(self);
    }
    return self;
  }
  static at::Tensor& set_whole_storage(at::Tensor& self, at::Storage source) {
    const auto n = static_cast<std::int64_t>(source.nbytes() / self.itemsize());
    return set_storage(self, std::move(source), 0, n, {});
  }
  static at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
    if (self.unsafeGetTensorImpl() == source.unsafeGetTensorImpl()) return self;
    return set_storage(self, source.storage(), source.storage_offset(), source.sizes(),
                       source.strides());
  }
  static at::Tensor& set_nothing(at::Tensor& self) {
    return set_storage(self, at::empty({0}, self.options()).storage(), 0, {0}, {});
  }
  static void record_stream(at::Tensor& self, c10::Stream s) {
    torch_allocator<Device>::get().recordStream(self.storage().data_ptr(), s);
  }

  // ---- copies
  /// The bits of elements of any dtype, as whole numbers of the same size.
  static any_view<Device> words(const at::Tensor& t) {
    shape sizes(int_list(t.sizes())), strides(int_list(t.strides()));
    dtype type = dtype::i64;
    switch (t.itemsize()) {
      case 1: type = dtype::u8; break;
      case 2: type = dtype::i16; break;
      case 4: type = dtype::i32; break;
      case 8: break;
      default:  // complex numbers of f64
        for (i64& s : strides) s *= 2;
        sizes.push_back(2), strides.push_back(1);
    }
    return any_view<Device>(t.data_ptr(), type, int_list(sizes), int_list(strides));
  }
  template <class T>
  static void copy_words(const stream_ref<Device>& s, const any_view<Device>& to,
                         const any_view<Device>& from) {
    flaggems::copy_(s, to.template as<T>(), tensor_view<const T, Device>(from.template as<T>()));
  }
  /// On the device, of one dtype and one size.
  static void copy_same(const at::Tensor& from, const at::Tensor& to) {
    const auto s = stream_of(to);
    if (from.is_contiguous() && to.is_contiguous() && !to.is_alias_of(from)) {
      Device::copy(to.data_ptr(), from.data_ptr(), static_cast<i64>(to.nbytes()),
                   copy_kind::device_to_device, s.handle());
      return;
    }
    const auto x = words(to), y = words(from);
    switch (x.dtype()) {
      case dtype::u8: return copy_words<u8>(s, x, y);
      case dtype::i16: return copy_words<i16>(s, x, y);
      case dtype::i32: return copy_words<i32>(s, x, y);
      default: return copy_words<i64>(s, x, y);
    }
  }
  static at::Tensor on_host(const at::Tensor& t) {
    const at::Tensor from = t.is_contiguous() ? t : contiguous(t);
    const at::Tensor to = at::empty(t.sizes(), t.options().device(at::kCPU));
    const on_device<Device> scope(t.device().index());
    const auto s = stream_of(t);
    Device::copy(to.data_ptr(), from.data_ptr(), static_cast<i64>(to.nbytes()),
                 copy_kind::device_to_host, s.handle());
    s.synchronize();
    return to;
  }
  static at::Tensor contiguous(const at::Tensor& t) {
    const at::Tensor r = at::empty(t.sizes(), t.options());
    copy_same(t, r);
    return r;
  }
  static void from_host(const at::Tensor& from, const at::Tensor& to) {
    const at::Tensor h = from.to(to.scalar_type()).expand(to.sizes()).contiguous();
    const at::Tensor there = to.is_contiguous() ? to : at::empty(to.sizes(), to.options());
    const on_device<Device> scope(to.device().index());
    const auto s = stream_of(to);
    Device::copy(there.data_ptr(), h.data_ptr(), static_cast<i64>(h.nbytes()),
                 copy_kind::host_to_device, s.handle());
    s.synchronize();
    if (!there.is_same(to)) copy_same(there, to);
  }
  static void convert(const at::Tensor& from, const at::Tensor& to) {
    const auto known = [](const at::Tensor& t) {
      return dtype_of_scalar_type[static_cast<std::size_t>(t.scalar_type())] >= 0;
    };
    static const auto* const op = registry<Device>::find("copy_");
    std::string reason = "another dtype than ours";
    if (op != nullptr && known(from) && known(to)) {
      const auto x = view_of_torch<Device>(to, false), y = view_of_torch<Device>(from, false);
      try {
        op->call(stream_of(to), {x, y}, {});
        return;
      } catch (const error& e) {
        if (e.code() != errc::dtype_mismatch && e.code() != errc::not_supported) throw;
        reason = e.what();
      }
    }
    fallback::enter("aten::_copy_from", reason);
    from_host(on_host(from), to);
  }
  /// The same elements without the bits that say they stand for others.
  static at::Tensor as_stored(const at::Tensor& t) {
    auto r = at::detail::make_tensor<c10::TensorImpl>(
        c10::TensorImpl::VIEW, c10::Storage(t.storage()),
        t.key_set() - c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative,
                                           c10::DispatchKey::ADInplaceOrView}),
        t.dtype());
    r.unsafeGetTensorImpl()->set_sizes_and_strides(t.sizes(), t.strides(), t.storage_offset());
    return r;
  }
  static at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool) {
    if (dst.numel() == 0) return dst;
    if (self.is_conj() != dst.is_conj() || self.is_neg() != dst.is_neg()) {
      const auto plain = [](const at::Tensor& t) { return is_here(t) ? on_host(as_stored(t)) : t; };
      at::Tensor h = plain(self);
      if (is_here(self) && self.is_conj()) h = h.conj();
      if (is_here(self) && self.is_neg()) h = h._neg_view();
      if (!is_here(dst)) return const_cast<at::Tensor&>(dst).copy_(h);
      if (dst.is_conj()) h = h.conj();
      if (dst.is_neg()) h = h._neg_view();
      from_host(h.resolve_conj().resolve_neg(), as_stored(dst));
      return dst;
    }
    if (!is_here(self)) {
      from_host(self.resolve_conj().resolve_neg(), dst);
    } else if (!is_here(dst)) {
      const at::Tensor h = on_host(as_stored(self));
      as_stored(dst).copy_(h);
    } else if (self.device() != dst.device()) {
      from_host(on_host(self), dst);
    } else {
      const at::Tensor from = self.expand(dst.sizes());
      const on_device<Device> scope(dst.device().index());
      if (from.scalar_type() == dst.scalar_type())
        copy_same(from, dst);
      else
        convert(from, dst);
    }
    return dst;
  }
  static at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
    if (dst.sizes() != self.sizes()) dst.resize_(self.sizes());
    return copy_from(self, dst, false);
  }
  static at::Scalar local_scalar(const at::Tensor& self) { return on_host(self).item(); }
  /// Whether an operator was compiled for a tensor's type.
  static bool has(const registered_operator<Device>& op, const at::Tensor& t) {
    const int type = dtype_of_scalar_type[static_cast<std::size_t>(t.scalar_type())];
    return type >= 0 && op.has(static_cast<dtype>(type));
  }
  static at::Tensor& fill_(at::Tensor& self, const at::Scalar& value) {
    static const auto* const op = registry<Device>::find("fill_.Scalar");
    if (self.numel() == 0) return self;
    const auto is_number = value.isFloatingPoint() || value.isIntegral(true);
    if (op != nullptr && is_number && has(*op, self)) {
      const auto x = view_of_torch<Device>(self, false);
      const auto number = value.isFloatingPoint() ? boxed<Device>(value.toDouble())
                          : value.isBoolean()     ? boxed<Device>(value.toBool())
                                                  : boxed<Device>(i64{value.toLong()});
      op->call(stream_of(self), {x, number}, {});
    } else {
      from_host(at::full({}, value, self.options().device(at::kCPU)), self);
    }
    return self;
  }
  static at::Tensor& zero_(at::Tensor& self) {
    if (!self.is_contiguous()) return fill_(self, 0);
    const on_device<Device> scope(self.device().index());
    if (self.numel() > 0)
      Device::fill(self.data_ptr(), 0, static_cast<i64>(self.nbytes()), stream_of(self).handle());
    return self;
  }

  static void add_to(torch::Library& m) {
    m.impl("empty.memory_format", TORCH_FN(empty));
    m.impl("empty_strided", TORCH_FN(empty_strided));
    m.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
    m.impl("view", TORCH_FN(at::native::view));
    m.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
    m.impl("view_as_real", TORCH_FN(at::native::view_as_real));
    m.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
    m.impl("unfold", TORCH_FN(at::native::unfold));
    m.impl("resize_", TORCH_FN(resize_));
    m.impl("set_", TORCH_FN(set_nothing));
    m.impl("set_.source_Storage", TORCH_FN(set_whole_storage));
    m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage));
    m.impl("set_.source_Tensor", TORCH_FN(set_tensor));
    m.impl("record_stream", TORCH_FN(record_stream));
    m.impl("_copy_from", TORCH_FN(copy_from));
    m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
    m.impl("_local_scalar_dense", TORCH_FN(local_scalar));
    m.impl("zero_", TORCH_FN(zero_));
    m.impl("fill_.Scalar", TORCH_FN(fill_));
  }
};

}  // namespace flaggems::detail
