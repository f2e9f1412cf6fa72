// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/reduce.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// Reductions.
struct reduce {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND_RESULT(flaggems::sum, numeric_or_complex_types, line("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor").out("IntList_out")),
        FLAGGEMS_BIND_RESULT(flaggems::sum, numeric_or_complex_types, "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor"),
        FLAGGEMS_BIND_RESULT(flaggems::mean, inexact_types, line("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor").out("out")),
        FLAGGEMS_BIND_RESULT(flaggems::mean, inexact_types, line("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor").out("dtype_out")),
        FLAGGEMS_BIND_RESULT(flaggems::prod, numeric_types, line("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor").out("int_out")),
        FLAGGEMS_BIND_RESULT(flaggems::prod, numeric_types, "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::amax, numeric_types, line("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor").exact_out()),
        FLAGGEMS_BIND(flaggems::amin, numeric_types, line("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor").exact_out()),
        FLAGGEMS_BIND(flaggems::any, numeric_types, line("any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor").out("out")),
        FLAGGEMS_BIND(flaggems::any, numeric_types, "any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::any, numeric_types, line("any(Tensor self) -> Tensor").out("all_out")),
        FLAGGEMS_BIND(flaggems::all, numeric_types, line("all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor").out("out")),
        FLAGGEMS_BIND(flaggems::all, numeric_types, "all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::all, numeric_types, line("all(Tensor self) -> Tensor").out("all_out")),
        FLAGGEMS_BIND(flaggems::argmax, arithmetic_types, "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::argmin, arithmetic_types, "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
