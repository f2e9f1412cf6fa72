// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernels/attention_decode_tiles.hpp>

#include <flaggems/kernels/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::f16;
using flaggems::i64;
FLAGGEMS_INSTANCE(scaled_dot_product_attention_decode_f16,
                  fk::attention_decode<float, f16, float, fk::attention_mask<bool>, 4, 8>,
                  fk::attention_space, fk::attention_arg<const float>, fk::attention_arg<const f16>,
                  fk::attention_arg<const f16>, fk::attention_mask<bool>, fk::attention_arg<float>,
                  float, i64, i64, fk::global_ptr<float>)
FLAGGEMS_INSTANCE(scaled_dot_product_attention_decode_tiles,
                  fk::attention_decode_tiles<bf16, bf16, bf16, fk::no_mask, 1, 128>,
                  fk::attention_space, fk::attention_arg<const bf16>, fk::attention_arg<const bf16>,
                  fk::attention_arg<const bf16>, fk::no_mask, fk::attention_arg<bf16>, float, i64,
                  i64, fk::global_ptr<float>)
FLAGGEMS_INSTANCE(scaled_dot_product_attention_decode_merge, fk::attention_decode_merge<bf16>,
                  fk::attention_space, fk::attention_arg<bf16>, i64, fk::global_ptr<const float>)
