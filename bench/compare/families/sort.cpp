// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// sort and argsort of rows without equal elements.
#include "../compare.hpp"

#include <flaggems/ops/sort.hpp>

#include <numeric>

namespace compare {

const char* const family_name = "sort";

void family(session& s) {
  const std::vector<std::pair<i64, i64>> sizes =
      s.options.quick
          ? std::vector<std::pair<i64, i64>>{{64, 1024}, {1, 1000000}}
          : std::vector<std::pair<i64, i64>>{{4096, 16}, {256, 256},  {64, 1024},   {1, 4096},
                                             {1, 49152}, {64, 49152}, {1, 1000000}, {1, 10000000}};
  for (const auto& [rows, columns] : sizes) {
    auto x = s.random<fg::f32>({rows, columns});
    // A permutation of different numbers: which of equal ones comes first is not the same
    // everywhere.
    for (i64 r = 0; r < rows; ++r) {
      i64 step = 7919 + 2 * r;
      while (std::gcd(step, columns) != 1) ++step;
      for (i64 i = 0, at = r; i < columns; ++i, at += step)
        x.data()[r * columns + i] =
            static_cast<float>(at % columns) - static_cast<float>(columns / 2);
    }
    auto values = s.random<fg::f32>({rows, columns});
    auto indices = s.random<fg::i64>({rows, columns});
    const std::string shape = text({rows, columns});
    const double bytes = static_cast<double>(x.bytes());
    s.measure({"sort",
               shape,
               {"sort", {of(x)}, {of(values), of(indices)}, {-1}},
               [&] { fg::sort(s.stream, x, values, indices); },
               2 * bytes + static_cast<double>(indices.bytes()),
               0,
               roof::none,
               0});
    s.measure({"argsort",
               shape,
               {"argsort", {of(x)}, {of(indices)}, {-1}},
               [&] { fg::argsort(s.stream, x, indices); },
               bytes + static_cast<double>(indices.bytes()),
               0,
               roof::none,
               0});
  }
}

}  // namespace compare
