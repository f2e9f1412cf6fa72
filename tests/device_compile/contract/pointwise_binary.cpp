// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/pointwise.hpp>

#include "contract.hpp"

namespace contract {
namespace takes {  // what the rules of the table take
using numeric = join<twice<real>, mixed>;
using arithmetic = join<twice<numbers>, mixed>;
using to_float = numeric;
using to_bool = numeric;
}  // namespace takes

// Beside another tensor, and beside a number.
#define FLAGGEMS_ROW(name, rule, ...)                                        \
  each(takes::rule{}, [](const auto& a, const auto& b) {                     \
    (void)fg::name(s, a, b);                                                 \
    if constexpr (is_one<decltype(a), decltype(b)>) (void)fg::name(s, a, 2); \
  });
#define FLAGGEMS_OTHER(name, rule, ...)
void table() { FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_OTHER, FLAGGEMS_ROW, FLAGGEMS_OTHER) }

}  // namespace contract
