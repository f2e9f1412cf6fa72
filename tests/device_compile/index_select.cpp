// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernels/index_select.hpp>

#include <flaggems/kernels/entry.hpp>

namespace fk = flaggems::kernels;

FLAGGEMS_INSTANCE(index_select_u16, fk::index_select<flaggems::u16, flaggems::i64>, fk::tiling,
                  fk::target<flaggems::u16>, fk::lookup<flaggems::u16, flaggems::i64>)
FLAGGEMS_INSTANCE(index_select_u32, fk::index_select<flaggems::u32, flaggems::i32>, fk::tiling,
                  fk::target<flaggems::u32>, fk::lookup<flaggems::u32, flaggems::i32>)
