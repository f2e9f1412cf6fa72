// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/higher.hpp>

#include <flaggems/registry/rows.hpp>

namespace flaggems::operator_families {

/// Whether ATen calls a row's operand x: the one of an Airy function or a scaled Bessel function.
constexpr bool is_of_x(std::string_view row) {
  return row.starts_with("special_airy") || row.starts_with("special_scaled");
}

/// Gamma and zeta functions, Bessel and Airy functions, orthogonal polynomials.
struct higher {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
#define FLAGGEMS_LINE_OF(name, rule, ...) FLAGGEMS_UNARY_LINE(name, rule, bindings::no_names)
#define FLAGGEMS_FUNCTION_OF(name, rule, ...) , FLAGGEMS_BIND(flaggems::name, floating_types, line(is_of_x(#name) ? #name "(Tensor x) -> Tensor" : #name "(Tensor self) -> Tensor").to_float())
#define FLAGGEMS_NO_LINE(name, rule, ...)
#define FLAGGEMS_SERIES_OF(name, rule, ...) FLAGGEMS_SERIES_LINES(name, std::string_view(#name) == "special_zeta")
#define FLAGGEMS_SERIES_LINES(name, is_zeta) \
  , FLAGGEMS_BIND(flaggems::name, floating_types, line(is_zeta ? #name "(Tensor self, Tensor other) -> Tensor" : #name "(Tensor x, Tensor n) -> Tensor").to_float())                         \
  , FLAGGEMS_BIND(flaggems::name, floating_types, line(is_zeta ? #name ".self_scalar(Scalar self, Tensor other) -> Tensor" : #name ".x_scalar(Scalar x, Tensor n) -> Tensor").to_float())    \
  , FLAGGEMS_BIND(flaggems::name, floating_types, line(is_zeta ? #name ".other_scalar(Tensor self, Scalar other) -> Tensor" : #name ".n_scalar(Tensor x, Scalar n) -> Tensor").to_float())
#define FLAGGEMS_ALIAS_OF(other, name) , FLAGGEMS_BIND(flaggems::name, floating_types, line(#other "(Tensor self) -> Tensor").to_float())
#define FLAGGEMS_ALIAS2_OF(other, name) , FLAGGEMS_BIND(flaggems::name, floating_types, line(#other "(Tensor self, Tensor other) -> Tensor").to_float())
    return bindings::lines(0
        FLAGGEMS_HIGHER_TABLE(FLAGGEMS_LINE_OF, FLAGGEMS_FUNCTION_OF, FLAGGEMS_NO_LINE, FLAGGEMS_SERIES_OF)
        FLAGGEMS_HIGHER_ALIASES(FLAGGEMS_ALIAS_OF, FLAGGEMS_ALIAS2_OF)
#undef FLAGGEMS_LINE_OF
#undef FLAGGEMS_FUNCTION_OF
#undef FLAGGEMS_NO_LINE
#undef FLAGGEMS_SERIES_OF
#undef FLAGGEMS_SERIES_LINES
#undef FLAGGEMS_ALIAS_OF
#undef FLAGGEMS_ALIAS2_OF
        , FLAGGEMS_BIND_IN_PLACE(flaggems::igamma, floating_types, line("igamma(Tensor self, Tensor other) -> Tensor").to_float())
        , FLAGGEMS_BIND_IN_PLACE(flaggems::igammac, floating_types, line("igammac(Tensor self, Tensor other) -> Tensor").to_float())
        , FLAGGEMS_BIND(flaggems::polygamma, floating_types, line("polygamma(int n, Tensor self) -> Tensor").to_float().also("special_polygamma"))
        , FLAGGEMS_BIND(flaggems::polygamma_, floating_types, "polygamma_(Tensor(a!) self, int n) -> Tensor(a!)")
        , FLAGGEMS_BIND_IN_PLACE(flaggems::mvlgamma, floating_types, line("mvlgamma(Tensor self, int p) -> Tensor").to_float().also("special_multigammaln")));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
