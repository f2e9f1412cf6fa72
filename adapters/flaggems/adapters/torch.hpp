// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors of libtorch (PyTorch in C++) here, and ours there, without a copy; and its current
// streams. For libtorch 1.13 and later. Operators for its dispatcher: torch_operators.hpp.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/tensor/any_view.hpp>

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <array>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace flaggems {

// ---- devices and streams

/// What a device type is in PyTorch. To be specialised by who has one of which less is true.
template <class Device>
struct torch_device {
  static constexpr c10::DeviceType type = static_cast<c10::DeviceType>(Device::torch_device_type);
  /// The dispatch key of its tensors.
  static constexpr c10::DispatchKey key = [] {
    switch (type) {
      case c10::DeviceType::CPU: return c10::DispatchKey::CPU;
      case c10::DeviceType::CUDA: return c10::DispatchKey::CUDA;
      case c10::DeviceType::HIP: return c10::DispatchKey::HIP;
      case c10::DeviceType::XPU: return c10::DispatchKey::XPU;
      case c10::DeviceType::Meta: return c10::DispatchKey::Meta;
      default: return c10::DispatchKey::PrivateUse1;
    }
  }();
  /// PyTorch's current device of the calling thread.
  static int current_device() {
    if constexpr (detail::has_one_device<Device>) return Device::current_device();
    return c10::impl::VirtualGuardImpl(type).getDevice().index();
  }
  /// The handle of PyTorch's current stream of a device. Before PyTorch gave native handles, a
  /// device type with streams needs a specialisation, which asks c10/cuda/CUDAStream.h or the like.
  static typename Device::stream_handle current_stream([[maybe_unused]] int device_index) {
    if constexpr (type == c10::DeviceType::CPU || type == c10::DeviceType::Meta) {
      return Device::default_stream();
    } else {
      const auto stream = c10::impl::VirtualGuardImpl(type).getStream(
          c10::Device(type, static_cast<c10::DeviceIndex>(device_index)));
      return native_handle<typename Device::stream_handle>(stream);
    }
  }

 private:
  template <class Handle, class Stream>
  static Handle native_handle(const Stream& stream) {
    if constexpr (requires { static_cast<Handle>(stream.native_handle()); })
      return static_cast<Handle>(stream.native_handle());
    else
      static_assert(sizeof(Stream) == 0,
                    "flaggems: this libtorch does not tell handles of streams: specialise "
                    "flaggems::torch_device for the device type");
  }
};

/// PyTorch's current stream of its current device of this type, or of device `device_index`.
template <class Device = host>
[[nodiscard]] stream_ref<Device> torch_stream(int device_index) {
  return {torch_device<Device>::current_stream(device_index), device_index};
}
template <class Device = host>
[[nodiscard]] stream_ref<Device> torch_stream() {
  return torch_stream<Device>(torch_device<Device>::current_device());
}

// ---- memory

/// PyTorch's allocator of a device type as the source of a pool, which then keeps nothing itself:
/// what one side frees, the other may take. pool<host>(0).set_source(&torch_memory<host>()). Work
/// is in PyTorch's current stream then: an allocation for another stream raises invalid_argument.
template <class Device>
class torch_memory_source final : public memory_source<Device> {
 public:
  /// Raises not_supported if PyTorch has no allocator for the device type.
  torch_memory_source() : allocator_(c10::GetAllocator(torch_device<Device>::type)) {
    check(allocator_ != nullptr, errc::not_supported, "torch_memory",
          "an allocator of PyTorch's for the device type", Device::name);
  }
  void* allocate(i64 bytes, const stream_ref<Device>& stream) override {
    check(stream == torch_stream<Device>(stream.device_index()), errc::invalid_argument,
          "torch_memory", "work in PyTorch's current stream", "another stream");
    try {
      return allocator_->raw_allocate(static_cast<std::size_t>(bytes));
    } catch (const c10::Error&) {
      return nullptr;  // it says so where there is no more
    }
  }
  void deallocate(void* data, i64 /*bytes*/, const stream_ref<Device>&) noexcept override {
    allocator_->raw_deallocate(data);
  }
  [[nodiscard]] bool keeps_freed() const noexcept override { return true; }

 private:
  c10::Allocator* allocator_;
};
/// The program's one of a device type, which is never destroyed.
template <class Device = host>
[[nodiscard]] torch_memory_source<Device>& torch_memory() {
  static auto* const source = new torch_memory_source<Device>;
  return *source;
}

// ---- element types

namespace detail {

/// Whether its tensors have no elements, as those of PyTorch's device meta.
template <class Device>
inline constexpr bool has_no_elements = torch_device<Device>::type == c10::DeviceType::Meta;

/// Sizes, strides and offset of a tensor. PyTorch's symbols become the numbers for which it traces,
/// and what is traced holds for these alone.
template <class Tensor>
layout layout_of_torch(const Tensor& t) {
  if constexpr (requires { t.sym_storage_offset().guard_int("", 0); }) {
    if (t.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
      const auto numbers = [](const auto& symbols) {
        shape r;
        for (const auto& one : symbols) r.push_back(one.guard_int(__FILE__, __LINE__));
        return r;
      };
      return {numbers(t.sym_sizes()), numbers(t.sym_strides()),
              t.sym_storage_offset().guard_int(__FILE__, __LINE__)};
    }
  }
  return {shape(int_list(t.sizes())), shape(int_list(t.strides())), t.storage_offset()};
}

/// PyTorch's types by `dtype`; Undefined where its version has none.
template <class Type>
constexpr std::array<Type, dtype_count> scalar_types() {
  std::array<Type, dtype_count> r{};
  for (Type& t : r) t = Type::Undefined;
  const auto put = [&r](dtype d, Type t) { r[static_cast<std::size_t>(d)] = t; };
  put(dtype::f64, c10::kDouble), put(dtype::f32, c10::kFloat), put(dtype::f16, c10::kHalf);
  put(dtype::bf16, c10::kBFloat16), put(dtype::bool_, c10::kBool), put(dtype::u8, c10::kByte);
  put(dtype::i8, c10::kChar), put(dtype::i16, c10::kShort), put(dtype::i32, c10::kInt);
  put(dtype::i64, c10::kLong), put(dtype::c64, c10::kComplexFloat);
  put(dtype::c128, c10::kComplexDouble);
  if constexpr (requires { Type::Float8_e4m3fn; }) {
    put(dtype::f8e4m3, Type::Float8_e4m3fn);
    put(dtype::f8e5m2, Type::Float8_e5m2);
  }
  if constexpr (requires { Type::UInt16; }) {
    put(dtype::u16, Type::UInt16);
    put(dtype::u32, Type::UInt32);
    put(dtype::u64, Type::UInt64);
  }
  return r;
}
inline constexpr auto scalar_type_of = scalar_types<c10::ScalarType>();
/// And back; -1 for types that are none of ours.
inline constexpr auto dtype_of_scalar_type = [] {
  std::array<signed char, static_cast<std::size_t>(c10::ScalarType::NumOptions) + 1> r{};
  for (auto& d : r) d = -1;
  for (std::size_t d = 0; d < scalar_type_of.size(); ++d)
    if (scalar_type_of[d] != c10::ScalarType::Undefined)
      r[static_cast<std::size_t>(scalar_type_of[d])] = static_cast<signed char>(d);
  return r;
}();

}  // namespace detail

/// PyTorch's type of a dtype. Raises dtype_mismatch if this libtorch has none: 8-bit floats came
/// with 2.1, unsigned integers of 16 to 64 bits with 2.3.
[[nodiscard]] inline c10::ScalarType to_torch(dtype type) {
  const auto found = detail::scalar_type_of[static_cast<std::size_t>(type)];
  if (found == c10::ScalarType::Undefined) [[unlikely]]
    raise(errc::dtype_mismatch, "to_torch", "a dtype that this libtorch has", to_string(type));
  return found;
}
/// The dtype of a type of PyTorch's. Raises dtype_mismatch for quantized and other types.
[[nodiscard]] inline dtype from_torch(c10::ScalarType type) {
  const int found = detail::dtype_of_scalar_type[static_cast<std::size_t>(type)];
  if (found < 0) [[unlikely]]
    raise(errc::dtype_mismatch, "from_torch", "a type that is also ours", c10::toString(type));
  return static_cast<dtype>(found);
}

// ---- from PyTorch

/// What becomes of the gradients of a tensor that asks for them, which no view records.
enum class torch_gradients {
  refused,  ///< such a tensor is an error, where PyTorch would record gradients
  ignored   ///< as PyTorch does under no_grad
};

namespace detail {

/// Why a tensor cannot be viewed.
enum class torch_obstacle : u8 {
  none,
  undefined,
  layout,
  quantized,
  zero,
  conjugate,
  negative,
  device,
  storage,
  rank,
  loses_gradients,
  type
};
constexpr const char* to_string(torch_obstacle o) {
  constexpr const char* texts[] = {"nothing",
                                   "an undefined tensor",
                                   "another layout (sparse or nested)",
                                   "a quantized tensor",
                                   "a tensor of zeros without memory",
                                   "the conjugate of what is stored (resolve_conj() stores it)",
                                   "the negative of what is stored (resolve_neg() stores it)",
                                   "a tensor of another device",
                                   "a tensor without memory of its own",
                                   "more than 8 dimensions",
                                   "a tensor that requires gradients, which would be lost",
                                   "a type that is not ours"};
  return texts[static_cast<int>(o)];
}

/// Whether PyTorch would record what is done with a tensor that requires gradients: not below its
/// autograd, where operators of back ends run.
inline bool records_gradients() {
  return c10::GradMode::is_enabled() && !c10::impl::tls_local_dispatch_key_set().excluded_.has(
                                            c10::DispatchKey::AutogradFunctionality);
}

/// The first obstacle to a view of `t` on device `device_index`; on any if that is -1.
template <class Device>
torch_obstacle obstacle_of(const at::TensorBase& t, int device_index, torch_gradients gradients) {
  using enum torch_obstacle;
  if (!t.defined()) return undefined;
  if (t.layout() != c10::kStrided || t.unsafeGetTensorImpl()->is_nested()) return layout;
  if (t.is_quantized()) return quantized;
  const c10::Device there = t.device();
  if (there.type() != torch_device<Device>::type) return device;
  if constexpr (!has_one_device<Device>)
    if (device_index >= 0 && there.index() != device_index) return device;
  if (t._is_zerotensor()) return zero;
  if (t.is_conj()) return conjugate;
  if (t.is_neg()) return negative;
  if (!t.has_storage()) return storage;
  if (t.dim() > max_rank) return rank;
  if (gradients == torch_gradients::refused && t.requires_grad() && records_gradients())
    return loses_gradients;
  if (dtype_of_scalar_type[static_cast<std::size_t>(t.scalar_type())] < 0) return type;
  return none;
}

template <class Device>
[[noreturn]] FLAGGEMS_COLD void raise_obstacle(torch_obstacle o, const at::TensorBase& t,
                                               int device_index) {
  constexpr const char* op = "from_torch";
  switch (o) {
    case torch_obstacle::undefined:
      raise(errc::invalid_argument, op, "a defined tensor", to_string(o));
    case torch_obstacle::rank:
      raise(errc::invalid_argument, op, "0 to 8 dimensions", text(static_cast<i64>(t.dim())));
    case torch_obstacle::device:
      raise(errc::device_mismatch, op,
            text(Device::name) + ":" + text(device_index) + ", for PyTorch " +
                c10::DeviceTypeName(torch_device<Device>::type, true).c_str(),
            t.device().str());
    case torch_obstacle::type:
      raise(errc::dtype_mismatch, op, "a type that is also ours", c10::toString(t.scalar_type()));
    case torch_obstacle::loses_gradients:
      raise(errc::not_supported, op,
            "a tensor without gradients, or detach(), no_grad or torch_gradients::ignored",
            to_string(o));
    default: raise(errc::not_supported, op, "a strided tensor with its elements", to_string(o));
  }
}

/// The view of a tensor without an obstacle.
template <class Device>
any_view<Device> view_of_torch(const at::TensorBase& t, bool is_const) {
  const auto d =
      static_cast<dtype>(dtype_of_scalar_type[static_cast<std::size_t>(t.scalar_type())]);
  const int_list sizes(t.sizes()), strides(t.strides());
  if (!is_const) return any_view<Device>(t.data_ptr(), d, sizes, strides);
  // Tensors that are copied when they are written to stay shared.
  const auto read = []<class Tensor>(const Tensor& x) -> const void* {
    if constexpr (requires { x.const_data_ptr(); })
      return x.const_data_ptr();
    else
      return x.data_ptr();
  };
  return any_view<Device>(read(t), d, sizes, strides);
}

}  // namespace detail

/// The view of a tensor's elements, on the device of `stream`, which must be ordered after what
/// made them, as PyTorch's current stream is (`torch_stream`). The tensor must outlive it. T is the
/// element type, const or not, which gives a tensor_view; without one, or with const void, it is an
/// any_view. Raises invalid_argument for an undefined tensor and for more than 8 dimensions;
/// device_mismatch for one elsewhere, also on the device type meta; dtype_mismatch for another type
/// than T and for types that are none of ours; not_supported for other layouts than strided ones,
/// quantized tensors, those of which the conjugate or negative is stored, and, unless
/// `torch_gradients::ignored`, those whose gradients would be lost.
template <class T = void, stream_like S>
[[nodiscard]] auto from_torch(const S& stream, const at::TensorBase& t,
                              torch_gradients gradients = torch_gradients::refused) {
  using device = device_of<S>;
  static_assert(!detail::has_no_elements<device>,
                "flaggems: tensors of the device meta have no elements to view");
  const int index = ref(stream).device_index();
  const auto obstacle = detail::obstacle_of<device>(t, index, gradients);
  if (obstacle != detail::torch_obstacle::none) [[unlikely]]
    detail::raise_obstacle<device>(obstacle, t, index);
  if constexpr (std::is_void_v<T>) {
    return detail::view_of_torch<device>(t, std::is_const_v<T>);
  } else {
    // The type before the elements, which a tensor that is copied when written to would copy.
    if (from_torch(t.scalar_type()) != dtype_of<std::remove_const_t<T>>) [[unlikely]] {
      constexpr dtype expected = dtype_of<std::remove_const_t<T>>;
      detail::raise_dtype("from_torch", &expected, 1, from_torch(t.scalar_type()));
    }
    return detail::view_of_torch<device>(t, std::is_const_v<T>).template as<T>();
  }
}
/// Deleted: the view of a temporary tensor would dangle; give the tensor a name.
template <class T = void, stream_like S, class Tensor>
requires(std::is_base_of_v<at::TensorBase, Tensor> && !std::is_const_v<Tensor>) auto from_torch(
    const S&, Tensor&&, torch_gradients = torch_gradients::refused) = delete;

// ---- to PyTorch

namespace detail {

/// A tensor of PyTorch's of the elements of `v`, which keeps `owner`. Storage that may be resized
/// moves to memory of PyTorch's when it is.
template <class Device, class Owner>
at::Tensor torch_of_view(const any_view<Device>& v, int device_index, Owner owner,
                         bool may_resize) {
  constexpr c10::DeviceType type = torch_device<Device>::type;
  const c10::ScalarType scalar_type = to_torch(v.dtype());
  i64 elements = v.empty() ? 0 : 1;
  c10::IntArrayRef sizes(v.sizes().data(), v.sizes().size());
  shape strides = contiguous_strides(shape(v.sizes()));
  for (int i = 0; i < v.rank() && !v.empty(); ++i) {
    const i64 extent = v.sizes()[static_cast<std::size_t>(i)] - 1;
    if (extent == 0) continue;  // such a stride addresses nothing
    strides[i] = v.strides()[static_cast<std::size_t>(i)];
    if (strides[i] < 0) [[unlikely]]
      raise(errc::not_supported, "to_torch", "strides of at least 0, as PyTorch has no others",
            text(strides[i]));
    elements += extent * strides[i];
  }
  const c10::Device device(
      type, static_cast<c10::DeviceIndex>(type == c10::DeviceType::CPU ? -1 : device_index));
  auto kept = std::make_unique<Owner>(std::move(owner));
  c10::DataPtr data(
      v.empty() || has_no_elements<Device> ? nullptr : v.data(), kept.get(),
      [](void* p) { delete static_cast<Owner*>(p); }, device);
  static_cast<void>(kept.release());
  may_resize = may_resize && type == c10::DeviceType::CPU;
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), elements * size_of(v.dtype()), std::move(data),
      may_resize ? c10::GetAllocator(type) : nullptr, may_resize);
  auto r = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(std::move(storage)),
                                                    c10::DispatchKeySet(torch_device<Device>::key),
                                                    c10::scalarTypeToTypeMeta(scalar_type));
  r.unsafeGetTensorImpl()->set_sizes_and_strides(
      sizes, c10::IntArrayRef(strides.begin(), static_cast<std::size_t>(v.rank())));
  return r;
}

/// PyTorch's current stream waits for what `memory`'s has queued, and the memory for both.
template <class Device>
void hand_over_to_torch(pool_block<Device>& memory) {
  if constexpr (!is_synchronous<Device>) {
    if (memory.data() == nullptr) return;
    const auto from = memory.stream();
    const auto to = torch_stream<Device>(memory.device_index());
    if (from == to) return;
    event<Device> queued(from.device_index());
    queued.record(from);
    to.wait(queued);
    memory.record_stream(to);
  }
}

}  // namespace detail

/// A tensor of PyTorch's of a view's elements, which may be written. It keeps `owner`, a value,
/// until its last tensor ends, on any thread; without one the memory must outlive that. Raises
/// not_supported for const elements and negative strides, which PyTorch does not have, and
/// dtype_mismatch for a dtype that it does not.
template <class Device, class Owner = std::nullptr_t>
[[nodiscard]] at::Tensor to_torch(const any_view<Device>& v, int device_index, Owner owner = {}) {
  check(!v.is_const(), errc::not_supported, "to_torch", "elements that may be written",
        "const elements, which PyTorch does not have");
  return detail::torch_of_view(v, device_index, std::move(owner), false);
}
template <class T, class Device, class Extents, class Owner = std::nullptr_t>
requires(!std::is_const_v<T>) [[nodiscard]] at::Tensor
    to_torch(const tensor_view<T, Device, Extents>& v, int device_index, Owner owner = {}) {
  return to_torch(any_view<Device>(v), device_index, std::move(owner));
}

/// A tensor of PyTorch's that shares the memory of ours: that is freed, in the order of its stream,
/// with the last of both. PyTorch's current stream comes after what ours has queued so far, and the
/// memory is not reused before what that has queued. Raises dtype_mismatch as above.
template <class T, class Device>
[[nodiscard]] at::Tensor to_torch(tensor<T, Device>& x) {
  auto memory = x.share_memory();
  detail::hand_over_to_torch(memory);
  return detail::torch_of_view(any_view<Device>(x.view()), x.device_index(), std::move(memory),
                               true);
}
/// The same of a tensor that ends here: PyTorch has its memory alone.
template <class T, class Device>
[[nodiscard]] at::Tensor to_torch(tensor<T, Device>&& x) {
  const int device_index = x.device_index();
  const any_view<Device> v(static_cast<tensor<T, Device>&>(x).view());
  auto memory = std::move(x).release();
  detail::hand_over_to_torch(memory);
  return detail::torch_of_view(v, device_index, std::move(memory), true);
}

}  // namespace flaggems
