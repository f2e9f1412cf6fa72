// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/order/simt/radix_sort.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
FLAGGEMS_INSTANCE(radix_count_bf16, fk::radix_count<flaggems::bf16, flaggems::u32>, fk::row_space,
                  fk::row_arg<flaggems::bf16>, fk::row_target<flaggems::i64>,
                  fk::radix_pass<flaggems::u16, flaggems::u32>)
FLAGGEMS_INSTANCE(radix_scan_u32, fk::radix_scan<flaggems::u32>, flaggems::i64, flaggems::i64,
                  fk::global_ptr<flaggems::u32>, fk::global_ptr<flaggems::u32>)
FLAGGEMS_INSTANCE(radix_move_f32, fk::radix_move<float, flaggems::u32>, fk::row_space,
                  fk::row_arg<float>, fk::row_target<flaggems::i64>,
                  fk::radix_pass<flaggems::u32, flaggems::u32>)
FLAGGEMS_INSTANCE(radix_move_i64, fk::radix_move<flaggems::i64, flaggems::u64>, fk::row_space,
                  fk::row_arg<flaggems::i64>, fk::row_target<flaggems::i64>,
                  fk::radix_pass<flaggems::u64, flaggems::u64>)
FLAGGEMS_INSTANCE(take_sorted_f32, fk::take_sorted<float>, fk::row_space, flaggems::i64,
                  flaggems::i64, fk::row_arg<float>, fk::row_target<float>,
                  fk::row_target<flaggems::i64>, fk::global_ptr<float>, flaggems::i32)
