// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Every binary and ternary row of the pointwise table in the dtypes of 32 and 64 bits, and in bool.
#include <support/pointwise.hpp>

namespace flaggems_test {
namespace {

TEST(pointwise_binary_wide, f64) { check_binary_rows<host, f64>(); }
TEST(pointwise_binary_wide, i32) { check_binary_rows<host, std::int32_t>(); }
TEST(pointwise_binary_wide, i64) { check_binary_rows<host, i64>(); }
TEST(pointwise_binary_wide, boolean) { check_binary_rows<host, bool>(); }

}  // namespace
}  // namespace flaggems_test
