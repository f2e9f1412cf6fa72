// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The operator of docs/tutorial.md (examples/02_gated_rms_norm.hpp), a row program in a file of its
// author's: all layouts, in place, and what it refuses.
#include <support/ops.hpp>

#include "02_gated_rms_norm.hpp"

namespace flaggems_test {
namespace {

using values = std::vector<double>;

values reference(const values& x, const values& gate, const values& weight, double eps) {
  const std::size_t n = weight.size();
  values y(x.size());
  for (std::size_t row = 0; row < x.size(); row += n) {
    double squares = 0;
    for (std::size_t k = row; k < row + n; ++k) {
      y[k] = x[k] * gate[k] / (1 + std::exp(-gate[k]));
      squares += y[k] * y[k];
    }
    const double root = std::sqrt(squares / static_cast<double>(n) + eps);
    for (std::size_t k = 0; k < n; ++k) y[row + k] *= weight[k] / root;
  }
  return y;
}

template <class D, class T, class Gate = T, class Out = T>
void check(const shape& sizes, layout how, layout to, float eps = 1e-5F) {
  SCOPED_TRACE(std::string(to_string(how)) + " to " + to_string(to) + ", sizes " +
               fg::to_string(sizes));
  const i64 n = sizes[sizes.rank() - 1];
  test_tensor<T, D> x(sizes, how, random_values(sizes, -3, 3));
  test_tensor<Gate, D> gate(sizes, layout::contiguous, random_values(sizes, -4, 2));
  test_tensor<f32, D> weight({n}, layout::contiguous, random_values({n}, -2, 2));
  test_tensor<Out, D> out(sizes, to);
  mamba::gated_rms_norm(test_stream<D>(), x.in(), gate.in(), weight.in(), out.view(), eps);
  tolerance tol = tolerance_of<Out>();
  if (sizeof(Out) == 4) tol = {1e-5, 1e-6};
  expect_close<Out>(out.read(),
                    reference(x.values(), gate.values(), weight.values(), static_cast<double>(eps)),
                    tol);
  EXPECT_TRUE(out.gaps_untouched());
  EXPECT_TRUE(x.untouched() && gate.untouched() && weight.untouched());
}

template <class Device>
class example_gated_rms_norm : public ::testing::Test {};
TYPED_TEST_SUITE(example_gated_rms_norm, all_devices);

TYPED_TEST(example_gated_rms_norm, agrees_with_a_loop) {
  at_every_level<TypeParam>([] {
    for (const layout how : input_layouts)
      for (const layout to : output_layouts) check<TypeParam, f32>({2, 3, 19}, how, to);
    for (const i64 n : {1, 8, 65, 257, 2000}) {
      check<TypeParam, f32>({5, n}, layout::contiguous, layout::contiguous);
      check<TypeParam, fg::bf16>({5, n}, layout::offset, layout::contiguous, 1e-3F);
    }
  });
  check<TypeParam, f32, fg::bf16, fg::f16>({3, 40}, layout::contiguous, layout::contiguous);
  check<TypeParam, f32>({7}, layout::contiguous, layout::contiguous);
  check<TypeParam, f32>({2, 20000}, layout::contiguous, layout::contiguous);
}

TYPED_TEST(example_gated_rms_norm, replaces_x_or_the_gate) {
  at_every_level<TypeParam>([] {
    const shape sizes{4, 37};
    for (const layout how : output_layouts) {
      test_tensor<f32, TypeParam> x(sizes, how, random_values(sizes));
      test_tensor<f32, TypeParam> gate(sizes, how, random_values(sizes, -4, 2));
      test_tensor<f32, TypeParam> weight({37}, layout::contiguous, random_values({37}));
      const auto want = reference(x.values(), gate.values(), weight.values(), 1e-5);
      const auto again = reference(want, gate.values(), weight.values(), 1e-5);
      mamba::gated_rms_norm(test_stream<TypeParam>(), x.in(), gate.in(), weight.in(), x.view());
      expect_close<f32>(x.read(), want, {1e-5, 1e-6});
      mamba::gated_rms_norm(test_stream<TypeParam>(), x.in(), gate.in(), weight.in(), gate.view());
      expect_close<f32>(gate.read(), again, {1e-5, 1e-6});
    }
  });
}

TYPED_TEST(example_gated_rms_norm, refuses_before_it_writes) {
  const auto& stream = test_stream<TypeParam>();
  constexpr const char* op = "mamba::gated_rms_norm";
  test_tensor<f32, TypeParam> x({2, 4}), gate({2, 4}), other({4, 2}), weight({4}), one({1});
  test_tensor<f32, TypeParam> out({2, 4}), scalar(shape{}), row({4}), empty({0, 4}), none({3, 0});
  EXPECT_RAISES(mamba::gated_rms_norm(stream, scalar.in(), scalar.in(), weight.in(), scalar.view()),
                invalid_argument, op);
  EXPECT_RAISES(mamba::gated_rms_norm(stream, x.in(), other.in(), weight.in(), out.view()),
                shape_mismatch, op);
  EXPECT_RAISES(mamba::gated_rms_norm(stream, x.in(), gate.in(), weight.in(), other.view()),
                shape_mismatch, op);
  EXPECT_RAISES(mamba::gated_rms_norm(stream, x.in(), gate.in(), one.in(), out.view()),
                shape_mismatch, op);
  EXPECT_RAISES(mamba::gated_rms_norm(stream, row.in(), row.in(), weight.in(), weight.view()),
                overlap, op);
  EXPECT_RAISES(mamba::gated_rms_norm(stream, x.in(), gate.in(), weight.in(),
                                      out.view().narrow(0, 0, 1).expand({2, 4})),
                overlap, op);
  EXPECT_TRUE(out.untouched() && other.untouched() && weight.untouched());
  mamba::gated_rms_norm(stream, empty.in(), empty.in(), weight.in(), empty.view());
  test_tensor<f32, TypeParam> nothing({0});
  mamba::gated_rms_norm(stream, none.in(), none.in(), nothing.in(), none.view());
}

}  // namespace
}  // namespace flaggems_test
