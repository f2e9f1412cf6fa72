// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// DLPack's own header, where it is installed, beside ours: the same layout, and its structs both
// ways. It comes last here; other orders make no difference, as nothing asks for it.
#include <flaggems/adapters/dlpack.hpp>
#include <flaggems/vendors/host.hpp>

#include <gtest/gtest.h>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>

namespace {

using namespace flaggems;

#define EXPECT_SAME_PLACE(ours, theirs, member)                      \
  static_assert(offsetof(ours, member) == offsetof(theirs, member)); \
  static_assert(sizeof(ours::member) == sizeof(theirs::member))

static_assert(sizeof(dl_device) == sizeof(DLDevice));
EXPECT_SAME_PLACE(dl_device, DLDevice, device_type);
EXPECT_SAME_PLACE(dl_device, DLDevice, device_id);
static_assert(sizeof(dl_data_type) == sizeof(DLDataType));
EXPECT_SAME_PLACE(dl_data_type, DLDataType, code);
EXPECT_SAME_PLACE(dl_data_type, DLDataType, bits);
EXPECT_SAME_PLACE(dl_data_type, DLDataType, lanes);
static_assert(sizeof(flaggems::dl_tensor) == sizeof(DLTensor));
EXPECT_SAME_PLACE(flaggems::dl_tensor, DLTensor, data);
EXPECT_SAME_PLACE(flaggems::dl_tensor, DLTensor, device);
EXPECT_SAME_PLACE(flaggems::dl_tensor, DLTensor, ndim);
EXPECT_SAME_PLACE(flaggems::dl_tensor, DLTensor, dtype);
EXPECT_SAME_PLACE(flaggems::dl_tensor, DLTensor, shape);
EXPECT_SAME_PLACE(flaggems::dl_tensor, DLTensor, strides);
EXPECT_SAME_PLACE(flaggems::dl_tensor, DLTensor, byte_offset);
static_assert(sizeof(dl_managed_tensor) == sizeof(DLManagedTensor));
EXPECT_SAME_PLACE(dl_managed_tensor, DLManagedTensor, dl_tensor);
EXPECT_SAME_PLACE(dl_managed_tensor, DLManagedTensor, manager_ctx);
EXPECT_SAME_PLACE(dl_managed_tensor, DLManagedTensor, deleter);

static_assert(int{dl_cpu} == kDLCPU && int{dl_cuda} == kDLCUDA && int{dl_rocm} == kDLROCM);
static_assert(int{dl_cuda_host} == kDLCUDAHost && int{dl_opencl} == kDLOpenCL);
static_assert(int{dl_rocm_host} == kDLROCMHost && int{dl_ext_dev} == kDLExtDev);
static_assert(int{dl_cuda_managed} == kDLCUDAManaged);
static_assert(int{dl_int} == kDLInt && int{dl_uint} == kDLUInt && int{dl_float} == kDLFloat);
static_assert(int{dl_bfloat} == kDLBfloat && int{dl_complex} == kDLComplex);

template <class Managed>
void round_trip() {
  f32 values[6] = {1, 2, 3, 4, 5, 6};
  const auto v = tensor_view<f32>(values, {2, 3}).t();
  const auto taken = from_dlpack(stream_ref<host>(), to_dlpack<Managed>(v, 0));
  EXPECT_EQ(taken.view().template as<f32>()(2, 1), 6);
}

TEST(dlpack, of_its_own_header) {
  round_trip<DLManagedTensor>();
#ifdef DLPACK_MAJOR_VERSION
  static_assert(DLPACK_MAJOR_VERSION == 1);
  static_assert(sizeof(dl_managed_tensor_versioned) == sizeof(DLManagedTensorVersioned));
  EXPECT_SAME_PLACE(dl_managed_tensor_versioned, DLManagedTensorVersioned, version);
  EXPECT_SAME_PLACE(dl_managed_tensor_versioned, DLManagedTensorVersioned, manager_ctx);
  EXPECT_SAME_PLACE(dl_managed_tensor_versioned, DLManagedTensorVersioned, deleter);
  EXPECT_SAME_PLACE(dl_managed_tensor_versioned, DLManagedTensorVersioned, flags);
  EXPECT_SAME_PLACE(dl_managed_tensor_versioned, DLManagedTensorVersioned, dl_tensor);
  static_assert(dl_read_only == DLPACK_FLAG_BITMASK_READ_ONLY);
  static_assert(dl_is_copied == DLPACK_FLAG_BITMASK_IS_COPIED);
  static_assert(int{dl_bool} == kDLBool && int{dl_one_api} == kDLOneAPI);
  round_trip<DLManagedTensorVersioned>();
#if DLPACK_MINOR_VERSION >= 1
  static_assert(int{dl_float8_e4m3fn} == kDLFloat8_e4m3fn);
  static_assert(int{dl_float8_e5m2} == kDLFloat8_e5m2);
#endif
#endif
}

}  // namespace

#else
TEST(dlpack, of_its_own_header) { GTEST_SKIP() << "no dlpack/dlpack.h is installed"; }
#endif
