// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/tables/rounding.hpp>

#include "rows.hpp"

namespace fk = flaggems::kernels;

FLAGGEMS_ROUNDING_TABLE(FLAGGEMS_UNARY_ROW, FLAGGEMS_BINARY_ROW)

using rounded = fk::node<float, fk::round_decimals_fn<float>, fk::arg<flaggems::bf16, float>>;
FLAGGEMS_INSTANCE(round_decimals, fk::pointwise_strided<flaggems::bf16, rounded>, fk::strided_space,
                  fk::target<flaggems::bf16>, rounded)
