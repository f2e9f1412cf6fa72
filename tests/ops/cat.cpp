// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/creation.hpp>
#include <support/ops.hpp>

#include <array>

namespace flaggems_test {
namespace {

/// Row-major values of tensors joined along `dim`; `inner` elements from one index of dim to the
/// next, `lengths` sizes along it.
std::vector<double> joined(const std::vector<std::vector<double>>& parts,
                           const std::vector<i64>& lengths, i64 outer, i64 inner) {
  std::vector<double> y;
  for (i64 o = 0; o < outer; ++o)
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const auto begin = parts[p].begin() + o * lengths[p] * inner;
      y.insert(y.end(), begin, begin + lengths[p] * inner);
    }
  return y;
}

template <class D, class T>
void check(int dim, layout in, layout to) {
  SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to) + ", dim " +
               std::to_string(dim));
  const std::vector<i64> lengths{3, 1, 0, 19};
  shape base{2, 4, 5};
  i64 outer = 1, inner = 1;
  for (int d = 0; d < dim; ++d) outer *= base[d];
  for (int d = dim + 1; d < 3; ++d) inner *= base[d];
  std::vector<test_tensor<T, D>> tensors;
  std::vector<std::vector<double>> parts;
  std::vector<fg::tensor_view<const T, D>> views;
  for (const i64 n : lengths) {
    shape sizes = base;
    sizes[dim] = n;
    tensors.emplace_back(sizes, in, random_integers(sizes, 0, 100));
  }
  for (auto& t : tensors) {
    parts.push_back(t.values());
    views.push_back(t.in());
  }
  base[dim] = 23;
  test_tensor<T, D> out(base, to);
  fg::cat(test_stream<D>(), views, out.view(), dim - 3);
  expect_equal(out.read(), joined(parts, lengths, outer, inner));
  EXPECT_TRUE(out.gaps_untouched());
  const auto made = fg::cat(test_stream<D>(), {views[0], views[1], views[2], views[3]}, dim);
  EXPECT_EQ(made.shape_of(), base);
  expect_equal(values_of(made), joined(parts, lengths, outer, inner));
}

template <class Device>
class cat_layouts : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(cat_layouts, devices);

TYPED_TEST(cat_layouts, all) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts)
        for (const int dim : {0, 1, 2}) check<TypeParam, f32>(dim, in, to);
  });
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(cat, every_element_size) {
  check<host, bf16>(1, layout::contiguous, layout::contiguous);
  check<host, f64>(1, layout::contiguous, layout::contiguous);
  check<host, bool>(1, layout::contiguous, layout::contiguous);
  check<host, i64>(2, layout::contiguous, layout::contiguous);
}

TEST(cat, other_names) {
  const auto& s = test_stream<host>();
  const auto a = fg::full<f32>(s, {1, 2}, 1), b = fg::full<f32>(s, {1, 2}, 2);
  const std::vector<double> want{1, 1, 2, 2};
  EXPECT_EQ(values_of(fg::concat(s, std::tie(a, b))), want);
  auto out = fg::zeros<f32>(s, {1, 4});
  fg::concatenate(s, std::vector{a.view(), b.view()}, out, 1);
  EXPECT_EQ(values_of(out), want);
}

// Many rows, and long ones, are copied as rows; past the caches too.
TEST(cat, rows_of_any_length) {
  const i64 before = fg::detail::stream_threshold.load(fg::detail::memory_order::relaxed);
  for (const i64 threshold : {i64{1}, i64{1} << 40}) {
    fg::detail::stream_threshold.store(threshold, fg::detail::memory_order::relaxed);
    for (const i64 n : {1, 8, 33, 300, 1030})
      for (const i64 rows : {15, 16, 40})
        for (const layout to : {layout::contiguous, layout::offset}) {
          test_tensor<f32> x({rows, n}, layout::contiguous, random_values({rows, n}));
          test_tensor<f32> y({rows, 3}, layout::offset, random_values({rows, 3}));
          test_tensor<f32> wide({rows, 2 * n + 3}, to), tall({3 * rows, n}, to);
          fg::cat(test_stream<host>(), {x.in(), y.in(), x.in()}, wide.view(), 1);
          expect_equal(wide.read(),
                       joined({x.values(), y.values(), x.values()}, {n, 3, n}, rows, 1));
          EXPECT_TRUE(wide.gaps_untouched());
          fg::cat(test_stream<host>(), {x.in(), x.in(), x.in()}, tall.view(), 0);
          expect_equal(tall.read(),
                       joined({x.values(), x.values(), x.values()}, {rows, rows, rows}, 1, n));
          EXPECT_TRUE(tall.gaps_untouched());
        }
  }
  fg::detail::stream_threshold.store(before, fg::detail::memory_order::relaxed);
}
#endif

// On a chip a launch takes 16 operands, and of many rows a thread takes several.
template <class D, class T>
void check_rows(i64 rows, const std::vector<i64>& lengths) {
  std::vector<test_tensor<T, D>> tensors;
  std::vector<std::vector<double>> parts;
  std::vector<fg::tensor_view<const T, D>> views;
  i64 all = 0;
  for (const i64 n : lengths) {
    tensors.emplace_back(shape{rows, n}, layout::contiguous, random_integers({rows, n}, 0, 100));
    all += n;
  }
  for (auto& t : tensors) {
    parts.push_back(t.values());
    views.push_back(t.in());
  }
  test_tensor<T, D> out({rows, all});
  fg::cat(test_stream<D>(), views, out.view(), 1);
  expect_equal(out.read(), joined(parts, lengths, rows, 1));
}

TEST(cat, many_rows_and_operands) {
  check_rows<chip32, f32>(9, {4, 8, 12, 4, 4, 4, 4, 4, 16, 4, 4, 4, 4, 4, 4, 4, 20, 4, 8});
  check_rows<chip32, bf16>(9, {1, 2, 3, 4, 5, 1, 1, 1, 1, 7, 1, 1, 1, 1, 1, 1, 2, 3});
  check_rows<chip32, bf16>(601, {400, 37});    // elements, two rows a thread
  check_rows<chip32, f32>(1031, {1024, 64});   // packs
  check_rows<chip32, std::int8_t>(3, {5, 6});  // few rows
  check_rows<chip32, std::int8_t>(9, {5, 6});
  check_rows<chip32, f32>(9, {2, 4});  // units of 8 bytes
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(cat, promotes) {
  test_tensor<bf16> a({2}, layout::contiguous, {1, 2});
  test_tensor<f32> b({1}, layout::contiguous, {0.1});
  test_tensor<fg::i32> c({2}, layout::strided, {7, -8});
  const auto x = a.in();
  const auto y = b.in();
  const auto z = c.in();
  const auto made = fg::cat(test_stream<host>(), std::tie(x, y, z));
  static_assert(std::is_same_v<decltype(made)::element_type, f32>);
  expect_equal(values_of(made), {1, 2, static_cast<double>(0.1F), 7, -8});
  const auto small = fg::cat(test_stream<host>(), std::tie(x, z));
  static_assert(std::is_same_v<decltype(small)::element_type, bf16>);
  test_tensor<f64> wide({4});
  fg::cat(test_stream<host>(), std::tie(x, z), wide.view());
  expect_equal(wide.read(), {1, 2, 7, -8});
  std::vector<fg::tensor<f32>> owned;
  owned.push_back(fg::from_values<f32>(test_stream<host>(), {1.0F}));
  owned.push_back(fg::from_values<f32>(test_stream<host>(), {2.0F, 3.0F}));
  expect_equal(values_of(fg::cat(test_stream<host>(), owned)), {1, 2, 3});
}

TEST(cat, legacy_empty_vectors_are_skipped) {
  test_tensor<f32> a({2, 2}, layout::contiguous, {1, 2, 3, 4}), none({0});
  const auto made = fg::cat(test_stream<host>(), {none.in(), a.in(), none.in(), a.in()}, 1);
  EXPECT_EQ(made.shape_of(), (shape{2, 4}));
  expect_equal(values_of(made), {1, 2, 1, 2, 3, 4, 3, 4});
  EXPECT_EQ(fg::cat(test_stream<host>(), {none.in(), none.in()}).shape_of(), (shape{0}));
}

TEST(cat, refuses_bad_arguments) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> a({2, 3}, layout::contiguous, random_values({2, 3})), b({2, 4}), scalar(shape{}),
      out({4, 3}), cube({1, 2, 3});
  const std::vector<fg::tensor_view<const f32>> none;
  EXPECT_RAISES(fg::cat(stream, none, out.view()), invalid_argument, "cat");
  EXPECT_RAISES(fg::cat(stream, {scalar.in(), scalar.in()}, out.view()), invalid_argument, "cat");
  EXPECT_RAISES(fg::cat(stream, {a.in(), b.in()}, out.view(), 0), shape_mismatch, "cat");
  EXPECT_RAISES(fg::cat(stream, {a.in(), cube.in()}, out.view(), 0), shape_mismatch, "cat");
  EXPECT_RAISES(fg::cat(stream, {a.in(), a.in()}, out.view(), 2), out_of_range, "cat");
  EXPECT_RAISES(fg::cat(stream, {a.in(), a.in()}, out.view(), 1), shape_mismatch, "cat");
  EXPECT_RAISES(fg::cat(stream, {a.in(), out.in().narrow(0, 0, 2)}, out.view(), 0), overlap, "cat");
  EXPECT_RAISES(fg::cat(stream, {a.in(), a.in()}, out.view().narrow(0, 0, 1).expand({4, 3}), 0),
                overlap, "cat");
  EXPECT_TRUE(a.untouched());
  EXPECT_TRUE(out.untouched());
}

#endif

}  // namespace
}  // namespace flaggems_test
