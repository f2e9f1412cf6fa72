// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows of a table, rescaled to a maximal norm.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// The rows of a table, written in place.
template <class T>
struct table_rows {
  global_ptr<T> data;
  i64 rows, length;
  i64 row, element;  // strides
};

// Norms: the term of each element, the reduction, and the norm of the result.
struct euclidean_norm {
  using op = plus;
  template <class V>
  FLAGGEMS_INLINE V term(FLAGGEMS_VALUE(V) v) const {
    return v * v;
  }
  template <class C>
  FLAGGEMS_INLINE C of(C sum) const {
    return sqrt(sum);
  }
};
struct greatest_norm {
  using op = maximum_of;
  template <class V>
  FLAGGEMS_INLINE V term(FLAGGEMS_VALUE(V) v) const {
    return abs(v);
  }
  template <class C>
  FLAGGEMS_INLINE C of(C largest) const {
    return largest;
  }
};
/// (sum |v|^p)^(1/p); for p = 0 the number of non-zero elements.
template <class C>
struct power_norm {
  using op = plus;
  C p;
  template <class V>
  FLAGGEMS_INLINE V term(FLAGGEMS_VALUE(V) v) const {
    const V zero(p < C(0) ? infinity_of<C>() : C(0));
    return select(mask_of<V>(v == V(C(0))), zero, pow(V(abs(v)), V(p)));
  }
  FLAGGEMS_INLINE C of(C sum) const { return p == C(0) ? sum : pow(sum, C(C(1) / p)); }
};

/// Each row named by the sorted indices, once: scaled by most / (norm + 1e-7) if its norm exceeds
/// `most`. Out of range indices are ignored.
template <class T, class J, class Norm>
struct embedding_renorm {
  using C = compute_type<T>;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, table_rows<T> table, global_ptr<const J> sorted,
                                  i64 count, Norm norm, C most) {
    const i64 n = table.length;
    block.for_each_tile(count, [&](i64 i) FLAGGEMS_LAMBDA {
      const J at = sorted[i];
      if (static_cast<i64>(at) < 0 || static_cast<i64>(at) >= table.rows) return;
      if (i > 0 && sorted[i - 1] == at) return;
      const global_ptr<T> row = table.data + static_cast<i64>(at) * table.row;
      const row_in<T> x{row, table.element};
      const C folded = block.reduce(
          n, C(0), typename Norm::op{},
          [x, norm](auto lane) FLAGGEMS_LAMBDA { return norm.term(x.template load<C>(lane)); });
      const C found = norm.of(folded);
      if (!(found > most)) return;
      const C scale = most / (found + C(1e-7));
      const row_out<T> y{row, table.element};
      block.for_each_lane(n, [x, y, scale](auto lane) FLAGGEMS_LAMBDA {
        y.store(lane, x.template load<C>(lane) * scale);
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/index/embedding.hpp");
