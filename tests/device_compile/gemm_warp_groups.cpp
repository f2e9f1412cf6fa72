// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/gemm/epilogue.hpp>
#include <flaggems/kernel/family/gemm/simt/warp_groups.hpp>
#include <flaggems/kernel/family/pointwise/pointwise.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16, flaggems::f16, flaggems::f8e4m3, flaggems::f8e5m2;
template <class T, class Out, class Bias, class Tile, class Sums = fk::sums_of_unit>
using product = fk::gemm_warp_groups<T, Out, Bias, Tile, Sums>;
FLAGGEMS_INSTANCE(gemm_warp_groups_bf16,
                  product<bf16, bf16, fk::no_bias, fk::warp_group_tile<128, 256, 4, 2, false>>,
                  fk::warp_group_space, fk::tensor_map, fk::tensor_map, fk::tensor_map,
                  fk::gemm_out<bf16, float>, fk::no_bias, fk::sums_of_unit)
FLAGGEMS_INSTANCE(
    gemm_warp_groups_f16,
    product<f16, float, fk::gemm_bias<f16, float>, fk::warp_group_tile<128, 128, 6, 1, true>>,
    fk::warp_group_space, fk::tensor_map, fk::tensor_map, fk::tensor_map,
    fk::gemm_out<float, float>, fk::gemm_bias<f16, float>, fk::sums_of_unit)
FLAGGEMS_INSTANCE(
    gemm_warp_groups_i8,
    product<signed char, unsigned, fk::no_bias, fk::warp_group_tile<128, 256, 4, 2, false>>,
    fk::warp_group_space, fk::tensor_map, fk::tensor_map, fk::tensor_map,
    fk::gemm_out<unsigned, unsigned>, fk::no_bias, fk::sums_of_unit)
FLAGGEMS_INSTANCE(gemm_warp_groups_f8e5m2,
                  product<f8e5m2, f16, fk::no_bias, fk::warp_group_tile<64, 64, 8, 1, true>>,
                  fk::warp_group_space, fk::tensor_map, fk::tensor_map, fk::tensor_map,
                  fk::gemm_out<f16, float>, fk::no_bias, fk::sums_of_unit)
FLAGGEMS_INSTANCE(
    gemm_warp_groups_f8e4m3,
    product<f8e4m3, bf16, fk::no_bias, fk::warp_group_tile<128, 176, 4, 2, false>, fk::sums_in_f32>,
    fk::warp_group_space, fk::tensor_map, fk::tensor_map, fk::tensor_map, fk::gemm_out<bf16, float>,
    fk::no_bias, fk::sums_in_f32)
FLAGGEMS_INSTANCE(gemm_warp_groups_blocks,
                  product<f8e4m3, bf16, fk::no_bias, fk::warp_group_tile<128, 128, 6, 2, false>,
                          fk::sums_of_blocks>,
                  fk::warp_group_space, fk::tensor_map, fk::tensor_map, fk::tensor_map,
                  fk::gemm_out<bf16, float>, fk::no_bias, fk::sums_of_blocks)
FLAGGEMS_INSTANCE(gemm_warp_groups_tf32,
                  product<float, float, fk::no_bias, fk::warp_group_tile<128, 128, 6, 1, true>>,
                  fk::warp_group_space, fk::tensor_map, fk::tensor_map, fk::tensor_map,
                  fk::gemm_out<float, float>, fk::no_bias, fk::sums_of_unit)
// Results of pairs of sums, of which one is stored, too.
using halves = fk::node<float, fk::mul_fn, fk::stored_value<bf16, fk::product_half<float, 0>>,
                        fk::product_half<float, 1>>;
FLAGGEMS_INSTANCE(
    gemm_warp_groups_pairs,
    product<bf16, bf16, fk::gemm_epilogue<halves>, fk::warp_group_tile<128, 128, 6, 1, true>>,
    fk::warp_group_space, fk::tensor_map, fk::tensor_map, fk::tensor_map, fk::gemm_out<bf16, float>,
    fk::gemm_epilogue<halves>, fk::sums_of_unit)
FLAGGEMS_INSTANCE(
    gemm_warp_groups_scaled,
    product<f8e4m3, bf16, fk::scaled_sums<bf16>, fk::warp_group_tile<128, 256, 4, 2, false>>,
    fk::warp_group_space, fk::tensor_map, fk::tensor_map, fk::tensor_map, fk::gemm_out<bf16, float>,
    fk::scaled_sums<bf16>, fk::sums_of_unit)
