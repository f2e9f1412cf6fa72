// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a device's matrix units are for kernels that multiply tiles, and whether it has them.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/device/execution.hpp>
#include <flaggems/device/pools.hpp>
#include <flaggems/device/stream.hpp>
#include <flaggems/kernel/block/simt/matrix_units.hpp>

#include <type_traits>

namespace flaggems::detail {

/// The policy of a device's matrix units for T.
template <class D, class T>
using matrix_unit_of =
    std::conditional_t<matrix_instructions_of<D> == matrix_instructions::mfma,
                       kernels::mfma_unit<T>,
                       std::conditional_t<matrix_instructions_of<D> == matrix_instructions::wmma,
                                          kernels::wmma_unit<T>, kernels::mma_unit<T>>>;

/// Whether the stream's device is one of those of its type with matrix units.
template <class S>
bool has_matrix_units([[maybe_unused]] const S& stream) {
  using device = device_of<S>;
  if constexpr (requires { device::has_matrix_units(0); })
    return device::has_matrix_units(ref(stream).device_index());
  else
    return matrix_instructions_of<device> != matrix_instructions::none;
}

/// Bytes of a block's local memory on a device, asked for once.
template <class Device>
i64 block_memory_of(int device) {
  static atomic<i64> known[max_devices];
  i64 bytes = known[device].load(memory_order::relaxed);
  if (bytes == 0) {
    bytes = Device::properties(device).shared_memory_per_block;
    known[device].store(bytes, memory_order::relaxed);
  }
  return bytes;
}

}  // namespace flaggems::detail
