// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Every binary and ternary row of the pointwise table in the dtypes of 8 and 16 bits.
#include <support/pointwise.hpp>

namespace flaggems_test {
namespace {

template <class Case>
class pointwise_binary_small : public ::testing::Test {};
using small_cases = unless_reduced<cases<on_host<bf16, f16, fg::i8, fg::u8>, on_chips<bf16>>>;
TYPED_TEST_SUITE(pointwise_binary_small, small_cases);

TYPED_TEST(pointwise_binary_small, rows) {
  check_binary_rows<typename TypeParam::device, typename TypeParam::type>();
}

}  // namespace
}  // namespace flaggems_test
