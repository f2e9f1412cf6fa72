// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "bridge.hpp"

#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/attention_backward.hpp>
#include <flaggems/ops/attention_varlen.hpp>
#include <flaggems/ops/attention_varlen_backward.hpp>

namespace bridge {
namespace {

const entry attention("attention", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    const fg::attention_options options{.is_causal = c.integer(0) != 0, .enable_gqa = true};
    fg::scaled_dot_product_attention(c.on, c.view<const T>(0), c.view<const T>(1),
                                     c.view<const T>(2), std::nullopt, c.view<T>(3), options);
  });
});
/// The mask is of bool if the first number is 1, else of the query's dtype.
const entry masked_attention("masked_attention", [](const call& c) {
  const auto attend = [&]<class T>(const auto& mask) {
    fg::scaled_dot_product_attention(c.on, c.view<const T>(0), c.view<const T>(1),
                                     c.view<const T>(2), mask, c.view<T>(4), {});
  };
  using T = fg::bf16;
  if (c.integer(0) != 0)
    attend.template operator()<T>(c.view<const bool>(3));
  else
    attend.template operator()<T>(c.view<const T>(3));
});
/// Query, key, value, where sequences begin; numbers: whether it is causal, the longest one, the
/// window before a key's own, and the cap of scores.
const entry varlen_attention("varlen_attention", [](const call& c) {
  using T = fg::bf16;
  const auto starts = c.view<const fg::i32>(3);
  const i64 most = c.integer(1);
  fg::flash_attn_varlen_func(
      c.on, c.view<const T>(0), c.view<const T>(1), c.view<const T>(2), most, starts, most, starts,
      std::nullopt, c.view<T>(4), std::nullopt,
      {.causal = c.integer(0) != 0, .window_left = c.integer(2), .softcap = c.number(3)});
});
/// Query, key, value, grad_out, out, logsumexp, and the gradients.
const entry attention_backward("attention_backward", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, fg::f64>)
      fg::scaled_dot_product_flash_attention_backward(
          c.on, c.view<const T>(3), c.view<const T>(0), c.view<const T>(1), c.view<const T>(2),
          c.view<const T>(4), c.view<const fg::f32>(5), c.view<T>(6), c.view<T>(7), c.view<T>(8), 0,
          c.integer(0) != 0);
  });
});

/// Query, key, value, grad_out, out, logsumexp, where sequences begin, and the gradients; numbers:
/// whether it is causal, the longest sequence, and the window before a key's own.
const entry varlen_backward("varlen_backward", [](const call& c) {
  using T = fg::bf16;
  const auto starts = c.view<const fg::i32>(6);
  const i64 most = c.integer(1);
  fg::flash_attention_backward(c.on, c.view<const T>(3), c.view<const T>(0), c.view<const T>(1),
                               c.view<const T>(2), c.view<const T>(4), c.view<const fg::f32>(5),
                               starts, starts, most, most, c.view<T>(7), c.view<T>(8), c.view<T>(9),
                               {.is_causal = c.integer(0) != 0, .window_size_left = c.integer(2)});
});

}  // namespace
}  // namespace bridge
