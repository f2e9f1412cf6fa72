// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/activation.hpp>
#include <flaggems/kernel/family/pointwise/simt/pointwise.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;

namespace flaggems::kernels {
using gelu_and_mul_bf16 = node<float, gelu_and_mul_fn, arg<bf16, float>, arg<bf16, float>>;
using silu_and_mul_bf16 = node<float, silu_and_mul_fn, arg<bf16, float>, arg<bf16, float>>;
}  // namespace flaggems::kernels

FLAGGEMS_INSTANCE(gelu_and_mul, fk::pointwise_strided<bf16, fk::gelu_and_mul_bf16>,
                  fk::strided_space, fk::target<bf16>, fk::gelu_and_mul_bf16)
FLAGGEMS_INSTANCE(silu_and_mul, fk::pointwise_strided<bf16, fk::silu_and_mul_bf16>,
                  fk::strided_space, fk::target<bf16>, fk::silu_and_mul_bf16)
