// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The forms of the pointwise operators: expression, new tensor, output, in place, operators of the
// language; operands of different dtypes, outputs of other dtypes, where. What each operator
// computes is tested in pointwise_unary*.cpp and pointwise_binary*.cpp.
#include <flaggems/ops/arithmetic.hpp>
#include <support/pointwise.hpp>

namespace flaggems_test {
namespace {

using std::int16_t, std::int32_t, std::int8_t, std::uint8_t;

// Dimensions of new results are in the order that the operands have in memory, as ATen's.
TEST(pointwise, strides_of_new_results) {
  const auto& s = test_stream<host>();
  const shape sizes{2, 3, 4, 5};
  const auto x = fg::empty<f32>(s, sizes, fg::memory_format::channels_last);
  const auto row = fg::empty<f32>(s, {5}), channels = fg::empty<f32>(s, {3, 1, 1});
  const auto rows = fg::empty<f32>(s, sizes), other = fg::empty<f32>(s, {5, 4, 3, 2});
  const auto strides = [](const auto& made) { return shape(made.strides()); };
  const shape last{60, 1, 15, 3}, first{60, 20, 5, 1}, turned{1, 2, 6, 24};
  EXPECT_EQ(strides(fg::exp(s, x)), last);
  EXPECT_EQ(strides(fg::add(s, x, row)), last);
  EXPECT_EQ(strides(fg::add(s, channels, x)), last);
  EXPECT_EQ(strides(fg::where(s, fg::gt(x, 0), row, channels)), last);
  EXPECT_EQ(strides(fg::evaluate(s, x * 2 + 1)), last);
  EXPECT_EQ(strides(fg::add(s, row, channels)), (shape{5, 5, 1}));
  // The first operand decides where both say something.
  EXPECT_EQ(strides(fg::add(s, rows, x)), first);
  EXPECT_EQ(strides(fg::add(s, x, rows)), last);
  EXPECT_EQ(strides(fg::exp(s, other.permute({3, 2, 1, 0}))), turned);
  // Without gaps, and of what is broadcast the other operands' order.
  EXPECT_EQ(strides(fg::exp(s, other.permute({3, 2, 1, 0}).narrow(2, 0, 2))), (shape{1, 2, 6, 12}));
  EXPECT_EQ(strides(fg::exp(s, row.expand({2, 5}).t())), (shape{2, 1}));
  EXPECT_EQ(strides(fg::masked_fill(s, x, fg::gt(x, 0), 1)), first);
}

TEST(pointwise, forms_agree) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> a({3, 17}, layout::strided, random_values({3, 17}));
  test_tensor<f32> b({17}, layout::contiguous, random_values({17}));
  test_tensor<f32> out({3, 17}), assigned({3, 17});
  fg::add(stream, a.in(), b.in(), out.view());
  fg::assign(stream, assigned.view(), fg::add(a.in(), b.in()));
  const auto fresh = fg::add(stream, a.in(), b.in());
  static_assert(std::is_same_v<fg::value_t<decltype(fresh)>, f32>);
  EXPECT_EQ(shape(fresh.sizes()), shape({3, 17}));
  EXPECT_TRUE(fresh.view().is_contiguous());
  EXPECT_EQ(values_of(fresh), out.read());
  EXPECT_EQ(assigned.read(), out.read());
  EXPECT_EQ(values_of(fg::evaluate(stream, a.in() + b.in())), out.read());
  test_tensor<f32> c({3, 17}, layout::negative, a.values());
  fg::add_(stream, c.view(), b.in());
  EXPECT_EQ(c.read(), out.read());
}

TEST(pointwise, operators_of_the_language) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> a({19}, layout::contiguous, random_values({19}, 1, 2));
  test_tensor<f32> b({19}, layout::contiguous, random_values({19}, 1, 2));
  const auto x = a.in(), y = b.in();
  const auto got = values_of(fg::evaluate(stream, -(x + y) * (x - y) / y + 2 * x - 1 / y));
  std::vector<double> want;
  for (std::size_t k = 0; k < 19; ++k) {
    const double p = a.values()[k], q = b.values()[k];
    want.push_back(-(p + q) * (p - q) / q + 2 * p - 1 / q);
  }
  expect_close<f32>(got, want, {1e-5, 1e-6});
}

/// A op B into Out, against doubles.
template <class A, class B, class Out>
void check_mixed(bool small = false) {
  SCOPED_TRACE(std::string(fg::to_string(fg::dtype_of<A>)) + " + " +
               std::string(fg::to_string(fg::dtype_of<B>)) + " to " +
               std::string(fg::to_string(fg::dtype_of<Out>)));
  const i64 low = small ? 0 : -50;
  test_tensor<A> a({3, 19}, layout::strided, random_integers({3, 19}, low, 50));
  test_tensor<B> b({19}, layout::offset, random_integers({19}, low, 50));
  test_tensor<Out> sum({3, 19});
  test_tensor<bool> less({3, 19});
  at_every_level<host>([&] {
    fg::add(test_stream<host>(), a.in(), b.in(), sum.view());
    fg::lt(test_stream<host>(), a.in(), b.in(), less.view());
    std::vector<double> want, want_less;
    for (std::size_t k = 0; k < 57; ++k) {
      want.push_back(a.values()[k] + b.values()[k % 19]);
      want_less.push_back(a.values()[k] < b.values()[k % 19] ? 1 : 0);
    }
    expect_equal(sum.read(), want);
    expect_equal(less.read(), want_less);
  });
}
TEST(pointwise, operands_of_different_dtypes) {
  check_mixed<bf16, f32, f32>();
  check_mixed<f16, bf16, f32>();
  check_mixed<int32_t, f64, f64>();
  check_mixed<uint8_t, int8_t, int16_t>(true);
  check_mixed<i64, int32_t, i64>();
}
TEST(pointwise, outputs_of_higher_dtypes) {
  check_mixed<int32_t, int32_t, f32>();
  check_mixed<int8_t, int16_t, i64>();
  check_mixed<bf16, bf16, f64>();
}

TEST(pointwise, where) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> a({3, 17}, layout::strided, random_values({3, 17}));
  test_tensor<bool> mask({3, 1}, layout::contiguous, {1, 0, 1});
  test_tensor<f32> out({3, 17});
  fg::where(stream, mask.in(), a.in(), -1.0, out.view());
  std::vector<double> want;
  for (std::size_t k = 0; k < 51; ++k) want.push_back(k / 17 == 1 ? -1 : a.values()[k]);
  expect_equal(out.read(), want);
  expect_equal(values_of(fg::where(stream, fg::gt(a.in(), 5), a.in(), a.in())), a.values());
}

}  // namespace
}  // namespace flaggems_test
