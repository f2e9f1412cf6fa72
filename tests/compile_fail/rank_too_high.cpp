// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
//
// expect: -DWRONG=1: extents: at most 8 dimensions
//
// expect: -DWRONG=2: extents: a size must not be negative
//
// expect: -DWRONG=3: tensor_view: as many indices as dimensions
#include <flaggems/tensor/view.hpp>

using namespace flaggems;

float f(tensor_view<float, host, extents<1, 2, 3, 4, 5, 6, 7, 8>> v,
        tensor_view<float, host, extents<2, 3>> m) {
#if WRONG == 1
  tensor_view<float, host, extents<1, 2, 3, 4, 5, 6, 7, 8, 9>> nine(nullptr);
#elif WRONG == 2
  tensor_view<float, host, extents<2, -2>> negative(nullptr, {2, 2});
#elif WRONG == 3
  return m(1, 1, 1);
#endif
  return v(0, 1, 2, 3, 4, 5, 6, 7) + m(1, 2);
}
