// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Layers of models, and what mathematics libraries have: pools, interpolation, batch norms,
// networks with a state, transforms and factors of matrices.
#include "bridge.hpp"

#include <flaggems/ops/batch_norm.hpp>
#include <flaggems/ops/cholesky.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/einsum.hpp>
#include <flaggems/ops/fft.hpp>
#include <flaggems/ops/interpolate.hpp>
#include <flaggems/ops/lu.hpp>
#include <flaggems/ops/pool.hpp>
#include <flaggems/ops/recurrent.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/svd.hpp>

#include <optional>
#include <tuple>
#include <vector>

namespace bridge {
namespace {

using fg::f32;

const entry sort("sort", [](const call& c) {
  with_float(c, 0,
             [&]<class T>(T) { fg::sort(c.on, c.view<const T>(0), c.view<T>(1), c.view<i64>(2)); });
});
const entry avg_pool2d("avg_pool2d", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::avg_pool2d(c.on, c.view<const T>(0), c.view<T>(1), {c.integer(0)}, {c.integer(1)});
  });
});
const entry max_pool2d("max_pool2d", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::max_pool2d_with_indices(c.on, c.view<const T>(0), c.view<T>(1), c.view<i64>(2),
                                {c.integer(0)}, {c.integer(1)});
  });
});
const entry upsample_bilinear2d("upsample_bilinear2d", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    const auto out = c.view<T>(1);
    fg::upsample_bilinear2d(c.on, c.view<const T>(0), out, {out.size(2), out.size(3)}, false);
  });
});
/// x, weight, bias, the running mean and variance, and the results; whether it trains.
const entry native_batch_norm("native_batch_norm", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::native_batch_norm(c.on, c.view<const T>(0), c.view<const f32>(1), c.view<const f32>(2),
                          c.view<f32>(3), c.view<f32>(4), c.view<T>(7), c.view<f32>(5),
                          c.view<f32>(6), c.integer(0) != 0, 0.1, 1e-5);
  });
});
/// x, h, c, w_ih, w_hh and the output; the output is a copy.
const entry lstm("lstm", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    using views = std::vector<fg::tensor_view<const T, device>>;
    const views states{c.view<const T>(1), c.view<const T>(2)};
    const views params{c.view<const T>(3), c.view<const T>(4)};
    const auto r =
        fg::lstm(c.on, c.view<const T>(0), states, params, false, 1, 0.0, false, false, false);
    fg::copy_(c.on, c.view<T>(5), r.out);
  });
});
/// Products of heads; the output is a copy.
const entry einsum("einsum", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    const auto x = c.view<const T>(0), y = c.view<const T>(1);
    fg::copy_(c.on, c.view<T>(2), fg::einsum(c.on, "bqhd,bkhd->bhqk", std::tie(x, y)));
  });
});
const entry fft_fft("fft_fft", [](const call& c) {
  fg::fft_fft(c.on, c.view<const fg::c64>(0), c.view<fg::c64>(1));
});
const entry linalg_cholesky("linalg_cholesky", [](const call& c) {
  fg::linalg_cholesky(c.on, c.view<const f32>(0), c.view<f32>(1));
});
const entry linalg_lu_factor("linalg_lu_factor", [](const call& c) {
  fg::linalg_lu_factor(c.on, c.view<const f32>(0), c.view<f32>(1), c.view<fg::i32>(2));
});
const entry linalg_svdvals("linalg_svdvals", [](const call& c) {
  fg::linalg_svdvals(c.on, c.view<const f32>(0), c.view<f32>(1));
});

}  // namespace
}  // namespace bridge
