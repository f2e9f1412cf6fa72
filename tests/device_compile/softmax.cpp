// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/row/programs/softmax.hpp>
#include <flaggems/kernel/family/row/simt/registers.hpp>
#include <flaggems/kernel/family/row/simt/tiles.hpp>
#include <flaggems/kernel/family/row/staged.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16, flaggems::f16;
using soft = fk::softmax_program<float, false>;
using log_soft = fk::softmax_program<float, true>;
using soft_backward = fk::softmax_backward_program<float, false>;
using log_soft_backward = fk::softmax_backward_program<float, true>;
template <class T, class Out>
using one_in = fk::row_operands<fk::operands<fk::row_arg<T>>, fk::operands<fk::row_target<Out>>>;
template <class T>
using two_in =
    fk::row_operands<fk::operands<fk::row_arg<T>, fk::row_arg<T>>, fk::operands<fk::row_target<T>>>;
using floats = one_in<float, float>;
using halves = one_in<bf16, bf16>;
using mixed = one_in<bf16, f16>;
using two_floats = two_in<float>;
using two_halves = two_in<bf16>;

FLAGGEMS_INSTANCE(softmax_f32, fk::staged_row_program<soft, floats>, fk::row_space, floats, soft)
FLAGGEMS_INSTANCE(log_softmax_bf16, fk::staged_row_program<log_soft, mixed>, fk::row_space, mixed,
                  log_soft)
FLAGGEMS_INSTANCE(softmax_resident_bf16, fk::register_row_program<soft, halves, 4, 1, true>,
                  fk::row_space, fk::row_threads, halves, soft)
FLAGGEMS_INSTANCE(log_softmax_resident_f32, fk::register_row_program<log_soft, floats, 2, 1, false>,
                  fk::row_space, fk::row_threads, floats, log_soft)
FLAGGEMS_INSTANCE(softmax_staged_f32, fk::register_row_program<soft, floats, 8, 1, true>,
                  fk::row_space, fk::row_threads, floats, soft)
FLAGGEMS_INSTANCE(softmax_short_bf16, fk::short_row_tiles<fk::tile_row_program<soft>, bf16, 1>,
                  fk::short_row_space, fk::global_ptr<const bf16>, fk::global_ptr<bf16>,
                  fk::tile_row_program<soft>)
FLAGGEMS_INSTANCE(log_softmax_short_f32,
                  fk::short_row_tiles<fk::tile_row_program<log_soft>, float, 4>,
                  fk::short_row_space, fk::global_ptr<const float>, fk::global_ptr<float>,
                  fk::tile_row_program<log_soft>)
FLAGGEMS_INSTANCE(softmax_backward_f32, fk::staged_row_program<soft_backward, two_floats>,
                  fk::row_space, two_floats, soft_backward)
FLAGGEMS_INSTANCE(softmax_backward_resident_bf16,
                  fk::register_row_program<soft_backward, two_halves, 4, 1, false>, fk::row_space,
                  fk::row_threads, two_halves, soft_backward)
FLAGGEMS_INSTANCE(log_softmax_backward_f32,
                  fk::register_row_program<log_soft_backward, two_floats, 8, 1, true>,
                  fk::row_space, fk::row_threads, two_floats, log_soft_backward)
