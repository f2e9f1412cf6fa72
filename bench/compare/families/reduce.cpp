// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// sum, mean and amax over rows, columns, a middle dimension and all elements; argmax.
#include "../compare.hpp"

#include <flaggems/ops/reduce.hpp>

namespace compare {

const char* const family_name = "reduce";

namespace {

/// x's sizes, the dimensions that go (none: all).
template <class T>
void dims(session& s, const fg::shape& sizes, const std::vector<i64>& over, const char* name) {
  const auto x = s.random<T>(sizes, -1, 1.25);
  const double bytes = static_cast<double>(x.bytes());
  const std::string shape = text(sizes) + " " + name;
  std::vector<double> numbers;
  fg::shape left;
  i64 terms = 1;
  for (int d = 0; d < x.rank(); ++d) {
    const bool goes = over.empty() || std::find(over.begin(), over.end(), d) != over.end();
    if (goes)
      terms *= x.size(d);
    else
      left.push_back(x.size(d));
    if (goes && !over.empty()) numbers.push_back(d);
  }
  auto out = s.random<T>(left);
  // Sums in another order differ by roundings of the partial sums.
  const double n = static_cast<double>(terms);
  const double scale = sizeof(T) == 2 ? std::sqrt(n) + 1 : n * 0.01 + 1;
  const auto line = [&](const char* op, auto f, double by) {
    s.measure({op,
               shape,
               {op, {of(x)}, {of(out)}, numbers},
               f,
               bytes,
               0,
               roof::read,
               tolerance_of<T>(),
               by});
  };
  line(
      "sum", [&] { fg::sum(s.stream, x, out, over); }, scale);
  line(
      "amax", [&] { fg::amax(s.stream, x, out, over); }, 1);
  if (s.options.quick) return;
  line(
      "mean", [&] { fg::mean(s.stream, x, out, over); }, (std::max)(scale / n, 1e-2));
}

template <class T>
void all(session& s) {
  for (const auto& c : s.size_classes()) {
    const i64 n = c.bytes / static_cast<i64>(sizeof(T));
    const i64 columns = (std::min)(n / 16, i64{1024});
    dims<T>(s, {n / columns, columns}, {1}, "rows");
    dims<T>(s, {n / columns, columns}, {0}, "columns");
    if (s.options.quick) continue;
    dims<T>(s, {n / columns, columns}, {}, "all");
    dims<T>(s, {n / columns / 4, 4, columns}, {1}, "middle");
    dims<T>(s, {n / 16, 16}, {1}, "short rows");
  }
}

void argmax(session& s) {
  for (const auto& c : s.size_classes()) {
    const i64 n = c.bytes / 4, columns = (std::min)(n, i64{49152});
    const auto x = s.random<fg::f32>({n / columns, columns});
    // One greatest element a row: which of equal ones is chosen is not the same everywhere.
    for (i64 r = 0; r < x.size(0); ++r)
      const_cast<float*>(x.data())[r * columns + (r * 7919) % columns] = 2;
    auto out = s.random<fg::i64>({n / columns});
    s.measure({"argmax",
               text({n / columns, columns}),
               {"argmax", {of(x)}, {of(out)}, {1}},
               [&] { fg::argmax(s.stream, x, out, 1); },
               static_cast<double>(x.bytes()),
               0,
               roof::read,
               0});
  }
}

}  // namespace

void family(session& s) {
  all<fg::f32>(s);
  if (!s.options.quick) all<fg::bf16>(s);
  argmax(s);
}

}  // namespace compare
