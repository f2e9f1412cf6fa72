// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Division on SIMT devices, which have no instruction for it.
#pragma once

#include <flaggems/kernel/lang/prelude.hpp>

namespace flaggems::kernels {

/// Division by an invariant divisor of dividends below 2^31: a multiplication.
struct divider {
  u32 divisor, factor, shift;
  FLAGGEMS_INLINE u32 quotient(u32 n) const {
    return (static_cast<u32>((static_cast<u64>(n) * factor) >> 32) + n) >> shift;
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/lang/divider.hpp");
