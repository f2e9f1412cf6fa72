// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/order/simt/topk.hpp>
#include <flaggems/kernel/family/order/topk.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
FLAGGEMS_INSTANCE(topk_f32, fk::topk<float>, fk::row_space, flaggems::i64, fk::row_arg<float>,
                  fk::row_target<float>, fk::row_target<flaggems::i64>,
                  fk::sort_workspace<flaggems::u32>, flaggems::i32)
FLAGGEMS_INSTANCE(topk_groups_bf16, fk::topk_groups<flaggems::bf16>, fk::row_space, flaggems::i32,
                  flaggems::i32, flaggems::i32, fk::row_arg<flaggems::bf16>,
                  fk::row_target<flaggems::bf16>, fk::row_target<flaggems::i64>, flaggems::i32)
FLAGGEMS_INSTANCE(topk_groups_f32, fk::topk_groups<float>, fk::row_space, flaggems::i32,
                  flaggems::i32, flaggems::i32, fk::row_arg<float>, fk::row_target<float>,
                  fk::row_target<flaggems::i64>, flaggems::i32)
FLAGGEMS_INSTANCE(topk_blocks_bf16, fk::topk_blocks<flaggems::bf16>, fk::row_space, flaggems::i32,
                  flaggems::i64, flaggems::i64, fk::row_arg<flaggems::bf16>,
                  fk::global_ptr<const flaggems::i64>, fk::row_target<flaggems::bf16>,
                  fk::row_target<flaggems::i64>, flaggems::i32)
FLAGGEMS_INSTANCE(topk_blocks_f64, fk::topk_blocks<double>, fk::row_space, flaggems::i32,
                  flaggems::i64, flaggems::i64, fk::row_arg<double>,
                  fk::global_ptr<const flaggems::i64>, fk::row_target<double>,
                  fk::row_target<flaggems::i64>, flaggems::i32)
