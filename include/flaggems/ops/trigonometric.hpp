// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Trigonometric and hyperbolic functions beside sin, cos and tanh: the rows of
// kernel/family/pointwise/tables/trigonometric.hpp in the forms of ops/forms.hpp.
#pragma once

#include <flaggems/kernel/family/pointwise/tables/trigonometric.hpp>
#include <flaggems/ops/forms.hpp>

namespace flaggems {

namespace operators {
FLAGGEMS_TRIGONOMETRIC_TABLE(FLAGGEMS_NAME, FLAGGEMS_NAME, FLAGGEMS_NAME)
}  // namespace operators

namespace detail {
FLAGGEMS_COMPLEX(takes_complex, angle_fn)
FLAGGEMS_COMPLEX(gives_real, angle_fn)
}  // namespace detail

FLAGGEMS_TRIGONOMETRIC_TABLE(FLAGGEMS_UNARY, FLAGGEMS_PREDICATE, FLAGGEMS_BINARY)
FLAGGEMS_TRIGONOMETRIC_ALIASES(FLAGGEMS_ALSO_IN_PLACE)

}  // namespace flaggems
