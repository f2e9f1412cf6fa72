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

/// sum[r][v] += a[r][q] * b[q][v] for q < n: Rows lines of numbers times n rows of vectors.
template <class C, class Isa, int Rows, int Vectors>
FLAGGEMS_HOST_INLINE void multiply_rows(simd<C, Isa> (&sum)[Rows][Vectors], const C* a, i64 a_row,
                                        const C* b, i64 b_row, i64 n) {
  using V = simd<C, Isa>;
  const C* row[Rows];
  static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA { row[r] = a + r * a_row; });
#pragma GCC unroll 2
  for (i64 q = 0; q < n; ++q, b += b_row) {
    V y[Vectors];
    static_for<Vectors>([&](auto v) FLAGGEMS_LAMBDA { read_vector(y[v], b + v * Isa::lanes); });
    static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
      const V x = spread_from<C, Isa>(row[r] + q);
      static_for<Vectors>([&](auto v)
                              FLAGGEMS_LAMBDA { sum[r][v] = multiply_add<V>(x, y[v], sum[r][v]); });
    });
  }
}

/// to[e * to_row + j] = from[j * from_row + e], a multiple of four of both; in pieces of 4 x 4,
/// which are vectors at every level.
template <class C>
FLAGGEMS_HOST_INLINE void transpose_lines(const C* from, i64 from_row, i64 lines, i64 elements,
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

/// What attention_softmax does, for a line of whole vectors: `n` scores, a multiple of the lanes,
/// in `line`, of which `seen` are visible. A NaN makes all of the row NaN, through its exponential.
template <class C, class Isa, class MaskRow>
FLAGGEMS_HOST_INLINE C attention_softmax_line(C* line, i64 n, i64 seen, const MaskRow& mask,
                                              C& largest, C& total) {
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
  const C correction = exp_not_positive(C(before - shift));
  total = total * correction + total_of(sum);
  largest = now;
  return correction;
}

template <class T, class Key, class Out, class C, class Mask>
struct attention_host {
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

  template <class Block>
  FLAGGEMS_HOST_INLINE static void run(Block& block, attention_space space,
                                       attention_arg<const T> q, attention_arg<const Key> k,
                                       attention_arg<const Key> v, Mask mask,
                                       attention_arg<Out> out, C scale) {
    using isa = typename Block::isa;
    using V = simd<C, isa>;
    // 64-bit lanes fill two registers.
    constexpr int vectors = sizeof(C) == 8 ? 1 : isa::bytes == 64 ? 4 : 2;
    constexpr i64 lanes = isa::lanes;
    const i64 width = round_up(space.value_size, i64(16)),
              depth = round_up(space.head_size, i64(16));
    const auto query = block.template scratch<C>(most_rows * depth);
    const auto sum = block.template scratch<C>(most_rows * width);
    C* const largest = block.template scratch<C>(most_rows).data;
    C* const total = block.template scratch<C>(most_rows).data;
    const auto lines = block.template scratch<C>(tile * max_of(depth, width));
    C* const columns = block.template scratch<C>(tile * depth).data;
    const auto score = block.template scratch<C>(rows * tile);
    const i64 all_rows = space.group * space.queries;
    // Each worker should get several blocks of queries, all of about one size.
    const bool many = space.batches * ceil_div(all_rows, i64(most_rows)) >= 4 * block.count();
    const i64 share = round_up(
        ceil_div(all_rows, ceil_div(all_rows, i64(many ? most_rows : least_rows))), i64(rows));
    const i64 blocks = ceil_div(all_rows, share);
    // `n` keys or values from `start` on as lines of C.
    const auto read = [&](const attention_arg<const Key>& from, const Key* data, i64 start, i64 n,
                          i64 size, i64 row) FLAGGEMS_LAMBDA {
      for (i64 j = 0; j < n; ++j)
        block.for_each_lane(size, [&](auto lane) FLAGGEMS_LAMBDA {
          store(lines.from(j * row), lane,
                load<C>(data + (start + j) * from.position, from.element, lane));
        });
    };
    block.for_each_tile(space.batches * blocks, [&](i64 t) FLAGGEMS_LAMBDA {
      const i64 batch = t / blocks, first = (t - batch * blocks) * share;
      const i64 count = min_of(share, all_rows - first);
      const coordinates c = space.locate(batch);
      const Key* const keys = k.at(c);
      const Key* const values = v.at(c);
      // Rows beyond the last are the last one again: computed, not stored.
      const auto row_of = [&](i64 r) FLAGGEMS_LAMBDA { return min_of(first + r, all_rows - 1); };
      const auto visible = [&](i64 r) FLAGGEMS_LAMBDA {
        const i64 last = row_of(r) % space.queries + space.diagonal;
        return max_of(i64(0), min_of(space.keys, last + 1));
      };
      const i64 group_rows = round_up(count, i64(rows));
      i64 end = 0;  // keys that any row sees
      for (i64 r = 0; r < group_rows; ++r) {
        const i64 row = row_of(r);
        const T* const from =
            q.at(c) + row / space.queries * q.head + row % space.queries * q.position;
        block.for_each_lane(space.head_size, [&](auto lane) FLAGGEMS_LAMBDA {
          store(query.from(r * depth), lane, V(load<C>(from, q.element, lane) * V(scale)));
        });
        for (i64 e = 0; e < width; ++e) sum.write(r * width + e, C(0));
        largest[r] = lowest<C>();
        total[r] = C(0);
        end = max_of(end, visible(r));
      }
      for (i64 start = 0; start < end; start += tile) {
        const i64 n = min_of(i64(tile), end - start);
        read(k, keys, start, n, space.head_size, depth);
        for (i64 at = n * depth; at < round_up(n, i64(16)) * depth; ++at) lines.write(at, C(0));
        transpose_lines<C>(lines.data, depth, round_up(n, i64(16)),
                           round_up(space.head_size, i64(4)), columns, tile);
        read(v, values, start, n, space.value_size, width);
        for (i64 g = 0; g < group_rows; g += rows) {
          i64 seen[rows], most = 0;
          static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
            seen[r] = min_of(n, max_of(i64(0), visible(g + r) - start));
            most = max_of(most, seen[r]);
          });
          if (most == 0) continue;
          const auto multiply = [&](auto count_of, const C* a, i64 a_row, const C* b, i64 b_row,
                                    i64 steps, C* to, i64 to_row, const C* factor) FLAGGEMS_LAMBDA {
            constexpr int per_step = decltype(count_of)::value;
            V acc[rows][per_step];
            static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
              static_for<per_step>([&](auto e) FLAGGEMS_LAMBDA {
                if (factor == nullptr) {
                  acc[r][e] = V(C(0));
                } else {
                  read_vector(acc[r][e], to + r * to_row + e * lanes);
                  acc[r][e] = acc[r][e] * spread_from<C, isa>(factor + r);
                }
              });
            });
            multiply_rows(acc, a, a_row, b, b_row, steps);
            static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
              static_for<per_step>([&](auto e) FLAGGEMS_LAMBDA {
                write_vector(to + r * to_row + e * lanes, acc[r][e], isa::lanes);
              });
            });
          };
          // The padding of the lines is whole vectors of 16 lanes.
          const i64 padded = round_up(most, lanes);
          for (i64 j = 0; j < padded;) {
            const C* const b = columns + j;
            const C* const a = query.data + g * depth;
            if (j + vectors * lanes <= padded) {
              multiply(int_constant<vectors>{}, a, depth, b, i64(tile), space.head_size,
                       score.data + j, i64(tile), static_cast<const C*>(nullptr));
              j += vectors * lanes;
            } else {
              multiply(int_constant<1>{}, a, depth, b, i64(tile), space.head_size, score.data + j,
                       i64(tile), static_cast<const C*>(nullptr));
              j += lanes;
            }
          }
          C correction[rows];
          for (int r = 0; r < rows; ++r) {  // not unrolled: exp is long
            const i64 row = row_of(g + r);
            const auto masked = mask.row(c, row / space.queries, row % space.queries, start);
            correction[r] = attention_softmax_line<C, isa>(score.data + r * tile, padded, seen[r],
                                                           masked, largest[g + r], total[g + r]);
          }
          const i64 value_lanes = round_up(space.value_size, lanes);
          for (i64 e = 0; e < value_lanes;) {
            C* const to = sum.data + g * width + e;
            if (e + vectors * lanes <= value_lanes) {
              multiply(int_constant<vectors>{}, score.data, i64(tile), lines.data + e, width, most,
                       to, width, correction);
              e += vectors * lanes;
            } else {
              multiply(int_constant<1>{}, score.data, i64(tile), lines.data + e, width, most, to,
                       width, correction);
              e += lanes;
            }
          }
        }
      }
      for (i64 r = 0; r < count; ++r) {
        const i64 row = row_of(r);
        Out* const to =
            out.at(c) + row / space.queries * out.head + row % space.queries * out.position;
        // No key seen: 0, an empty sum. (Otherwise the largest score adds 1 to the total.)
        const C divisor = total[r] == C(0) ? C(1) : total[r];
        block.for_each_lane(space.value_size, [&](auto lane) FLAGGEMS_LAMBDA {
          store(to, out.element, lane, V(load<C>(sum.from(r * width), lane) / V(divisor)));
        });
      }
    });
  }
};

/// Few queries (4 at most, all that share a key head: a step of generation): keys and values are
/// read where they lie, contiguous along their elements, a tile of them at a time.
template <class T, class Key, class Out, class C, class Mask>
struct attention_host_few {
  static constexpr int tile = 64;
  static constexpr int most_rows = 4;

  /// What a part finds of a row: its weighted sum of values, its largest score, its sum of
  /// exponentials.
  static constexpr i64 found(i64 value_size) { return round_up(value_size, i64(16)) + 16; }

  static constexpr i64 scratch(i64 head_size, i64 value_size) {
    const i64 depth = round_up(head_size, i64(16)), width = round_up(value_size, i64(16));
    return most_rows * (depth + width + 2 * tile) * i64(sizeof(C)) + 4 * 256;
  }

  template <class Block>
  FLAGGEMS_HOST_INLINE static void run(Block& block, attention_space space,
                                       attention_arg<const T> q, attention_arg<const Key> k,
                                       attention_arg<const Key> v, Mask mask,
                                       attention_arg<Out> out, C scale, i64 parts, i64 length,
                                       C* partial) {
    // Two texts, not four: two or three rows are four, the last one again and not stored.
    if (space.group * space.queries == 1)
      run_rows<1>(block, space, q, k, v, mask, out, scale, parts, length, partial);
    else
      run_rows<most_rows>(block, space, q, k, v, mask, out, scale, parts, length, partial);
  }

 private:
  // Keys are read while values come, and values while keys do.
  FLAGGEMS_HOST_INLINE static void fetch_row(const Key* p, i64 n) {
    for (i64 at = 0; at < n; at += 64 / i64(sizeof(Key))) __builtin_prefetch(p + at);
  }

  template <int Rows, class Block>
  FLAGGEMS_HOST_INLINE static void run_rows(Block& block, const attention_space& space,
                                            const attention_arg<const T>& q,
                                            const attention_arg<const Key>& k,
                                            const attention_arg<const Key>& v, const Mask& mask,
                                            const attention_arg<Out>& out, C scale, i64 parts,
                                            i64 length, C* partial) {
    using isa = typename Block::isa;
    using V = simd<C, isa>;
    constexpr i64 lanes = isa::lanes;
    const i64 width = round_up(space.value_size, i64(16)),
              depth = round_up(space.head_size, i64(16));
    const auto query = block.template scratch<C>(Rows * depth);
    const auto sum = block.template scratch<C>(Rows * width);
    const auto score = block.template scratch<C>(Rows * tile);
    const auto by_key = block.template scratch<C>(Rows * tile);
    const int rows = static_cast<int>(space.group * space.queries);
    block.for_each_tile(space.batches * parts, [&](i64 t) FLAGGEMS_LAMBDA {
      const i64 batch = t / parts, begin = (t - batch * parts) * length;
      const coordinates c = space.locate(batch);
      const Key* const keys = k.at(c);
      const Key* const values = v.at(c);
      i64 head[Rows], position[Rows], visible[Rows], end = 0;
      C largest[Rows], total[Rows], correction[Rows];
      for (int r = 0; r < Rows; ++r) {
        const i64 row = min_of(r, rows - 1);
        head[r] = row / space.queries;
        position[r] = row - head[r] * space.queries;
        visible[r] = max_of(i64(0), min_of(space.keys, position[r] + space.diagonal + 1));
        end = max_of(end, visible[r]);
        largest[r] = lowest<C>();
        total[r] = C(0);
        const T* const from = q.at(c) + head[r] * q.head + position[r] * q.position;
        block.for_each_lane(space.head_size, [&](auto lane) FLAGGEMS_LAMBDA {
          store(query.from(r * depth), lane, V(load<C>(from, q.element, lane) * V(scale)));
        });
        for (i64 e = 0; e < width; ++e) sum.write(r * width + e, C(0));
      }
      end = min_of(end, begin + length);
      for (i64 start = begin; start < end; start += tile) {
        const i64 n = min_of(i64(tile), end - start);
        // Four products are summed jointly: rows of one key, which are then transposed, or keys.
        constexpr int at_once = Rows == 1 ? 4 : 2;  // keys for which the queries are read once
        for (i64 j = 0; j < n; j += at_once) {
          const Key* key[at_once];
          V dot[at_once][Rows];
          static_for<at_once>([&](auto e) FLAGGEMS_LAMBDA {
            key[e] = keys + min_of(start + j + e, end - 1) * k.position;
            fetch_row(values + (start + j + e) * v.position, space.value_size);
            static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA { dot[e][r] = V(C(0)); });
          });
          block.for_each_lane(space.head_size, [&](auto lane) FLAGGEMS_LAMBDA {
            V y[at_once];
            static_for<at_once>([&](auto e) FLAGGEMS_LAMBDA { y[e] = load<C>(key[e], lane); });
            static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
              const V x = load<C>(query.from(r * depth), lane);
              static_for<at_once>(
                  [&](auto e) FLAGGEMS_LAMBDA { dot[e][r] = multiply_add<V>(x, y[e], dot[e][r]); });
            });
          });
          if constexpr (Rows == 1) {
            write_vector(score.data + j, totals_of(dot[0][0], dot[1][0], dot[2][0], dot[3][0]), 4);
          } else {
            static_for<at_once>([&](auto e) FLAGGEMS_LAMBDA {
              write_vector(by_key.data + (j + e) * Rows,
                           totals_of(dot[e][0], dot[e][1], dot[e][2], dot[e][3]), 4);
            });
          }
        }
        const i64 padded = round_up(n, i64(16));
        if constexpr (Rows > 1)
          transpose_lines<C>(by_key.data, Rows, padded, Rows, score.data, tile);
        for (int r = 0; r < Rows; ++r)  // not unrolled: exp is long
          correction[r] = attention_softmax_line<C, isa>(
              score.data + r * tile, padded, min_of(n, max_of(i64(0), visible[r] - start)),
              mask.row(c, head[r], position[r], start), largest[r], total[r]);
        const auto add_values = [&](auto count, auto lane) FLAGGEMS_LAMBDA {
          constexpr int vectors = decltype(count)::value;
          V acc[Rows][vectors];
          C* const to = sum.data + lane.begin;
          static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
            const V factor = spread_from<C, isa>(correction + r);
            static_for<vectors>([&](auto e) FLAGGEMS_LAMBDA {
              read_vector(acc[r][e], to + r * width + e * lanes);
              acc[r][e] = acc[r][e] * factor;
            });
          });
          const Key* value = values + start * v.position;
          const Key* next = keys + (start + tile) * k.position;
          for (i64 j = 0; j < n; ++j, value += v.position, next += k.position) {
            if (lane.begin == 0) fetch_row(next, space.head_size);
            V y[vectors];
            static_for<vectors>([&](auto e) FLAGGEMS_LAMBDA {
              auto at = lane;
              at.begin += e * lanes;
              y[e] = load<C>(value, at);
            });
            static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
              const V x = spread_from<C, isa>(score.data + r * tile + j);
              static_for<vectors>(
                  [&](auto e) FLAGGEMS_LAMBDA { acc[r][e] = multiply_add<V>(x, y[e], acc[r][e]); });
            });
          }
          static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
            static_for<vectors>([&](auto e) FLAGGEMS_LAMBDA {
              write_vector(to + r * width + e * lanes, acc[r][e], isa::lanes);
            });
          });
        };
        i64 e = 0;
        for (; e + 2 * lanes <= space.value_size; e += 2 * lanes)
          add_values(int_constant<2>{}, lane_vector<isa>{e});
        block.for_each_lane(space.value_size - e, [&](auto lane) FLAGGEMS_LAMBDA {
          lane.begin += e;
          add_values(int_constant<1>{}, lane);
        });
      }
      if (parts > 1) {
        for (int r = 0; r < rows; ++r) {
          C* const to = partial + (t * rows + r) * found(space.value_size);
          for (i64 e = 0; e < width; e += lanes) {
            V x;
            read_vector(x, sum.data + r * width + e);
            write_vector(to + e, x, isa::lanes);
          }
          to[width] = largest[r];
          to[width + 1] = total[r];
        }
        return;
      }
      for (int r = 0; r < rows; ++r) {
        Out* const to = out.at(c) + head[r] * out.head + position[r] * out.position;
        // No key seen: 0, an empty sum. (Otherwise the largest score adds 1 to the total.)
        const C divisor = total[r] == C(0) ? C(1) : total[r];
        block.for_each_lane(space.value_size, [&](auto lane) FLAGGEMS_LAMBDA {
          store(to, out.element, lane, V(load<C>(sum.from(r * width), lane) / V(divisor)));
        });
      }
    });
  }
};

/// Combines the partial results of attention_host_few.
template <class Out, class C>
struct attention_host_merge {
  template <class Block>
  FLAGGEMS_HOST_INLINE static void run(Block& block, attention_space space, attention_arg<Out> out,
                                       i64 parts, const C* partial) {
    using V = typename Block::template value<C>;
    const i64 rows = space.group * space.queries;
    const i64 width = round_up(space.value_size, i64(16)), found = width + 16;
    block.for_each_tile(space.batches * rows, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 batch = tile / rows, row = tile - batch * rows;
      const C* const first = partial + (batch * parts * rows + row) * found;
      C largest = lowest<C>(), total = C(0);
      for (i64 p = 0; p < parts; ++p)
        largest = maximum_of{}.template operator()<C>(largest, first[p * rows * found + width]);
      const C shift = largest == lowest<C>() ? C(0) : largest;
      for (i64 p = 0; p < parts; ++p) {
        const C* const part = first + p * rows * found;
        total += part[width + 1] * exp(C(part[width] - shift));
      }
      // No key seen: 0, an empty sum.
      const C divisor = total == C(0) ? C(1) : total;
      Out* const to = out.at(space.locate(batch)) + row / space.queries * out.head +
                      row % space.queries * out.position;
      block.for_each_lane(space.value_size, [&](auto lane) FLAGGEMS_LAMBDA {
        V sum(C(0));
        for (i64 p = 0; p < parts; ++p) {
          const C* const part = first + p * rows * found;
          const C factor = exp(C(part[width] - shift)) / divisor;
          sum = multiply_add<V>(V(factor), load<C>(part, lane), sum);
        }
        store(to, out.element, lane, sum);
      });
    });
  }
};

}  // namespace flaggems::kernels
