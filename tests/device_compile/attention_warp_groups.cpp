// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/attention/simt/warp_groups.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::f16;
using scores = fk::attention_mask_boxes<bool>;
FLAGGEMS_INSTANCE(scaled_dot_product_attention_warp_groups,
                  fk::attention_warp_groups<bf16, bf16, fk::no_mask, fk::no_logs,
                                            fk::attention_warp_tile<128, 128, 2, 2, true>>,
                  fk::attention_warp_space, fk::tensor_map, fk::tensor_map, fk::tensor_map,
                  fk::no_mask, fk::decode_arg<bf16>, fk::no_logs)
FLAGGEMS_INSTANCE(scaled_dot_product_flash_attention_f16_mask,
                  fk::attention_warp_groups<f16, float, scores, fk::decode_arg<float>,
                                            fk::attention_warp_tile<64, 128, 3, 2, false>>,
                  fk::attention_warp_space, fk::tensor_map, fk::tensor_map, fk::tensor_map, scores,
                  fk::decode_arg<float>, fk::decode_arg<float>)
FLAGGEMS_INSTANCE(scaled_dot_product_attention_window_cap,
                  fk::attention_warp_groups<bf16, bf16, fk::capped_scores, fk::no_logs,
                                            fk::attention_warp_tile<64, 128, 2, 2, true>>,
                  fk::windowed_space<fk::attention_warp_space>, fk::tensor_map, fk::tensor_map,
                  fk::tensor_map, fk::capped_scores, fk::decode_arg<bf16>, fk::no_logs)
