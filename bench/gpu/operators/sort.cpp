// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "bridge.hpp"

#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/topk.hpp>

namespace bridge {
namespace {

const entry topk("topk", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::topk(c.on, c.view<const T>(0), c.integer(0), c.view<T>(1), c.view<i64>(2));
  });
});
const entry argsort("argsort", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) { fg::argsort(c.on, c.view<const T>(0), c.view<i64>(1)); });
});

}  // namespace
}  // namespace bridge
