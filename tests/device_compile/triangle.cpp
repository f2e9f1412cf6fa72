// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/pointwise/pointwise.hpp>
#include <flaggems/kernel/family/pointwise/simt/pointwise.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::i64;
using flaggems::u16;

namespace flaggems::kernels {
template <class Compare>
using triangle_of =
    node<u16, where_fn,
         node<bool, Compare, node<i64, sub_fn, position<i64>, position<i64>>, literal<i64>>,
         arg<u16, u16>, literal<u16>>;
using lower_triangle = triangle_of<le_fn>;
using upper_triangle = triangle_of<ge_fn>;
}  // namespace flaggems::kernels

FLAGGEMS_INSTANCE(tril_u16, fk::pointwise_strided<u16, fk::lower_triangle>, fk::strided_space,
                  fk::target<u16>, fk::lower_triangle)
FLAGGEMS_INSTANCE(triu_u16, fk::pointwise_strided<u16, fk::upper_triangle>, fk::strided_space,
                  fk::target<u16>, fk::upper_triangle)
