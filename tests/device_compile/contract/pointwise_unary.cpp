// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/pointwise.hpp>

#include "contract.hpp"

namespace contract {
namespace takes {  // what the rules of the table take
using numeric = real;
using arithmetic = numbers;
using integral = real;
using to_float = real;
using floating = floats;
using to_bool = real;
}  // namespace takes

#define FLAGGEMS_ROW(name, rule, ...) \
  each(takes::rule{}, [](const auto& x) { (void)fg::name(s, x); });
#define FLAGGEMS_OTHER(name, rule, ...)
void table() { FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_ROW, FLAGGEMS_OTHER, FLAGGEMS_OTHER) }

void activations() {
  each(floats{}, [](const auto& x) { (void)fg::gelu(s, x); });
  each(join<twice<floats>, types<pair<f32, bf16>, pair<f16, bf16>>>{},
       [](const auto& x, const auto& y) {
         (void)fg::silu_and_mul(s, x, y);
         (void)fg::gelu_and_mul(s, x, y);
       });
}

}  // namespace contract
