// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A scan of a row by the threads of a block: each joins a few consecutive elements, the threads'
// totals are joined by shuffles, and each writes its elements.
#pragma once

#include <flaggems/kernel/family/scan/scan.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// Consecutive elements that a thread joins.
inline constexpr int scanned_at_once = 8;

/// Elements i and following of a row of n, as states; identities after its end. One by one:
template <class Op, int Count, class Row>
FLAGGEMS_INLINE void read_each(Op, const Row& row, i64 i, i64 n, typename Op::state (&to)[Count]) {
  FLAGGEMS_SIMT_UNROLL
  for (int k = 0; k < Count; ++k) to[k] = i + k < n ? row.read(i + k) : Op::identity();
}
template <class Op, int Count, class Row>
FLAGGEMS_INLINE void write_each(Op, const Row& row, i64 i, i64 n,
                                const typename Op::state (&from)[Count]) {
  FLAGGEMS_SIMT_UNROLL
  for (int k = 0; k < Count; ++k)
    if (i + k < n) row.write(i + k, from[k]);
}

/// The elements that a vector of Count or less has.
template <class T, int Count>
inline constexpr int scan_width = min_of(vec_size<T>, Count);
template <int Count, class T>
FLAGGEMS_INLINE bool are_vectors(global_ptr<T> p, i64 step, i64 left) {
  return step == 1 && left >= Count && is_vec_aligned<scan_width<T, Count>>(p);
}
/// f(k)'s values to p[0 .. Count), by vectors.
template <int Count, class T, class F>
FLAGGEMS_INLINE void store_some(global_ptr<T> p, const F& f) {
  constexpr int width = scan_width<T, Count>;
  FLAGGEMS_SIMT_UNROLL
  for (int v = 0; v < Count; v += width) {
    vec<T, width> some;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < width; ++k) some.at[k] = f(v + k);
    store_vec<width>(p + v, some);
  }
}

/// The same, of a tensor's row by vectors where it has them.
template <class Op, int Count, class Row>
FLAGGEMS_INLINE void read_some(Op op, const Row& row, i64 i, i64 n,
                               typename Op::state (&to)[Count]) {
  read_each(op, row, i, n, to);
}
template <class Op, int Count, class Row>
FLAGGEMS_INLINE void write_some(Op op, const Row& row, i64 i, i64 n,
                                const typename Op::state (&from)[Count]) {
  write_each(op, row, i, n, from);
}
template <class Op, int Count, class T, class O>
FLAGGEMS_INLINE void read_some(Op op, const scan_row_data<Op, T, O>& row, i64 i, i64 n,
                               typename Op::state (&to)[Count]) {
  constexpr int width = scan_width<T, Count>;
  const global_ptr<const T> p = row.from + i;
  if (are_vectors<Count>(p, row.from_step, n - i)) {
    FLAGGEMS_SIMT_UNROLL
    for (int v = 0; v < Count; v += width) {
      const vec<T, width> some = load_vec<width>(p + v);
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < width; ++k) to[v + k] = row.state_of(some.at[k], i + v + k);
    }
    return;
  }
  read_each(op, row, i, n, to);
}
template <class Op, int Count, class T, class O>
FLAGGEMS_INLINE void write_some(Op op, const scan_row_data<Op, T, O>& row, i64 i, i64 n,
                                const typename Op::state (&from)[Count]) {
  const global_ptr<O> p = row.to + i;
  bool whole = are_vectors<Count>(p, row.to_step, n - i);
  if constexpr (Op::has_places)
    whole = whole && are_vectors<Count>(row.places + i, row.place_step, n - i);
  if (whole) {
    store_some<Count>(p, [&](int k) FLAGGEMS_LAMBDA { return number_cast<O>(Op::value(from[k])); });
    if constexpr (Op::has_places)
      store_some<Count>(row.places + i, [&](int k) FLAGGEMS_LAMBDA { return from[k].index; });
    return;
  }
  write_each(op, row, i, n, from);
}

/// Scans a row by all threads; gives the last state. Elements are read before those in front of
/// them are joined, since memory answers late. Without results, and where the order of operands
/// does not matter, threads join what they read, and each other once.
template <class Op, class Block, class Row>
FLAGGEMS_INLINE typename Op::state share_row(Op, const Block& block, const Row& row, i64 n,
                                             typename Op::state carry, bool writes) {
  using state = typename Op::state;
  constexpr int each = scanned_at_once;
  const auto join = [](const state& a, const state& b) FLAGGEMS_LAMBDA { return Op::join(a, b); };
  const i64 step = i64{each} * block.threads();
  const bool joins_once = Op::is_commutative && !writes;
  state next[each], gathered = Op::identity(), total;
  read_some(Op(), row, i64{each} * block.thread(), n, next);
  for (i64 start = 0; start < n; start += step) {
    const i64 mine = start + i64{each} * block.thread();
    state own[each];
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < each; ++k) own[k] = next[k];
    if (start + step < n) read_some(Op(), row, mine + step, n, next);
    FLAGGEMS_SIMT_UNROLL
    for (int k = 1; k < each; ++k) own[k] = Op::join(own[k - 1], own[k]);
    if (joins_once) {
      gathered = Op::join(gathered, own[each - 1]);
      continue;
    }
    const state others =
        block.template exclusive_scan_block<state>(own[each - 1], Op::identity(), join, total);
    if (writes) {
      const state before = Op::join(carry, others);
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < each; ++k) own[k] = Op::join(before, own[k]);
      write_some(Op(), row, mine, n, own);
    }
    carry = Op::join(carry, total);
  }
  if (!joins_once) return carry;
  static_cast<void>(
      block.template exclusive_scan_block<state>(gathered, Op::identity(), join, total));
  return Op::join(carry, total);
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/scan/simt/scan.hpp");
