// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/window/window.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::i64;
using linear = fk::linear_taps;
using nearest = fk::nearest_taps<float>;
using nearest_of = fk::nearest_of_taps<float>;
template <class T, class Taps>
using walk = fk::window_walk<T, Taps>;

FLAGGEMS_INSTANCE(avg_pool_bf16, fk::windows<bf16, linear, fk::window_mean<bf16>>, i64,
                  walk<bf16, linear>, fk::window_mean<bf16>)
FLAGGEMS_INSTANCE(avg_pool_backward_bf16, fk::windows<bf16, linear, fk::window_mean_backward<bf16>>,
                  i64, walk<bf16, linear>, fk::window_mean_backward<bf16>)
FLAGGEMS_INSTANCE(max_pool_with_indices_f32, fk::windows<float, linear, fk::window_greatest<float>>,
                  i64, walk<float, linear>, fk::window_greatest<float>)
FLAGGEMS_INSTANCE(max_pool_with_indices_backward_f32,
                  fk::windows<float, linear, fk::window_greatest_backward<float>>, i64,
                  walk<float, linear>, fk::window_greatest_backward<float>)
FLAGGEMS_INSTANCE(col2im_f32, fk::windows<float, linear, fk::window_sum<float>>, i64,
                  walk<float, linear>, fk::window_sum<float>)
FLAGGEMS_INSTANCE(pad_backward_mirrored, fk::windows<float, fk::mirror_taps, fk::window_sum<float>>,
                  i64, walk<float, fk::mirror_taps>, fk::window_sum<float>)
FLAGGEMS_INSTANCE(pad_backward_repeated, fk::windows<float, fk::edge_taps, fk::window_sum<float>>,
                  i64, walk<float, fk::edge_taps>, fk::window_sum<float>)
FLAGGEMS_INSTANCE(upsample_nearest_bf16, fk::windows<bf16, nearest, fk::window_value<bf16>>, i64,
                  walk<bf16, nearest>, fk::window_value<bf16>)
FLAGGEMS_INSTANCE(upsample_nearest_backward_bf16,
                  fk::windows<bf16, nearest_of, fk::window_sum<bf16>>, i64, walk<bf16, nearest_of>,
                  fk::window_sum<bf16>)
