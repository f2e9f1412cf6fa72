// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/grouped_mm.hpp>
#include <support/ops.hpp>

#include <algorithm>

namespace flaggems_test {
namespace {

using values = std::vector<double>;
using fg::f8e4m3;
using fg::i32;

template <class Case>
class grouped : public ::testing::Test {};
using product_cases = cases<on_host<f32, bf16>, on_chips<f32, bf16>, on_wide<bf16>>;
TYPED_TEST_SUITE(grouped, product_cases);

/// Groups of one product: which have their rows, columns or terms in one matrix, and up to where.
struct problem {
  char along;  // 'm', 'n', 'k', or 0
  i64 m, n, k;
  values ends;
  [[nodiscard]] i64 groups() const { return static_cast<i64>(ends.size()); }
  [[nodiscard]] shape a() const {
    return along == 'm' || along == 'k' ? shape{m, k} : shape{groups(), m, k};
  }
  [[nodiscard]] shape b() const {
    return along == 'n' || along == 'k' ? shape{k, n} : shape{groups(), k, n};
  }
  [[nodiscard]] shape out() const {
    return along == 'm' || along == 'n' ? shape{m, n} : shape{groups(), m, n};
  }
  /// The result of row-major operands; what is in no group is as it was.
  [[nodiscard]] values want(const values& x, const values& y, values r) const {
    i64 begin = 0;
    for (i64 g = 0; g < groups(); ++g) {
      const i64 end = static_cast<i64>(ends[static_cast<std::size_t>(g)]);
      const auto in = [&](char dim, i64 i) { return along != dim || (i >= begin && i < end); };
      for (i64 i = 0; i < m; ++i)
        for (i64 j = 0; j < n; ++j) {
          if (!in('m', i) || !in('n', j)) continue;
          double sum = 0;
          for (i64 q = 0; q < k; ++q)
            if (in('k', q))
              sum += x[static_cast<std::size_t>((a().rank() == 3 ? g * m * k : 0) + i * k + q)] *
                     y[static_cast<std::size_t>((b().rank() == 3 ? g * k * n : 0) + q * n + j)];
          r[static_cast<std::size_t>((out().rank() == 3 ? g * m * n : 0) + i * n + j)] = sum;
        }
      begin = end;
    }
    return r;
  }
};

const problem problems[] = {
    {'m', 10, 24, 16, {2, 2, 10}},
    {'m', 70, 40, 48, {0, 33, 50, 50, 68}},
    {'m', 5, 9, 7, {1, 5}},
    {'m', 3, 8, 0, {1, 3}},
    {'m', 0, 8, 8, {0, 0}},
    {'n', 12, 20, 24, {7, 7, 20}},
    {'n', 33, 70, 16, {0, 66, 70}},
    {'k', 9, 17, 40, {8, 8, 40}},
    {'k', 40, 33, 150, {130, 140, 150}},
    {'k', 4, 4, 9, {2, 5}},
    {'k', 16, 24, 64, {13, 37, 64}},  // lines of whole vectors, terms that begin inside of one
    {0, 9, 8, 16, {0, 0, 0}},
};

/// Integers whose products are exact.
template <class T>
values some(const shape& sizes, unsigned seed) {
  values r = random_integers(sizes, -3, 3);
  std::rotate(r.begin(), r.begin() + (r.empty() ? 0 : static_cast<int>(seed % r.size())), r.end());
  return r;
}

TYPED_TEST(grouped, products) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  for (const problem& p : problems)
    for (const layout how : {layout::contiguous, layout::transposed, layout::negative}) {
      test_tensor<T, D> a(p.a(), how, some<T>(p.a(), 1)), b(p.b(), how, some<T>(p.b(), 5)),
          out(p.out(), how);
      test_tensor<i32, D> offs({p.groups()}, layout::strided, p.ends);
      const values before = out.read();
      if (p.along == 0)
        fg::grouped_mm(s, a.in(), b.in(), std::nullopt, out.view());
      else
        fg::grouped_mm(s, a.in(), b.in(), offs.in(), out.view());
      expect_equal(out.read(), p.want(a.values(), b.values(), before));
      EXPECT_TRUE(out.gaps_untouched());
    }
}

TYPED_TEST(grouped, refused) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> a({4, 6}), b({2, 6, 5}), c({2, 5, 5}), out({4, 5}), wrong({4, 4}), vector({6});
  test_tensor<i32, D> offs({2}, layout::contiguous, {1, 4}),
      three({3}, layout::contiguous, {1, 2, 4}), falls({2}, layout::contiguous, {3, 1}),
      far_away({2}, layout::contiguous, {1, 5});
  const auto none = std::nullopt;
  EXPECT_RAISES(fg::grouped_mm(s, a.in(), c.in(), offs.in(), out.view()), shape_mismatch,
                "grouped_mm");
  EXPECT_RAISES(fg::grouped_mm(s, a.in(), b.in(), three.in(), out.view()), shape_mismatch,
                "grouped_mm");
  EXPECT_RAISES(fg::grouped_mm(s, a.in(), b.in(), offs.in(), wrong.view()), shape_mismatch,
                "grouped_mm");
  EXPECT_RAISES(fg::grouped_mm(s, vector.in(), b.in(), offs.in(), out.view()), shape_mismatch,
                "grouped_mm");
  EXPECT_RAISES(fg::grouped_mm(s, a.in(), b.in(), none, out.view()), invalid_argument,
                "grouped_mm");
  EXPECT_RAISES(fg::grouped_mm(s, c.in(), c.in(), offs.in(), out.view()), invalid_argument,
                "grouped_mm");
  EXPECT_RAISES(fg::grouped_mm(s, out.in(), b.in(), offs.in(), out.view()), shape_mismatch,
                "grouped_mm");
  EXPECT_RAISES(
      static_cast<void>(fg::grouped_mm(s, a.in(), b.in(), offs.in(), std::optional(a.in()))),
      not_supported, "grouped_mm");
  if constexpr (std::is_same_v<D, fg::host>) {
    EXPECT_RAISES(fg::grouped_mm(s, a.in(), b.in(), falls.in(), out.view()), out_of_range,
                  "grouped_mm");
    EXPECT_RAISES(fg::grouped_mm(s, a.in(), b.in(), far_away.in(), out.view()), out_of_range,
                  "grouped_mm");
    // Numbers whose lowest 32 bits alone would be right.
    test_tensor<i64, D> wide({2}, layout::contiguous, {4294967297, 4294967300});
    EXPECT_RAISES(fg::grouped_mm(s, a.in(), b.in(), wide.in(), out.view()), out_of_range,
                  "grouped_mm");
  }
  EXPECT_TRUE(out.untouched() && wrong.untouched());
  test_tensor<T, D> all({4, 30});
  const auto self = all.view().narrow(1, 0, 6), to = all.view().narrow(1, 5, 5);
  EXPECT_RAISES(fg::grouped_mm(s, self, b.in(), offs.in(), to), overlap, "grouped_mm");
}

template <class Device>
class grouped_scaled : public ::testing::Test {};
using scaled_devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(grouped_scaled, scaled_devices);

TYPED_TEST(grouped_scaled, products) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const problem& p : problems) {
    if (p.m == 0) continue;
    const bool stack_a = p.a().rank() == 3, stack_b = p.b().rank() == 3, terms = p.along == 'k';
    const auto of = [&](bool stack, i64 lines) {
      return stack ? shape{p.groups(), lines} : shape{(terms ? p.groups() : 1) * lines};
    };
    const auto powers = [](const shape& sizes) {
      values r = random_integers(sizes, -2, 2);
      for (double& x : r) x = std::exp2(x);
      return r;
    };
    const shape of_a = of(stack_a, p.m), of_b = of(stack_b, p.n);
    test_tensor<f8e4m3, D> a(p.a(), layout::contiguous, some<f32>(p.a(), 1)),
        b(p.b(), layout::contiguous, some<f32>(p.b(), 5));
    test_tensor<f32, D> by_a(of_a, layout::strided, powers(of_a)),
        by_b(of_b, layout::strided, powers(of_b)), out(p.out());
    test_tensor<i32, D> offs({p.groups()}, layout::contiguous, p.ends);
    values want = p.want(a.values(), b.values(), out.read());
    for (i64 g = 0, begin = 0; g < p.groups(); ++g) {
      const i64 end = static_cast<i64>(p.ends[static_cast<std::size_t>(g)]);
      for (i64 i = 0; i < p.m; ++i)
        for (i64 j = 0; j < p.n; ++j) {
          if (p.along == 'm' && (i < begin || i >= end)) continue;
          if (p.along == 'n' && (j < begin || j >= end)) continue;
          const i64 at = (p.out().rank() == 3 ? g * p.m * p.n : 0) + i * p.n + j;
          const i64 row = (stack_a || terms ? g * p.m : 0) + i;
          const i64 column = (stack_b || terms ? g * p.n : 0) + j;
          want[static_cast<std::size_t>(at)] *= by_a.values()[static_cast<std::size_t>(row)] *
                                                by_b.values()[static_cast<std::size_t>(column)];
        }
      begin = end;
    }
    const auto run = [&](const auto& ends) {
      fg::scaled_grouped_mm(s, a.in(), b.in(), by_a.in(), by_b.in(), ends, out.view());
      const auto rounded = fg::scaled_grouped_mm(s, a.in(), b.in(), by_a.in(), by_b.in(), ends);
      static_assert(std::is_same_v<fg::value_t<decltype(rounded)>, bf16>);
    };
    p.along == 0 ? run(std::nullopt) : run(offs.in());
    expect_equal(out.read(), want);
  }
  test_tensor<f8e4m3, D> a({4, 6}), b({2, 6, 5});
  test_tensor<f32, D> four({4}), five({2, 5}), out({4, 5});
  test_tensor<i32, D> offs({2}, layout::contiguous, {1, 4});
  EXPECT_RAISES(
      fg::scaled_grouped_mm(s, a.in(), b.in(), five.in(), five.in(), offs.in(), out.view()),
      shape_mismatch, "scaled_grouped_mm");
  EXPECT_RAISES(
      fg::scaled_grouped_mm(s, a.in(), b.in(), four.in(), four.in(), offs.in(), out.view()),
      shape_mismatch, "scaled_grouped_mm");
}

}  // namespace
}  // namespace flaggems_test
