// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/attention/simt/prefill_mma.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::f16;
using scores = fk::decode_mask<bool>;
FLAGGEMS_INSTANCE(scaled_dot_product_attention_prefill,
                  fk::attention_prefill_tiles<bf16, bf16, fk::no_mask, fk::no_logs, 1, 2, 16, 4>,
                  fk::prefill_space, fk::decode_arg<const bf16>, fk::decode_arg<const bf16>,
                  fk::decode_arg<const bf16>, fk::no_mask, fk::decode_arg<bf16>, fk::no_logs)
FLAGGEMS_INSTANCE(
    scaled_dot_product_attention_prefill_f16_mask,
    fk::attention_prefill_tiles<f16, float, scores, fk::decode_arg<float>, 1, 1, 16, 4>,
    fk::prefill_space, fk::decode_arg<const f16>, fk::decode_arg<const f16>,
    fk::decode_arg<const f16>, scores, fk::decode_arg<float>, fk::decode_arg<float>)
