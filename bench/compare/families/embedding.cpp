// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of a table by their numbers.
#include "../compare.hpp"

#include <flaggems/ops/embedding.hpp>

namespace compare {

const char* const family_name = "embedding";

namespace {

template <class T>
void all(session& s) {
  const i64 rows = s.options.quick ? 16384 : 49152;
  for (const i64 width : {64, 576}) {
    const auto weight = s.random<T>({rows, width});
    for (const i64 count : {1, 64, 1024, 65536}) {
      if (s.options.quick && (width == 64 || count == 1 || count == 1024)) continue;
      auto index = s.random<fg::i64>({count});
      for (i64 i = 0; i < count; ++i)
        index.data()[i] = static_cast<i64>((static_cast<unsigned>(i) * 2654435761U) >> 8) % rows;
      auto out = s.random<T>({count, width});
      s.measure({"embedding",
                 text({count, width}),
                 {"embedding", {of(weight), of(index)}, {of(out)}, {}},
                 [&] { fg::embedding(s.stream, weight, index, out); },
                 2.0 * static_cast<double>(out.bytes()) + static_cast<double>(index.bytes()),
                 0,
                 roof::copy,
                 0});
    }
  }
}

}  // namespace

void family(session& s) {
  all<fg::f32>(s);
  if (!s.options.quick) all<fg::bf16>(s);
}

}  // namespace compare
