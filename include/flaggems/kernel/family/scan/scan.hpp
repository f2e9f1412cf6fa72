// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Running sums and the like along one dimension: out[i] joins elements 0 to i. Long rows are cut
// into chunks: one pass joins each chunk's elements, one joins the chunks before each, and the last
// writes.
#pragma once

#include <flaggems/kernel/family/pointwise/pointwise.hpp>

namespace flaggems::kernels {

/// What a scan joins: a state of an element, an associative operation, its identity, and the value
/// of a state. `of_tile` is the same within less than 2^31 elements, whose states `widen` makes
/// those of a row in which they begin at `first`.
template <class C>
struct scan_sum {
  using of_tile = scan_sum;
  using compute = C;
  using state = C;
  static constexpr bool has_places = false, is_commutative = true;
  FLAGGEMS_INLINE static state identity() { return C(0); }
  FLAGGEMS_INLINE static state of(C x, i64) { return x; }
  FLAGGEMS_INLINE static state join(const state& a, const state& b) { return wrapping_add(a, b); }
  template <class V>
  FLAGGEMS_INLINE static V join_lanes(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
    return wrapping_add(a, b);
  }
  FLAGGEMS_INLINE static C value(const state& s) { return s; }
  FLAGGEMS_INLINE static state widen(const state& s, i64) { return s; }
};
template <class C>
struct scan_prod : scan_sum<C> {
  using of_tile = scan_prod;
  FLAGGEMS_INLINE static C identity() { return C(1); }
  FLAGGEMS_INLINE static C join(const C& a, const C& b) { return wrapping_mul(a, b); }
  template <class V>
  FLAGGEMS_INLINE static V join_lanes(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
    return wrapping_mul(a, b);
  }
};
/// sum * e^most.
template <class C>
struct scaled_power {
  C most, sum;
};
/// The logarithm of sums of e^x.
template <class C>
struct scan_log_sum_exp {
  using of_tile = scan_log_sum_exp;
  using compute = C;
  using state = scaled_power<C>;
  static constexpr bool has_places = false, is_commutative = true;
  FLAGGEMS_INLINE static state identity() { return {lowest<C>(), C(0)}; }
  FLAGGEMS_INLINE static state of(C x, i64) { return {x, C(1)}; }
  FLAGGEMS_INLINE static state join(const state& a, const state& b) {
    const bool first = a.most > b.most;
    const C most = first ? a.most : b.most, least = first ? b.most : a.most;
    // Infinities that are equal have no distance. (A NaN gets into the sum.)
    const C factor = least == most ? C(1) : exp(C(least - most));
    return {most, first ? a.sum + b.sum * factor : b.sum + a.sum * factor};
  }
  FLAGGEMS_INLINE static C value(const state& s) { return s.most + log(s.sum); }
  FLAGGEMS_INLINE static state widen(const state& s, i64) { return s; }
};
/// The largest (smallest) element and the last place where it is; the first NaN wins, and later
/// ones after it.
template <class C, bool Max, class Index = i64>
struct scan_extreme {
  using of_tile = scan_extreme<C, Max, i32>;
  using compute = C;
  using state = indexed<C, Index>;
  static constexpr bool has_places = true, is_commutative = false;  // of equal ones the last wins
  FLAGGEMS_INLINE static state identity() { return {C(0), Index(-1)}; }
  FLAGGEMS_INLINE static state of(C x, i64 i) { return {x, static_cast<Index>(i)}; }
  FLAGGEMS_INLINE static state join(const state& a, const state& b) {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    return replaces(b.value, a.value) ? b : a;
  }
  /// Whether `next` takes the place of the extreme `before` it. (Of NaN each comparison is false.)
  template <class V>
  FLAGGEMS_INLINE static auto replaces(FLAGGEMS_VALUE(V) next, FLAGGEMS_VALUE(V) before) {
    const auto is_as_extreme = Max ? next >= before : next <= before;
    return is_as_extreme | (next != next);
  }
  FLAGGEMS_INLINE static C value(const state& s) { return s.value; }
  FLAGGEMS_INLINE static state widen(const typename of_tile::state& s, i64 first) {
    return {s.value, s.index < 0 ? Index(-1) : static_cast<Index>(first + s.index)};
  }
};

/// The rows of a scan, tiled, and the dimension along them. With `columns` a tile has several
/// neighbouring rows, and one thread walks along each; else it has one row, which all threads
/// share.
struct scan_space {
  tiling rows;
  i64 length, chunk, chunks;  // of the dimension, and the pieces that it is cut into
  i64 from_step, to_step, place_step;
  bool columns;
};

/// What a launch does: the whole scan, or, of several chunks, first their totals, in the place of
/// results, and then each chunk, joined to what comes before it.
enum class scan_pass : int { whole, totals, joined };

/// A row's element i for an operation: `first` is the place of its chunk in the dimension. Threads
/// that share a row hold states of `held`, of a tile that begins at element `base`.
template <class Op, class T, class O>
struct scan_row_data {
  using held = typename Op::of_tile;
  global_ptr<const T> from;
  global_ptr<O> to;
  global_ptr<i64> places;
  i64 from_step, to_step, place_step, first;

  FLAGGEMS_INLINE typename Op::state read(i64 i) const {
    return Op::of(number_cast<typename Op::compute>(T(from[i * from_step])), first + i);
  }
  FLAGGEMS_INLINE typename held::state read_held(i64 i, int place) const {
    return held::of(number_cast<typename Op::compute>(T(from[i * from_step])), place);
  }
  FLAGGEMS_INLINE typename Op::state widen(const typename held::state& s, i64 base) const {
    return Op::widen(s, first + base);
  }
  FLAGGEMS_INLINE void write(i64 i, const typename Op::state& s) const {
    to[i * to_step] = number_cast<O>(Op::value(s));
    if constexpr (Op::has_places) places[i * place_step] = s.index;
  }
};

/// The row at c from element `first` on.
template <class Op, class T, class O>
FLAGGEMS_INLINE scan_row_data<Op, T, O> scan_row_at(const scan_space& space, const coordinates& c,
                                                    i64 first, const arg<T, T>& in,
                                                    const target<O>& out,
                                                    const target<i64>& places) {
  return {in.data + c.offset(in.strides) + first * space.from_step,
          out.data + c.offset(out.strides) + first * space.to_step,
          Op::has_places ? places.data + c.offset(places.strides) + first * space.place_step
                         : places.data,
          space.from_step,
          space.to_step,
          space.place_step,
          first};
}
/// Row t of one for each tile; most are along one dimension, and take no divisions.
template <class Op, class T, class O>
FLAGGEMS_INLINE scan_row_data<Op, T, O> scan_row(const scan_space& space, i64 t, i64 first,
                                                 const arg<T, T>& in, const target<O>& out,
                                                 const target<i64>& places) {
  if (space.rows.outer_rank > 0)
    return scan_row_at<Op>(space, space.rows.locate(t), first, in, out, places);
  return {
      in.data + t * in.strides[0] + first * space.from_step,
      out.data + t * out.strides[0] + first * space.to_step,
      Op::has_places ? places.data + t * places.strides[0] + first * space.place_step : places.data,
      space.from_step,
      space.to_step,
      space.place_step,
      first};
}

/// Scans a row by one thread; gives the last state. The sides have forms of their own: for rows
/// that all threads share (simt/scan.hpp), and for neighbouring rows (vector/scan.hpp).
template <class Op, class Row>
FLAGGEMS_INLINE typename Op::state walk_row(const Row& row, i64 n, typename Op::state s,
                                            bool writes) {
  for (i64 i = 0; i < n; ++i) {
    s = Op::join(s, row.read(i));
    if (writes) row.write(i, s);
  }
  return s;
}
template <class Op, class Block, class Rows, class Begin, class End>
FLAGGEMS_INLINE void walk_columns(Op, const Block& block, i64 columns, i64 n, bool writes,
                                  const Rows& rows, const Begin& begin, const End& end) {
  block.for_each(
      columns, [&](i64 j) FLAGGEMS_LAMBDA { end(j, walk_row<Op>(rows(j), n, begin(j), writes)); });
}

/// Whether a block's threads share rows by kernels of their own (simt/), so that `scan` has
/// neighbouring rows only.
template <class Block>
inline constexpr bool has_row_kernels = is_same<typename Block::lane_type, lane_scalar>;

/// out = the scan of `in`. `states`: of each row's chunks, for those passes.
template <class Op, class T, class O>
struct scan {
  using state = typename Op::state;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const scan_space& space, const arg<T, T>& in,
                                  const target<O>& out, const target<i64>& places,
                                  global_ptr<state> states, scan_pass pass) {
    block.for_each_tile(space.rows.tiles * space.chunks, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 t = space.chunks == 1 ? tile : tile / space.chunks, k = tile - t * space.chunks;
      const coordinates c = space.rows.locate(t);
      const i64 columns = space.rows.length(c), first = k * space.chunk;
      const i64 n = min_of(space.chunk, space.length - first);
      const bool writes = pass != scan_pass::totals;
      const i64 from_column = in.strides[c.rank], to_column = out.strides[c.rank];
      const i64 place_column = Op::has_places ? places.strides[c.rank] : 0;
      const auto row = scan_row_at<Op>(space, c, first, in, out, places);
      const auto state_of = [&](i64 j) FLAGGEMS_LAMBDA {
        return states + ((t * space.rows.chunk + j) * space.chunks + k);
      };
      const auto begin = [&](i64 j) FLAGGEMS_LAMBDA {
        state before = Op::identity();
        if (pass == scan_pass::joined) before = *state_of(j);
        return before;
      };
      if (has_row_kernels<Block> || space.columns) {
        walk_columns(
            Op(), block, columns, n, writes,
            [&](i64 j) FLAGGEMS_LAMBDA {
              scan_row_data<Op, T, O> r = row;
              r.from += j * from_column;
              r.to += j * to_column;
              r.places += j * place_column;
              return r;
            },
            begin,
            [&](i64 j, const state& s) FLAGGEMS_LAMBDA {
              if (pass == scan_pass::totals) *state_of(j) = s;
            });
      } else if constexpr (!has_row_kernels<Block>) {
        const state s = share_row(Op(), block, row, n, begin(0), writes);
        block.single([&]() FLAGGEMS_LAMBDA {
          if (pass == scan_pass::totals) *state_of(0) = s;
        });
      }
    });
  }
};

/// The totals of a row's chunks, and what is joined before each, which a scan of them writes.
template <class Op>
struct scan_totals {
  using held = Op;
  global_ptr<const typename Op::state> totals;
  global_ptr<typename Op::state> before;
  i64 chunks;
  FLAGGEMS_INLINE typename Op::state read(i64 k) const { return totals[k]; }
  FLAGGEMS_INLINE typename Op::state read_held(i64 k, int) const { return totals[k]; }
  FLAGGEMS_INLINE typename Op::state widen(const typename Op::state& s, i64) const { return s; }
  FLAGGEMS_INLINE void write(i64 k, const typename Op::state& s) const {
    if (k + 1 < chunks) before[k + 1] = s;
  }
};

/// before[row, k] = the totals of the chunks before k joined.
template <class Op>
struct scan_states {
  using state = typename Op::state;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 rows, i64 chunks,
                                  global_ptr<const state> totals, global_ptr<state> before) {
    block.for_each_tile(rows, [&](i64 row) FLAGGEMS_LAMBDA {
      const i64 first = row * chunks;
      block.single([&]() FLAGGEMS_LAMBDA { before[first] = Op::identity(); });
      share_row(Op(), block, scan_totals<Op>{totals + first, before + first, chunks}, chunks,
                Op::identity(), true);
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/scan/scan.hpp");
