// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "bridge.hpp"

#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/embedding.hpp>
#include <flaggems/ops/rotary.hpp>

#include <optional>

namespace bridge {
namespace {

const entry copy("copy", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    with_float(c, 1, [&]<class To>(To) { fg::copy_(c.on, c.view<To>(1), c.view<const T>(0)); });
  });
});
const entry embedding("embedding", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::embedding(c.on, c.view<const T>(0), c.view<const i64>(1), c.view<T>(2));
  });
});
const entry index_select("index_select", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::index_select(c.on, c.view<const T>(0), c.integer(0), c.view<const i64>(1), c.view<T>(2));
  });
});
const entry cat("cat", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::cat(c.on, {c.view<const T>(0), c.view<const T>(1)}, c.view<T>(2), c.integer(0));
  });
});
const entry rope("rope", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    fg::apply_rotary_pos_emb(c.on, c.view<const T>(0), c.view<const T>(1), c.view<const T>(2),
                             c.view<const T>(3), std::nullopt, c.view<T>(4), c.view<T>(5));
  });
});

}  // namespace
}  // namespace bridge
