// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/row/programs/norm.hpp>
#include <flaggems/kernel/family/row/programs/norm_backward.hpp>
#include <flaggems/kernel/family/row/simt/registers.hpp>
#include <flaggems/kernel/family/row/staged.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16, flaggems::i64;
template <class... T>
using in = fk::operands<fk::row_arg<T>...>;
template <class... T>
using out = fk::operands<fk::row_target<T>...>;
using layer = fk::layer_norm_program<float, true>;
using rms = fk::rms_norm_program<float, true>;
using layer_backward = fk::layer_norm_backward_program<float>;
using rms_backward = fk::rms_norm_backward_program<float>;
using layer_bf16 = fk::row_operands<in<bf16>, out<bf16>, in<bf16, bf16>, in<>, out<float, float>>;
using rms_f32 = fk::row_operands<in<float>, out<float>, in<float>, in<>, out<float>>;
using layer_backward_bf16 =
    fk::row_operands<in<bf16, bf16>, out<bf16>, in<bf16>, in<float, float>, out<>>;
using rms_backward_f32 =
    fk::row_operands<in<float, float>, out<float>, in<float>, in<float>, out<>>;

FLAGGEMS_INSTANCE(native_layer_norm_bf16, fk::register_row_program<layer, layer_bf16, 2, 1, true>,
                  fk::norm_space, fk::row_threads, layer_bf16, layer)
FLAGGEMS_INSTANCE(fused_rms_norm_f32, fk::staged_row_program<rms, rms_f32>, fk::norm_space, rms_f32,
                  rms)
FLAGGEMS_INSTANCE(native_layer_norm_backward_bf16,
                  fk::register_row_program<layer_backward, layer_backward_bf16, 4, 1, true>,
                  fk::norm_space, fk::row_threads, layer_backward_bf16, layer_backward)
FLAGGEMS_INSTANCE(native_layer_norm_backward_staged_bf16,
                  fk::staged_row_program<layer_backward, layer_backward_bf16>, fk::norm_space,
                  layer_backward_bf16, layer_backward)
FLAGGEMS_INSTANCE(fused_rms_norm_backward_f32,
                  fk::register_row_program<rms_backward, rms_backward_f32, 8, 1, false>,
                  fk::norm_space, fk::row_threads, rms_backward_f32, rms_backward)
