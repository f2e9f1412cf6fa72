// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/simt/pointwise.hpp>
#include <flaggems/kernel/family/quantized/range.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::i64;
FLAGGEMS_INSTANCE(choose_qparams_optimized_f32, fk::best_range<float>, fk::row_space,
                  fk::row_arg<float>, fk::global_ptr<float>, fk::global_ptr<float>, i64, float,
                  float)
