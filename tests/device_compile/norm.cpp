// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/row/programs/norm.hpp>
#include <flaggems/kernel/family/row/simt/registers.hpp>
#include <flaggems/kernel/family/row/simt/tiles.hpp>
#include <flaggems/kernel/family/row/staged.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16, flaggems::f16;
using layer_norm = fk::layer_norm_program<float>;
using rms_norm = fk::rms_norm_program<float>;
using add_rms_norm = fk::fused_add_rms_norm_program<float>;
template <class T, class... W>
using norm_of = fk::row_operands<fk::operands<fk::row_arg<T>>, fk::operands<fk::row_target<T>>,
                                 fk::operands<fk::row_arg<W>...>>;
template <class T, class R, class W>
using fused = fk::row_operands<fk::operands<fk::row_arg<R>, fk::in_place<T, 0>>,
                               fk::operands<fk::row_target<T>>, fk::operands<fk::row_arg<W>>>;
using layer_f32 = norm_of<float, float, float>;
using layer_bf16_f32 = norm_of<bf16, float, float>;
using layer_bf16 = norm_of<bf16, bf16, bf16>;
using rms_bf16_f32 = norm_of<bf16, float>;
using rms_bf16 = norm_of<bf16, bf16>;
using fused_bf16 = fused<bf16, bf16, bf16>;
using fused_bf16_f32 = fused<bf16, float, bf16>;
using short_layer = fk::tile_row_program<layer_norm, float, float>;
using short_rms = fk::tile_row_program<rms_norm, f16>;

FLAGGEMS_INSTANCE(layer_norm_f32, fk::staged_row_program<layer_norm, layer_f32>, fk::norm_space,
                  layer_f32, layer_norm)
FLAGGEMS_INSTANCE(rms_norm_bf16, fk::staged_row_program<rms_norm, rms_bf16_f32>, fk::norm_space,
                  rms_bf16_f32, rms_norm)
FLAGGEMS_INSTANCE(fused_add_rms_norm_bf16, fk::staged_row_program<add_rms_norm, fused_bf16>,
                  fk::norm_space, fused_bf16, add_rms_norm)
FLAGGEMS_INSTANCE(layer_norm_resident_bf16,
                  fk::register_row_program<layer_norm, layer_bf16_f32, 2, 1, false>, fk::norm_space,
                  fk::row_threads, layer_bf16_f32, layer_norm)
FLAGGEMS_INSTANCE(layer_norm_paired_bf16,
                  fk::register_row_program<layer_norm, layer_bf16, 4, 2, false>, fk::norm_space,
                  fk::row_threads, layer_bf16, layer_norm)
FLAGGEMS_INSTANCE(rms_norm_resident_bf16, fk::register_row_program<rms_norm, rms_bf16, 4, 1, true>,
                  fk::norm_space, fk::row_threads, rms_bf16, rms_norm)
FLAGGEMS_INSTANCE(fused_add_rms_norm_resident_bf16,
                  fk::register_row_program<add_rms_norm, fused_bf16_f32, 4, 1, false>,
                  fk::norm_space, fk::row_threads, fused_bf16_f32, add_rms_norm)
FLAGGEMS_INSTANCE(layer_norm_short_bf16, fk::short_row_tiles<short_layer, bf16, 2>,
                  fk::short_row_space, fk::global_ptr<const bf16>, fk::global_ptr<bf16>,
                  short_layer)
FLAGGEMS_INSTANCE(rms_norm_short_f16, fk::short_row_tiles<short_rms, f16, 8>, fk::short_row_space,
                  fk::global_ptr<const f16>, fk::global_ptr<f16>, short_rms)
