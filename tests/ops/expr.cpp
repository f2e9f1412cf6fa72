// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The mechanism of expressions: promotion, broadcasting, fusion, where, cast, apply, many operands,
// many dimensions, and what is refused before anything is written.
#include <flaggems/ops/pointwise.hpp>
#include <support/ops.hpp>
#include <support/user_kernels.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace flaggems_test {
namespace {

using std::int16_t, std::int32_t, std::int8_t, std::uint8_t;

// ---- promotion: torch.result_type of the operands
template <class E>
using dtype_after = typename E::value_type;
template <class T>
using view_of = fg::tensor_view<T, host>;
#define EXPECT_PROMOTES(a, b, result)                                                      \
  static_assert(                                                                           \
      std::is_same_v<dtype_after<decltype(fg::add(std::declval<a>(), std::declval<b>()))>, \
                     result>);                                                             \
  static_assert(                                                                           \
      std::is_same_v<dtype_after<decltype(fg::add(std::declval<b>(), std::declval<a>()))>, \
                     result>);                                                             \
  static_assert(                                                                           \
      std::is_same_v<dtype_after<decltype(fg::lt(std::declval<a>(), std::declval<b>()))>, bool>)
// two tensors
EXPECT_PROMOTES(view_of<f32>, view_of<f32>, f32);
EXPECT_PROMOTES(view_of<f32>, view_of<f64>, f64);
EXPECT_PROMOTES(view_of<f32>, view_of<bf16>, f32);
EXPECT_PROMOTES(view_of<f16>, view_of<bf16>, f32);
EXPECT_PROMOTES(view_of<bf16>, view_of<i64>, bf16);
EXPECT_PROMOTES(view_of<f16>, view_of<bool>, f16);
EXPECT_PROMOTES(view_of<int32_t>, view_of<f32>, f32);
EXPECT_PROMOTES(view_of<i64>, view_of<f16>, f16);
EXPECT_PROMOTES(view_of<int32_t>, view_of<i64>, i64);
EXPECT_PROMOTES(view_of<uint8_t>, view_of<int8_t>, int16_t);
EXPECT_PROMOTES(view_of<uint8_t>, view_of<int16_t>, int16_t);
EXPECT_PROMOTES(view_of<uint8_t>, view_of<int32_t>, int32_t);
EXPECT_PROMOTES(view_of<bool>, view_of<uint8_t>, uint8_t);
EXPECT_PROMOTES(view_of<bool>, view_of<bool>, bool);
// a tensor and a number: only the number's kind counts
EXPECT_PROMOTES(view_of<f32>, double, f32);
EXPECT_PROMOTES(view_of<bf16>, double, bf16);
EXPECT_PROMOTES(view_of<f16>, int, f16);
EXPECT_PROMOTES(view_of<uint8_t>, int, uint8_t);
EXPECT_PROMOTES(view_of<int8_t>, i64, int8_t);
EXPECT_PROMOTES(view_of<int32_t>, double, f32);
EXPECT_PROMOTES(view_of<i64>, float, f32);
EXPECT_PROMOTES(view_of<bool>, int, i64);
EXPECT_PROMOTES(view_of<bool>, double, f32);
EXPECT_PROMOTES(view_of<bool>, bool, bool);
// true division and functions of integers give f32
static_assert(std::is_same_v<dtype_after<decltype(fg::div(std::declval<view_of<i64>>(), 2))>, f32>);
static_assert(
    std::is_same_v<dtype_after<decltype(fg::exp(std::declval<view_of<int32_t>>()))>, f32>);
static_assert(std::is_same_v<dtype_after<decltype(fg::sqrt(std::declval<view_of<bool>>()))>, f32>);
static_assert(
    std::is_same_v<dtype_after<decltype(fg::square(std::declval<view_of<bool>>()))>, i64>);
static_assert(std::is_same_v<dtype_after<decltype(fg::sqrt(std::declval<view_of<bf16>>()))>, bf16>);
static_assert(
    std::is_same_v<dtype_after<decltype(fg::where(std::declval<view_of<bool>>(), 1, 2.0))>, f32>);
static_assert(
    std::is_same_v<dtype_after<decltype(fg::where(std::declval<view_of<bool>>(), 1, 2))>, i64>);
static_assert(std::is_same_v<dtype_after<decltype(fg::where(std::declval<view_of<bool>>(),
                                                            std::declval<view_of<bf16>>(), 0.0))>,
                             bf16>);
static_assert(fg::is_expr<decltype(std::declval<view_of<f32>>() + 1)>);

template <class D>
class expr_devices : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(expr_devices, devices);

TYPED_TEST(expr_devices, one_pass_over_many_nodes) {
  using D = TypeParam;
  const shape sizes{6, 35};
  at_every_level<D>([&] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts) {
        test_tensor<f32, D> x(sizes, in, random_values(sizes)),
            y({35}, layout::negative, random_values({35}));
        test_tensor<f32, D> out(sizes, to);
        fg::assign(test_stream<D>(), out.view(), fg::silu(x.in()) * y.in() + 1);
        std::vector<double> want;
        for (std::size_t k = 0; k < x.values().size(); ++k)
          want.push_back(x.values()[k] / (1 + std::exp(-x.values()[k])) * y.values()[k % 35] + 1);
        expect_close<f32>(out.read(), want, {1e-6, 1e-6});
        EXPECT_TRUE(out.gaps_untouched());
      }
  });
}

TYPED_TEST(expr_devices, where_and_cast) {
  using D = TypeParam;
  const shape sizes{4, 21};
  at_every_level<D>([&] {
    test_tensor<f32, D> x(sizes, layout::contiguous, random_values(sizes, -5, 5));
    test_tensor<f32, D> y({4, 1}, layout::strided, random_values({4, 1}));
    test_tensor<bool, D> mask({21}, layout::negative, random_integers({21}, 0, 1));
    test_tensor<f32, D> chosen(sizes);
    test_tensor<int32_t, D> truncated(sizes);
    fg::assign(test_stream<D>(), chosen.view(), fg::where(mask.in(), x.in(), y.in()));
    fg::assign(test_stream<D>(), truncated.view(), fg::cast<int32_t>(x.in()));
    std::vector<double> want, want_truncated;
    for (std::size_t k = 0; k < x.values().size(); ++k) {
      want.push_back(mask.values()[k % 21] != 0 ? x.values()[k] : y.values()[k / 21]);
      want_truncated.push_back(std::trunc(x.values()[k]));
    }
    expect_equal(chosen.read(), want);
    expect_equal(truncated.read(), want_truncated);
    // A condition that is a number per element, an expression as a condition, numbers as branches.
    fg::assign(test_stream<D>(), chosen.view(), fg::where(fg::cast<int32_t>(x.in()), 1, 0));
    for (double& w : want_truncated) w = w != 0 ? 1 : 0;
    expect_equal(chosen.read(), want_truncated);
  });
}

TYPED_TEST(expr_devices, rows_of_packs) {
  using D = TypeParam;
  const shape sizes{6, 64};
  at_every_level<D>([&] {
    test_tensor<bf16, D> x({6, 128}, layout::contiguous, random_values({6, 128}, -5, 5));
    test_tensor<f32, D> bias({64}, layout::contiguous, random_values({64}));
    test_tensor<f32, D> scale({6, 1}, layout::contiguous, random_values({6, 1}));
    test_tensor<f32, D> out(sizes);
    const auto a = x.in().narrow(1, 0, 64), b = x.in().narrow(1, 64, 64);
    fg::assign(test_stream<D>(), out.view(), a * scale.in() - b * bias.in());
    std::vector<double> want;
    for (std::size_t r = 0; r < 6; ++r)
      for (std::size_t k = 0; k < 64; ++k)
        want.push_back(x.values()[128 * r + k] * scale.values()[r] -
                       x.values()[128 * r + 64 + k] * bias.values()[k]);
    expect_close<f32>(out.read(), want, {1e-5, 1e-5});
  });
}

// Chips move packs of the output, put together of two where an operand has others, and elements
// before and behind.
TYPED_TEST(expr_devices, operands_that_begin_anywhere) {
  using D = TypeParam;
  const auto gelu = [](double v) { return v / 2 * std::erfc(-v * std::sqrt(0.5)); };
  struct places {
    i64 x, y, out;
  };
  const i64 room = 360;
  test_tensor<bf16, D> x({room}, layout::contiguous, random_values({room}, -3, 3));
  test_tensor<f32, D> y({room}, layout::contiguous, random_values({room}));
  test_tensor<std::int8_t, D> bytes({room}, layout::contiguous, random_values({room}, -100, 100));
  const std::vector<double> before = random_values({room});
  at_every_level<D>([&] {
    for (const places at :
         {places{0, 0, 0}, {3, 3, 3}, {7, 3, 11}, {1, 0, 0}, {0, 2, 0}, {8, 8, 1}})
      for (const i64 n : {1, 5, 8, 64, 347}) {
        SCOPED_TRACE(std::to_string(at.x) + ' ' + std::to_string(at.y) + ' ' +
                     std::to_string(at.out) + ", " + std::to_string(n));
        test_tensor<f32, D> formula({room}, layout::contiguous, before);
        test_tensor<bf16, D> twice({room}, layout::contiguous, before);
        test_tensor<double, D> wide({room}, layout::contiguous, before);
        std::vector<double> want = formula.values(), want_twice = twice.values();
        std::vector<double> want_wide = wide.values();
        const auto from = x.in().narrow(0, at.x, n);
        fg::assign(test_stream<D>(), formula.view().narrow(0, at.out, n),
                   fg::gelu_none(from) + y.in().narrow(0, at.y, n));
        fg::assign(test_stream<D>(), twice.view().narrow(0, at.out, n), from + from);
        fg::assign(test_stream<D>(), wide.view().narrow(0, at.out, n),
                   fg::cast<double>(bytes.in().narrow(0, at.y, n)));
        for (i64 k = 0; k < n; ++k) {
          const double v = x.values()[static_cast<std::size_t>(at.x + k)];
          want[static_cast<std::size_t>(at.out + k)] =
              gelu(v) + y.values()[static_cast<std::size_t>(at.y + k)];
          want_twice[static_cast<std::size_t>(at.out + k)] = 2 * v;
          want_wide[static_cast<std::size_t>(at.out + k)] =
              bytes.values()[static_cast<std::size_t>(at.y + k)];
        }
        expect_close<f32>(formula.read(), want, {2e-6, 2e-6});
        expect_equal(twice.read(), want_twice);
        expect_equal(wide.read(), want_wide);
      }
  });
}

// Of many steps a thread of a chip takes several: rows of packs, of elements, and one dimension.
TEST(expr, many_steps) {
  using D = chip32;
  const auto gelu = [](double v) { return v / 2 * std::erfc(-v * std::sqrt(0.5)); };
  {
    const shape sizes{1025, 4104}, row{4104};
    test_tensor<bf16, D> x(sizes, layout::contiguous, random_values(sizes, -3, 3));
    test_tensor<bf16, D> scale(row, layout::contiguous, random_values(row));
    test_tensor<bf16, D> bias({1025, 1}, layout::contiguous, random_values({1025, 1}));
    test_tensor<bf16, D> out(sizes);
    fg::assign(test_stream<D>(), out.view(),
               fg::gelu_none(x.in() * scale.in() + bias.in()) + x.in());
    std::vector<double> want;
    for (std::size_t k = 0; k < x.values().size(); ++k)
      want.push_back(gelu(x.values()[k] * scale.values()[k % 4104] + bias.values()[k / 4104]) +
                     x.values()[k]);
    expect_close<bf16>(out.read(), want, tolerance_of<bf16>());
  }
  for (const shape& sizes : {shape{263, 2003}, shape{524291}}) {
    test_tensor<f32, D> x(sizes, layout::strided, random_values(sizes)), out(sizes);
    fg::assign(test_stream<D>(), out.view(), x.in() + 1);
    std::vector<double> want;
    for (const double v : x.values()) want.push_back(static_cast<float>(v + 1));
    expect_close<f32>(out.read(), want, {1e-6, 1e-6});
  }
  const shape flat{(i64{1} << 22) + 5};
  test_tensor<f32, D> x(flat, layout::contiguous, random_values(flat, -3, 3)), out(flat);
  fg::assign(test_stream<D>(), out.view(), fg::silu(x.in()));
  std::vector<double> want;
  for (const double v : x.values()) want.push_back(v / (1 + std::exp(-v)));
  expect_close<f32>(out.read(), want, {2e-6, 1e-9});
}

TEST(expr, parts_of_a_space_are_narrow) {
  // 2^33 elements with one operand that reaches farther: every element is in one part.
  const i64 n = (i64{1} << 32) + 3;
  fg::detail::iteration it(std::vector<i64>{2, n});
  it.add(std::vector<i64>{2, n}, std::vector<i64>{n + 1, 1});
  it.add(std::vector<i64>{2, n}, std::vector<i64>{1, 2});
  it.collapse();
  i64 elements = 0, parts = 0, last = 0;
  it.for_each_narrow_part(
      [&](const fg::detail::iteration& part, const fg::kernels::coordinates& first) {
        ++parts;
        elements += part.numel();
        EXPECT_LT(part.numel(), i64{1} << 31);
        i64 strides[fg::max_rank] = {};
        part.copy_strides(1, strides);
        i64 reach = first.offset(strides);
        for (int d = 0; d < part.rank(); ++d) reach += (part.size(d) - 1) * strides[d];
        EXPECT_LT(reach - first.offset(strides), i64{1} << 31);
        last = std::max(last, reach);
      });
  EXPECT_EQ(elements, 2 * n);
  EXPECT_EQ(last, 1 + 2 * (n - 1));
  EXPECT_GT(parts, 4);
  EXPECT_LT(parts, 20);
}

// What kernels multiply with the coordinate that they have not, 0, is a number, too.
TEST(expr, strides_of_a_space_end_with_a_zero) {
  const std::vector<i64> sizes{2, 3};
  fg::detail::iteration it(sizes);
  it.add(sizes, std::vector<i64>{5, 1});
  i64 strides[fg::max_rank] = {-1, -1, -1, -1};
  it.copy_strides(0, strides);
  EXPECT_EQ(std::vector<i64>(strides, strides + 4), (std::vector<i64>{5, 1, 0, -1}));
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(expr, cast_rounds_in_the_middle) {
  // 1 + 2^-9 is no bf16: the cast must show even though the result is f32.
  test_tensor<f32> x({33}, layout::contiguous, std::vector<double>(33, 1 + 0x1p-9)), out({33});
  test_tensor<f64> fine({33}, layout::contiguous, std::vector<double>(33, 1 + 0x1p-8 + 0x1p-40));
  at_every_level<host>([&] {
    fg::assign(test_stream<host>(), out.view(), fg::cast<bf16>(x.in()) + fg::cast<f32>(x.in()) * 0);
    expect_equal(out.read(), std::vector<double>(33, 1.0));
    fg::assign(test_stream<host>(), out.view(), fg::cast<f32>(fg::cast<uint8_t>(x.in() * 3)));
    expect_equal(out.read(), std::vector<double>(33, 3.0));
    // 1 + 2^-8 + 2^-40 is above the middle of two bf16: through f32 it would fall on it, and down.
    test_tensor<bf16> narrow({33});
    fg::assign(test_stream<host>(), narrow.view(), fg::cast<bf16>(fine.in()));
    expect_equal(narrow.read(), std::vector<double>(33, 1 + 0x1p-7));
  });
}

TEST(expr, a_number_beside_small_floats_is_compared_as_one) {
  // As in PyTorch, 0.1 becomes a bf16 before a comparison.
  test_tensor<bf16> x({19}, layout::contiguous, std::vector<double>(19, 0.1));
  expect_equal(values_of(fg::eq(test_stream<host>(), x.in(), 0.1)), std::vector<double>(19, 1.0));
  expect_equal(values_of(fg::lt(test_stream<host>(), 0.1, x.in())), std::vector<double>(19, 0.0));
}
#endif

TYPED_TEST(expr_devices, a_users_functor) {
  using D = TypeParam;
  const shape sizes{5, 18};
  at_every_level<D>([&] {
    test_tensor<bf16, D> x(sizes, layout::transposed, random_values(sizes));
    test_tensor<f32, D> y({18}, layout::contiguous, random_values({18})), out(sizes);
    fg::assign(test_stream<D>(), out.view(), fg::apply(hypot_like{3.0F}, x.in(), y.in()));
    std::vector<double> want;
    for (std::size_t k = 0; k < x.values().size(); ++k)
      want.push_back(
          std::sqrt(x.values()[k] * x.values()[k] + 3 * y.values()[k % 18] * y.values()[k % 18]));
    expect_close<f32>(out.read(), want, {1e-6, 0});
  });
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(expr, eight_dimensions) {
  const shape sizes{2, 3, 1, 2, 3, 2, 2, 3};
  test_tensor<f32> x(sizes, layout::strided, random_values(sizes));
  const auto v = x.in().permute({7, 0, 2, 4, 1, 6, 3, 5});
  const auto y = fg::evaluate(test_stream<host>(), v + 0);
  std::vector<double> want;
  shape strides, permuted;
  i64 step[8], total = 1;
  for (int d = 7; d >= 0; --d) {
    step[d] = total;
    total *= sizes[d];
  }
  for (const int d : {7, 0, 2, 4, 1, 6, 3, 5}) {
    strides.push_back(step[d]);
    permuted.push_back(sizes[d]);
  }
  for_each_offset(permuted, strides,
                  [&](i64 k) { want.push_back(x.values()[static_cast<std::size_t>(k)]); });
  expect_equal(values_of(y), want);
}

TEST(expr, fifteen_operands) {
  std::vector<test_tensor<f32>> x;
  for (int k = 0; k < 15; ++k)
    x.emplace_back(shape{3, 20}, input_layouts[k % 6], random_integers({3, 20}, -9, 9));
  test_tensor<f32> out({3, 20});
  const auto a = [&](int k) { return x[static_cast<std::size_t>(k)].in(); };
  fg::assign(test_stream<host>(), out.view(),
             a(0) + a(1) + a(2) + a(3) + a(4) + a(5) + a(6) + a(7) + a(8) + a(9) + a(10) + a(11) +
                 a(12) + a(13) + a(14));
  std::vector<double> want(60, 0.0);
  for (const auto& t : x)
    for (std::size_t k = 0; k < 60; ++k) want[k] += t.values()[k];
  expect_equal(out.read(), want);
}

TEST(expr, squares_of_bool_are_integers) {
  test_tensor<bool> x({37}, layout::contiguous, random_integers({37}, 0, 1));
  at_every_level<host>([&] {
    const auto y = fg::square(test_stream<host>(), x.in());
    static_assert(std::is_same_v<fg::value_t<decltype(y)>, i64>);
    expect_equal(values_of(y), x.values());
  });
}
#endif

TEST(expr, powers_of_small_integers_wrap) {
  // Products of 16 bits are computed as int, which they must not overflow.
  test_tensor<std::uint16_t, chip32> u({5}, layout::contiguous, std::vector<double>(5, 65535)),
      out({5});
  fg::pow(test_stream<chip32>(), u.in(), 6, out.view());
  expect_equal(out.read(), std::vector<double>(5, 1));
}

TEST(expr, integers_wrap) {
  constexpr int32_t most = std::numeric_limits<int32_t>::max(),
                    least = std::numeric_limits<int32_t>::min();
  test_tensor<int32_t> x({37}, layout::contiguous, std::vector<double>(37, most)), out({37});
  test_tensor<int32_t> low({37}, layout::contiguous, std::vector<double>(37, least));
  test_tensor<std::uint16_t> u({37}, layout::contiguous, std::vector<double>(37, 65535)), uo({37});
  at_every_level<host>([&] {
    const auto& stream = test_stream<host>();
    fg::add(stream, x.in(), 1, out.view());
    expect_equal(out.read(), std::vector<double>(37, least));
    fg::sub(stream, low.in(), x.in(), out.view());
    expect_equal(out.read(), std::vector<double>(37, 1));
    fg::mul(stream, x.in(), x.in(), out.view());
    expect_equal(out.read(), std::vector<double>(37, 1));
    fg::square(stream, x.in(), out.view());
    expect_equal(out.read(), std::vector<double>(37, 1));
    fg::neg(stream, low.in(), out.view());
    expect_equal(out.read(), std::vector<double>(37, least));
    fg::abs(stream, low.in(), out.view());
    expect_equal(out.read(), std::vector<double>(37, least));
    fg::mul(stream, u.in(), u.in(), uo.view());
    expect_equal(uo.read(), std::vector<double>(37, 1));
  });
  test_tensor<int32_t, chip32> chip({37}, layout::contiguous, std::vector<double>(37, most)),
      chip_out({37});
  fg::mul(test_stream<chip32>(), chip.in(), chip.in(), chip_out.view());
  expect_equal(chip_out.read(), std::vector<double>(37, 1));
  fg::add(test_stream<chip32>(), chip.in(), chip.in(), chip_out.view());
  expect_equal(chip_out.read(), std::vector<double>(37, -2));
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(expr, numbers_that_are_kept_must_fit) {
  const auto& stream = test_stream<host>();
  constexpr i64 beyond = (i64{1} << 32) | 1;
  test_tensor<int32_t> x({3}, layout::contiguous, {1, 2, 3}), y({3});
  test_tensor<uint8_t> u({3}, layout::contiguous, {200, 1, 255});
  test_tensor<fg::u64> w({3}, layout::contiguous, {200, 1, 255});
  test_tensor<bool> out({3});
  EXPECT_RAISES(fg::eq(stream, x.in(), beyond, out.view()), invalid_argument, "eq");
  EXPECT_RAISES(fg::ne(stream, beyond, x.in()), invalid_argument, "ne");
  EXPECT_RAISES(fg::lt(stream, u.in(), 300), invalid_argument, "lt");
  EXPECT_RAISES(fg::le(stream, u.in(), -1), invalid_argument, "le");
  EXPECT_RAISES(fg::gt(stream, u.in(), 256u), invalid_argument, "gt");
  EXPECT_RAISES(fg::ge(stream, w.in(), -1), invalid_argument, "ge");
  EXPECT_RAISES(fg::eq(stream, out.in(), ~fg::u64{0}), invalid_argument, "eq");  // compared as i64
  EXPECT_RAISES(fg::maximum(stream, x.in(), beyond, y.view()), invalid_argument, "maximum");
  EXPECT_RAISES(fg::minimum_(stream, y.view(), beyond), invalid_argument, "minimum");
  EXPECT_RAISES(fg::clamp(stream, x.in(), 0, beyond, y.view()), invalid_argument, "clamp");
  EXPECT_RAISES(fg::where(stream, out.in(), x.in(), beyond, y.view()), invalid_argument, "where");
  EXPECT_RAISES(static_cast<void>(fg::eq(x.in() + 1, beyond)), invalid_argument, "eq");
  EXPECT_TRUE(y.untouched());
  EXPECT_TRUE(out.untouched());
  // What fits, and what has no bounds: floats, bool as i64, arithmetic modulo 2^n.
  expect_equal(values_of(fg::lt(stream, u.in(), 255)), {1, 1, 0});
  expect_equal(values_of(fg::minimum(stream, u.in(), 7LL)), {7, 1, 7});
  expect_equal(values_of(fg::maximum(stream, w.in(), 200)), {200, 200, 255});
  expect_equal(values_of(fg::lt(stream, u.in(), 300.5)), {1, 1, 1});
  expect_equal(values_of(fg::eq(stream, out.in(), 300)), {0, 0, 0});
  expect_equal(values_of(fg::add(stream, x.in(), beyond)), {2, 3, 4});
}
#endif

TYPED_TEST(expr_devices, in_place_and_overlap) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  test_tensor<f32, D> x({4, 6}, layout::contiguous, random_values({4, 6}));
  const auto v = x.view();
  // The output is shifted against an input, transposed, broadcast into, repeated in itself.
  EXPECT_RAISES(fg::assign(stream, v.narrow(0, 1, 3), v.narrow(0, 0, 3) + 1), overlap, "assign");
  EXPECT_RAISES(fg::assign(stream, v.narrow(1, 0, 4), v.narrow(1, 0, 4).t() * 2), overlap,
                "assign");
  EXPECT_RAISES(fg::assign(stream, v, v.narrow(0, 0, 1) + 1), overlap, "assign");
  EXPECT_RAISES(fg::assign(stream, v, v.flip({1}) + 1), overlap, "assign");
  EXPECT_RAISES(fg::assign(stream, v.narrow(0, 0, 1).expand({4, 6}), 1.0), overlap, "assign");
  EXPECT_RAISES(fg::assign(stream, v.as_strided({3, 4}, {1, 1}), 1.0), overlap, "assign");
  // The same under other names of the error.
  EXPECT_RAISES(fg::add(stream, v.narrow(0, 0, 3), 1, v.narrow(0, 1, 3)), overlap, "add");
  EXPECT_RAISES(fg::add_(stream, v, v.flip({0})), overlap, "add_");
  EXPECT_TRUE(x.untouched());
  // Interleaved views of one tensor share nothing.
  fg::assign(stream, v.slice(1, 0, 6, 2), v.slice(1, 1, 6, 2) + 1);
  std::vector<double> want = x.values();
  for (std::size_t k = 0; k < want.size(); k += 2)
    want[k] = static_cast<double>(static_cast<float>(want[k + 1] + 1));
  expect_close<f32>(x.read(), want, {1e-7, 0});
}

TYPED_TEST(expr_devices, a_tensor_that_was_moved_from_has_no_elements) {
  const auto& stream = test_stream<TypeParam>();
  auto x = fg::from_values<f32>(stream, {1, 2});
  auto y = std::move(x);
  // NOLINTBEGIN(bugprone-use-after-move): this is specified
  EXPECT_EQ(fg::evaluate(stream, x + 1).shape_of(), shape{0});
  fg::add_(stream, x, 1);
  EXPECT_RAISES(fg::add(stream, x, 1, y), shape_mismatch, "add");
  EXPECT_RAISES(fg::add_(stream, x, y), shape_mismatch, "add_");
  x = fg::evaluate(stream, y * 2);
  // NOLINTEND(bugprone-use-after-move)
  expect_equal(values_of(x), {2, 4});
  expect_equal(values_of(y), {1, 2});
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(expr, shapes_that_do_not_fit) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> a({4, 6}), b({5}), out({4, 6});
  EXPECT_RAISES(fg::assign(stream, out.view(), a.in() + b.in()), shape_mismatch, "assign");
  EXPECT_RAISES((void)fg::evaluate(stream, a.in() + b.in()), shape_mismatch, "evaluate");
  EXPECT_RAISES(fg::assign(stream, out.view().narrow(0, 0, 1), a.in()), shape_mismatch, "assign");
  EXPECT_RAISES(fg::assign(stream, out.view().select(0, 0), a.in()), shape_mismatch, "assign");
  EXPECT_RAISES(fg::where(stream, b.in(), a.in(), a.in(), out.view()), shape_mismatch, "where");
  EXPECT_TRUE(out.untouched());
  const fg::error e = error_of([&] { fg::add(stream, a.in(), b.in(), out.view()); });
  EXPECT_NE(std::string(e.what()).find("[4, 6]"), std::string::npos) << e.what();
  EXPECT_NE(std::string(e.what()).find("[5]"), std::string::npos) << e.what();
}

TEST(expr, owning_tensors_and_numbers) {
  const auto& stream = test_stream<host>();
  auto x = fg::empty<f32>(stream, {2, 3});
  fg::assign(stream, x, 2.5);
  const auto y = fg::evaluate(stream, -x * 2 - 1 / x);
  expect_close<f32>(values_of(y), std::vector<double>(6, -5.4), {1e-6, 0});
  auto z = fg::empty<f64>(stream, {2, 3});
  fg::assign(stream, z, x);  // to a wider type
  expect_equal(values_of(z), std::vector<double>(6, 2.5));
  fg::mul_(stream, x, x);
  expect_equal(values_of(x), std::vector<double>(6, 6.25));
}

#endif

}  // namespace
}  // namespace flaggems_test
