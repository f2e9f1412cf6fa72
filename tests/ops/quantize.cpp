// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/quantize.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class quantized : public ::testing::Test {};
TYPED_TEST_SUITE(quantized, all_devices);

TYPED_TEST(quantized, fake) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<f32, D> x({2, 3}, how, {0.6, -5, 0.5, 1.5, 9, -0.25}), out({2, 3}, how),
          scale({2}, how, {1, 0.5}), point({2}, how, {1, -0.5});
      test_tensor<fg::i32, D> zero({2}, how, {1, -1});
      test_tensor<bool, D> mask({2, 3}, how);
      fg::fake_quantize_per_channel_affine_cachemask(s, x.in(), scale.in(), zero.in(), 0, -2, 3,
                                                     out.view(), mask.view());
      expect_equal(out.read(), {1, -3, 0, 1.5, 2, 0});
      expect_equal(mask.read(), {1, 0, 1, 1, 0, 1});
      EXPECT_TRUE(out.gaps_untouched() && mask.gaps_untouched());
      // A point between integers is added before the sum is rounded.
      expect_equal(values_of(fg::fake_quantize_per_channel_affine(s, x.in(), scale.in(), point.in(),
                                                                  0, -2, 3)),
                   {1, -3, 1, 1.25, 1.75, -0.25});
      test_tensor<f32, D> one({1}, how, {0.5}), about({1}, how, {0.75});
      expect_equal(values_of(fg::fake_quantize_learnable_per_tensor_affine(s, x.in(), one.in(),
                                                                           about.in(), -2, 3)),
                   {0.5, -1.5, 0.5, 1, 1, 0});
    }
  });
  test_tensor<bf16, D> none({0, 2});
  test_tensor<f32, D> two({2}, layout::contiguous, {1, 1});
  EXPECT_EQ(
      fg::fake_quantize_per_channel_affine(s, none.in(), two.in(), two.in(), 1, 0, 7).shape_of(),
      (shape{0, 2}));
}

TYPED_TEST(quantized, groups) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({2, 4}, layout::transposed, {448, -2, 0, 0, 1, 2, -896, 4});
  const auto got = fg::per_token_group_quant_fp8(s, x.in(), 2, 448, true);
  EXPECT_EQ(got.second.stride(0), 1);
  expect_close<f32>(values_of(got.second), {1, 1, 1, 2});
  expect_equal(values_of(got.first), {448, -2, 0, 0, 1, 2, -448, 2});
  const auto powers = fg::per_token_group_quant_fp8(s, x.in(), 4, 1e-10, false, true);
  expect_equal(values_of(powers.second), {1, 2});
}

TYPED_TEST(quantized, products) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const layout how : {layout::contiguous, layout::transposed}) {
    test_tensor<bf16, D> x({2, 3}, how, {1, 2, 3, -1, 0.5, 4}), by({2}, how, {0.5, 2}),
        out({2, 2}, how);
    test_tensor<fg::i8, D> w({2, 3}, how, {127, -128, 4, 1, 0, -1});
    fg::weight_int8pack_mm(s, x.in(), w.in(), by.in(), out.view());
    expect_equal(out.read(), {-58.5, -4, -87.5, -10});
    EXPECT_TRUE(out.gaps_untouched());
    expect_equal(values_of(fg::weight_int8pack_mm(s, x.in(), w.in(), by.in())), out.read());
  }
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(quantized_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 3}), two({2}), three({3}), out({2, 3});
  test_tensor<bool> mask({2, 3});
  test_tensor<fg::i8> w({4, 2});
  const auto run = [&](auto& scale, i64 axis, i64 least) {
    fg::fake_quantize_per_channel_affine_cachemask(s, x.in(), scale.in(), two.in(), axis, least, 3,
                                                   out.view(), mask.view());
  };
  EXPECT_RAISES(run(three, 0, 0), shape_mismatch, "fake_quantize_per_channel_affine_cachemask");
  EXPECT_RAISES(run(two, 2, 0), out_of_range, "fake_quantize_per_channel_affine_cachemask");
  EXPECT_RAISES(run(two, 0, 4), invalid_argument, "fake_quantize_per_channel_affine_cachemask");
  EXPECT_RAISES(fg::fake_quantize_learnable_per_tensor_affine(s, x.in(), two.in(), two.in(), 0, 3),
                shape_mismatch, "fake_quantize_learnable_per_tensor_affine");
  EXPECT_RAISES(fg::per_token_group_quant_fp8(s, x.in(), 2), shape_mismatch,
                "per_token_group_quant_fp8");
  EXPECT_RAISES(fg::weight_int8pack_mm(s, x.in(), w.in(), two.in()), shape_mismatch,
                "weight_int8pack_mm");
  EXPECT_TRUE(out.untouched() && mask.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
