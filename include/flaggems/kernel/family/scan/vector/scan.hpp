// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Scans on the host: a worker walks along a row, or along neighbouring rows at once, so that it
// reads memory in order.
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/family/scan/scan.hpp>

namespace flaggems::kernels {

/// The most rows that a worker walks along at once.
inline constexpr i64 scan_columns = 64;

template <class Op, class Isa, class Row>
FLAGGEMS_HOST_INLINE typename Op::state share_row(Op, const host_block<Isa>&, const Row& row, i64 n,
                                                  typename Op::state carry, bool writes) {
  return walk_row<Op>(row, n, carry, writes);
}
/// Of extremes, in contiguous rows: a vector in which none is as extreme as the last one, as most
/// are, repeats that; the others go element by element.
template <class C, bool Max, class Isa, class T, class O>
requires(!is_same<C, bool>) FLAGGEMS_HOST_INLINE typename scan_extreme<C, Max>::state
    share_row(scan_extreme<C, Max>, const host_block<Isa>&,
              const scan_row_data<scan_extreme<C, Max>, T, O>& row, i64 n,
              typename scan_extreme<C, Max>::state carry, bool writes) {
  using op = scan_extreme<C, Max>;
  using V = typename simd_type<C, Isa>::type;
  if (row.from_step != 1 || row.to_step != 1 || row.place_step != 1)
    return walk_row<op>(row, n, carry, writes);
  const T* const from = row.from;
  O* const to = row.to;
  i64* const places = row.places;
  const i64 first = row.first;
  typename op::state last = carry;
  i64 i = 0;
  const auto step = [&]() FLAGGEMS_LAMBDA {
    const C x = number_cast<C>(from[i]);
    if (last.index < 0 || op::replaces(x, last.value)) last = {x, first + i};
    if (writes) {
      to[i] = number_cast<O>(last.value);
      places[i] = last.index;
    }
    ++i;
  };
  if (n > 0) step();
  while (i + Isa::lanes <= n) {
    const V x = load<C>(from, lane_vector<Isa>{i}), held(last.value);
    if (any_lane(op::replaces(x, held))) {
      for (int k = 0; k < Isa::lanes; ++k) step();
      continue;
    }
    if (writes) {
      store(to, lane_vector<Isa>{i}, held);
      store(places, lane_vector<Isa>{i}, simd<i64, Isa>(last.index));
    }
    i += Isa::lanes;
  }
  while (i < n) step();
  return last;
}
/// Whether Op's states are numbers, joined by vectors as well.
template <class Op>
inline constexpr bool joins_by_vectors = false;
template <class C>
inline constexpr bool joins_by_vectors<scan_sum<C>> = true;
template <class C>
inline constexpr bool joins_by_vectors<scan_prod<C>> = true;

/// Walks along adjacent rows, by vectors of them; false if the rows are not adjacent.
template <class Op, class Isa, class T, class O>
FLAGGEMS_HOST_INLINE bool walk_neighbours(const host_block<Isa>& block, i64 columns, i64 n,
                                          bool writes, const scan_row_data<Op, T, O>& first,
                                          const scan_row_data<Op, T, O>& last,
                                          typename Op::state* states) {
  using C = typename Op::state;
  if (columns < Isa::lanes || last.from - first.from != columns - 1 ||
      last.to - first.to != columns - 1)
    return false;
  for (i64 i = 0; i < n; ++i) {
    const T* const from = first.from + i * first.from_step;
    O* const to = first.to + i * first.to_step;
    block.for_each_lane(columns, [&](auto lane) FLAGGEMS_LAMBDA {
      using V = lane_value<decltype(lane), C>;
      const V s = Op::template join_lanes<V>(load<C>(static_cast<const C*>(states), lane),
                                             load<C>(from, lane));
      store(states, lane, s);
      if (writes) store(to, lane, s);
    });
  }
  return true;
}
template <class Op, class Isa, class Rows, class Begin, class End>
FLAGGEMS_HOST_INLINE void walk_columns(Op, const host_block<Isa>& block, i64 columns, i64 n,
                                       bool writes, const Rows& rows, const Begin& begin,
                                       const End& end) {
  typename Op::state states[scan_columns];
  for (i64 j = 0; j < columns; ++j) states[j] = begin(j);
  bool is_done = false;
  if constexpr (joins_by_vectors<Op>)
    is_done = walk_neighbours<Op>(block, columns, n, writes, rows(0), rows(columns - 1), states);
  for (i64 i = 0; i < n && !is_done; ++i)
    for (i64 j = 0; j < columns; ++j) {
      const auto row = rows(j);
      states[j] = Op::join(states[j], row.read(i));
      if (writes) row.write(i, states[j]);
    }
  for (i64 j = 0; j < columns; ++j) end(j, states[j]);
}

}  // namespace flaggems::kernels
