// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Every binary and ternary row of the pointwise table in the dtypes of 8 and 16 bits.
#include <support/pointwise.hpp>

namespace flaggems_test {
namespace {

TEST(pointwise_binary_small, bf16) { check_binary_rows<host, bf16>(); }
#if !FLAGGEMS_TEST_REDUCED
TEST(pointwise_binary_small, f16) { check_binary_rows<host, f16>(); }
TEST(pointwise_binary_small, chip_bf16) { check_binary_rows<chip32, bf16>(); }
TEST(pointwise_binary_small, i8) { check_binary_rows<host, std::int8_t>(); }
TEST(pointwise_binary_small, u8) { check_binary_rows<host, std::uint8_t>(); }
#endif

}  // namespace
}  // namespace flaggems_test
