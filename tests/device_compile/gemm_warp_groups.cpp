// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/gemm/epilogue.hpp>
#include <flaggems/kernel/family/gemm/simt/warp_groups.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::f16;
FLAGGEMS_INSTANCE(
    gemm_warp_groups_bf16,
    fk::gemm_warp_groups<bf16, bf16, fk::no_bias, fk::warp_group_tile<128, 256, 4, 2, false>>,
    fk::warp_group_space, fk::tensor_map, fk::tensor_map, fk::tensor_map, fk::gemm_out<bf16, float>,
    fk::no_bias)
FLAGGEMS_INSTANCE(gemm_warp_groups_f16,
                  fk::gemm_warp_groups<f16, float, fk::gemm_bias<f16, float>,
                                       fk::warp_group_tile<128, 128, 6, 1, true>>,
                  fk::warp_group_space, fk::tensor_map, fk::tensor_map, fk::tensor_map,
                  fk::gemm_out<float, float>, fk::gemm_bias<f16, float>)
