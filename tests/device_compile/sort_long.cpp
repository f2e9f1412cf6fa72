// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernels/sort_long.hpp>

#include <flaggems/kernels/entry.hpp>

namespace fk = flaggems::kernels;
FLAGGEMS_INSTANCE(sort_parts_f32, fk::sort_parts<float>, fk::row_space, flaggems::i64,
                  fk::row_arg<float>, fk::sort_buffers<flaggems::u32>, flaggems::i64, flaggems::i32)
FLAGGEMS_INSTANCE(merge_parts_u32, fk::merge_parts<flaggems::u32>, flaggems::i64,
                  fk::sort_buffers<flaggems::u32>, flaggems::i64, flaggems::i64, flaggems::i64)
FLAGGEMS_INSTANCE(gather_sorted_f32, fk::gather_sorted<float>, fk::row_space, flaggems::i64,
                  fk::row_arg<float>, fk::sort_buffers<flaggems::u32>, flaggems::i64)
FLAGGEMS_INSTANCE(write_row_f32, fk::write_row<float>, fk::row_space, flaggems::i64,
                  fk::row_target<float>, fk::row_target<flaggems::i64>,
                  fk::sort_buffers<flaggems::u32>, flaggems::i64)
