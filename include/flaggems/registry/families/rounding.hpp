// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/rounding.hpp>

#include <flaggems/registry/rows.hpp>

namespace flaggems::operator_families {

inline constexpr bindings::other_name rounding_names[] = {
    FLAGGEMS_ROUNDING_ALIASES(FLAGGEMS_OTHER_NAME)};

/// Rounding, fractions and signs.
struct rounding {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
#define FLAGGEMS_LINE_OF(name, rule, ...) FLAGGEMS_UNARY_LINE(name, rule, rounding_names)
#define FLAGGEMS_NO_LINE(name, rule, ...)
    return bindings::lines(0
        FLAGGEMS_ROUNDING_TABLE(FLAGGEMS_LINE_OF, FLAGGEMS_NO_LINE)
        , FLAGGEMS_BIND_IN_PLACE(flaggems::copysign, floating_types, line("copysign.Tensor(Tensor self, Tensor other) -> Tensor").to_float().out("out"))
        , FLAGGEMS_BIND_IN_PLACE(flaggems::copysign, floating_types, line("copysign.Scalar(Tensor self, Scalar other) -> Tensor").to_float())
        , FLAGGEMS_BIND_IN_PLACE(flaggems::round, floating_types, "round.decimals(Tensor self, *, int decimals) -> Tensor")
        , FLAGGEMS_BIND(flaggems::frexp, floating_types, "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)")
        , FLAGGEMS_BIND_IN_PLACE(flaggems::nextafter, floating_types, line("nextafter(Tensor self, Tensor other) -> Tensor").promotes())
        , FLAGGEMS_BIND(flaggems::round, floating_types, "special_round(Tensor self, *, int decimals=0) -> Tensor")
#undef FLAGGEMS_LINE_OF
#undef FLAGGEMS_NO_LINE
    );
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
