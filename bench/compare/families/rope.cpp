// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding of the heads of queries and keys.
#include "../compare.hpp"

#include <flaggems/ops/rotary.hpp>

namespace compare {

const char* const family_name = "rope";

namespace {

template <class T>
void all(session& s, i64 tokens) {
  const i64 heads = 9, key_heads = 3, size = 64;
  const auto q = s.random<T>({tokens, heads, size}), k = s.random<T>({tokens, key_heads, size});
  auto q_out = s.random<T>({tokens, heads, size}), k_out = s.random<T>({tokens, key_heads, size});
  const auto cos = s.random<T>({tokens, size / 2}), sin = s.random<T>({tokens, size / 2});
  // The others take them for each element of a head.
  auto both_cos = s.random<T>({tokens, 1, size}), both_sin = s.random<T>({tokens, 1, size});
  for (i64 t = 0; t < tokens; ++t)
    for (i64 j = 0; j < size; ++j) {
      both_cos.data()[t * size + j] = cos.data()[t * (size / 2) + j % (size / 2)];
      both_sin.data()[t * size + j] = sin.data()[t * (size / 2) + j % (size / 2)];
    }
  s.measure(
      {"apply_rotary_pos_emb",
       text({tokens, heads + key_heads, size}),
       {"rope", {of(q), of(k), of(both_cos), of(both_sin)}, {of(q_out), of(k_out)}, {}},
       [&] { fg::apply_rotary_pos_emb(s.stream, q, k, cos, sin, std::nullopt, q_out, k_out); },
       2.0 * static_cast<double>(q.bytes() + k.bytes()) +
           static_cast<double>(cos.bytes() + sin.bytes()),
       0,
       roof::copy,
       tolerance_of<T>() * (sizeof(T) == 2 ? 2 : 1)});
}

}  // namespace

void family(session& s) {
  for (const i64 tokens : {1, 16, 512, 16384}) {
    if (s.options.quick && tokens != 16 && tokens != 16384) continue;
    all<fg::f32>(s, tokens);
    if (!s.options.quick) all<fg::bf16>(s, tokens);
  }
}

}  // namespace compare
