// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/row/rotary.hpp>
#include <flaggems/kernel/family/row/simt/rotary.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::i64;

FLAGGEMS_INSTANCE(apply_rotary_pos_emb_bf16, fk::rotary<bf16, float, i64, float>, fk::rotary_space,
                  fk::rotary_tensor<bf16>, fk::rotary_tensor<bf16>, fk::row_arg<float>,
                  fk::row_arg<float>, fk::row_arg<i64>)
FLAGGEMS_INSTANCE(apply_rotary_pos_emb_vectors, fk::rotary_vectors<bf16, float, i64, float>,
                  fk::rotary_steps, fk::rotary_tensors<bf16>, fk::rotary_angles<float>,
                  fk::rotary_angles<float>, fk::global_ptr<const i64>)
