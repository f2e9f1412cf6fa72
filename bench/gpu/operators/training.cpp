// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "bridge.hpp"

#include <flaggems/ops/cross_entropy.hpp>
#include <flaggems/ops/group_norm.hpp>
#include <flaggems/ops/softmax.hpp>

#include <optional>

namespace bridge {
namespace {

using fg::f32;

const entry softmax_backward("softmax_backward", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::softmax_backward(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(2), -1);
  });
});
const entry log_softmax_backward("log_softmax_backward", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::log_softmax_backward(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(2), -1);
  });
});
const entry native_layer_norm("native_layer_norm", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::native_layer_norm(c.on, c.view<const T>(0), {c.tensors[1].sizes[0]}, c.view<const T>(1),
                          c.view<const T>(2), c.view<T>(3), c.view<f32>(4), c.view<f32>(5), 1e-5);
  });
});
const entry native_layer_norm_backward("native_layer_norm_backward", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::native_layer_norm_backward(c.on, c.view<const T>(0), c.view<const T>(1),
                                   {c.tensors[4].sizes[0]}, c.view<const f32>(2),
                                   c.view<const f32>(3), c.view<const T>(4), std::nullopt,
                                   c.view<T>(5), c.view<T>(6), c.view<T>(7));
  });
});
const entry fused_rms_norm_backward("fused_rms_norm_backward", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::fused_rms_norm_backward(c.on, c.view<const T>(0), c.view<const T>(1),
                                {c.tensors[3].sizes[0]}, c.view<const f32>(2), c.view<const T>(3),
                                c.view<T>(4), c.view<T>(5));
  });
});
const entry group_norm("group_norm", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::group_norm(c.on, c.view<const T>(0), c.integer(0), c.view<const T>(1), c.view<const T>(2),
                   c.view<T>(3));
  });
});
const entry cross_entropy_loss("cross_entropy_loss", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::cross_entropy_loss(c.on, c.view<const T>(0), c.view<const i64>(1), std::nullopt,
                           c.view<T>(2));
  });
});

}  // namespace
}  // namespace bridge
