// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/topk.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// Sorting and selection.
struct order {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::topk, numeric_types, line("topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)").out("values").outputs_after(2)),
        FLAGGEMS_BIND(flaggems::sort, numeric_types, line("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)").out("values")),
        FLAGGEMS_BIND(flaggems::sort, numeric_types, line("sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)").out("values_stable")),
        FLAGGEMS_BIND(flaggems::argsort, numeric_types, "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::argsort, numeric_types, "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor"));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
