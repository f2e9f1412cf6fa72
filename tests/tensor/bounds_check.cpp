// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Element access is checked unless a program says FLAGGEMS_BOUNDS_CHECK=0.
#include <flaggems/tensor/view.hpp>

#include "test_support.hpp"

namespace {

using namespace flaggems;

struct own_element {
  int value;
};

TEST(bounds_check, element_access_is_checked) {
  own_element a[6] = {{0}, {1}, {2}, {3}, {4}, {5}};
  const tensor_view<own_element> v(a, {2, 3});
  EXPECT_EQ(v(1, 2).value, 5);
  EXPECT_RAISES(v(2, 0), out_of_range, "tensor_view");
  EXPECT_RAISES(v(0, 3), out_of_range, "tensor_view");
  EXPECT_RAISES(v(0, -1), out_of_range, "tensor_view");
  EXPECT_RAISES(v(0), invalid_argument, "tensor_view");
  EXPECT_RAISES(v[0], invalid_argument, "tensor_view");
  EXPECT_RAISES(v.select(0, 0)[3], out_of_range, "tensor_view");
  const tensor_view<own_element, host, extents<2, 3>> fixed(a);
  EXPECT_RAISES(fixed(1, 3), out_of_range, "tensor_view");
  EXPECT_EQ(fixed(1, 1).value, 4);
}

}  // namespace
