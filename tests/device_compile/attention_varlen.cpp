// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/attention/sequences.hpp>
#include <flaggems/kernel/family/attention/simt/sequence_warp_units.hpp>
#include <flaggems/kernel/family/attention/simt/sequences_mma.hpp>
#include <flaggems/kernel/family/attention/simt/warp_groups.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
FLAGGEMS_INSTANCE(flash_attn_varlen_func_f32,
                  fk::attention<float, float, float, float, fk::no_mask, fk::stepping::contiguous>,
                  fk::sequence_space, fk::attention_arg<const float>,
                  fk::attention_arg<const float>, fk::attention_arg<const float>, fk::no_mask,
                  fk::attention_arg<float>, float, fk::attention_arg<float>)
FLAGGEMS_INSTANCE(
    flash_attn_varlen_func_bf16_rule,
    fk::attention<bf16, bf16, bf16, float, fk::sequence_rule, fk::stepping::contiguous>,
    fk::sequence_space, fk::attention_arg<const bf16>, fk::attention_arg<const bf16>,
    fk::attention_arg<const bf16>, fk::sequence_rule, fk::attention_arg<bf16>, float,
    fk::attention_arg<float>)
FLAGGEMS_INSTANCE(
    flash_attn_varlen_func_tiles,
    fk::attention_prefill_tiles<bf16, bf16, fk::sequence_rule, fk::no_logs, 1, 1, 16, 4>,
    fk::sequence_prefill_space, fk::decode_arg<const bf16>, fk::decode_arg<const bf16>,
    fk::decode_arg<const bf16>, fk::sequence_rule, fk::decode_arg<bf16>, fk::no_logs)
FLAGGEMS_INSTANCE(flash_attn_varlen_func_plan, fk::sequence_planning, fk::sequence_space,
                  flaggems::i32, flaggems::i32, fk::global_ptr<fk::sequence_tile_plan>)
FLAGGEMS_INSTANCE(flash_attn_varlen_func_warp_groups,
                  fk::attention_warp_groups<bf16, bf16, fk::no_mask, fk::no_logs,
                                            fk::attention_warp_tile<128, 128, 2, 2, true>>,
                  fk::sequence_warp_space, fk::tensor_map, fk::tensor_map, fk::tensor_map,
                  fk::no_mask, fk::decode_arg<bf16>, fk::no_logs)
FLAGGEMS_INSTANCE(flash_attn_varlen_func_window_slopes,
                  fk::attention_warp_groups<bf16, bf16, fk::sequence_slopes, fk::no_logs,
                                            fk::attention_warp_tile<64, 128, 2, 2, true>>,
                  fk::windowed_space<fk::sequence_warp_space>, fk::tensor_map, fk::tensor_map,
                  fk::tensor_map, fk::sequence_slopes, fk::decode_arg<bf16>, fk::no_logs)
using latent = fk::attention_prefill_tiles<bf16, bf16, fk::no_mask, fk::no_logs, 9, 1, 32, 8,
                                           fk::mma_unit<bf16>, fk::latent_values<4, 2>>;
using latent_part = fk::attention_prefill_tiles<bf16, float, fk::no_mask, fk::prefill_parts, 9, 1,
                                                16, 4, fk::mma_unit<bf16>, fk::latent_values<4, 2>>;
FLAGGEMS_INSTANCE(flash_mla_tiles, latent, fk::sequence_prefill_space, fk::decode_arg<const bf16>,
                  fk::decode_arg<const bf16>, fk::decode_arg<const bf16>, fk::no_mask,
                  fk::decode_arg<bf16>, fk::no_logs)
FLAGGEMS_INSTANCE(flash_mla_parts, latent_part, fk::sequence_prefill_space,
                  fk::decode_arg<const bf16>, fk::decode_arg<const bf16>,
                  fk::decode_arg<const bf16>, fk::no_mask, fk::decode_arg<float>, fk::prefill_parts)
using latent_merge = fk::attention_decode_merge<bf16, fk::decode_arg<float>>;
FLAGGEMS_INSTANCE(flash_mla_merge, latent_merge, fk::decode_space, fk::decode_arg<bf16>,
                  fk::global_ptr<const float>, fk::decode_arg<float>)
