// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/window/fractional.hpp>
#include <flaggems/kernel/family/window/grid_sample.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::bf16;
using flaggems::i64;
using linear = fk::linear_taps;
using nearest = fk::nearest_taps<float>;
using nearest_of = fk::nearest_of_taps<float>;
using adaptive = fk::adaptive_taps;
using by_line = fk::interpolated_taps<float, false>;
using by_cubic = fk::interpolated_taps<float, true>;
using smoothly = fk::smoothed_taps<float, true>;
template <class Taps>
using gradient_of = fk::weighted_gradient_taps<float, Taps>;
template <class T>
using adaptive_mean = fk::window_mean<T, fk::adaptive_area>;
template <class T>
using adaptive_mean_backward = fk::window_mean_backward<T, fk::adaptive_area>;
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
FLAGGEMS_INSTANCE(adaptive_avg_pool_bf16, fk::windows<bf16, adaptive, adaptive_mean<bf16>>, i64,
                  walk<bf16, adaptive>, adaptive_mean<bf16>)
FLAGGEMS_INSTANCE(adaptive_avg_pool_backward_f32,
                  fk::windows<float, adaptive, adaptive_mean_backward<float>>, i64,
                  walk<float, adaptive>, adaptive_mean_backward<float>)
FLAGGEMS_INSTANCE(adaptive_max_pool_f32, fk::windows<float, adaptive, fk::window_greatest<float>>,
                  i64, walk<float, adaptive>, fk::window_greatest<float>)
FLAGGEMS_INSTANCE(upsample_linear_bf16, fk::windows<bf16, by_line, fk::window_sum<bf16>>, i64,
                  walk<bf16, by_line>, fk::window_sum<bf16>)
FLAGGEMS_INSTANCE(upsample_linear_backward_f32,
                  fk::windows<float, gradient_of<by_line>, fk::window_sum<float>>, i64,
                  walk<float, gradient_of<by_line>>, fk::window_sum<float>)
FLAGGEMS_INSTANCE(upsample_cubic_f32, fk::windows<float, by_cubic, fk::window_sum<float>>, i64,
                  walk<float, by_cubic>, fk::window_sum<float>)
FLAGGEMS_INSTANCE(upsample_smooth_f32, fk::windows<float, smoothly, fk::window_sum<float>>, i64,
                  walk<float, smoothly>, fk::window_sum<float>)
FLAGGEMS_INSTANCE(upsample_smooth_backward_bf16,
                  fk::windows<bf16, gradient_of<smoothly>, fk::window_sum<bf16>>, i64,
                  walk<bf16, gradient_of<smoothly>>, fk::window_sum<bf16>)
FLAGGEMS_INSTANCE(conv_transpose_bf16, fk::windows<bf16, linear, fk::window_biased_sum<bf16>>, i64,
                  walk<bf16, linear>, fk::window_biased_sum<bf16>)
FLAGGEMS_INSTANCE(fractional_max_pool2d_bf16, fk::fractional_maxima<bf16>, i64,
                  fk::fractional_pool<bf16>)
FLAGGEMS_INSTANCE(grid_sampler_bf16, fk::grid_samples<bf16>, i64, fk::grid_request<bf16>,
                  fk::window_out<bf16>)
FLAGGEMS_INSTANCE(grid_sampler_backward_f32, fk::grid_parts<float>, i64, fk::grid_request<float>,
                  i64, fk::global_ptr<i64>, fk::global_ptr<float>)
