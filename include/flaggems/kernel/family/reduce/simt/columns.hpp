// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions across rows on SIMT devices: each thread reduces a few consecutive columns, several
// rows at a time, and the threads of a column split its rows.
#pragma once

#include <flaggems/kernel/family/reduce/simt/rows.hpp>

namespace flaggems::kernels {

/// Whether a row of indices is computed and grows with the step.
template <class Places>
inline constexpr bool counts_steps = false;
template <class J>
inline constexpr bool counts_steps<position_row<J>> = true;

/// A thread's state for Width columns: values, in two levels.
template <class Reducer, int Width, bool Indexed = Reducer::needs_index>
struct column_folds {
  using S = typename Reducer::state;
  S low[Width];
  FLAGGEMS_INLINE void begin_run() {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; ++k) low[k] = Reducer::neutral();
  }
  /// Adds A rows, of which `rows` exist.
  template <int A, class Row, class Fragment>
  FLAGGEMS_INLINE void next(const Row (&row)[A], const Fragment (&x)[A], i64, int rows) {
    typename value_fold<Reducer>::op op;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; ++k) {
      low[k] = op(low[k], folded<A>(op, [&](int u) FLAGGEMS_LAMBDA {
                    const S v = row_vectors<Row>::template value<Width>(row[u], x[u], k, 0);
                    return u < rows ? v : Reducer::neutral();
                  }));
    }
  }
  FLAGGEMS_INLINE void end_run(S (&state)[Width]) const {
    typename Reducer::op op;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; ++k) state[k] = op(state[k], low[k]);
  }
};
/// The best values, and the step of the A rows that had them.
template <class Reducer, int Width>
struct column_folds<Reducer, Width, true> {
  using S = typename Reducer::state;
  typename Reducer::value best[Width];
  i32 at[Width];
  FLAGGEMS_INLINE void begin_run() {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; ++k) {
      best[k] = Reducer::neutral_value();
      at[k] = 0;  // the first, until there is a better one
    }
  }
  /// Of A rows, absent ones repeat an existing one.
  template <int A, class Row, class Fragment>
  FLAGGEMS_INLINE void next(const Row (&row)[A], const Fragment (&x)[A], i64 step, int) {
    typename value_fold<Reducer>::op op;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; ++k) {
      const auto of_rows = folded<A>(op, [&](int u) FLAGGEMS_LAMBDA {
        return row_vectors<Row>::template value<Width>(row[u], x[u], k, 0);
      });
      const bool better = Reducer::betters(best[k], of_rows);
      best[k] = better ? of_rows : best[k];
      at[k] = better ? static_cast<i32>(step) : at[k];
    }
  }
};

/// The index of the first of `Count` values from `from` on, before `end`, that is `best` (or NaN);
/// one of them is. value(i) is the one at i.
template <int Count, class C, class F>
FLAGGEMS_INLINE i64 first_of(i64 from, i64 end, C best, const F& value) {
  i64 first = min_of(from + Count, end) - 1;
  C of[Count];
  FLAGGEMS_SIMT_UNROLL
  for (int u = 0; u < Count; ++u) of[u] = value(min_of<i64>(from + u, end - 1));
  FLAGGEMS_SIMT_UNROLL
  for (int u = 0; u < Count; ++u) {
    const C v = of[Count - 1 - u];
    if (v == best || is_nan(v)) first = min_of<i64>(from + (Count - 1 - u), end - 1);
  }
  return first;
}

/// Combines the states of threads (x, y) for Width columns x over y; calls put(k, state) for each
/// column of the block.
template <class Reducer, int Width, class Block, class Put>
FLAGGEMS_INLINE void meet_columns(Block& block,
                                  const state_array<Block, typename Reducer::state>& states,
                                  int across, int down, int x, int y,
                                  const typename Reducer::state (&state)[Width], const Put& put) {
  typename Reducer::op op;
  const int columns = across * Width;
  // Threads write Width states each; padding by one avoids bank conflicts.
  constexpr int pitch = Width > 1 ? Width + 1 : 1;
  const auto at = [&](int k, int row)
                      FLAGGEMS_LAMBDA { return lane_scalar{(row * across + x) * pitch + k}; };
  block.sync();  // the block's previous tile may still be read
  if (y < down) {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; ++k) states.put(at(k, y), state[k]);
  }
  block.sync();
  for (; down > 8; block.sync()) {
    down /= 2;
    if (y < down) {
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < Width; ++k)
        states.put(at(k, y), op(states.get(at(k, y)), states.get(at(k, y + down))));
    }
  }
  block.for_each(columns, [&](i64 k) FLAGGEMS_LAMBDA {
    const int column = static_cast<int>(k), place = column / Width * pitch + column % Width;
    auto total = states.get(lane_scalar{place});
    for (int row = 1; row < down; ++row)
      total = op(total, states.get(lane_scalar{row * across * pitch + place}));
    put(k, total);
  });
}

/// Lanes along a kept dimension, `space.chunk` per thread: 1, or a vector that all operands have at
/// every position. `down` threads split the steps of a part, several at a time.
template <class Reducer, class Space, class E, class Index, class Sink, int Threads>
struct simt_reduce_outer {
  using S = typename Reducer::state;
  using row_type = decltype(copy_of(declval_of<const E&>().at(declval_of<const coordinates&>())));
  using places_type =
      decltype(copy_of(declval_of<const Index&>().at(declval_of<const coordinates&>())));
  using vectors = row_vectors<row_type>;
  // (Partial results with indices are read one by one.)
  static constexpr int most =
      Reducer::needs_index && !counts_steps<places_type> ? 1 : vectors::most;
  static constexpr int max_threads = Threads, min_blocks = 1024 / Threads;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, Space space, reduction_shares shares, E e,
                                  Index index, Sink sink, partial_states<S> partial) {
    if constexpr (most > 1) {
      if (space.chunk == most) return columns<most>(block, space, shares, e, index, sink, partial);
    }
    columns<1>(block, space, shares, e, index, sink, partial);
  }

 private:
  /// Whether an element's index follows from the step of the batch it was found in.
  static constexpr bool counts = Reducer::needs_index && counts_steps<places_type>;
  // (For sums of f32 it would cause register spills.)
  static constexpr reads how_often = counts && vectors::leaves == 1 ? reads::once : reads::often;
  FLAGGEMS_INLINE static bool one_dimension(const reduction_plane&) { return true; }
  FLAGGEMS_INLINE static bool one_dimension(const reduction_space& space) {
    return space.reduced_rank == 1;
  }

  template <int Width, class Block>
  FLAGGEMS_INLINE static void columns(Block& block, const Space& space,
                                      const reduction_shares& shares, const E& e,
                                      const Index& index, const Sink& sink,
                                      const partial_states<S>& partial) {
    if (space.parts > 1) block.admit_small();
    const int bits = thread_bits(block.threads(), 10), group = min_of(shares.group, bits);
    const int lanes = bits - group, across = 1 << lanes, down = 1 << group;
    const int x = block.thread() & (across - 1), y = block.thread() >> lanes;
    const i64 blocks = (shares.items + across - 1) >> lanes;
    const state_array<Block, S> states(block, static_cast<i64>(block.threads()) * (Width + 1));
    block.for_each_tile(blocks * space.parts, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 part = space.parts == 1 ? 0 : quotient(tile, blocks);
      const i64 first = (tile - part * blocks) << lanes, lane = first + x;
      const i64 kept = quotient(lane * Width, space.inner),
                start = lane * Width - kept * space.inner;
      const i64 end = min_of(space.steps, (part + 1) * shares.per_part);
      S state[Width];
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < Width; ++k) state[k] = Reducer::neutral();
      if (lane < shares.items && y < down)
        fold_down<Width>(space, e, index, kept, start, part * shares.per_part, end, y, down, state);
      // (With indices, find() locates the best element after meet_columns.)
      if (!counts && down == 1 && space.parts == 1) {
        if (lane < shares.items && y == 0)
          sink.template put_vec<Width>(space.locate(kept, 0, start), state);
        return;
      }
      meet_columns<Reducer, Width>(
          block, states, across, down, x, y, state, [&](i64 k, S s) FLAGGEMS_LAMBDA {
            const i64 column = first * Width + k;
            if (column >= shares.items * Width) return;
            const i64 to = quotient(column, space.inner), at = column - to * space.inner;
            const coordinates c = space.locate(to, 0, at);
            if (one_dimension(space)) find<Width>(e, index, c, end, s);
            if (space.parts > 1) return partial.put(part * space.inner * space.outputs + column, s);
            sink.put(c, lane_scalar{0}, s);
          });
    });
  }

  /// Reduces Width columns over a part's steps; thread y of `down` takes every `down`th batch. With
  /// computed indices, a state's index is its batch's first step.
  template <int Width>
  FLAGGEMS_INLINE static void fold_down(const Space& space, const E& e, const Index& index,
                                        i64 kept, i64 start, i64 begin, i64 end, int y, int down,
                                        S (&state)[Width]) {
    using fragment = typename vectors::template fragment<Width>;
    typename Reducer::op op;
    if (one_dimension(space)) {
      begin += y * prefetch_distance<Width>;
      const coordinates c = space.locate(kept, 0, start);
      const row_type row = e.at(c);
      const places_type places = index.at(c);
      if constexpr (vectors::leaves > 1 && Width > 1) {
        if (vectors::splats(row))
          return fold_column<Width, true>(row, places, begin, end, down, state);
      }
      return fold_column<Width, false>(row, places, begin, end, down, state);
    }
    if constexpr (!is_same<Space, reduction_plane>) {
      for (i64 step = begin + y; step < end; step += down) {
        const coordinates at = space.locate(kept, step, start);
        const auto row = e.at(at);
        const auto places = index.at(at);
        const fragment x = vectors::template fetch<Width, true>(row, 0);
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < Width; ++k) {
          state[k] = op(state[k], Reducer::enter(vectors::template value<Width>(row, x, k, 0),
                                                 places.load(lane_scalar{k})));
        }
      }
    }
  }

  /// The same along one dimension, from `begin` on.
  template <int Width, bool Splat>
  FLAGGEMS_INLINE static void fold_column(row_type row, [[maybe_unused]] places_type places,
                                          i64 begin, i64 end, int down, S (&state)[Width]) {
    using fragment = typename vectors::template fragment<Width>;
    constexpr int distance = prefetch_distance<Width>;
    const i64 stride = static_cast<i64>(distance) * down;
    if (begin >= end) return;
    row = vectors::forward(row, begin);
    fragment x[distance];
    row_type at[distance];
    int rows = 0;
    // Rows past the end repeat the last one.
    const auto fetch = [&](i64 step) FLAGGEMS_LAMBDA {
      rows = static_cast<int>(min_of<i64>(distance, end - step));
      FLAGGEMS_SIMT_UNROLL
      for (int u = 0; u < distance; ++u) {
        at[u] = vectors::forward(row, min_of<int>(u, rows - 1));
        x[u] = vectors::template fetch<Width, Splat, how_often>(at[u], 0);
      }
      row = vectors::forward(row, stride);
    };
    if constexpr (Reducer::needs_index && !counts) {
      typename Reducer::op op;
      places = row_vectors<places_type>::forward(places, begin);
      for (i64 step = begin; step < end; step += stride) {
        S of[distance][Width];
        fetch(step);
        FLAGGEMS_SIMT_UNROLL
        for (int u = 0; u < distance; ++u) {
          const auto own = row_vectors<places_type>::forward(places, min_of<int>(u, rows - 1));
          FLAGGEMS_SIMT_UNROLL
          for (int k = 0; k < Width; ++k) {
            of[u][k] = Reducer::enter(vectors::template value<Width>(at[u], x[u], k, 0),
                                      own.load(lane_scalar{k}));
          }
        }
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < Width; ++k) {
          state[k] =
              op(state[k], folded<distance>(op, [&](int u) FLAGGEMS_LAMBDA { return of[u][k]; }));
        }
        places = row_vectors<places_type>::forward(places, stride);
      }
    } else {
      column_folds<Reducer, Width> folds;
      if constexpr (counts) folds.begin_run();
      for (i64 step = begin; step < end;) {
        if constexpr (!counts) folds.begin_run();
        for (int run = 0; run < folded_run && step < end; ++run, step += stride) {
          fetch(step);
          folds.template next<distance, row_type, fragment>(at, x, step - begin, rows);
        }
        if constexpr (!counts) folds.end_run(state);
      }
      if constexpr (counts) {
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < Width; ++k)
          state[k] = Reducer::enter(folds.best[k], begin + folds.at[k]);
      }
    }
  }

  /// Replaces a batch's first step by the index of the best element of the column at c.
  template <int Width>
  FLAGGEMS_INLINE static void find(const E& e, const Index& index, const coordinates& c, i64 end,
                                   S& s) {
    if constexpr (counts) {
      if (s.index == Reducer::neutral().index) return;
      const auto row = e.at(c);
      const i64 step = first_of<prefetch_distance<Width>>(
          s.index, end, s.value,
          [&](i64 i) FLAGGEMS_LAMBDA { return vectors::forward(row, i).load(lane_scalar{0}); });
      const auto places = index.at(c);
      s.index = places.first + step * places.along;
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/reduce/simt/columns.hpp");
