// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/tables/activation.hpp>

#include "rows.hpp"

namespace fk = flaggems::kernels;
using flaggems::bf16;

namespace flaggems::kernels {
using gelu_and_mul_bf16 = node<float, gelu_and_mul_fn, arg<bf16, float>, arg<bf16, float>>;
using silu_and_mul_bf16 = node<float, silu_and_mul_fn, arg<bf16, float>, arg<bf16, float>>;
}  // namespace flaggems::kernels

FLAGGEMS_ACTIVATION_TABLE(FLAGGEMS_UNARY_ROW, FLAGGEMS_UNARY_ROW_OF, FLAGGEMS_UNARY_ROW_OF,
                          FLAGGEMS_UNARY_ROW_OF, FLAGGEMS_BINARY_ROW, FLAGGEMS_BINARY_ROW_OF)

FLAGGEMS_INSTANCE(gelu_and_mul, fk::pointwise_strided<bf16, fk::gelu_and_mul_bf16>,
                  fk::strided_space, fk::target<bf16>, fk::gelu_and_mul_bf16)
FLAGGEMS_INSTANCE(silu_and_mul, fk::pointwise_strided<bf16, fk::silu_and_mul_bf16>,
                  fk::strided_space, fk::target<bf16>, fk::silu_and_mul_bf16)

FLAGGEMS_ROW(logit, to_float, unary<fk::logit_fn<float>>)
FLAGGEMS_ROW(nan_to_num, numeric, unary<fk::nan_to_num_fn<float>>)
