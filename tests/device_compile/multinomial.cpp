// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/random/multinomial.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
FLAGGEMS_INSTANCE(multinomial_with_f32, fk::multinomial_with_replacement<float>, fk::row_space,
                  fk::multinomial_options, fk::row_arg<float>, fk::row_target<flaggems::i64>,
                  fk::global_ptr<flaggems::u64>, flaggems::i64)
FLAGGEMS_INSTANCE(multinomial_without_bf16, fk::multinomial_without_replacement<flaggems::bf16>,
                  fk::row_space, fk::multinomial_options, fk::row_arg<flaggems::bf16>,
                  fk::row_target<flaggems::i64>, fk::global_ptr<flaggems::u64>,
                  fk::sort_workspace<flaggems::u64>)
