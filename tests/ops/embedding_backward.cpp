// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/embedding_backward.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

template <class Case>
class embedding_gradients : public ::testing::Test {};
TYPED_TEST_SUITE(embedding_gradients, wide_float_cases);

TYPED_TEST(embedding_gradients, all) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout in : {layout::contiguous, layout::transposed, layout::negative})
      for (const bool scale : {false, true}) {
        test_tensor<T, D> grad({3, 40, 5}, in, random_values({3, 40, 5})),
            out({7, 5}, layout::strided);
        test_tensor<i64, D> index({3, 40}, in, random_integers({3, 40}, 0, 6));
        std::vector<double> want(35), count(7);
        for (std::size_t k = 0; k < 120; ++k) {
          const auto row = static_cast<std::size_t>(index.values()[k]);
          if (row == 2) continue;
          ++count[row];
          for (std::size_t e = 0; e < 5; ++e) want[row * 5 + e] += grad.values()[k * 5 + e];
        }
        for (std::size_t k = 0; scale && k < 35; ++k)
          if (count[k / 5] > 0) want[k] /= count[k / 5];
        fg::embedding_dense_backward(s, grad.in(), index.in(), out.view(), 7, 2, scale);
        expect_close<T>(out.read(), want);
        EXPECT_TRUE(out.gaps_untouched());
        expect_close<T>(values_of(fg::embedding_backward(s, grad.in(), index.in(), 7, 2, scale)),
                        want);
      }
  });
  if constexpr (std::is_same_v<T, fg::f16>) {  // the sum is no f16, the mean is
    test_tensor<T, D> large({2, 1}, layout::contiguous, {60000, 60000});
    test_tensor<i64, D> first({2});
    expect_equal(values_of(fg::embedding_dense_backward(s, large.in(), first.in(), 1, -1, true)),
                 {60000});
  }
  test_tensor<T, D> none({0, 5});
  test_tensor<i64, D> nothing({0});
  expect_equal(values_of(fg::embedding_dense_backward(s, none.in(), nothing.in(), 1)),
               {0, 0, 0, 0, 0});
}

/// Bags of embeddings: their samples' indices, and which bag each is in.
TYPED_TEST(embedding_gradients, of_bags) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const std::vector<double> at{1, 2, 4, 4, 0, 2, 5, 1}, bags{0, 0, 0, 2, 2, 2, 2, 3},
      sizes{2, 0, 3, 1};
  for (const layout in : {layout::contiguous, layout::transposed, layout::negative})
    for (const i64 mode : {0, 1})
      for (const bool scaled : {false, true}) {
        test_tensor<T, D> grad({4, 5}, in, random_values({4, 5})),
            by({8}, in, random_values({8}, 0, 1)), table({6, 5}, in, random_values({6, 5})),
            out({6, 5}, layout::strided), dots({8}, layout::strided);
        test_tensor<i64, D> indices({8}, in, at), bag({8}, in, bags), size({4}, in, sizes),
            most({4, 5}), begins({4}, in, {0, 3, 3, 7}), none({0});
        std::vector<double> want(30), of_weights(8), count(6);
        for (std::size_t k = 0; k < 8; ++k) ++count[static_cast<std::size_t>(at[k])];
        for (std::size_t k = 0; k < 8; ++k) {
          const auto row = static_cast<std::size_t>(at[k]), b = static_cast<std::size_t>(bags[k]);
          if (row == 2) continue;  // the padding
          const double factor =
              (mode == 0 ? by.values()[k] : 1 / sizes[b]) / (scaled ? count[row] : 1);
          for (std::size_t e = 0; e < 5; ++e) {
            want[row * 5 + e] += grad.values()[b * 5 + e] * factor;
            of_weights[k] += grad.values()[b * 5 + e] * table.values()[row * 5 + e];
          }
        }
        using view = std::optional<fg::tensor_view<const T, D>>;
        fg::embedding_bag_dense_backward(s, grad.in(), indices.in(), bag.in(), size.in(), most.in(),
                                         6, scaled, mode, mode == 0 ? view(by.in()) : view(),
                                         out.view(), 2);
        expect_close<T>(out.read(), want);
        EXPECT_TRUE(out.gaps_untouched());
        fg::embedding_bag_per_sample_weights_backward(s, grad.in(), table.in(), indices.in(),
                                                      begins.in(), bag.in(), dots.view(), 0, 2);
        expect_close<T>(dots.read(), of_weights);
        expect_close<T>(values_of(fg::embedding_bag_per_sample_weights_backward(
                            s, grad.in(), table.in(), indices.in(), begins.in(), none.in(), 0, 2)),
                        of_weights);
      }
  // Of maxima, each bag's gradient where they were; a bag without elements has none.
  test_tensor<T, D> grad({2, 2}, layout::strided, {1, 2, 3, 4});
  test_tensor<i64, D> indices({3}, layout::contiguous, {0, 1, 1}), bag({3}),
      size({2}, layout::contiguous, {3, 0}), most({2, 2}, layout::transposed, {1, 0, -1, -1});
  expect_equal(
      values_of(fg::embedding_bag_dense_backward(s, grad.in(), indices.in(), bag.in(), size.in(),
                                                 most.in(), 3, false, 2, std::nullopt)),
      {0, 2, 1, 0, 0, 0});
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(embedding_backward, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> grad({2, 3}), out({4, 3}), small({4, 2});
  test_tensor<i64> index({2}, layout::contiguous, {0, 4}), good({2}), three({3});
  EXPECT_RAISES(fg::embedding_dense_backward(s, grad.in(), index.in(), out.view(), 4), out_of_range,
                "embedding_dense_backward");
  EXPECT_RAISES(fg::embedding_dense_backward(s, grad.in(), three.in(), out.view(), 4),
                shape_mismatch, "embedding_dense_backward");
  EXPECT_RAISES(fg::embedding_dense_backward(s, grad.in(), good.in(), small.view(), 4),
                shape_mismatch, "embedding_dense_backward");
  EXPECT_RAISES(fg::embedding_backward(s, grad.in(), good.in(), 4, -1, false, true), not_supported,
                "embedding_backward");
  test_tensor<i64> bags({2}), sizes({2}, layout::contiguous, {1, 1}), most({2, 3});
  const auto run = [&](auto& indices, auto& bag, i64 mode) {
    fg::embedding_bag_dense_backward(s, grad.in(), indices.in(), bag.in(), sizes.in(), most.in(), 4,
                                     false, mode, std::nullopt, out.view());
  };
  EXPECT_RAISES(run(index, bags, 0), out_of_range, "embedding_bag_dense_backward");
  EXPECT_RAISES(run(good, index, 0), out_of_range, "embedding_bag_dense_backward");
  EXPECT_RAISES(run(good, three, 1), shape_mismatch, "embedding_bag_dense_backward");
  EXPECT_RAISES(run(good, bags, 3), invalid_argument, "embedding_bag_dense_backward");
  EXPECT_RAISES((void)fg::embedding_bag_per_sample_weights_backward(
                    s, grad.in(), small.in(), good.in(), bags.in(), bags.in(), 0),
                shape_mismatch, "embedding_bag_per_sample_weights_backward");
  EXPECT_RAISES((void)fg::embedding_bag_per_sample_weights_backward(
                    s, grad.in(), out.in(), good.in(), bags.in(), bags.in(), 1),
                invalid_argument, "embedding_bag_per_sample_weights_backward");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
