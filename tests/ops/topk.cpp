// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/topk.hpp>
#include <support/ops.hpp>

#include <algorithm>
#include <numeric>

namespace flaggems_test {
namespace {

struct selected {
  std::vector<double> values, indices;
};

/// The k best of row-major values along `dim`, as a sort of each whole row gives them.
selected reference(const std::vector<double>& x, const shape& sizes, i64 k, int dim, bool largest) {
  selected r;
  i64 inner = 1, outer = 1;
  for (int d = 0; d < sizes.rank(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : sizes[d];
  const i64 n = sizes.rank() == 0 ? 1 : sizes[dim];
  const std::size_t count = static_cast<std::size_t>(outer * k * inner);
  r.values.resize(count);
  r.indices.resize(count);
  const auto less = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  for (i64 o = 0; o < outer; ++o)
    for (i64 i = 0; i < inner; ++i) {
      const auto at = [&](i64 j) { return x[static_cast<std::size_t>((o * n + j) * inner + i)]; };
      std::vector<i64> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), i64{0});
      std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) {
        return largest ? less(at(b), at(a)) : less(at(a), at(b));
      });
      for (i64 j = 0; j < k; ++j) {
        const i64 from = order[static_cast<std::size_t>(j)];
        const std::size_t to = static_cast<std::size_t>((o * k + j) * inner + i);
        r.values[to] = at(from);
        r.indices[to] = static_cast<double>(from);
      }
    }
  return r;
}

template <class D, class T>
void check(const shape& sizes, i64 k, i64 dim, layout in, layout to,
           const std::vector<double>& values) {
  SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to) + ", sizes " +
               fg::to_string(sizes) + ", k " + std::to_string(k) + ", dim " + std::to_string(dim));
  test_tensor<T, D> x(sizes, in, values);
  const int d = static_cast<int>(dim < 0 ? dim + (std::max)(sizes.rank(), 1) : dim);
  shape result = sizes;
  if (result.rank() > 0) result[d] = k;
  for (const bool largest : {true, false}) {
    test_tensor<T, D> out(result, to);
    test_tensor<i64, D> indices(result, to);
    fg::topk(test_stream<D>(), x.in(), k, out.view(), indices.view(), dim, largest);
    const selected want = reference(x.values(), sizes, k, d, largest);
    expect_equal(out.read(), want.values);
    expect_equal(indices.read(), want.indices);
    EXPECT_TRUE(out.gaps_untouched());
    EXPECT_TRUE(indices.gaps_untouched());
    EXPECT_TRUE(x.untouched());
  }
}

/// Numbers with many equal ones and, for floats, special ones.
template <class T>
std::vector<double> mixed_values(const shape& sizes) {
  if constexpr (fg::kernels::is_floating<T>) {
    std::vector<double> values = random_values(sizes, -3, 3);
    const double special[] = {0.0, -0.0, 1.5, std::nan(""), 2, HUGE_VAL, -HUGE_VAL, 2};
    for (std::size_t k = 0; k < values.size(); k += 3) values[k] = special[k / 3 % 8];
    return values;
  } else {
    return random_integers(sizes, std::is_unsigned_v<T> ? 0 : -100,
                           std::is_same_v<T, bool> ? 1 : 120);
  }
}

template <class Case>
class topk_test : public ::testing::Test {};
using topk_cases = unless_reduced<cases<on_host<f32, bf16, f16, f64, fg::i8, fg::i16, fg::i32, i64,
                                                fg::u8, fg::u16, fg::u32, fg::u64, bool>,
                                        on_chips<bf16, i64>>>;
TYPED_TEST_SUITE(topk_test, topk_cases);

TYPED_TEST(topk_test, rows) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 n : {1, 2, 17, 300, 1000})
      for (const i64 k : {i64{0}, i64{1}, i64{5}, n / 2, n}) {
        if (k > n) continue;
        const shape sizes{3, n};
        check<D, T>(sizes, k, -1, layout::contiguous, layout::contiguous, mixed_values<T>(sizes));
      }
  });
}

/// Rows of n, of which a few elements have to be found, and of which many tie, or come in an order
/// that a chip's bounds do not expect: those of its first threads are the best.
std::vector<double> awkward_rows(i64 n) {
  std::vector<double> values = random_values(shape{n});
  for (i64 i = 0; i < n; ++i)
    values.push_back(i % 911 == 7 ? static_cast<double>(i % 3) : -HUGE_VAL);
  for (i64 i = 0; i < n; ++i) values.push_back(-static_cast<double>(i % (n < 8192 ? 512 : 2048)));
  return values;
}

template <class Device>
class topk_layouts : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(topk_layouts, devices);

TYPED_TEST(topk_layouts, all_pairs) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts)
        for (const i64 dim : {0, 1, 2}) {
          const shape sizes{2, 5, 9};
          check<TypeParam, f32>(sizes, 2, dim, in, to, mixed_values<f32>(sizes));
        }
  });
}

TYPED_TEST(topk_layouts, distinct_and_equal) {
  at_every_level<TypeParam>([] {
    const shape sizes{1, 700};
    for (const i64 k : {1, 50, 300}) {
      check<TypeParam, f32>(sizes, k, 1, layout::contiguous, layout::contiguous,
                            random_values(sizes));
      check<TypeParam, f32>(sizes, k, 1, layout::contiguous, layout::contiguous,
                            std::vector<double>(700, 0.25));
    }
  });
}

// In teams of threads, in blocks, and in parts, in two steps and in more.
TYPED_TEST(topk_layouts, long_rows) {
  if constexpr (!fg::host_accessible<TypeParam>) {
    const auto run = [](i64 n, i64 k, layout in, layout to) {
      check<TypeParam, f32>({3, n}, k, 1, in, to, awkward_rows(n));
      check<TypeParam, bf16>({1, 3 * n}, k, 1, in, to, awkward_rows(n));
    };
    run(4096, 8, layout::contiguous, layout::contiguous);
    run(1001, 30, layout::offset, layout::strided);
    run(5000, 70, layout::transposed, layout::contiguous);
    run(16001, 600, layout::contiguous, layout::contiguous);
    run(16500, 64, layout::offset, layout::strided);
    const shape strided{3, 5000};  // of a k for which each group counts
    check<TypeParam, bf16>(strided, 300, 1, layout::transposed, layout::contiguous,
                           mixed_values<bf16>(strided));
  }
}

// Keys of 64 bits, whose places are no part of a word, in two steps, and in three: the first ones
// of 33 parts are a row of five.
TYPED_TEST(topk_layouts, long_rows_of_wide_elements) {
  if constexpr (!fg::host_accessible<TypeParam>) {
    const shape wide{1, 33000};
    check<TypeParam, f64>(wide, 5, 1, layout::offset, layout::strided, mixed_values<f64>(wide));
    if (!std::is_same_v<TypeParam, chip32>) return;  // it takes seconds
    const shape sizes{1, 262145};
    const i64 k = 1024;
    test_tensor<i64, TypeParam> x(sizes, layout::contiguous, random_integers(sizes, 0, 100000));
    const auto got = fg::topk(test_stream<TypeParam>(), x.in(), k);
    const selected want = reference(x.values(), sizes, k, 1, true);
    expect_equal(values_of(got.values), want.values);
    expect_equal(values_of(got.indices), want.indices);
  }
}

// The bound on a chip comes from what is first in each of a thread's groups: all of them, also
// where elements are read one by one.
template <class T>
void expect_groups(i64 stride) {
  const std::vector<double> numbers = random_integers({192}, 1, 100);
  const std::vector<T> values(numbers.begin(), numbers.end());
  const fg::kernels::topk_turn<T> turn({values.data(), stride}, 64, 1, 2, true);
  for (const auto& first : fg::kernels::group_firsts<T, true>::find(turn).of)
    EXPECT_TRUE(first.is_before(first.last()));
  for (const auto& first : fg::kernels::group_firsts<T, false>::find(turn).of)
    EXPECT_TRUE(first.is_before(first.last()));
}
TEST(topk, each_group_has_elements) {
  for (const i64 stride : {1, 3}) {
    SCOPED_TRACE(stride);
    expect_groups<f32>(stride);
    expect_groups<bf16>(stride);
    expect_groups<i64>(stride);
  }
}

TYPED_TEST(topk_layouts, empty_and_scalar) {
  for (const shape& sizes : {shape{0}, shape{0, 5}, shape{5, 0}, shape{3, 0, 4}}) {
    check<TypeParam, f32>(sizes, 0, -1, layout::contiguous, layout::contiguous, {});
  }
  check<TypeParam, f32>({0, 5}, 2, -1, layout::contiguous, layout::contiguous, {});
  check<TypeParam, f32>({}, 1, 0, layout::contiguous, layout::contiguous, {3.0});
  check<TypeParam, f32>({}, 1, -1, layout::offset, layout::offset, {3.0});
}

TYPED_TEST(topk_layouts, returning) {
  const shape sizes{3, 40};
  test_tensor<f32, TypeParam> x(sizes, layout::transposed, mixed_values<f32>(sizes));
  const auto result = fg::topk(test_stream<TypeParam>(), x.in(), 7, 1, false, false);
  const selected want = reference(x.values(), sizes, 7, 1, false);
  EXPECT_EQ(result.values.shape_of(), (shape{3, 7}));
  expect_equal(values_of(result.values), want.values);
  expect_equal(values_of(result.indices), want.indices);
}

TYPED_TEST(topk_layouts, in_place) {
  for (const i64 n : {40, 700}) {
    const shape sizes{3, n};
    test_tensor<f32, TypeParam> x(sizes, layout::contiguous, mixed_values<f32>(sizes));
    test_tensor<i64, TypeParam> indices(sizes);
    const selected want = reference(x.values(), sizes, n, 1, true);
    fg::topk(test_stream<TypeParam>(), x.in(), n, x.view(), indices.view());
    expect_equal(x.read(), want.values);
    expect_equal(indices.read(), want.indices);
  }
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(topk, vocabulary_and_many_rows) {
  const shape sizes{3, 49152};
  for (const i64 k : {1, 50, 5000})
    check<host, f32>(sizes, k, 1, layout::contiguous, layout::contiguous,
                     random_values(sizes, -20, 20));
  check<host, f32>({5000, 64}, 8, 1, layout::contiguous, layout::contiguous,
                   random_values({5000, 64}));
}

// What the host reads first, keeps in order, collects or skips depends on the order and on k.
TEST(topk, orders_and_counts) {
  const shape sizes{1, 4500};
  const auto n = static_cast<std::size_t>(sizes[1]);
  std::vector<std::vector<double>> rows(6, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(i);
    rows[0][i] = x;                                               // ascending
    rows[1][i] = -x;                                              // descending
    rows[2][i] = 1;                                               // equal
    rows[3][i] = i % 3 == 0 ? std::nan("") : std::fmod(x, 7);     // many of them NaN
    rows[4][i] = std::nan("");                                    // all
    rows[5][i] = i < 4400 ? -HUGE_VAL : i % 2 == 0 ? 0.0 : -0.0;  // the last ones
  }
  at_every_level<host>([&] {
    for (const auto& row : rows)
      for (const i64 k : {1, 2, 16, 17, 64, 128, 129, 700, 4500}) {
        check<host, f32>(sizes, k, 1, layout::contiguous, layout::contiguous, row);
        check<host, f32>({1, 90}, (std::min)(k, i64{90}), 1, layout::strided, layout::contiguous,
                         {row.begin(), row.begin() + 90});
      }
  });
}

TEST(topk, refuses_bad_arguments) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({4, 6}, layout::contiguous, random_values({4, 6}));
  test_tensor<f32> out({4, 3});
  test_tensor<i64> indices({4, 3});
  test_tensor<i64> numbers({4, 6}, layout::contiguous, random_integers({4, 6}, 0, 9));
  EXPECT_RAISES(fg::topk(stream, x.in(), 3, out.view(), indices.view(), 2), out_of_range, "topk");
  EXPECT_RAISES(fg::topk(stream, x.in(), 7, out.view(), indices.view()), out_of_range, "topk");
  EXPECT_RAISES(fg::topk(stream, x.in(), -1), out_of_range, "topk");
  EXPECT_RAISES(fg::topk(stream, x.in(), 2, out.view(), indices.view()), shape_mismatch, "topk");
  EXPECT_RAISES(fg::topk(stream, x.in(), 3, out.view(), indices.view().t()), shape_mismatch,
                "topk");
  EXPECT_RAISES(fg::topk(stream, x.in(), 3, x.view().narrow(1, 0, 3), indices.view()), overlap,
                "topk");
  EXPECT_RAISES(fg::topk(stream, numbers.in(), 3, indices.view(), numbers.view().narrow(1, 0, 3)),
                overlap, "topk");
  EXPECT_RAISES(fg::topk(stream, numbers.in(), 3, indices.view(), indices.view()), overlap, "topk");
  EXPECT_TRUE(x.untouched() && out.untouched() && indices.untouched() && numbers.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
