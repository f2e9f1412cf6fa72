// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// rms_norm and layer_norm over rows.
#include "../compare.hpp"

#include <flaggems/ops/norm.hpp>

namespace compare {

const char* const family_name = "norm";

namespace {

template <class T>
void all(session& s) {
  for (const auto& c : s.size_classes())
    for (const i64 columns : {576, 4096}) {
      if (s.options.quick && columns == 576) continue;
      const i64 rows = c.bytes / 2 / static_cast<i64>(sizeof(T)) / columns;
      if (rows < 1) continue;
      const auto x = s.random<T>({rows, columns}, -4, 4), weight = s.random<T>({columns}, 0.5, 2),
                 bias = s.random<T>({columns});
      auto out = s.random<T>({rows, columns});
      const double bytes = 2.0 * static_cast<double>(x.bytes());
      const std::string shape = text({rows, columns});
      s.measure({"rms_norm",
                 shape,
                 {"rms_norm", {of(x), of(weight)}, {of(out)}, {}},
                 [&] { fg::rms_norm(s.stream, x, {columns}, weight, out, 1e-5); },
                 bytes,
                 0,
                 roof::copy,
                 tolerance_of<T>() * (sizeof(T) == 2 ? 2 : 1)});
      if (s.options.quick && sizeof(T) == 2) continue;
      s.measure({"layer_norm",
                 shape,
                 {"layer_norm", {of(x), of(weight), of(bias)}, {of(out)}, {}},
                 [&] { fg::layer_norm(s.stream, x, {columns}, weight, bias, out, 1e-5); },
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
