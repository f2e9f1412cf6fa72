// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/view_scatter.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class view_scatters : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(view_scatters, devices);

TYPED_TEST(view_scatters, all) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout in : input_layouts) {
      const layout own = in == layout::broadcast ? layout::contiguous : in;
      test_tensor<f32, D> x({3, 4}, own, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), out({3, 4}, own),
          part({3, 2}, in, {20, 21, 22, 23, 24, 25}), row({4}, in, {30, 31, 32, 33}),
          line({3}, in, {40, 41, 42}), square({2, 2}, in, {50, 51, 52, 53});
      const auto &p = part.values(), &r = row.values(), &l = line.values(), &q = square.values();
      const std::vector<double> sliced{1, p[0], 3, p[1], 5, p[2], 7, p[3], 9, p[4], 11, p[5]};
      fg::slice_scatter(s, x.in(), part.in(), out.view(), 1, 1, {}, 2);
      expect_equal(out.read(), sliced);
      EXPECT_TRUE(out.gaps_untouched());
      expect_equal(values_of(fg::select_scatter(s, x.in(), row.in(), 0, -2)),
                   {1, 2, 3, 4, r[0], r[1], r[2], r[3], 9, 10, 11, 12});
      expect_equal(values_of(fg::diagonal_scatter(s, x.in(), line.in(), 1)),
                   {1, l[0], 3, 4, 5, 6, l[1], 8, 9, 10, 11, l[2]});
      if (own == layout::contiguous)
        expect_equal(values_of(fg::as_strided_scatter(s, x.in(), square.in(), {2, 2}, {4, 2}, 1)),
                     {1, q[0], 3, q[1], 5, q[2], 7, q[3], 9, 10, 11, 12});
      if (own == layout::transposed) {  // element [i, j] is at i + 3 j
        const auto turned = fg::as_strided_scatter(s, x.in(), square.in(), {2, 2}, {3, 1}, 1);
        EXPECT_EQ(shape(turned.view().strides()), (shape{1, 3}));
        expect_equal(values_of(fg::contiguous(s, turned)),
                     {1, 2, 3, 4, q[0], q[2], 7, 8, q[1], q[3], 11, 12});
      }
      fg::slice_scatter(s, x.in(), part.in(), x.view(), 1, 1, {}, 2);
      expect_equal(x.read(), sliced);
      expect_equal(values_of(fg::slice_backward(s, part.in(), {3, 4}, 1, 1, 4, 2)),
                   {0, p[0], 0, p[1], 0, p[2], 0, p[3], 0, p[4], 0, p[5]});
      fg::select_backward(s, row.in(), out.view(), {3, 4}, 0, 1);
      expect_equal(out.read(), {0, 0, 0, 0, r[0], r[1], r[2], r[3], 0, 0, 0, 0});
      expect_equal(values_of(fg::diagonal_backward(s, line.in(), {3, 4}, 1, 0, 1)),
                   {0, l[0], 0, 0, 0, 0, l[1], 0, 0, 0, 0, l[2]});
    }
  });
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(view_scatter, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3, 4}), out({3, 4}), row({4});
  EXPECT_RAISES(fg::select_scatter(s, x.in(), row.in(), out.view(), 1, 0), shape_mismatch,
                "select_scatter");
  EXPECT_RAISES(fg::select_scatter(s, x.in(), row.in(), 0, 3), out_of_range, "select");
  EXPECT_RAISES(fg::select_scatter(s, x.in(), x.in().select(0, 0), x.view(), 0, 1), overlap,
                "select_scatter");
  EXPECT_RAISES(fg::slice_backward(s, row.in(), {3, 4}, 0, 0, 1, 1), shape_mismatch,
                "slice_backward");
  EXPECT_TRUE(out.untouched());
}

TEST(view_scatter, stays_within_the_output) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 32}), out({2, 16}), src({2, 16});
  const auto gaps = x.in().slice(1, 0, 32, 2);
  EXPECT_RAISES(fg::as_strided_scatter(s, gaps, src.in(), {2, 16}, {32, 2}), invalid_argument,
                "as_strided_scatter");
  EXPECT_RAISES(fg::as_strided_scatter(s, gaps, src.in(), out.view(), {2, 16}, {32, 2}),
                invalid_argument, "as_strided_scatter");
  EXPECT_RAISES(fg::as_strided_scatter(s, x.in(), src.in(), {2, 16}, {16, 1}, 33), invalid_argument,
                "as_strided_scatter");
  EXPECT_RAISES(fg::as_strided_scatter(s, x.in(), src.in(), {2, 16}, {16, 1}, -1), invalid_argument,
                "as_strided_scatter");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
