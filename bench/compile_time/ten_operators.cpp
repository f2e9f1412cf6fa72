// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/host.hpp>

void ten_operators(const flaggems::stream<flaggems::host>& stream,
                   const flaggems::tensor_view<const float, flaggems::host>& x,
                   const flaggems::tensor_view<const float, flaggems::host>& y,
                   const flaggems::tensor_view<float, flaggems::host>& out,
                   const flaggems::tensor_view<float, flaggems::host>& column) {
  flaggems::add(stream, x, y, out);
  flaggems::mul(stream, x, y, out);
  flaggems::exp(stream, x, out);
  flaggems::silu(stream, x, out);
  flaggems::maximum(stream, x, y, out);
  flaggems::softmax(stream, x, out, -1);
  flaggems::sum(stream, x, column, {1});
  flaggems::mean(stream, x, column, {1});
  flaggems::amax(stream, x, column, {1});
  flaggems::fill_(stream, out, 1.0f);
}
