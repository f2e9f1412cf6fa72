// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/sort.hpp>
#include <support/ops.hpp>

#include <algorithm>
#include <numeric>

namespace flaggems_test {
namespace {

struct sorted {
  std::vector<double> values, indices;
};

/// Row-major values sorted along `dim`; NaN is the largest.
sorted reference(const std::vector<double>& x, const shape& sizes, int dim, bool descending) {
  sorted r{x, x};
  if (x.empty()) return r;
  i64 inner = 1;
  for (int d = dim + 1; d < sizes.rank(); ++d) inner *= sizes[d];
  const i64 n = sizes.rank() == 0 ? 1 : sizes[dim];
  const auto less = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  for (i64 start = 0; start < static_cast<i64>(x.size()); ++start) {
    if (start / inner % n != 0) continue;
    const auto at = [&](i64 k) { return static_cast<std::size_t>(start + k * inner); };
    std::vector<i64> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), i64{0});
    std::stable_sort(order.begin(), order.end(), [&](i64 a, i64 b) {
      return descending ? less(x[at(b)], x[at(a)]) : less(x[at(a)], x[at(b)]);
    });
    for (i64 k = 0; k < n; ++k) {
      const i64 from = order[static_cast<std::size_t>(k)];
      r.values[at(k)] = x[at(from)];
      r.indices[at(k)] = static_cast<double>(from);
    }
  }
  return r;
}

template <class D, class T>
void check(const shape& sizes, i64 dim, layout in, layout to, const std::vector<double>& values) {
  SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to) + ", sizes " +
               fg::to_string(sizes) + ", dim " + std::to_string(dim));
  test_tensor<T, D> x(sizes, in, values);
  const int d = static_cast<int>(dim < 0 ? dim + (std::max)(sizes.rank(), 1) : dim);
  for (const bool descending : {false, true}) {
    test_tensor<T, D> out(sizes, to);
    test_tensor<i64, D> indices(sizes, to), order(sizes, to);
    fg::sort(test_stream<D>(), x.in(), out.view(), indices.view(), dim, descending);
    fg::argsort(test_stream<D>(), x.in(), order.view(), dim, descending);
    const sorted want = reference(x.values(), sizes, d, descending);
    expect_equal(out.read(), want.values);
    expect_equal(indices.read(), want.indices);
    expect_equal(order.read(), want.indices);
    EXPECT_TRUE(out.gaps_untouched());
    EXPECT_TRUE(indices.gaps_untouched());
    EXPECT_TRUE(x.untouched());
  }
}

template <class Case>
class sort_test : public ::testing::Test {};
using sort_cases = unless_reduced<cases<on_host<f32, bf16, f16, f64, fg::i8, fg::i16, fg::i32, i64,
                                                fg::u8, fg::u16, fg::u32, fg::u64, bool>,
                                        on_chips<bf16, i64>>>;
TYPED_TEST_SUITE(sort_test, sort_cases);

/// Numbers of T, many of them equal or far apart.
template <class T>
std::vector<double> mixed_values(const shape& sizes) {
  if constexpr (fg::kernels::is_floating<T>) {
    std::vector<double> values = random_values(sizes, -3, 3);
    const double special[] = {0.0, -0.0, std::nan(""), -std::nan(""), HUGE_VAL, -HUGE_VAL, 1, 1};
    for (std::size_t k = 0; k < values.size(); k += 3) values[k] = special[k / 3 % 8];
    for (std::size_t k = 1; k < values.size(); k += 5) values[k] *= 1e-7;
    return values;
  } else if (std::is_same_v<T, bool>) {
    return random_integers(sizes, 0, 1);
  } else {
    const i64 low = std::is_unsigned_v<T> ? 0 : sizeof(T) == 1 ? -128 : -30000;
    const i64 high = sizeof(T) == 1 ? 127 : sizeof(T) == 2 ? 30000 : i64{1} << 30;
    return random_integers(sizes, sizeof(T) == 8 ? 8 * low : low,
                           sizeof(T) == 8 ? high << 20 : high);
  }
}

TYPED_TEST(sort_test, rows) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 n : {1, 2, 17, 48, 128, 129, 300, 1000}) {
      const shape sizes{4, n};
      check<D, T>(sizes, -1, layout::contiguous, layout::contiguous, mixed_values<T>(sizes));
    }
    const shape sizes{3, 100, 2};
    check<D, T>(sizes, 1, layout::contiguous, layout::contiguous, mixed_values<T>(sizes));
    if constexpr (!fg::host_accessible<D>) {  // more than a block holds
      const shape longer{2, sizeof(T) == 8 ? 6200 : 16500};
      check<D, T>(longer, 1, layout::contiguous, layout::contiguous, mixed_values<T>(longer));
    }
  });
}

template <class Device>
class sort_layouts : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(sort_layouts, devices);

TYPED_TEST(sort_layouts, all_pairs) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts)
        for (const i64 dim : {0, 1, 2}) {
          const shape sizes{2, 7, 19};
          check<TypeParam, f32>(sizes, dim, in, to, mixed_values<f32>(sizes));
        }
    const shape sizes{2, 1, 300, 1, 2};
    check<TypeParam, f32>(sizes, 2, layout::negative, layout::strided, mixed_values<f32>(sizes));
  });
}

TYPED_TEST(sort_layouts, empty_and_scalar) {
  for (const shape& sizes : {shape{0}, shape{0, 5}, shape{5, 0}, shape{3, 0, 4}})
    check<TypeParam, f32>(sizes, -1, layout::contiguous, layout::contiguous, {});
  check<TypeParam, f32>({}, 0, layout::contiguous, layout::contiguous, {3.0});
  check<TypeParam, f32>({}, -1, layout::offset, layout::offset, {3.0});
}

TYPED_TEST(sort_layouts, keeps_bits) {
  // Neither the sign of a zero nor that of a NaN gets lost.
  const auto& stream = test_stream<TypeParam>();
  const double nan = std::nan("");
  test_tensor<f32, TypeParam> x({6}, layout::contiguous, {0.0, -0.0, -nan, 1, nan, -1});
  test_tensor<i64, TypeParam> indices({6});
  fg::sort(stream, x.in(), x.view(), indices.view());
  const std::vector<double> got = x.read();
  expect_equal(indices.read(), {5, 0, 1, 3, 2, 4});
  const bool negative[] = {true, false, true, false, true, false};
  for (std::size_t k = 0; k < 6; ++k) EXPECT_EQ(std::signbit(got[k]), negative[k]) << k;
}

TYPED_TEST(sort_layouts, in_place_and_returning) {
  const shape sizes{3, 400};
  test_tensor<f32, TypeParam> x(sizes, layout::transposed, mixed_values<f32>(sizes));
  test_tensor<i64, TypeParam> indices(sizes);
  const auto& stream = test_stream<TypeParam>();
  const sorted want = reference(x.values(), sizes, 1, true);
  const auto result = fg::sort(stream, x.in(), 1, true);
  expect_equal(values_of(result.values), want.values);
  expect_equal(values_of(result.indices), want.indices);
  expect_equal(values_of(fg::argsort(stream, x.in(), -1, true, false)), want.indices);
  fg::sort(stream, x.in(), x.view(), indices.view(), 1, true, true);
  expect_equal(x.read(), want.values);
  expect_equal(indices.read(), want.indices);
}

TEST(sort, long_rows_and_many_rows) {
  check<host, f32>({2, 100003}, 1, layout::contiguous, layout::contiguous,
                   random_values({2, 100003}));
  check<host, f32>({20000, 60}, 1, layout::contiguous, layout::contiguous,
                   random_values({20000, 60}));
  check<host, fg::i16>({1, 200001}, 1, layout::offset, layout::strided,
                       random_integers({1, 200001}, -9, 9));
}

// Rows that all blocks of a device sort together.
TYPED_TEST(sort_layouts, parts_of_a_row) {
  if constexpr (std::is_same_v<TypeParam, host>) {
    const int before = host::num_threads();
    for (const int threads : {2, 3, 4}) {
      host::set_num_threads(threads);
      for (const i64 n : {32768, 50001, 100003}) {
        check<host, f32>({n}, 0, layout::contiguous, layout::contiguous, mixed_values<f32>({n}));
        check<host, i64>({n}, 0, layout::negative, layout::strided, random_integers({n}, -9, 9));
      }
      check<host, f32>({2, 70000, 1}, 1, layout::transposed, layout::offset,
                       mixed_values<f32>({2, 70000, 1}));
    }
    const shape sizes{70000};
    test_tensor<f32> x(sizes, layout::contiguous, mixed_values<f32>(sizes));
    test_tensor<i64> indices(sizes);
    const sorted want = reference(x.values(), sizes, 0, false);
    fg::sort(test_stream<host>(), x.in(), x.view(), indices.view());
    expect_equal(x.read(), want.values);
    host::set_num_threads(before);
  } else {
    // What block-local memory holds, and more, which all blocks sort together.
    check<TypeParam, f32>({9001, 2}, 0, layout::strided, layout::contiguous,
                          mixed_values<f32>({9001, 2}));
    check<TypeParam, f32>({16385}, 0, layout::offset, layout::contiguous,
                          random_integers({16385}, -300, 300));
    check<TypeParam, fg::u8>({16385}, 0, layout::negative, layout::strided,
                             random_integers({16385}, 0, 255));
    // In place; and one row after the other, with places of 64 bits, as in rows of 2^32 elements.
    const auto& stream = test_stream<TypeParam>();
    const shape sizes{2, 16500};
    test_tensor<f32, TypeParam> x(sizes, layout::strided, mixed_values<f32>(sizes)), values(sizes);
    test_tensor<i64, TypeParam> indices(sizes), places(sizes);
    const auto in = x.in();
    const auto to = values.view();
    const auto at = places.view();
    fg::row_plan plan(sizes, 1);
    plan.add(in);
    plan.add(to);
    plan.add(at);
    const auto space = plan.space();
    fg::detail::sort_by_radix<fg::u64>("sort", stream, space, plan.arg(0, in), plan.target(1, to),
                                       plan.target(2, at), true, 1);
    const sorted want = reference(x.values(), sizes, 1, true);
    expect_equal(values.read(), want.values);
    expect_equal(places.read(), want.indices);
    fg::sort(stream, x.in(), x.view(), indices.view(), 1, true);
    expect_equal(x.read(), want.values);
    expect_equal(indices.read(), want.indices);
  }
}

TEST(sort, refuses_bad_arguments) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({4, 6}, layout::contiguous, random_values({4, 6}));
  test_tensor<f32> out({4, 6});
  test_tensor<i64> indices({4, 6});
  test_tensor<i64> numbers({4, 6}, layout::contiguous, random_integers({4, 6}, 0, 9));
  EXPECT_RAISES(fg::sort(stream, x.in(), out.view(), indices.view(), 2), out_of_range, "sort");
  EXPECT_RAISES(fg::argsort(stream, x.in(), indices.view(), -3), out_of_range, "argsort");
  EXPECT_RAISES(fg::sort(stream, x.in(), out.view().t(), indices.view()), shape_mismatch, "sort");
  EXPECT_RAISES(fg::sort(stream, x.in(), out.view(), indices.view().t()), shape_mismatch, "sort");
  EXPECT_RAISES(fg::argsort(stream, x.in(), indices.view().t()), shape_mismatch, "argsort");
  EXPECT_RAISES(fg::argsort(stream, x.in(), indices.view().narrow(0, 0, 1).expand({4, 6})), overlap,
                "argsort");
  EXPECT_RAISES(fg::sort(stream, x.in().narrow(0, 0, 3), x.view().narrow(0, 1, 3),
                         indices.view().narrow(0, 0, 3)),
                overlap, "sort");
  EXPECT_RAISES(fg::sort(stream, numbers.in(), indices.view(), numbers.view()), overlap, "sort");
  EXPECT_RAISES(fg::sort(stream, numbers.in(), indices.view(), indices.view()), overlap, "sort");
  EXPECT_RAISES(fg::argsort(stream, numbers.in(), numbers.view()), overlap, "argsort");
  EXPECT_TRUE(x.untouched() && out.untouched() && indices.untouched() && numbers.untouched());
}

}  // namespace
}  // namespace flaggems_test
