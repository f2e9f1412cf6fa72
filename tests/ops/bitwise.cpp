// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/bitwise.hpp>
#include <support/pointwise_tables.hpp>

namespace flaggems_test {
namespace {

FLAGGEMS_BITWISE_TABLE(TEST_UNARY, TEST_BINARY)
using rows = row_list<void FLAGGEMS_BITWISE_TABLE(TEST_LISTED, TEST_LISTED)>;

template <class D>
class bitwise : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(bitwise, devices);

TYPED_TEST(bitwise, rows) { check_table<TypeParam, rows>(); }

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(bitwise_shifts, beyond_the_bits) {
  const auto& stream = test_stream<host>();
  at_every_level<host>([&] {
    test_tensor<fg::i8> a({6}, layout::contiguous, {-77, 77, 1, -1, 5, -128});
    test_tensor<fg::i8> n({6}, layout::contiguous, {8, 100, 7, 7, -1, 1});
    expect_equal(values_of(fg::bitwise_left_shift(stream, a.in(), n.in())),
                 {0, 0, -128, -128, 0, 0});
    expect_equal(values_of(fg::bitwise_right_shift(stream, a.in(), n.in())),
                 {-1, 0, 0, -1, 0, -64});
    test_tensor<fg::u32> u({3}, layout::contiguous, {4294967295.0, 4294967295.0, 1});
    test_tensor<fg::u32> m({3}, layout::contiguous, {32, 31, 31});
    expect_equal(values_of(fg::bitwise_right_shift(stream, u.in(), m.in())), {0, 1, 0});
    expect_equal(values_of(fg::bitwise_left_shift(stream, u.in(), m.in())),
                 {0, 2147483648.0, 2147483648.0});
  });
}

TEST(bitwise_operators, of_the_language) {
  const auto& stream = test_stream<host>();
  test_tensor<fg::i64> a({3}, layout::contiguous, {12, 10, -1}),
      b({3}, layout::contiguous, {10, 3, 6});
  const auto x = a.in(), y = b.in();
  expect_equal(values_of(fg::evaluate(stream, ((x & y) | 1) ^ ~y)), {-4, -1, -2});
  expect_equal(values_of(fg::evaluate(stream, (x << 3) >> 1)), {48, 40, -4});
}

#endif

}  // namespace
}  // namespace flaggems_test
