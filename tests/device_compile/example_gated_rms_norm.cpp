// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/row/simt/registers.hpp>
#include <flaggems/kernel/family/row/staged.hpp>
#include "../../examples/02_gated_rms_norm_program.hpp"

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using gated = mamba::kernels::gated_rms_norm_program<float>;
template <class T, class W>
using gated_rows = fk::row_operands<fk::operands<fk::row_arg<T>, fk::row_arg<T>>,
                                    fk::operands<fk::row_target<T>>, fk::operands<fk::row_arg<W>>>;
using floats = gated_rows<float, float>;
using brains = gated_rows<bf16, float>;

FLAGGEMS_INSTANCE(gated_rms_norm_f32, fk::staged_row_program<gated, floats>, fk::row_space, floats,
                  gated)
FLAGGEMS_INSTANCE(gated_rms_norm_bf16, fk::staged_row_program<gated, brains>, fk::row_space, brains,
                  gated)
FLAGGEMS_INSTANCE(gated_rms_norm_resident_f32, fk::register_row_program<gated, floats, 2, 1, false>,
                  fk::row_space, fk::row_threads, floats, gated)
FLAGGEMS_INSTANCE(gated_rms_norm_resident_bf16, fk::register_row_program<gated, brains, 4, 1, true>,
                  fk::row_space, fk::row_threads, brains, gated)
