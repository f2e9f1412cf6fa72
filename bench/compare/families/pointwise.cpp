// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators element by element.
#include "../compare.hpp"

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/pointwise.hpp>

namespace compare {

const char* const family_name = "pointwise";

namespace {

template <class T>
void all(session& s) {
  const double item = sizeof(T), tolerance = tolerance_of<T>();
  for (const auto& c : s.size_classes()) {
    // By three operands, so that all rows of a class have one size.
    const i64 n = c.bytes / 3 / static_cast<i64>(sizeof(T));
    const auto a = s.random<T>({n}, -3, 3), b = s.random<T>({n}, -3, 3);
    auto out = s.random<T>({n});
    const double size = static_cast<double>(n) * item;
    const std::string shape = text({n});
    const auto unary = [&](const char* op, auto f, std::vector<double> numbers = {}) {
      s.measure({op,
                 shape,
                 {op, {of(a)}, {of(out)}, numbers},
                 [&, f] { f(a, out); },
                 2 * size,
                 0,
                 roof::copy,
                 tolerance});
    };
    s.measure({"add",
               shape,
               {"add", {of(a), of(b)}, {of(out)}, {}},
               [&] { fg::add(s.stream, a, b, out); },
               3 * size,
               0,
               roof::triad,
               tolerance});
    if (s.options.quick && sizeof(T) == 2) continue;
    unary("silu", [&](auto& x, auto& y) { fg::silu(s.stream, x, y); });
    unary("gelu", [&](auto& x, auto& y) { fg::gelu(s.stream, x, y); });
    if (s.options.quick) continue;
    unary("mul_scalar", [&](auto& x, auto& y) { fg::mul(s.stream, x, 1.5F, y); }, {1.5});
    unary("exp", [&](auto& x, auto& y) { fg::exp(s.stream, x, y); });
    auto chosen = s.random<bool>({n});
    for (i64 i = 0; i < n; ++i) chosen.data()[i] = static_cast<float>(a.data()[i]) > 0.3F;
    s.measure({"where",
               shape,
               {"where", {of(chosen), of(a), of(b)}, {of(out)}, {}},
               [&] { fg::where(s.stream, chosen, a, b, out); },
               3 * size + static_cast<double>(n),
               0,
               roof::triad,
               tolerance});
  }
}

}  // namespace

void family(session& s) {
  all<fg::f32>(s);
  all<fg::bf16>(s);
}

}  // namespace compare
