// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/gemm/scaled.hpp>
#include <flaggems/kernel/family/gemm/simt/tiles.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16, flaggems::f8e4m3, flaggems::f8e5m2;
using scaled = fk::scaled_sums<bf16>;
using tile = fk::mma_tile<64, 64, 32, 4, 2, 2, 3>;
FLAGGEMS_INSTANCE(scaled_mm_dot,
                  fk::gemm_dot<f8e4m3, f8e5m2, bf16, float, scaled, 4, 3, fk::stepping::contiguous>,
                  fk::gemm_space, fk::gemm_arg<f8e4m3>, fk::gemm_arg<f8e5m2>,
                  fk::gemm_out<bf16, float>, scaled)
FLAGGEMS_INSTANCE(scaled_mm_tiles,
                  fk::gemm_tiles<f8e4m3, bf16, scaled, tile, fk::major::along, fk::major::along>,
                  fk::gemm_space, fk::gemm_arg<f8e4m3>, fk::gemm_arg<f8e4m3>,
                  fk::gemm_out<bf16, float>, scaled, fk::sum_parts<float>)
FLAGGEMS_INSTANCE(
    int_mm_tiles,
    fk::gemm_tiles<signed char, unsigned, fk::no_bias, tile, fk::major::along, fk::major::along>,
    fk::gemm_space, fk::gemm_arg<signed char>, fk::gemm_arg<signed char>,
    fk::gemm_out<unsigned, unsigned>, fk::no_bias, fk::sum_parts<unsigned>)
