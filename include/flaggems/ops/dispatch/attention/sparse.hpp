// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How attention by lists of keys is computed: by blocks of heads on vector workers, a few heads of
// a query at a time on SIMT devices.
#pragma once

#include <flaggems/kernel/family/attention/sparse.hpp>
#include <flaggems/kernel/family/attention/vector/blocks.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/steps.hpp>

namespace flaggems::detail {

/// Attends all queries; `outputs`: the elements of the result.
template <class S, class T, class Key, class O, class C>
void launch_sparse_attention(const char* op, const S& stream, const kernels::sparse_space& space,
                             const kernels::attention_arg<const T>& q,
                             const kernels::attention_arg<const Key>& k,
                             const kernels::attention_arg<const Key>& v,
                             const kernels::attention_arg<O>& out, C scale,
                             const kernels::sparse_sums<C>& sums, i64 outputs) {
  using kernels::stepping;
  constexpr kernels::sparse_mask mask{};
  launch_config config;
  config.op = op;
  config.work = work_of(2, outputs, kernels::max_of(space.count, i64{1}));
  config.threads = tuning<families::attention, device_of<S>>::threads;
  if constexpr (has_thread_pool<device_of<S>>) {
    using kernel = kernels::attention_host<T, Key, O, C, kernels::sparse_mask>;
    config.tiles = space.tiles(kernel::least_rows);
    config.scratch = kernel::scratch(space.head_size, space.value_size);
    launch<kernel>(stream, config, space, q, k, v, mask, out, scale, sums);
  } else {
    const auto run = [&]<stepping Steps>(std::integral_constant<stepping, Steps>) {
      using kernel = kernels::attention<T, Key, O, C, kernels::sparse_mask, Steps>;
      config.tiles = space.tiles(kernel::rows);
      config.scratch = scratch_bytes<C>(kernel::rows * kernels::round_up(space.head_size, 16)) +
                       scratch_bytes<C>(kernel::rows * kernel::tile) +
                       scratch_bytes<C>(kernel::rows * kernels::round_up(space.value_size, 16));
      launch<kernel>(stream, config, space, q, k, v, mask, out, scale, sums);
    };
    if ((k.element == 1 || space.head_size == 1) && (v.element == 1 || space.value_size == 1))
      run(std::integral_constant<stepping, stepping::contiguous>{});
    else
      run(std::integral_constant<stepping, stepping::strided>{});
  }
}

/// Makes numbers of the keys that lists say, and lists of those.
template <class S, class T>
void launch_latent_rows(const char* op, const S& stream, i64 batches, i64 queries,
                        const kernels::latent_cache& one, const kernels::latent_cache& other, T* to,
                        i32* list) {
  launch_config config;
  config.op = op;
  config.tiles = batches * queries * (one.count + other.count);
  config.work = work_of(1, config.tiles, i64{kernels::latent_cache::size});
  config.threads = 64;  // limit: a part of a key, of one scale
  launch<kernels::latent_rows<T>>(stream, config, batches, queries, one, other, to, list);
}

}  // namespace flaggems::detail
