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
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
