// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// An operator on the device DEVICE, whose header comes before or behind the operator's.
#if VENDOR_FIRST
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/host.hpp>
#endif

#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/cuda.hpp>
#include <flaggems/vendors/host.hpp>

void launches(const flaggems::stream<flaggems::DEVICE>& stream,
              const flaggems::tensor_view<const float, flaggems::DEVICE>& x,
              const flaggems::tensor_view<float, flaggems::DEVICE>& out) {
  flaggems::softmax(stream, x, out, -1);
}
