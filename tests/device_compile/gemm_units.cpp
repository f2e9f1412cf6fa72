// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products on AMD's matrix units: by their instructions where the target has them, else by
// shuffles.
#include <flaggems/kernel/family/gemm/simt/tiles.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::f16;
using large64 = fk::mma_tile<256, 128, 32, 2, 4, 2, 1, 64>;
using small64 = fk::mma_tile<64, 64, 32, 2, 2, 2, 2, 64>;
using large32 = fk::mma_tile<128, 128, 32, 2, 4, 4, 1, 32>;
using small32 = fk::mma_tile<64, 64, 32, 2, 2, 2, 2, 32>;
FLAGGEMS_INSTANCE(gemm_mfma_bf16,
                  fk::gemm_tiles<bf16, bf16, fk::no_bias, large64, fk::major::along,
                                 fk::major::across, fk::mfma_unit<bf16>>,
                  fk::gemm_space, fk::gemm_arg<bf16>, fk::gemm_arg<bf16>, fk::gemm_out<bf16, float>,
                  fk::no_bias, fk::sum_parts<float>)
FLAGGEMS_INSTANCE(gemm_mfma_f16,
                  fk::gemm_tiles<f16, float, fk::no_bias, small64, fk::major::along,
                                 fk::major::along, fk::mfma_unit<f16>>,
                  fk::gemm_space, fk::gemm_arg<f16>, fk::gemm_arg<f16>, fk::gemm_out<float, float>,
                  fk::no_bias, fk::sum_parts<float>)
FLAGGEMS_INSTANCE(gemm_mfma_f32,
                  fk::gemm_tiles<float, float, fk::no_bias, large64, fk::major::along,
                                 fk::major::along, fk::mfma_unit<float>>,
                  fk::gemm_space, fk::gemm_arg<float>, fk::gemm_arg<float>,
                  fk::gemm_out<float, float>, fk::no_bias, fk::sum_parts<float>)
FLAGGEMS_INSTANCE(gemm_mfma_f64,
                  fk::gemm_tiles<double, double, fk::no_bias, small64, fk::major::along,
                                 fk::major::along, fk::mfma_unit<double>>,
                  fk::gemm_space, fk::gemm_arg<double>, fk::gemm_arg<double>,
                  fk::gemm_out<double, double>, fk::no_bias, fk::sum_parts<double>)
FLAGGEMS_INSTANCE(gemm_mfma_i8,
                  fk::gemm_tiles<signed char, int, fk::no_bias, small64, fk::major::along,
                                 fk::major::along, fk::mfma_unit<signed char>>,
                  fk::gemm_space, fk::gemm_arg<signed char>, fk::gemm_arg<signed char>,
                  fk::gemm_out<int, unsigned>, fk::no_bias, fk::sum_parts<unsigned>)
FLAGGEMS_INSTANCE(gemm_wmma_f16,
                  fk::gemm_tiles<f16, f16, fk::no_bias, large32, fk::major::across,
                                 fk::major::along, fk::wmma_unit<f16>>,
                  fk::gemm_space, fk::gemm_arg<f16>, fk::gemm_arg<f16>, fk::gemm_out<f16, float>,
                  fk::no_bias, fk::sum_parts<float>)
FLAGGEMS_INSTANCE(gemm_wmma_bf16,
                  fk::gemm_tiles<bf16, float, fk::no_bias, small32, fk::major::along,
                                 fk::major::along, fk::wmma_unit<bf16>>,
                  fk::gemm_space, fk::gemm_arg<bf16>, fk::gemm_arg<bf16>,
                  fk::gemm_out<float, float>, fk::no_bias, fk::sum_parts<float>)
FLAGGEMS_INSTANCE(gemm_wmma_i8,
                  fk::gemm_tiles<signed char, int, fk::no_bias, small32, fk::major::along,
                                 fk::major::along, fk::wmma_unit<signed char>>,
                  fk::gemm_space, fk::gemm_arg<signed char>, fk::gemm_arg<signed char>,
                  fk::gemm_out<int, unsigned>, fk::no_bias, fk::sum_parts<unsigned>)
FLAGGEMS_INSTANCE(gemm_wmma_u8,
                  fk::gemm_tiles<unsigned char, int, fk::no_bias, small32, fk::major::along,
                                 fk::major::along, fk::wmma_unit<unsigned char>>,
                  fk::gemm_space, fk::gemm_arg<unsigned char>, fk::gemm_arg<unsigned char>,
                  fk::gemm_out<int, unsigned>, fk::no_bias, fk::sum_parts<unsigned>)
