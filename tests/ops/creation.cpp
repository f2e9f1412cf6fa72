// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/creation.hpp>
#include <support/ops.hpp>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace flaggems_test {
namespace {

using std::int32_t, std::uint8_t;

template <class D>
class creation_devices : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(creation_devices, devices);

TYPED_TEST(creation_devices, fill_layouts) {
  using D = TypeParam;
  at_every_level<D>([&] {
    for (const shape& sizes : {shape{}, shape{0}, shape{1}, shape{3, 5, 18}})
      for (const layout to : output_layouts) {
        test_tensor<f32, D> x(sizes, to);
        fg::fill_(test_stream<D>(), x.view(), -2.5);
        expect_equal(x.read(), std::vector<double>(static_cast<std::size_t>(sizes.numel()), -2.5));
        EXPECT_TRUE(x.gaps_untouched());
        fg::zero_(test_stream<D>(), x.view());
        expect_equal(x.read(), std::vector<double>(static_cast<std::size_t>(sizes.numel()), 0.0));
        EXPECT_TRUE(x.gaps_untouched());
      }
  });
}

TYPED_TEST(creation_devices, fill_from_a_tensor) {
  using D = TypeParam;
  at_every_level<D>([&] {
    const auto& stream = test_stream<D>();
    for (const shape& sizes : {shape{}, shape{0}, shape{1}, shape{3, 5, 18}})
      for (const layout to : output_layouts) {
        test_tensor<f32, D> x(sizes, to);
        test_tensor<i64, D> value({}, layout::offset, {-7});
        fg::fill_(stream, x.view(), value.view());
        expect_equal(x.read(), std::vector<double>(static_cast<std::size_t>(sizes.numel()), -7));
        EXPECT_TRUE(x.gaps_untouched());
      }
    // Converted as copies are, without a check of the range; an element of x itself will do.
    test_tensor<std::int32_t, D> integers({37});
    fg::fill_(stream, integers.view(), fg::full<f32>(stream, {}, 2.9));
    expect_equal(integers.read(), std::vector<double>(37, 2));
    test_tensor<bool, D> truth({37});
    fg::fill_(stream, truth.view(), fg::full<bf16>(stream, {}, 0.5));
    expect_equal(truth.read(), std::vector<double>(37, 1));
    auto own = fg::arange<f32>(stream, 40);
    fg::fill_(stream, own, own.select(0, 17));
    expect_equal(values_of(own), std::vector<double>(40, 17));
    // A number in the host's memory, for any device.
    fg::fill_(stream, own, fg::full<std::int16_t>(test_stream<host>(), {}, 3));
    expect_equal(values_of(own), std::vector<double>(40, 3));
  });
}

TYPED_TEST(creation_devices, fill_from_a_tensor_with_dimensions) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  test_tensor<f32, D> x({2, 3});
  test_tensor<f32, D> one({1}, layout::contiguous, {1});
  EXPECT_RAISES(fg::fill_(stream, x.view(), one.view()), shape_mismatch, "fill_");
  test_tensor<f32, D> value({}, layout::contiguous, {1});
  EXPECT_RAISES(fg::fill_(stream, x.view().narrow(0, 0, 1).expand({5, 3}), value.view()), overlap,
                "fill_");
  EXPECT_TRUE(x.untouched());
}

TYPED_TEST(creation_devices, like_another_tensor) {
  using D = TypeParam;
  using fg::memory_format;
  const auto& stream = test_stream<D>();
  const shape sizes{2, 3, 4, 5};
  test_tensor<f32, D> x(sizes, layout::transposed);
  const auto check = [&](const auto& made, double value, const shape& strides) {
    EXPECT_EQ(made.shape_of(), sizes);
    EXPECT_EQ(shape(made.strides()), strides);
    expect_equal(values_of(made), std::vector<double>(120, value));
  };
  const shape rows{60, 20, 5, 1}, last{60, 1, 15, 3};
  check(fg::zeros_like(stream, x.view()), 0, rows);
  check(fg::ones_like(stream, x.view(), memory_format::channels_last), 1, last);
  check(fg::full_like(stream, x.in(), 2.5, memory_format::preserve_format), 2.5,
        shape(x.view().strides()));
  const auto integers = fg::full_like<i64>(stream, x.in(), 7);
  static_assert(std::is_same_v<decltype(integers), const fg::tensor<i64, D>>);
  check(integers, 7, rows);
  check(fg::zeros_like<bool>(stream, x.in()), 0, rows);
  EXPECT_RAISES(fg::full_like<fg::i8>(stream, x.in(), 128), invalid_argument, "full_like");
  EXPECT_RAISES(fg::ones_like(stream, x.in(), memory_format::channels_last_3d), invalid_argument,
                "ones_like");
}

TYPED_TEST(creation_devices, arange_of_integers_from_floats) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  const auto expect = [](const auto& got, const std::vector<double>& want) {
    expect_equal(values_of(got), want);
  };
  using std::int32_t;
  expect(fg::arange<i64>(stream, 0.0, 5.0), {0, 1, 2, 3, 4});
  expect(fg::arange<i64>(stream, 5.0, 0.0, -2.0), {5, 3, 1});
  expect(fg::arange<int32_t>(stream, 5.0f, 0.0f, -2.0f), {5, 3, 1});
  expect(fg::arange<fg::i8>(stream, 3.0), {0, 1, 2});
  // The fractions count for the size, for i64, too, as in ATen 2.15.
  expect(fg::arange<i64>(stream, 0.0, 2.9), {0, 1, 2});
  expect(fg::arange<i64>(stream, 0.0, -8.000001, -4.0), {0, -4, -8});
  expect(fg::arange<int32_t>(stream, 0.0, 2.9), {0, 1, 2});
  expect(fg::arange<i64>(stream, 0.0, 6.0, 1.5), {0, 1, 2, 3});
  expect(fg::arange<int32_t>(stream, 0.0, 6.0, 1.5), {0, 1, 2, 3});
  expect(fg::arange<int32_t>(stream, -1.5, 1.5), {-1, 0, 1});
  expect(fg::arange<i64>(stream, 1.7, 4.2, 0.5), {1, 1, 1, 1, 1});
  expect(fg::arange<int32_t>(stream, 5.5, 3.2, -0.7), {5, 5, 5, 5});
  test_tensor<int32_t, D> out({3});
  fg::arange(stream, 0.0, 2.5, 1, out.view());
  expect_equal(out.read(), {0, 1, 2});
}

TYPED_TEST(creation_devices, arange_steps) {
  using D = TypeParam;
  at_every_level<D>([&] {
    const auto expect = [](const auto& got, const std::vector<double>& want) {
      expect_equal(values_of(got), want);
    };
    expect(fg::arange(test_stream<D>(), 5), {0, 1, 2, 3, 4});
    expect(fg::arange(test_stream<D>(), 0), {});
    expect(fg::arange(test_stream<D>(), 3, 10, 3), {3, 6, 9});
    expect(fg::arange(test_stream<D>(), 3, 9, 3), {3, 6});
    expect(fg::arange(test_stream<D>(), 5, 0, -2), {5, 3, 1});
    expect(fg::arange<f32>(test_stream<D>(), 0.0, 1.0, 0.25), {0, 0.25, 0.5, 0.75});
    expect(fg::arange<f32>(test_stream<D>(), 1.0, 0.0, -0.3), {1.0, 0.7F, 0.4F, 0.1F});
    // Many, so that vectors and their ends both occur; each element rounded once from f64.
    std::vector<double> want;
    for (int k = 0; k < 1001; ++k)
      want.push_back(static_cast<double>(static_cast<float>(0.1 * k + 7)));
    expect(fg::arange<f32>(test_stream<D>(), 7.0, 7.0 + 0.1 * 1000.5, 0.1), want);
  });
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

template <class T>
class fill_values : public ::testing::Test {};
using filled_types = ::testing::Types<f64, f32, f16, bf16, fg::f8e4m3, fg::f8e5m2, fg::i8, fg::i16,
                                      std::int32_t, i64, fg::u8, fg::u16, fg::u32, fg::u64, bool>;
TYPED_TEST_SUITE(fill_values, filled_types);

TYPED_TEST(fill_values, of_every_kind) {
  using T = TypeParam;
  const auto& stream = test_stream<host>();
  const auto check = [&](auto value, double want) {
    expect_equal(values_of(fg::full<T>(stream, {19}, value)), std::vector<double>(19, want));
    test_tensor<T> x({19}, layout::strided);
    fg::fill_(stream, x.view(), value);
    expect_equal(x.read(), std::vector<double>(19, want));
  };
  const double two = std::is_same_v<T, bool> ? 1 : 2;
  check(true, 1);
  check(false, 0);
  check('\2', two);
  check(fg::u8{2}, two);
  check(fg::i16{2}, two);
  check(2u, two);
  check(2LL, two);
  check(fg::u64{2}, two);
  check(2.0f, two);
  check(2.0, two);
  check(2.0L, two);
  check(bf16(2.0f), two);
  check(f16(2.0f), two);
}

TEST(creation, dtypes) {
  const auto& stream = test_stream<host>();
  at_every_level<host>([&] {
    expect_equal(values_of(fg::zeros(stream, {2, 3})), std::vector<double>(6, 0));
    expect_equal(values_of(fg::zeros<i64>(stream, {37})), std::vector<double>(37, 0));
    expect_equal(values_of(fg::ones<bf16>(stream, {37})), std::vector<double>(37, 1));
    expect_equal(values_of(fg::ones<bool>(stream, {37})), std::vector<double>(37, 1));
    expect_equal(values_of(fg::ones<f64>(stream, {37})), std::vector<double>(37, 1));
    expect_equal(values_of(fg::full<f16>(stream, {37}, 0.1)),
                 std::vector<double>(37, static_cast<double>(static_cast<float>(f16(0.1)))));
    expect_equal(values_of(fg::full<uint8_t>(stream, {37}, 200)), std::vector<double>(37, 200));
    expect_equal(values_of(fg::full<int32_t>(stream, {37}, -7.9)), std::vector<double>(37, -7));
    expect_equal(values_of(fg::full<bool>(stream, {37}, 0.5)), std::vector<double>(37, 1));
    expect_equal(values_of(fg::full<f32>(stream, {}, std::numeric_limits<double>::infinity())),
                 {std::numeric_limits<double>::infinity()});
    expect_equal(values_of(fg::arange<bf16>(stream, 0.0, 5.0)), {0, 1, 2, 3, 4});
    expect_equal(values_of(fg::arange<int32_t>(stream, -2, 3)), {-2, -1, 0, 1, 2});
  });
  // The zero that is stored is the one that was asked for.
  EXPECT_TRUE(std::signbit(fg::full<f32>(stream, {20}, -0.0).data()[19]));
  EXPECT_EQ(fg::full<i64>(stream, {20}, std::numeric_limits<i64>::max()).data()[19],
            std::numeric_limits<i64>::max());
}

TEST(creation, arange_into_a_view) {
  test_tensor<f32> out({5}, layout::strided);
  fg::arange(test_stream<host>(), 1, 6, 1, out.view());
  expect_equal(out.read(), {1, 2, 3, 4, 5});
  EXPECT_TRUE(out.gaps_untouched());
  test_tensor<i64> backwards({5}, layout::negative);
  fg::arange(test_stream<host>(), 1, 6, 1, backwards.view());
  expect_equal(backwards.read(), {1, 2, 3, 4, 5});
}

TEST(creation, floats_fill_integers_without_their_fraction) {
  const auto& stream = test_stream<host>();
  EXPECT_EQ(fg::full<fg::i8>(stream, {1}, 126.9f)[0], 126);
  EXPECT_EQ(fg::full<fg::i8>(stream, {1}, -127.9)[0], -127);
  EXPECT_EQ(fg::full<fg::u8>(stream, {1}, 254.9L)[0], 254);
  // The range is asked for before the fraction is lost, as in ATen.
  EXPECT_RAISES(fg::full<fg::i8>(stream, {1}, 127.9f), invalid_argument, "full");
  EXPECT_RAISES(fg::full<fg::i8>(stream, {1}, -128.9), invalid_argument, "full");
  EXPECT_RAISES(fg::full<fg::u8>(stream, {1}, 255.9), invalid_argument, "full");
  EXPECT_RAISES(fg::full<fg::u8>(stream, {1}, -0.5), invalid_argument, "full");
  EXPECT_EQ(fg::full<i64>(stream, {1}, -0x1p63)[0], std::numeric_limits<i64>::min());
  EXPECT_EQ(fg::full<fg::u64>(stream, {1}, 0x1p63)[0], fg::u64{1} << 63);
}

TEST(creation, integers_fill_integers_that_hold_them) {
  const auto& stream = test_stream<host>();
  constexpr i64 least = std::numeric_limits<i64>::min();
  constexpr fg::u64 most = std::numeric_limits<fg::u64>::max();
  EXPECT_EQ(fg::full<fg::i8>(stream, {1}, -128)[0], -128);
  EXPECT_EQ(fg::full<fg::u8>(stream, {1}, 255)[0], 255);
  EXPECT_EQ(fg::full<fg::u64>(stream, {1}, most)[0], most);
  EXPECT_EQ(fg::full<i64>(stream, {1}, least)[0], least);
  EXPECT_EQ(fg::full<bool>(stream, {1}, 256)[0], true);
  EXPECT_EQ(fg::full<f32>(stream, {1}, 1 << 24)[0], 16777216.0f);
  for (const int x : {128, -129, 300})
    EXPECT_RAISES(fg::full<fg::i8>(stream, {1}, x), invalid_argument, "full");
  EXPECT_RAISES(fg::full<fg::u8>(stream, {1}, -1), invalid_argument, "full");
  EXPECT_RAISES(fg::full<fg::u64>(stream, {1}, -1), invalid_argument, "full");
  EXPECT_RAISES(fg::full<i64>(stream, {1}, most), invalid_argument, "full");
  EXPECT_RAISES(fg::full<int32_t>(stream, {1}, (i64{1} << 32) | 1), invalid_argument, "full");
  test_tensor<fg::i8> out({5});
  EXPECT_RAISES(fg::fill_(stream, out.view(), 300), invalid_argument, "fill_");
  EXPECT_RAISES(fg::fill_(stream, out.view(), 200u), invalid_argument, "fill_");
  EXPECT_RAISES(fg::assign(stream, out.view(), 300), invalid_argument, "assign");
  EXPECT_TRUE(out.untouched());
}

TEST(creation, floats_are_filled_with_what_they_hold) {
  const auto& stream = test_stream<host>();
  constexpr double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(fg::full<int32_t>(stream, {1}, -2.9)[0], -2);
  EXPECT_EQ(static_cast<float>(fg::full<fg::f16>(stream, {1}, 65504)[0]), 65504.0f);
  EXPECT_EQ(static_cast<float>(fg::full<fg::f16>(stream, {1}, -inf)[0]), static_cast<float>(-inf));
  EXPECT_TRUE(std::isnan(static_cast<float>(fg::full<bf16>(stream, {1}, std::nan(""))[0])));
  EXPECT_RAISES(fg::full<fg::f16>(stream, {1}, 1e6), invalid_argument, "full");
  EXPECT_RAISES(fg::full<fg::f16>(stream, {1}, 1 << 20), invalid_argument, "full");
  EXPECT_RAISES(fg::full<f32>(stream, {1}, 1e39), invalid_argument, "full");
  EXPECT_RAISES(fg::full<fg::f16>(stream, {1}, 65505), invalid_argument, "full");
  EXPECT_RAISES(fg::full<fg::f8e4m3>(stream, {1}, inf), invalid_argument, "full");
  test_tensor<fg::f16> out({5});
  EXPECT_RAISES(fg::fill_(stream, out.view(), -1e6f), invalid_argument, "fill_");
  EXPECT_TRUE(out.untouched());
}

TEST(creation, arange_takes_its_dtype_from_the_numbers) {
  const auto& stream = test_stream<host>();
  static_assert(std::is_same_v<decltype(fg::arange(stream, 3)), fg::tensor<i64>>);
  static_assert(std::is_same_v<decltype(fg::arange(stream, 0, 3, 1)), fg::tensor<i64>>);
  expect_equal(values_of(fg::arange(stream, 0, 10, 2.5)), {0, 2.5F, 5, 7.5F});
  expect_equal(values_of(fg::arange(stream, 0.5, 3)), {0.5F, 1.5F, 2.5F});
  expect_equal(values_of(fg::arange(stream, 2.5F)), {0, 1, 2});
  EXPECT_RAISES((void)fg::arange(stream, std::numeric_limits<fg::u64>::max()), invalid_argument,
                "arange");
}

TEST(creation, arange_stays_within_its_dtype) {
  const auto& stream = test_stream<host>();
  EXPECT_EQ(fg::arange<fg::i8>(stream, 128).data()[127], 127);
  EXPECT_EQ(fg::arange<fg::i8>(stream, 0, 129, 100).data()[1], 100);
  EXPECT_EQ(fg::arange<fg::i8>(stream, 300, 300).numel(), 0);
  EXPECT_EQ(fg::arange<fg::u8>(stream, 255, -1, -255).data()[1], 0);
  EXPECT_RAISES(fg::arange<fg::i8>(stream, 129), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange<fg::u8>(stream, -1, 5), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange<fg::u8>(stream, 5, -2, -1), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange<fg::i16>(stream, i64{1} << 50), invalid_argument, "arange");
  test_tensor<fg::i8> out({129});
  EXPECT_RAISES(fg::arange(stream, 0, 129, 1, out.view()), invalid_argument, "arange");
  EXPECT_TRUE(out.untouched());
}

#if FLAGGEMS_ARCH_X86
TEST(creation, first_launch_raises_for_an_unknown_isa) {
  test_tensor<f32> out({5});
  const char* const set = std::getenv("FLAGGEMS_ISA");
  const std::string before = set != nullptr ? set : "";
  const auto level = static_cast<int>(fg::isa());
  setenv("FLAGGEMS_ISA", "nonsense", 1);
  fg::detail::isa_slot() = -1;
  EXPECT_RAISES(fg::fill_(test_stream<host>(), out.view(), 1), invalid_argument, "FLAGGEMS_ISA");
  EXPECT_TRUE(out.untouched());
  setenv("FLAGGEMS_ISA", before.c_str(), 1);
  fg::detail::isa_slot() = level;
}
#endif

TEST(creation, arange_of_integers_from_floats_raises) {
  const auto& stream = test_stream<host>();
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  test_tensor<i64> out({5});
  test_tensor<fg::i8> narrow({5});
  for (const double bad : {nan, inf, -inf, 0x1p63, -0x1.8p63}) {
    EXPECT_RAISES(fg::arange(stream, bad, 5, 1, out.view()), invalid_argument, "arange");
    EXPECT_RAISES(fg::arange(stream, 0, bad, 1, out.view()), invalid_argument, "arange");
    EXPECT_RAISES(fg::arange(stream, 0, 5, bad, out.view()), invalid_argument, "arange");
  }
  EXPECT_RAISES(fg::arange(stream, 0, 5, -1.0, out.view()), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange(stream, 5.0, 0.0, 1, out.view()), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange(stream, 0.0, 6.0, 1, out.view()), shape_mismatch, "arange");
  EXPECT_RAISES(fg::arange(stream, 0.0, 600.0, 1, narrow.view()), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange(stream, 0.9, -1.9, 1, narrow.view()), invalid_argument, "arange");
  EXPECT_RAISES((void)fg::arange<f32>(stream, 0, 5, nan), invalid_argument, "arange");
  EXPECT_TRUE(out.untouched());
  EXPECT_TRUE(narrow.untouched());
}

TEST(creation, errors) {
  const auto& stream = test_stream<host>();
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  test_tensor<f32> out({5});
  test_tensor<i64> integers({5});
  EXPECT_RAISES(fg::arange(stream, 0, 6, 1, out.view()), shape_mismatch, "arange");
  EXPECT_RAISES(fg::arange(stream, 0, 5, 1, out.view().view({1, 5})), shape_mismatch, "arange");
  EXPECT_RAISES(fg::arange(stream, 0, 5, 0, out.view()), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange(stream, 0, 5, 0, integers.view()), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange(stream, 5, 0, 1, out.view()), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange(stream, 0, 5, -1, integers.view()), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange(stream, 0, 5, nan, out.view()), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange(stream, nan, 5, 1, out.view()), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange(stream, 0, inf, 1, out.view()), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange(stream, 0, 1e30, 1, out.view()), invalid_argument, "arange");
  EXPECT_RAISES(fg::arange(stream, std::numeric_limits<i64>::min(), std::numeric_limits<i64>::max(),
                           1, integers.view()),
                invalid_argument, "arange");
  EXPECT_RAISES(fg::fill_(stream, out.view().narrow(0, 0, 1).expand({5}), 1), overlap, "fill_");
  for (const double x : {nan, inf, -inf, 0x1p63, -0x1.8p63, 1e30})
    EXPECT_RAISES(fg::fill_(stream, integers.view(), x), invalid_argument, "fill_");
  EXPECT_RAISES(fg::full<fg::i8>(stream, {2}, 128.f), invalid_argument, "full");
  EXPECT_RAISES(fg::full<fg::u8>(stream, {2}, -1.0), invalid_argument, "full");
  EXPECT_TRUE(out.untouched());
  EXPECT_TRUE(integers.untouched());
}

TEST(creation, orders_and_tokens) {
  const auto& s = test_stream<host>();
  const auto x = fg::empty_permuted<i64>(s, {2, 3, 4}, {1, 2, 0});
  EXPECT_EQ(std::string(fg::to_string(fg::int_list(x.strides()))), "[1, 8, 2]");
  EXPECT_EQ(fg::empty_permuted(s, {}, {}).rank(), 0);
  EXPECT_EQ(fg::empty_permuted(s, {0, 3}, {-1, 0}).numel(), 0);
  EXPECT_RAISES(static_cast<void>(fg::empty_permuted(s, {2, 3}, {0})), shape_mismatch,
                "empty_permuted");
  EXPECT_RAISES(static_cast<void>(fg::empty_permuted(s, {2, 3}, {0, 0})), invalid_argument,
                "empty_permuted");
  EXPECT_RAISES(static_cast<void>(fg::empty_permuted(s, {2, 3}, {0, 2})), out_of_range,
                "empty_permuted");
  EXPECT_EQ(values_of(fg::list_to_tensor(s, {4, -1})), (std::vector<double>{4, -1}));
  EXPECT_EQ(fg::list_to_tensor(s, {}).numel(), 0);
  EXPECT_EQ(fg::make_dep_token<i64>(s).rank(), 0);
  test_tensor<f32> token({2}, layout::strided, {1, 2});
  const auto passed = [&](auto size, std::optional<i64> low, std::optional<i64> high) {
    return values_of(fg::functional_sym_constrain_range(s, size, low, high, token.in()));
  };
  const auto of_size = [&](auto size, std::optional<i64> low, std::optional<i64> high) {
    return values_of(fg::functional_sym_constrain_range_for_size(s, size, low, high, token.in()));
  };
  EXPECT_EQ(passed(-5, {}, 3), token.values());
  EXPECT_EQ(of_size(3, 3, 3), token.values());
  constexpr const char* op = "functional_sym_constrain_range";
  EXPECT_RAISES(static_cast<void>(passed(5, 6, {})), invalid_argument, op);
  EXPECT_RAISES(static_cast<void>(passed(5, 1, 4)), invalid_argument, op);
  EXPECT_RAISES(static_cast<void>(passed(5, 6, 4)), invalid_argument, op);
  constexpr const char* sized = "functional_sym_constrain_range_for_size";
  EXPECT_RAISES(static_cast<void>(of_size(-1, {}, {})), invalid_argument, sized);
  EXPECT_RAISES(static_cast<void>(of_size(1, {}, 2)), invalid_argument, sized);
}

#endif

}  // namespace
}  // namespace flaggems_test
