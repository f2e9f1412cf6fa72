// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/weight_norm.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using values = std::vector<double>;

/// The slice that each of v's elements is in, in row-major order.
std::vector<std::size_t> slices(const shape& sizes, i64 dim) {
  std::vector<std::size_t> r;
  i64 inner = 1;
  for (int d = sizes.rank() - 1; d > dim; --d) inner *= sizes[d];
  for (i64 k = 0; k < sizes.numel(); ++k)
    r.push_back(dim < 0 ? 0 : static_cast<std::size_t>(k / inner % sizes[static_cast<int>(dim)]));
  return r;
}

template <class D, class T>
void check(const shape& sizes, i64 dim, layout how) {
  SCOPED_TRACE(std::string(to_string(how)) + ", " + fg::to_string(sizes) + ", dim " +
               std::to_string(dim));
  const auto& s = test_stream<D>();
  shape kept(sizes);
  for (int d = 0; d < kept.rank(); ++d)
    if (d != dim) kept[d] = 1;
  if (dim < 0) kept = {};
  test_tensor<T, D> v(sizes, how, random_values(sizes, -2, 2)), out(sizes, how),
      g(kept, how, random_values(kept, 0.5, 2)), grad(sizes, how, random_values(sizes)),
      grad_v(sizes, how), grad_g(kept, how);
  using N = fg::detail::saved_type<T>;
  test_tensor<N, D> norms(kept, how);
  fg::weight_norm_interface(s, v.in(), g.in(), out.view(), norms.view(), dim);
  const auto of = slices(sizes, dim);
  const auto count = static_cast<std::size_t>(kept.numel());
  values length(count), product(count), want(of.size()), by_v(of.size()), by_g(count);
  for (std::size_t k = 0; k < of.size(); ++k) {
    length[of[k]] += v.values()[k] * v.values()[k];
    product[of[k]] += v.values()[k] * grad.values()[k];
  }
  for (double& n : length) n = std::sqrt(n);
  for (std::size_t i = 0; i < count; ++i) by_g[i] = product[i] / length[i];
  for (std::size_t k = 0; k < of.size(); ++k) {
    const std::size_t i = of[k];
    want[k] = g.values()[i] * v.values()[k] / length[i];
    by_v[k] = g.values()[i] / length[i] *
              (grad.values()[k] - v.values()[k] * product[i] / (length[i] * length[i]));
  }
  expect_close<T>(out.read(), want, tolerance_of<T>(2));
  expect_close<N>(norms.read(), length, tolerance_of<T>());
  fg::weight_norm_interface_backward(s, grad.in(), v.in(), g.in(), norms.in(), grad_v.view(),
                                     grad_g.view(), dim);
  expect_close<T>(grad_v.read(), by_v, tolerance_of<T>(4));
  expect_close<T>(grad_g.read(), by_g, tolerance_of<T>(4));
  expect_equal(values_of(fg::weight_norm(s, v.in(), g.in(), dim)), out.read());
  EXPECT_TRUE(out.gaps_untouched() && norms.gaps_untouched() && grad_v.gaps_untouched() &&
              grad_g.gaps_untouched());
}

template <class Case>
class weight_norm : public ::testing::Test {};
using some_cases = cases<on_host<f32, bf16, f64>, on_chips<bf16>, on_wide<bf16>>;
TYPED_TEST_SUITE(weight_norm, some_cases);

TYPED_TEST(weight_norm, all) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 dim : {0, 2, 1, -1}) check<D, T>({4, 3, 5}, dim, layout::contiguous);
    check<D, T>({7}, 0, layout::contiguous);
  });
  for (const layout how : output_layouts) check<D, T>({4, 3, 5}, 0, how);
}

TYPED_TEST(weight_norm, empty_and_bad_input) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> none({0, 3}), by_none({0, 1}), v({2, 3}), g({2, 1}), other({1, 3}), to({2, 3});
  EXPECT_EQ(fg::weight_norm(s, none.in(), by_none.in()).numel(), 0);
  EXPECT_RAISES((void)fg::weight_norm(s, v.in(), other.in()), shape_mismatch,
                "weight_norm_interface");
  EXPECT_RAISES((void)fg::weight_norm(s, v.in(), g.in(), 2), out_of_range, "weight_norm_interface");
  EXPECT_RAISES(fg::weight_norm_interface(s, v.in(), g.in(), to.view().narrow(0, 0, 1), g.view()),
                shape_mismatch, "weight_norm_interface");
  EXPECT_RAISES(fg::weight_norm_interface(s, v.in(), g.in(), to.view(), g.view()), overlap,
                "weight_norm_interface");
  EXPECT_RAISES((void)fg::weight_norm_interface_backward(s, v.in(), v.in(), other.in(), g.in(), 0),
                shape_mismatch, "weight_norm_interface_backward");
  EXPECT_TRUE(to.untouched());
}

}  // namespace
}  // namespace flaggems_test
