// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/adaptive_pool.hpp>
#include <flaggems/ops/conv_transpose.hpp>
#include <flaggems/ops/fold.hpp>
#include <flaggems/ops/fractional_pool.hpp>
#include <flaggems/ops/grid_sample.hpp>
#include <flaggems/ops/interpolate.hpp>
#include <flaggems/ops/max_unpool.hpp>
#include <flaggems/ops/pad_backward.hpp>
#include <flaggems/ops/pool.hpp>
#include <flaggems/ops/upsample.hpp>

#include "contract.hpp"

namespace contract {

// One, two and three dimensions have the same kernels.
void windows() {
  each(floats{}, [](const auto& x) {
    (void)fg::avg_pool2d(s, x, {2});
    (void)fg::avg_pool2d_backward(s, x, x, {2}, {2}, {0}, false, true, {});
    (void)fg::max_pool2d_with_indices(s, x, {2});
    (void)fg::max_pool2d_with_indices_backward(s, x, x, {2}, {2}, {0}, {1}, false, some<i64>());
    (void)fg::im2col(s, x, {2}, {1}, {0}, {1});
    (void)fg::col2im(s, x, {4, 4}, {2}, {1}, {0}, {1});
    (void)fg::unfold_backward(s, x, {8}, 0, 2, 1);
    (void)fg::reflection_pad2d_backward(s, x, x, {1, 1, 1, 1});
    (void)fg::replication_pad2d_backward(s, x, x, {1, 1, 1, 1});
    (void)fg::upsample_nearest2d(s, x, {4, 4});
    (void)fg::upsample_nearest2d_backward(s, x, {4, 4}, {1, 1, 2, 2});
    (void)fg::upsample_bilinear2d(s, x, {4, 4}, false);
    (void)fg::upsample_bilinear2d_backward(s, x, {4, 4}, {1, 1, 2, 2}, false);
    (void)fg::upsample_bicubic2d(s, x, {4, 4}, false);
    (void)fg::upsample_bicubic2d_backward(s, x, {4, 4}, {1, 1, 2, 2}, false);
    (void)fg::upsample_bilinear2d_aa(s, x, {4, 4}, false);
    (void)fg::upsample_bilinear2d_aa_backward(s, x, {4, 4}, {1, 1, 2, 2}, false);
    (void)fg::upsample_bicubic2d_aa(s, x, {4, 4}, false);
    (void)fg::upsample_bicubic2d_aa_backward(s, x, {4, 4}, {1, 1, 2, 2}, false);
    (void)fg::conv_transpose2d(s, x, x, x);
    (void)fg::grid_sampler(s, x, x, 0, 0, false);
    (void)fg::grid_sampler_2d_backward(s, x, x, x, 0, 0, false);
    (void)fg::affine_grid_generator(s, x, {1, 1, 2, 2}, false);
    (void)fg::max_unpool2d(s, x, some<i64>(), {4, 4});
    (void)fg::adaptive_avg_pool2d(s, x, {2});
    (void)fg::adaptive_avg_pool2d_backward(s, x, x);
    (void)fg::adaptive_max_pool2d(s, x, {2});
    (void)fg::adaptive_max_pool2d_backward(s, x, x, some<i64>());
  });
  each(fg::floating_types{}, [](auto& x) {
    fg::fractional_max_pool2d(s, x, {2, 2}, {2, 2}, x, x, some<i64>());
  });
  (void)fg::upsample_nearest1d(s, some<u8>(), {4});
}

}  // namespace contract
