// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors of other libraries here, and ours there, without a copy: DLPack 0 (DLManagedTensor) and
// 1 (DLManagedTensorVersioned). The functions take the structs of every header that has DLPack's
// layout (dlpack/dlpack.h, ATen/dlpack.h), included before or after; the ones below need none.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/tensor/any_view.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace flaggems {

// ---- DLPack's structs, under DLPack's names of members

/// DLDeviceType: the kinds of memory that occur here.
enum dl_device_type : i32 {
  dl_cpu = 1,
  dl_cuda = 2,
  dl_cuda_host = 3,
  dl_opencl = 4,
  dl_rocm = 10,
  dl_rocm_host = 11,
  dl_ext_dev = 12,
  dl_cuda_managed = 13,
  dl_one_api = 14
};

/// DLDataTypeCode: the codes of our dtypes.
enum dl_type_code : u8 {
  dl_int = 0,
  dl_uint = 1,
  dl_float = 2,
  dl_bfloat = 4,
  dl_complex = 5,
  dl_bool = 6,
  dl_float8_e4m3fn = 10,
  dl_float8_e5m2 = 12
};

/// Bits of `flags` in DLPack 1.
inline constexpr u64 dl_read_only = 1, dl_is_copied = 2;

/// DLDevice, with an integer for the enumeration, as anything may come.
struct dl_device {
  i32 device_type, device_id;
};
/// DLDataType.
struct dl_data_type {
  u8 code, bits;
  u16 lanes;
  friend constexpr bool operator==(const dl_data_type&, const dl_data_type&) = default;
};
/// DLTensor.
struct dl_tensor {
  void* data;
  dl_device device;
  i32 ndim;
  dl_data_type dtype;
  i64* shape;
  i64* strides;  // null: row-major
  u64 byte_offset;
};
/// DLManagedTensor, of DLPack 0.
struct dl_managed_tensor {
  flaggems::dl_tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(dl_managed_tensor*);  // may be null
};
/// DLPackVersion.
struct dl_version {
  u32 major, minor;
};
/// DLManagedTensorVersioned, of DLPack 1.
struct dl_managed_tensor_versioned {
  dl_version version;
  void* manager_ctx;
  void (*deleter)(dl_managed_tensor_versioned*);  // may be null
  u64 flags;
  flaggems::dl_tensor dl_tensor;
};
static_assert(std::is_same_v<i64, std::int64_t> && sizeof(void*) == 8);
static_assert(sizeof(dl_tensor) == 48 && offsetof(dl_tensor, shape) == 24);
static_assert(sizeof(dl_managed_tensor) == 64 && offsetof(dl_managed_tensor, deleter) == 56);
static_assert(offsetof(dl_managed_tensor_versioned, deleter) == 16 &&
              offsetof(dl_managed_tensor_versioned, dl_tensor) == 32);

/// DLTensor of any header.
template <class Tensor>
concept dlpack_tensor_struct = std::is_trivially_copyable_v<Tensor> &&
                                   sizeof(Tensor) == sizeof(dl_tensor) &&
                               requires(const Tensor& t) {
  t.data, t.device.device_id, t.ndim, t.dtype.lanes, t.shape, t.strides, t.byte_offset;
};
/// DLManagedTensor or DLManagedTensorVersioned of any header.
template <class Managed>
concept dlpack_managed = requires(Managed& m) {
  requires dlpack_tensor_struct<std::remove_cvref_t<decltype(m.dl_tensor)>>;
  m.deleter(&m);
  m.manager_ctx;
};
/// DLManagedTensorVersioned of any header.
template <class Managed>
concept dlpack_versioned = dlpack_managed<Managed> && requires(Managed& m) {
  m.flags;
  m.version;
};

/// Calls the deleter of a managed tensor, unless that is null.
struct dlpack_deleter {
  template <dlpack_managed Managed>
  void operator()(Managed* m) const noexcept {
    if (m->deleter != nullptr) m->deleter(m);
  }
};
/// A managed tensor that no consumer has taken over yet, and which ends here if none does. One that
/// came as a pointer becomes one first, so that no error on the way loses it or ends it twice; by
/// `release()` it leaves, as into a capsule of Python's.
template <dlpack_managed Managed = dl_managed_tensor_versioned>
using dlpack_ptr = std::unique_ptr<Managed, dlpack_deleter>;

// ---- devices and streams

/// What a device type is in DLPack. To be specialised by who has one of which less is true.
template <class Device>
struct dlpack_device {
  /// The kind of memory that is exported.
  static constexpr i32 kind = Device::dlpack_device_type;
  /// Whether memory of another kind, which then is that of every device of the type, can be
  /// imported: pinned and managed memory.
  static constexpr bool imports(i32 other) {
    if (kind == dl_cpu)
      return other == dl_cuda_host || other == dl_rocm_host || other == dl_cuda_managed;
    return kind == dl_cuda && other == dl_cuda_managed;
  }
  /// Whether DLPack's `data` is an address. OpenCL's is the handle of a buffer, to which no offset
  /// can be added.
  static constexpr bool has_addresses = kind != dl_opencl;
};

namespace detail {
[[noreturn]] FLAGGEMS_COLD inline void raise_stream_number(const char* expected, i64 got) {
  raise(errc::invalid_argument, "dlpack_stream", expected, text(got));
}
}  // namespace detail

/// The stream that Python's `__dlpack__(stream=number)` means, of device `device_index`; none for
/// -1, which asks not to wait. std::nullopt is Python's None: the default stream. CUDA's 1 is the
/// default stream, ROCm's and other devices' is 0; other numbers are handles. Raises
/// invalid_argument for numbers that mean nothing: CUDA's 0, ROCm's 1 and 2, and on the host all.
template <class Device>
[[nodiscard]] std::optional<stream_ref<Device>> dlpack_stream(std::optional<i64> number,
                                                              int device_index) {
  using handle = typename Device::stream_handle;
  constexpr i32 kind = dlpack_device<Device>::kind;
  constexpr i64 default_number = kind == dl_cuda ? 1 : 0;
  const i64 n = number.value_or(default_number);
  if (n == -1) return std::nullopt;
  if constexpr (std::is_pointer_v<handle>) {
    if (n < default_number || (kind == dl_rocm && (n == 1 || n == 2))) [[unlikely]]
      detail::raise_stream_number(kind == dl_cuda   ? "a stream: 1, 2 or a handle"
                                  : kind == dl_rocm ? "a stream: 0 or a handle above 2"
                                                    : "a stream: 0 or a handle",
                                  n);
    if (n != default_number)
      return stream_ref<Device>(reinterpret_cast<handle>(static_cast<std::uintptr_t>(n)),
                                device_index);
  } else if (number.has_value()) {
    detail::raise_stream_number("None, as this device's streams have no number", n);
  }
  return stream_ref<Device>(Device::default_stream(), device_index);
}

/// The number to pass as `stream=` to a producer's `__dlpack__`; std::nullopt is None.
template <stream_like S>
[[nodiscard]] std::optional<i64> dlpack_stream_number(const S& stream) {
  using device = device_of<S>;
  if constexpr (std::is_pointer_v<typename device::stream_handle>) {
    const auto handle = ref(stream).handle();
    if (handle != device::default_stream()) return std::bit_cast<i64>(handle);
    return dlpack_device<device>::kind == dl_cuda ? 1 : 0;
  } else {
    return std::nullopt;
  }
}

/// What `to` does from now on comes after what `from` has queued so far. The host does not wait.
/// Raises device_mismatch unless both are of one device.
template <class Device>
void dlpack_hand_over(const stream_ref<Device>& from, const stream_ref<Device>& to) {
  detail::require_device<Device>("dlpack_hand_over", from.device_index(), to.device_index());
  if (detail::is_synchronous<Device> || from == to) return;
  event<Device> queued(from.device_index());
  queued.record(from);
  to.wait(queued);
}

// ---- from DLPack

namespace detail {

constexpr dl_data_type to_dl(dtype type) noexcept {
  const auto code = [type] {
    switch (type) {
      case dtype::bf16: return dl_bfloat;
      case dtype::f8e4m3: return dl_float8_e4m3fn;
      case dtype::f8e5m2: return dl_float8_e5m2;
      case dtype::bool_: return dl_bool;
      default: break;
    }
    return is_complex(type)          ? dl_complex
           : is_floating_point(type) ? dl_float
           : is_signed(type)         ? dl_int
                                     : dl_uint;
  };
  return {code(), static_cast<u8>(8 * size_of(type)), 1};
}

inline dtype dtype_of_dl(dl_data_type type, const char* op) {
  for (int i = 0; i < dtype_count; ++i)
    if (to_dl(static_cast<dtype>(i)) == type) return static_cast<dtype>(i);
  raise(errc::dtype_mismatch, op, "a type of ours, with one lane",
        text("code ") + text(int{type.code}) + ", " + text(int{type.bits}) + " bits, " +
            text(int{type.lanes}) + " lanes");
}

/// Raises device_mismatch unless `device` is, or can be used as, device `device_index` of the type.
template <class Device>
void check_dl_device(dl_device device, int device_index, const char* op) {
  using traits = dlpack_device<Device>;
  const bool is_same = device.device_type == traits::kind && device.device_id == device_index;
  if (!is_same && (device.device_type == traits::kind || !traits::imports(device.device_type)))
      [[unlikely]]
    raise(errc::device_mismatch, op,
          text(Device::name) + ":" + text(device_index) + ", DLPack's type " +
              text(int{traits::kind}),
          text("type ") + text(device.device_type) + ", id " + text(device.device_id));
}

/// The view of a DLTensor's elements, all of which is checked first.
template <class Device>
any_view<Device> view_of_dl(const dl_tensor& t, int device_index, bool is_read_only,
                            const char* op) {
  if (t.ndim < 0 || t.ndim > max_rank) [[unlikely]]
    raise(errc::invalid_argument, op, "0 to 8 dimensions", text(t.ndim));
  if (t.ndim > 0 && t.shape == nullptr) [[unlikely]]
    raise(errc::invalid_argument, op, "the sizes of " + text(t.ndim) + " dimensions", "null");
  const dtype type = dtype_of_dl(t.dtype, op);
  check_dl_device<Device>(t.device, device_index, op);
  const int_list sizes(t.shape, t.ndim);
  const bool is_empty = checked_numel(sizes, op) == 0;
  const shape strides =
      t.strides != nullptr ? shape(int_list(t.strides, t.ndim)) : contiguous_strides(sizes);
  check_layout(sizes, strides, size_of(type), op);
  void* data = t.data;
  if (!is_empty) {
    if (data == nullptr) [[unlikely]]
      raise_null(op, sizes);
    if (!dlpack_device<Device>::has_addresses && t.byte_offset != 0) [[unlikely]]
      raise(errc::not_supported, op, "no offset to a buffer's handle", text(t.byte_offset));
    u64 address = std::bit_cast<u64>(data);
    if (__builtin_add_overflow(address, t.byte_offset, &address)) [[unlikely]]
      raise(errc::invalid_argument, op, "an offset inside memory", text(t.byte_offset));
    if (address % static_cast<u64>(size_of(type)) != 0) [[unlikely]]
      raise_misaligned(op, address, size_of(type));
    data = std::bit_cast<void*>(address);
  }
  return is_read_only ? any_view<Device>(static_cast<const void*>(data), type, sizes, strides)
                      : any_view<Device>(data, type, sizes, strides);
}

}  // namespace detail

/// A tensor of another library, whose deleter is called once: when this ends. On a device that
/// works later it ends when the stream it was taken over for has done what is queued by then, for
/// which the host waits; that stream must outlive it. Move only.
template <class Device = host>
class dlpack_tensor {
 public:
  /// As `from_dlpack`.
  template <dlpack_managed Managed>
  dlpack_tensor(const stream_ref<Device>& stream, dlpack_ptr<Managed>&& managed)
      : view_(checked(managed.get(), stream.device_index())),
        stream_(stream),
        end_([](void* m) { dlpack_deleter()(static_cast<Managed*>(m)); }) {
    if constexpr (dlpack_versioned<Managed>) is_copied_ = (managed->flags & dl_is_copied) != 0;
    managed_ = managed.release();
  }
  dlpack_tensor(dlpack_tensor&& other) noexcept
      : view_(std::exchange(other.view_, {})),
        stream_(other.stream_),
        managed_(other.managed_),
        end_(std::exchange(other.end_, nullptr)),
        is_copied_(other.is_copied_) {}
  dlpack_tensor& operator=(dlpack_tensor&& other) noexcept {
    if (this != &other) {
      end();
      view_ = std::exchange(other.view_, {});
      stream_ = other.stream_;
      managed_ = other.managed_;
      end_ = std::exchange(other.end_, nullptr);
      is_copied_ = other.is_copied_;
    }
    return *this;
  }
  ~dlpack_tensor() { end(); }

  /// Its elements, const if they are read-only. Views of a temporary do not compile.
  [[nodiscard]] const any_view<Device>& view() const& noexcept { return view_; }
  template <class... X>
  any_view<Device> view(const X&...) const&& {
    return detail::refuse_temporary<X...>(view_);
  }
  /// Whether the producer made a copy, which nobody else has.
  [[nodiscard]] bool is_copied() const noexcept { return is_copied_; }
  [[nodiscard]] int device_index() const noexcept { return stream_.device_index(); }

 private:
  template <class Managed>
  static any_view<Device> checked(const Managed* m, int device_index) {
    constexpr const char* op = "from_dlpack";
    check(m != nullptr, errc::invalid_argument, op, "a managed tensor", "null");
    bool is_read_only = false;
    if constexpr (dlpack_versioned<Managed>) {
      // Nothing else may be read of another major version.
      if (const auto version = std::bit_cast<dl_version>(m->version); version.major != 1)
          [[unlikely]]
        raise(errc::not_supported, op, "DLPack 1", detail::text(version.major));
      is_read_only = (m->flags & dl_read_only) != 0;
    }
    return detail::view_of_dl<Device>(std::bit_cast<dl_tensor>(m->dl_tensor), device_index,
                                      is_read_only, op);
  }
  void end() noexcept {
    if (end_ == nullptr) return;
    if constexpr (!detail::is_synchronous<Device>)
      detail::succeeds([this] { stream_.synchronize(); });
    std::exchange(end_, nullptr)(managed_);
  }

  any_view<Device> view_;
  stream_ref<Device> stream_;
  void* managed_ = nullptr;
  void (*end_)(void*);  // null: moved from
  bool is_copied_ = false;
};

/// Takes a tensor of another library over, for work in `stream`; the producer was told that stream
/// (`dlpack_stream_number`), or is synchronised. Raises, and leaves it and its deleter to
/// `managed`: dtype_mismatch for a type that is none of ours or has lanes; device_mismatch unless
/// it is on the stream's device; not_supported for another major version; shape_mismatch for
/// strides that reach 2^63 bytes; invalid_argument for whatever else is malformed: the number of
/// dimensions, sizes, and null, misaligned or impossible addresses.
template <stream_like S, dlpack_managed Managed>
[[nodiscard]] dlpack_tensor<device_of<S>> from_dlpack(const S& stream,
                                                      dlpack_ptr<Managed>&& managed) {
  return {ref(stream), std::move(managed)};
}

/// Does not compile: whoever had only a pointer could lose the tensor by an error, or end it twice.
template <stream_like S, dlpack_managed Managed>
dlpack_tensor<device_of<S>> from_dlpack(const S& stream, Managed* managed) {
  static_assert(sizeof(Managed) == 0,
                "flaggems: from_dlpack takes a pointer that owns: dlpack_ptr<...>(pointer)");
  return {ref(stream), dlpack_ptr<Managed>(managed)};
}

/// The view of a DLTensor that somebody else keeps, on the device of `stream`. Raises as
/// `from_dlpack`.
template <stream_like S, dlpack_tensor_struct Tensor>
[[nodiscard]] any_view<device_of<S>> dlpack_view(const S& stream, const Tensor& t) {
  return detail::view_of_dl<device_of<S>>(std::bit_cast<dl_tensor>(t), ref(stream).device_index(),
                                          false, "dlpack_view");
}

// ---- to DLPack

namespace detail {
/// What an exported tensor points to, and what keeps its memory.
template <class Managed, class Owner>
struct dl_export {
  Managed managed{};
  shape sizes, strides;
  Owner owner;
};
}  // namespace detail

/// A view for another library, which keeps `owner`, a value, until it calls the deleter, on any
/// thread; without one the memory must outlive that. Const elements are read-only. Raises
/// not_supported for those in DLPack 0, which cannot say so.
template <dlpack_managed Managed = dl_managed_tensor_versioned, class Device,
          class Owner = std::nullptr_t>
[[nodiscard]] dlpack_ptr<Managed> to_dlpack(const any_view<Device>& v, int device_index,
                                            Owner owner = {}) {
  check(dlpack_versioned<Managed> || !v.is_const(), errc::not_supported, "to_dlpack",
        "elements that may be written (DLPack 1 has others, too)", "const elements");
  using exported = detail::dl_export<Managed, Owner>;
  auto e = std::unique_ptr<exported>(
      new exported{{}, v.sizes(), contiguous_strides(v.sizes()), std::move(owner)});
  // Where a stride addresses nothing it is any number here, and one that fits in bytes there.
  for (int i = 0; i < v.rank(); ++i)
    if (!v.empty() && v.sizes()[static_cast<std::size_t>(i)] != 1) e->strides[i] = v.stride(i);
  const dl_tensor t = {v.empty() ? nullptr : v.data(),
                       {dlpack_device<Device>::kind, device_index},
                       v.rank(),
                       detail::to_dl(v.dtype()),
                       e->sizes.begin(),
                       e->strides.begin(),
                       0};
  Managed& m = e->managed;
  m.dl_tensor = std::bit_cast<std::remove_cvref_t<decltype(m.dl_tensor)>>(t);
  m.manager_ctx = e.get();
  m.deleter = [](Managed* self) { delete static_cast<exported*>(self->manager_ctx); };
  if constexpr (dlpack_versioned<Managed>) {
    m.version = std::bit_cast<decltype(m.version)>(dl_version{1, 1});  // 8-bit floats are of 1.1
    m.flags = v.is_const() ? dl_read_only : 0;
  }
  return dlpack_ptr<Managed>(&e.release()->managed);
}
template <dlpack_managed Managed = dl_managed_tensor_versioned, class T, class Device,
          class Extents, class Owner = std::nullptr_t>
[[nodiscard]] dlpack_ptr<Managed> to_dlpack(const tensor_view<T, Device, Extents>& v,
                                            int device_index, Owner owner = {}) {
  return to_dlpack<Managed>(any_view<Device>(v), device_index, std::move(owner));
}

namespace detail {
template <class Managed, class Device, class Tensor>
dlpack_ptr<Managed> export_tensor(Tensor& x, const std::optional<stream_ref<Device>>& consumer) {
  auto memory = x.share_memory();
  auto exported = to_dlpack<Managed>(any_view<Device>(x.view()), x.device_index(), memory.share());
  if (consumer && !x.empty()) {
    dlpack_hand_over(memory.stream(), *consumer);
    memory.record_stream(*consumer);
  }
  return exported;
}
}  // namespace detail

/// A tensor for another library, which shares its memory: that is freed, in the order of its
/// stream, with the last of both. `consumer` is the stream that the other library will use
/// (`dlpack_stream`): its work comes after what the tensor's stream has queued so far, and the
/// memory is not reused before; without one, neither is seen to. A const tensor is read-only.
/// Raises as for a view, and device_mismatch for a stream of another device.
template <dlpack_managed Managed = dl_managed_tensor_versioned, class T, class Device>
[[nodiscard]] dlpack_ptr<Managed> to_dlpack(
    tensor<T, Device>& x,
    const std::type_identity_t<std::optional<stream_ref<Device>>>& consumer = {}) {
  return detail::export_tensor<Managed, Device>(x, consumer);
}
template <dlpack_managed Managed = dl_managed_tensor_versioned, class T, class Device>
[[nodiscard]] dlpack_ptr<Managed> to_dlpack(
    const tensor<T, Device>& x,
    const std::type_identity_t<std::optional<stream_ref<Device>>>& consumer = {}) {
  return detail::export_tensor<Managed, Device>(x, consumer);
}
/// The same of a tensor that ends here: the other library has its memory alone.
template <dlpack_managed Managed = dl_managed_tensor_versioned, class T, class Device>
[[nodiscard]] dlpack_ptr<Managed> to_dlpack(
    tensor<T, Device>&& x,
    const std::type_identity_t<std::optional<stream_ref<Device>>>& consumer = {}) {
  tensor<T, Device> taken(std::move(x));
  return detail::export_tensor<Managed, Device>(taken, consumer);
}

}  // namespace flaggems
