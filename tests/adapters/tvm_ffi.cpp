// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators called as functions of TVM-FFI, through its C interface. This program has the families
// copy, creation, order, scatter, statistics and views for f32 and i64.
#include <flaggems/adapters/tvm_ffi.hpp>
#include <flaggems/vendors/host.hpp>

#include "dlpack_devices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

FLAGGEMS_TVM_FFI_MODULE(flaggems::host);

namespace {

using namespace flaggems;
using value = flaggems::detail::tvm_ffi_value;

TVMFFIAny any(std::int32_t type, i64 content) {
  TVMFFIAny r{};
  r.type_index = type;
  r.v_int64 = content;
  return r;
}
const TVMFFIAny none = any(kTVMFFINone, 0);
TVMFFIAny integer(i64 x) { return any(kTVMFFIInt, x); }
TVMFFIAny boolean(bool x) { return any(kTVMFFIBool, x ? 1 : 0); }
TVMFFIAny number(f64 x) { return any(kTVMFFIFloat, std::bit_cast<i64>(x)); }
TVMFFIAny string(const char* x) { return any(kTVMFFIRawStr, std::bit_cast<i64>(x)); }

// A tensor in the test's memory.
template <class T>
struct tensor_argument {
  std::vector<T> values;
  std::vector<i64> sizes, strides;
  DLTensor t{};
  tensor_argument(std::vector<T> v, std::vector<i64> n, std::vector<i64> s = {})
      : values(std::move(v)), sizes(std::move(n)), strides(std::move(s)) {
    t.data = values.data();
    t.device = {kDLCPU, 0};
    t.ndim = static_cast<int>(sizes.size());
    t.dtype = std::bit_cast<DLDataType>(detail::to_dl(dtype_of<T>));
    t.shape = sizes.data();
    t.strides = strides.empty() ? nullptr : strides.data();
  }
  tensor_argument(const tensor_argument&) = delete;
  operator TVMFFIAny() { return any(kTVMFFIDLTensorPtr, std::bit_cast<i64>(&t)); }
};

value global(const std::string& name) {
  const TVMFFIByteArray bytes{name.data(), name.size()};
  TVMFFIObjectHandle found = nullptr;
  EXPECT_EQ(TVMFFIFunctionGetGlobal(&bytes, &found), 0);
  EXPECT_NE(found, nullptr) << name;
  return {found == nullptr ? kTVMFFINone : kTVMFFIFunction, found};
}

int try_call(const std::string& name, std::vector<TVMFFIAny> arguments, TVMFFIAny* result) {
  const value function = global(name);
  return TVMFFIFunctionCall(function.get().v_obj, arguments.data(),
                            static_cast<std::int32_t>(arguments.size()), result);
}
value call(const std::string& name, std::vector<TVMFFIAny> arguments) {
  TVMFFIAny result{};
  EXPECT_EQ(try_call(name, std::move(arguments), &result), 0) << name;
  return {result.type_index, result.v_obj};
}
// "kind: message" of a call that fails.
std::string refused(const std::string& name, std::vector<TVMFFIAny> arguments) {
  TVMFFIAny result{};
  if (try_call(name, std::move(arguments), &result) == 0) return "nothing";
  TVMFFIObjectHandle raised = nullptr;
  TVMFFIErrorMoveFromRaised(&raised);
  const value owner(kTVMFFIError, raised);
  const TVMFFIErrorCell& cell = *TVMFFIErrorGetCellPtr(raised);
  return std::string(cell.kind.data, cell.kind.size) + ": " +
         std::string(cell.message.data, cell.message.size);
}
template <class T>
std::vector<T> elements(const TVMFFIAny& v) {
  EXPECT_EQ(v.type_index, kTVMFFITensor);
  if (v.type_index != kTVMFFITensor) return {};
  const any_view<host> x = dlpack_view(stream_ref<host>(), *detail::tvm_ffi_tensor(v));
  EXPECT_TRUE(x.is_contiguous());
  const T* const data = x.as<T>().data();
  return std::vector<T>(data, data + x.numel());
}
template <class T>
std::vector<T> elements(const value& v) {
  return elements<T>(v.get());
}

class tvm_ffi : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const TVMFFIAny prefix = string("test.");
    TVMFFIAny result{};
    ASSERT_EQ(__tvm_ffi_register_operators(nullptr, &prefix, 1, &result), 0);
    const value lines(result.type_index, result.v_obj);
    schemas = detail::tvm_ffi_text(lines.get());
  }
  static inline std::string schemas;
  tensor_argument<f32> x{{1, 5, 2, 4, 3, 6}, {2, 3}};
};

TEST_F(tvm_ffi, registers_every_entry) {
  std::size_t n = 0;
  for (const auto& family : registry<host>::families())
    for (const auto& op : family()) {
      global("test." + std::string(op.schema().key()));
      EXPECT_NE(schemas.find(std::string(op.schema().text) + "\n"), std::string::npos);
      ++n;
    }
  EXPECT_GT(n, 30u);
  EXPECT_EQ(static_cast<std::size_t>(std::count(schemas.begin(), schemas.end(), '\n')), n);
}

TEST_F(tvm_ffi, new_tensors) {
  const i64 before = memory_stats<host>().allocated_bytes.current;
  {
    const value results = call("test.topk", {x, integer(2)});
    ASSERT_EQ(results.get().type_index, kTVMFFIArray);
    const auto list = detail::tvm_ffi_list(results.get());
    ASSERT_EQ(list.size(), 2u);
    EXPECT_EQ(elements<f32>(list[0]), (std::vector<f32>{5, 2, 6, 4}));
    EXPECT_EQ(elements<i64>(list[1]), (std::vector<i64>{1, 2, 2, 0}));
    EXPECT_GT(memory_stats<host>().allocated_bytes.current, before);
  }
  EXPECT_EQ(memory_stats<host>().allocated_bytes.current, before) << "a result was not freed";
  // A tensor object, one of ours, is an argument as any other.
  const value kept = call("test.clone", {x});
  EXPECT_EQ(elements<i64>(call("test.argsort", {kept.get()})),
            (std::vector<i64>{0, 2, 1, 1, 0, 2}));
}

TEST_F(tvm_ffi, strides) {
  tensor_argument<f32> columns({1, 4, 5, 3, 2, 6}, {2, 3}, {1, 2});
  EXPECT_EQ(elements<f32>(call("test.contiguous", {columns})),
            (std::vector<f32>{1, 5, 2, 4, 3, 6}));
}

TEST_F(tvm_ffi, writes) {
  tensor_argument<f32> values({0, 0}, {2, 1});
  tensor_argument<i64> indices({7, 7}, {2, 1});
  const value missing = call("ffi.GetInvalidObject", {});
  const TVMFFIAny left_out = missing.get();
  const value nothing = call("test.topk.values",
                             {x, integer(1), left_out, boolean(false), left_out, values, indices});
  EXPECT_EQ(nothing.get().type_index, kTVMFFINone);
  EXPECT_EQ(values.values, (std::vector<f32>{1, 3}));
  EXPECT_EQ(indices.values, (std::vector<i64>{0, 1}));
  call("test.fill_.Scalar", {values, number(2.5)});
  EXPECT_EQ(values.values, (std::vector<f32>{2.5, 2.5}));
}

TEST_F(tvm_ffi, dtypes_strings_and_lists) {
  TVMFFIAny i64_type{};
  i64_type.type_index = kTVMFFIDataType;
  i64_type.v_dtype = {kDLInt, 64, 1};
  EXPECT_EQ(elements<i64>(call("test.to.dtype", {x, i64_type})),
            (std::vector<i64>{1, 5, 2, 4, 3, 6}));
  EXPECT_EQ(elements<i64>(call("test.to.dtype", {x, string("int64")})).size(), 6u);

  const value sizes = call("ffi.Array", {integer(2), integer(2)});
  EXPECT_EQ(elements<f32>(call("test.full", {sizes.get(), number(1.5), none})),
            (std::vector<f32>(4, 1.5F)));
  const value shape = call("ffi.Shape", {integer(3)});
  EXPECT_EQ(elements<i64>(call("test.ones", {shape.get(), i64_type})), (std::vector<i64>{1, 1, 1}));
  const value empty = call("ffi.Array", {});
  EXPECT_EQ(elements<f32>(call("test.zeros", {empty.get()})), (std::vector<f32>{0}));

  const value kept = call("test.clone", {x});
  const value tensors = call("ffi.Array", {kept.get(), kept.get()});
  EXPECT_EQ(elements<f32>(call("test.cat", {tensors.get(), integer(1)})),
            (std::vector<f32>{1, 5, 2, 1, 5, 2, 4, 3, 6, 4, 3, 6}));

  tensor_argument<f32> image({1, 2, 3, 4}, {1, 2, 1, 2});
  const value turned = call("test.clone", {image, string("channels_last")});
  EXPECT_EQ(detail::tvm_ffi_tensor(turned.get())->strides[1], 1);
}

TEST_F(tvm_ffi, absent_tensors_of_a_list) {
  tensor_argument<i64> columns({2, 0}, {2});
  const value kept = call("test.clone", {columns});
  const value indices = call("ffi.Array", {none, kept.get()});
  EXPECT_EQ(elements<f32>(call("test.index.Tensor", {x, indices.get()})),
            (std::vector<f32>{2, 1, 6, 4}));
  EXPECT_EQ(
      refused("test.cat", {indices.get()}),
      "ValueError: cat: expected Tensor[] for argument tensors, got a list with other elements"
      " [invalid_argument]");
}

TEST_F(tvm_ffi, views_keep_what_they_are_of) {
  const i64 before = memory_stats<host>().allocated_bytes.current;
  {
    value kept = call("test.clone", {x});
    const void* const data = detail::tvm_ffi_tensor(kept.get())->data;
    value parts = call("test.unbind.int", {kept.get()});
    const value turned = call("test.t", {kept.get()});
    kept = {};
    const auto rows = detail::tvm_ffi_list(parts.get());
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(elements<f32>(rows[0]), (std::vector<f32>{1, 5, 2}));
    EXPECT_EQ(elements<f32>(rows[1]), (std::vector<f32>{4, 3, 6}));
    parts = {};
    const DLTensor& t = *detail::tvm_ffi_tensor(turned.get());
    EXPECT_EQ(t.data, data);
    EXPECT_EQ((std::vector<i64>(t.strides, t.strides + 2)), (std::vector<i64>{1, 3}));
    EXPECT_EQ(elements<f32>(call("test.contiguous", {turned.get()})),
              (std::vector<f32>{1, 4, 5, 3, 2, 6}));
  }
  EXPECT_EQ(memory_stats<host>().allocated_bytes.current, before) << "views kept it for ever";
  EXPECT_EQ(refused("test.t", {x}),
            "ValueError: t: expected an owning tensor, which its views keep, got a DLTensor of the "
            "caller's [invalid_argument]");
}

TEST_F(tvm_ffi, bools) {
  tensor_argument<f32> other({1, 5, 2, 4, 3, 7}, {2, 3});
  EXPECT_EQ(call("test.equal", {x, x}).get().type_index, kTVMFFIBool);
  EXPECT_EQ(call("test.equal", {x, x}).get().v_int64, 1);
  EXPECT_EQ(call("test.equal", {x, other}).get().v_int64, 0);
}

TEST_F(tvm_ffi, errors) {
  EXPECT_EQ(refused("test.topk", {x, integer(1), integer(2)}).find("IndexError: topk: expected"),
            0u);
  EXPECT_EQ(
      refused("test.topk", {integer(1), integer(1)}),
      "ValueError: topk: expected Tensor for argument self, got an integer [invalid_argument]");
  tensor_argument<i16> narrow({1, 2}, {2});
  EXPECT_EQ(refused("test.topk", {narrow, integer(1)}).find("TypeError: topk: expected"), 0u);
  EXPECT_EQ(refused("test.clone", {x, string("sideways")}),
            "ValueError: clone: expected MemoryFormat? for argument memory_format, got sideways"
            " [invalid_argument]");
  EXPECT_EQ(refused("test.clone", {x, none, none}),
            "ValueError: clone: expected 2 arguments at most, got 3 [invalid_argument]");
  const value mixed = call("ffi.Array", {integer(1), string("a")});
  EXPECT_EQ(refused("test.ones", {mixed.get()}),
            "ValueError: ones: expected SymInt[] for argument size, got a list with other elements"
            " [invalid_argument]");
  tensor_argument<f32> elsewhere({1}, {1});
  elsewhere.t.device = {kDLCUDA, 0};
  EXPECT_EQ(refused("test.clone", {elsewhere}).find("ValueError: dlpack_view: expected host:0"),
            0u);

  const TVMFFIAny prefix = string("test.");
  TVMFFIAny result{};
  EXPECT_EQ(__tvm_ffi_register_operators(nullptr, &prefix, 1, &result), -1) << "a name twice";
  TVMFFIObjectHandle raised = nullptr;
  TVMFFIErrorMoveFromRaised(&raised);
  const value owner(kTVMFFIError, raised);
}

TEST_F(tvm_ffi, kinds_of_errors) {
  EXPECT_STREQ(tvm_ffi_error_kind(errc::shape_mismatch), "ValueError");
  EXPECT_STREQ(tvm_ffi_error_kind(errc::out_of_memory), "MemoryError");
  EXPECT_STREQ(tvm_ffi_error_kind(errc::not_supported), "NotImplementedError");
  EXPECT_STREQ(tvm_ffi_error_kind(errc::driver_error), "RuntimeError");
}

// The framework's current stream of the device of the first tensor.
TEST_F(tvm_ffi, streams) {
  int target = 0;
  TVMFFIStreamHandle before = nullptr;
  ASSERT_EQ(TVMFFIEnvSetStream(kDLROCM, 1, &target, &before), 0);
  tensor_argument<f32> there({1}, {1});
  there.t.device = {kDLROCM, 1};
  const TVMFFIAny arguments[] = {integer(1), x, there};
  EXPECT_EQ(detail::tvm_ffi_device_index<rocm_like>(arguments), 1);
  const auto stream = detail::tvm_ffi_stream<rocm_like>(1);
  EXPECT_EQ(static_cast<const void*>(stream.handle()), &target);
  EXPECT_EQ(stream.device_index(), 1);
  ASSERT_EQ(TVMFFIEnvSetStream(kDLROCM, 1, before, nullptr), 0);
}

}  // namespace
