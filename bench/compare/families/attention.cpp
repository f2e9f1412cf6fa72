// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention of whole prompts and of one token over a cache of keys and values.
#include "../compare.hpp"

#include <flaggems/ops/attention.hpp>

namespace compare {

const char* const family_name = "attention";

namespace {

template <class T>
void line(session& s, i64 queries, i64 keys, i64 heads, i64 size, bool causal) {
  const auto q = s.random<T>({1, heads, queries, size}), k = s.random<T>({1, heads, keys, size}),
             v = s.random<T>({1, heads, keys, size});
  auto out = s.random<T>({1, heads, queries, size});
  // For those that compose it: true above the diagonal.
  auto mask = s.random<bool>({queries, keys});
  for (i64 i = 0; i < queries; ++i)
    for (i64 j = 0; j < keys; ++j) mask.data()[i * keys + j] = j > i;
  const fg::attention_options options{.is_causal = causal};
  const double pairs = static_cast<double>(queries * keys) * (causal ? 0.5 : 1);
  const bool reads = queries <= 2;
  s.measure(
      {queries == 1 ? "decode"
       : causal     ? "causal"
                    : "prefill",
       text({heads, queries, keys, size}),
       {"attention", {of(q), of(k), of(v), of(mask)}, {of(out)}, {causal ? 1.0 : 0.0}},
       [&] { fg::scaled_dot_product_attention(s.stream, q, k, v, std::nullopt, out, options); },
       static_cast<double>(k.bytes() + v.bytes()),
       4.0 * pairs * static_cast<double>(heads * size),
       reads            ? roof::read
       : sizeof(T) == 2 ? roof::bf16
                        : roof::f32,
       tolerance_of<T>() * 2});
}

}  // namespace

void family(session& s) {
  if (s.options.quick) {
    line<fg::f32>(s, 256, 256, 8, 64, true);
    line<fg::f32>(s, 1, 4096, 8, 64, false);
    line<fg::bf16>(s, 1, 4096, 8, 64, false);
    return;
  }
  for (const bool causal : {false, true})
    for (const i64 n : {128, 512, 2048}) {
      line<fg::f32>(s, n, n, 8, 64, causal);
      if (n <= 512) line<fg::f32>(s, n, n, 8, 128, causal);
      if (n <= 512) line<fg::bf16>(s, n, n, 8, 64, causal);
    }
  for (const i64 keys : {1, 16, 256, 2048, 32768}) {
    line<fg::f32>(s, 1, keys, 8, 64, false);
    line<fg::bf16>(s, 1, keys, 8, 64, false);
  }
}

}  // namespace compare
