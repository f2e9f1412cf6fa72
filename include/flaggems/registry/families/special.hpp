// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/special.hpp>

#include <flaggems/registry/rows.hpp>

namespace flaggems::operator_families {

inline constexpr bindings::other_name special_names[] = {
    FLAGGEMS_SPECIAL_ALIASES(FLAGGEMS_OTHER_NAME)};

/// Error functions, and logarithms of sums and products.
struct special {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
#define FLAGGEMS_LINE_OF(name, rule, ...) FLAGGEMS_UNARY_LINE(name, rule, special_names)
#define FLAGGEMS_NO_LINE(name, rule, ...)
    return bindings::lines(0
        FLAGGEMS_SPECIAL_TABLE(FLAGGEMS_LINE_OF, FLAGGEMS_NO_LINE)
#undef FLAGGEMS_LINE_OF
#undef FLAGGEMS_NO_LINE
        , FLAGGEMS_BIND(flaggems::logaddexp, floating_types, line("logaddexp(Tensor self, Tensor other) -> Tensor").promotes())
        , FLAGGEMS_BIND(flaggems::logaddexp2, floating_types, line("logaddexp2(Tensor self, Tensor other) -> Tensor").promotes())
        , FLAGGEMS_BIND_IN_PLACE(flaggems::xlogy, floating_types, line("xlogy.Tensor(Tensor self, Tensor other) -> Tensor").to_float().out("OutTensor"))
        , FLAGGEMS_BIND(flaggems::xlogy, floating_types, line("xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor").to_float().out("OutScalar_Self"))
        , FLAGGEMS_BIND_IN_PLACE(flaggems::xlogy, floating_types, line("xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor").to_float().out("OutScalar_Other"))
        , FLAGGEMS_BIND(flaggems::xlogy, floating_types, line("special_xlogy(Tensor self, Tensor other) -> Tensor").to_float())
        , FLAGGEMS_BIND(flaggems::xlog1py, floating_types, line("special_xlog1py(Tensor self, Tensor other) -> Tensor").to_float())
        , FLAGGEMS_BIND(flaggems::xlog1py, floating_types, line("special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor").to_float())
        , FLAGGEMS_BIND(flaggems::xlog1py, floating_types, line("special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor").to_float())
        , FLAGGEMS_BIND(flaggems::erf, floating_types, line("special_erf(Tensor self) -> Tensor").to_float())
        , FLAGGEMS_BIND(flaggems::exp2, floating_types, line("special_exp2(Tensor self) -> Tensor").to_float())
        , FLAGGEMS_BIND(flaggems::expm1, floating_types, line("special_expm1(Tensor self) -> Tensor").to_float())
        , FLAGGEMS_BIND(flaggems::sigmoid, floating_types, line("special_expit(Tensor self) -> Tensor").to_float())
        , FLAGGEMS_BIND(flaggems::log1p, floating_types, line("special_log1p(Tensor self) -> Tensor").to_float()));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
