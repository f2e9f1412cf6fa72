// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Three matrices joined along either dimension.
#include "../compare.hpp"

#include <flaggems/ops/cat.hpp>

namespace compare {

const char* const family_name = "cat";

namespace {

template <class T>
void all(session& s) {
  for (const auto& c : s.size_classes())
    for (const i64 dim : {0, 1}) {
      const i64 columns = 256;
      const i64 rows = c.bytes / 6 / static_cast<i64>(sizeof(T)) / columns;
      if (rows < 1) continue;
      const auto x = s.random<T>({rows, columns}), y = s.random<T>({rows, columns}),
                 z = s.random<T>({rows, columns});
      auto out =
          s.random<T>(dim == 0 ? fg::shape{3 * rows, columns} : fg::shape{rows, 3 * columns});
      s.measure({dim == 0 ? "cat rows" : "cat columns",
                 "3x " + text({rows, columns}),
                 {"cat", {of(x), of(y), of(z)}, {of(out)}, {static_cast<double>(dim)}},
                 [&] {
                   fg::cat(s.stream, {x.view(), y.view(), z.view()}, out, dim);
                 },
                 2.0 * static_cast<double>(out.bytes()),
                 0,
                 roof::copy,
                 0});
    }
}

}  // namespace

void family(session& s) {
  all<fg::f32>(s);
  if (!s.options.quick) all<fg::bf16>(s);
}

}  // namespace compare
