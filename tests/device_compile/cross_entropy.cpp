// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/row/programs/cross_entropy.hpp>
#include <flaggems/kernel/family/row/simt/registers.hpp>
#include <flaggems/kernel/family/row/staged.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16, flaggems::i64;
template <class... T>
using in = fk::operands<fk::row_arg<T>...>;
template <class... T>
using out = fk::operands<fk::row_target<T>...>;
using hard = fk::cross_entropy_program<float, float, false>;
using smooth = fk::cross_entropy_program<float, bf16, true>;
using soft = fk::soft_cross_entropy_program<float>;
using total = fk::total_loss_program<float, true>;
using hard_bf16 = fk::row_operands<in<bf16>, out<>, in<>, in<i64>, out<float, float>>;
using smooth_bf16 = fk::row_operands<in<bf16>, out<>, in<bf16>, in<i64>, out<float, float>>;
using soft_f32 = fk::row_operands<in<float, float>, out<>, in<float>, in<>, out<float, float>>;
using two_rows = fk::row_operands<in<float, float>, out<>, in<>, in<>, out<bf16>>;

FLAGGEMS_INSTANCE(cross_entropy_loss_bf16, fk::register_row_program<hard, hard_bf16, 8, 1, true>,
                  fk::row_space, fk::row_threads, hard_bf16, hard)
FLAGGEMS_INSTANCE(cross_entropy_loss_staged_bf16, fk::staged_row_program<hard, hard_bf16>,
                  fk::row_space, hard_bf16, hard)
FLAGGEMS_INSTANCE(cross_entropy_loss_smooth_bf16,
                  fk::register_row_program<smooth, smooth_bf16, 4, 1, false>, fk::row_space,
                  fk::row_threads, smooth_bf16, smooth)
FLAGGEMS_INSTANCE(cross_entropy_loss_soft_f32, fk::register_row_program<soft, soft_f32, 2, 1, true>,
                  fk::row_space, fk::row_threads, soft_f32, soft)
FLAGGEMS_INSTANCE(cross_entropy_loss_total_f32,
                  fk::register_row_program<total, two_rows, 8, 1, true>, fk::row_space,
                  fk::row_threads, two_rows, total)
