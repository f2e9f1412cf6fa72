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

/// A reduction, or its number in ATen's schemas. Raises invalid_argument for another number.
struct loss_reduction {
  reduction value;
  constexpr loss_reduction(reduction how) : value(how) {}
  loss_reduction(i64 number) : value(static_cast<reduction>(number)) {
    if (number < 0 || number > 2) [[unlikely]]
      raise(errc::invalid_argument, "loss", "a reduction of 0 (none), 1 (mean), 2 (sum)",
            "another number");
  }
};

}  // namespace flaggems
