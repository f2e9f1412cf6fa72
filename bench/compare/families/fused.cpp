// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Chains of four operators: one expression of ours, one pass; the libraries' operators one after
// the other.
#include "../compare.hpp"

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/pointwise.hpp>

namespace compare {

const char* const family_name = "fused";

namespace {

template <class T>
void all(session& s) {
  for (const auto& size : s.size_classes()) {
    const i64 n = size.bytes / 4 / static_cast<i64>(sizeof(T));
    const auto a = s.random<T>({n}, -2, 2), b = s.random<T>({n}, -2, 2), c = s.random<T>({n});
    auto out = s.random<T>({n});
    const double one = static_cast<double>(a.bytes());
    // Each operator of a chain rounds to 16 bits; ours rounds once.
    const double tolerance = tolerance_of<T>() * (sizeof(T) == 2 ? 3 : 1);
    const auto chain = [&](const char* op, std::vector<operand> in, double streams, auto f) {
      s.measure({op,
                 text({n}),
                 {op, std::move(in), {of(out)}, {}},
                 f,
                 streams * one,
                 0,
                 roof::triad,
                 tolerance});
    };
    chain("mul_add_silu_mul", {of(a), of(b), of(c)}, 4,
          [&] { fg::assign(s.stream, out, fg::silu(a * b + c) * a); });
    chain("scale_bias_clamp_add", {of(a), of(b)}, 3,
          [&] { fg::assign(s.stream, out, fg::clamp(a * 1.5F + 0.25F, -1, 1) + b); });
    if (s.options.quick) continue;
    chain("gelu_mul_add_tanh", {of(a), of(b), of(c)}, 4,
          [&] { fg::assign(s.stream, out, fg::tanh(fg::gelu(a) * b + c)); });
  }
}

}  // namespace

void family(session& s) {
  all<fg::f32>(s);
  if (!s.options.quick) all<fg::bf16>(s);
}

}  // namespace compare
