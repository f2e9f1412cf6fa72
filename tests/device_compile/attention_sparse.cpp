// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/attention/logits.hpp>
#include <flaggems/kernel/family/attention/sparse.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::f8e4m3;
using flaggems::i32;
using flaggems::i64;
using flaggems::u8;
FLAGGEMS_INSTANCE(flash_mla_sparse_fwd_f32,
                  fk::attention<float, float, float, float, fk::sparse_mask, fk::stepping::strided>,
                  fk::sparse_space, fk::attention_arg<const float>, fk::attention_arg<const float>,
                  fk::attention_arg<const float>, fk::sparse_mask, fk::attention_arg<float>, float,
                  fk::sparse_sums<float>)
FLAGGEMS_INSTANCE(flash_mla_sparse_fwd_bf16,
                  fk::attention<bf16, bf16, bf16, float, fk::sparse_mask, fk::stepping::contiguous>,
                  fk::sparse_space, fk::attention_arg<const bf16>, fk::attention_arg<const bf16>,
                  fk::attention_arg<const bf16>, fk::sparse_mask, fk::attention_arg<bf16>, float,
                  fk::sparse_sums<float>)
FLAGGEMS_INSTANCE(flash_mla_with_kvcache_bytes, fk::latent_rows<bf16>, i64, i64, fk::latent_cache,
                  fk::latent_cache, fk::global_ptr<bf16>, fk::global_ptr<i32>)
FLAGGEMS_INSTANCE(fp8_paged_mqa_logits_lines, fk::read_paged_lines<f8e4m3, bf16>, i64, i64,
                  fk::paged_lines<f8e4m3>, fk::global_ptr<bf16>, fk::global_ptr<float>)
FLAGGEMS_INSTANCE(bf16_paged_mqa_logits_lines, fk::read_paged_lines<bf16, bf16>, i64, i64,
                  fk::paged_lines<bf16>, fk::global_ptr<bf16>, fk::global_ptr<float>)
FLAGGEMS_INSTANCE(fp8_fp4_mqa_logits_numbers, fk::read_e2m1_lines<bf16>, i64, i64,
                  fk::global_ptr<const u8>, fk::global_ptr<const i32>, fk::global_ptr<bf16>)
FLAGGEMS_INSTANCE(get_paged_mqa_logits_metadata_shares, fk::share_out_parts, i64, i64, i64,
                  fk::global_ptr<const i32>, i64, fk::global_ptr<i32>, i64, i64)
FLAGGEMS_INSTANCE(get_scheduler_metadata_splits, fk::split_sequences, fk::split_plan,
                  fk::global_ptr<i32>)
