// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/tables/trigonometric.hpp>

#include "rows.hpp"

namespace fk = flaggems::kernels;

FLAGGEMS_TRIGONOMETRIC_TABLE(FLAGGEMS_UNARY_ROW, FLAGGEMS_UNARY_ROW, FLAGGEMS_BINARY_ROW)
