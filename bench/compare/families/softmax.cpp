// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// softmax and log_softmax over rows.
#include "../compare.hpp"

#include <flaggems/ops/softmax.hpp>

namespace compare {

const char* const family_name = "softmax";

namespace {

template <class T>
void all(session& s) {
  for (const auto& c : s.size_classes())
    for (const i64 columns : {64, 1024, 32768}) {
      if (s.options.quick && columns != 1024) continue;
      const i64 rows = c.bytes / 2 / static_cast<i64>(sizeof(T)) / columns;
      if (rows < 1) continue;
      const auto x = s.random<T>({rows, columns}, -4, 4);
      auto out = s.random<T>({rows, columns});
      const double bytes = 2.0 * static_cast<double>(x.bytes());
      const std::string shape = text({rows, columns});
      s.measure({"softmax",
                 shape,
                 {"softmax", {of(x)}, {of(out)}, {-1}},
                 [&] { fg::softmax(s.stream, x, out, -1); },
                 bytes,
                 0,
                 roof::copy,
                 tolerance_of<T>(),
                 1.0 / static_cast<double>(columns)});
      if (s.options.quick && sizeof(T) == 2) continue;
      s.measure({"log_softmax",
                 shape,
                 {"log_softmax", {of(x)}, {of(out)}, {-1}},
                 [&] { fg::log_softmax(s.stream, x, out, -1); },
                 bytes,
                 0,
                 roof::copy,
                 tolerance_of<T>()});
    }
}

}  // namespace

void family(session& s) {
  all<fg::f32>(s);
  all<fg::bf16>(s);
}

}  // namespace compare
