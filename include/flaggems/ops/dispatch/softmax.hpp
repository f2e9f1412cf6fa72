// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How softmax is computed: short or register-resident rows on SIMT devices, else the generic form.
#pragma once

#include <flaggems/kernel/family/row/simt/softmax.hpp>
#include <flaggems/kernel/family/row/softmax.hpp>
#include <flaggems/ops/dispatch/register_rows.hpp>
#include <flaggems/ops/dispatch/short_rows.hpp>

#include <limits>

namespace flaggems::detail {

/// softmax or log_softmax by the kernels that suit the device and its rows. All checks have passed.
template <bool Log, class T, class O, class C, class S>
void launch_softmax(const char* op, const S& stream, const kernels::row_space& space,
                    const kernels::row_arg<T>& in, const kernels::row_target<O>& to) {
  launch_config config;
  config.op = op;
  config.tiles = space.rows;
  config.work = work_of(space.rows, space.length, 32);
  // (A type without -inf, as integers are, has nothing to fill a thread's empty places with.)
  if constexpr (has_simt<device_of<S>> && std::numeric_limits<T>::has_infinity) {
    if (launch_short_rows<C>(stream, config, space.rows, space.length, space.rank, in, to,
                             kernels::short_softmax<Log>{}))
      return;
    if (in.strides[space.rank] == 1 && to.strides[space.rank] == 1 &&
        register_rows::take(space.rows, space.length, space.rank)) {
      constexpr int width = kernels::vec_size<T>;
      const register_rows resident(
          space.rows, space.length, width,
          are_vec_aligned(in, space.rank, width) && are_vec_aligned(to, space.rank, width), 1024,
          {.stages_rest = true});
      resident.configure(config, space.rows);
      return resident.visit([&](auto vectors, auto rows, auto is_aligned) {
        launch<kernels::simt_softmax<T, O, C, Log, vectors, rows, is_aligned>>(
            stream, config, space, resident.groups, in, to);
      });
    }
  }
  config.scratch = row_scratch<C, device_of<S>>(space.length, 2, true);
  launch<kernels::softmax<T, O, C, Log>>(stream, config, space, in, to);
}

}  // namespace flaggems::detail
