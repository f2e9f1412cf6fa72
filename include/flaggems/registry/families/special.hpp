// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/special.hpp>

#include <flaggems/registry/rows.hpp>

namespace flaggems::operator_families {

/// Error functions, and logarithms of sums and products.
struct special {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
#define FLAGGEMS_LINE_OF(name, rule, ...) FLAGGEMS_UNARY_LINE(name, rule, bindings::no_names)
#define FLAGGEMS_NO_LINE(name, rule, ...)
#define FLAGGEMS_ALIAS_OF(other, name) , FLAGGEMS_BIND(flaggems::name, floating_types, line(#other "(Tensor self) -> Tensor").to_float())
#define FLAGGEMS_ALIAS2_OF(other, name) , FLAGGEMS_BIND(flaggems::name, floating_types, line(#other "(Tensor self, Tensor other) -> Tensor").to_float())
    return bindings::lines(0
        FLAGGEMS_SPECIAL_TABLE(FLAGGEMS_LINE_OF, FLAGGEMS_NO_LINE)
        FLAGGEMS_SPECIAL_ALIASES(FLAGGEMS_ALIAS_OF, FLAGGEMS_ALIAS2_OF)
#undef FLAGGEMS_LINE_OF
#undef FLAGGEMS_NO_LINE
#undef FLAGGEMS_ALIAS_OF
#undef FLAGGEMS_ALIAS2_OF
        , FLAGGEMS_BIND(flaggems::logaddexp, floating_types, line("logaddexp(Tensor self, Tensor other) -> Tensor").promotes())
        , FLAGGEMS_BIND(flaggems::logaddexp2, floating_types, line("logaddexp2(Tensor self, Tensor other) -> Tensor").promotes())
        , FLAGGEMS_BIND_IN_PLACE(flaggems::xlogy, floating_types, line("xlogy.Tensor(Tensor self, Tensor other) -> Tensor").to_float().out("OutTensor"))
        , FLAGGEMS_BIND(flaggems::xlogy, floating_types, line("xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor").to_float().out("OutScalar_Self"))
        , FLAGGEMS_BIND_IN_PLACE(flaggems::xlogy, floating_types, line("xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor").to_float().out("OutScalar_Other"))
        , FLAGGEMS_BIND(flaggems::xlog1py, floating_types, line("special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor").to_float())
        , FLAGGEMS_BIND(flaggems::xlog1py, floating_types, line("special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor").to_float()));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
