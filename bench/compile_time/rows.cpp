// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/host.hpp>

void shares(const flaggems::stream<flaggems::host>& stream,
            const flaggems::tensor_view<const float, flaggems::host>& x,
            const flaggems::tensor_view<float, flaggems::host>& out) {
  flaggems::softmax(stream, x, out, -1);
}
