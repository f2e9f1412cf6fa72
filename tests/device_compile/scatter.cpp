// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/index/scatter.hpp>
#include <flaggems/kernel/family/index/simt/looked_up.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::i32;
using flaggems::i64;
using flaggems::u16;

namespace flaggems::kernels {
using one_hot_i64 = node<i64, identity_fn, node<bool, eq_fn, arg<i64, i64>, position<i64>>>;
using offset_i64 = node<i64, index_offset_fn, arg<i64, i64>, arg<i64, i64>>;
}  // namespace flaggems::kernels

using source_u16 = fk::scatter_source<u16, i64>;
FLAGGEMS_INSTANCE(scatter_u16, fk::scatter<u16, i64>, fk::tiling, fk::walk_space, fk::target<u16>,
                  source_u16, fk::joining)
using source_f32 = fk::scatter_source<float, i32>;
FLAGGEMS_INSTANCE(scatter_f32, fk::scatter<float, i32>, fk::tiling, fk::walk_space,
                  fk::target<float>, source_f32, fk::joining)
using source_bf16 = fk::scatter_source<bf16, i64>;
FLAGGEMS_INSTANCE(scatter_sorted_bf16, fk::scatter_sorted<bf16>, fk::tiling, fk::sorted_places,
                  fk::target<bf16>, source_bf16, fk::joining)
FLAGGEMS_INSTANCE(scatter_offsets, fk::pointwise_strided<i64, fk::offset_i64>, fk::strided_space,
                  fk::target<i64>, fk::offset_i64)
FLAGGEMS_INSTANCE(one_hot_i64, fk::pointwise_strided<i64, fk::one_hot_i64>, fk::strided_space,
                  fk::target<i64>, fk::one_hot_i64)
