// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/gemm.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

using product_types = arithmetic_types;

/// Matrix products.
struct gemm {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::mm, product_types, "mm(Tensor self, Tensor mat2) -> Tensor"),
        FLAGGEMS_BIND(flaggems::bmm, product_types, "bmm(Tensor self, Tensor mat2) -> Tensor"),
        FLAGGEMS_BIND(flaggems::mv, product_types, "mv(Tensor self, Tensor vec) -> Tensor"),
        FLAGGEMS_BIND(flaggems::addmm, product_types, line("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor").options_from("beta")),
        FLAGGEMS_BIND(flaggems::baddbmm, product_types, line("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor").options_from("beta")),
        FLAGGEMS_BIND(flaggems::linear, product_types, "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
