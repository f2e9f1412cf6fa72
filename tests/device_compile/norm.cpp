// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/row/norm.hpp>
#include <flaggems/kernel/family/row/simt/norm.hpp>
#include <flaggems/kernel/family/row/simt/tiles.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;

FLAGGEMS_INSTANCE(layer_norm_f32, fk::layer_norm<float, float, float, float>, fk::norm_space,
                  fk::row_arg<float>, fk::row_arg<float>, fk::row_arg<float>, fk::row_target<float>,
                  float)
FLAGGEMS_INSTANCE(rms_norm_bf16, fk::rms_norm<bf16, float, bf16, float>, fk::norm_space,
                  fk::row_arg<bf16>, fk::row_arg<float>, fk::row_target<bf16>, float)
FLAGGEMS_INSTANCE(fused_add_rms_norm_bf16, fk::fused_add_rms_norm<bf16, bf16, bf16, float>,
                  fk::norm_space, fk::row_target<bf16>, fk::row_target<bf16>, fk::row_arg<bf16>,
                  float)
FLAGGEMS_INSTANCE(layer_norm_resident_bf16,
                  fk::simt_layer_norm<bf16, float, bf16, float, 2, 1, false>, fk::norm_space,
                  fk::row_threads, fk::row_arg<bf16>, fk::row_arg<float>, fk::row_arg<float>,
                  fk::row_target<bf16>, float)
FLAGGEMS_INSTANCE(layer_norm_paired_bf16, fk::simt_layer_norm<bf16, bf16, bf16, float, 4, 2, false>,
                  fk::norm_space, fk::row_threads, fk::row_arg<bf16>, fk::row_arg<bf16>,
                  fk::row_arg<bf16>, fk::row_target<bf16>, float)
FLAGGEMS_INSTANCE(rms_norm_resident_bf16, fk::simt_rms_norm<bf16, bf16, bf16, float, 4, 1, true>,
                  fk::norm_space, fk::row_threads, fk::row_arg<bf16>, fk::row_arg<bf16>,
                  fk::row_target<bf16>, float)
FLAGGEMS_INSTANCE(fused_add_rms_norm_resident_bf16,
                  fk::simt_fused_add_rms_norm<bf16, float, bf16, float, 4, 1, false>,
                  fk::norm_space, fk::row_threads, fk::row_target<bf16>, fk::row_target<float>,
                  fk::row_arg<bf16>, float)
FLAGGEMS_INSTANCE(layer_norm_short_bf16, fk::short_row_tiles<fk::short_layer_norm<float>, bf16, 2>,
                  fk::short_row_space, fk::global_ptr<const bf16>, fk::global_ptr<bf16>,
                  fk::short_layer_norm<float>)
FLAGGEMS_INSTANCE(rms_norm_short_f16,
                  fk::short_row_tiles<fk::short_rms_norm<flaggems::f16>, flaggems::f16, 8>,
                  fk::short_row_space, fk::global_ptr<const flaggems::f16>,
                  fk::global_ptr<flaggems::f16>, fk::short_rms_norm<flaggems::f16>)
