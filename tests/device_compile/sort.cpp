// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/order/simt/sort.hpp>
#include <flaggems/kernel/family/order/sort.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
FLAGGEMS_INSTANCE(sort_f32, fk::sort<float>, fk::row_space, fk::row_arg<float>,
                  fk::row_target<float>, fk::row_target<flaggems::i64>,
                  fk::sort_workspace<flaggems::u32>, flaggems::i32)
FLAGGEMS_INSTANCE(sort_bf16, fk::simt_sort<flaggems::bf16, fk::sorted_parts::values_and_order>,
                  fk::row_space, fk::row_arg<flaggems::bf16>, fk::row_target<flaggems::bf16>,
                  fk::row_target<flaggems::i64>, flaggems::i32)
FLAGGEMS_INSTANCE(sort_i64, fk::simt_sort<flaggems::i64, fk::sorted_parts::order>, fk::row_space,
                  fk::row_arg<flaggems::i64>, fk::row_target<flaggems::i64>,
                  fk::row_target<flaggems::i64>, flaggems::i32)
FLAGGEMS_INSTANCE(sort_short_f32, fk::sort_short<float>, fk::row_space, fk::row_arg<float>,
                  fk::row_target<float>, fk::row_target<flaggems::i64>, flaggems::i32,
                  flaggems::i32)
