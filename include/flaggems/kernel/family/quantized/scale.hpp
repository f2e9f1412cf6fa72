// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions of the scales of quantised numbers.
#pragma once

#include <flaggems/kernel/family/pointwise/pointwise.hpp>

namespace flaggems::kernels {

/// The least power of two that is not below a positive normal f32: what a mantissa has above that
/// carries into the exponent.
struct next_power_of_two_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) x) const {
    using bits = bits_of<V>;
    return bit_cast<V>(bits((bit_cast<bits>(x) + bits(0x7fffffu)) & bits(0xff800000u)));
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/quantized/scale.hpp");
