// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/special.hpp>
#include <support/pointwise_tables.hpp>

namespace flaggems_test {
namespace {

FLAGGEMS_SPECIAL_TABLE(TEST_UNARY, TEST_BINARY)
using rows = row_list<void FLAGGEMS_SPECIAL_TABLE(TEST_LISTED, TEST_LISTED)>;

template <class D>
class special : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(special, devices);

TYPED_TEST(special, rows) { check_table<TypeParam, rows>(); }

}  // namespace
}  // namespace flaggems_test
