// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/weight_packing.hpp>
#include <support/ops.hpp>

#include <optional>
#include <vector>

namespace flaggems_test {
namespace {

using fg::i32, fg::i8, fg::u8;

std::size_t at(i64 i) { return static_cast<std::size_t>(i); }

/// Integers in [0, count), in no order.
std::vector<double> mixed(i64 n, int count, int seed = 1) {
  std::vector<double> r;
  for (i64 i = 0; i < n; ++i) r.push_back(static_cast<double>((i * 7 + i / 3 * 5 + seed) % count));
  return r;
}

template <class Case>
class packed_weights : public ::testing::Test {};
using few_cases = cases<on_host<f32, bf16>, on_chips<f32>, on_wide<f32>>;
TYPED_TEST_SUITE(packed_weights, few_cases);

TYPED_TEST(packed_weights, of_4_bits) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const i64 m = 3, n = 5, k = 12, g = 4;
  for (const layout of : {layout::contiguous, layout::transposed, layout::negative}) {
    std::vector<double> bits = mixed(n * k, 16);
    bits[0] += 48;  // more than 4 bits
    test_tensor<i32, D> weights({n, k}, of, bits);
    test_tensor<u8, D> packed({n, k / 2}, of);
    fg::convert_weight_to_int4pack(s, weights.in(), packed.view(), 8);
    std::vector<double> want;
    bits[0] -= 48;
    for (i64 i = 0; i < n * k; i += 2) want.push_back(bits[at(i)] + 16 * bits[at(i + 1)]);
    EXPECT_EQ(packed.read(), want);
    EXPECT_TRUE(packed.gaps_untouched() && weights.untouched());
    expect_equal(values_of(fg::convert_weight_to_int4pack(s, weights.in(), 2)), want);

    test_tensor<T, D> x({m, k}, of, random_values({m, k})), out({m, n}, of);
    test_tensor<T, D> scale({k / g, n}, layout::strided, random_values({k / g, n}));
    test_tensor<i8, D> zeros({k / g, n}, layout::contiguous, mixed(k / g * n, 16, 3));
    fg::weight_int4pack_mm_with_scales_and_zeros(s, x.in(), packed.in(), g, scale.in(), zeros.in(),
                                                 out.view());
    std::vector<double> sums;
    for (i64 i = 0; i < m; ++i)
      for (i64 j = 0; j < n; ++j) {
        double sum = 0;
        for (i64 q = 0; q < k; ++q) {
          const i64 of_group = q / g * n + j;
          const double w =
              (bits[at(j * k + q)] - zeros.values()[at(of_group)]) * scale.values()[at(of_group)];
          sum += x.values()[at(i * k + q)] *
                 fg::kernels::number_cast<double>(T(static_cast<float>(w)));
        }
        sums.push_back(sum);
      }
    // (Of bf16, weights whose f32 product lies between two numbers may be rounded otherwise.)
    expect_close<T>(out.read(), sums, {0.02, std::is_same_v<T, f32> ? 1e-4 : 0.1});
    EXPECT_TRUE(out.gaps_untouched());
    expect_equal(values_of(fg::weight_int4pack_mm_with_scales_and_zeros(s, x.in(), packed.in(), g,
                                                                        scale.in(), zeros.in())),
                 out.read());
  }
}

template <class Device>
class bytes_with_scales : public ::testing::Test {};
TYPED_TEST_SUITE(bytes_with_scales, all_devices);

TYPED_TEST(bytes_with_scales, packed_as_floats) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<u8, D> weights({4, 16}, layout::transposed, mixed(64, 256));
  test_tensor<bf16, D> scales({4, 2}, layout::strided, mixed(8, 5));
  test_tensor<f32, D> bias({4}, layout::negative, mixed(4, 7));
  std::vector<double> want = weights.values();
  for (const double x : scales.values()) want.push_back(x);
  EXPECT_EQ(values_of(fg::dyn_quant_pack_4bit_weight(s, weights.in(), scales.in(), std::nullopt, 32,
                                                     32, 4)),
            want);
  for (const double x : bias.values()) want.push_back(x);
  EXPECT_EQ(
      values_of(fg::dyn_quant_pack_4bit_weight(s, weights.in(), scales.in(), bias.in(), 20, 20, 4)),
      want);
}

TYPED_TEST(bytes_with_scales, gathered) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const i64 n = 3 * 11, block = 8;
  test_tensor<i8, D> data({3, 11}, layout::transposed, mixed(n, 100, -50));
  test_tensor<f32, D> scales({5}, layout::strided, {0.5, 2, 0.25, 1, 4});
  std::vector<double> want;
  for (i64 i = 0; i < n; ++i) want.push_back(data.values()[at(i)] * scales.values()[at(i / block)]);
  test_tensor<f32, D> all({n}, layout::strided);
  fg::gather_block_quantized(s, data.in(), scales.in(), std::nullopt, all.view(), block);
  EXPECT_EQ(all.read(), want);
  EXPECT_TRUE(all.gaps_untouched());
  test_tensor<i64, D> indices({2, 3}, layout::transposed, {0, 32, 31, 8, 7, 8});
  std::vector<double> chosen;
  for (const double i : indices.values()) chosen.push_back(want[static_cast<std::size_t>(i)]);
  EXPECT_EQ(values_of(fg::gather_block_quantized(s, data.in(), scales.in(), indices.in(), block)),
            chosen);
  if constexpr (!fg::detail::host_reads<D>) {
    test_tensor<i64, D> outside({4}, layout::contiguous, {-1, -33, 33, 0});
    EXPECT_EQ(values_of(fg::gather_block_quantized(s, data.in(), scales.in(), outside.in(), block)),
              (std::vector<double>{0, 0, 0, want[0]}));
  }
  test_tensor<i8, D> none({0});
  test_tensor<f32, D> no_scales({0});
  EXPECT_EQ(fg::gather_block_quantized(s, none.in(), no_scales.in()).numel(), 0);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(weight_packing, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<i32> odd({2, 5}), weights({2, 4});
  test_tensor<u8> packed({2, 2});
  test_tensor<f32> x({3, 4}), scale({2, 2}), out({3, 2}), many({40});
  test_tensor<i8> data({40});
  test_tensor<i64> outside({1}, layout::contiguous, {40});
  const auto pack = [&](auto& from, i64 tiles, auto& to) {
    fg::convert_weight_to_int4pack(s, from.in(), to.view(), tiles);
  };
  EXPECT_RAISES(pack(odd, 2, packed), shape_mismatch, "convert_weight_to_int4pack");
  EXPECT_RAISES(pack(weights, 3, packed), invalid_argument, "convert_weight_to_int4pack");
  test_tensor<u8> wide({2, 4});
  EXPECT_RAISES(pack(weights, 2, wide), shape_mismatch, "convert_weight_to_int4pack");
  constexpr const char* product = "weight_int4pack_mm_with_scales_and_zeros";
  const auto multiply = [&](auto& w, i64 group, auto& zeros, auto& to) {
    fg::weight_int4pack_mm_with_scales_and_zeros(s, x.in(), w.in(), group, scale.in(), zeros.in(),
                                                 to.view());
  };
  EXPECT_RAISES(multiply(wide, 2, scale, out), shape_mismatch, product);
  EXPECT_RAISES(multiply(packed, 3, scale, out), invalid_argument, product);
  EXPECT_RAISES(multiply(packed, 0, scale, out), invalid_argument, product);
  EXPECT_RAISES(multiply(packed, 4, scale, out), shape_mismatch, product);
  EXPECT_RAISES(multiply(packed, 2, out, out), shape_mismatch, product);
  EXPECT_RAISES(multiply(packed, 2, scale, x), shape_mismatch, product);
  const auto pack_bytes = [&](i64 block, i64 features, const auto& bias) {
    static_cast<void>(
        fg::dyn_quant_pack_4bit_weight(s, packed.in(), scale.in(), bias, block, features, 2));
  };
  EXPECT_RAISES(pack_bytes(16, 32, std::nullopt), invalid_argument, "dyn_quant_pack_4bit_weight");
  EXPECT_RAISES(pack_bytes(0, 32, std::nullopt), invalid_argument, "dyn_quant_pack_4bit_weight");
  EXPECT_RAISES(pack_bytes(32, 32, many.in()), shape_mismatch, "dyn_quant_pack_4bit_weight");
  const auto gather = [&](auto& scales, const auto& indices, i64 block) {
    static_cast<void>(fg::gather_block_quantized(s, data.in(), scales.in(), indices, block));
  };
  EXPECT_RAISES(gather(many, std::nullopt, 0), invalid_argument, "gather_block_quantized");
  EXPECT_RAISES(gather(many, std::nullopt, 8), shape_mismatch, "gather_block_quantized");
  EXPECT_RAISES(gather(many, outside.in(), 1), out_of_range, "gather_block_quantized");
  EXPECT_TRUE(out.untouched() && packed.untouched() && wide.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
