// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Constants of a device type with values that no chip has.
//
// clang-format off
//
// expect: -DWARP_SIZE=48: flaggems: device type whose `geometry::warp_size` is no power of two
// expect: -DWARP_SIZE=0: flaggems: device type whose `geometry::warp_size` is no power of two
// expect: -DWARPS=33: flaggems: device type whose `geometry::preferred_warps` is not from 1 to 32 with at most 1024 threads a block
// expect: -DWARPS=17 -DWARP_SIZE=64: flaggems: device type whose `geometry::preferred_warps` is not from 1 to 32 with at most 1024 threads a block
// expect: -DQUANTUM=0: flaggems: device type whose `geometry::grid_quantum` is not from 1 to max_grid
// expect: -DQUANTUM=65536: flaggems: device type whose `geometry::grid_quantum` is not from 1 to max_grid
// expect: -DALIGNMENT=12: flaggems: device type whose `argument_abi::alignment` is no power of two
// expect: -DEMULATED=16: flaggems: run_emulated takes warps of 32 or 64 threads, or 1 without clusters
// clang-format on
#include <flaggems/detail/simt_emulator.hpp>

#include <support/mock_device.hpp>

#ifndef WARP_SIZE
#define WARP_SIZE 32
#endif
#ifndef WARPS
#define WARPS 4
#endif
#ifndef QUANTUM
#define QUANTUM 1
#endif
#ifndef ALIGNMENT
#define ALIGNMENT 1
#endif
#ifndef EMULATED
#define EMULATED 64
#endif

struct chip : support::mock_device {
  struct geometry : mock_device::geometry {
    static constexpr int warp_size = WARP_SIZE;
    static constexpr int preferred_warps = WARPS;
    static constexpr int grid_quantum = QUANTUM;
  };
  struct argument_abi : mock_device::argument_abi {
    static constexpr int alignment = ALIGNMENT;
  };
};
static_assert(flaggems::check_device<chip>());

struct nothing {
  template <class Block>
  FLAGGEMS_INLINE static void run(const Block&) {}
};
void launch() { flaggems::kernels::run_emulated<EMULATED, nothing>("nothing", 1, 64, 0); }
