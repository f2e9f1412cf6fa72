// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Launches walks over windows.
#pragma once

#include <flaggems/kernel/family/window/vector/resampled.hpp>
#include <flaggems/kernel/family/window/vector/rows.hpp>
#include <flaggems/launch/implementation.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/ops/plan/window.hpp>

namespace flaggems::detail {

/// Folds for all elements of an output, which have about `taps` elements each; all checks have
/// passed.
template <class S, class T, class Taps, class Fold>
void launch_windows(const char* op, const S& stream, const kernels::window_walk<T, Taps>& walk,
                    const Fold& fold, i64 taps) {
  using kernel = kernels::windows<T, Taps, Fold>;
  i64 n = 1;
  for (const i64 size : walk.sizes) n *= size;
  if (n == 0) return;
  launch_config config;
  config.op = op;
  config.tiles = kernels::ceil_div(n, kernels::window_tile);
  config.work = work_of(n, taps + 1, 2 * sizeof(T));
  launch<kernel>(stream, config, n, walk, fold);
}

}  // namespace flaggems::detail
