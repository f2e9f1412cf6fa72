// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "bridge.hpp"

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/gemm_epilogue.hpp>

namespace bridge {
namespace {

const entry mv("mv", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::mv(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(2));
  });
});
const entry linear("linear", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::linear(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(2));
  });
});
const entry mm("mm", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::mm(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(2));
  });
});
const entry linear_bias("linear_bias", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::linear(c.on, c.view<const T>(0), c.view<const T>(1), c.view<const T>(2), c.view<T>(3));
  });
});
const entry linear_gelu("linear_gelu", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::linear(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(3),
               fg::epilogue(fg::gelu(fg::product + c.view<const T>(2))));
  });
});
const entry addmm("addmm", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::addmm(c.on, c.view<const T>(2), c.view<const T>(0), c.view<const T>(1), c.view<T>(3));
  });
});
const entry bmm("bmm", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::bmm(c.on, c.view<const T>(0), c.view<const T>(1), c.view<T>(2));
  });
});

}  // namespace
}  // namespace bridge
