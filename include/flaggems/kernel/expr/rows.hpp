// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows: the shape of every kernel that works along one dimension. A row is `length` elements with
// some stride; the other dimensions are coordinates.
#pragma once

#include <flaggems/kernel/expr/expr.hpp>

namespace flaggems::kernels {

/// The coordinates of a row, counted over `rank` dimensions of the given sizes.
FLAGGEMS_SCALAR coordinates coordinates_of(int rank, const i64 (&sizes)[max_rank], i64 row) {
  coordinates c;
  c.rank = rank;
  c.inner = 0;
  for (int d = rank - 1; d > 0; --d) {
    const i64 next = row / sizes[d];
    c.at[d] = row - next * sizes[d];
    row = next;
  }
  if (rank > 0) c.at[0] = row;
  return c;
}

/// The rows of a tensor: their number, their length, and the dimensions that they lie in.
struct row_space {
  int rank;  // dimensions besides the row's
  i64 sizes[max_rank];
  i64 rows;
  i64 length;

  FLAGGEMS_INLINE coordinates locate(i64 row) const { return coordinates_of(rank, sizes, row); }
};

template <class T>
struct row_in {
  global_ptr<const T> data;
  i64 stride;
  template <class C, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load(Lane lane) const {
    using kernels::load;  // and, by its argument, the host's overload
    return load<C>(data, stride, lane);
  }
  template <class C>
  FLAGGEMS_INLINE C read(i64 i) const {
    return number_cast<C>(data[i * stride]);
  }
};
template <class T>
struct row_out {
  global_ptr<T> data;
  i64 stride;
  template <class Lane, class V>
  FLAGGEMS_INLINE void store(Lane lane, FLAGGEMS_VALUE(V) x) const {
    using kernels::store;  // and, by its argument, the host's overload
    store(data, stride, lane, x);
  }
  template <class X>
  FLAGGEMS_INLINE void write(i64 i, X x) const {
    data[i * stride] = number_cast<T>(x);
  }
};

/// A tensor whose rows are read; strides[rank] is the row's own.
template <class T>
struct row_arg {
  global_ptr<const T> data;
  i64 strides[max_rank];
  FLAGGEMS_INLINE row_in<T> at(const coordinates& c) const {
    return {data + c.offset(strides), strides[c.rank]};
  }
};
/// A tensor whose rows are written.
template <class T>
struct row_target {
  global_ptr<T> data;
  i64 strides[max_rank];
  bool streamed = false;  // past the caches, where the device can do that
  FLAGGEMS_INLINE row_out<T> at(const coordinates& c) const {
    return {data + c.offset(strides), strides[c.rank]};
  }
};

/// The elements from one row of a group to the next.
FLAGGEMS_INLINE i64 group_step(const coordinates& c, const i64 (&strides)[max_rank]) {
  return c.rank > 0 ? strides[c.rank - 1] : 0;
}

/// How the elements of a row lie: one stride.
struct row_walk {
  i64 stride;
  FLAGGEMS_INLINE bool is_dense() const { return stride == 1; }
  FLAGGEMS_INLINE i64 offset(i64 i) const { return i * stride; }
  template <class C, class T, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load_from(global_ptr<const T> row, Lane lane) const {
    return load<C>(row, stride, lane);
  }
  template <class T, class Lane, class V>
  FLAGGEMS_INLINE void store_to(global_ptr<T> row, Lane lane, FLAGGEMS_VALUE(V) x) const {
    store(row, stride, lane, x);
  }
};

// Rows as kernels use them in several passes. They are made once per launch; `begin_group` moves to
// a group of rows, each `step` elements after the one before, and `place` gives one of them. The
// forms below are for SIMT devices; the host's (expr/vector/rows.hpp) see contiguous elements only.

/// A row that is read more than once: `first` for each element, later `again`. A kernel may `put` a
/// value in an element's place and read it back as `kept`; after that `again` is undefined. With
/// `fetch_next` a loop that computes says when memory may be asked for what comes next; the
/// elements from one row to the next, the `step`, tell where that is.
template <class Block, class C, class T, class Walk>
class staged_row {
 public:
  FLAGGEMS_INLINE staged_row(Block& block, i64 n, const Walk& walk, int = 1)
      : walk_(walk), copy_(block.template scratch<C>(n)) {}
  FLAGGEMS_INLINE void begin_group(global_ptr<const T> row, i64, int) { row_ = row; }
  FLAGGEMS_INLINE staged_row place(int) const { return *this; }
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> first(Lane lane) const {
    const auto v = walk_.template load_from<C, T>(row_, lane);
    put(lane, v);
    return v;
  }
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> again(Lane lane) const {
    return kept(lane);
  }
  template <class Lane>
  FLAGGEMS_INLINE void fetch_next(Lane) const {}
  template <class Lane, class V>
  FLAGGEMS_INLINE void put(Lane lane, FLAGGEMS_VALUE(V) x) const {
    store(copy_, lane, x);
  }
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> kept(Lane lane) const {
    return load<C>(copy_, lane);
  }

 private:
  Walk walk_;
  typename Block::template scratch_type<C> copy_;
  global_ptr<const T> row_ = nullptr;
};

/// A row that is read where it lies; null for none.
template <class Block, class T, class Walk>
class read_row {
 public:
  FLAGGEMS_INLINE read_row(Block&, i64, const Walk& walk, int = 1) : walk_(walk) {}
  FLAGGEMS_INLINE void begin_group(global_ptr<const T> row, i64, int) { row_ = row; }
  FLAGGEMS_INLINE read_row place(int) const { return *this; }
  FLAGGEMS_INLINE bool exists() const { return row_ != nullptr; }
  template <class C, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load(Lane lane) const {
    return walk_.template load_from<C, T>(row_, lane);
  }

 private:
  Walk walk_;
  global_ptr<const T> row_ = nullptr;
};

/// A row that is written, from `begin` to `end`, and may be read in between.
template <class Block, class T, class Walk>
class written_row {
 public:
  FLAGGEMS_INLINE written_row(Block&, i64, const Walk& walk, bool, int = 1) : walk_(walk) {}
  FLAGGEMS_INLINE void begin_group(global_ptr<T> row, i64) { row_ = row; }
  FLAGGEMS_INLINE written_row place(int) const { return *this; }
  template <class Lane, class V>
  FLAGGEMS_INLINE void store(Lane lane, FLAGGEMS_VALUE(V) x) const {
    walk_.store_to(row_, lane, x);
  }
  template <class C, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load(Lane lane) const {
    return walk_.template load_from<C, T>(row_, lane);
  }
  FLAGGEMS_INLINE void end(int = 0) const {}

 private:
  Walk walk_;
  global_ptr<T> row_ = nullptr;
};

// A row of an expression (`e.at(c)`), for a kernel that loops over it. The host's forms
// (expr/vector/rows.hpp) see to it that the loops meet contiguous operands only.

/// Whether all operands of a row of n elements are contiguous; if so `dense_row` says so in its
/// type.
template <class Block, class Row>
FLAGGEMS_INLINE bool is_dense_row(const Block&, const Row&) {
  return true;
}
template <class Block, class Row>
FLAGGEMS_INLINE Row dense_row(const Block&, const Row& row) {
  return row;
}
/// f(piece, begin, count) for pieces of a row: element i of a piece is element begin + i.
template <class Block, class Row, class F>
FLAGGEMS_INLINE void for_each_piece(const Block&, const Row& row, i64 n, const F& f) {
  f(row, i64(0), n);
}

// Groups: rows that a block works on side by side, so that what comes once a row is shared. On a
// SIMT device a group is one row; the host's (expr/vector/groups.hpp) have as many as a vector has
// lanes.

/// Elements that the rows of a group have together, where there is more than one.
inline constexpr i64 group_elements = 4096;

/// A group of rows, with a value of C for each of them.
template <class Block, class C>
struct row_group {
  static constexpr int most_rows = 1;
  using values = C;
  struct list {
    C of;
    FLAGGEMS_INLINE explicit list(C v) : of(v) {}
    FLAGGEMS_INLINE C operator[](int) const { return of; }
  };
  /// The rows of a group, if they have n elements.
  FLAGGEMS_INLINE static int rows_of(i64) { return 1; }
  /// Reduces each of `count` rows, of n elements row(r)(lane). On the host, M vectors of
  /// partial results take turns.
  template <int M, class Op, class F>
  FLAGGEMS_INLINE static C fold(Block& block, int, i64 n, C init, Op op, const F& row,
                                source_line line = FLAGGEMS_CALLER_LINE) {
    return block.reduce(n, init, op, row(0), line);
  }
  /// The same of functions that give several values at once, `Sums`.
  template <int M, class Sums, class Op, class F>
  FLAGGEMS_INLINE static Sums fold_each(Block& block, int, i64 n, const Sums& init, Op op,
                                        const F& row, source_line line = FLAGGEMS_CALLER_LINE) {
    return block.reduce(n, init, op, row(0), line);
  }
  /// f(r) of each row.
  template <class F>
  FLAGGEMS_INLINE static C gather(int, const F& f) {
    return f(0);
  }
};

/// Elements of a row that are reduced at a time; a reduction has two levels.
inline constexpr i64 reduced_chunk = 16384;

/// Terms that are combined one after the other.
inline constexpr i64 folded_run = 256;
/// The same where a term itself combines many (long_fold), or a few rows (columns on the
/// host), and of the runs of any further level: fewer, as all levels round.
inline constexpr i64 folded_terms = 16, folded_runs = 8;
/// Rows of columns of other types than those of 32 bits, and runs of these.
inline constexpr i64 folded_rows = 64, folded_row_runs = 32;

/// Where run `run` of terms, counted from 1, has ended: f(0), and f(k) for each level k above, of
/// less than `levels`, of which a run ends with it.
template <class F>
FLAGGEMS_INLINE void for_each_full_level(i64 run, int levels, const F& f) {
  for (int k = 0; k < levels; ++k, run /= folded_runs) {
    f(k);
    if (run % folded_runs != 0) return;
  }
}

/// The levels of columns that are reduced row by row, or a few rows at a time, and the elements
/// from the states of one level to those of the next.
FLAGGEMS_INLINE constexpr int column_levels(i64 rows) {
  int levels = 1;
  for (i64 terms = rows, run = folded_terms; terms > run; run = folded_runs, ++levels)
    terms = ceil_div(terms, run);
  return levels;
}
FLAGGEMS_INLINE constexpr i64 column_states(i64 columns) { return columns + 32; }

/// Reduces many terms, each of them `Lanes` states, in levels: a run of one level is a term of the
/// next, so that the error of a long sum stays that of a short one (0.1f, 2^22 times in a row: 2e-4
/// off, 2e-7 in levels). Comparisons round nothing, and take one level.
template <class Reducer, int Lanes>
class long_fold {
  using state = typename Reducer::state;

 public:
  /// `low` has one term more.
  FLAGGEMS_INLINE void next(state* low, i64 lanes) {
    if constexpr (!Reducer::needs_index) {
      if (++terms_ % folded_terms != 0) return;
      for_each_full_level(terms_ / folded_terms, most, [&](int k) FLAGGEMS_LAMBDA {
        carry(k == 0 ? low : levels_[k - 1], k, lanes);
      });
    }
  }
  /// All of them, in `low`.
  FLAGGEMS_INLINE void finish(state* low, i64 lanes) {
    if constexpr (!Reducer::needs_index) {
      typename Reducer::op op;
      for (int level = 0; level < used_; ++level)
        for (i64 k = 0; k < lanes; ++k) low[k] = op(low[k], levels_[level][k]);
    }
  }

 private:
  static constexpr int most = 8;  // the last has a run of 2^28 terms

  FLAGGEMS_INLINE void carry(state* from, int level, i64 lanes) {
    typename Reducer::op op;
    state* const to = levels_[level];
    const bool is_first = level == used_;
    for (i64 k = 0; k < lanes; ++k) {
      to[k] = is_first ? from[k] : op(to[k], from[k]);
      from[k] = Reducer::neutral();
    }
    if (is_first) ++used_;
  }

  i64 terms_ = 0;
  int used_ = 0;  // levels that have a term
  state levels_[most][Lanes];
};

/// Whether reductions to a C take the rows of a group together.
template <class Block, class C>
inline constexpr bool folds_groups = false;
/// Those of states whose reductions are parts of each level of the host
/// (block/vector/outlined.hpp).
template <class C>
inline constexpr bool has_group_parts = sizeof(C) == sizeof(f32) && !is_same<C, bool>;

/// Runs `program` on view(c, count) of the rows of this block's share, in groups of up to `most`:
/// the coordinates of the first one, and the number of rows, which are neighbours in the last outer
/// dimension.
template <class Block, class Space, class Program, class View>
FLAGGEMS_INLINE void run_on_row_groups(Block& block, const Space& space, int most,
                                       const Program& program, const View& view) {
  block.for_each_share(space.rows, [&](i64 begin, i64 end) FLAGGEMS_LAMBDA {
    for (i64 row = begin; row < end;) {
      const coordinates c = space.locate(row);
      i64 count = min_of(end - row, static_cast<i64>(most));
      if (c.rank > 0) count = min_of(count, space.sizes[c.rank - 1] - c.at[c.rank - 1]);
      auto group = view(c, static_cast<int>(count));
      program.run(group);
      row += count;
    }
  });
}

/// Calls f(coordinates) for every row of this block's share.
template <class Block, class F>
FLAGGEMS_INLINE void for_each_row(Block& block, const row_space& space, const F& f) {
  block.for_each_tile(space.rows, [&](i64 row) FLAGGEMS_LAMBDA { f(space.locate(row)); });
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/expr/rows.hpp");
