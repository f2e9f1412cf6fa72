// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/topk.hpp>
#include <flaggems/vendors/host.hpp>

void five_largest(const flaggems::stream<flaggems::host>& stream,
                  const flaggems::tensor_view<const float, flaggems::host>& x,
                  const flaggems::tensor_view<float, flaggems::host>& values,
                  const flaggems::tensor_view<flaggems::i64, flaggems::host>& indices) {
  flaggems::topk(stream, x, 5, values, indices);
}
