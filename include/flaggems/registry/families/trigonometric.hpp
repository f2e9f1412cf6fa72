// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/trigonometric.hpp>

#include <flaggems/registry/rows.hpp>

namespace flaggems::operator_families {

inline constexpr bindings::other_name trigonometric_names[] = {
    FLAGGEMS_TRIGONOMETRIC_ALIASES(FLAGGEMS_OTHER_NAME)};

/// Trigonometric and hyperbolic functions beside sin, cos and tanh.
struct trigonometric {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
#define FLAGGEMS_LINE_OF(name, rule, ...) FLAGGEMS_UNARY_LINE(name, rule, trigonometric_names)
#define FLAGGEMS_PREDICATE_OF(name, rule, ...) , FLAGGEMS_BIND(flaggems::name, inexact_types, line(#name "(Tensor self) -> Tensor").to_float())
#define FLAGGEMS_LINE2_OF(name, rule, ...) FLAGGEMS_BINARY_LINE(name, rule, trigonometric_names)
    return bindings::lines(0
        FLAGGEMS_TRIGONOMETRIC_TABLE(FLAGGEMS_LINE_OF, FLAGGEMS_PREDICATE_OF, FLAGGEMS_LINE2_OF)
#undef FLAGGEMS_LINE_OF
#undef FLAGGEMS_PREDICATE_OF
#undef FLAGGEMS_LINE2_OF
    );
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
