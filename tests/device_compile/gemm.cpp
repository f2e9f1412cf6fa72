// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/gemm/gemm.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
FLAGGEMS_INSTANCE(
    gemm_dot_f32,
    fk::gemm_dot<float, float, float, float, fk::no_bias, 1, 4, fk::stepping::contiguous>,
    fk::gemm_space, fk::gemm_arg<float>, fk::gemm_arg<float>, fk::gemm_out<float, float>,
    fk::no_bias)
FLAGGEMS_INSTANCE(gemm_dot_bf16,
                  fk::gemm_dot<float, flaggems::bf16, flaggems::bf16, float,
                               fk::gemm_bias<flaggems::bf16, float>, 4, 3, fk::stepping::strided>,
                  fk::gemm_space, fk::gemm_arg<float>, fk::gemm_arg<flaggems::bf16>,
                  fk::gemm_out<flaggems::bf16, float>, fk::gemm_bias<flaggems::bf16, float>)
FLAGGEMS_INSTANCE(
    gemm_panel_f16,
    fk::gemm_panel<flaggems::f16, flaggems::f16, flaggems::f16, float, fk::gemm_bias<float, float>>,
    fk::gemm_space, fk::gemm_arg<flaggems::f16>, fk::gemm_arg<flaggems::f16>,
    fk::gemm_out<flaggems::f16, float>, fk::gemm_bias<float, float>)
FLAGGEMS_INSTANCE(gemm_panel_i32, fk::gemm_panel<int, int, int, unsigned int, fk::no_bias>,
                  fk::gemm_space, fk::gemm_arg<int>, fk::gemm_arg<int>,
                  fk::gemm_out<int, unsigned int>, fk::no_bias)
