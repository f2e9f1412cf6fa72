// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Heads that are rotated and encoded, and what is gathered of paged caches.
#include <flaggems/kernel/family/index/pages.hpp>
#include <flaggems/kernel/family/quantized/heads.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16, flaggems::i32, flaggems::i64;

FLAGGEMS_INSTANCE(indexer_k_quant_and_cache_bf16,
                  fk::encoded_heads<bf16, float, bf16, fk::f8_codes, fk::scale_numbers>,
                  fk::head_steps, fk::head_rows<const bf16>, fk::head_rotation<float>,
                  fk::head_rows<bf16>, fk::f8_codes, fk::scale_numbers)
FLAGGEMS_INSTANCE(fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert_bf16,
                  fk::encoded_heads<bf16, float, bf16, fk::f8_codes, fk::scale_exponents>,
                  fk::head_steps, fk::head_rows<const bf16>, fk::head_rotation<float>,
                  fk::head_rows<bf16>, fk::f8_codes, fk::scale_exponents)
FLAGGEMS_INSTANCE(fused_indexer_q_rope_quant_bf16,
                  fk::encoded_heads<bf16, float, bf16, fk::f8_codes, fk::scale_in_weights<bf16>>,
                  fk::head_steps, fk::head_rows<const bf16>, fk::head_rotation<float>,
                  fk::head_rows<bf16>, fk::f8_codes, fk::scale_in_weights<bf16>)
FLAGGEMS_INSTANCE(
    fused_indexer_q_rope_quant_mxfp4_bf16,
    fk::encoded_heads<bf16, float, bf16, fk::f4_codes, fk::scale_beside_weights<bf16>>,
    fk::head_steps, fk::head_rows<const bf16>, fk::head_rotation<float>, fk::head_rows<bf16>,
    fk::f4_codes, fk::scale_beside_weights<bf16>)
FLAGGEMS_INSTANCE(cp_gather_indexer_k_quant_cache_u8, fk::gathered_tokens, i64, fk::page_table,
                  fk::whole_numbers<i32>, fk::paged_bytes, fk::byte_rows, fk::paged_bytes,
                  fk::byte_rows)
FLAGGEMS_INSTANCE(dequantize_and_gather_k_cache_bf16, fk::decoded_tokens<bf16, i32>, fk::page_table,
                  fk::whole_numbers<i32>, fk::whole_numbers<i32>, fk::paged_bytes, fk::paged_bytes,
                  fk::decoded_layout, fk::global_ptr<bf16>, i64, i64, i64, i64)
FLAGGEMS_INSTANCE(compute_global_topk_indices_and_lens_i32, fk::global_places<i32>, i64, i64,
                  fk::page_table, fk::global_ptr<const i32>, i64, i64, fk::whole_numbers<i32>,
                  fk::global_ptr<const bool>, i64, fk::global_ptr<i32>, fk::global_ptr<i32>)
FLAGGEMS_INSTANCE(combine_topk_swa_indices_i32, fk::joined_places<i32, i32>, i64,
                  fk::window_options, fk::whole_numbers<i32>, fk::whole_numbers<i32>,
                  fk::whole_numbers<i32>, fk::global_ptr<const i32>, i64, i64, fk::global_ptr<i32>,
                  fk::global_ptr<i32>)
