// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/row/programs/norm.hpp>
#include <flaggems/kernel/family/row/simt/registers.hpp>
#include <flaggems/kernel/family/row/staged.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
template <class... T>
using in = fk::operands<fk::row_arg<T>...>;
template <class... T>
using out = fk::operands<fk::row_target<T>...>;
using group = fk::layer_norm_program<float>;
using group_saves = fk::layer_norm_program<float, true>;
template <class T, class W>
using from = fk::operands<fk::row_arg<T>, fk::by_channel<W>, fk::by_channel<W>>;
using group_bf16 = fk::row_operands<from<bf16, bf16>, out<bf16>>;
using group_f32 = fk::row_operands<from<float, float>, out<float>, in<>, in<>, out<float, float>>;

FLAGGEMS_INSTANCE(group_norm_bf16, fk::register_row_program<group, group_bf16, 4, 1, true>,
                  fk::norm_space, fk::row_threads, group_bf16, group)
FLAGGEMS_INSTANCE(group_norm_unaligned_bf16,
                  fk::register_row_program<group, group_bf16, 8, 1, false>, fk::norm_space,
                  fk::row_threads, group_bf16, group)
FLAGGEMS_INSTANCE(native_group_norm_f32, fk::staged_row_program<group_saves, group_f32>,
                  fk::norm_space, group_f32, group_saves)
