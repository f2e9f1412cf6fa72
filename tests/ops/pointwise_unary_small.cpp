// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Every unary row of the pointwise table in the dtypes of 8 and 16 bits.
#include <support/pointwise.hpp>

namespace flaggems_test {
namespace {

TEST(pointwise_unary_small, bf16) { check_unary_rows<host, bf16>(); }
#if !FLAGGEMS_TEST_REDUCED
TEST(pointwise_unary_small, f16) { check_unary_rows<host, f16>(); }
TEST(pointwise_unary_small, chip_bf16) { check_unary_rows<chip32, bf16>(); }
TEST(pointwise_unary_small, u8) { check_unary_rows<host, std::uint8_t>(); }
#endif

}  // namespace
}  // namespace flaggems_test
