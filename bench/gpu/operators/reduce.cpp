// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include "bridge.hpp"

#include <flaggems/ops/reduce.hpp>

#include <optional>

namespace bridge {
namespace {

// Over the dimension that the first number names; over all if there is none.
fg::int_list dims_of(const call& c, const i64 (&one)[1]) {
  return c.numbers.empty() ? fg::int_list() : fg::int_list(one);
}

#define FLAGGEMS_BENCH_REDUCTION(name)                                   \
  const entry name(#name, [](const call& c) {                            \
    with_float(c, 0, [&]<class T>(T) {                                   \
      const i64 one[1] = {c.numbers.empty() ? 0 : c.integer(0)};         \
      fg::name(c.on, c.view<const T>(0), c.view<T>(1), dims_of(c, one)); \
    });                                                                  \
  });
FLAGGEMS_BENCH_REDUCTION(sum)
FLAGGEMS_BENCH_REDUCTION(mean)
FLAGGEMS_BENCH_REDUCTION(amax)
FLAGGEMS_BENCH_REDUCTION(prod)
#undef FLAGGEMS_BENCH_REDUCTION

const entry argmax("argmax", [](const call& c) {
  with_float(c, 0, [&]<class T>(T) {
    const std::optional<i64> dim =
        c.numbers.empty() ? std::nullopt : std::optional<i64>(c.integer(0));
    fg::argmax(c.on, c.view<const T>(0), c.view<i64>(1), dim);
  });
});

}  // namespace
}  // namespace bridge
