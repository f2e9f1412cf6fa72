// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Every unary row of the pointwise table in the dtypes of 32 and 64 bits, and in bool.
#include <support/pointwise.hpp>

namespace flaggems_test {
namespace {

TEST(pointwise_unary_wide, f64) { check_unary_rows<host, f64>(); }
TEST(pointwise_unary_wide, i32) { check_unary_rows<host, std::int32_t>(); }
TEST(pointwise_unary_wide, boolean) { check_unary_rows<host, bool>(); }

}  // namespace
}  // namespace flaggems_test
