// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/batch_norm.hpp>
#include <flaggems/ops/cross_entropy.hpp>
#include <flaggems/ops/diff.hpp>
#include <flaggems/ops/dropout.hpp>
#include <flaggems/ops/fused_norm.hpp>
#include <flaggems/ops/group_norm.hpp>
#include <flaggems/ops/multinomial.hpp>
#include <flaggems/ops/native_norm.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/normed_cumsum.hpp>
#include <flaggems/ops/optimizer.hpp>
#include <flaggems/ops/quantize.hpp>
#include <flaggems/ops/random.hpp>
#include <flaggems/ops/rotary.hpp>
#include <flaggems/ops/rwkv.hpp>
#include <flaggems/ops/safe_softmax.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/weight_norm.hpp>

#include "contract.hpp"

#include <array>
#include <optional>

namespace contract {

extern fg::philox_generator& generator;

void softmaxes() {
  each(join<twice<floats>, cross<types<f32, bf16, f64>, real>>{},
       [](const auto& to, const auto& from) {
         fg::softmax(s, from, to, -1);
         fg::log_softmax(s, from, to, -1);
       });
  each(types<f32, bf16, f16>{}, [](auto& x) {
    const std::array list{x};
    fg::fused_adam_(s, list, list, list, list, list, std::array{some<f32>()}, 1e-3, 0.9, 0.99, 0,
                    1e-8, true, false, some<f32>(), some<f32>());
    fg::amp_foreach_non_finite_check_and_unscale_(s, list, some<f32>(), some<f32>());
    (void)fg::fake_quantize_per_channel_affine_cachemask(s, x, some<f32>(), some<i32>(), 0, 0, 7);
    (void)fg::fake_quantize_learnable_per_tensor_affine(s, x, some<f32>(), some<f32>(), 0, 7);
    (void)fg::per_token_group_quant_fp8(s, x, 8, 1e-10, false, true);
    (void)fg::weight_int8pack_mm(s, x, some<i8>(), x);
  });
  fg::amp_update_scale_(s, some<f32>(), some<i32>(), some<f32>(), 2, 0.5, 4);
  each(floats{}, [](const auto& x) {
    (void)fg::safe_softmax(s, x, -1);
    (void)fg::scaled_softmax_forward(s, x, 0.5);
    (void)fg::scaled_softmax_backward(s, x, x, 0.5);
  });
  each(types<f32, bf16, f64, f16>{}, [](const auto& x) { (void)fg::normed_cumsum(s, x); });
  each(real{}, [](const auto& x) { (void)fg::diff(s, x); });
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

void native_norms() {
  each(join<twice<floats>, types<pair<bf16, f32>, pair<f32, f64>>>{},
       [](const auto& x, const auto& w) {
         const auto kept = fg::native_layer_norm(s, x, {8}, w, w, 1e-5);
         (void)fg::native_layer_norm_backward(s, x, x, {8}, kept.mean, kept.rstd, w, w);
         const auto rms = fg::fused_rms_norm(s, x, {8}, w, 1e-5);
         (void)fg::fused_rms_norm_backward(s, x, x, {8}, rms.rstd, w);
         (void)fg::group_norm(s, x, 2, w, w);
         const auto groups = fg::native_group_norm(s, x, w, w, 2, 8, 1, 2, 1e-5);
         (void)fg::native_group_norm_backward(s, x, x, groups.mean, groups.rstd, w, 2, 8, 1, 2);
         const auto batch =
             fg::native_batch_norm(s, x, w, w, std::nullopt, std::nullopt, true, 0.1, 1e-5);
         (void)fg::native_batch_norm_backward(s, x, x, w, w, w, batch.mean, batch.rstd, true, 1e-5);
         (void)fg::weight_norm_interface(s, x, w);
         (void)fg::weight_norm_interface_backward(s, x, x, w, w, 0);
         (void)fg::te_rmsnorm_bwd(s, x, x, fg::te_rmsnorm_fwd(s, x, w, 1e-5).rstd, w);
       });
  each(floats{}, [](auto& x) {
    (void)fg::instance_norm(s, x, x, x, x, x, true, 0.1, 1e-5);
    (void)fg::cudnn_batch_norm(s, x, x, x, x, x, true, 0.1, 1e-5);
  });
}

void losses() {
  each(join<twice<floats>, types<pair<bf16, f32>, pair<f32, f64>>>{},
       [](const auto& x, const auto& w) {
         (void)fg::cross_entropy_loss(s, x, some<i64>(), w);
         (void)fg::cross_entropy_loss(s, x, some<i32>());
         (void)fg::cross_entropy_loss(s, x, some<u8>());
         (void)fg::cross_entropy_loss(s, x, x, w);
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
  each(fg::floating_types{}, [](const auto& x) {
    (void)fg::uniform(s, x, 0, 1, generator);
    (void)fg::normal(s, x, 0, 1, generator);
    (void)fg::log_normal(s, x, 0, 1, generator);
    (void)fg::cauchy(s, x, 0, 1, generator);
    (void)fg::exponential(s, x, 1, generator);
    (void)fg::poisson(s, x, generator);
    (void)fg::bernoulli(s, x, generator);
    (void)fg::normal(s, x, x, generator);
    (void)fg::native_dropout(s, x, 0.5, true, generator);
    (void)fg::dropout(s, x, 0.5, true, generator);
    (void)fg::alpha_dropout(s, x, 0.5, true, generator);
    (void)fg::feature_dropout(s, x, 0.5, true, generator);
    (void)fg::feature_alpha_dropout(s, x, 0.5, true, generator);
    (void)fg::rrelu(s, x, 0.125, 0.5, true, generator);
  });
  each(fg::detail::drawn_types{}, [](const auto& x) {
    (void)fg::geometric(s, x, 0.5, generator);
    (void)fg::bernoulli(s, x, 0.5, generator);
    (void)fg::randint_like(s, x, 0, 1, generator);
  });
}

void fused() {
  each(types<f32, bf16, f64, f16>{}, [](const auto& x) {
    (void)fg::skip_layer_norm(s, x, x, {8});
    (void)fg::gemma_rms_norm(s, x, x);
    (void)fg::add_rms_norm(s, x, x, {8}, x);
    (void)fg::fused_q_kv_rmsnorm(s, x, x, x, x, 1e-5);
  });
  each(floats{}, [](const auto& x) {
    (void)fg::rwkv_ka_fusion(s, x, x, x, x, 2, 4);
    (void)fg::rwkv_mm_sparsity(s, x, x);
  });
  each(types<f32, bf16, f16>{}, [](const auto& x) {
    for (const auto format : {fg::scale_format::none, fg::scale_format::ue8m0})
      (void)fg::act_quant(s, x, 128, format);
  });
}

}  // namespace contract
