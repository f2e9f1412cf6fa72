// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/index/index_select.hpp>
#include <flaggems/kernel/family/index/simt/index_select.hpp>
#include <flaggems/kernel/family/index/simt/looked_up.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;

using looked_up_u16 = fk::looked_up<flaggems::u16, flaggems::i64>;
FLAGGEMS_INSTANCE(index_select_u16, fk::pointwise_strided<flaggems::u16, looked_up_u16>,
                  fk::strided_space, fk::target<flaggems::u16>, looked_up_u16)
using looked_up_u32 = fk::looked_up<flaggems::u32, flaggems::i32>;
FLAGGEMS_INSTANCE(index_select_u32, fk::pointwise_strided<flaggems::u32, looked_up_u32>,
                  fk::strided_space, fk::target<flaggems::u32>, looked_up_u32)
using columns_u16 = fk::select_columns<flaggems::u16, flaggems::i64>;
FLAGGEMS_INSTANCE(index_select_columns, columns_u16, fk::row_space, flaggems::i32,
                  fk::row_arg<flaggems::u16>, fk::global_ptr<const flaggems::i64>,
                  fk::row_target<flaggems::u16>)
