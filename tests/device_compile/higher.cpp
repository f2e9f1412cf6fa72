// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/tables/higher.hpp>

#include "rows.hpp"

namespace fk = flaggems::kernels;

FLAGGEMS_HIGHER_TABLE(FLAGGEMS_UNARY_ROW, FLAGGEMS_UNARY_ROW, FLAGGEMS_BINARY_ROW,
                      FLAGGEMS_BINARY_ROW)
FLAGGEMS_UNARY_ROW_OF(polygamma, to_float)
FLAGGEMS_UNARY_ROW_OF(mvlgamma, to_float)
