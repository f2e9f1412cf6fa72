// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/attention_backward.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems {

/// The options that ATen has.
inline attention_options options_of(std::type_identity<attention_options>, f64 dropout_p,
                                    bool is_causal, std::optional<f64> scale, bool enable_gqa) {
  return {.dropout_p = dropout_p, .is_causal = is_causal, .scale = scale, .enable_gqa = enable_gqa};
}

}  // namespace flaggems

namespace flaggems::operator_families {

/// A mask is of bool or has the dtype of the query.
struct mask_choice {
  static constexpr std::string_view parameter = "attn_mask";
  template <class T, class D>
  using example = std::optional<tensor_view<const T, D>>;
  template <class T, class Dtypes, class D, class F>
  static void choose(const boxed<D>& mask, const F& f) {
    if (mask.is_none())
      f(std::optional<tensor_view<const T, D>>());
    else
      visit<bool, T>(
          mask.view().dtype(),
          [&](auto type) {
            using M = typename decltype(type)::type;
            f(std::optional(mask.view().template as<const M>()));
          },
          "scaled_dot_product_attention");
  }
};
using masked_types = bindings::with_choice<floating_types, mask_choice>;

/// Attention.
struct attention {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::scaled_dot_product_attention, masked_types, line("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor").options_from("dropout_p")),
        FLAGGEMS_BIND(flaggems::scaled_dot_product_flash_attention, masked_types, line("_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)").without_out()),
        FLAGGEMS_BIND(flaggems::scaled_dot_product_flash_attention_backward, masked_types, line("_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)").keeps("logsumexp").without_out()));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
