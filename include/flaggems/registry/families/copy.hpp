// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/copy.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

inline constexpr char src_name[] = "src", self_name[] = "self";
using from_src = bindings::with_choice<all_types, bindings::any_dtype<src_name>>;
using from_self = bindings::with_choice<all_types, bindings::any_dtype<self_name>>;

/// Copies and conversions, which boxed calls of several dtypes need.
struct copy {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::copy_, from_src, "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)"),
        FLAGGEMS_BIND_RESULT(flaggems::to, from_self, line("to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor").without_out().none_is(memory_format::preserve_format)),
        FLAGGEMS_BIND_RESULT(flaggems::to_copy, all_types, line("_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor").without_out().none_is(memory_format::preserve_format)),
        FLAGGEMS_BIND(flaggems::clone, all_types, line("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor").without_out().none_is(memory_format::preserve_format)),
        FLAGGEMS_BIND(flaggems::contiguous, all_types, line("contiguous(Tensor self, *, MemoryFormat memory_format=contiguous_format) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::cat, numeric_or_complex_types, line("cat(Tensor[] tensors, int dim=0) -> Tensor").promotes().also("concat").also("concatenate")));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
