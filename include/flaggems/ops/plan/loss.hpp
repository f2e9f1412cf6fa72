// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the losses of a batch.
#pragma once

#include <flaggems/error.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

namespace flaggems {

/// What becomes of the losses of a batch: a tensor of them, their mean, or their sum.
enum class reduction { none, mean, sum };

/// A reduction, or its number in ATen's schemas.
struct loss_reduction {
  i64 number;
  constexpr loss_reduction(reduction how) : number(static_cast<i64>(how)) {}
  constexpr loss_reduction(i64 n) : number(n) {}

  /// The reduction. Raises invalid_argument for a number that is none's.
  [[nodiscard]] reduction of(const char* op) const {
    if (number < 0 || number > 2) [[unlikely]]
      raise(errc::invalid_argument, op, "a reduction of 0 (none), 1 (mean), 2 (sum)",
            detail::text(number));
    return static_cast<reduction>(number);
  }
};

}  // namespace flaggems
