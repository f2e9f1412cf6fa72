// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/gemm/grouped.hpp>
#include <flaggems/kernel/family/gemm/simt/grouped_tiles.hpp>
#include <flaggems/kernel/family/gemm/simt/grouped_warp_groups.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::f16;
using flaggems::f8e4m3;
using few = fk::mma_tile<16, 64, 64, 3, 1, 4, 4>;
using many = fk::mma_tile<64, 128, 32, 3, 2, 2, 2>;
template <bool IsCoded, fk::grouped_weights Weights, bool AreScaled = false>
using forms = fk::grouped_forms<IsCoded, Weights, AreScaled>;
using wide64 = fk::mma_tile<64, 128, 32, 3, 2, 2, 2, 64>;
FLAGGEMS_INSTANCE(grouped_mm_f32, fk::gemm_grouped<float, 32, 128, 32>, fk::grouped_space,
                  fk::coded_lines, fk::coded_lines, fk::grouped_out<float>)
FLAGGEMS_INSTANCE(scaled_grouped_mm_bf16, fk::gemm_grouped<bf16, 32, 128, 32>, fk::grouped_space,
                  fk::coded_lines, fk::coded_lines, fk::grouped_out<bf16>)
FLAGGEMS_INSTANCE(grouped_mm_along,
                  fk::gemm_grouped_tiles<bf16, bf16, many, fk::mma_unit<bf16>,
                                         forms<false, fk::grouped_weights::along>>,
                  fk::grouped_space, fk::coded_lines, fk::coded_lines, fk::grouped_out<bf16>)
FLAGGEMS_INSTANCE(grouped_mm_across,
                  fk::gemm_grouped_tiles<f16, f16, few, fk::mma_unit<f16>,
                                         forms<false, fk::grouped_weights::across>>,
                  fk::grouped_space, fk::coded_lines, fk::coded_lines, fk::grouped_out<f16>)
FLAGGEMS_INSTANCE(fused_experts_coded,
                  fk::gemm_grouped_tiles<bf16, bf16, few, fk::mma_unit<bf16>,
                                         forms<false, fk::grouped_weights::coded>>,
                  fk::grouped_space, fk::coded_lines, fk::coded_lines, fk::grouped_out<bf16>)
FLAGGEMS_INSTANCE(expert_product_coded,
                  fk::gemm_grouped_tiles<f16, f16, many, fk::mma_unit<f16>,
                                         forms<true, fk::grouped_weights::coded>>,
                  fk::grouped_space, fk::coded_lines, fk::coded_lines, fk::grouped_out<f16>)
FLAGGEMS_INSTANCE(expert_product_f8,
                  fk::gemm_grouped_tiles<f8e4m3, bf16, many, fk::mma_unit<f8e4m3>,
                                         forms<false, fk::grouped_weights::along, true>>,
                  fk::grouped_space, fk::coded_lines, fk::coded_lines, fk::grouped_out<bf16>)
FLAGGEMS_INSTANCE(expert_product_few_f8,
                  fk::gemm_grouped_tiles<f8e4m3, bf16, few, fk::mma_unit<f8e4m3>,
                                         forms<false, fk::grouped_weights::along, true>>,
                  fk::grouped_space, fk::coded_lines, fk::coded_lines, fk::grouped_out<bf16>)
FLAGGEMS_INSTANCE(scaled_grouped_mm_f8,
                  fk::gemm_grouped_tiles<f8e4m3, float, many, fk::mma_unit<f8e4m3>,
                                         forms<false, fk::grouped_weights::along>>,
                  fk::grouped_space, fk::coded_lines, fk::coded_lines, fk::grouped_out<float>)
FLAGGEMS_INSTANCE(expert_product_i8,
                  fk::gemm_grouped_tiles<flaggems::i8, f16, many, fk::mma_unit<flaggems::i8>,
                                         forms<false, fk::grouped_weights::along, true>>,
                  fk::grouped_space, fk::coded_lines, fk::coded_lines, fk::grouped_out<f16>)
using groups = fk::warp_group_tile<128, 128, 6, 1, false>;
using wide_groups = fk::warp_group_tile<128, 256, 4, 1, false>;
FLAGGEMS_INSTANCE(grouped_mm_warp_groups,
                  fk::gemm_grouped_warp_groups<bf16, bf16, wide_groups, fk::sums_of_unit,
                                               fk::column_numbers::none, false>,
                  fk::grouped_warp_space<false>, fk::tensor_map, fk::tensor_map, fk::coded_lines,
                  fk::coded_lines, fk::grouped_out<bf16>, fk::sums_of_unit)
FLAGGEMS_INSTANCE(scaled_grouped_mm_warp_groups,
                  fk::gemm_grouped_warp_groups<f8e4m3, bf16, groups, fk::sums_in_f32,
                                               fk::column_numbers::scales, false>,
                  fk::grouped_warp_space<false>, fk::tensor_map, fk::tensor_map, fk::coded_lines,
                  fk::coded_lines, fk::grouped_out<bf16>, fk::sums_in_f32)
FLAGGEMS_INSTANCE(expert_product_warp_groups,
                  fk::gemm_grouped_warp_groups<f8e4m3, bf16, groups, fk::sums_of_blocks,
                                               fk::column_numbers::none, true>,
                  fk::grouped_warp_space<true>, fk::tensor_map, fk::tensor_map, fk::coded_lines,
                  fk::coded_lines, fk::grouped_out<bf16>, fk::sums_of_blocks)
FLAGGEMS_INSTANCE(mega_moe_f32, fk::gemm_grouped<float, 32, 128, 32>, fk::grouped_space,
                  fk::coded_lines, fk::coded_lines, fk::grouped_out<float>)
FLAGGEMS_INSTANCE(grouped_mm_mfma,
                  fk::gemm_grouped_tiles<bf16, bf16, wide64, fk::mfma_unit<bf16>,
                                         forms<false, fk::grouped_weights::along>>,
                  fk::grouped_space, fk::coded_lines, fk::coded_lines, fk::grouped_out<bf16>)
FLAGGEMS_INSTANCE(grouped_mm_wmma,
                  fk::gemm_grouped_tiles<f16, f16, many, fk::wmma_unit<f16>,
                                         forms<true, fk::grouped_weights::coded>>,
                  fk::grouped_space, fk::coded_lines, fk::coded_lines, fk::grouped_out<f16>)
