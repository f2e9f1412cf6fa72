// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The rows of the table of ops/activation.hpp; logit, nan_to_num, prelu.
#include <flaggems/ops/activation.hpp>
#include <support/pointwise_tables.hpp>

namespace flaggems_test {
namespace {

FLAGGEMS_ACTIVATION_TABLE(TEST_UNARY, TEST_UNARY1, TEST_UNARY2, TEST_UNARY3, TEST_PAIR, TEST_PAIR1)
using rows = row_list<void FLAGGEMS_ACTIVATION_TABLE(TEST_LISTED, TEST_LISTED, TEST_LISTED,
                                                     TEST_LISTED, TEST_LISTED, TEST_LISTED)>;

template <class D>
class activation_rows : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(activation_rows, devices);

TYPED_TEST(activation_rows, rows) { check_table<TypeParam, rows>(); }

using values = std::vector<double>;
constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

TYPED_TEST(activation_rows, logit_and_numbers) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  at_every_level<D>([&] {
    const values in = {0.5, 0.500001, 0.4, 0.9, 1e-6, 0, 1, -0.5, 2, nan, 0.25, 0.75, 0.999999};
    test_tensor<f32, D> x({13}, layout::strided, in), out({13});
    for (const std::optional<double> eps :
         {std::optional<double>(), std::optional(0.125), std::optional(0.625)}) {
      fg::logit(stream, x.in(), out.view(), eps);
      values want;
      for (const double v : x.values()) {
        const double z = !eps ? v : v < *eps ? *eps : v > 1 - *eps ? 1 - *eps : v;
        want.push_back(std::log(z / (1 - z)));
      }
      expect_close<f32>(out.read(), want, {1e-6, 1e-9});
    }
    test_tensor<f32, D> y({4}, layout::negative, {nan, inf, -inf, -2.5}), to({4});
    fg::nan_to_num(stream, y.in(), to.view());
    const double most = std::numeric_limits<float>::max();
    expect_equal(to.read(), {0, most, -most, -2.5});
    fg::nan_to_num(stream, y.in(), to.view(), 7, std::nullopt, -1);
    expect_equal(to.read(), {7, most, -1, -2.5});
    fg::logit_(stream, x.view());
    fg::logit(stream, test_tensor<f32, D>({13}, layout::contiguous, in).in(), out.view());
    expect_equal(x.read(), out.read());
    fg::nan_to_num_(stream, y.view(), std::nullopt, 3);
    expect_equal(y.read(), {0, 3, -most, -2.5});
  });
  // A negative eps is none, as in PyTorch.
  test_tensor<f32, D> z({4}, layout::contiguous, {0.25, 0.5, 1.5, -0.1});
  expect_close<f32>(values_of(fg::logit(stream, z.in(), -0.5)), {-std::log(3.0), 0, nan, nan},
                    {1e-6, 1e-9});
}

TYPED_TEST(activation_rows, refuse_options) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  test_tensor<f32, D> x({5}, layout::contiguous, {-1, 0, 1, 2, 3}), out({5});
  EXPECT_RAISES(fg::celu(stream, x.in(), out.view(), 0), invalid_argument, "celu");
  EXPECT_RAISES(fg::celu_(stream, x.view(), 0), invalid_argument, "celu");
  EXPECT_RAISES((void)fg::celu(x.in(), 0), invalid_argument, "celu");
  for (const double lambd : {-0.5, nan})
    EXPECT_RAISES(fg::softshrink(stream, x.in(), out.view(), lambd), invalid_argument,
                  "softshrink");
  EXPECT_TRUE(out.untouched() && x.untouched());
  fg::softshrink(stream, x.in(), out.view(), 0);
  expect_equal(out.read(), {-1, 0, 1, 2, 3});
}

TYPED_TEST(activation_rows, prelu) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  const shape sizes{2, 3, 2};
  test_tensor<f32, D> x(sizes, layout::transposed, random_values(sizes)), out(sizes);
  test_tensor<f32, D> w({3}, layout::strided, {0.5, -1, 2}), one({1}, layout::contiguous, {0.25});
  fg::prelu(stream, x.in(), w.in(), out.view());
  values want, want_one;
  for (std::size_t k = 0; k < 12; ++k) {
    const double v = x.values()[k];
    want.push_back(v > 0 ? v : v * w.values()[k / 2 % 3]);
    want_one.push_back(v > 0 ? v : v / 4);
  }
  expect_close<f32>(out.read(), want, {1e-6, 0});
  expect_close<f32>(values_of(fg::prelu(stream, x.in(), one.in())), want_one, {1e-6, 0});
  test_tensor<f32, D> scalar({}, layout::contiguous, {-2});
  expect_equal(values_of(fg::prelu(stream, scalar.in(), one.in())), {-0.5});
  test_tensor<f32, D> empty({0, 3});
  EXPECT_EQ(fg::prelu(stream, empty.in(), w.in()).numel(), 0);
  EXPECT_RAISES(fg::prelu(stream, x.in(), w.in().narrow(0, 0, 2), out.view()), shape_mismatch,
                "prelu");
}

TYPED_TEST(activation_rows, log_sigmoid_with_a_buffer) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  test_tensor<f32, D> x({9}, layout::strided, {-3, -1, -0.0, 0, 1, 3, 100, -100, nan});
  test_tensor<f32, D> output({9}), buffer({9});
  fg::log_sigmoid_forward(stream, x.in(), output.view(), buffer.view());
  values want, rest;
  for (const double v : x.values()) {
    want.push_back(reference::log_sigmoid(v));
    rest.push_back(std::exp(-std::abs(v)));
  }
  expect_close<f32>(output.read(), want, {1e-6, 1e-44});
  expect_close<f32>(buffer.read(), rest, {1e-6, 1e-44});
  const auto both = fg::log_sigmoid_forward(stream, x.in());
  EXPECT_EQ(values_of(both.second).size(), 9U);
  EXPECT_RAISES(fg::log_sigmoid_forward(stream, x.in(), output.view(), output.view()), overlap,
                "log_sigmoid_forward");
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(activation_numbers, of_other_dtypes) {
  const auto& stream = test_stream<host>();
  test_tensor<bf16> x({3}, layout::contiguous, {nan, inf, -inf});
  expect_equal(values_of(fg::nan_to_num(stream, x.in())), {0, 0x1.fep127, -0x1.fep127});
  test_tensor<fg::i32> i({3}, layout::contiguous, {1, -2, 3});
  expect_equal(values_of(fg::nan_to_num(stream, i.in())), {1, -2, 3});
  static_assert(
      std::is_same_v<fg::value_t<decltype(fg::threshold(stream, i.in(), 1, 5))>, fg::i32>);
}

/// Of integers, options lose their fractions, and are numbers of the dtype that f64 holds exactly.
TEST(activation_numbers, of_threshold) {
  const auto& stream = test_stream<host>();
  test_tensor<fg::i32> x({3}, layout::contiguous, {1, -2, 3}), out({3});
  for (const double no : {1e10, -2147483649.0, inf, nan}) {
    EXPECT_RAISES(fg::threshold(stream, x.in(), out.view(), 0, no), invalid_argument, "threshold");
    EXPECT_RAISES(fg::threshold(stream, x.in(), out.view(), no, 0), invalid_argument, "threshold");
  }
  EXPECT_TRUE(out.untouched());
  fg::threshold(stream, x.in(), out.view(), 1.5, 2147483647);
  expect_equal(out.read(), {2147483647, 2147483647, 3});
  EXPECT_RAISES((void)fg::hardtanh(x.in(), -1, nan), invalid_argument, "hardtanh");
  expect_equal(values_of(fg::hardtanh(stream, x.in(), -1e10, 2)), {1, -2, 2});
  test_tensor<fg::u8> bytes({2}, layout::contiguous, {1, 5});
  EXPECT_RAISES((void)fg::threshold(bytes.in(), 3, -1), invalid_argument, "threshold");
  expect_equal(values_of(fg::threshold(stream, bytes.in(), 3, 255)), {255, 5});
  test_tensor<fg::i64> wide({2}, layout::contiguous, {1, 5});
  EXPECT_RAISES((void)fg::threshold(wide.in(), 3, 9007199254740992.0), invalid_argument,
                "threshold");
  expect_equal(values_of(fg::threshold(stream, wide.in(), 3, -9007199254740991.0)),
               {-9007199254740991.0, 5});
}

#endif

}  // namespace
}  // namespace flaggems_test
