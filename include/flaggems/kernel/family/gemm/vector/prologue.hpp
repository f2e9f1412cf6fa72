// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// The evaluation of a matrix product's first operand, while the host packs it.
#pragma once

#include <flaggems/kernel/family/gemm/prologue.hpp>
#include <flaggems/kernel/family/gemm/vector/blocks.hpp>

namespace flaggems::kernels {

// Prefetches what an expression reads at element q of a row.
template <class C>
FLAGGEMS_HOST_INLINE void prefetch(const literal<C>&, i64, i64) {}
template <class T, class C>
FLAGGEMS_HOST_INLINE void prefetch(const aux_rows<T, C>& x, i64 row, i64 q) {
  __builtin_prefetch(x.data + row * x.row + q * x.column);
}
template <class R, class F, class A>
FLAGGEMS_HOST_INLINE void prefetch(const node<R, F, A>& x, i64 row, i64 q) {
  prefetch(x.a, row, q);
}
template <class R, class F, class A, class B>
FLAGGEMS_HOST_INLINE void prefetch(const node<R, F, A, B>& x, i64 row, i64 q) {
  prefetch(x.a, row, q);
  prefetch(x.b, row, q);
}
template <class R, class F, class A, class B, class D>
FLAGGEMS_HOST_INLINE void prefetch(const node<R, F, A, B, D>& x, i64 row, i64 q) {
  prefetch(x.a, row, q);
  prefetch(x.b, row, q);
  prefetch(x.d, row, q);
}

/// `lines` lines of an expression from `row` on, `depth` elements of each from `start` on, as
/// elements of T one after the other.
template <class T, class First>
struct evaluate_lines {
  struct arguments {
    const First* first;
    const typename First::matrix* from;
    i64 row, lines, start, depth;
    i64 prefetch_lines;  // distance in lines of those to prefetch; 0 if there are none
    T* to;
  };
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    const First first = *p.first;
    const typename First::matrix from = *p.from;
    const i64 start = p.start, depth = p.depth, prefetch_lines = p.prefetch_lines;
    for (i64 l = 0; l < p.lines; ++l) {
      T* const to = p.to + l * depth;
      const i64 row = p.row + l;
      const auto step = [=](auto lane) FLAGGEMS_LAMBDA {
        auto at = lane;
        at.begin += start;
        // Pieces are short and a page apart, which hardware does not prefetch.
        prefetch(from, row + prefetch_lines, at.begin);
        store(to, lane, first.template read<compute_type<T>, stepping::contiguous>(from, row, at));
      };
      i64 q = 0;
      for (; q + Isa::lanes <= depth; q += Isa::lanes) step(lane_vector<Isa>{q});
      if (q < depth) step(lane_tail<Isa>{q, static_cast<int>(depth - q)});
    }
  }
};

}  // namespace flaggems::kernels
