// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/attention_backward.hpp>
#include <flaggems/ops/attention_forms.hpp>
#include <flaggems/ops/attention_latent.hpp>
#include <flaggems/ops/attention_logits.hpp>
#include <flaggems/ops/attention_varlen.hpp>
#include <flaggems/ops/attention_varlen_backward.hpp>

#include "contract.hpp"

#include <optional>

namespace contract {

void unmasked() {
  each(join<twice<floats>, cross<types<f32>, types<f16, bf16>>,
            cross<types<f16, bf16>, types<f32>>>{},
       [](const auto& query, const auto& key) {
         (void)fg::scaled_dot_product_attention(s, query, key, key);
       });
  each(types<pair<f32, bf16>, pair<bf16, f32>>{}, [](const auto& to, const auto& x) {
    fg::scaled_dot_product_attention(s, x, x, x, std::nullopt, to);
  });
}

void masked() {
  each(join<cross<fg::floating_types, types<bool>>, twice<fg::floating_types>,
            types<pair<bf16, f32>, pair<f16, f32>, pair<f32, bf16>>>{},
       [](const auto& x, const auto& mask) {
         (void)fg::scaled_dot_product_attention(s, x, x, x, fg::with_mask(mask));
       });
}

void by_rule() {
  each(fg::floating_types{}, [](const auto& x) {
    (void)fg::scaled_dot_product_attention(s, x, x, x, fg::with_score(fg::soft_cap{30}));
  });
}

void with_logarithms() {
  each(fg::floating_types{},
       [](const auto& x) { (void)fg::scaled_dot_product_flash_attention(s, x, x, x); });
  each(types<pair<bf16, bool>, pair<f16, f16>, pair<f32, bool>, pair<f64, f64>>{},
       [](const auto& x, const auto& mask) {
         (void)fg::scaled_dot_product_flash_attention(s, x, x, x, 0, false, mask);
       });
}

void of_sequences() {
  const auto attend = [](const auto& q, const auto& k) {
    const auto n = some<fg::i32>();
    (void)fg::flash_attn_varlen_func(s, q, k, k, 1, n, 1, n);
    fg::varlen_attention_options<fg::cuda> options{.window_left = 1};
    (void)fg::flash_attn_varlen_func(s, q, k, k, 1, n, 1, std::nullopt, n, options);
  };
  each(join<twice<fg::floating_types>, types<pair<f32, bf16>>>{}, attend);
  each(fg::floating_types{}, [](const auto& x) {
    (void)fg::flash_attention_forward(s, x, x, x, std::nullopt, std::nullopt, 1, 1);
  });
}

void in_other_forms() {
  const auto attend = [](const auto& x, const auto& mask) {
    (void)fg::scaled_dot_product_attention_math(s, x, x, x, mask);
    (void)fg::scaled_dot_product_efficient_attention(s, x, x, x, mask, true);
    const auto [out, logs] = fg::scaled_dot_product_attention_forward(s, x, x, x, mask);
    (void)fg::scaled_dot_product_attention_backward(s, x, x, x, x, out, logs, mask);
  };
  each(fg::floating_types{}, [&](const auto& x) { attend(x, std::nullopt); });
  each(types<pair<bf16, bool>, pair<f32, f32>>{}, attend);
}

void backward() {
  const auto differentiate = [](const auto& x, const auto& mask) {
    const auto [out, logs] = fg::scaled_dot_product_flash_attention(s, x, x, x);
    (void)fg::scaled_dot_product_flash_attention_backward(s, x, x, x, x, out, logs, 0, false, mask);
  };
  each(fg::floating_types{}, [&](const auto& x) { differentiate(x, std::nullopt); });
  each(types<pair<bf16, bool>, pair<f16, f16>, pair<f32, bool>, pair<f64, f64>>{}, differentiate);
}

void backward_of_sequences() {
  each(fg::floating_types{}, [](const auto& x) {
    const auto n = some<fg::i32>();
    const auto [out, logs] = fg::scaled_dot_product_flash_attention(s, x, x, x);
    (void)fg::flash_attention_backward(s, x, x, x, x, out, logs, n, n, 1, 1);
    (void)fg::flash_attention_backward(s, x, x, x, x, out, logs, std::nullopt, std::nullopt, 1, 1);
  });
}

void latent() {
  each(types<f32, bf16, f16>{}, [](auto& x) {
    const auto& lists = some<i32>();
    (void)fg::flash_mla_sparse_fwd(s, x, x, lists, 1, 512, some<f32>(), lists);
    (void)fg::triton_sparse_mla_fwd_interface(s, x, x, lists);
    fg::sparse_attn_triton(s, x, x, some<f32>(), lists, 1, x);
    fg::flash_mla_with_kvcache(s, x, x, lists, lists, 512, x, some<f32>());
    fg::flash_mla_with_kvcache(s, x, some<u8>(), lists, lists, 512, x, some<f32>(),
                               {.indices = lists});
  });
  (void)fg::get_paged_mqa_logits_metadata(s, some<i32>(), 64, 8);
  (void)fg::get_scheduler_metadata(s, 1, 1, 1, 1, 1, 64, 64, some<i32>());
}

}  // namespace contract
