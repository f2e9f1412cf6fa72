// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/tables/comparison.hpp>

#include "rows.hpp"

namespace fk = flaggems::kernels;

FLAGGEMS_COMPARISON_TABLE(FLAGGEMS_UNARY_ROW)

using close = fk::node<bool, fk::isclose_fn<float>, fk::arg<float, float>, fk::arg<float, float>>;
FLAGGEMS_INSTANCE(isclose, fk::pointwise_strided<bool, close>, fk::strided_space, fk::target<bool>,
                  close)
