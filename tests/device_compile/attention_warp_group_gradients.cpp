// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/attention/simt/warp_group_gradients.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using fk::attention_side;
using flaggems::bf16;
using flaggems::f16;
FLAGGEMS_INSTANCE(scaled_dot_product_flash_attention_backward_queries_warp_groups,
                  fk::attention_warp_gradients<
                      bf16, fk::attention_gradient_tile<attention_side::queries, 128, 64, 2, 3>>,
                  fk::attention_gradient_space, fk::tensor_map, fk::tensor_map, fk::tensor_map,
                  fk::tensor_map, fk::tensor_map, fk::global_ptr<const float>, fk::decode_arg<bf16>,
                  fk::decode_arg<bf16>)
FLAGGEMS_INSTANCE(scaled_dot_product_flash_attention_backward_keys_warp_groups,
                  fk::attention_warp_gradients<
                      f16, fk::attention_gradient_tile<attention_side::keys, 128, 64, 2, 3>>,
                  fk::attention_gradient_space, fk::tensor_map, fk::tensor_map, fk::tensor_map,
                  fk::tensor_map, fk::tensor_map, fk::global_ptr<const float>, fk::decode_arg<f16>,
                  fk::decode_arg<f16>)
FLAGGEMS_INSTANCE(scaled_dot_product_flash_attention_backward_sums,
                  fk::attention_gradient_sums<bf16>, fk::attention_gradient_space,
                  fk::decode_arg<const bf16>, fk::decode_arg<const bf16>,
                  fk::decode_arg<const float>, fk::global_ptr<float>)
FLAGGEMS_INSTANCE(flash_attention_backward_queries_warp_groups,
                  fk::attention_warp_gradients<
                      bf16, fk::attention_gradient_tile<attention_side::queries, 128, 64, 2, 3>>,
                  fk::sequence_gradient_space, fk::tensor_map, fk::tensor_map, fk::tensor_map,
                  fk::tensor_map, fk::tensor_map, fk::global_ptr<const float>, fk::decode_arg<bf16>,
                  fk::decode_arg<bf16>)
FLAGGEMS_INSTANCE(flash_attention_backward_keys_warp_groups,
                  fk::attention_warp_gradients<
                      bf16, fk::attention_gradient_tile<attention_side::keys, 128, 64, 2, 3>>,
                  fk::windowed_gradients<fk::sequence_gradient_space>, fk::tensor_map,
                  fk::tensor_map, fk::tensor_map, fk::tensor_map, fk::tensor_map,
                  fk::global_ptr<const float>, fk::decode_arg<bf16>, fk::decode_arg<bf16>)
FLAGGEMS_INSTANCE(flash_attention_backward_window_warp_groups,
                  fk::attention_warp_gradients<
                      f16, fk::attention_gradient_tile<attention_side::queries, 64, 64, 2, 4>>,
                  fk::windowed_gradients<fk::attention_gradient_space>, fk::tensor_map,
                  fk::tensor_map, fk::tensor_map, fk::tensor_map, fk::tensor_map,
                  fk::global_ptr<const float>, fk::decode_arg<f16>, fk::decode_arg<f16>)
FLAGGEMS_INSTANCE(flash_attention_backward_plan, fk::sequence_tile_planning<true>,
                  fk::sequence_space, flaggems::i32, flaggems::i32,
                  fk::global_ptr<fk::sequence_tile_plan>)
