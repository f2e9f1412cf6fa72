// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks of an output, for authors of operators: with check_same_sizes and check_output of
// ops/plan/checks.hpp.
#pragma once

#include <flaggems/ops/plan/checks.hpp>

namespace flaggems {

/// check_output_sizes(op, sizes, out) raises shape_mismatch unless `out` has these sizes.
using detail::check_output_sizes;

/// Raises overlap if `out` cannot be written element by element, or shares any memory with one of
/// `in`: for operators that do not work in place.
template <class Out, class... In>
void check_disjoint_output(const char* op, const Out& out, const In&... in) {
  detail::check_writable(op, out);
  const detail::placed_layout to(detail::layout_of(out));
  (detail::check_no_overlap(op, to, detail::layout_of(in)), ...);
}

}  // namespace flaggems
