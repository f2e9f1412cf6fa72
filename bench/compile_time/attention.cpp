// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/attention.hpp>
#include <flaggems/vendors/host.hpp>

#include <optional>

void attention(const flaggems::stream<flaggems::host>& stream,
               const flaggems::tensor_view<const float, flaggems::host>& q,
               const flaggems::tensor_view<const float, flaggems::host>& k,
               const flaggems::tensor_view<const float, flaggems::host>& v,
               const flaggems::tensor_view<float, flaggems::host>& out) {
  flaggems::scaled_dot_product_attention(stream, q, k, v, std::nullopt, out);
}
