// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/index/embedding.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
FLAGGEMS_INSTANCE(embedding_renorm_f32,
                  fk::embedding_renorm<float, flaggems::i64, fk::euclidean_norm>,
                  fk::table_rows<float>, fk::global_ptr<const flaggems::i64>, flaggems::i64,
                  fk::euclidean_norm, float)
FLAGGEMS_INSTANCE(embedding_renorm_bf16,
                  fk::embedding_renorm<flaggems::bf16, flaggems::i32, fk::power_norm<float>>,
                  fk::table_rows<flaggems::bf16>, fk::global_ptr<const flaggems::i32>,
                  flaggems::i64, fk::power_norm<float>, float)
