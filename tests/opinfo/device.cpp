// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The operators of FLAGGEMS_TEST_DEVICE as functions of TVM-FFI on the host's tensors: a call has
// its arguments copied to the device, and all of them and its results back.
#include <flaggems/adapters/tvm_ffi.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/tensor/overlap.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/meta.hpp>
#include <flaggems/vendors/opencl.hpp>
#include <flaggems/vendors/simt.hpp>

#include <deque>
#include <memory>
#include <vector>

namespace {

namespace fg = flaggems;
namespace detail = flaggems::detail;
using device = FLAGGEMS_TEST_DEVICE;
using detail::layout_of;
using fg::any_view;
using fg::boxed;
using fg::copy_kind;
using fg::host;
using fg::i64;

constexpr bool has_elements = !std::is_same_v<device, fg::meta>;

fg::i64 launches = 0;
void count_launch(const fg::launch_event& e) {
  if (e.rejected.empty() && e.tiles > 0) ++launches;
}

/// The bytes between the first and the last element of a view of the host's, on the device, where
/// they are as far from a multiple of 64 bytes.
class copied_argument {
 public:
  copied_argument(const fg::stream_ref<device>& stream, const any_view<host>& x) : host_(x) {
    if (!x.empty()) {
      const fg::byte_range range = layout_of(x).range();
      first_ = reinterpret_cast<unsigned char*>(range.lo);
      bytes_ = static_cast<i64>(range.hi - range.lo);
      const i64 offset = static_cast<i64>(range.lo % 64);
      memory_ = fg::empty<fg::u8>(stream, {bytes_ + offset});
      there_ = memory_.data() + offset;
      device::copy(there_, first_, bytes_, copy_kind::host_to_device, stream.handle());
    }
    void* const data =
        x.empty() ? nullptr : there_ + (static_cast<unsigned char*>(x.data()) - first_);
    view_ = any_view<device>(data, x.dtype(), x.sizes(), x.strides());
  }
  [[nodiscard]] const any_view<device>& view() const { return view_; }
  void copy_back(const fg::stream_ref<device>& stream) const {
    if (has_elements && bytes_ > 0)
      device::copy(first_, there_, bytes_, copy_kind::device_to_host, stream.handle());
  }

 private:
  any_view<host> host_;
  unsigned char *first_ = nullptr, *there_ = nullptr;
  i64 bytes_ = 0;
  fg::tensor<fg::u8, device> memory_;
  any_view<device> view_;
};

/// A call's arguments on the device.
class copied_arguments {
 public:
  copied_arguments(const fg::stream_ref<device>& stream, std::span<const boxed<host>> given)
      : stream_(stream) {
    for (const boxed<host>& v : given) boxed_.push_back(convert(v));
  }
  [[nodiscard]] std::span<const boxed<device>> get() const { return boxed_; }
  void copy_back() const {
    for (const copied_argument& one : copies_) one.copy_back(stream_);
  }

 private:
  boxed<device> convert(const boxed<host>& v) {
    using enum fg::boxed_kind;
    switch (v.kind()) {
      case unset: return {};
      case none: return std::nullopt;
      case tensor: return copies_.emplace_back(stream_, v.view()).view();
      case tensors: {
        auto& list = lists_.emplace_back();
        for (const any_view<host>& x : v.views())
          list.push_back(copies_.emplace_back(stream_, x).view());
        return std::span<const any_view<device>>(list);
      }
      case integer: return v.integer();
      case floating: return v.number();
      case complex_number: return complex_.emplace_back(v.complex_number());
      case boolean: return v.boolean();
      case integers: return v.integers();
      case numbers: return v.numbers();
      case booleans: return v.booleans();
      case dtype: return v.dtype();
      case string: return v.text();
      case generator: return v.generator();
      case memory_format: return v.memory_format();
    }
    return {};
  }

  const fg::stream_ref<device>& stream_;
  std::deque<copied_argument> copies_;  // whose elements stay where they are
  std::deque<std::vector<any_view<device>>> lists_;
  std::deque<fg::c128> complex_;
  std::vector<boxed<device>> boxed_;
};

/// A result as a tensor of the host.
detail::tvm_ffi_value on_host(const fg::stream_ref<device>& stream, const any_view<device>& x) {
  if (x.empty()) {
    const any_view<host> nothing(static_cast<void*>(nullptr), x.dtype(), x.sizes(), x.strides());
    return detail::tvm_ffi_result(nothing, 0, nullptr);
  }
  const fg::byte_range range = layout_of(x).range();
  const auto bytes = static_cast<std::size_t>(range.hi - range.lo);
  std::unique_ptr<std::max_align_t[]> memory(
      new std::max_align_t[bytes / sizeof(std::max_align_t) + 1]);
  auto* const first = reinterpret_cast<unsigned char*>(memory.get());
  if (has_elements)
    device::copy(first, reinterpret_cast<const void*>(range.lo), static_cast<i64>(bytes),
                 copy_kind::device_to_host, stream.handle());
  stream.synchronize();
  const any_view<host> view(
      static_cast<void*>(first + (reinterpret_cast<fg::u64>(x.data()) - range.lo)), x.dtype(),
      x.sizes(), x.strides());
  return detail::tvm_ffi_result(view, 0, std::move(memory));
}

/// The function that an entry is, as detail::tvm_ffi_call of the device's own tensors.
int call(void* self, const TVMFFIAny* arguments, std::int32_t size, TVMFFIAny* result) {
  return detail::tvm_ffi_guarded([&] {
    const auto& op = *static_cast<const fg::registered_operator<device>*>(self);
    static const fg::stream<device> own_stream;
    const fg::stream_ref<device> stream = fg::ref(own_stream);
    const fg::stream_ref<host> here(host::default_stream(), 0);
    const detail::tvm_ffi_arguments<host> given(op.schema(),
                                                {arguments, static_cast<std::size_t>(size)}, here);
    const copied_arguments copied(stream, given.get());

    fg::any_results<device> made;
    op.call(stream, copied.get(), made);
    copied.copy_back();
    stream.synchronize();
    const auto& gives = op.schema().results;
    const auto kind = gives.empty() ? fg::parameter_kind::tensor : gives[0].kind;
    if (kind == fg::parameter_kind::boolean) {
      result->type_index = kTVMFFIBool;
      result->v_int64 = made.truth ? 1 : 0;
      return;
    }
    std::vector<detail::tvm_ffi_value> values(made.tensors.size());
    for (std::size_t k = 0; k < values.size(); ++k)
      if (made.tensors[k].has_value()) values[k] = on_host(stream, made.tensors[k].view());
    auto number = made.integers.begin();
    for (std::size_t k = 0; k < gives.size() && number != made.integers.end(); ++k)
      if (gives[k].kind == fg::parameter_kind::integer)
        values.insert(values.begin() + static_cast<std::ptrdiff_t>(k),
                      detail::tvm_ffi_integer(*number++));
    const bool is_array = kind == fg::parameter_kind::tensors || values.size() > 1;
    if (values.empty() && !is_array) values.emplace_back();  // None
    *result = (is_array ? detail::tvm_ffi_array(values) : std::move(values[0])).release();
  });
}

}  // namespace

extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_register_operators(void*, const TVMFFIAny* arguments,
                                                               std::int32_t size,
                                                               TVMFFIAny* result) {
  fg::set_launch_hook(&count_launch);
  return detail::tvm_ffi_register<device>(arguments, size, result, &call);
}
/// Of the tensors that it takes: DLPack's number of the host.
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_device_type(void*, const TVMFFIAny*, std::int32_t,
                                                        TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = fg::dlpack_device<host>::kind;
  return 0;
}
/// How many units plans count with, which results like get_scheduler_metadata's are of.
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_units(void*, const TVMFFIAny*, std::int32_t,
                                                  TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = fg::tuning<fg::families::any, device>::units;
  return 0;
}
/// How many kernels the device was given.
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_launches(void*, const TVMFFIAny*, std::int32_t,
                                                     TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = launches;
  return 0;
}
