// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/gemm/sparse.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16, flaggems::i16, flaggems::i64;
FLAGGEMS_INSTANCE(sparse_sampled_addmm_f32, fk::sampled_products<float>, i64, i64,
                  fk::compressed_rows, fk::strided_matrix<float>, fk::strided_matrix<float>,
                  fk::entry_values<float>, float, float)
FLAGGEMS_INSTANCE(sparse_semi_structured_mm_bf16, fk::expand_semi_structured<bf16>, i64, i64,
                  fk::strided_matrix<bf16>, fk::global_ptr<const i16>, fk::global_ptr<bf16>)
