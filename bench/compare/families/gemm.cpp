// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: all forms, odd sizes, batches, small, skinny, vectors.
#include "../compare.hpp"

#include <flaggems/ops/gemm.hpp>

namespace compare {

const char* const family_name = "gemm";

namespace {

template <class T>
constexpr roof roof_of() {
  return std::is_same_v<T, fg::f64>    ? roof::f64
         : std::is_same_v<T, fg::bf16> ? roof::bf16
                                       : roof::f32;
}

/// form "nt": the second matrix is stored by columns.
template <class T>
void product(session& s, const char* form, i64 m, i64 n, i64 k, i64 batches = 0) {
  const bool ta = form[0] == 't', tb = form[1] == 't', batched = batches > 0;
  const i64 count = batched ? batches : 1;
  const auto a = ta ? s.random<T>({count, k, m}) : s.random<T>({count, m, k});
  const auto b = tb ? s.random<T>({count, n, k}) : s.random<T>({count, k, n});
  auto out = s.random<T>({count, m, n});
  const auto va = ta ? a.view().transpose(1, 2) : a.view();
  const auto vb = tb ? b.view().transpose(1, 2) : b.view();
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k * count);
  const double bytes = static_cast<double>(a.bytes() + b.bytes() + out.bytes());
  // A product with few rows or columns is bound by reading the other matrix.
  const roof bound = m <= 2 || n <= 2 ? roof::read : roof_of<T>();
  const std::string shape = (batched ? text({batches}) + "x " : "") + text({m, n, k}) + " " + form;
  const double scale = std::sqrt(static_cast<double>(k)) * (sizeof(T) == 8 ? 1 : 0.5);
  if (batched) {
    s.measure({"bmm",
               shape,
               {"bmm", {of(va), of(vb)}, {of(out)}, {}},
               [&] { fg::bmm(s.stream, va, vb, out); },
               bytes,
               flops,
               bound,
               tolerance_of<T>(),
               scale});
    return;
  }
  const auto ma = va.select(0, 0), mb = vb.select(0, 0);
  auto mc = out.view().select(0, 0);
  s.measure({"mm",
             shape,
             {"mm", {of(ma), of(mb)}, {of(mc)}, {}},
             [&] { fg::mm(s.stream, ma, mb, mc); },
             bytes,
             flops,
             bound,
             tolerance_of<T>(),
             scale});
}

template <class T>
void vector(session& s, bool across, i64 m, i64 k) {
  const auto stored = across ? s.random<T>({k, m}) : s.random<T>({m, k});
  const auto a = across ? stored.view().t() : stored.view();
  const auto x = s.random<T>({k});
  auto out = s.random<T>({m});
  s.measure({"mv",
             text({m, k}) + (across ? " t" : " n"),
             {"mv", {of(a), of(x)}, {of(out)}, {}},
             [&] { fg::mv(s.stream, a, x, out); },
             static_cast<double>(stored.bytes()),
             2.0 * static_cast<double>(m * k),
             roof::read,
             tolerance_of<T>(),
             std::sqrt(static_cast<double>(k)) * 0.5});
}

void quick(session& s) {
  for (const char* form : {"nn", "nt"}) {
    product<float>(s, form, 32, 32, 32);
    product<float>(s, form, 256, 256, 256);
    product<float>(s, form, 1000, 1000, 1000);
  }
  product<float>(s, "nt", 4, 4096, 4096);
  vector<float>(s, false, 4096, 4096);
  product<double>(s, "nn", 512, 512, 512);
  product<fg::bf16>(s, "nt", 512, 512, 512);
  product<fg::f16>(s, "nt", 512, 512, 512);
}

}  // namespace

void family(session& s) {
  if (s.options.quick) return quick(s);
  for (const char* form : {"nn", "nt", "tn", "tt"})
    for (const i64 n : {8, 16, 32, 64, 100, 128, 256, 511, 1024}) product<float>(s, form, n, n, n);
  product<float>(s, "nn", 2048, 2048, 2048);
  product<float>(s, "nt", 2048, 2048, 2048);
  product<float>(s, "nn", 1537, 1025, 771);
  product<float>(s, "tn", 333, 2000, 129);
  for (const i64 m : {1, 2, 4, 8, 16})
    for (const char* form : {"nn", "nt"}) {
      product<float>(s, form, m, 4096, 4096);
      product<float>(s, form, 4096, m, 4096);
    }
  product<float>(s, "nn", 64, 64, 64, 64);
  product<float>(s, "nt", 128, 128, 64, 32);
  product<float>(s, "nn", 256, 256, 256, 8);
  for (const i64 n : {512, 4096})
    for (const bool across : {false, true}) {
      vector<float>(s, across, n, n);
      vector<double>(s, across, n, n);
      vector<fg::bf16>(s, across, n, n);
    }
  for (const char* form : {"nn", "nt"}) {
    for (const i64 n : {64, 256, 1024}) product<double>(s, form, n, n, n);
    for (const i64 n : {64, 256, 512, 1024, 2048}) product<fg::bf16>(s, form, n, n, n);
    for (const i64 n : {256, 1024}) product<fg::f16>(s, form, n, n, n);
    for (const i64 m : {1, 4, 16}) product<fg::bf16>(s, form, m, 4096, 4096);
  }
}

}  // namespace compare
