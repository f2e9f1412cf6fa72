// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Devices of other kinds, of which only checks and the numbers of streams are looked at.
#pragma once

#include <flaggems/adapters/dlpack.hpp>

#include <support/queued_device.hpp>

struct cuda_like : support::queued_device {
  static constexpr int dlpack_device_type = flaggems::dl_cuda;
};
struct rocm_like : support::queued_device {
  static constexpr int dlpack_device_type = flaggems::dl_rocm;
};
struct opencl_like : support::queued_device {
  static constexpr int dlpack_device_type = flaggems::dl_opencl;
};
struct one_api_like : support::queued_device {
  static constexpr int dlpack_device_type = 77;
};
// What a vendor or user says of a device type.
template <>
struct flaggems::dlpack_device<one_api_like> {
  static constexpr i32 kind = dl_one_api;
  static constexpr bool imports(i32 other) { return other == dl_cpu; }
  static constexpr bool has_addresses = true;
};
template <>
inline constexpr bool flaggems::host_accessible<cuda_like> = false;
template <>
inline constexpr bool flaggems::host_accessible<rocm_like> = false;
template <>
inline constexpr bool flaggems::host_accessible<opencl_like> = false;
template <>
inline constexpr bool flaggems::host_accessible<one_api_like> = false;
