// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/row/hyper_connections.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16, flaggems::i64;
FLAGGEMS_INSTANCE(mhc_pre_bf16, fk::mixed_streams<bf16, 1>, fk::row_space, fk::stream_steps,
                  fk::row_arg<bf16>, fk::row_arg<float>, fk::row_arg<bf16>, fk::row_arg<float>,
                  fk::row_target<bf16>)
FLAGGEMS_INSTANCE(mhc_post_bf16, fk::mixed_streams<bf16, 4>, fk::row_space, fk::stream_steps,
                  fk::row_arg<bf16>, fk::row_arg<float>, fk::row_arg<bf16>, fk::row_arg<float>,
                  fk::row_target<bf16>)
FLAGGEMS_INSTANCE(sinkhorn_forward_4, fk::balanced_matrices<float, 4>, fk::row_space,
                  fk::balancing<float>, fk::row_arg<float>, fk::matrix_steps, fk::row_target<float>,
                  fk::matrix_steps, fk::row_target<float>, fk::matrix_steps, fk::global_ptr<float>)
FLAGGEMS_INSTANCE(sinkhorn_forward_any, fk::balanced_matrices<float, 0>, fk::row_space,
                  fk::balancing<float>, fk::row_arg<float>, fk::matrix_steps, fk::row_target<float>,
                  fk::matrix_steps, fk::row_target<float>, fk::matrix_steps, fk::global_ptr<float>)
FLAGGEMS_INSTANCE(mhc_bwd_4, fk::balanced_matrices_gradient<float, 4>, fk::row_space, i64, i64,
                  fk::row_arg<float>, fk::matrix_steps, fk::row_arg<float>, fk::matrix_steps,
                  fk::row_target<float>, fk::matrix_steps, fk::global_ptr<float>)
FLAGGEMS_INSTANCE(mhc_bwd_any, fk::balanced_matrices_gradient<float, 0>, fk::row_space, i64, i64,
                  fk::row_arg<float>, fk::matrix_steps, fk::row_arg<float>, fk::matrix_steps,
                  fk::row_target<float>, fk::matrix_steps, fk::global_ptr<float>)
