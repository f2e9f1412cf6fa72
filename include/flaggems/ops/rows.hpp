// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// For authors of operators along rows: checks, operands as rows (row_plan), and the launch of a row
// program (kernel/family/row/contract.hpp).
#pragma once

#include <flaggems/kernel/family/row/contract.hpp>
#include <flaggems/ops/checks.hpp>
#include <flaggems/ops/dispatch/rows.hpp>
#include <flaggems/ops/plan/rows.hpp>

namespace flaggems {

/// What a row program reads, in its order: inputs, parameters or numbers, each `plan.arg(...)`.
template <class... T>
[[nodiscard]] kernels::operands<kernels::row_arg<T>...> row_inputs(
    const kernels::row_arg<T>&... x) {
  return kernels::make_operands(x...);
}
/// What it writes, in its order: outputs or results, each `plan.target(...)`.
template <class... T>
[[nodiscard]] kernels::operands<kernels::row_target<T>...> row_outputs(
    const kernels::row_target<T>&... x) {
  return kernels::make_operands(x...);
}

/// row_operands_of(inputs, outputs, parameters, numbers, results) are a row program's operands;
/// those after `outputs` may be left out.
using detail::row_operands_of;

/// launch_rows(stream, config, plan.space(), operands, program) queues a row program. All checks
/// have passed; of `config` it needs `op` and `work`.
using detail::launch_rows;

}  // namespace flaggems
