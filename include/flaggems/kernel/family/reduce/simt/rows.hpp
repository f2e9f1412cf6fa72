// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions along rows on SIMT devices. A thread group reduces each result, from one thread for a
// short row to a block for a long one; threads load several vectors before they use the first.
// Kernels: any rows (`inner`), vector-aligned rows (`rows`), short ones (`short`); across rows see
// family/reduce/simt/columns.hpp. Few results are split into parts, which a second launch combines.
#pragma once

#include <flaggems/kernel/block/simt/machine.hpp>
#include <flaggems/kernel/expr/simt/row_vectors.hpp>
#include <flaggems/kernel/family/reduce/reduce.hpp>

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

/// A reduction_space with one kept and one reduced dimension besides the lanes', the common case:
/// coordinates are not in an array, which makes kernels far smaller.
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

/// Reduces f(0), ..., f(Count - 1) as a tree; Count is a power of two.
template <int Count, class Op, class F>
FLAGGEMS_INLINE auto folded(Op op, const F& f) {
  decltype(copy_of(f(0))) node[2 * Count - 1];
  FLAGGEMS_SIMT_UNROLL
  for (int k = 0; k < Count; ++k) node[k] = f(k);
  FLAGGEMS_SIMT_UNROLL
  for (int k = 0; k + 1 < Count; ++k) node[Count + k] = op(node[2 * k], node[2 * k + 1]);
  return node[2 * Count - 2];
}

// ---- maxima by one instruction where the language has it
struct simt_maximum : maximum_of {
  using maximum_of::operator();
  FLAGGEMS_INLINE f32 operator()(f32 a, f32 b) const { return greater_or_nan(a, b); }
};
struct simt_minimum : minimum_of {
  using minimum_of::operator();
  FLAGGEMS_INLINE f32 operator()(f32 a, f32 b) const { return lesser_or_nan(a, b); }
};
template <class Op>
struct simt_op_type {
  using type = Op;
};
template <>
struct simt_op_type<maximum_of> {
  using type = simt_maximum;
};
template <>
struct simt_op_type<minimum_of> {
  using type = simt_minimum;
};
template <class Op>
using simt_op = typename simt_op_type<Op>::type;

/// The index of an element that was not found.
inline constexpr u32 nowhere = ~u32{0};

/// The reduction of a reducer's values without indices, and its result in a row: the best value,
/// and its index if the reducer has indices.
template <class Reducer, bool Indexed = Reducer::needs_index>
struct value_fold {
  using op = simt_op<typename Reducer::op>;
  using value = typename Reducer::state;
  using found = value;
  FLAGGEMS_INLINE static value neutral() { return Reducer::neutral(); }
  FLAGGEMS_INLINE static found enter(value x, u32) { return x; }
};
template <class Reducer>
struct value_fold<Reducer, true> {
  using op = simt_op<typename Reducer::value_op>;
  using value = typename Reducer::value;
  using found = indexed<value, u32>;
  FLAGGEMS_INLINE static value neutral() { return Reducer::neutral_value(); }
  FLAGGEMS_INLINE static found enter(value x, u32 place) { return {x, place}; }
};

/// The vectors that a thread loads before it uses the first.
template <int Width>
inline constexpr int prefetch_distance = Width == 1 ? 8 : 4;

/// Reduces thread x's share of a row of n elements, a multiple of Width, among `along` threads. A
/// batch of vectors is loaded before the first is used; those past the end load the first again and
/// are ignored.
template <class Reducer, int Width, bool Splat, class Row>
FLAGGEMS_INLINE auto reduce_vectors(const Row& row, u32 n, u32 x, u32 along) ->
    typename value_fold<Reducer>::found {
  using vectors = row_vectors<Row>;
  using fold = value_fold<Reducer>;
  using C = typename fold::value;
  using fragment = typename vectors::template fragment<Width>;
  constexpr int distance = prefetch_distance<Width>;
  typename fold::op op;
  const u32 stride = along * Width;
  // The best value, and the first vector that has it; the element in it is found at the end.
  C best = fold::neutral();
  [[maybe_unused]] u32 place = x * Width;
  [[maybe_unused]] fragment with_best = {};
  if (x * Width >= n) return fold::enter(best, nowhere);
  for (u32 i = x * Width; i < n; i += distance * stride) {
    fragment of[distance];
    u32 at[distance];
    C folds[distance];
    constexpr reads how_often = vectors::leaves == 1 ? reads::once : reads::often;
    const auto turn = [&](int u) FLAGGEMS_LAMBDA { return i + static_cast<u32>(u) * stride; };
    FLAGGEMS_SIMT_UNROLL
    for (int u = 0; u < distance; ++u) {
      at[u] = turn(u) < n ? turn(u) : i;
      of[u] = vectors::template fetch<Width, Splat, how_often>(row, at[u]);
    }
    // All of the batch first: else compilers order loads and uses alternately.
    FLAGGEMS_SIMT_UNROLL
    for (int u = 0; u < distance; ++u) {
      folds[u] = folded<Width>(op, [&](int k) FLAGGEMS_LAMBDA {
        return vectors::template value<Width>(row, of[u], k, at[u]);
      });
    }
    if constexpr (Reducer::needs_index) {
      // (Repeated vectors are never better. The best one's number takes fewer registers than all
      // indices.)
      int which = -1;
      FLAGGEMS_SIMT_UNROLL
      for (int u = 0; u < distance; ++u) {
        const bool better = Reducer::betters(best, folds[u]);
        best = better ? folds[u] : best;
        which = better ? u : which;
        if (better) with_best = of[u];
      }
      place = which >= 0 ? turn(which) : place;
    } else {
      best = op(best, folded<distance>(op, [&](int u) FLAGGEMS_LAMBDA {
                  return turn(u) < n ? folds[u] : Reducer::neutral();
                }));
    }
  }
  if constexpr (Reducer::needs_index) {
    u32 first = 0;  // also if no vector beats the identity
    FLAGGEMS_SIMT_UNROLL
    for (int k = Width - 1; k >= 0; --k) {
      const C v = vectors::template value<Width>(row, with_best, k, place);
      if (v == best || is_nan(v)) first = static_cast<u32>(k);
    }
    place += first;
  }
  return fold::enter(best, place);
}

/// The same for the elements [begin, end) of a row, a multiple of vectors, in pieces: a level of
/// the sum, and of 32-bit indices. Indices are relative to the row.
template <class Reducer, int Width, bool Splat, class Row>
FLAGGEMS_INLINE void reduce_pieces(const Row& row, i64 begin, i64 end, int x, int along,
                                   typename Reducer::state& total) {
  typename Reducer::op op;
  const i64 piece = folded_run * prefetch_distance<Width> * Width * along;
  Row rest = row_vectors<Row>::shift(row, begin);
  for (; begin < end; begin += piece) {
    const auto found = reduce_vectors<Reducer, Width, Splat, Row>(
        rest, static_cast<u32>(min_of(piece, end - begin)), static_cast<u32>(x),
        static_cast<u32>(along));
    if constexpr (!Reducer::needs_index)
      total = op(total, found);
    else if (found.index != nowhere)
      total = op(total, Reducer::enter(found.value, begin + static_cast<i64>(found.index)));
    rest = row_vectors<Row>::shift(rest, piece);
  }
}

/// Reduces thread x's share of any row of n elements among `along` threads.
template <class Reducer, class Row>
FLAGGEMS_INLINE void reduce_along(const Row& row, i64 n, int x, int along,
                                  typename Reducer::state& total) {
  using vectors = row_vectors<Row>;
  constexpr int Width = vectors::most;
  i64 begin = 0, end = 0;  // its aligned vectors
  if constexpr (Width > 1) {
    const int head = vectors::template head<Width>(row);
    if (head != not_vectorizable && !(vectors::leaves == 1 && vectors::splats(row))) {
      begin = min_of<i64>(head > 0 ? head : 0, n);
      end = begin + (n - begin) / Width * Width;
    }
    if constexpr (vectors::leaves > 1) {
      if (vectors::splats(row))
        reduce_pieces<Reducer, Width, true, Row>(row, begin, end, x, along, total);
      else
        reduce_pieces<Reducer, Width, false, Row>(row, begin, end, x, along, total);
    } else {
      reduce_pieces<Reducer, Width, false, Row>(row, begin, end, x, along, total);
    }
  }
  // Head and tail element by element, each by half of the threads; the whole row without aligned
  // vectors.
  int side = 0, sides = 2;
  if (end > begin && along > 1) {
    along /= 2;
    side = x >= along;
    x = x >= along ? x - along : x;
    sides = side + 1;
  }
  FLAGGEMS_SIMT_NO_UNROLL
  for (; side < sides; ++side)
    reduce_pieces<Reducer, 1, true, Row>(row, side == 0 ? 0 : end, side == 0 ? begin : n, x, along,
                                         total);
}

/// How threads share a reduction; numbers of threads as powers of two.
struct reduction_shares {
  i64 items;     // parts of results, or vectors of columns
  i64 per_part;  // steps
  i32 group;     // log2 of the threads that reduce a result, or a part of one
  i32 along;     // log2 of those along a row
};
/// Short rows of which a thread loads a vector each at once.
inline constexpr int short_rows = 4;
/// log2 of a block's threads, at most `most`.
FLAGGEMS_INLINE int thread_bits(int threads, int most) {
  while ((1 << most) > threads) --most;
  return most;
}
/// a / b, faster for numbers below 2^32.
FLAGGEMS_INLINE i64 quotient(i64 a, i64 b) {
  if (b == 1) return a;
  if (((a | b) >> 32) == 0) return static_cast<i64>(static_cast<u32>(a) / static_cast<u32>(b));
  return a / b;
}
/// a / b, where both are less than 2^32 unless b is 1.
FLAGGEMS_INLINE i64 part_quotient(i64 a, i64 b) {
  return b == 1 ? a : static_cast<i64>(static_cast<u32>(a) / static_cast<u32>(b));
}

/// Lanes along a reduced dimension: 2^`group` threads per part of a result, of which 2^`along` read
/// a row together. A part is several rows, or a piece of one.
template <class Reducer, class Space, class E, class Index, class Sink, int Threads>
struct simt_reduce_inner {
  using S = typename Reducer::state;
  using row_type = decltype(copy_of(declval_of<const E&>().at(declval_of<const coordinates&>())));
  static constexpr int max_threads = Threads, min_blocks = 1024 / Threads;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, Space space, reduction_shares shares, E e,
                                  Index index, Sink sink, partial_states<S> partial) {
    if (space.parts > 1) block.admit_small();
    const int bits = thread_bits(block.threads(), 10), group = min_of(shares.group, bits);
    const int along = min_of(shares.along, group), groups = bits - group;
    const int own = block.thread() >> group, member = block.thread() & ((1 << group) - 1);
    const int x = member & ((1 << along) - 1), y = member >> along, rows = 1 << (group - along);
    const i64 tiles = (shares.items + (i64(1) << groups) - 1) >> groups;
    block.for_each_tile(tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 item = (tile << groups) + own;
      const i64 output = part_quotient(item, space.parts), part = item - output * space.parts;
      const bool is_ours = own < 1 << groups && item < shares.items;
      const i64 end = is_ours ? min_of(space.steps, (part + 1) * shares.per_part) : 0;
      const auto locate = [&](i64 step) FLAGGEMS_LAMBDA {
        const i64 reduced = part_quotient(step, space.chunks);
        return space.locate(output, reduced, (step - reduced * space.chunks) * space.chunk);
      };
      const auto length = [&](const coordinates& c) FLAGGEMS_LAMBDA {
        return min_of(space.chunk, space.inner - c.inner);
      };
      S total = Reducer::neutral();
      i64 step = part * shares.per_part + y;
      if constexpr (Reducer::needs_index) {
        const i64 none = Reducer::neutral().index;
        for (; step < end; step += rows) {
          const coordinates c = locate(step);
          S of_row = Reducer::neutral();
          reduce_along<Reducer, row_type>(e.at(c), length(c), x, 1 << along, of_row);
          if (of_row.index != none) of_row.index = index.at(c).load(lane_scalar{of_row.index});
          total = typename Reducer::op{}(total, of_row);
        }
        // First the value, then its first index: half of the shuffles of a combined state.
        const auto best =
            block.reduce_group(total.value, typename value_fold<Reducer>::op{}, 1 << group);
        const bool has_best = total.value == best || total.value != total.value;
        total = {best, block.reduce_group(has_best ? total.index : none, minimum_of{}, 1 << group)};
      } else {
        for (; step < end; step += rows) {
          const coordinates c = locate(step);
          reduce_along<Reducer, row_type>(e.at(c), length(c), x, 1 << along, total);
        }
        total = block.reduce_group(total, typename Reducer::op{}, 1 << group);
      }
      if (is_ours && member == 0) {
        if (space.parts == 1)
          sink.put(space.locate(output, 0, 0), lane_scalar{0}, total);
        else
          partial.put(part * space.outputs + output, total);
      }
    });
  }
};

/// The most threads of a block that has the registers for several operands' vectors: alone in its
/// unit, it hides their latency.
inline constexpr int most_row_threads = 1024;

/// Whether rows have a head and a tail beside their vectors.
enum class row_sides { none, elements };

/// Vector-aligned rows, or pieces of such rows; few instructions precede the first load. With a
/// head and a tail of less than a vector each, one element per thread; a thread group has at least
/// as many threads.
template <class Reducer, row_sides Sides, class E, class Index, class Sink, int Threads>
struct simt_reduce_rows {
  using S = typename Reducer::state;
  using row_type = decltype(copy_of(declval_of<const E&>().at(declval_of<const coordinates&>())));
  // Registers hold a batch of four vectors; more operands, and argmax's best vector, need more.
  static constexpr bool is_small =
      !Reducer::needs_index && row_vectors<row_type>::leaves <= 1 && sizeof(S) <= 4;
  static constexpr int max_threads = is_small ? Threads : most_row_threads,
                       min_blocks = (is_small ? 1536 : 1024) / max_threads;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, reduction_plane space, reduction_shares shares, E e,
                                  [[maybe_unused]] Index index, Sink sink,
                                  partial_states<S> partial) {
    const int bits = thread_bits(block.threads(), 10), group = min_of(shares.group, bits);
    const int groups = bits - group, own = block.thread() >> group, size = 1 << group;
    const u32 x = static_cast<u32>(block.thread() & (size - 1));
    const i64 tiles = (shares.items + (i64(1) << groups) - 1) >> groups;
    block.for_each_tile(tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 item = (tile << groups) + own;
      const bool is_ours = own < 1 << groups && item < shares.items;
      i64 output = item, part = 0;
      if (space.parts > 1) {
        block.admit_small();
        output = part_quotient(item, space.parts);
        part = item - output * space.parts;
      }
      const coordinates c = space.locate(output, 0, part * space.chunk);
      const i64 length = is_ours ? min_of(space.chunk, space.inner - c.inner) : 0;
      const auto found = reduce_row(e.at(c), static_cast<u32>(length), x, static_cast<u32>(size));
      S total;
      if constexpr (Reducer::needs_index) {
        // First the value, then its first index: half of the shuffles of a combined state.
        const auto best = block.reduce_group(found.value, typename value_fold<Reducer>::op{}, size);
        const bool has_best = found.value == best || found.value != found.value;
        const u32 first = block.reduce_group(has_best ? found.index : nowhere, minimum_of{}, size);
        total = {best, index.at(c).load(lane_scalar{static_cast<i64>(first)})};
      } else {
        total = block.reduce_group(found, typename Reducer::op{}, size);
      }
      if (is_ours && x == 0) {
        if (space.parts == 1)
          sink.put(space.locate(output, 0, 0), lane_scalar{0}, total);
        else
          partial.put(part * space.outputs + output, total);
      }
    });
  }

 protected:
  using fold = value_fold<Reducer>;
  using vectors = row_vectors<row_type>;
  static constexpr int Width = vectors::most;

  FLAGGEMS_INLINE static auto reduce_row(const row_type& row, u32 n, u32 x, u32 along) ->
      typename fold::found {
    if constexpr (Sides == row_sides::elements) {
      const u32 head = min_of(static_cast<u32>(vectors::template head<Width>(row)), n);
      const u32 inside = (n - head) / Width * Width, behind = head + inside + x;
      // Loaded first and converted last: else the vectors would wait for them.
      using element = typename vectors::template fragment<1>;
      const bool has_before = x < head, has_after = behind < n;
      element before = {}, after = {};
      if (has_before) before = vectors::template fetch<1, true>(row, x);
      if (has_after) after = vectors::template fetch<1, true>(row, behind);
      auto found = reduce_vectors<Reducer, Width, false, row_type>(
          vectors::shift(row, static_cast<i64>(head)), inside, x, along);
      if constexpr (Reducer::needs_index) found.index += found.index == nowhere ? 0 : head;
      const auto enter_edge = [&](bool is_there, const element& of, u32 i) FLAGGEMS_LAMBDA {
        return is_there ? fold::enter(vectors::template value<1>(row, of, 0, i), i)
                        : fold::enter(fold::neutral(), nowhere);
      };
      conditional<Reducer::needs_index, typename Reducer::op, typename fold::op> op;
      return op(op(enter_edge(has_before, before, x), found), enter_edge(has_after, after, behind));
    } else {
      return reduce_vectors<Reducer, Width, (vectors::leaves > 1), row_type>(row, n, x, along);
    }
  }
};

/// Few vector-aligned rows, each shared by the blocks of a cluster, `space.chunk` elements a block:
/// a unit reads more slowly than several do, and a second launch would take longer than they need
/// to join their states.
template <class Reducer, class E, class Index, class Sink, int Threads>
struct simt_reduce_cluster : simt_reduce_rows<Reducer, row_sides::none, E, Index, Sink, Threads> {
  using rows = simt_reduce_rows<Reducer, row_sides::none, E, Index, Sink, Threads>;
  using S = typename rows::S;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, reduction_plane space, E e, Sink sink) {
    block.for_each_cluster_tile(space.outputs, [&](i64 output) FLAGGEMS_LAMBDA {
      S total = Reducer::neutral();
      for (i64 part = block.cluster_block(); part < space.parts; part += block.cluster_blocks()) {
        const coordinates c = space.locate(output, 0, part * space.chunk);
        const i64 length = min_of(space.chunk, space.inner - c.inner);
        const S of_part =
            rows::reduce_row(e.at(c), static_cast<u32>(length), static_cast<u32>(block.thread()),
                             static_cast<u32>(block.threads()));
        total = typename Reducer::op{}(total, of_part);
      }
      total = block.reduce_block(total, Reducer::neutral(), typename Reducer::op{});
      total = block.reduce_cluster(total, Reducer::neutral(), typename Reducer::op{});
      if (block.cluster_block() == 0 && block.thread() == 0)
        sink.put(space.locate(output, 0, 0), lane_scalar{0}, total);
    });
  }
};

/// Short rows: each thread of a group has one vector of several rows, and consecutive rows make
/// coalesced accesses.
template <class Reducer, class E, class Index, class Sink, int Threads>
struct simt_reduce_short {
  using S = typename Reducer::state;
  using row_type = decltype(copy_of(declval_of<const E&>().at(declval_of<const coordinates&>())));
  static constexpr int max_threads = Threads, min_blocks = 1024 / Threads;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, reduction_plane space, reduction_shares shares, E e,
                                  [[maybe_unused]] Index index, Sink sink) {
    using vectors = row_vectors<row_type>;
    constexpr int Width = vectors::most, rows = short_rows;
    constexpr reads how_often =
        vectors::leaves == 1 && !Reducer::needs_index ? reads::once : reads::often;
    using fragment = typename vectors::template fragment<Width>;
    using C = typename value_fold<Reducer>::value;
    typename value_fold<Reducer>::op op;
    const int size = 1 << shares.group, groups = thread_bits(block.threads(), 10) - shares.group;
    const int own = block.thread() >> shares.group, x = block.thread() & (size - 1);
    const i64 items = own < 1 << groups ? shares.items : 0;
    const i64 tiles = (shares.items + (i64(rows) << groups) - 1) / rows >> groups;
    block.for_each_tile(tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      fragment of[rows];
      C best[rows];
      const auto place = [&](int u) FLAGGEMS_LAMBDA { return ((tile * rows + u) << groups) + own; };
      const auto row_of = [&](int u) FLAGGEMS_LAMBDA {
        return e.at(space.locate(min_of(place(u), shares.items - 1), 0, 0));
      };
      // (As a table: computing them anew per element slows compilers down.)
      static_assert(rows == 4, "each has its row");
      const row_type row[rows] = {row_of(0), row_of(1), row_of(2), row_of(3)};
      const auto value = [&](int u, int k) FLAGGEMS_LAMBDA {
        return vectors::template value<Width>(row[u], of[u], k, static_cast<u32>(x * Width));
      };
      FLAGGEMS_SIMT_UNROLL
      for (int u = 0; u < rows; ++u)
        of[u] = vectors::template fetch<Width, (vectors::leaves > 1), how_often>(
            row[u], static_cast<u32>(x * Width));
      FLAGGEMS_SIMT_UNROLL
      for (int u = 0; u < rows; ++u)
        best[u] = folded<Width>(op, [&](int k) FLAGGEMS_LAMBDA { return value(u, k); });
      for (int mask = size / 2; mask > 0; mask /= 2) {
        FLAGGEMS_SIMT_UNROLL
        for (int u = 0; u < rows; ++u) best[u] = op(best[u], block.shuffle_xor(best[u], mask));
      }
      [[maybe_unused]] int first[rows] = {};
      if constexpr (Reducer::needs_index) {
        FLAGGEMS_SIMT_UNROLL
        for (int u = 0; u < rows; ++u) {
          first[u] = size * Width;
          static_for<Width>([&](auto k) FLAGGEMS_LAMBDA {
            const C v = value(u, Width - 1 - k);
            if (v == best[u] || is_nan(v)) first[u] = x * Width + (Width - 1 - k);
          });
        }
        for (int mask = size / 2; mask > 0; mask /= 2) {
          FLAGGEMS_SIMT_UNROLL
          for (int u = 0; u < rows; ++u)
            first[u] = min_of(first[u], block.shuffle_xor(first[u], mask));
        }
      }
      // A group's threads share the stores, whose code is long.
      FLAGGEMS_SIMT_NO_UNROLL
      for (int u = x; u < rows && place(u) < items; u += size) {
        C total = best[0];
        [[maybe_unused]] int at = first[0];
        FLAGGEMS_SIMT_UNROLL
        for (int r = 1; r < rows; ++r) {
          total = r == u ? best[r] : total;
          at = r == u ? first[r] : at;
        }
        // Not found if a formula is rounded in two ways, contracted in one place only.
        if (at == size * Width) at = 0;
        const coordinates c = space.locate(place(u), 0, 0);
        if constexpr (Reducer::needs_index)
          sink.put(c, lane_scalar{0}, S{total, index.at(c).load(lane_scalar{at})});
        else
          sink.put(c, lane_scalar{0}, total);
      }
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/reduce/simt/rows.hpp");
