// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Groups of rows (expr/rows.hpp) of the host: as many as a vector has lanes. What reduces the
// lanes of one vector reduces those of all rows, two rows an instruction, by a transposition that
// halves its width as it goes; the result is a vector with a value a row.
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/block/vector/outlined.hpp>
#include <flaggems/kernel/expr/vector/rows.hpp>

namespace flaggems::kernels {

/// Vectors hold values of rows, `Width` lanes each (side by side, or inside each quarter of 16
/// bytes once that is enough). The lane of a pair of them that stands at place p when lanes k and
/// k + Width / 2 of each row are brought together: the former, or the latter if `upper`.
template <int Lanes, int Width>
FLAGGEMS_HOST_INLINE constexpr int halved_place(int p, bool upper) {
  constexpr int span = Width > 4 ? Lanes : 4, half = Width / 2, rows = span / Width;
  const int row = p % span / half;
  return (row >= rows ? Lanes : 0) + p / span * span + row % rows * Width + p % half +
         (upper ? half : 0);
}
template <int Width, class V, class Op, int... K>
FLAGGEMS_HOST_INLINE void halve_pair(V& to, const V& x, const V& y, Op op, int_sequence<K...>) {
  const V lower(FLAGGEMS_SHUFFLE(x.v, y.v, halved_place<V::lanes, Width>(K, false)...));
  const V upper(FLAGGEMS_SHUFFLE(x.v, y.v, halved_place<V::lanes, Width>(K, true)...));
  to = op(lower, upper);
}
/// Where the vector of row r stands among those of a group, so that results come out in order.
template <int Lanes>
FLAGGEMS_HOST_INLINE constexpr int group_place(int r) {
  return r % 4 * (Lanes / 4) + r / 4;
}
/// Lane r of rows[0] = the lanes of the vector of row r reduced, by the tree of fold_lanes. Loops,
/// since it is compiled often.
template <int Width, class V, class Op>
FLAGGEMS_HOST_INLINE void halve_rows(V* rows, Op op) {
  if constexpr (Width > 1) {
#pragma GCC unroll 1
    for (int k = 0; k < Width / 2; ++k)
      halve_pair<Width>(rows[k], rows[2 * k], rows[2 * k + 1], op, make_int_sequence<V::lanes>{});
    halve_rows<Width / 2>(rows, op);
  }
}
/// The vectors of `count` rows reduced: result r is to[r]. They lie at `group_place`.
template <class C, class Op>
struct fold_group {
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(C* const& to, const i64& count) {
    using V = typename simd_type<C, Isa>::type;
    V* const rows = reinterpret_cast<V*>(to);
    Op op;
    if (count == 1) {  // the same tree, without the rows that are not there
      rows[0] = V(fold_lanes<C>(rows[0], op));  // whole: it is read so, and would wait
    } else if constexpr (sizeof(C) == sizeof(f32)) {
      for (int r = static_cast<int>(count); r < Isa::lanes; ++r)
        rows[group_place<Isa::lanes>(r)] = rows[0];
      halve_rows<Isa::lanes>(rows, op);
    } else {
      C folded[Isa::lanes];
      for (int r = 0; r < count; ++r)
        folded[r] = fold_lanes<C>(rows[group_place<Isa::lanes>(r)], op);
      for (int r = 0; r < count; ++r) to[r] = folded[r];
    }
  }
};
/// Rows of contiguous operands, each reduced to a vector of partials, with what stands there if
/// `more`. Compiled once for all that reduce such rows.
template <class C, class Reducer>
struct fold_contiguous {
  template <class Isa, class Part>
  FLAGGEMS_HOST_INLINE static void run(C* const& to, const Part* const& parts, const i64& rows,
                                       const i64& elements, const bool& more) {
    using V = typename simd_type<C, Isa>::type;
    const host_block<Isa> block(0, 1, nullptr);
    V* const folded = reinterpret_cast<V*>(to);
    const i64 count = rows, n = elements;
    constexpr int turns = is_brief<Part> ? 4 : 2;
    typename Reducer::op op;
    for (int r = 0; r < count; ++r) {
      const Part row = parts[r];
      const V v = block.template fold_vectors<turns>(
          n, Reducer::neutral(), op, [&](auto i) FLAGGEMS_LAMBDA { return row.load(i); });
      V& place = folded[group_place<Isa::lanes>(r)];
      // By their vectors: g++ 12 copies the struct in pieces, and the reload waits.
      if (more)
        write_vector(&place, op(place, v), Isa::lanes);
      else
        write_vector(&place, v, Isa::lanes);
    }
  }
};

template <class Isa, class C>
struct row_group<host_block<Isa>, C> {
  static constexpr int rows = Isa::lanes, most_rows = rows;
  using values = typename simd_type<C, Isa>::type;
  /// What is known of each row, as a number.
  struct list {
    alignas(64) C of[rows];
    FLAGGEMS_HOST_INLINE explicit list(const values& v) { write_vector(of, v, rows); }
    FLAGGEMS_HOST_INLINE C operator[](int row) const { return of[row]; }
  };

  FLAGGEMS_HOST_INLINE static int rows_of(i64 n) {
    return static_cast<int>(n <= group_elements / rows ? rows : max_of(group_elements / n, i64(1)));
  }
  template <int M, class Op, class F>
  FLAGGEMS_HOST_INLINE static values fold(const host_block<Isa>& block, int count, i64 n, C init,
                                          Op op, const F& row) {
    values v[rows];
    for (int r = 0; r < count; ++r)
      v[group_place<rows>(r)] = block.template fold_vectors<M>(n, init, op, row(r));
    if (count == 1) return values(fold_lanes<C>(v[0], op));  // without the call
    outlined<Isa>::template call<fold_group<C, Op>, C*, i64>(reinterpret_cast<C*>(v), count);
    return v[0];
  }
  /// The same of functions that give several values at once, `Sums`, of which init.at[k] begins
  /// the k-th.
  template <int M, class Sums, class Op, class F>
  FLAGGEMS_HOST_INLINE static auto fold_each(const host_block<Isa>& block, int count, i64 n,
                                             const Sums& init, Op op, const F& row) {
    using V = decltype(row(0)(lane_vector<Isa>{0}));
    constexpr int sums = static_cast<int>(sizeof(V) / sizeof(values));
    values v[sums][rows];
    for (int r = 0; r < count; ++r) {
      const V all = block.template fold_vectors<M>(n, init, op, row(r));
      for (int k = 0; k < sums; ++k) v[k][group_place<rows>(r)] = all.at[k];
    }
    V folded;
    for (int k = 0; k < sums; ++k) {
      if (count == 1)
        v[k][0] = values(fold_lanes<C>(v[k][0], plus{}));
      else
        outlined<Isa>::template call<fold_group<C, plus>, C*, i64>(reinterpret_cast<C*>(v[k]),
                                                                   count);
      folded.at[k] = v[k][0];
    }
    return folded;
  }
  template <class F>
  FLAGGEMS_HOST_INLINE static values gather(int count, const F& f) {
    alignas(64) C of[rows] = {};
    for (int r = 0; r < count; ++r) of[r] = f(r);
    return load_lanes<C, C, Isa>(of, Isa::lanes);
  }
};

/// Without the functions between that a block of any kind has: g++ optimises what is always inlined
/// anew in each of them.
template <class Isa, class Space, class Program, class View>
FLAGGEMS_HOST_INLINE void run_on_row_groups(host_block<Isa>& block, const Space& space, int most,
                                            const Program& program, const View& view) {
  const auto share = block.share_of(space.rows);
  for (i64 row = share.begin; row < share.end;) {
    const coordinates c = space.locate(row);
    i64 count = min_of(share.end - row, static_cast<i64>(most));
    if (c.rank > 0) count = min_of(count, space.sizes[c.rank - 1] - c.at[c.rank - 1]);
    auto group = view(c, static_cast<int>(count));
    program.run(group);
    row += count;
  }
}

// ---- reductions of expressions' rows
template <class Isa, class C>
inline constexpr bool folds_groups<host_block<Isa>, C> = has_group_parts<C>;

/// Pieces of rows, whose formulas need be neither default constructible nor assignable (closures).
template <class Part, int Size>
class part_array {
 public:
  FLAGGEMS_HOST_INLINE void put(i64 k, const Part& part) {
    __builtin_memcpy(bytes_ + static_cast<u64>(k) * sizeof(Part), &part, sizeof(Part));
  }
  FLAGGEMS_HOST_INLINE const Part* data() const { return reinterpret_cast<const Part*>(bytes_); }

 private:
  alignas(Part) unsigned char bytes_[Size * sizeof(Part)];
};
template <class C, class Part>
using fold_function = void (*)(C* const&, const Part* const&, const i64&, const i64&, const bool&);
template <class C>
using finish_function = void (*)(C* const&, const i64&);

/// A reduction (family/reduce/reduce.hpp), but for the loops over vectors: compiled once. Rows are
/// reduced in groups, whose results lie along the last kept dimension; a part is a group of one.
template <class Reducer, class Space, class E, class Sink, class C, class Part>
FLAGGEMS_NOINLINE void drive_reduction(const Space& space, const E& e, const Sink& sink, i64 begin,
                                       i64 end, i64 lanes, fold_function<C, Part> fold,
                                       finish_function<C> finish) {
  const host_block<isa_baseline> block(0, 1, nullptr);
  constexpr int most = 16;
  const C neutral = Reducer::neutral();
  const i64 per_part = ceil_div(space.steps, space.parts);
  const bool along = space.parts == 1 && space.kept_rank > 0;
  const bool simple = space.steps == 1 && is_dense_row(block, e.at(space.locate(0, 0, 0)));
  i64 count = 1;
  for (i64 tile = begin; tile < end; tile += count) {
    const i64 output = space.parts == 1 ? tile : tile / space.parts;
    const i64 part = tile - output * space.parts;
    coordinates to = space.locate(output, 0, 0);
    const auto first = e.at(to);
    to.inner = part;
    if (along) {
      to.rank = space.kept_rank - 1;
      to.inner = to.at[to.rank];
      count = min_of(min_of(end - tile, space.kept_sizes[to.rank] - to.inner), lanes);
    }
    alignas(64) C states[most * most];
    if (simple) {
      part_array<Part, most> parts;
      for (int r = 0; r < count; ++r) parts.put(r, dense_row(block, next_row(first, r)));
      fold(states, parts.data(), count, space.inner, false);
    }
    const i64 stop = simple ? 0 : min_of(space.steps, (part + 1) * per_part);
    for (int r = 0; r < count && !simple; ++r) {
      C* const total = states + lanes * (r % 4 * (lanes / 4) + r / 4);
      for (i64 k = 0; k < lanes; ++k) total[k] = neutral;
      long_fold<Reducer, most> levels;
      for (i64 step = part * per_part; step < stop; ++step) {
        const i64 reduced = step / space.chunks;
        const i64 start = (step - reduced * space.chunks) * space.chunk;
        const auto row = e.at(space.locate(output + r, reduced, start));
        for_each_piece(block, row, min_of(space.chunk, space.inner - start),
                       [&](const Part& piece, i64, i64 n) FLAGGEMS_LAMBDA {
                         fold(total, &piece, 1, n, true);
                         levels.next(total, lanes);
                       });
      }
      levels.finish(total, lanes);
    }
    finish(states, count);
    sink.put_rows(to, count, states);
  }
}
/// The same of contiguous rows, one after the other.
template <class Reducer, class E, class Sink, class C, class Part>
FLAGGEMS_NOINLINE void drive_rows(i64 length, const E& e, const Sink& sink, i64 begin, i64 end,
                                  i64 lanes, fold_function<C, Part> fold,
                                  finish_function<C> finish) {
  const host_block<isa_baseline> block(0, 1, nullptr);
  constexpr int most = 16;
  alignas(64) C states[most * most];
  coordinates c;
  c.rank = 0;
  for (i64 row = begin, count = 0; row < end; row += count) {
    count = min_of(end - row, lanes);
    for (i64 start = 0; start < length; start += reduced_chunk) {
      part_array<Part, most> parts;
      for (i64 r = 0; r < count; ++r) {
        c.inner = (row + r) * length + start;
        parts.put(r, dense_row(block, e.at(c)));
      }
      fold(states, parts.data(), count, min_of(reduced_chunk, length - start), start != 0);
    }
    finish(states, count);
    c.inner = row;
    sink.put_rows(c, count, states);
  }
}
template <class Reducer, class Isa, class Space, class E, class Sink>
FLAGGEMS_HOST_INLINE void reduce_groups(const host_block<Isa>& block, Reducer, const Space& space,
                                        const E& e, const Sink& sink) {
  using C = typename Reducer::state;
  using op = typename Reducer::op;
  using part = decltype(copy_of(dense_row(block, e.at(coordinates()))));
  block.for_each_share(space.outputs * space.parts, [&](i64 begin, i64 end) FLAGGEMS_LAMBDA {
    const auto fold =
        block.template part<fold_contiguous<C, Reducer>, C*, const part*, i64, i64, bool>();
    drive_reduction<Reducer, Space, E, Sink, C, part>(
        space, e, sink, begin, end, fold.lanes, fold.call,
        block.template part<fold_group<C, op>, C*, i64>().call);
  });
}
template <class Reducer, class Isa, class E, class Sink>
FLAGGEMS_HOST_INLINE void reduce_row_groups(const host_block<Isa>& block, Reducer, i64 rows,
                                            i64 length, const E& e, const Sink& sink) {
  using C = typename Reducer::state;
  using op = typename Reducer::op;
  using part = decltype(copy_of(dense_row(block, e.at(coordinates()))));
  block.for_each_share(rows, [&](i64 begin, i64 end) FLAGGEMS_LAMBDA {
    const auto fold =
        block.template part<fold_contiguous<C, Reducer>, C*, const part*, i64, i64, bool>();
    drive_rows<Reducer, E, Sink, C, part>(length, e, sink, begin, end, fold.lanes, fold.call,
                                          block.template part<fold_group<C, op>, C*, i64>().call);
  });
}

// ---- results side by side, reduced row by row (reduce_outer)
/// low[i] = low[i] combined with element i of `count` rows, which is 1 or 4: then the results are
/// read and written a quarter as often.
template <class C, class Reducer>
struct fold_columns {
  template <class Isa, class Part>
  FLAGGEMS_HOST_INLINE static void run(C* const& low, const Part* const& parts, const i64& count,
                                       const i64& n) {
    const host_block<Isa> block(0, 1, nullptr);
    const host_scratch<C> to{low};
    typename Reducer::op op;
    const Part a = parts[0];
    if (count == 1) {
      block.for_each_lane(
          n, [=](auto i) FLAGGEMS_LAMBDA { store(to, i, op(load<C>(to, i), a.load(i))); });
      return;
    }
    const Part b = parts[1], d = parts[2], f = parts[3];
    block.for_each_lane(n, [=](auto i) FLAGGEMS_LAMBDA {
      store(to, i, op(load<C>(to, i), op(op(a.load(i), b.load(i)), op(d.load(i), f.load(i)))));
    });
  }
};
/// to[i] = to[i], if it `exists`, combined with from[i], and from[i] neutral. Without `to`, only
/// the latter.
template <class C, class Reducer>
struct carry_columns {
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(C* const& to, C* const& from, const i64& n,
                                       const bool& exists) {
    const host_block<Isa> block(0, 1, nullptr);
    const host_scratch<C> high{to}, low{from};
    const typename simd_type<C, Isa>::type neutral(Reducer::neutral());
    const bool begins = to == nullptr, has_high = exists;
    typename Reducer::op op;
    block.for_each_lane(n, [=](auto i) FLAGGEMS_LAMBDA {
      if (!begins) {
        const auto v = load<C>(low, i);
        store(high, i, has_high ? op(load<C>(high, i), v) : v);
      }
      store(low, i, neutral);
    });
  }
};
/// n results put where they belong.
template <class C, class Sink>
struct put_columns {
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const C* const& from, const Sink& sink,
                                       const coordinates& to, const i64& n) {
    const host_block<Isa> block(0, 1, nullptr);
    const host_scratch<C> states{const_cast<C*>(from)};
    const auto place = sink.place(to);
    block.for_each_lane(n, [=](auto i) FLAGGEMS_LAMBDA { place.put(i, load<C>(states, i)); });
  }
};
template <class C, class Part>
using column_function = void (*)(C* const&, const Part* const&, const i64&, const i64&);
template <class C>
using carry_function = void (*)(C* const&, C* const&, const i64&, const bool&);
template <class C, class Sink>
using put_function = void (*)(const C* const&, const Sink&, const coordinates&, const i64&);

/// As drive_reduction, in levels as long_fold has; `low` is the first of them.
template <class Space, class E, class Sink, class C, class Part>
FLAGGEMS_NOINLINE void drive_columns(const Space& space, const E& e, const Sink& sink, C* low,
                                     i64 begin, i64 end, column_function<C, Part> fold,
                                     carry_function<C> carry, put_function<C, Sink> put) {
  const host_block<isa_baseline> block(0, 1, nullptr);
  const int levels = column_levels(space.steps);
  const auto level = [&](int k) FLAGGEMS_LAMBDA { return low + k * column_states(space.chunk); };
  for (i64 tile = begin; tile < end; ++tile) {
    const i64 kept = tile / space.chunks;
    const i64 start = (tile - kept * space.chunks) * space.chunk;
    const i64 n = min_of(space.chunk, space.inner - start);
    int used = 1;
    carry(nullptr, low, n, false);
    for (i64 step = 0, run = 0; step < space.steps; ++run) {
      if (run > 0)
        for_each_full_level(run, levels - 1, [&](int k) FLAGGEMS_LAMBDA {
          carry(level(k + 1), level(k), n, k + 1 < used);
          used = max_of(used, k + 2);
        });
      for (i64 term = 0; term < folded_terms && step < space.steps; ++term) {
        const auto row = e.at(space.locate(kept, step, start));
        if (step + 4 <= space.steps && is_dense_row(block, row)) {
          part_array<Part, 4> rows;
          for (i64 k = 0; k < 4; ++k)
            rows.put(k, dense_row(block, k == 0 ? row : e.at(space.locate(kept, step + k, start))));
          fold(low, rows.data(), 4, n);
          step += 4;
          continue;
        }
        for_each_piece(block, row, n, [&](const Part& piece, i64 from, i64 m) FLAGGEMS_LAMBDA {
          fold(low + from, &piece, 1, m);
        });
        ++step;
      }
    }
    for (int k = 0; k + 1 < used; ++k) carry(level(k + 1), level(k), n, true);
    put(level(used - 1), sink, space.locate(kept, 0, start), n);
  }
}
template <class Reducer, class Isa, class Space, class E, class Sink>
FLAGGEMS_HOST_INLINE void reduce_columns(host_block<Isa>& block, Reducer, const Space& space,
                                         const E& e, const Sink& sink) {
  using C = typename Reducer::state;
  using part = decltype(copy_of(dense_row(block, e.at(coordinates()))));
  const i64 states = column_levels(space.steps) * column_states(space.chunk);
  C* const low = block.template scratch<C>(states).data;
  block.for_each_share(space.outputs, [&](i64 begin, i64 end) FLAGGEMS_LAMBDA {
    drive_columns<Space, E, Sink, C, part>(
        space, e, sink, low, begin, end,
        block.template part<fold_columns<C, Reducer>, C*, const part*, i64, i64>().call,
        block.template part<carry_columns<C, Reducer>, C*, C*, i64, bool>().call,
        block.template part<put_columns<C, Sink>, const C*, Sink, coordinates, i64>().call);
  });
}

}  // namespace flaggems::kernels
