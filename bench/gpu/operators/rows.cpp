// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "bridge.hpp"

#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/softmax.hpp>

namespace bridge {
namespace {

const entry softmax("softmax", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) { fg::softmax(c.on, c.view<const T>(0), c.view<T>(1), -1); });
});
const entry log_softmax("log_softmax", [](const call& c) {
  with_float(c, 0,
             [&]<class T>(T) { fg::log_softmax(c.on, c.view<const T>(0), c.view<T>(1), -1); });
});
const entry layer_norm("layer_norm", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::layer_norm(c.on, c.view<const T>(0), {c.tensors[1].sizes[0]}, c.view<const T>(1),
                   c.view<const T>(2), c.view<T>(3));
  });
});
const entry rms_norm("rms_norm", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::rms_norm(c.on, c.view<const T>(0), {c.tensors[1].sizes[0]}, c.view<const T>(1),
                 c.view<T>(2), 1e-5);
  });
});
const entry fused_add_rms_norm("fused_add_rms_norm", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::fused_add_rms_norm(c.on, c.view<T>(1), c.view<T>(2), c.view<const T>(0), 1e-5);
  });
});

}  // namespace
}  // namespace bridge
