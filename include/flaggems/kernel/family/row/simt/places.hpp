// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The rows of a thread group: where they begin, and values for each of them.
#pragma once

#include <flaggems/kernel/expr/simt/register_rows.hpp>
#include <flaggems/kernel/family/row/space.hpp>

namespace flaggems::kernels {

/// A value for each of some rows.
template <class X, int Rows>
struct per_row {
  X of[Rows];
  FLAGGEMS_INLINE X operator()(int r) const { return of[r]; }
};

/// The first of the rows of a thread group, and those each `step` further.
template <class Space>
struct row_places {
  const Space& space;
  int rank;
  i64 first, step;
  /// Where they begin in an operand.
  template <int Rows, class Operand, class Pointer>
  FLAGGEMS_INLINE void locate(const Operand& x, Pointer (&to)[Rows]) const {
    if (rank <= 1) {
      to[0] = x.data + first * x.strides[0];
      FLAGGEMS_SIMT_UNROLL
      for (int r = 1; r < Rows; ++r) to[r] = to[r - 1] + step * x.strides[0];
    } else {
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        // (With a form for one operand, ptxas spills in fused_add_rms_norm of long rows.)
        i64 at, same;
        locate_row<u32>(space, rank, static_cast<u32>(first + r * step), x.strides, x.strides, at,
                        same);
        to[r] = x.data + at;
      }
    }
  }
};

/// What gives a row's parameters to a function, and how many they are.
template <class Give, int Count>
struct given_parameters {
  static constexpr int count = Count;
  const Give& give;
  template <class G>
  FLAGGEMS_INLINE void operator()(int r, const G& g) const {
    give(r, g);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/simt/places.hpp");
