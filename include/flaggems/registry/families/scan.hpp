// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/normed_cumsum.hpp>
#include <flaggems/ops/scan.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// Running sums and the like.
struct scan {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND_RESULT(flaggems::cumsum, numeric_types, line("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor").without_bool_results()),
        FLAGGEMS_BIND(flaggems::cumsum_, arithmetic_types, "cumsum_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)"),
        FLAGGEMS_BIND_RESULT(flaggems::cumprod, numeric_types, line("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor").without_bool_results()),
        FLAGGEMS_BIND(flaggems::cumprod_, arithmetic_types, "cumprod_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)"),
        FLAGGEMS_BIND(flaggems::normed_cumsum, floating_types, "flaggems::normed_cumsum(Tensor inp, int dim=-1) -> Tensor"),
        FLAGGEMS_BIND(flaggems::logcumsumexp, floating_types, "logcumsumexp(Tensor self, int dim) -> Tensor"),
        FLAGGEMS_BIND(flaggems::cummax, numeric_types, "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)"),
        FLAGGEMS_BIND(flaggems::cummin, numeric_types, "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)"),
        FLAGGEMS_BIND(flaggems::cummax_helper, numeric_types, "_cummax_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()"),
        FLAGGEMS_BIND(flaggems::cummin_helper, numeric_types, "_cummin_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()"));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
