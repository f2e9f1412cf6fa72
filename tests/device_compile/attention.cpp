// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/attention/attention.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
FLAGGEMS_INSTANCE(scaled_dot_product_attention_f32,
                  fk::attention<float, float, float, float, fk::no_mask, fk::stepping::contiguous>,
                  fk::attention_space, fk::attention_arg<const float>,
                  fk::attention_arg<const float>, fk::attention_arg<const float>, fk::no_mask,
                  fk::attention_arg<float>, float, fk::attention_arg<float>)
FLAGGEMS_INSTANCE(
    scaled_dot_product_attention_bf16_mask,
    fk::attention<float, bf16, bf16, float, fk::attention_mask<bool>, fk::stepping::strided>,
    fk::attention_space, fk::attention_arg<const float>, fk::attention_arg<const bf16>,
    fk::attention_arg<const bf16>, fk::attention_mask<bool>, fk::attention_arg<bf16>, float,
    fk::attention_arg<float>)
