// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/comparison.hpp>

#include <flaggems/registry/rows.hpp>

namespace flaggems::operator_families {

/// What numbers are, and whether they are close.
struct comparison {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
#define FLAGGEMS_LINE_OF(name, rule, ...) FLAGGEMS_PREDICATE_LINE(name, rule, bindings::no_names)
    return bindings::lines(0
        FLAGGEMS_COMPARISON_TABLE(FLAGGEMS_LINE_OF)
        , FLAGGEMS_BIND(flaggems::isclose, numeric_types, line("isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor").promotes().options_from("rtol"))
#undef FLAGGEMS_LINE_OF
    );
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
