// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Prologues of matrix products: the first operand as an expression over tensors. It takes the place
// of a gemm_arg in the kernels of family/gemm/gemm.hpp.
#pragma once

#include <flaggems/kernel/family/gemm/epilogue.hpp>

namespace flaggems::kernels {

/// An expression over the batch, the rows and the summed dimension.
template <class E>
struct gemm_prologue {
  using row = i64;
  E value;

  using matrix = decltype(copy_of(declval_of<const E&>().at(coordinates{})));
  FLAGGEMS_INLINE matrix at(const coordinates& c) const { return value.at(at_row(c, 0)); }
  FLAGGEMS_INLINE row row_of(const matrix&, i64 i) const { return i; }
  template <class C, stepping, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> read(const matrix& from, row i, Lane lane) const {
    return convert<C>(from.load(lane_of_row<Lane>{lane, i}));
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/prologue.hpp");
