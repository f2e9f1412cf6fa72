// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Attention of many queries on the host: a block of them processes the keys jointly, so that a tile
// of keys and values is converted, and the keys transposed, once. Both products are then sums of
// rows of vectors times scalars, in register tiles.
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/family/attention/attention.hpp>
#include <flaggems/kernel/lang/vector/scalars.hpp>

namespace flaggems::kernels {

/// to[r][j] = factor[r] * to[r][j] + the sum over q < n of a[r][q] * b[q][j], for `columns`
/// columns, a multiple of the lanes. Without factors `to` is not read.
template <class C, int Rows>
struct multiply_rows {
  struct arguments {
    const C* a;
    i64 a_row;
    const C* b;
    i64 b_row, n;
    C* to;
    i64 to_row;
    const C* factor;
    i64 columns;
  };
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    // 64-bit lanes fill two registers.
    constexpr int vectors = sizeof(C) == 8 ? 1 : Isa::bytes == 64 ? 4 : 2;
    for (i64 j = 0; j < p.columns;)
      if (p.columns - j >= vectors * Isa::lanes) {
        multiply<Isa, vectors>(p, p.b + j, p.to + j);
        j += vectors * Isa::lanes;
      } else {
        multiply<Isa, 1>(p, p.b + j, p.to + j);
        j += Isa::lanes;
      }
  }

 private:
  template <class Isa, int Vectors>
  FLAGGEMS_HOST_INLINE static void multiply(const arguments& p, const C* b, C* to) {
    using V = simd<C, Isa>;
    const i64 a_row = p.a_row, b_row = p.b_row, to_row = p.to_row;
    V sum[Rows][Vectors];
    if (p.factor == nullptr) {
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) {
        FLAGGEMS_UNROLL
        for (int v = 0; v < Vectors; ++v) sum[r][v] = V(C(0));
      }
    } else {
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) {
        const V factor = spread_from<C, Isa>(p.factor + r);
        FLAGGEMS_UNROLL
        for (int v = 0; v < Vectors; ++v) {
          read_vector(sum[r][v], to + r * to_row + v * Isa::lanes);
          sum[r][v] = sum[r][v] * factor;
        }
      }
    }
    constexpr int half = 3;  // rows that are addressed from one pointer, without further additions
    const C* a = p.a;
#pragma GCC unroll 2
    for (i64 q = 0; q < p.n; ++q, ++a, b += b_row) {
      const C* const lower = a + half * a_row;
      V y[Vectors];
      FLAGGEMS_UNROLL
      for (int v = 0; v < Vectors; ++v) read_vector(y[v], b + v * Isa::lanes);
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) {
        const V x = spread_from<C, Isa>(r < half ? a + r * a_row : lower + (r - half) * a_row);
        FLAGGEMS_UNROLL
        for (int v = 0; v < Vectors; ++v) sum[r][v] = multiply_add<V>(x, y[v], sum[r][v]);
      }
    }
    FLAGGEMS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      FLAGGEMS_UNROLL
      for (int v = 0; v < Vectors; ++v)
        write_vector(to + r * to_row + v * Isa::lanes, sum[r][v], Isa::lanes);
    }
  }
};

/// `lines` lines of elements as C, `row` apart; those of queries are scaled.
template <class C, class T, bool Scaled>
struct read_lines {
  struct arguments {
    const T* from;
    i64 position, element;
    i64 lines, size;
    C* to;
    i64 row;
    C scale;
  };
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    using V = simd<C, Isa>;
    const host_block<Isa> block(0, 1, nullptr);
    const i64 element = p.element;  // what is written might be any of the arguments
    const V scale(p.scale);
    for (i64 j = 0; j < p.lines; ++j) {
      const T* const from = p.from + j * p.position;
      const host_scratch<C> to{p.to + j * p.row};
      block.for_each_lane(p.size, [&](auto lane) FLAGGEMS_LAMBDA {
        const V x = load<C>(from, element, lane);
        if constexpr (Scaled)
          store(to, lane, V(x * scale));
        else
          store(to, lane, x);
      });
    }
  }
};
/// A row of the result.
template <class C, class Out>
struct divide_line {
  struct arguments {
    C* from;
    i64 size;
    C divisor;
    Out* to;
    i64 element;
  };
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    using V = simd<C, Isa>;
    const V by(p.divisor);
    const host_scratch<C> from{p.from};
    Out* const to = p.to;
    const i64 element = p.element;
    host_block<Isa>(0, 1, nullptr).for_each_lane(p.size, [&](auto lane) FLAGGEMS_LAMBDA {
      store(to, element, lane, V(load<C>(from, lane) / by));
    });
  }
};

/// to[e * to_row + j] = from[j * from_row + e], a multiple of four of both; in pieces of 4 x 4,
/// which are vectors at every level.
template <class C>
struct transpose_lines {
  struct arguments {
    const C* from;
    i64 from_row, lines, elements;
    C* to;
    i64 to_row;
  };
  template <class>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    transpose(p.from, p.from_row, p.lines, p.elements, p.to, p.to_row);
  }
  FLAGGEMS_HOST_INLINE static void transpose(const C* from, i64 from_row, i64 lines, i64 elements,
                                             C* to, i64 to_row) {
    using Q = simd<C, isa_baseline>;
    for (i64 e = 0; e < elements; e += 4)
      for (i64 j = 0; j < lines; j += 4) {
        const C* const line = from + j * from_row + e;
        C* const column = to + e * to_row + j;
        Q p, q, r, s;
        read_vector(p, line);
        read_vector(q, line + from_row);
        read_vector(r, line + 2 * from_row);
        read_vector(s, line + 3 * from_row);
        const Q a(__builtin_shufflevector(p.v, q.v, 0, 4, 1, 5));
        const Q b(__builtin_shufflevector(r.v, s.v, 0, 4, 1, 5));
        const Q c(__builtin_shufflevector(p.v, q.v, 2, 6, 3, 7));
        const Q d(__builtin_shufflevector(r.v, s.v, 2, 6, 3, 7));
        write_vector(column, Q(__builtin_shufflevector(a.v, b.v, 0, 1, 4, 5)), 4);
        write_vector(column + to_row, Q(__builtin_shufflevector(a.v, b.v, 2, 3, 6, 7)), 4);
        write_vector(column + 2 * to_row, Q(__builtin_shufflevector(c.v, d.v, 0, 1, 4, 5)), 4);
        write_vector(column + 3 * to_row, Q(__builtin_shufflevector(c.v, d.v, 2, 3, 6, 7)), 4);
      }
  }
};

/// The sums of four vectors' lanes.
template <class C, class Isa>
FLAGGEMS_HOST_INLINE simd<C, isa_baseline> totals_of(const simd<C, Isa>& a, const simd<C, Isa>& b,
                                                     const simd<C, Isa>& c, const simd<C, Isa>& d) {
  using Q = simd<C, isa_baseline>;
  const Q p = fold_to_four(a), q = fold_to_four(b), r = fold_to_four(c), s = fold_to_four(d);
  const Q ab(__builtin_shufflevector(p.v, q.v, 0, 4, 1, 5) +
             __builtin_shufflevector(p.v, q.v, 2, 6, 3, 7));
  const Q cd(__builtin_shufflevector(r.v, s.v, 0, 4, 1, 5) +
             __builtin_shufflevector(r.v, s.v, 2, 6, 3, 7));
  return Q(__builtin_shufflevector(ab.v, cd.v, 0, 1, 4, 5) +
           __builtin_shufflevector(ab.v, cd.v, 2, 3, 6, 7));
}

/// attention_softmax for `rows` rows of `n` scores each, a multiple of the lanes, from `line` on;
/// row r sees seen[r] keys. A NaN makes all of its row NaN, through its exponential.
template <class C, class Mask, class Place = coordinates>
struct attention_softmax_lines {
  struct arguments {
    C* line;
    i64 line_row, n;
    int rows;
    const i64* seen;
    const Mask& mask;
    const Place& batch;
    const i64 *head, *position;
    i64 start;  // of the keys
    C *largest, *total, *correction;
  };
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    C* line = p.line;
    for (int r = 0; r < p.rows; ++r, line += p.line_row)  // not unrolled: exp is long
      one_line<Isa>(line, p.n, p.seen[r], p.mask.row(p.batch, p.head[r], p.position[r], p.start),
                    p.largest[r], p.total[r], p.correction[r]);
  }

 private:
  template <class Isa, class MaskRow>
  FLAGGEMS_HOST_INLINE static void one_line(C* line, i64 n, i64 seen, const MaskRow& mask,
                                            C& largest, C& total, C& correction) {
    using V = simd<C, Isa>;
    constexpr i64 lanes = Isa::lanes;
    for (i64 j = seen; j < n; ++j) line[j] = lowest<C>();
    if constexpr (!is_same<MaskRow, no_mask>) {
      for (i64 j = 0; j < seen; j += lanes) {
        const lane_tail<Isa> lane{j, static_cast<int>(min_of(seen - j, lanes))};
        V s;
        read_vector(s, line + j);
        s = mask.template apply<C>(lane, s);
        write_vector(line + j, s, lane.count);
      }
    }
    V most(lowest<C>());
    for (i64 j = 0; j < n; j += lanes) {
      V s;
      read_vector(s, line + j);
      most = greater_of(s, most);
    }
    // Nothing seen so far: any number but -inf will do, all exponentials are 0.
    const C before = largest;
    const C now = greater_of(before, fold_lanes<C>(most, maximum_of{}));
    const C shift = now == lowest<C>() ? C(0) : now;
    const V by(shift);
    V sum(C(0));
    for (i64 j = 0; j < n; j += lanes) {
      V s;
      read_vector(s, line + j);
      s = exp_not_positive(V(s - by));
      write_vector(line + j, s, Isa::lanes);
      sum += s;
    }
    correction = exp_not_positive(C(before - shift));
    total = total * correction + total_of(sum);
    largest = now;
  }
};

/// A part, by its arguments.
template <class Part, class Block>
FLAGGEMS_HOST_INLINE auto block_part(const Block& block) {
  return block.template part<Part, typename Part::arguments>();
}

template <class T, class Key, class Out, class C, class Mask>
struct attention_host {
  static constexpr bool has_parts = true;
  static constexpr int rows = 6;                         // queries in registers
  static constexpr int tile = 64;                        // keys at a time
  static constexpr int least_rows = 36, most_rows = 96;  // queries that share a tile of keys

  /// The bytes of scratch that a launch needs.
  static constexpr i64 scratch(i64 head_size, i64 value_size) {
    const i64 depth = round_up(head_size, i64(16)), width = round_up(value_size, i64(16));
    return (most_rows * (depth + width + 2) + tile * (depth + max_of(depth, width) + rows)) *
               i64(sizeof(C)) +
           7 * 256;
  }

  template <class Block, class Space, class Logs>
  FLAGGEMS_HOST_INLINE static void run(Block& block, Space space, attention_arg<const T> q,
                                       attention_arg<const Key> k, attention_arg<const Key> v,
                                       Mask mask, attention_arg<Out> out, C scale, Logs logs) {
    using reading_query = read_lines<C, T, true>;
    using reading = read_lines<C, Key, false>;
    using transposing = transpose_lines<C>;
    using multiplying = multiply_rows<C, rows>;
    using place = typename Space::tile_type::place;
    using softmax = attention_softmax_lines<C, Mask, place>;
    using dividing = divide_line<C, Out>;
    const auto read_query = block_part<reading_query>(block);
    const auto read = block_part<reading>(block);
    const auto transpose = block_part<transposing>(block);
    const auto multiply = block_part<multiplying>(block);
    const auto weigh = block_part<softmax>(block);
    const auto divide = block_part<dividing>(block);
    const i64 lanes = multiply.lanes;
    const i64 width = round_up(space.value_size, i64(16)),
              depth = round_up(space.head_size, i64(16));
    C* const query = block.template scratch<C>(most_rows * depth).data;
    C* const sum = block.template scratch<C>(most_rows * width).data;
    C* const largest = block.template scratch<C>(most_rows).data;
    C* const total = block.template scratch<C>(most_rows).data;
    C* const lines = block.template scratch<C>(tile * max_of(depth, width)).data;
    C* const columns = block.template scratch<C>(tile * depth).data;
    C* const score = block.template scratch<C>(rows * tile).data;
    // Each worker should get several blocks of queries, all of about one size.
    const bool many = space.tiles(most_rows) >= 4 * block.count();
    const i64 share = space.share(many ? most_rows : least_rows, rows);
    block.for_each_tile(space.tiles(share), [&](i64 t) FLAGGEMS_LAMBDA {
      const auto here = space.tile(t, share);
      const i64 first = here.first, all_rows = here.rows;
      if (first >= all_rows) return;
      const i64 count = min_of(share, all_rows - first);
      const place& c = here.of_queries();
      const Key* const keys = k.at(here.of_keys());
      const Key* const values = v.at(here.of_keys());
      // Rows past the end repeat the last one: computed, not stored.
      const auto row_of = [&](i64 r) FLAGGEMS_LAMBDA { return min_of(first + r, all_rows - 1); };
      const auto position_of = [&](i64 row)
                                   FLAGGEMS_LAMBDA { return row - here.head(row) * here.queries; };
      const auto visible = [&](i64 r) FLAGGEMS_LAMBDA { return here.end(position_of(row_of(r))); };
      const i64 group_rows = round_up(count, i64(rows));
      i64 begin = here.keys, end = 0;  // keys that any row sees
      for (i64 r = 0; r < group_rows; ++r) {
        const i64 row = row_of(r);
        begin = min_of(begin, here.begin(position_of(row)));
        const T* const from = q.at(c) + here.head(row) * q.head + position_of(row) * q.position;
        read_query.call({from, 0, q.element, 1, space.head_size, query + r * depth, 0, scale});
        for (i64 e = 0; e < width; ++e) sum[r * width + e] = C(0);
        largest[r] = lowest<C>();
        total[r] = C(0);
        end = max_of(end, visible(r));
      }
      for (i64 start = begin; start < end; start += tile) {
        const i64 n = min_of(i64(tile), end - start);
        here.for_each_run(start, n, [&](i64 i, i64 some) FLAGGEMS_LAMBDA {
          read.call({here.key(k, keys, start + i), k.position, k.element, some, space.head_size,
                     lines + i * depth, depth, C(1)});
        });
        for (i64 at = n * depth; at < round_up(n, i64(16)) * depth; ++at) lines[at] = C(0);
        transpose.call({lines, depth, round_up(n, i64(16)), round_up(space.head_size, i64(4)),
                        columns, i64(tile)});
        here.for_each_run(start, n, [&](i64 i, i64 some) FLAGGEMS_LAMBDA {
          read.call({here.key(v, values, start + i), v.position, v.element, some, space.value_size,
                     lines + i * width, width, C(1)});
        });
        for (i64 g = 0; g < group_rows; g += rows) {
          i64 seen[rows], head[rows], position[rows], most = 0;
          for (int r = 0; r < rows; ++r) {
            const i64 row = row_of(g + r);
            head[r] = here.head(row);
            position[r] = position_of(row);
            seen[r] = min_of(n, max_of(i64(0), visible(g + r) - start));
            most = max_of(most, seen[r]);
          }
          if (most == 0) continue;
          // Lines are padded to a multiple of 16 lanes.
          const i64 padded = round_up(most, lanes);
          C correction[rows];
          multiply.call({query + g * depth, depth, columns, i64(tile), space.head_size, score,
                         i64(tile), nullptr, padded});
          weigh.call({score, i64(tile), padded, rows, seen, mask, c, head, position, start,
                      largest + g, total + g, correction});
          multiply.call({score, i64(tile), lines, width, most, sum + g * width, width, correction,
                         round_up(space.value_size, lanes)});
        }
      }
      for (i64 r = 0; r < count; ++r) {
        const i64 row = row_of(r);
        const i64 at_head = here.head(row), at = position_of(row);
        Out* const to = out.at(c) + at_head * out.head + at * out.position;
        divide.call({sum + r * width, space.value_size,
                     divisor_of(logs, c, at_head, largest[r], total[r]), to, out.element});
        keep_sums(logs, c, at_head, at, largest[r], total[r]);
      }
    });
  }
};

}  // namespace flaggems::kernels
