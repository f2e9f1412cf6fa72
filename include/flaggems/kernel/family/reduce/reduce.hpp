// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions of an expression over any set of dimensions, which are split into kept and reduced
// ones. Lanes run along the dimension with the smallest stride, kept or reduced.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// The iteration space of a reduction. Coordinates are [kept..., reduced...], then the lane
/// dimension.
struct reduction_space {
  int kept_rank, reduced_rank;
  i64 kept_sizes[max_rank], reduced_sizes[max_rank];
  i64 inner;    // elements of the lane dimension
  i64 chunk;    // elements of it per step
  i64 chunks;   // pieces it is cut into
  i64 outputs;  // groups of results: kept positions, times `chunks` if the lanes are kept
  i64 steps;    // positions to reduce for each, times `chunks` if the lanes are reduced
  i64 parts;    // split of `steps`, each part with a partial result

  FLAGGEMS_SCALAR coordinates locate(i64 kept, i64 reduced, i64 start) const {
    coordinates c;
    c.rank = kept_rank + reduced_rank;
    c.inner = start;
    FLAGGEMS_SIMT_NO_UNROLL
    for (int d = kept_rank - 1; d > 0; --d) {
      const i64 next = kept / kept_sizes[d];
      c.at[d] = kept - next * kept_sizes[d];
      kept = next;
    }
    if (kept_rank > 0) c.at[0] = kept;
    FLAGGEMS_SIMT_NO_UNROLL
    for (int d = reduced_rank - 1; d > 0; --d) {
      const i64 next = reduced / reduced_sizes[d];
      c.at[kept_rank + d] = reduced - next * reduced_sizes[d];
      reduced = next;
    }
    if (reduced_rank > 0) c.at[kept_rank] = reduced;
    return c;
  }
};

// ---- reducers: a neutral state, how a value enters, how two states are combined
template <class C, class Op>
struct fold_of {
  using state = C;
  using op = Op;
  static constexpr bool needs_index = false;
  template <class V, class J>
  FLAGGEMS_INLINE static V enter(FLAGGEMS_VALUE(V) value, FLAGGEMS_VALUE(J)) {
    return value;
  }
};
template <class C>
struct sum_of : fold_of<C, plus> {
  FLAGGEMS_INLINE static C neutral() { return C(0); }
};
template <class C>
struct prod_of : fold_of<C, multiplies> {
  FLAGGEMS_INLINE static C neutral() { return C(1); }
};
template <class C>
struct max_of_all : fold_of<C, maximum_of> {
  FLAGGEMS_INLINE static C neutral() { return lowest<C>(); }
};
template <class C>
struct min_of_all : fold_of<C, minimum_of> {
  FLAGGEMS_INLINE static C neutral() { return highest<C>(); }
};
struct any_of : fold_of<bool, logical_or_of> {
  FLAGGEMS_INLINE static bool neutral() { return false; }
};
struct all_of : fold_of<bool, logical_and_of> {
  FLAGGEMS_INLINE static bool neutral() { return true; }
};

/// The better of two values with its index: NaN beats all, the first index wins among equals.
template <bool Max>
struct better_of {
  template <class V, class J>
  FLAGGEMS_INLINE indexed<V, J> operator()(const indexed<V, J>& a, const indexed<V, J>& b) const {
    const auto nan_a = a.value != a.value;
    const auto nan_b = b.value != b.value;
    mask_of<V> beats = Max ? a.value > b.value : a.value < b.value;
    beats = beats | (nan_a & !nan_b);
    const mask_of<V> equal = (a.value == b.value) | (nan_a & nan_b);
    return select(beats | (equal & (a.index < b.index)), a, b);
  }
};
template <class C, bool Max>
struct index_of {
  using state = indexed<C, i64>;
  using value = C;
  using op = better_of<Max>;
  using value_op = conditional<Max, maximum_of, minimum_of>;
  static constexpr bool needs_index = true;
  FLAGGEMS_INLINE static C neutral_value() { return Max ? lowest<C>() : highest<C>(); }
  FLAGGEMS_INLINE static state neutral() { return {neutral_value(), highest<i64>()}; }
  /// Whether no element with this value can beat a state.
  FLAGGEMS_INLINE static bool loses(C x, const state& s) { return Max ? x < s.value : x > s.value; }
  /// Whether x, which may be NaN, beats the best of the elements before it.
  FLAGGEMS_INLINE static bool betters(C best, C x) {
    return !(Max ? x <= best : x >= best) && best == best;
  }
  template <class V, class J>
  FLAGGEMS_INLINE static indexed<V, J> enter(FLAGGEMS_VALUE(V) value, FLAGGEMS_VALUE(J) index) {
    return {value, index};
  }
};

// ---- sinks of results
/// `count` results that lie along dimension c.rank, each divided by `divisor`.
template <class Out, class C>
FLAGGEMS_INLINE void put_results(const target<Out>& out, const coordinates& c, i64 count,
                                 const C* states, C divisor) {
  Out* const to = out.data + c.offset(out.strides);
  const i64 step = out.strides[c.rank];
  for (i64 r = 0; r < count; ++r)
    to[r * step] = number_cast<Out>(is_floating<C> ? states[r] / divisor : states[r]);
}

/// The result, divided by `divisor` if it is floating point (a mean's count).
template <class Out, class C>
struct value_sink {
  target<Out> out;
  C divisor;
  /// A row of results.
  struct row {
    global_ptr<Out> data;
    i64 stride;
    C divisor;
    template <class Lane, class V>
    FLAGGEMS_INLINE void put(Lane lane, FLAGGEMS_VALUE(V) state) const {
      using kernels::store;  // and, by ADL, the host's overload
      if constexpr (is_floating<C>)
        store(data, stride, lane, state / lane_value<Lane, C>(divisor));
      else
        store(data, stride, lane, state);
    }
  };
  FLAGGEMS_INLINE row place(const coordinates& c) const {
    return {out.data + c.offset(out.strides), out.strides[c.rank], divisor};
  }
  template <class Lane, class V>
  FLAGGEMS_INLINE void put(const coordinates& c, Lane lane, FLAGGEMS_VALUE(V) state) const {
    place(c).put(lane, state);
  }
  FLAGGEMS_INLINE void put_rows(const coordinates& c, i64 count, const C* states) const {
    put_results(out, c, count, states, divisor);
  }
  /// Width adjacent results along the lanes.
  template <int Width>
  FLAGGEMS_INLINE void put_vec(const coordinates& c, const C (&states)[Width]) const {
    const row to = place(c);
    if constexpr (Width > 1 && sizeof(Out) * Width <= 16) {
      if (to.stride == 1 && is_vec_aligned<Width>(to.data)) {
        vec<Out, Width> results;
        static_for<Width>([&](auto k) FLAGGEMS_LAMBDA {
          results.at[k] = number_cast<Out>(is_floating<C> ? states[k] / divisor : states[k]);
        });
        return store_vec<Width>(to.data, results);
      }
    }
    static_for<Width>([&](auto k) FLAGGEMS_LAMBDA { to.put(lane_scalar{k}, states[k]); });
  }
};
/// The index alone.
template <class Out>
struct index_sink {
  target<Out> out;
  template <class Lane, class V>
  FLAGGEMS_INLINE void put(const coordinates& c, Lane lane, FLAGGEMS_VALUE(V) state) const {
    store(out.data + c.offset(out.strides), out.strides[c.rank], lane, state.index);
  }
  template <int Width, class State>
  FLAGGEMS_INLINE void put_vec(const coordinates& c, const State (&states)[Width]) const {
    const auto to = out.data + c.offset(out.strides);
    const i64 step = out.strides[c.rank];
    static_for<Width>([&](auto k)
                          FLAGGEMS_LAMBDA { store(to, step, lane_scalar{k}, states[k].index); });
  }
};
/// A partial state.
template <class C>
struct state_sink {
  target<C> out;
  template <class Lane, class V>
  FLAGGEMS_INLINE void put(const coordinates& c, Lane lane, FLAGGEMS_VALUE(V) state) const {
    store(out.data + c.offset(out.strides), out.strides[c.rank], lane, state);
  }
  FLAGGEMS_INLINE void put_rows(const coordinates& c, i64 count, const C* states) const {
    put_results(out, c, count, states, C(1));
  }
};
template <class C>
struct indexed_state_sink {
  target<C> values;
  target<i64> indices;
  template <class Lane, class V>
  FLAGGEMS_INLINE void put(const coordinates& c, Lane lane, FLAGGEMS_VALUE(V) state) const {
    store(values.data + c.offset(values.strides), values.strides[c.rank], lane, state.value);
    store(indices.data + c.offset(indices.strides), indices.strides[c.rank], lane, state.index);
  }
};
/// Selects a sink: a partial state's, or the complete result's.
template <class Whole, class Part>
struct either_sink {
  Whole whole;
  Part part;
  bool is_part;
  template <class Lane, class V>
  FLAGGEMS_INLINE void put(const coordinates& c, Lane lane, FLAGGEMS_VALUE(V) state) const {
    if (is_part)
      part.put(c, lane, state);
    else
      whole.put(c, lane, state);
  }
  template <class C>
  FLAGGEMS_INLINE void put_rows(const coordinates& c, i64 count, const C* states) const {
    if (is_part)
      part.put_rows(c, count, states);
    else
      whole.put_rows(c, count, states);
  }
};

/// Block-local states, one per lane position.
template <class Block, class S>
struct state_array {
  typename Block::template scratch_type<S> values;
  using scratch_type = typename Block::template scratch_type<S>;
  FLAGGEMS_INLINE explicit state_array(const scratch_type& v) : values(v) {}
  FLAGGEMS_INLINE state_array(Block& block, i64 n) : values(block.template scratch<S>(n)) {}
  template <class Lane>
  FLAGGEMS_INLINE auto get(Lane lane) const {
    return load<S>(values, lane);
  }
  FLAGGEMS_INLINE state_array from(i64 i) const { return state_array(values.from(i)); }
  template <class Lane, class V>
  FLAGGEMS_INLINE void put(Lane lane, FLAGGEMS_VALUE(V) state) const {
    store(values, lane, state);
  }
};
template <class Block, class C, class J>
struct state_array<Block, indexed<C, J>> {
  typename Block::template scratch_type<C> values;
  typename Block::template scratch_type<J> indices;
  FLAGGEMS_INLINE state_array(const typename Block::template scratch_type<C>& v,
                              const typename Block::template scratch_type<J>& j)
      : values(v), indices(j) {}
  FLAGGEMS_INLINE state_array(Block& block, i64 n)
      : values(block.template scratch<C>(n)), indices(block.template scratch<J>(n)) {}
  FLAGGEMS_INLINE state_array from(i64 i) const { return {values.from(i), indices.from(i)}; }
  template <class Lane>
  FLAGGEMS_INLINE auto get(Lane lane) const {
    return indexed<lane_value<Lane, C>, lane_value<Lane, J>>{load<C>(values, lane),
                                                             load<J>(indices, lane)};
  }
  template <class Lane, class V>
  FLAGGEMS_INLINE void put(Lane lane, FLAGGEMS_VALUE(V) state) const {
    store(values, lane, state.value);
    store(indices, lane, state.index);
  }
};

/// The index of a reduction that needs none.
struct no_index {
  FLAGGEMS_INLINE no_index at(const coordinates&) const { return {}; }
  FLAGGEMS_INLINE no_index from(i64) const { return {}; }
  template <class Lane>
  FLAGGEMS_INLINE int load(Lane) const {
    return 0;
  }
};

/// Reduces n elements of a row into `total`.
template <class Reducer, class Block, class Row, class Places>
FLAGGEMS_INLINE typename Reducer::state fold_row(const Block& block, const Row& row,
                                                 const Places& places, i64 n,
                                                 const typename Reducer::state& total) {
  typename Reducer::op op;
  if constexpr (!Reducer::needs_index) {
    return op(total, block.reduce(n, Reducer::neutral(), op,
                                  [&](auto i) FLAGGEMS_LAMBDA { return row.load(i); }));
  } else {
    // First the value, then its index if it may win: two short loops instead of one that carries
    // 64-bit indices.
    using C = typename Reducer::value;
    const C best = block.reduce(n, Reducer::neutral_value(), typename Reducer::value_op{},
                                [&](auto i) FLAGGEMS_LAMBDA { return row.load(i); });
    if (Reducer::loses(best, total)) return total;
    const i32 none = static_cast<i32>(n);
    const i32 at = block.reduce(n, none, minimum_of{}, [&](auto i) FLAGGEMS_LAMBDA {
      const auto v = row.load(i);
      const auto k = iota<i32>(i);
      // If there is a NaN, `best` is one.
      return select((v == rebind<decltype(copy_of(v)), C>(best)) | (v != v), k,
                    decltype(copy_of(k))(none));
    });
    return op(total, Reducer::enter(best, places.load(lane_scalar{at})));
  }
}

/// Lanes along a reduced dimension: one result per tile.
template <class Reducer, class E, class Index, class Sink>
struct reduce_inner {
  static constexpr bool has_parts = has_group_parts<typename Reducer::state>;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, reduction_space space, E e, Index index,
                                  Sink sink) {
    using S = typename Reducer::state;
    if constexpr (!Reducer::needs_index && folds_groups<Block, S>) {
      reduce_groups(block, Reducer{}, space, e, sink);  // the host's
    } else {
      const i64 per_part = ceil_div(space.steps, space.parts);
      block.for_each_tile(space.outputs * space.parts, [&](i64 tile) FLAGGEMS_LAMBDA {
        const i64 output = space.parts == 1 ? tile : tile / space.parts;
        const i64 part = tile - output * space.parts;
        const i64 end = min_of(space.steps, (part + 1) * per_part);
        S total = Reducer::neutral();
        long_fold<Reducer, 1> levels;
        for (i64 step = part * per_part; step < end; ++step) {
          const i64 reduced = space.chunks == 1 ? step : step / space.chunks;
          const i64 start = (step - reduced * space.chunks) * space.chunk;
          const coordinates c = space.locate(output, reduced, start);
          const auto row = e.at(c);
          const auto places = index.at(c);
          for_each_piece(block, row, min_of(space.chunk, space.inner - start),
                         [&](const auto& piece, i64 begin, i64 n) FLAGGEMS_LAMBDA {
                           total = fold_row<Reducer>(block, piece, places.from(begin), n, total);
                         });
          levels.next(&total, 1);
        }
        levels.finish(&total, 1);
        // The result's coordinates: the kept ones, and the part as a further one.
        coordinates to = space.locate(output, 0, 0);
        to.inner = part;
        block.single([&]() FLAGGEMS_LAMBDA { sink.put(to, lane_scalar{0}, total); });
      });
    }
  }
};

/// The same for contiguous rows with contiguous results, the common case. The leaves of e are
/// flat_arg.
template <class Reducer, class E, class Sink>
struct reduce_rows {
  static constexpr bool has_parts = has_group_parts<typename Reducer::state>;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 rows, i64 length, E e, Sink sink) {
    using S = typename Reducer::state;
    if constexpr (!Reducer::needs_index && folds_groups<Block, S>) {
      reduce_row_groups(block, Reducer{}, rows, length, e, sink);  // the host's
    } else {
      block.for_each_tile(rows, [&](i64 row) FLAGGEMS_LAMBDA {
        S total = Reducer::neutral();
        coordinates c;
        c.rank = 0;
        for (i64 start = 0; start < length; start += reduced_chunk) {
          c.inner = row * length + start;
          total = fold_row<Reducer>(block, e.at(c), position_row<i64>{start, 1, 0},
                                    min_of(reduced_chunk, length - start), total);
        }
        c.inner = row;
        block.single([&]() FLAGGEMS_LAMBDA { sink.put(c, lane_scalar{0}, total); });
      });
    }
  }
};

/// Lanes along a kept dimension: `chunk` adjacent results per tile.
template <class Reducer, class E, class Index, class Sink>
struct reduce_outer {
  static constexpr bool has_parts = has_group_parts<typename Reducer::state>;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, reduction_space space, E e, Index index,
                                  Sink sink) {
    using S = typename Reducer::state;
    if constexpr (!Reducer::needs_index && folds_groups<Block, S>) {
      reduce_columns(block, Reducer{}, space, e, sink);  // the host's
    } else {
      typename Reducer::op op;
      // Comparisons do not round: one level.
      constexpr bool leveled = !Reducer::needs_index;
      using states = state_array<Block, S>;
      const states low(block, space.chunk);
      const states middle = leveled ? states(block, space.chunk) : low;
      const states high = leveled ? states(block, space.chunk) : low;
      const bool deep = leveled && space.steps > folded_rows * folded_row_runs;
      block.for_each_tile(space.outputs, [&](i64 tile) FLAGGEMS_LAMBDA {
        const i64 kept = tile / space.chunks;
        const i64 start = (tile - kept * space.chunks) * space.chunk;
        const i64 n = min_of(space.chunk, space.inner - start);
        i64 end = 0;
        for (i64 segment = 0; segment < space.steps; segment = end) {
          end = leveled ? min_of(space.steps, segment + folded_rows) : space.steps;
          // Three levels suffice; f32, which rounds most, has more (drive_columns).
          const int full = deep && segment % (folded_rows * folded_row_runs) == 0 ? 2 : 1;
          for (int level = 0; level < full; ++level) {
            const states from = level == 0 ? low : middle, into = level == 0 ? middle : high;
            block.for_each_lane(n, [&](auto i) FLAGGEMS_LAMBDA {
              const auto neutral = state_traits<decltype(from.get(i))>::splat(Reducer::neutral());
              if constexpr (leveled) {
                if (segment == 0)
                  into.put(i, neutral);
                else
                  into.put(i, op(into.get(i), from.get(i)));
              }
              from.put(i, neutral);
            });
          }
          for (i64 step = segment; step < end;) {
            const coordinates c = space.locate(kept, step, start);
            const auto row = e.at(c);
            if constexpr (!Reducer::needs_index) {
              // Four rows at a time: a quarter of the accesses to states.
              if (step + 4 <= end && is_dense_row(block, row)) {
                const auto at = [&](i64 k) FLAGGEMS_LAMBDA {
                  return dense_row(block, e.at(space.locate(kept, step + k, start)));
                };
                const auto a = at(0), b = at(1), d = at(2), f = at(3);
                block.for_each_lane(n, [&](auto i) FLAGGEMS_LAMBDA {
                  low.put(i,
                          op(op(low.get(i), op(a.load(i), b.load(i))), op(d.load(i), f.load(i))));
                });
                step += 4;
                continue;
              }
            }
            const auto places = index.at(c);
            for_each_piece(block, row, n, [&](const auto& piece, i64 begin, i64 m) FLAGGEMS_LAMBDA {
              const auto folded = low.from(begin);
              const auto at = places.from(begin);
              block.for_each_lane(m, [&](auto i) FLAGGEMS_LAMBDA {
                folded.put(i, op(folded.get(i), Reducer::enter(piece.load(i), at.load(i))));
              });
            });
            ++step;
          }
        }
        const coordinates to = space.locate(kept, 0, start);
        block.for_each_lane(n, [&](auto i) FLAGGEMS_LAMBDA {
          auto state = low.get(i);
          if constexpr (leveled) {
            state = op(middle.get(i), state);
            if (deep) state = op(high.get(i), state);
          }
          sink.put(to, i, state);
        });
      });
    }
  }
};

/// The second pass of a split reduction: combines values[output][part] over the few parts. `space`
/// is that of the first pass.
template <class Reducer, class C, class Sink>
struct reduce_parts {
  static constexpr bool is_scalar = true;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, reduction_space space, global_ptr<const C> values,
                                  global_ptr<const i64> indices, Sink sink) {
    using S = typename Reducer::state;
    typename Reducer::op op;
    block.for_each_tile(space.outputs, [&](i64 output) FLAGGEMS_LAMBDA {
      block.single([&]() FLAGGEMS_LAMBDA {
        S total = Reducer::neutral();
        const i64 last = (output + 1) * space.parts;
        for (i64 k = output * space.parts; k < last;) {
          S low = Reducer::neutral();  // two levels, as in the first pass
          for (const i64 end = min_of(last, k + 8); k < end; ++k) {
            if constexpr (Reducer::needs_index)
              low = op(low, Reducer::enter(values[k], indices[k]));
            else
              low = op(low, Reducer::enter(values[k], 0));
          }
          total = op(total, low);
        }
        sink.put(space.locate(output, 0, 0), lane_scalar{0}, total);
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/reduce/reduce.hpp");
