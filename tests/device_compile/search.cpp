// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/order/search.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16, flaggems::i32, flaggems::i64;
FLAGGEMS_INSTANCE(searchsorted_f32, fk::search<float, float, float, i64>, fk::tiling,
                  fk::target<i64>, fk::arg<float, float>, fk::sorted_sequences<float>, i32)
FLAGGEMS_INSTANCE(searchsorted_bf16, fk::search<float, bf16, i32, i32>, fk::tiling, fk::target<i32>,
                  fk::arg<i32, i32>, fk::sorted_sequences<bf16>, i32)
