// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The k greatest elements of rows: of a vocabulary, of experts.
#include "../compare.hpp"

#include <flaggems/ops/topk.hpp>

#include <numeric>

namespace compare {

const char* const family_name = "topk";

void family(session& s) {
  struct size {
    i64 rows, columns, k;
  };
  const std::vector<size> sizes =
      s.options.quick ? std::vector<size>{{1, 49152, 50}, {4096, 64, 8}}
                      : std::vector<size>{{1, 1024, 1},    {1, 1024, 50},  {64, 1024, 50},
                                          {1, 49152, 1},   {1, 49152, 50}, {1, 49152, 1000},
                                          {64, 49152, 50}, {4096, 64, 8},  {1, 16777216, 100}};
  for (const auto& [rows, columns, k] : sizes) {
    auto x = s.random<fg::f32>({rows, columns});
    for (i64 r = 0; r < rows; ++r) {
      i64 step = 7919 + 2 * r;
      while (std::gcd(step, columns) != 1) ++step;
      for (i64 i = 0, at = r; i < columns; ++i, at += step)
        x.data()[r * columns + i] = static_cast<float>(at % columns);
    }
    auto values = s.random<fg::f32>({rows, k});
    auto indices = s.random<fg::i64>({rows, k});
    const i64 count = k;  // no structured binding: clang 14 does not capture those
    s.measure({"topk " + std::to_string(k),
               text({rows, columns}),
               {"topk", {of(x)}, {of(values), of(indices)}, {static_cast<double>(k)}},
               [&] { fg::topk(s.stream, x, count, values, indices); },
               static_cast<double>(x.bytes()),
               0,
               roof::read,
               0});
  }
}

}  // namespace compare
