// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/index/scatter.hpp>
#include <flaggems/kernel/family/index/simt/joined_lines.hpp>
#include <flaggems/kernel/family/index/simt/looked_up.hpp>
#include <flaggems/kernel/family/index/simt/writes.hpp>

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

using words = fk::vec<flaggems::u32, 4>;
using scattered_u16 = fk::scattered_words<u16, i64>;
using scattered_words = fk::scattered_words<words, i32>;
using joined_f32 = fk::joined_vectors<float, 1>;
using joined_bf16 = fk::joined_vectors<bf16, 8>;
FLAGGEMS_INSTANCE(scatter_u16, fk::write_strided<scattered_u16>, fk::strided_space, scattered_u16)
FLAGGEMS_INSTANCE(scatter_words, fk::write_strided<scattered_words>, fk::strided_space,
                  scattered_words)
FLAGGEMS_INSTANCE(scatter_sorted_f32, fk::write_strided<joined_f32>, fk::strided_space, joined_f32)
FLAGGEMS_INSTANCE(scatter_sorted_bf16, fk::write_strided<joined_bf16>, fk::strided_space,
                  joined_bf16)
FLAGGEMS_INSTANCE(scatter_offsets, fk::pointwise_strided<i64, fk::offset_i64>, fk::strided_space,
                  fk::target<i64>, fk::offset_i64)
FLAGGEMS_INSTANCE(one_hot_i64, fk::pointwise_strided<i64, fk::one_hot_i64>, fk::strided_space,
                  fk::target<i64>, fk::one_hot_i64)
FLAGGEMS_INSTANCE(scatter_lines_bf16, fk::join_lines<bf16, i64>, fk::line_space,
                  fk::global_ptr<bf16>, fk::global_ptr<const bf16>, fk::global_ptr<const i64>,
                  fk::joining)
