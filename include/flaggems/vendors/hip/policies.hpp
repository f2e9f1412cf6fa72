// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The policies of AMD's GPUs and their matrix units.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/device/execution.hpp>
#include <flaggems/device/pools.hpp>
#include <flaggems/vendors/driver/policies.hpp>

#include <string_view>

namespace flaggems::detail {

template <int WarpSize>
struct hip_policies : simt_policies<WarpSize> {
  static constexpr int torch_device_type = 1;  // c10::DeviceType::CUDA, as PyTorch for ROCm has it
  static constexpr int dlpack_device_type = 10;  // kDLROCM
  struct geometry : simt_policies<WarpSize>::geometry {
    static constexpr i64 max_grid = (i64{1} << 22) - 1;  // blocks of 1024 threads: below 2^32
  };
};

/// The policies of a device type some of whose devices have matrix units.
template <matrix_instructions Matrix, int WarpSize>
struct amd_policies : hip_policies<WarpSize> {
  struct capabilities : hip_policies<WarpSize>::capabilities {
    static constexpr bool matrix_units = true;
    static constexpr matrix_instructions matrix = Matrix;
  };
};

/// Whether a device has the units whose instructions FLAGGEMS_HIP_MFMA (_WMMA) stands for, asked
/// for once. (gfx908 lacks those of bf16 and f64, gfx12 holds words otherwise.)
template <class Device>
bool has_matrix_units_of(int device) {
  static atomic<int> known[max_devices];  // one more than whether
  if (device < 0 || device >= max_devices) return false;
  int answer = known[device].load();
  if (answer == 0) [[unlikely]] {
    const device_properties p = Device::properties(device);
    const std::string_view arch = p.arch.view();
    const auto is = [&](std::string_view name) { return arch.substr(0, name.size()) == name; };
    const bool has = matrix_instructions_of<Device> == matrix_instructions::wmma
                         ? is("gfx11")
                         : is("gfx90a") || is("gfx94") || is("gfx950");
    answer = has ? 2 : 1;
    known[device].store(answer);
  }
  return answer == 2;
}

}  // namespace flaggems::detail
