// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions on chips. Threads read packs, several before they use the first. Along a row (`inner`)
// a team of threads folds each result, from one thread a short row to a block a long one; across
// rows (`outer`) each thread folds a few neighbouring columns, and the threads of a column share
// the rows. Where results are few, each is cut into parts, whose results a second launch folds.
#pragma once

#include <flaggems/kernels/machine.hpp>
#include <flaggems/kernels/reduce.hpp>
#include <flaggems/kernels/row_packs.hpp>

namespace flaggems::kernels {

/// Partial results in device memory.
template <class S>
struct partial_states {
  global_ptr<S> values;
  FLAGGEMS_INLINE void put(i64 i, const S& state) const { values[i] = state; }
};
template <class C, class J>
struct partial_states<indexed<C, J>> {
  global_ptr<C> values;
  global_ptr<J> indices;
  FLAGGEMS_INLINE void put(i64 i, const indexed<C, J>& state) const {
    values[i] = state.value;
    indices[i] = state.index;
  }
};

/// A reduction_space of one kept and one reduced dimension besides the lanes', as most are: no
/// coordinates lie in an array, and a kernel has a tenth of the code.
struct reduction_plane {
  i64 inner, chunk, chunks, outputs, steps, parts;

  FLAGGEMS_INLINE coordinates locate(i64 kept, i64 reduced, i64 start) const {
    coordinates c;
    c.rank = 2;
    c.at[0] = kept;
    c.at[1] = reduced;
    c.inner = start;
    return c;
  }
};

/// The fold of f(First), ..., f(First + Count - 1) as a tree.
template <int First, int Count, class Op, class F>
FLAGGEMS_INLINE auto folded(Op op, const F& f) {
  if constexpr (Count == 1)
    return f(int_constant<First>{});
  else
    return op(folded<First, Count / 2>(op, f), folded<First + Count / 2, Count - Count / 2>(op, f));
}

// ---- maxima: an instruction where the language has it
struct chip_maximum : maximum_of {
  using maximum_of::operator();
  FLAGGEMS_INLINE f32 operator()(f32 a, f32 b) const { return greater_or_nan(a, b); }
};
struct chip_minimum : minimum_of {
  using minimum_of::operator();
  FLAGGEMS_INLINE f32 operator()(f32 a, f32 b) const { return lesser_or_nan(a, b); }
};
template <class Op>
struct chip_op_type {
  using type = Op;
};
template <>
struct chip_op_type<maximum_of> {
  using type = chip_maximum;
};
template <>
struct chip_op_type<minimum_of> {
  using type = chip_minimum;
};
template <class Op>
using chip_op = typename chip_op_type<Op>::type;

/// The fold of a reducer's values, without their places.
template <class Reducer, bool Indexed = Reducer::needs_index>
struct value_fold {
  using op = chip_op<typename Reducer::op>;
  using value = typename Reducer::state;
  FLAGGEMS_INLINE static value neutral() { return Reducer::neutral(); }
};
template <class Reducer>
struct value_fold<Reducer, true> {
  using op = chip_op<typename Reducer::value_op>;
  using value = typename Reducer::value;
  FLAGGEMS_INLINE static value neutral() { return Reducer::neutral_value(); }
};

/// Packs that a thread fetches before it uses the first.
template <int Width>
inline constexpr int packs_ahead = Width == 1 ? 8 : 4;

/// Folds the packs of Width elements of a row of n, a multiple of Width, whose turn thread x of
/// `along` is.
template <class Reducer, int Width, bool Splat, class Row, class Places>
FLAGGEMS_INLINE void fold_packs(const Row& row, const Places& places, u32 n, u32 x, u32 along,
                                typename Reducer::state& total) {
  using packs = row_packs<Row>;
  using C = typename value_fold<Reducer>::value;
  using packed = typename packs::template packed<Width>;
  constexpr int ahead = packs_ahead<Width>;
  typename value_fold<Reducer>::op op;
  const u32 stride = along * Width, reach = (ahead - 1) * stride;
  const auto fold_pack = [&](const packed& of, u32 i) FLAGGEMS_LAMBDA {
    return folded<0, Width>(
        op, [&](int k) FLAGGEMS_LAMBDA { return packs::template value<Width>(row, of, k, i); });
  };
  // The best value, and the first pack that has it: which element it is is found at the end.
  C best = value_fold<Reducer>::neutral();
  u32 place = x * Width;
  [[maybe_unused]] const auto look = [&](C of_pack, u32 i) FLAGGEMS_LAMBDA {
    if constexpr (Reducer::needs_index) {
      const bool better = !Reducer::stays(best, of_pack) && best == best;
      best = better ? of_pack : best;
      place = better ? i : place;
    }
  };
  u32 i = x * Width;
  if (i >= n) return;
  for (; i + reach < n; i += reach + stride) {
    packed of[ahead];
    static_for<ahead>([&](auto u) FLAGGEMS_LAMBDA {
      of[u] = packs::template fetch<Width, Splat>(row, i + u * stride);
    });
    if constexpr (Reducer::needs_index) {
      static_for<ahead>(
          [&](auto u) FLAGGEMS_LAMBDA { look(fold_pack(of[u], i + u * stride), i + u * stride); });
    } else {
      // Across the packs first, which needs all of them: else compilers wait for one after the
      // other.
      best = op(best, folded<0, Width>(op, [&](int k) FLAGGEMS_LAMBDA {
                  return folded<0, ahead>(op, [&](int u) FLAGGEMS_LAMBDA {
                    return packs::template value<Width>(row, of[u], k,
                                                        i + static_cast<u32>(u) * stride);
                  });
                }));
    }
  }
  if (i < n) {
    // Fewer: those that are not there are read as the first one is, and left out.
    packed of[ahead];
    static_for<ahead - 1>([&](auto u) FLAGGEMS_LAMBDA {
      const u32 at = i + u * stride;
      of[u] = packs::template fetch<Width, Splat>(row, at < n ? at : i);
    });
    static_for<ahead - 1>([&](auto u) FLAGGEMS_LAMBDA {
      const u32 at = i + u * stride;
      if (at < n) {
        if constexpr (Reducer::needs_index)
          look(fold_pack(of[u], at), at);
        else
          best = op(best, fold_pack(of[u], at));
      }
    });
  }
  if constexpr (Reducer::needs_index) {
    const packed of = packs::template fetch<Width, Splat>(row, place);
    int first = Width - 1;
    static_for<Width>([&](auto k) FLAGGEMS_LAMBDA {
      const C v = packs::template value<Width>(row, of, Width - 1 - k, place);
      if (v == best || v != v) first = Width - 1 - k;
    });
    total = typename Reducer::op{}(
        total, Reducer::enter(best, places.load(lane_scalar{place + static_cast<u32>(first)})));
  } else {
    total = op(total, best);
  }
}

/// The same of a row of any length, in pieces: a level of the sum, and 32 bits for a place.
template <class Reducer, int Width, bool Splat, class Row, class Places>
FLAGGEMS_INLINE void fold_pieces(const Row& row, const Places& places, i64 begin, i64 end, int x,
                                 int along, typename Reducer::state& total) {
  const i64 piece = folded_run * packs_ahead<Width> * Width * along;
  for (; begin < end; begin += piece)
    fold_packs<Reducer, Width, Splat, Row, Places>(
        row_packs<Row>::shift(row, begin), places.from(begin),
        static_cast<u32>(min_of(piece, end - begin)), static_cast<u32>(x), static_cast<u32>(along),
        total);
}

/// Folds the elements of a row of n whose turn thread x of `along` is.
template <class Reducer, class Row, class Places>
FLAGGEMS_INLINE void fold_along(const Row& row, const Places& places, i64 n, int x, int along,
                                typename Reducer::state& total) {
  using packs = row_packs<Row>;
  constexpr int Width = packs::most;
  typename Reducer::op op;
  const int head = Width == 1 ? no_packs : packs::template head<Width>(row);
  if (head == no_packs || (packs::leaves == 1 && packs::splats(row)))
    return fold_pieces<Reducer, 1, true, Row, Places>(row, places, 0, n, x, along, total);
  const i64 begin = min_of<i64>(head > 0 ? head : 0, n);
  const i64 end = begin + (n - begin) / Width * Width;
  if constexpr (packs::leaves > 1) {
    if (packs::splats(row))
      fold_pieces<Reducer, Width, true, Row, Places>(row, places, begin, end, x, along, total);
    else
      fold_pieces<Reducer, Width, false, Row, Places>(row, places, begin, end, x, along, total);
  } else {
    fold_pieces<Reducer, Width, false, Row, Places>(row, places, begin, end, x, along, total);
  }
  for (i64 k = x; k < n - (end - begin); k += along) {
    const lane_scalar i{k < begin ? k : k + (end - begin)};
    total = op(total, Reducer::enter(row.load(i), places.load(i)));
  }
}

/// How threads share a reduction; numbers of threads as powers of two, since they divide.
struct reduction_shares {
  i64 items;     // parts of results, or packs of columns
  i64 per_part;  // steps
  i32 team;      // threads that fold one result, or part of one
  i32 along;     // of them, those side by side along a row
};
/// The power of two of threads that a block has, up to 2^most.
FLAGGEMS_INLINE int thread_bits(int threads, int most) {
  while ((1 << most) > threads) --most;
  return most;
}
/// a / b, of numbers that mostly are small.
FLAGGEMS_INLINE i64 quotient(i64 a, i64 b) {
  if (b == 1) return a;
  if (((a | b) >> 32) == 0) return static_cast<i64>(static_cast<u32>(a) / static_cast<u32>(b));
  return a / b;
}

/// Lanes along a reduced dimension: `team` threads a part of a result, of which `along` read a row
/// side by side. A part is some rows, or a piece of one.
template <class Reducer, class Space, class E, class Index, class Sink>
struct reduce_chip_inner {
  using row_type = decltype(copy_of(declval_of<const E&>().at(declval_of<const coordinates&>())));
  using places_type =
      decltype(copy_of(declval_of<const Index&>().at(declval_of<const coordinates&>())));
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, Space space, reduction_shares shares, E e,
                                  Index index, Sink sink,
                                  partial_states<typename Reducer::state> partial) {
    using S = typename Reducer::state;
    const int bits = thread_bits(block.threads(), 10), team = min_of(shares.team, bits);
    const int along = min_of(shares.along, team), teams = bits - team;
    const int own = block.thread() >> team, member = block.thread() & ((1 << team) - 1);
    const int x = member & ((1 << along) - 1), y = member >> along, rows = 1 << (team - along);
    const i64 tiles = (shares.items + (i64(1) << teams) - 1) >> teams;
    block.for_each_tile(tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 item = (tile << teams) + own;
      const i64 output = quotient(item, space.parts), part = item - output * space.parts;
      const bool is_ours = own < 1 << teams && item < shares.items;
      S total = Reducer::neutral();
      if (is_ours) {
        const i64 end = min_of(space.steps, (part + 1) * shares.per_part);
        for (i64 step = part * shares.per_part + y; step < end; step += rows) {
          const i64 reduced = quotient(step, space.chunks);
          const i64 start = (step - reduced * space.chunks) * space.chunk;
          fold_along<Reducer, row_type, places_type>(e.at(space.locate(output, reduced, start)),
                                                     index.at(space.locate(output, reduced, start)),
                                                     min_of(space.chunk, space.inner - start), x,
                                                     1 << along, total);
        }
      }
      total = block.fold_team(total, typename Reducer::op{}, 1 << team);
      if (is_ours && member == 0) {
        if (space.parts == 1)
          sink.put(space.locate(output, 0, 0), lane_scalar{0}, total);
        else
          partial.put(part * space.outputs + output, total);
      }
    });
  }
};

/// Whether a row of indices is computed, and grows with the step.
template <class Places>
inline constexpr bool counts_steps = false;
template <class J>
inline constexpr bool counts_steps<position_row<J>> = true;

/// What a thread folds down Width columns: values in two levels.
template <class Reducer, int Width, bool Indexed = Reducer::needs_index>
struct column_folds {
  using S = typename Reducer::state;
  S low[Width];
  FLAGGEMS_INLINE explicit column_folds(const S (&)[Width]) {}
  FLAGGEMS_INLINE void begin_run() {
    static_for<Width>([&](auto k) FLAGGEMS_LAMBDA { low[k] = Reducer::neutral(); });
  }
  /// A rows, the first of them `step` after the first of all, `down` apart.
  template <int A, class Row, class Packed>
  FLAGGEMS_INLINE void next(const Row (&row)[A], const Packed (&x)[A], i64, i64) {
    typename value_fold<Reducer>::op op;
    static_for<Width>([&](auto k) FLAGGEMS_LAMBDA {
      low[k] = op(low[k], folded<0, A>(op, [&](int u) FLAGGEMS_LAMBDA {
                    return row_packs<Row>::template value<Width>(row[u], x[u], k, 0);
                  }));
    });
  }
  FLAGGEMS_INLINE void end_run(S (&state)[Width]) const {
    typename Reducer::op op;
    static_for<Width>([&](auto k) FLAGGEMS_LAMBDA { state[k] = op(state[k], low[k]); });
  }
  template <class Places>
  FLAGGEMS_INLINE void finish(const Places&, i64, S (&)[Width]) const {}
};
/// The best values, and how many steps after the first of them they were met.
template <class Reducer, int Width>
struct column_folds<Reducer, Width, true> {
  using S = typename Reducer::state;
  typename Reducer::value best[Width];
  i32 at[Width];
  FLAGGEMS_INLINE explicit column_folds(const S (&state)[Width]) {
    static_for<Width>([&](auto k) FLAGGEMS_LAMBDA {
      best[k] = state[k].value;
      at[k] = 0;  // until there is a better one, the first
    });
  }
  FLAGGEMS_INLINE void begin_run() const {}
  template <int A, class Row, class Packed>
  FLAGGEMS_INLINE void next(const Row (&row)[A], const Packed (&x)[A], i64 step, i64 down) {
    static_for<Width>([&](auto k) FLAGGEMS_LAMBDA {
      static_for<A>([&](auto u) FLAGGEMS_LAMBDA {
        const auto v = row_packs<Row>::template value<Width>(row[u], x[u], k, 0);
        // Greater (less) or NaN, unless there was a NaN before.
        const bool better = !Reducer::stays(best[k], v) && best[k] == best[k];
        best[k] = better ? v : best[k];
        at[k] = better ? static_cast<i32>(step + u * down) : at[k];
      });
    });
  }
  FLAGGEMS_INLINE void end_run(S (&)[Width]) const {}
  template <class Places>
  FLAGGEMS_INLINE void finish(const Places& places, i64 begin, S (&state)[Width]) const {
    static_for<Width>([&](auto k) FLAGGEMS_LAMBDA {
      state[k] = Reducer::enter(best[k],
                                places.first + (begin + at[k]) * places.along + k * places.stride);
    });
  }
};

/// Folds what threads (x, y) have of Width columns x over y: put(k, state) for each column of the
/// block.
template <class Reducer, int Width, class Block, class Put>
FLAGGEMS_INLINE void meet_columns(Block& block,
                                  const state_array<Block, typename Reducer::state>& states,
                                  int across, int down, int x, int y,
                                  const typename Reducer::state (&state)[Width], const Put& put) {
  typename Reducer::op op;
  const i64 columns = static_cast<i64>(across) * Width;
  const auto at = [&](int k, int row) FLAGGEMS_LAMBDA {
    return lane_scalar{row * columns + static_cast<i64>(x) * Width + k};
  };
  block.sync();  // the block's tile before may still be read
  if (y < down) static_for<Width>([&](auto k) FLAGGEMS_LAMBDA { states.put(at(k, y), state[k]); });
  block.sync();
  for (; down > 8; block.sync()) {
    down /= 2;
    if (y < down)
      static_for<Width>([&](auto k) FLAGGEMS_LAMBDA {
        states.put(at(k, y), op(states.get(at(k, y)), states.get(at(k, y + down))));
      });
  }
  block.for_each(columns, [&](i64 k) FLAGGEMS_LAMBDA {
    auto total = states.get(lane_scalar{k});
    for (int row = 1; row < down; ++row)
      total = op(total, states.get(lane_scalar{row * columns + k}));
    put(k, total);
  });
}

/// Lanes along a kept dimension, `space.chunk` of them a thread: 1, or a pack that all operands
/// have at every position. `down` threads share the steps of a part.
template <class Reducer, class Space, class E, class Index, class Sink>
struct reduce_chip_outer {
  using S = typename Reducer::state;
  using row_type = decltype(copy_of(declval_of<const E&>().at(declval_of<const coordinates&>())));
  using places_type =
      decltype(copy_of(declval_of<const Index&>().at(declval_of<const coordinates&>())));
  static constexpr int most = row_packs<row_type>::most;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, Space space, reduction_shares shares, E e,
                                  Index index, Sink sink, partial_states<S> partial) {
    if (space.chunk == most)
      columns<most>(block, space, shares, e, index, sink, partial);
    else
      columns<1>(block, space, shares, e, index, sink, partial);
  }

 private:
  template <int Width, class Block>
  FLAGGEMS_INLINE static void columns(Block& block, const Space& space,
                                      const reduction_shares& shares, const E& e,
                                      const Index& index, const Sink& sink,
                                      const partial_states<S>& partial) {
    const int bits = thread_bits(block.threads(), 10), team = min_of(shares.team, bits);
    const int lanes = bits - team, across = 1 << lanes, down = 1 << team;
    const int x = block.thread() & (across - 1), y = block.thread() >> lanes;
    const i64 blocks = (shares.items + across - 1) >> lanes;
    const state_array<Block, S> states(block, static_cast<i64>(block.threads()) * Width);
    block.for_each_tile(blocks * space.parts, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 part = space.parts == 1 ? 0 : quotient(tile, blocks);
      const i64 first = (tile - part * blocks) << lanes, lane = first + x;
      const i64 kept = quotient(lane * Width, space.inner),
                start = lane * Width - kept * space.inner;
      S state[Width];
      static_for<Width>([&](auto k) FLAGGEMS_LAMBDA { state[k] = Reducer::neutral(); });
      if (lane < shares.items && y < down)
        fold_down<Width>(space, e, index, kept, start, part * shares.per_part + y,
                         min_of(space.steps, (part + 1) * shares.per_part), down, state);
      if (down == 1 && space.parts == 1) {
        if (lane < shares.items && y == 0)
          sink.template put_pack<Width>(space.locate(kept, 0, start), state);
        return;
      }
      meet_columns<Reducer, Width>(
          block, states, across, down, x, y, state, [&](i64 k, const S& s) FLAGGEMS_LAMBDA {
            const i64 column = first * Width + k;
            if (column >= shares.items * Width) return;
            if (space.parts > 1) return partial.put(part * space.inner * space.outputs + column, s);
            const i64 to = quotient(column, space.inner);
            sink.put(space.locate(to, 0, 0), lane_scalar{column - to * space.inner}, s);
          });
    });
  }

  /// Folds the steps begin, begin + down, ... of Width columns.
  template <int Width>
  FLAGGEMS_INLINE static void fold_down(const Space& space, const E& e, const Index& index,
                                        i64 kept, i64 start, i64 begin, i64 end, int down,
                                        S (&state)[Width]) {
    using packs = row_packs<row_type>;
    using packed = typename packs::template packed<Width>;
    typename Reducer::op op;
    if (begin >= end) return;
    constexpr bool in_order = !Reducer::needs_index || counts_steps<places_type>;
    if constexpr (in_order && is_same<Space, reduction_plane>) {
      fold_column_of<Width>(space, e, index, kept, start, begin, end, down, state);
    } else {
      if constexpr (in_order) {
        if (space.reduced_rank == 1)
          return fold_column_of<Width>(space, e, index, kept, start, begin, end, down, state);
      }
      for (i64 step = begin; step < end; step += down) {
        const auto row = e.at(space.locate(kept, step, start));
        const auto places = index.at(space.locate(kept, step, start));
        const packed x = packs::template fetch<Width, true>(row, 0);
        static_for<Width>([&](auto k) FLAGGEMS_LAMBDA {
          state[k] = op(state[k], Reducer::enter(packs::template value<Width>(row, x, k, 0),
                                                 places.load(lane_scalar{k})));
        });
      }
    }
  }

  /// The same along one dimension.
  template <int Width>
  FLAGGEMS_INLINE static void fold_column_of(const Space& space, const E& e, const Index& index,
                                             i64 kept, i64 start, i64 begin, i64 end, int down,
                                             S (&state)[Width]) {
    if constexpr (row_packs<row_type>::leaves > 1 && Width > 1) {
      if (row_packs<row_type>::splats(e.at(space.locate(kept, 0, start))))
        return fold_column<Width, true>(space, e, index, kept, start, begin, end, down, state);
    }
    fold_column<Width, false>(space, e, index, kept, start, begin, end, down, state);
  }
  template <int Width, bool Splat>
  FLAGGEMS_INLINE static void fold_column(const Space& space, const E& e, const Index& index,
                                          i64 kept, i64 start, i64 begin, i64 end, int down,
                                          S (&state)[Width]) {
    using packs = row_packs<row_type>;
    using packed = typename packs::template packed<Width>;
    constexpr int ahead = packs_ahead<Width>;
    const i64 reach = static_cast<i64>(ahead - 1) * down;
    column_folds<Reducer, Width> folds(state);
    row_type row = packs::forward(e.at(space.locate(kept, 0, start)), begin);
    for (i64 step = begin; step < end;) {
      folds.begin_run();
      for (int run = 0; run < folded_run && step + reach < end; ++run, step += reach + down) {
        packed x[ahead];
        row_type at[ahead];
        static_for<ahead>([&](auto u) FLAGGEMS_LAMBDA {
          at[u] = row;
          x[u] = packs::template fetch<Width, Splat>(row, 0);
          row = packs::forward(row, down);
        });
        folds.template next<ahead, row_type, packed>(at, x, step - begin, down);
      }
      if (step + reach >= end) {
        for (; step < end; step += down, row = packs::forward(row, down)) {
          const row_type at[1] = {row};
          const packed x[1] = {packs::template fetch<Width, Splat>(row, 0)};
          folds.template next<1, row_type, packed>(at, x, step - begin, down);
        }
      }
      folds.end_run(state);
    }
    folds.finish(index.at(space.locate(kept, 0, start)), begin, state);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/reduce_chip.hpp");
