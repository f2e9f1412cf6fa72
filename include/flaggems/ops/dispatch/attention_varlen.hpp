// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How attention over sequences of several lengths is computed: by blocks of queries on vector
// workers, row by row on SIMT devices.
#pragma once

#include <flaggems/kernel/family/attention/sequences.hpp>
#include <flaggems/ops/dispatch/attention.hpp>

namespace flaggems::detail {

/// Attends all sequences; `outputs`: the elements of the result. If `logs` has data, the logarithms
/// of the sums of exponentials go there.
template <class S, class T, class Key, class O, class Mask, class C>
void launch_sequence_attention(const char* op, const S& stream,
                               const kernels::sequence_space& space,
                               const kernels::attention_arg<const T>& q,
                               const kernels::attention_arg<const Key>& k,
                               const kernels::attention_arg<const Key>& v, const Mask& mask,
                               const kernels::attention_arg<O>& out,
                               const kernels::attention_arg<C>& logs, C scale, i64 outputs) {
  using one = kernels::attention<T, Key, O, C, Mask, kernels::stepping::contiguous>;
  launch_config config;
  config.op = op;
  const i64 keys = space.page > 0 ? space.total_keys : space.total_keys / space.count;
  config.work = work_of(2, outputs, kernels::max_of(keys, i64{1}));
  config.threads = tuning<families::attention, device_of<S>>::threads;
  const bool is_contiguous =
      (k.element == 1 || space.head_size == 1) && (v.element == 1 || space.value_size == 1);
  if constexpr (has_thread_pool<device_of<S>>) {
    using many = kernels::attention_host<T, Key, O, C, Mask>;
    using few = kernels::attention_host_few<T, Key, O, C, Mask>;
    // Steps of generation: few rows of most sequences.
    const bool are_few = space.group * space.total_queries <= few::most_rows * space.count;
    if (are_few && is_contiguous && logs.data == nullptr && space.page % few::least_run == 0) {
      config.tiles = space.tiles(few::most_rows);
      config.scratch = few::scratch(space.head_size, space.value_size);
      C* const none = nullptr;
      return launch<few>(stream, config, space, q, k, v, mask, out, scale, i64{1}, space.total_keys,
                         none);
    }
    config.tiles = space.tiles(many::least_rows);
    config.scratch = many::scratch(space.head_size, space.value_size);
    launch<many>(stream, config, space, q, k, v, mask, out, scale, logs);
  } else {
    const i64 depth = kernels::round_up(space.head_size, 16),
              width = kernels::round_up(space.value_size, 16);
    config.tiles = space.tiles(one::rows);
    config.scratch = scratch_bytes<C>(one::rows * depth) + scratch_bytes<C>(one::rows * one::tile) +
                     scratch_bytes<C>(one::rows * width);
    if (is_contiguous)
      launch<one>(stream, config, space, q, k, v, mask, out, scale, logs);
    else
      launch<kernels::attention<T, Key, O, C, Mask, kernels::stepping::strided>>(
          stream, config, space, q, k, v, mask, out, scale, logs);
  }
}

}  // namespace flaggems::detail
