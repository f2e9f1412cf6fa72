// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What most SIMT devices state alike.
#pragma once

#include <flaggems/device/execution.hpp>
#include <flaggems/kernel/block/simt/machine.hpp>

namespace flaggems::detail {

/// The policies of a device with warps of `WarpSize` lanes, of which a vendor replaces some.
template <int WarpSize>
struct simt_policies {
  struct geometry {
    static constexpr int warp_size = WarpSize;
    static constexpr int preferred_warps = 256 / kernels::block_warp(WarpSize);
    static constexpr i64 max_grid = 0x7fffffff;
    static constexpr int grid_quantum = 1;
    static constexpr bool cap_grid_to_units = false;
  };
  struct argument_abi {
    static constexpr argument_kind kind = argument_kind::pointer_array;
    static constexpr int alignment = 1;
  };
  struct images {
    static constexpr image_provider providers[] = {image_provider::precompiled,
                                                   image_provider::runtime_compiled};
  };
  struct capabilities {
    static constexpr execution model = execution::simt;
    static constexpr bool matrix_units = false;
    static constexpr bool async_copy = false;
    static constexpr bool clusters = false;
    static constexpr bool fp64 = true;
    static constexpr bool fp8 = false;
    static constexpr bool host_accessible = false;
  };
};

}  // namespace flaggems::detail
