// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/multinomial.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/rotary.hpp>
#include <flaggems/ops/softmax.hpp>

#include "contract.hpp"

#include <optional>

namespace contract {

extern fg::philox_generator& generator;

void softmaxes() {
  each(join<twice<floats>, cross<types<f32, bf16, f64>, real>>{},
       [](const auto& to, const auto& from) {
         fg::softmax(s, from, to, -1);
         fg::log_softmax(s, from, to, -1);
       });
  each(join<twice<floats>, types<pair<bf16, f32>, pair<f32, f64>>>{},
       [](const auto& grad, const auto& y) {
         (void)fg::softmax_backward(s, grad, y, -1);
         (void)fg::log_softmax_backward(s, grad, y, -1);
       });
}

void norms() {
  each(join<twice<floats>,
            types<pair<bf16, f32>, pair<f16, f32>, pair<f32, bf16>, pair<f32, f64>>>{},
       [](const auto& x, const auto& w) {
         (void)fg::layer_norm(s, x, {8}, w, w);
         (void)fg::rms_norm(s, x, {8}, w);
         fg::fused_add_rms_norm(s, x, x, w);
       });
  each(floats{}, [](const auto& x) {
    (void)fg::layer_norm(s, x, {8});
    (void)fg::rms_norm(s, x, {8});
  });
  each(types<pair<f32, bf16>, pair<bf16, f32>, pair<f64, f32>, pair<f16, bf16>>{},
       [](const auto& to, const auto& x) {
         fg::layer_norm(s, x, {8}, x, x, to);
         fg::rms_norm(s, x, {8}, x, to);
         fg::fused_add_rms_norm(s, x, to, x);
       });
}

void rotations() {
  each(join<twice<floats>, types<pair<bf16, f32>, pair<f16, f32>, pair<f32, f64>>>{},
       [](const auto& q, const auto& angles) {
         (void)fg::apply_rotary_pos_emb(s, q, q, angles, angles);
         (void)fg::apply_rotary_pos_emb(s, q, q, angles, angles, some<i32>());
       });
}

void draws() {
  each(fg::floating_types{},
       [](const auto& x) { (void)fg::multinomial(s, x, 2, false, generator); });
}

}  // namespace contract
