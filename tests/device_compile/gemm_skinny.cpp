// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/gemm/simt/skinny_mma.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
FLAGGEMS_INSTANCE(gemm_skinny_bf16,
                  fk::gemm_skinny<float, bf16, float, float, fk::no_bias, 1, 4, 32, 2, 256>,
                  fk::skinny_space, fk::skinny_arg<float>, fk::skinny_arg<bf16>,
                  fk::skinny_out<float, float>, fk::no_bias)
FLAGGEMS_INSTANCE(
    gemm_skinny_across_f32,
    fk::gemm_skinny_across<float, float, float, float, fk::gemm_bias<bf16, float>, 4, 8, 8, 256>,
    fk::skinny_space, fk::skinny_arg<float>, fk::skinny_arg<float>, fk::skinny_out<float, float>,
    fk::gemm_bias<bf16, float>, bool, fk::divider, int, fk::global_ptr<float>)
FLAGGEMS_INSTANCE(gemm_skinny_tiles_bf16,
                  fk::gemm_skinny_tiles<bf16, bf16, fk::no_bias, 1, 1, 2, 256>, fk::skinny_space,
                  fk::skinny_arg<bf16>, fk::skinny_arg<bf16>, fk::skinny_out<bf16, float>,
                  fk::no_bias)
