// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "bridge.hpp"

#include <flaggems/ops/attention_latent.hpp>
#include <flaggems/ops/fused_experts.hpp>
#include <flaggems/ops/grouped_mm.hpp>

#include <array>

namespace bridge {
namespace {

using any = fg::any_view<device>;

/// Rows, a matrix for each group, and where groups end.
const entry grouped_mm("grouped_mm", [](const call& c) {
  fg::grouped_mm(c.on, c.view<const fg::bf16>(0), c.view<const fg::bf16>(1),
                 c.view<const fg::i32>(2), c.view<fg::bf16>(3));
});
/// The same of 8 bits, with scales of rows and columns before the ends.
const entry scaled_grouped_mm("scaled_grouped_mm", [](const call& c) {
  fg::scaled_grouped_mm(c.on, c.view<const fg::f8e4m3>(0), c.view<const fg::f8e4m3>(1),
                        c.view<const fg::f32>(2), c.view<const fg::f32>(3),
                        c.view<const fg::i32>(4), c.view<fg::bf16>(5));
});
/// Tokens, both weights, the weights and numbers of a token's experts.
const entry fused_experts("fused_experts", [](const call& c) {
  using T = fg::bf16;
  fg::fused_experts_impl(c.on, c.view<const T>(0), any(c.view<const T>(1)), any(c.view<const T>(2)),
                         any(c.view<const fg::f32>(3)), any(c.view<const fg::i32>(4)),
                         c.view<T>(5));
});
/// The same with weights of 8 bits, and scales of their blocks behind.
const entry fused_experts_f8("fused_experts_f8", [](const call& c) {
  using E = fg::f8e4m3;
  const std::array<i64, 2> blocks{128, 128};
  fg::fused_experts_options<device> options;
  options.use_fp8_w8a8 = true;
  options.block_shape = blocks;
  options.w1_scale = any(c.view<const fg::f32>(5));
  options.w2_scale = any(c.view<const fg::f32>(6));
  fg::fused_experts_impl(c.on, c.view<const fg::bf16>(0), any(c.view<const E>(1)),
                         any(c.view<const E>(2)), any(c.view<const fg::f32>(3)),
                         any(c.view<const fg::i32>(4)), c.view<fg::bf16>(7), "silu", options);
});
/// Queries [b, n, heads, d], a cache of latent keys, its pages and lengths; numbers: whether it is
/// causal.
const entry latent_attention("latent_attention", [](const call& c) {
  using T = fg::bf16;
  const auto q = c.view<const T>(0);
  const auto cache = c.view<const T>(1);
  const auto table = c.view<const fg::i32>(2);
  const auto out = c.view<T>(4);
  fg::flash_mla(c.on, q, table, cache, table.size(1) * cache.size(1), cache.size(1), q.size(0),
                q.size(1), c.view<const fg::i32>(3), q.size(2), i64{1}, q.size(3), out.size(3),
                c.integer(0) != 0, out);
});

}  // namespace
}  // namespace bridge
