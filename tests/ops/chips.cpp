// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators whose own tests leave out a warp size: the side of their kernels that is meant for
// chips must give what the host gives, which those tests compare with a reference. docs/support.md
// shows what ran where.
#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/quantized_linear.hpp>
#include <flaggems/ops/reduce.hpp>
#include <support/ops.hpp>

#include <optional>

namespace flaggems_test {
namespace {

/// f(stream, x...) of tensors of these sizes gives on the devices D what it gives on `Tested`.
template <class Tested, class... D, class F, class... Sizes>
void expect_agreement(const char* what, F f, const Sizes&... sizes) {
  SCOPED_TRACE(what);
  const auto run = [&](auto device) {
    using device_type = typename decltype(device)::type;
    generator().seed(7);
    std::tuple x{test_tensor<f32, device_type>(sizes, layout::strided, random_values(sizes))...};
    return std::apply(
        [&](auto&... tensors) { return values_of(f(test_stream<device_type>(), tensors...)); }, x);
  };
  const auto want = run(std::type_identity<Tested>{});
  ASSERT_FALSE(want.empty());
  (expect_close<f32>(run(std::type_identity<D>{}), want, {4e-6, 4e-6}), ...);
}
// The operators whose tests run on chip32, and the others.
#define EXPECT_OF_64(...) expect_agreement<chip32, simt64>(__VA_ARGS__)
#define EXPECT_OF_BOTH(...) expect_agreement<host, chip32, simt64>(__VA_ARGS__)

TEST(chips, pointwise) {
  const shape sizes{3, 91};
  const auto in_place = [](auto f) {
    return [f](const auto& s, auto& x) {
      f(s, x.view());
      return fg::contiguous(s, x.in());
    };
  };
  EXPECT_OF_64(
      "gelu", [](const auto& s, auto& x) { return fg::gelu(s, x.in()); }, sizes);
  EXPECT_OF_BOTH("gelu_", in_place([](const auto& s, auto x) { fg::gelu_(s, x); }), sizes);
  EXPECT_OF_64(
      "gelu_and_mul",
      [](const auto& s, auto& x, auto& y) {
        return fg::gelu_and_mul(s, x.in(), y.in(), fg::gelu_approximate::tanh);
      },
      sizes, sizes);
  EXPECT_OF_64(
      "silu_and_mul",
      [](const auto& s, auto& x, auto& y) { return fg::silu_and_mul(s, x.in(), y.in()); }, sizes,
      sizes);
  EXPECT_OF_BOTH("clamp_", in_place([](const auto& s, auto x) {
                   fg::clamp_(s, x, -0.5F, std::optional<double>(0.5));
                 }),
                 sizes);
  EXPECT_OF_BOTH(
      "to", [](const auto& s, auto& x) { return fg::to<std::int8_t>(s, x.in()); }, sizes);
  EXPECT_OF_BOTH(
      "evaluate", [](const auto& s, auto& x) { return fg::evaluate(s, x.in() * 2 + 1); }, sizes);
  EXPECT_OF_BOTH(
      "where",
      [](const auto& s, auto& x, auto& y) {
        return fg::where(s, fg::lt(x.in(), y.in()), x.in(), y.in());
      },
      sizes, shape{91});
}

TEST(chips, reductions) {
  // Along lanes and across them, and of more elements than a part has.
  for (const auto& [sizes, dim] :
       {std::pair(shape{5, 300}, 1), std::pair(shape{70, 35}, 0), std::pair(shape{40000}, 0)}) {
    const i64 d = dim;
    EXPECT_OF_BOTH(
        "mean", [d](const auto& s, auto& x) { return fg::mean(s, x.in(), {d}); }, sizes);
    EXPECT_OF_64(
        "amin", [d](const auto& s, auto& x) { return fg::amin(s, x.in(), {d}); }, sizes);
    EXPECT_OF_64(
        "all", [d](const auto& s, auto& x) { return fg::all(s, fg::gt(x.in(), -1.97F), {d}); },
        sizes);
  }
  EXPECT_OF_BOTH(
      "prod", [](const auto& s, auto& x) { return fg::prod(s, x.in(), {0}); }, shape{20, 35});
  EXPECT_OF_BOTH(
      "prod", [](const auto& s, auto& x) { return fg::prod(s, x.in(), {1}); }, shape{35, 20});
}

TEST(chips, attention) {
  EXPECT_OF_64(
      "scaled_dot_product_attention",
      [](const auto& s, auto& q, auto& k, auto& v) {
        return fg::scaled_dot_product_attention(s, q.in(), k.in(), v.in(), {.is_causal = true});
      },
      shape{2, 9, 40}, shape{2, 70, 40}, shape{2, 70, 24});
}

TEST(chips, quantized) {
  namespace fk = fg::kernels;
  using format = fk::q4_0;
  // 5 rows of 64 columns; scales of about 0.1.
  std::vector<std::uint8_t> bytes;
  for (int block = 0; block < 10; ++block) {
    const auto scale = fg::f16(0.1F + static_cast<float>(block) / 64).bits;
    bytes.push_back(static_cast<std::uint8_t>(scale & 255));
    bytes.push_back(static_cast<std::uint8_t>(scale >> 8));
    for (int k = 0; k < 16; ++k)
      bytes.push_back(static_cast<std::uint8_t>((block * 31 + k * 17) & 255));
  }
  ASSERT_EQ(bytes.size(), 10u * format::bytes);
  const auto with_weights = [&](auto f) {
    return [&bytes, f](const auto& s, auto& x) {
      using device = fg::device_of<decltype(s)>;
      const auto memory =
          fg::from_values<std::uint8_t>(s, std::span<const std::uint8_t>(bytes), {180});
      return f(s, fg::quantized_matrix<format, device>(memory.data(), 5, 64), x);
    };
  };
  EXPECT_OF_64("quantized_linear", with_weights([](const auto& s, const auto& w, auto& x) {
                 return fg::quantized_linear(s, x.in(), w);
               }),
               shape{3, 64});
  EXPECT_OF_64("dequantize", with_weights([](const auto& s, const auto& w, auto&) {
                 auto out = fg::empty<f32>(s, {5, 64});
                 fg::dequantize(s, w, out);
                 return out;
               }),
               shape{1});
  EXPECT_OF_64("quantized_embedding", with_weights([](const auto& s, const auto& w, auto&) {
                 const auto rows = fg::from_values<i64>(s, {4, 0, 2, 4});
                 auto out = fg::empty<f32>(s, {4, 64});
                 fg::quantized_embedding(s, w, rows, out);
                 return out;
               }),
               shape{1});
}

}  // namespace
}  // namespace flaggems_test
