// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The operators of a registry as functions of TVM-FFI (PyPI: apache-tvm-ffi), whose C ABI many
// kernel libraries and frameworks share: tensors by DLPack, streams by its environment. Who links
// this links tvm_ffi::shared of its CMake package, too.
#pragma once

#include <flaggems/adapters/dlpack.hpp>
#include <flaggems/kernel/family/random/philox.hpp>
#include <flaggems/registry/registry.hpp>

#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <array>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace flaggems {

/// The kind of TVM-FFI's error for a code, which Python raises as the exception of that name.
[[nodiscard]] constexpr const char* tvm_ffi_error_kind(errc code) noexcept {
  switch (code) {
    case errc::invalid_argument:
    case errc::shape_mismatch:
    case errc::device_mismatch:
    case errc::overlap:
    case errc::bad_file: return "ValueError";
    case errc::dtype_mismatch: return "TypeError";
    case errc::out_of_range: return "IndexError";
    case errc::out_of_memory: return "MemoryError";
    case errc::not_supported: return "NotImplementedError";
    case errc::device_unavailable:
    case errc::driver_error: break;
  }
  return "RuntimeError";
}

namespace detail {

/// Of a failed call of TVM-FFI, which has its own error: our caller reports that.
struct tvm_ffi_raised {};
inline void tvm_ffi_check(int status) {
  if (status != 0) [[unlikely]]
    throw tvm_ffi_raised();
}

/// f() for a caller in C: 0, or -1 and an error of TVM-FFI.
template <class F>
int tvm_ffi_guarded(F&& f) noexcept {
  try {
    f();
    return 0;
  } catch (const error& e) {
    TVMFFIErrorSetRaisedFromCStr(tvm_ffi_error_kind(e.code()), e.what());
  } catch (const tvm_ffi_raised&) {
  } catch (const std::bad_alloc& e) {
    TVMFFIErrorSetRaisedFromCStr("MemoryError", e.what());
  } catch (const std::exception& e) {
    TVMFFIErrorSetRaisedFromCStr("RuntimeError", e.what());
  }
  return -1;
}

inline std::string_view tvm_ffi_type_name(std::int32_t type) {
  switch (type) {
    case kTVMFFIOpaquePtr: return "a pointer";
    case kTVMFFIDevice: return "a device";
    case kTVMFFIByteArrayPtr:
    case kTVMFFISmallBytes:
    case kTVMFFIBytes: return "bytes";
    case kTVMFFIFunction: return "a function";
    case kTVMFFIMap:
    case kTVMFFIDict: return "a map";
    case kTVMFFIBigInt: return "an integer beyond 64 bits";
    case kTVMFFIOpaquePyObject: return "an object that is no tensor, number, string, dtype or list";
    default: return "an object that no operator takes";
  }
}

inline const DLTensor* tvm_ffi_tensor(const TVMFFIAny& v) {
  if (v.type_index == kTVMFFIDLTensorPtr) return static_cast<const DLTensor*>(v.v_ptr);
  return v.type_index == kTVMFFITensor ? TVMFFITensorGetDLTensorPtr(v.v_obj) : nullptr;
}

/// The characters of a string; a null pointer if it is none.
inline std::string_view tvm_ffi_text(const TVMFFIAny& v) {
  if (v.type_index == kTVMFFISmallStr) return {v.v_bytes, v.small_str_len};
  if (v.type_index == kTVMFFIRawStr) return v.v_c_str;
  if (v.type_index != kTVMFFIStr) return {};
  const TVMFFIByteArray& bytes = *TVMFFIBytesGetByteArrayPtr(v.v_obj);
  return {bytes.data, bytes.size};
}

constexpr bool is_tvm_ffi_list(std::int32_t type) {
  return type == kTVMFFIArray || type == kTVMFFIList;
}
inline std::span<const TVMFFIAny> tvm_ffi_list(const TVMFFIAny& v) {
  const auto* const cell = reinterpret_cast<const TVMFFISeqCell*>(v.v_obj + 1);
  return {static_cast<const TVMFFIAny*>(cell->data), static_cast<std::size_t>(cell->size)};
}

/// The device index of the first tensor among the arguments; that of the current device if there
/// is none.
template <class Device>
int tvm_ffi_device_index(std::span<const TVMFFIAny> arguments) {
  for (const TVMFFIAny& v : arguments) {
    const DLTensor* t = tvm_ffi_tensor(v);
    if (t == nullptr && is_tvm_ffi_list(v.type_index))
      if (const auto list = tvm_ffi_list(v); !list.empty()) t = tvm_ffi_tensor(list.front());
    if (t != nullptr && t->device.device_type == dlpack_device<Device>::kind)
      return t->device.device_id;
  }
  return Device::current_device();
}

/// The stream that the framework uses on a device.
template <class Device>
stream_ref<Device> tvm_ffi_stream(int device_index) {
  using handle = typename Device::stream_handle;
  if constexpr (std::is_pointer_v<handle>)
    return stream_ref<Device>(
        static_cast<handle>(TVMFFIEnvGetStream(dlpack_device<Device>::kind, device_index)),
        device_index);
  else
    return stream_ref<Device>(Device::default_stream(), device_index);
}

/// Arguments for a boxed call, and the memory that they refer to.
template <class Device>
class tvm_ffi_arguments {
 public:
  tvm_ffi_arguments(const schema& s, std::span<const TVMFFIAny> given,
                    const stream_ref<Device>& stream)
      : schema_(s), stream_(stream), size_(given.size()) {
    const std::size_t most = s.parameters.size();
    if (given.size() > most) [[unlikely]]
      raise(errc::invalid_argument, s.key(), text(static_cast<i64>(most)) + " arguments at most",
            text(static_cast<i64>(given.size())));
    for (std::size_t i = 0; i < given.size(); ++i) boxed_[i] = convert(i, given[i]);
  }
  tvm_ffi_arguments(const tvm_ffi_arguments&) = delete;
  tvm_ffi_arguments& operator=(const tvm_ffi_arguments&) = delete;

  [[nodiscard]] std::span<const boxed<Device>> get() const { return {boxed_.data(), size_}; }

 private:
  struct list {
    std::vector<any_view<Device>> views;
    std::vector<i64> integers;
    std::vector<f64> numbers;
    std::unique_ptr<bool[]> bools;  // which no vector has in a row
    std::size_t bool_count = 0;
  };

  [[noreturn]] FLAGGEMS_COLD void refuse(std::size_t i, std::string_view got) const {
    const parameter& p = schema_.parameters[i];
    raise(errc::invalid_argument, schema_.key(), text(p.type) + " for argument " + text(p.name),
          got);
  }

  boxed<Device> convert(std::size_t i, const TVMFFIAny& v) {
    const parameter_kind wanted = schema_.parameters[i].kind;
    if (const DLTensor* const t = tvm_ffi_tensor(v)) {
      views_[i] = dlpack_view(stream_, *t);
      return views_[i];
    }
    if (const std::string_view s = tvm_ffi_text(v); s.data() != nullptr) return named(i, s);
    if (is_tvm_ffi_list(v.type_index)) return list_of(i, tvm_ffi_list(v));
    switch (v.type_index) {
      case kTVMFFINone: return std::nullopt;
      case kTVMFFIObject: return {};  // TVM-FFI's object for a missing value: the default
      case kTVMFFIInt:
        if (wanted == parameter_kind::generator) {
          generator_ = {static_cast<u64>(v.v_int64), 0};
          return generator_;
        }
        return v.v_int64;
      case kTVMFFIBool: return v.v_int64 != 0;
      case kTVMFFIFloat: return v.v_float64;
      case kTVMFFIDataType:
        return dtype_of_dl(std::bit_cast<dl_data_type>(v.v_dtype), text(schema_.key()).c_str());
      case kTVMFFIShape: {
        const TVMFFIShapeCell& cell = *TVMFFIShapeGetCellPtr(v.v_obj);
        return int_list(cell.data, static_cast<int>(cell.size));
      }
      default: refuse(i, tvm_ffi_type_name(v.type_index));
    }
  }

  // A dtype or a memory format by its name, or a string.
  boxed<Device> named(std::size_t i, std::string_view s) const {
    const parameter_kind wanted = schema_.parameters[i].kind;
    if (wanted == parameter_kind::dtype) {
      const TVMFFIByteArray bytes{s.data(), s.size()};
      DLDataType found;
      tvm_ffi_check(TVMFFIDataTypeFromString(&bytes, &found));
      return dtype_of_dl(std::bit_cast<dl_data_type>(found), text(schema_.key()).c_str());
    }
    if (wanted == parameter_kind::memory_format) {
      for (const memory_format format :
           {memory_format::contiguous_format, memory_format::preserve_format,
            memory_format::channels_last, memory_format::channels_last_3d})
        if (to_string(format) == s) return format;
      refuse(i, s);
    }
    return s;
  }

  boxed<Device> list_of(std::size_t i, std::span<const TVMFFIAny> elements) {
    list& l = lists_.emplace_back();
    const parameter_kind wanted = schema_.parameters[i].kind;
    if (wanted == parameter_kind::booleans) l.bools = std::make_unique<bool[]>(elements.size());
    const bool may_be_absent = schema_.parameters[i].type.starts_with("Tensor?");
    for (const TVMFFIAny& v : elements) {
      if (const DLTensor* const t = tvm_ffi_tensor(v))
        l.views.push_back(dlpack_view(stream_, *t));
      else if (v.type_index == kTVMFFINone && may_be_absent)
        l.views.emplace_back();
      else if (v.type_index == kTVMFFIFloat)
        l.numbers.push_back(v.v_float64);
      else if (v.type_index == kTVMFFIInt && wanted == parameter_kind::numbers)
        l.numbers.push_back(static_cast<f64>(v.v_int64));
      else if (v.type_index == kTVMFFIInt)
        l.integers.push_back(v.v_int64);
      else if (v.type_index == kTVMFFIBool && l.bools)
        l.bools[l.bool_count++] = v.v_int64 != 0;
      else
        refuse(i, "a list with other elements");
    }
    const std::size_t n = elements.size();
    if (l.views.size() == n && (n > 0 || wanted == parameter_kind::tensors))
      return std::span<const any_view<Device>>(l.views);
    if (l.numbers.size() == n && (n > 0 || wanted == parameter_kind::numbers))
      return std::span<const f64>(l.numbers);
    if (l.bools && l.bool_count == n) return std::span<const bool>(l.bools.get(), n);
    if (l.integers.size() == n) return int_list(l.integers.data(), static_cast<int>(n));
    refuse(i, "a list of several kinds");
  }

  static constexpr std::size_t capacity = max_parameters + max_results;
  const schema& schema_;
  const stream_ref<Device>& stream_;
  std::size_t size_;
  std::array<boxed<Device>, capacity> boxed_;
  std::array<any_view<Device>, capacity> views_;
  std::vector<list> lists_;  // their elements stay where they are as it grows
  philox_generator generator_;
};

/// A reference to an object of TVM-FFI, or a value that is none.
class tvm_ffi_value {
 public:
  tvm_ffi_value() = default;
  explicit tvm_ffi_value(const TVMFFIAny& value) noexcept : value_(value) {}
  tvm_ffi_value(std::int32_t type, TVMFFIObjectHandle object) noexcept {
    value_.type_index = type;
    value_.v_obj = static_cast<TVMFFIObject*>(object);
  }
  tvm_ffi_value(tvm_ffi_value&& other) noexcept : value_(std::exchange(other.value_, {})) {}
  tvm_ffi_value& operator=(tvm_ffi_value&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~tvm_ffi_value() {
    if (value_.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value_.v_obj);
  }

  [[nodiscard]] const TVMFFIAny& get() const noexcept { return value_; }
  [[nodiscard]] TVMFFIAny release() noexcept { return std::exchange(value_, {}); }

 private:
  TVMFFIAny value_{};
};

/// A view as a tensor of TVM-FFI, which keeps the owner of the memory.
template <class Device, class Owner>
tvm_ffi_value tvm_ffi_result(const any_view<Device>& view, int device_index, Owner owner) {
  auto managed = to_dlpack<DLManagedTensorVersioned>(view, device_index, std::move(owner));
  TVMFFIObjectHandle object = nullptr;
  tvm_ffi_check(TVMFFITensorFromDLPackVersioned(managed.get(), 0, 0, &object));
  static_cast<void>(managed.release());
  return {kTVMFFITensor, object};
}
template <class Device>
tvm_ffi_value tvm_ffi_result(any_tensor<Device>&& x, int device_index) {
  if (!x.has_value()) return {};  // None
  const any_view<Device> view = x.view();
  return tvm_ffi_result(view, device_index, std::move(x));
}

/// Several values as an array of TVM-FFI.
inline tvm_ffi_value tvm_ffi_array(std::span<const tvm_ffi_value> values) {
  constexpr TVMFFIByteArray name{"ffi.Array", 9};
  static void* const make_array = [&name] {
    TVMFFIObjectHandle found = nullptr;
    tvm_ffi_check(TVMFFIFunctionGetGlobal(&name, &found));
    return found;
  }();
  std::vector<TVMFFIAny> arguments;
  for (const tvm_ffi_value& value : values) arguments.push_back(value.get());
  TVMFFIAny result{};
  tvm_ffi_check(TVMFFIFunctionCall(make_array, arguments.data(),
                                   static_cast<std::int32_t>(arguments.size()), &result));
  return {result.type_index, result.v_obj};
}

/// A reference to the tensor whose memory views of it keep.
inline tvm_ffi_value tvm_ffi_owner(const schema& s, std::span<const TVMFFIAny> given) {
  if (given.empty() || given[0].type_index != kTVMFFITensor) [[unlikely]]
    raise(errc::invalid_argument, s.key(), "an owning tensor, which its views keep",
          "a DLTensor of the caller's");
  tvm_ffi_check(TVMFFIObjectIncRef(given[0].v_obj));
  return {kTVMFFITensor, given[0].v_obj};
}
inline tvm_ffi_value tvm_ffi_integer(i64 x) {
  TVMFFIAny number{};
  number.type_index = kTVMFFIInt;
  number.v_int64 = x;
  return tvm_ffi_value(number);
}
/// What a call of views, or of one that gives integers, a list or a bool, gives.
template <class Device>
tvm_ffi_value tvm_ffi_results(const schema& s, any_results<Device>&& made,
                              std::span<const TVMFFIAny> given, int device_index) {
  if (s.results[0].kind == parameter_kind::boolean) {
    TVMFFIAny truth{};
    truth.type_index = kTVMFFIBool;
    truth.v_int64 = made.truth ? 1 : 0;
    return tvm_ffi_value(truth);
  }
  std::vector<tvm_ffi_value> values;
  for (any_tensor<Device>& x : made.tensors) {
    const any_view<Device> view = x.view();
    values.push_back(x.is_view() ? tvm_ffi_result(view, device_index, tvm_ffi_owner(s, given))
                                 : tvm_ffi_result(std::move(x), device_index));
  }
  if (!made.integers.empty()) {
    auto tensor = values.begin();
    std::vector<tvm_ffi_value> all;
    for (auto number = made.integers.begin(); const schema_result& r : s.results)
      all.push_back(r.kind == parameter_kind::integer ? tvm_ffi_integer(*number++)
                                                      : std::move(*tensor++));
    return tvm_ffi_array(all);
  }
  if (s.results[0].kind == parameter_kind::tensors) return tvm_ffi_array(values);
  return std::move(values[0]);
}

/// The function that an entry is: `self` is the registered_operator.
template <class Device>
int tvm_ffi_call(void* self, const TVMFFIAny* arguments, std::int32_t size, TVMFFIAny* result) {
  return tvm_ffi_guarded([&] {
    const auto& op = *static_cast<const registered_operator<Device>*>(self);
    const std::span given(arguments, static_cast<std::size_t>(size));
    const int device_index = tvm_ffi_device_index<Device>(given);
    const stream_ref<Device> stream = tvm_ffi_stream<Device>(device_index);
    const tvm_ffi_arguments<Device> boxed(op.schema(), given, stream);

    if (!op.schema().gives_tensors()) {
      any_results<Device> made;
      op.call(stream, boxed.get(), made);
      *result = tvm_ffi_results(op.schema(), std::move(made), given, device_index).release();
      return;
    }
    const bool makes = op.form() == bindings::form::functional;
    const auto n = static_cast<std::size_t>(makes ? op.schema().new_results() : 0);
    any_tensor<Device> made[max_results];
    op.call(stream, boxed.get(), std::span(made, n));
    tvm_ffi_value values[max_results];
    for (std::size_t k = 0; k < n; ++k)
      values[k] = tvm_ffi_result(std::move(made[k]), device_index);
    if (n > 1) values[0] = tvm_ffi_array(std::span<const tvm_ffi_value>(values, n));
    *result = values[0].release();
  });
}

/// Makes each entry of registry<Device> the global function `prefix` + key, which calls `call` with
/// it.
template <class Device>
void tvm_ffi_register_all(std::string_view prefix, TVMFFISafeCallType call) {
  for (const auto& family : registry<Device>::families())
    for (const registered_operator<Device>& op : family()) {
      const std::string name = std::string(prefix) + std::string(op.schema().key());
      const TVMFFIByteArray bytes{name.data(), name.size()};
      TVMFFIObjectHandle found = nullptr, made = nullptr;
      tvm_ffi_check(TVMFFIFunctionGetGlobal(&bytes, &found));
      const tvm_ffi_value other(found != nullptr ? kTVMFFIFunction : kTVMFFINone, found);
      check(found == nullptr, errc::invalid_argument, "register_tvm_ffi_functions",
            "names that no function has yet", name.c_str());
      tvm_ffi_check(TVMFFIFunctionCreate(const_cast<registered_operator<Device>*>(&op), call,
                                         nullptr, &made));
      const tvm_ffi_value function(kTVMFFIFunction, made);
      tvm_ffi_check(TVMFFIFunctionSetGlobal(&bytes, made, 0));
    }
}

}  // namespace detail

/// Makes every operator of registry<Device> a global function of TVM-FFI, its key behind `prefix`:
/// "flaggems.topk", "flaggems.add.out". Arguments are in the order of the schema: tensors by
/// DLPack, numbers, bools, strings (memory formats, too), dtypes or their names, lists, None; a
/// generator is a seed. What is left out at the end, or a bare ffi.Object (Python's
/// tvm_ffi.MISSING), has its default. A function gives a new tensor, an array of several, a bool,
/// or None if it writes; a view keeps the tensor that it is of, which has to be one of TVM-FFI's.
/// It works in TVM-FFI's current stream of the first tensor's device. The program must not be
/// unloaded after. Raises invalid_argument if a name is taken.
template <class Device>
void register_tvm_ffi_functions(std::string_view prefix) {
  detail::tvm_ffi_register_all<Device>(prefix, &detail::tvm_ffi_call<Device>);
}

/// The schemas of registry<Device>, a line each.
template <class Device>
[[nodiscard]] std::string schema_lines() {
  std::string lines;
  for (const auto& family : registry<Device>::families())
    for (const registered_operator<Device>& op : family()) (lines += op.schema().text) += '\n';
  return lines;
}

namespace detail {
/// The functions of FLAGGEMS_TVM_FFI_MODULE; `call` is what an entry calls.
template <class Device>
int tvm_ffi_register(const TVMFFIAny* arguments, std::int32_t size, TVMFFIAny* result,
                     TVMFFISafeCallType call = &tvm_ffi_call<Device>) {
  return tvm_ffi_guarded([&] {
    const std::string_view prefix = size == 1 ? tvm_ffi_text(arguments[0]) : std::string_view();
    check(prefix.data() != nullptr, errc::invalid_argument, "register_operators",
          "a string before the operators' names");
    tvm_ffi_register_all<Device>(prefix, call);
    const std::string lines = schema_lines<Device>();
    const TVMFFIByteArray bytes{lines.data(), lines.size()};
    tvm_ffi_check(TVMFFIStringFromByteArray(&bytes, result));
  });
}
}  // namespace detail
}  // namespace flaggems

/// Makes a library one of TVM-FFI's modules: `module.register_operators(prefix)` is
/// register_tvm_ffi_functions<Device>(prefix), and gives schema_lines<Device>();
/// `module.device_type()` is DLPack's number of the device's kind. In namespace scope of one source
/// file.
#define FLAGGEMS_TVM_FFI_MODULE(Device)                                                            \
  extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_register_operators(                                  \
      void*, const TVMFFIAny* arguments, ::std::int32_t size, TVMFFIAny* result) {                 \
    return ::flaggems::detail::tvm_ffi_register<Device>(arguments, size, result);                  \
  }                                                                                                \
  extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_device_type(void*, const TVMFFIAny*, ::std::int32_t, \
                                                          TVMFFIAny* result) {                     \
    result->type_index = kTVMFFIInt;                                                               \
    result->v_int64 = ::flaggems::dlpack_device<Device>::kind;                                     \
    return 0;                                                                                      \
  }                                                                                                \
  static_assert(true)
