// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of signed bytes with exact sums in 32 bits.
#include "../compare.hpp"

#include <flaggems/ops/gemm.hpp>

namespace compare {

const char* const family_name = "int8";

namespace {

void product(session& s, const char* form, i64 m, i64 n, i64 k) {
  const bool tb = form[1] == 't';
  const auto a = s.random<fg::i8>({m, k}, -127, 127);
  // Without VNNI oneDNN adds pairs of products in 16 bits, which saturate beyond 7 bits of one
  // factor.
  const auto b = tb ? s.random<fg::i8>({n, k}, -63, 64) : s.random<fg::i8>({k, n}, -63, 64);
  auto out = s.random<fg::i32>({m, n});
  const auto vb = tb ? b.view().t() : b.view();
  s.measure({"mm",
             text({m, n, k}) + " " + form,
             {"mm_i8", {of(a), of(vb)}, {of(out)}, {}},
             [&] { fg::mm(s.stream, a, vb, out); },
             static_cast<double>(a.bytes() + b.bytes() + out.bytes()),
             2.0 * static_cast<double>(m * n) * static_cast<double>(k),
             m <= 2 ? roof::read : roof::i8,
             0});
}

}  // namespace

void family(session& s) {
  if (s.options.quick) return product(s, "nt", 512, 512, 512);
  for (const char* form : {"nn", "nt"}) {
    for (const i64 n : {64, 256, 512, 1024, 2048}) product(s, form, n, n, n);
    for (const i64 m : {1, 4, 32}) product(s, form, m, 4096, 4096);
  }
}

}  // namespace compare
