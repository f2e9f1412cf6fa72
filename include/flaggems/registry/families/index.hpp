// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/embedding.hpp>
#include <flaggems/ops/index_select.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// Lookups by index.
struct index {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::index_select, stored_types, line("index_select(Tensor self, int dim, Tensor index) -> Tensor").out("out")),
        FLAGGEMS_BIND(flaggems::embedding, stored_types, "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::embedding_renorm_, floating_types, "embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)"));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
