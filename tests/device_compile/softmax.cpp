// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/row/simt/softmax.hpp>
#include <flaggems/kernel/family/row/simt/tiles.hpp>
#include <flaggems/kernel/family/row/softmax.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
FLAGGEMS_INSTANCE(softmax_f32, fk::softmax<float, float, float, false>, fk::row_space,
                  fk::row_arg<float>, fk::row_target<float>)
FLAGGEMS_INSTANCE(log_softmax_bf16, fk::softmax<flaggems::bf16, flaggems::f16, float, true>,
                  fk::row_space, fk::row_arg<flaggems::bf16>, fk::row_target<flaggems::f16>)
FLAGGEMS_INSTANCE(softmax_resident_bf16,
                  fk::simt_softmax<flaggems::bf16, flaggems::bf16, float, false, 4, 1, true>,
                  fk::row_space, fk::row_threads, fk::row_arg<flaggems::bf16>,
                  fk::row_target<flaggems::bf16>)
FLAGGEMS_INSTANCE(log_softmax_resident_f32,
                  fk::simt_softmax<float, float, float, true, 2, 1, false>, fk::row_space,
                  fk::row_threads, fk::row_arg<float>, fk::row_target<float>)
FLAGGEMS_INSTANCE(softmax_staged_f32, fk::simt_softmax<float, float, float, false, 8, 1, true>,
                  fk::row_space, fk::row_threads, fk::row_arg<float>, fk::row_target<float>)
FLAGGEMS_INSTANCE(softmax_short_bf16,
                  fk::short_row_tiles<fk::short_softmax<false>, flaggems::bf16, 1>,
                  fk::short_row_space, fk::global_ptr<const flaggems::bf16>,
                  fk::global_ptr<flaggems::bf16>, fk::short_softmax<false>)
FLAGGEMS_INSTANCE(log_softmax_short_f32, fk::short_row_tiles<fk::short_softmax<true>, float, 4>,
                  fk::short_row_space, fk::global_ptr<const float>, fk::global_ptr<float>,
                  fk::short_softmax<true>)
