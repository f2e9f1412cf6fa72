// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "bridge.hpp"

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/pointwise.hpp>

namespace bridge {
namespace {

const entry silu_and_mul("silu_and_mul", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::silu_and_mul(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(2));
  });
});
// gelu(x * scale + bias) + residual, of rows: scale and bias broadcast.
const entry chain("chain", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    const auto x = c.view<const T>(0), scale = c.view<const T>(1), bias = c.view<const T>(2),
               residual = c.view<const T>(3);
    fg::assign(c.on, c.view<T>(4), fg::gelu(x * scale + bias) + residual);
  });
});

}  // namespace
}  // namespace bridge
