// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies: contiguous, converting, transposed, of every second column.
#include "../compare.hpp"

#include <flaggems/ops/copy.hpp>

namespace compare {

const char* const family_name = "copy";

namespace {

template <class To, class From, class X>
void line(session& s, const char* op, const std::string& shape, const X& from, fg::tensor<To>& to) {
  const double bytes = static_cast<double>(to.numel()) * (sizeof(To) + sizeof(From));
  s.measure({op,
             shape,
             {"copy", {of(from)}, {of(to)}, {}},
             [&] { fg::copy_(s.stream, to, from); },
             bytes,
             0,
             roof::copy,
             tolerance_of<To>()});
}

template <class T>
void transposes(session& s) {
  for (const auto& c : s.size_classes()) {
    const i64 n = c.bytes / 2 / static_cast<i64>(sizeof(T));
    const i64 side = static_cast<i64>(std::sqrt(static_cast<double>(n))) / 8 * 8;
    const auto x = s.random<T>({side, side});
    auto out = s.random<T>({side, side});
    line<T, T>(s, "transpose", text({side, side}), x.view().t(), out);
    if (s.options.quick) continue;
    const i64 odd = side - 3;
    const auto y = s.random<T>({odd, side});
    auto across = s.random<T>({side, odd});
    line<T, T>(s, "transpose", text({odd, side}), y.view().t(), across);
    const i64 tokens = n / (8 * 64);
    if (tokens < 2) continue;
    const auto heads = s.random<T>({tokens, 8, 64});
    auto first = s.random<T>({8, tokens, 64});
    line<T, T>(s, "heads first", text({tokens, 8, 64}), heads.view().transpose(0, 1), first);
    const auto wide = s.random<T>({tokens, 1024});
    auto half = s.random<T>({tokens, 512});
    line<T, T>(s, "every second", text({tokens, 1024}), wide.view().slice(1, 0, 1024, 2), half);
  }
}

}  // namespace

void family(session& s) {
  for (const auto& c : s.size_classes()) {
    const i64 n = c.bytes / 8;
    const auto x = s.random<fg::f32>({n});
    auto out = s.random<fg::f32>({n});
    line<fg::f32, fg::f32>(s, "copy", text({n}), x, out);
    if (s.options.quick) continue;
    auto narrow = s.random<fg::bf16>({n});
    line<fg::bf16, fg::f32>(s, "to bf16", text({n}), x, narrow);
    line<fg::f32, fg::bf16>(s, "to f32", text({n}), narrow, out);
  }
  transposes<fg::f32>(s);
  if (!s.options.quick) transposes<fg::bf16>(s);
}

}  // namespace compare
