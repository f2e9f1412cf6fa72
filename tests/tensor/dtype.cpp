// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/tensor/dtype.hpp>

#include <string>

#include "test_support.hpp"

namespace {

using namespace flaggems;

constexpr int no = -1;

// torch.promote_types of PyTorch 2.11, every pair, in the order of `dtype`; -1 where it refuses.
constexpr int pytorch[dtype_count][dtype_count] = {
    {0, 0, 0, 0, no, no, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 16},
    {0, 1, 1, 1, no, no, 1, 1, 1, 1, 1, 1, 1, 1, 1, 15, 16},
    {0, 1, 2, 1, no, no, 2, 2, 2, 2, 2, 2, 2, 2, 2, 15, 16},
    {0, 1, 1, 3, no, no, 3, 3, 3, 3, 3, 3, 3, 3, 3, 15, 16},
    {no, no, no, no, 4, no, no, no, no, no, no, no, no, no, no, no, no},
    {no, no, no, no, no, 5, no, no, no, no, no, no, no, no, no, no, no},
    {0, 1, 2, 3, no, no, 6, 7, 8, 9, 7, no, no, no, 6, 15, 16},
    {0, 1, 2, 3, no, no, 7, 7, 8, 9, 7, no, no, no, 7, 15, 16},
    {0, 1, 2, 3, no, no, 8, 8, 8, 9, 8, no, no, no, 8, 15, 16},
    {0, 1, 2, 3, no, no, 9, 9, 9, 9, 9, no, no, no, 9, 15, 16},
    {0, 1, 2, 3, no, no, 7, 7, 8, 9, 10, no, no, no, 10, 15, 16},
    {0, 1, 2, 3, no, no, no, no, no, no, no, 11, no, no, no, no, no},
    {0, 1, 2, 3, no, no, no, no, no, no, no, no, 12, no, no, no, no},
    {0, 1, 2, 3, no, no, no, no, no, no, no, no, no, 13, no, no, no},
    {0, 1, 2, 3, no, no, 6, 7, 8, 9, 10, no, no, no, 14, 15, 16},
    {16, 15, 15, 15, no, no, 15, 15, 15, 15, 15, no, no, no, 15, 15, 16},
    {16, 16, 16, 16, no, no, 16, 16, 16, 16, 16, no, no, no, 16, 16, 16},
};

TEST(dtype, promotion_is_pytorchs_for_every_pair) {
  for (int a = 0; a < dtype_count; ++a)
    for (int b = 0; b < dtype_count; ++b) {
      const dtype da = static_cast<dtype>(a), db = static_cast<dtype>(b);
      EXPECT_EQ(can_promote(da, db), pytorch[a][b] != no) << to_string(da) << to_string(db);
      if (pytorch[a][b] != no) {
        EXPECT_EQ(static_cast<int>(promote(da, db)), pytorch[a][b]);
      } else {
        EXPECT_RAISES(promote(da, db), dtype_mismatch, "promote");
      }
    }
}

template <class A, class B>
concept has_common_type = requires {
  typename promote_t<A, B>;
};

template <class A, class B>
void compare_types() {
  constexpr int expected = pytorch[static_cast<int>(dtype_of<A>)][static_cast<int>(dtype_of<B>)];
  static_assert(has_common_type<A, B> == (expected != no));
  if constexpr (expected != no)
    static_assert(std::is_same_v<promote_t<A, B>, type_of<static_cast<dtype>(expected)>>);
}
template <class A, class... Ts>
void compare_row(type_list<Ts...>) {
  (compare_types<A, Ts>(), ...);
}
template <class... Ts>
void compare_all(type_list<Ts...> list) {
  (compare_row<Ts>(list), ...);
}

TEST(dtype, promote_t_is_the_same_table) { compare_all(all_types{}); }

static_assert(element<f32> && element<const bf16> && element<bool> && element<c128>);
static_assert(!element<void> && !element<char> && !element<long double> && !element<f32&>);
static_assert(dtype_of<const f16> == dtype::f16 && dtype_of<bool> == dtype::bool_);
static_assert(std::is_same_v<type_of<dtype::bool_>, bool> &&
              std::is_same_v<type_of<dtype::c128>, c128>);
static_assert(size_of(dtype::f8e4m3) == 1 && size_of(dtype::c128) == 16);
static_assert(size_of(dtype{77}) == 0 && to_string(dtype{dtype_count}) == "unknown");
static_assert(promote(dtype::f16, dtype::bf16) == dtype::f32);

TEST(dtype, facts_are_those_of_the_types) {
  for (int i = 0; i < dtype_count; ++i) {
    const dtype d = static_cast<dtype>(i);
    visit(d, [&](auto type) {
      using T = typename decltype(type)::type;
      EXPECT_EQ(dtype_of<T>, d);
      EXPECT_EQ(size_of(d), static_cast<i64>(sizeof(T)));
      EXPECT_EQ(is_floating_point(d), kernels::is_floating<T>);
      EXPECT_EQ(is_integral(d), kernels::is_integer<T>);
      EXPECT_EQ(is_integral(d, true), kernels::is_integer<T> || (std::is_same_v<T, bool>));
      EXPECT_EQ(is_complex(d), (std::is_same_v<T, c64> || std::is_same_v<T, c128>));
      EXPECT_EQ(is_signed(d), !kernels::is_unsigned_integer<T> && !(std::is_same_v<T, bool>));
    });
    EXPECT_EQ(parse_dtype(to_string(d)), d);
  }
  EXPECT_EQ(parse_dtype("bfloat16"), dtype::bf16);
  EXPECT_EQ(parse_dtype("long"), dtype::i64);
  EXPECT_EQ(parse_dtype("float8_e4m3fn"), dtype::f8e4m3);
  EXPECT_RAISES(parse_dtype("float33"), invalid_argument, "parse_dtype");
  EXPECT_RAISES(parse_dtype(""), invalid_argument, "parse_dtype");
}

TEST(dtype, visit_returns_what_the_function_returns_and_names_what_it_expects) {
  EXPECT_EQ(visit(dtype::i16, [](auto t) { return sizeof(typename decltype(t)::type); }), 2u);
  EXPECT_EQ((visit<f32, bf16>(
                dtype::bf16, [](auto t) { return dtype_of<typename decltype(t)::type>; }, "op")),
            dtype::bf16);
  int value = 1;
  int& reference = visit(dtype::u8, [&](auto) -> int& { return value; });
  EXPECT_EQ(&reference, &value);

  const error failure = flaggems_test::error_of([] {
    visit<f32, bf16, f16>(
        dtype::i16, [](auto) {}, "softmax");
  });
  EXPECT_EQ(failure.code(), errc::dtype_mismatch);
  EXPECT_EQ(std::string(failure.what()),
            "softmax: expected a dtype of f32, bf16 or f16, got i16 [dtype_mismatch]");
  const error single = flaggems_test::error_of([] {
    visit<f32>(
        dtype::u64, [](auto) { return 1; }, "mm");
  });
  EXPECT_EQ(std::string(single.what()), "mm: expected dtype f32, got u64 [dtype_mismatch]");
  EXPECT_RAISES(visit(static_cast<dtype>(99), [](auto) {}), dtype_mismatch, "visit");
}

TEST(dtype, complex_arithmetic) {
  constexpr c64 a{1, 2}, b{3, -4};
  static_assert(a + b == c64{4, -2} && a - b == c64{-2, 6} && -a == c64{-1, -2});
  static_assert(a * b == c64{11, 2} && a != b);
}

}  // namespace
