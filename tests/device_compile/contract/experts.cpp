// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/block_scaled_mm.hpp>
#include <flaggems/ops/expert_product.hpp>
#include <flaggems/ops/fused_experts.hpp>
#include <flaggems/ops/grouped_mm.hpp>
#include <flaggems/ops/mega_moe.hpp>
#include <flaggems/ops/observers.hpp>
#include <flaggems/ops/sparse.hpp>
#include <flaggems/ops/weight_packing.hpp>

#include "contract.hpp"

#include <optional>

namespace contract {

void experts() {
  const auto any = fg::any_view<fg::cuda>(some<f32>());
  each(types<f32, bf16, f16>{}, [&](auto& x) {
    fg::dispatch_fused_moe_kernel(s, any, any, x, any, any, any, any, any, any, any, true, 2, 16);
    fg::fused_experts_impl(s, x, any, any, any, any, x);
    fg::grouped_mm(s, x, x, some<i32>(), x);
    fg::grouped_mm(s, x, x, some<i64>(), x);
    fg::scaled_grouped_mm(s, some<f8e4m3>(), some<f8e4m3>(), some<f32>(), some<f32>(), some<i32>(),
                          x);
    fg::fused_moe(s, x, any, any, any, any, any, x);
  });
}

void coded() {
  fg::gather_block_quantized(s, some<i8>(), some<f32>(), some<i64>(), some<f32>());
  (void)fg::choose_qparams_optimized(s, some<f32>(), 8, 8, 1, 8);
  const auto& scales = some<f32>();
  each(types<f32, bf16, f16>{}, [&](auto& out) {
    fg::w8a8_block_fp8_bmm(s, some<f8e4m3>(), some<f8e4m3>(), scales, scales, out);
    fg::fp8_einsum(s, "bhr,hdr->bhd", some<f8e4m3>(), scales, some<f8e4m3>(), scales, out);
    fg::cutlass_scaled_mm(s, out, some<f8e4m3>(), some<f8e4m3>(), scales, scales);
    fg::cutlass_scaled_mm(s, out, some<i8>(), some<i8>(), scales, scales);
    fg::weight_int4pack_mm_with_scales_and_zeros(s, out, some<u8>(), 32, out, out, out);
  });
  each(types<f32>{}, [](auto& x) {
    (void)fg::fused_moving_avg_obs_fq_helper(s, x, some<i64>(), some<i64>(), x, x, x, some<i32>(),
                                             1, 0, 255, 0);
  });
  each(fg::floating_types{},
       [](auto& x) { fg::sparse_sampled_addmm(s, some<i64>(), some<i64>(), x, x, x, x); });
  each(types<bf16, f16>{}, [](auto& x) { fg::sparse_semi_structured_mm(s, x, some<i16>(), x, x); });
}

}  // namespace contract
