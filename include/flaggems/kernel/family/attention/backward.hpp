// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of attention. Weights are computed again from the scores and from the logarithms
// of the sums of exponentials, so that memory does not depend on the lengths. Queries and keys each
// have a pass of their own: a gradient is summed by one block, in one order.
#pragma once

#include <flaggems/kernel/family/attention/sequences.hpp>

namespace flaggems::kernels {

/// Whose gradients a pass computes: a tile's rows are queries or keys, and it passes over the
/// others.
enum class attention_side { queries, keys };

/// The operands of a pass, of T: a row is a line of `row` and one of `row_value`, which are query
/// and grad_out, or key and value; `other` and `other_value` are those of the other side. `dots`
/// has, of each query, the sum of grad_out * out.
template <class T, class C>
struct attention_backward_args {
  attention_arg<const T> row, row_value, other, other_value;
  attention_arg<const C> logs, dots;
  attention_arg<T> grad, grad_value;  // of row, and on the side of keys of row_value
  C scale;
};

/// A block's rows of one side, from `first` on, and what they are of: position i sees the keys from
/// i - left to i + diagonal. Rows that are queries are those of all heads that share keys.
struct attention_gradient_rows {
  coordinates of_queries, of_keys;
  i64 first, queries, keys, diagonal, left;
};

/// The problem of a pass; a `left` of `queries` lets a position see all keys before it.
struct attention_gradient_problem : attention_space {
  i64 left;
  template <attention_side Side>
  FLAGGEMS_INLINE i64 row_tiles(i64 rows) const {
    return ceil_div(Side == attention_side::queries ? group * queries : keys, rows);
  }
  template <attention_side Side>
  FLAGGEMS_INLINE i64 gradient_tiles(i64 rows) const {
    return batches * row_tiles<Side>(rows);
  }
  template <attention_side Side>
  FLAGGEMS_INLINE attention_gradient_rows gradient_rows(i64 t, i64 rows) const {
    const i64 each = row_tiles<Side>(rows), batch = t / each;
    const coordinates c = locate(batch);
    return {c, c, (t - batch * each) * rows, queries, keys, diagonal, left};
  }
};

/// The same of sequences, without pages.
struct sequence_gradient_problem : sequence_space {
  template <attention_side Side>
  FLAGGEMS_INLINE i64 row_tiles(i64 rows) const {
    return (Side == attention_side::queries ? group * total_queries : total_keys) / rows + count;
  }
  template <attention_side Side>
  FLAGGEMS_INLINE i64 gradient_tiles(i64 rows) const {
    return key_heads * row_tiles<Side>(rows);
  }
  template <attention_side Side>
  FLAGGEMS_INLINE attention_gradient_rows gradient_rows(i64 t, i64 rows) const {
    const i64 each = row_tiles<Side>(rows), head = t / each, at = t - head * each;
    const auto first_tile = [&](i64 s) FLAGGEMS_LAMBDA {
      return (Side == attention_side::queries ? group * start(s) : bounds(s).key) / rows + s;
    };
    const i64 s = last_before(at, first_tile);
    const sequence_bounds here = bounds(s);
    attention_gradient_rows r;
    r.of_queries.rank = r.of_keys.rank = 2;
    r.of_queries.inner = r.of_keys.inner = 0;
    r.of_queries.at[0] = here.begin;
    r.of_keys.at[0] = here.key;
    r.of_queries.at[1] = r.of_keys.at[1] = head;
    r.first = (at - first_tile(s)) * rows;
    r.queries = here.queries;
    r.keys = here.keys;
    r.diagonal = here.diagonal(right);
    r.left = left < 0 ? here.queries : left - (here.keys - here.queries);
    return r;
  }
};

template <class T, class C, class Mask, attention_side Side, stepping Steps>
struct attention_backward {
  static constexpr bool of_queries = Side == attention_side::queries;
  static constexpr int rows = 4;     // at a time
  static constexpr int columns = 2;  // others whose scores are in registers
  static constexpr int tile = 64;    // others at a time

  template <class Block, class Space>
  FLAGGEMS_INLINE static void run(Block& block, Space space, attention_backward_args<T, C> x,
                                  Mask mask) {
    const i64 depth = round_up(space.head_size, 16), width = round_up(space.value_size, 16);
    const auto row_at = block.template scratch<C>(rows * depth);
    const auto value_at = block.template scratch<C>(rows * width);
    const auto weights = block.template scratch<C>(rows * tile);
    const auto slopes = block.template scratch<C>(rows * tile);  // of the scores
    const auto sum = block.template scratch<C>(rows * depth);
    const auto value_sum = block.template scratch<C>(of_queries ? 0 : rows * width);
    block.for_each_tile(space.template gradient_tiles<Side>(rows), [&](i64 t) FLAGGEMS_LAMBDA {
      const attention_gradient_rows here = space.template gradient_rows<Side>(t, rows);
      const i64 all_rows = of_queries ? space.group * here.queries : here.keys;
      const i64 others = of_queries ? here.keys : here.queries, first = here.first;
      if (first >= all_rows) return;
      const coordinates &c = of_queries ? here.of_queries : here.of_keys,
                        &of_others = of_queries ? here.of_keys : here.of_queries;
      // Rows past the end repeat the last one: computed, not stored. A row sees the others, or is
      // seen by them, from one to another.
      i64 head[rows], position[rows], from[rows], to[rows];
      i64 begin = others, end = 0;  // those of any row
      static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
        const i64 row = min_of(first + r, all_rows - 1);
        head[r] = of_queries ? row / here.queries : 0;
        position[r] = of_queries ? row - head[r] * here.queries : row;
        from[r] = max_of(i64(0), position[r] - (of_queries ? here.left : here.diagonal));
        to[r] = min_of(others, position[r] + (of_queries ? here.diagonal : here.left) + 1);
        begin = min_of(begin, from[r]);
        end = max_of(end, to[r]);
      });
      // Of a row that is a query.
      C shift[rows], dot[rows];
      block.sync();  // the scratch may still be read
      for (int r = 0; r < rows; ++r) {
        if constexpr (of_queries) {
          shift[r] = finite(x.logs.at(c)[head[r] * x.logs.head + position[r] * x.logs.position]);
          dot[r] = x.dots.at(c)[head[r] * x.dots.head + position[r] * x.dots.position];
        }
        const auto line = x.row.at(c) + head[r] * x.row.head + position[r] * x.row.position;
        block.for_each_lane(space.head_size, [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), C>;
          store(row_at.from(r * depth), lane, V(load<C>(line, x.row.element, lane) * V(x.scale)));
          store(sum.from(r * depth), lane, V(C(0)));
        });
        const auto values =
            x.row_value.at(c) + head[r] * x.row_value.head + position[r] * x.row_value.position;
        block.for_each_lane(space.value_size, [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), C>;
          store(value_at.from(r * width), lane, V(load<C>(values, x.row_value.element, lane)));
          if constexpr (!of_queries) store(value_sum.from(r * width), lane, V(C(0)));
        });
      }
      const i64 heads = of_queries ? 1 : space.group;
      for (i64 h = 0; h < heads; ++h) {
        const auto others_at = x.other.at(of_others) + h * x.other.head;
        const auto values_at = x.other_value.at(of_others) + h * x.other_value.head;
        for (i64 start = begin; start < end; start += tile) {
          const i64 n = min_of(i64(tile), end - start);
          block.sync();  // the rows are written, the weights of the tile before are read
          multiply(block, space.head_size, n, others_at + start * x.other.position, x.other, row_at,
                   depth, weights);
          multiply(block, space.value_size, n, values_at + start * x.other_value.position,
                   x.other_value, value_at, width, slopes);
          block.sync();
          for (int r = 0; r < rows; ++r) {  // not unrolled: exp is long
            const auto line = weights.from(r * tile), slope = slopes.from(r * tile);
            const auto masked = of_queries ? mask.row(here.of_queries, head[r], position[r], start)
                                           : mask.column(here.of_queries, h, start, position[r]);
            const i32 seen_from = i32(max_of(i64(0), from[r] - start)),
                      seen_to = i32(max_of(i64(0), min_of(n, to[r] - start)));
            block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA {
              using V = lane_value<decltype(lane), C>;
              using J = lane_value<decltype(lane), i32>;
              V by, product;
              if constexpr (of_queries) {
                by = V(shift[r]);
                product = V(dot[r]);
              } else {
                const auto logs = x.logs.at(of_others) + h * x.logs.head;
                const auto dots = x.dots.at(of_others) + h * x.dots.head;
                by = finite(V(load<C>(logs + start * x.logs.position, x.logs.position, lane)));
                product = V(load<C>(dots + start * x.dots.position, x.dots.position, lane));
              }
              const V s = masked.template apply<C>(lane, V(load<C>(line, lane)));
              const J j = iota<i32>(lane);
              const V none(C(0));
              V weight = exp(V(s - by));
              weight = select(j < J(seen_from), none, select(j < J(seen_to), weight, none));
              V change = weight * (V(load<C>(slope, lane)) - product);
              change = select(j < J(seen_from), none, select(j < J(seen_to), change, none));
              store(line, lane, weight);
              store(slope, lane, change);
            });
          }
          block.sync();
          add_lines(block, space.head_size, n, others_at + start * x.other.position, x.other,
                    slopes, sum, depth);
          if constexpr (!of_queries)
            add_lines(block, space.value_size, n, values_at + start * x.other_value.position,
                      x.other_value, weights, value_sum, width);
        }
      }
      for (int r = 0; r < rows; ++r) {
        if (first + r >= all_rows) continue;
        const auto line = x.grad.at(c) + head[r] * x.grad.head + position[r] * x.grad.position;
        block.for_each_lane(space.head_size, [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), C>;
          store(line, x.grad.element, lane, V(load<C>(sum.from(r * depth), lane) * V(x.scale)));
        });
        if constexpr (!of_queries) {
          const auto values = x.grad_value.at(c) + position[r] * x.grad_value.position;
          block.for_each_lane(space.value_size, [&](auto lane) FLAGGEMS_LAMBDA {
            store(values, x.grad_value.element, lane, load<C>(value_sum.from(r * width), lane));
          });
        }
      }
    });
  }

 private:
  /// A logarithm; 0 where no key is seen, so that the exponential of no score is 0.
  template <class V>
  FLAGGEMS_INLINE static V finite(const V& x) {
    return select(x == V(lowest<C>()), V(C(0)), x);
  }
  template <class Lane>
  FLAGGEMS_INLINE static lane_value<Lane, C> element(global_ptr<const T> p, i64 stride, Lane lane) {
    if constexpr (Steps == stepping::strided)
      return load<C>(p, stride, lane);
    else
      return load<C>(p, lane);
  }

  /// to[r * tile + j] = the product of row r and of the line of n from `line` on.
  template <class Block, class Array>
  FLAGGEMS_INLINE static void multiply(Block& block, i64 size, i64 n, global_ptr<const T> line,
                                       const attention_arg<const T>& arg, const Array& row,
                                       i64 row_size, const Array& to) {
    for (i64 j = 0; j < n; j += columns) {
      global_ptr<const T> other[columns];
      static_for<columns>(
          [&](auto e) FLAGGEMS_LAMBDA { other[e] = line + min_of(j + e, n - 1) * arg.position; });
      C dots[rows * columns];
      block.template accumulate<rows * columns, C>(
          size, dots, [&](auto lane, auto& acc) FLAGGEMS_LAMBDA {
            using V = lane_value<decltype(lane), C>;
            V y[columns];
            static_for<columns>(
                [&](auto e) FLAGGEMS_LAMBDA { y[e] = element(other[e], arg.element, lane); });
            static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
              const V x = load<C>(row.from(r * row_size), lane);
              static_for<columns>([&](auto e) FLAGGEMS_LAMBDA {
                constexpr int at = decltype(r)::value * columns + decltype(e)::value;
                acc[at] = multiply_add<V>(x, y[e], acc[at]);
              });
            });
          });
      block.single([&]() FLAGGEMS_LAMBDA {
        static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
          static_for<columns>(
              [&](auto e) FLAGGEMS_LAMBDA { to.write(r * tile + j + e, dots[r * columns + e]); });
        });
      });
    }
  }

  /// to[r] += the sum of the n lines from `line` on, times factor[r * tile + j].
  template <class Block, class Array>
  FLAGGEMS_INLINE static void add_lines(Block& block, i64 size, i64 n, global_ptr<const T> line,
                                        const attention_arg<const T>& arg, const Array& factor,
                                        const Array& to, i64 row_size) {
    block.for_each_lane(size, [&](auto lane) FLAGGEMS_LAMBDA {
      using V = lane_value<decltype(lane), C>;
      V acc[rows];
      static_for<rows>([&](auto r)
                           FLAGGEMS_LAMBDA { acc[r] = load<C>(to.from(r * row_size), lane); });
      global_ptr<const T> other = line;
      for (i64 j = 0; j < n; ++j, other += arg.position) {
        const V y = element(other, arg.element, lane);
        static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
          acc[r] = multiply_add<V>(V(factor.read(r * tile + j)), y, acc[r]);
        });
      }
      static_for<rows>([&](auto r) FLAGGEMS_LAMBDA { store(to.from(r * row_size), lane, acc[r]); });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/backward.hpp");
