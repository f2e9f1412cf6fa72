// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/tables/rounding.hpp>

#include "rows.hpp"

namespace fk = flaggems::kernels;

FLAGGEMS_ROUNDING_TABLE(FLAGGEMS_UNARY_ROW, FLAGGEMS_BINARY_ROW)

using rounded = fk::node<float, fk::round_decimals_fn<float>, fk::arg<flaggems::bf16, float>>;
FLAGGEMS_INSTANCE(round_decimals, fk::pointwise_strided<flaggems::bf16, rounded>, fk::strided_space,
                  fk::target<flaggems::bf16>, rounded)

using next = fk::node<float, fk::nextafter_fn<flaggems::bf16>, fk::arg<flaggems::bf16, float>,
                      fk::arg<flaggems::bf16, float>>;
FLAGGEMS_INSTANCE(nextafter_bf16, fk::pointwise_strided<flaggems::bf16, next>, fk::strided_space,
                  fk::target<flaggems::bf16>, next)
FLAGGEMS_ROW(frexp_mantissa, floating, unary<fk::mantissa_fn>)
FLAGGEMS_ROW(frexp_exponent, floating, unary<fk::exponent_fn>)
