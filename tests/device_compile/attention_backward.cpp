// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/attention/backward.hpp>
#include <flaggems/kernel/family/attention/simt/gradients_mma.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using fk::attention_side;
using flaggems::bf16;
using scores = fk::attention_mask<bool>;
FLAGGEMS_INSTANCE(
    scaled_dot_product_flash_attention_backward_queries,
    fk::attention_backward<float, float, scores, attention_side::queries, fk::stepping::strided>,
    fk::attention_gradient_problem, fk::attention_backward_args<float, float>, scores)
FLAGGEMS_INSTANCE(scaled_dot_product_flash_attention_backward_keys,
                  fk::attention_backward<bf16, float, fk::no_mask, attention_side::keys,
                                         fk::stepping::contiguous>,
                  fk::attention_gradient_problem, fk::attention_backward_args<bf16, float>,
                  fk::no_mask)
FLAGGEMS_INSTANCE(flash_attention_backward_queries,
                  fk::attention_backward<float, float, fk::no_mask, attention_side::queries,
                                         fk::stepping::contiguous>,
                  fk::sequence_gradient_problem, fk::attention_backward_args<float, float>,
                  fk::no_mask)
FLAGGEMS_INSTANCE(
    flash_attention_backward_keys,
    fk::attention_backward<bf16, float, fk::no_mask, attention_side::keys, fk::stepping::strided>,
    fk::sequence_gradient_problem, fk::attention_backward_args<bf16, float>, fk::no_mask)
FLAGGEMS_INSTANCE(
    scaled_dot_product_flash_attention_backward_queries_tiles,
    fk::attention_gradient_tiles<bf16, fk::attention_mask<bf16>, attention_side::queries, 2, 32, 4>,
    fk::attention_gradient_problem, fk::attention_backward_args<bf16, float>,
    fk::attention_mask<bf16>)
FLAGGEMS_INSTANCE(flash_attention_backward_keys_tiles,
                  fk::attention_gradient_tiles<bf16, fk::no_mask, attention_side::keys, 2, 32, 4>,
                  fk::sequence_gradient_problem, fk::attention_backward_args<bf16, float>,
                  fk::no_mask)
