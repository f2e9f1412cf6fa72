// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Error functions, and logarithms of sums and products: the rows of
// kernel/family/pointwise/tables/special.hpp in the forms of ops/forms.hpp; other operators under
// their names in torch.special.
#pragma once

#include <flaggems/kernel/family/pointwise/tables/special.hpp>
#include <flaggems/ops/pointwise.hpp>

namespace flaggems {

namespace operators {
FLAGGEMS_SPECIAL_TABLE(FLAGGEMS_NAME, FLAGGEMS_NAME)
}  // namespace operators

FLAGGEMS_SPECIAL_TABLE(FLAGGEMS_UNARY, FLAGGEMS_BINARY)
FLAGGEMS_SPECIAL_ALIASES(FLAGGEMS_ALSO_IN_PLACE, FLAGGEMS_ALSO_IN_PLACE)

}  // namespace flaggems
