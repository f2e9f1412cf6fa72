// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/gemm/simt/fma_tiles.hpp>
#include <flaggems/kernel/family/gemm/simt/register_tiles.hpp>
#include <flaggems/kernel/family/gemm/simt/tiles.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::f16;
FLAGGEMS_INSTANCE(gemm_tiles_bf16,
                  fk::gemm_tiles<bf16, bf16, fk::no_bias, fk::mma_tile<128, 256, 32, 4, 2, 4, 1>,
                                 fk::major::along, fk::major::along>,
                  fk::gemm_space, fk::gemm_arg<bf16>, fk::gemm_arg<bf16>, fk::gemm_out<bf16, float>,
                  fk::no_bias, fk::sum_parts<float>)
FLAGGEMS_INSTANCE(
    gemm_tiles_f16,
    fk::gemm_tiles<f16, float, fk::gemm_bias<f16, float>, fk::mma_tile<64, 64, 32, 4, 2, 2, 3>,
                   fk::major::across, fk::major::across>,
    fk::gemm_space, fk::gemm_arg<f16>, fk::gemm_arg<f16>, fk::gemm_out<float, float>,
    fk::gemm_bias<f16, float>, fk::sum_parts<float>)
FLAGGEMS_INSTANCE(
    gemm_tiles_f64,
    fk::gemm_tiles<double, double, fk::gemm_bias<double, double>,
                   fk::mma_tile<128, 128, 64, 4, 2, 4, 1>, fk::major::along, fk::major::across>,
    fk::gemm_space, fk::gemm_arg<double>, fk::gemm_arg<double>, fk::gemm_out<double, double>,
    fk::gemm_bias<double, double>, fk::sum_parts<double>)
FLAGGEMS_INSTANCE(gemm_fma_tiles_f32,
                  fk::gemm_fma_tiles<float, float, fk::no_bias, fk::fma_tile<1, 2, 4, 4>,
                                     fk::major::along, fk::major::across>,
                  fk::gemm_space, fk::gemm_arg<float>, fk::gemm_arg<float>,
                  fk::gemm_out<float, float>, fk::no_bias, fk::sum_parts<float>)
FLAGGEMS_INSTANCE(gemm_fma_tiles_windows,
                  fk::gemm_fma_tiles<float, float, fk::no_bias, fk::fma_tile<1, 4, 3, 3>,
                                     fk::major::along, fk::major::along, fk::turning_arg<float>>,
                  fk::gemm_space, fk::gemm_arg<float>, fk::turning_arg<float>,
                  fk::gemm_out<float, float>, fk::no_bias, fk::sum_parts<float>)
FLAGGEMS_INSTANCE(gemm_register_tiles_f32,
                  fk::gemm_register_tiles<float, float, float, float, fk::no_bias, 8>,
                  fk::gemm_space, fk::gemm_arg<float>, fk::gemm_arg<float>,
                  fk::gemm_out<float, float>, fk::no_bias, fk::sum_parts<float>, fk::box_order)
FLAGGEMS_INSTANCE(gemm_register_tiles_i32,
                  fk::gemm_register_tiles<int, int, int, unsigned int, fk::no_bias, 4>,
                  fk::gemm_space, fk::gemm_arg<int>, fk::gemm_arg<int>,
                  fk::gemm_out<int, unsigned int>, fk::no_bias, fk::sum_parts<unsigned int>,
                  fk::box_order)
FLAGGEMS_INSTANCE(gemm_merge_bf16, fk::gemm_merge<bf16, float, fk::no_bias>, fk::gemm_space,
                  fk::gemm_out<bf16, float>, fk::no_bias, fk::sum_parts<float>)
FLAGGEMS_INSTANCE(gemm_merge_tiles_bf16,
                  fk::gemm_merge_tiles<bf16, float, fk::gemm_bias<bf16, float>>, fk::gemm_space,
                  fk::gemm_out<bf16, float>, fk::gemm_bias<bf16, float>, fk::sum_parts<float>)
