// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/attention/simt/decode_mma.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::f16;
using scores = fk::decode_mask<bool>;
FLAGGEMS_INSTANCE(scaled_dot_product_attention_decode_f16,
                  fk::attention_decode<float, f16, float, scores, 4, 8, 128>, fk::decode_space,
                  fk::decode_arg<const float>, fk::decode_arg<const f16>, fk::decode_arg<const f16>,
                  scores, fk::decode_arg<float>, fk::global_ptr<float>)
FLAGGEMS_INSTANCE(scaled_dot_product_attention_decode_tiles,
                  fk::attention_decode_tiles<bf16, bf16, bf16, fk::no_mask, 1, 128>,
                  fk::decode_space, fk::decode_arg<const bf16>, fk::decode_arg<const bf16>,
                  fk::decode_arg<const bf16>, fk::no_mask, fk::decode_arg<bf16>,
                  fk::global_ptr<float>)
FLAGGEMS_INSTANCE(scaled_dot_product_attention_decode_merge, fk::attention_decode_merge<bf16>,
                  fk::decode_space, fk::decode_arg<bf16>, fk::global_ptr<const float>, fk::no_logs)
