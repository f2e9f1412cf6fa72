// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/reduce.hpp>
#include <flaggems/vendors/host.hpp>

void total(const flaggems::stream<flaggems::host>& stream,
           const flaggems::tensor_view<const float, flaggems::host>& x,
           const flaggems::tensor_view<float, flaggems::host>& out) {
  flaggems::sum(stream, x, out, {1});
}
