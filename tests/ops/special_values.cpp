// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators along a dimension on what breaks them: NaN, infinities, zeros of both signs, ties,
// denormal numbers; no elements, one, no dimension; strides that are 0 or negative. Random cases at
// random levels against the definitions in double.
//
//   FLAGGEMS_TEST_SEED=s    the seed of another run (printed)
#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/index_select.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/topk.hpp>
#include <support/ops.hpp>

#include <algorithm>
#include <functional>
#include <numeric>

namespace flaggems_test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::nan("");
using values = std::vector<double>;

i64 pick(i64 low, i64 high) { return std::uniform_int_distribution<i64>(low, high)(generator()); }
std::size_t index(i64 i) { return static_cast<std::size_t>(i); }

shape random_sizes(int least_rank = 0) {
  shape s;
  for (i64 rank = pick(least_rank, 3); rank > 0; --rank) {
    const i64 choices[] = {0, 1, 2, 3, 5, 8, 9, 17, 33, 70};
    s.push_back(choices[pick(pick(0, 5) == 0 ? 0 : 1, 9)]);
  }
  return s;
}
/// Numbers of a kind that is the same for all of them.
values random_specials(const shape& sizes) {
  const i64 kind = pick(0, 5);
  const double odd[] = {nan, inf, -inf, 0, -0.0, 1e-42, -1e-42, inf};
  values x(index(sizes.numel()));
  const double constant = odd[pick(0, 7)];
  for (double& v : x) {
    v = static_cast<double>(pick(-8, 8)) / 4;  // ties
    if (kind == 1) v = odd[pick(3, 6)];        // zeros and almost
    if (kind == 2 && pick(0, 9) == 0) v = odd[pick(0, 6)];
    if (kind == 3 && pick(0, 2) != 0) v = -inf;  // masked
    if (kind == 4) v = constant;
    if (kind == 5 && pick(0, 30) == 0) v = odd[pick(1, 2)];
  }
  return x;
}

/// A tensor of rows along `dim`: f(row) gets the positions of a row's elements in row-major order.
template <class F>
void for_each_row(const shape& sizes, int dim, F&& f) {
  if (sizes.numel() == 0) return;
  i64 inner = 1, length = sizes.rank() == 0 ? 1 : sizes[dim];
  for (int d = dim + 1; d < sizes.rank(); ++d) inner *= sizes[d];
  for (i64 outer = 0; outer < sizes.numel() / (inner * length); ++outer)
    for (i64 i = 0; i < inner; ++i) {
      std::vector<std::size_t> row;
      for (i64 k = 0; k < length; ++k) row.push_back(index((outer * length + k) * inner + i));
      f(row);
    }
}

/// A random tensor, a dimension of it, and an output of random strides.
struct problem {
  shape sizes;
  int dim;
  layout in, to;
  test_tensor<f32> x;
  explicit problem(int least_rank = 0)
      : sizes(random_sizes(least_rank)),
        dim(sizes.rank() == 0 ? 0 : static_cast<int>(pick(0, sizes.rank() - 1))),
        in(input_layouts[pick(0, 5)]),
        to(output_layouts[pick(0, 4)]),
        x(sizes, in, random_specials(sizes)) {}
  [[nodiscard]] std::string text() const {
    std::string s = fg::to_string(sizes) + " dim " + std::to_string(dim) + " " + to_string(in) +
                    " to " + to_string(to) + ":";
    for (std::size_t k = 0; k < x.values().size() && k < 40; ++k)
      s += " " + std::to_string(x.values()[k]);
    return s;
  }
  /// The dimension as a caller may name it.
  [[nodiscard]] i64 named() const {
    return pick(0, 1) == 0 ? dim : dim - std::max(sizes.rank(), 1);
  }
};

/// Runs a case many times, each at a random level, until one fails.
template <class F>
void repeat(F&& f) {
  generator().seed(seed());
  for (int k = 0; k < 1000 && !::testing::Test::HasFailure(); ++k) {
    const fg::isa_guard guard(
        static_cast<fg::isa_level>(pick(0, static_cast<int>(fg::detected_isa()))));
    SCOPED_TRACE("case " + std::to_string(k) + " at level " + std::string(to_string(fg::isa())));
    f();
  }
}
/// One value a row in the place of the row's elements.
template <class F>
values map_rows(const problem& p, F f) {
  values y(p.x.values().size());
  for_each_row(p.sizes, p.dim, [&](const std::vector<std::size_t>& row) {
    values in;
    for (const std::size_t at : row) in.push_back(p.x.values()[at]);
    const values out = f(in);
    for (std::size_t k = 0; k < row.size(); ++k) y[row[k]] = out[k];
  });
  return y;
}

values softmax_of(const values& in, bool log) {
  double largest = -inf, sum = 0;
  for (const double v : in) largest = v != v || v > largest ? v : largest;
  for (const double v : in) {
    if (v != v) largest = v;
    sum += std::exp(v - largest);
  }
  values out;
  for (const double v : in)
    out.push_back(log ? v - largest - std::log(sum) : std::exp(v - largest) / sum);
  if (std::any_of(in.begin(), in.end(), [](double v) { return v != v; }))
    std::fill(out.begin(), out.end(), nan);
  return out;
}

TEST(special_values, softmax) {
  repeat([] {
    problem p;
    SCOPED_TRACE(p.text());
    test_tensor<f32> out(p.sizes, p.to);
    fg::softmax(test_stream<host>(), p.x.in(), out.view(), p.named());
    expect_close<f32>(out.read(), map_rows(p, [](const values& v) { return softmax_of(v, false); }),
                      {2e-6, 1e-7});
    EXPECT_TRUE(out.gaps_untouched());
    fg::log_softmax(test_stream<host>(), p.x.in(), out.view(), p.named());
    expect_close<f32>(out.read(), map_rows(p, [](const values& v) { return softmax_of(v, true); }),
                      {2e-6, 2e-6});
    EXPECT_TRUE(out.gaps_untouched());
  });
}

TEST(special_values, norms) {
  repeat([] {
    problem p(1);
    p.dim = p.sizes.rank() - 1;
    SCOPED_TRACE(p.text());
    const i64 n = p.sizes[p.dim];
    test_tensor<f32> out(p.sizes, p.to);
    fg::layer_norm(test_stream<host>(), p.x.in(), {n}, std::nullopt, std::nullopt, out.view());
    expect_close<f32>(out.read(),
                      map_rows(p,
                               [](const values& v) {
                                 const double count = static_cast<double>(v.size());
                                 const double mean =
                                     std::accumulate(v.begin(), v.end(), 0.0) / count;
                                 double var = 0;
                                 for (const double a : v) var += (a - mean) * (a - mean) / count;
                                 values y;
                                 for (const double a : v)
                                   y.push_back((a - mean) / std::sqrt(var + 1e-5));
                                 return y;
                               }),
                      {1e-4, 1e-4});
    EXPECT_TRUE(out.gaps_untouched());
    fg::rms_norm(test_stream<host>(), p.x.in(), {n}, std::nullopt, out.view(), 1e-5);
    expect_close<f32>(out.read(),
                      map_rows(p,
                               [](const values& v) {
                                 double square = 0;
                                 for (const double a : v)
                                   square += a * a / static_cast<double>(v.size());
                                 values y;
                                 for (const double a : v) y.push_back(a / std::sqrt(square + 1e-5));
                                 return y;
                               }),
                      {1e-5, 1e-6});
    EXPECT_TRUE(out.gaps_untouched());
  });
}

TEST(special_values, reductions) {
  repeat([] {
    problem p;
    SCOPED_TRACE(p.text());
    const bool keeps = pick(0, 1) == 1;
    shape reduced;
    for (int d = 0; d < p.sizes.rank(); ++d)
      if (d != p.dim)
        reduced.push_back(p.sizes[d]);
      else if (keeps)
        reduced.push_back(1);
    const bool none = p.sizes.rank() > 0 && p.sizes[p.dim] == 0;
    const auto want = [&](auto f) {
      values y;
      if (none) y.assign(index(reduced.numel()), f(values()));
      for_each_row(p.sizes, p.dim, [&](const std::vector<std::size_t>& row) {
        values in;
        for (const std::size_t at : row) in.push_back(p.x.values()[at]);
        y.push_back(f(in));
      });
      return y;
    };
    const auto sum = [](const values& v) { return std::accumulate(v.begin(), v.end(), 0.0); };
    const auto best = [](const values& v, auto better) {
      std::size_t at = 0;
      for (std::size_t k = 0; k < v.size(); ++k) {
        if (v[k] != v[k]) return k;
        if (better(v[k], v[at])) at = k;
      }
      return at;
    };
    test_tensor<f32> out(reduced, p.to);
    test_tensor<i64> place(reduced, p.to);
    const auto& s = test_stream<host>();
    const i64 dim[1] = {p.named()};
    const fg::int_list dims(std::span<const i64>{dim});
    fg::sum(s, p.x.in(), out.view(), dims, keeps);
    expect_close<f32>(out.read(), want(sum), {1e-5, 1e-5});
    fg::mean(s, p.x.in(), out.view(), dims, keeps);
    expect_close<f32>(out.read(),
                      want([&](const values& v) { return sum(v) / static_cast<double>(v.size()); }),
                      {1e-5, 1e-5});
    EXPECT_TRUE(out.gaps_untouched());
    if (none && reduced.numel() > 0) {
      EXPECT_RAISES(fg::amax(s, p.x.in(), out.view(), dims, keeps), invalid_argument, "amax");
      EXPECT_RAISES(fg::argmin(s, p.x.in(), place.view(), dim[0], keeps), invalid_argument,
                    "argmin");
    } else if (!none) {
      fg::amax(s, p.x.in(), out.view(), dims, keeps);
      expect_equal(out.read(), want([&](const values& v) { return v[best(v, std::greater<>())]; }));
      fg::argmax(s, p.x.in(), place.view(), dim[0], keeps);
      expect_equal(place.read(), want([&](const values& v) {
                     return static_cast<double>(best(v, std::greater<>()));
                   }));
      fg::argmin(s, p.x.in(), place.view(), dim[0], keeps);
      expect_equal(place.read(), want([&](const values& v) {
                     return static_cast<double>(best(v, std::less<>()));
                   }));
      EXPECT_TRUE(out.gaps_untouched() && place.gaps_untouched());
    }
  });
}

TEST(special_values, order) {
  repeat([] {
    problem p;
    SCOPED_TRACE(p.text());
    const auto& s = test_stream<host>();
    const bool descending = pick(0, 1) == 1;
    test_tensor<f32> out(p.sizes, p.to);
    test_tensor<i64> place(p.sizes, p.to);
    // NaN is the greatest; both zeros are equal.
    const auto less = [](double a, double b) { return (b != b && a == a) || a < b; };
    const auto order = [&](const values& v, bool down) {
      std::vector<std::size_t> at(v.size());
      std::iota(at.begin(), at.end(), std::size_t{0});
      std::stable_sort(at.begin(), at.end(), [&](std::size_t a, std::size_t b) {
        return down ? less(v[b], v[a]) : less(v[a], v[b]);
      });
      return at;
    };
    fg::sort(s, p.x.in(), out.view(), place.view(), p.named(), descending);
    expect_equal(out.read(), map_rows(p, [&](const values& v) {
                   values y;
                   for (const std::size_t at : order(v, descending)) y.push_back(v[at]);
                   return y;
                 }));
    expect_equal(place.read(), map_rows(p, [&](const values& v) {
                   values y;
                   for (const std::size_t at : order(v, descending))
                     y.push_back(static_cast<double>(at));
                   return y;
                 }));
    EXPECT_TRUE(out.gaps_untouched() && place.gaps_untouched());

    const i64 n = p.sizes.rank() == 0 ? 1 : p.sizes[p.dim], k = pick(0, n);
    shape some = p.sizes;
    if (some.rank() > 0) some[p.dim] = k;
    if (p.sizes.rank() == 0 && k == 0) return;
    const auto top = fg::topk(s, p.x.in(), k, p.named(), descending);
    const values got = values_of(top.values), places = values_of(top.indices);
    std::vector<std::vector<std::size_t>> rows;
    for_each_row(some, p.dim, [&](const std::vector<std::size_t>& row) { rows.push_back(row); });
    std::size_t next = 0;
    if (some.numel() > 0)
      for_each_row(p.sizes, p.dim, [&](const std::vector<std::size_t>& row) {
        values in;
        for (const std::size_t at : row) in.push_back(p.x.values()[at]);
        const auto sorted = order(in, descending);
        std::vector<bool> seen(in.size());
        for (std::size_t j = 0; j < index(k); ++j) {
          const std::size_t to = rows[next][j];
          const double v = in[sorted[j]];
          EXPECT_TRUE(got[to] == v || (got[to] != got[to] && v != v)) << got[to] << " not " << v;
          ASSERT_TRUE(places[to] >= 0 && places[to] < static_cast<double>(n));
          const auto at = static_cast<std::size_t>(places[to]);
          EXPECT_TRUE(in[at] == v || (in[at] != in[at] && v != v));
          EXPECT_FALSE(seen[at]) << "index " << at << " twice";
          seen[at] = true;
        }
        ++next;
      });
  });
}

TEST(special_values, parts) {
  repeat([] {
    problem p(1);
    SCOPED_TRACE(p.text());
    const auto& s = test_stream<host>();
    // Indices of any strides, and none; then the same again from pieces.
    const i64 n = p.sizes[p.dim], count = n == 0 ? 0 : pick(0, 20);
    const shape how = count == 1 && pick(0, 1) == 0 ? shape{} : shape{count};
    test_tensor<i64> which(how, input_layouts[pick(0, 5)],
                           random_integers(how, 0, std::max(n - 1, i64{0})));
    shape sizes = p.sizes;
    sizes[p.dim] = count;
    test_tensor<f32> out(sizes, p.to);
    fg::index_select(s, p.x.in(), p.named(), which.in(), out.view());
    values want(index(sizes.numel()));
    if (!want.empty()) {
      std::vector<std::vector<std::size_t>> from;
      for_each_row(p.sizes, p.dim, [&](const auto& row) { from.push_back(row); });
      std::size_t next = 0;
      for_each_row(sizes, p.dim, [&](const auto& row) {
        for (std::size_t k = 0; k < row.size(); ++k)
          want[row[k]] = p.x.values()[from[next][static_cast<std::size_t>(which.values()[k])]];
        ++next;
      });
    }
    expect_equal(out.read(), want);
    EXPECT_TRUE(out.gaps_untouched());

    std::vector<fg::tensor_view<const f32>> pieces;
    for (i64 at = 0; at < n;) {
      if (pick(0, 3) == 0) pieces.push_back(p.x.in().narrow(p.dim, at, 0));
      if (pick(0, 3) == 0) pieces.emplace_back();
      const i64 length = pick(1, n - at);
      pieces.push_back(p.x.in().narrow(p.dim, at, length));
      at += length;
    }
    if (pieces.empty()) pieces.push_back(p.x.in());
    test_tensor<f32> whole(p.sizes, p.to);
    fg::cat(s, pieces, whole.view(), p.named());
    expect_equal(whole.read(), p.x.values());
    EXPECT_TRUE(whole.gaps_untouched());
  });
}

}  // namespace
}  // namespace flaggems_test
