// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/embedding.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

template <class D, class T, class J>
void check(i64 rows, i64 dim, const shape& index_sizes, layout in, layout of_index, layout to) {
  SCOPED_TRACE(std::string(to_string(in)) + ", indices " + to_string(of_index) + ", to " +
               to_string(to) + ", dim " + std::to_string(dim));
  test_tensor<T, D> weight({rows, dim}, in, random_values({rows, dim}));
  test_tensor<J, D> indices(index_sizes, of_index, random_integers(index_sizes, 0, rows - 1));
  shape sizes = index_sizes;
  sizes.push_back(dim);
  test_tensor<T, D> out(sizes, to);
  fg::embedding(test_stream<D>(), weight.in(), indices.in(), out.view(), 1);
  std::vector<double> want;
  for (const double k : indices.values())
    for (i64 d = 0; d < dim; ++d)
      want.push_back(weight.values()[static_cast<std::size_t>(static_cast<i64>(k) * dim + d)]);
  expect_equal(out.read(), want);
  EXPECT_TRUE(out.gaps_untouched());
  const auto made = fg::embedding(test_stream<D>(), weight.in(), indices.in());
  EXPECT_EQ(made.shape_of(), sizes);
  expect_equal(values_of(made), want);
}

template <class Case>
class embedding_test : public ::testing::Test {};
TYPED_TEST_SUITE(embedding_test, float_cases);

TYPED_TEST(embedding_test, contiguous) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 dim : {1, 3, 16, 37})
      check<D, T, i64>(11, dim, {2, 5}, layout::contiguous, layout::contiguous, layout::contiguous);
  });
}

template <class Device>
class embedding_layouts : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(embedding_layouts, devices);

TYPED_TEST(embedding_layouts, all) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts)
        check<TypeParam, f32, fg::i32>(7, 18, {3, 4}, in, layout::transposed, to);
    for (const layout of_index : input_layouts)
      check<TypeParam, f32, fg::i32>(7, 18, {2, 3, 2}, layout::contiguous, of_index,
                                     layout::contiguous);
    check<TypeParam, f32, fg::i32>(7, 18, {}, layout::contiguous, layout::contiguous,
                                   layout::contiguous);
    check<TypeParam, f32, fg::i32>(7, 18, {3, 0}, layout::contiguous, layout::contiguous,
                                   layout::contiguous);
  });
}

TEST(embedding, many_rows) {
  check<host, f32, i64>(100, 576, {3000}, layout::contiguous, layout::contiguous,
                        layout::contiguous);
}

template <class D, class T, class J>
void check_renorm(layout of_weight, layout of_index, f64 max_norm, f64 norm_type) {
  SCOPED_TRACE(std::string(to_string(of_weight)) + ", norm " + std::to_string(norm_type));
  constexpr i64 rows = 9, dim = 37;
  auto values = random_values({rows, dim});
  for (i64 d = 0; d < dim; ++d) values[static_cast<std::size_t>(3 * dim + d)] *= 0.001;  // short
  for (i64 d = 0; d < dim; d += 2) values[static_cast<std::size_t>(4 * dim + d)] = 0;
  test_tensor<T, D> weight({rows, dim}, of_weight, values);
  // Rows 0, 2 and 8 are not named, the others once or more.
  test_tensor<J, D> indices({2, 5}, of_index, {7, 1, 3, 7, 4, 5, 1, 7, 6, 4});
  std::vector<double> want = weight.values();
  for (const i64 r : {1, 3, 4, 5, 6, 7}) {
    double sum = 0, largest = 0;
    for (i64 d = 0; d < dim; ++d) {
      const double a = std::fabs(want[static_cast<std::size_t>(r * dim + d)]);
      sum += norm_type == 0 ? a != 0 : std::pow(a, norm_type);
      largest = std::max(largest, a);
    }
    const double norm = std::isinf(norm_type) ? largest
                        : norm_type == 0      ? sum
                                              : std::pow(sum, 1 / norm_type);
    if (!(norm > max_norm)) continue;
    for (i64 d = 0; d < dim; ++d)
      want[static_cast<std::size_t>(r * dim + d)] *= max_norm / (norm + 1e-7);
  }
  fg::embedding_renorm_(test_stream<D>(), weight.view(), indices.in(), max_norm, norm_type);
  expect_close<T>(weight.read(), want);
  EXPECT_TRUE(weight.gaps_untouched());
}

TYPED_TEST(embedding_test, renorm) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const f64 norm_type : {2.0, 1.0, 0.0, 2.5, -1.0, f64(INFINITY)})
      check_renorm<D, T, i64>(layout::contiguous, layout::contiguous, 0.5, norm_type);
  });
}

TYPED_TEST(embedding_layouts, renorm) {
  for (const layout of_weight : output_layouts)
    check_renorm<TypeParam, f32, fg::i32>(of_weight, layout::transposed, 1.25, 2);
  test_tensor<f32, TypeParam> weight({3, 2}, layout::contiguous, {3, 4, 0, 0, 1, NAN});
  test_tensor<i64, TypeParam> none({0}), all({3}, layout::contiguous, {0, 1, 2}),
      one({}, layout::contiguous, {0});
  const auto& s = test_stream<TypeParam>();
  fg::embedding_renorm_(s, weight.view(), none.in(), 1);
  EXPECT_EQ(weight.read()[0], 3);
  fg::embedding_renorm_(s, weight.view(), all.in(), 10);
  EXPECT_EQ(weight.read()[1], 4);
  fg::embedding_renorm_(s, weight.view(), all.in(), 2.5);
  EXPECT_NEAR(weight.read()[1], 2, 1e-5);
  EXPECT_EQ(weight.read()[2], 0);
  EXPECT_EQ(weight.read()[4], 1);  // the norm of a row with a NaN is no larger than anything
  fg::embedding_renorm_(s, weight.view(), one.in(), 0);
  EXPECT_EQ(weight.read()[1], 0);
}

TEST(embedding, renorm_refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> weight({4, 6}, layout::contiguous, random_values({4, 6}));
  test_tensor<i64> good({2}), high({2}, layout::strided, {0, 4});
  EXPECT_RAISES(fg::embedding_renorm_(s, weight.view(), high.in(), 0.1), out_of_range,
                "embedding_renorm_");
  EXPECT_RAISES(fg::embedding_renorm_(s, weight.view().select(0, 0), good.in(), 0.1),
                invalid_argument, "embedding_renorm_");
  EXPECT_RAISES(fg::embedding_renorm_(s, weight.view(), good.in(), 0.1, NAN), invalid_argument,
                "embedding_renorm_");
  EXPECT_RAISES(
      fg::embedding_renorm_(s, weight.view().narrow(0, 0, 1).expand({4, 6}), good.in(), 0.1),
      overlap, "embedding_renorm_");
  EXPECT_TRUE(weight.untouched());
}

TEST(embedding, refuses_bad_arguments) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> weight({4, 6}, layout::contiguous, random_values({4, 6})), out({2, 6});
  test_tensor<i64> good({2}), high({2}, layout::strided, {0, 4}),
      low({2}, layout::contiguous, {-1, 0}), three({3});
  EXPECT_RAISES(fg::embedding(stream, weight.in(), high.in(), out.view()), out_of_range,
                "embedding");
  EXPECT_RAISES(fg::embedding(stream, weight.in(), low.in(), out.view()), out_of_range,
                "embedding");
  EXPECT_RAISES(fg::embedding(stream, weight.in(), three.in(), out.view()), shape_mismatch,
                "embedding");
  EXPECT_RAISES(fg::embedding(stream, weight.in().select(0, 0), good.in(), out.view()),
                invalid_argument, "embedding");
  EXPECT_RAISES(fg::embedding(stream, weight.in(), good.in(), weight.view().narrow(0, 1, 2)),
                overlap, "embedding");
  EXPECT_TRUE(out.untouched());
  EXPECT_TRUE(weight.untouched());
}

}  // namespace
}  // namespace flaggems_test
