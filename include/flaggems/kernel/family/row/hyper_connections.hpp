// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Residual streams that a layer mixes (Xie et al., mHC: Manifold-Constrained Hyper-Connections,
// 2025): sums of streams, and small matrices that are made doubly stochastic (Sinkhorn and Knopp).
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// Steps between streams, of what is read and written, and of the weights.
struct stream_steps {
  i64 streams, outputs;
  i64 in, out;
  i64 weight_in, weight_out, added_out;
};

/// out i = added weight i * added + the sum over j of weight (j, i) * stream j, element by element;
/// without `added.data` that term is absent. `Outputs` of them are summed at a time.
template <class T, int Outputs>
struct mixed_streams {
  static constexpr i64 tile = 1024;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, const stream_steps& s,
                                  const row_arg<T>& streams, const row_arg<f32>& weights,
                                  const row_arg<T>& added, const row_arg<f32>& added_weights,
                                  const row_target<T>& out) {
    const i64 pieces = ceil_div(space.length, tile);
    block.for_each_tile(space.rows * pieces, [&](i64 k) FLAGGEMS_LAMBDA {
      const i64 row = k / pieces, begin = (k - row * pieces) * tile;
      const i64 n = min_of(tile, space.length - begin);
      const coordinates c = space.locate(row);
      const auto from = streams.at(c), more = added.at(c);
      const auto by = weights.at(c), more_by = added_weights.at(c);
      const auto to = out.at(c);
      for (i64 first = 0; first < s.outputs; first += Outputs) {
        const global_ptr<const f32> weight = by.data + first * s.weight_out;
        block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), f32>;
          V sums[Outputs];
          const auto have = [&](int i) FLAGGEMS_LAMBDA { return first + i < s.outputs; };
          V x(0.0F);
          if (more.data != nullptr)
            x = load<f32>(more.data + begin * more.stride, more.stride, lane);
          static_for<Outputs>([&](auto i) FLAGGEMS_LAMBDA {
            sums[i] = V(0.0F);
            if (more.data != nullptr && have(i))
              sums[i] = x * V(more_by.data[(first + i) * s.added_out]);
          });
          for (i64 j = 0; j < s.streams; ++j) {
            const V v = load<f32>(from.data + j * s.in + begin * from.stride, from.stride, lane);
            static_for<Outputs>([&](auto i) FLAGGEMS_LAMBDA {
              if (have(i)) sums[i] = sums[i] + v * V(weight[j * s.weight_in + i * s.weight_out]);
            });
          }
          static_for<Outputs>([&](auto i) FLAGGEMS_LAMBDA {
            if (have(i))
              store(to.data + (first + i) * s.out + begin * to.stride, to.stride, lane, sums[i]);
          });
        });
      }
    });
  }
};

/// Numbers of a lane: in registers where their number is known, else in memory, those of
/// neighbouring lanes side by side.
template <class C, class V, class Lane, int Count>
class lane_numbers {
 public:
  FLAGGEMS_INLINE lane_numbers(global_ptr<C>, i64, Lane) {}
  FLAGGEMS_INLINE V get(i64 k) const { return at_[k]; }
  FLAGGEMS_INLINE void set(i64 k, FLAGGEMS_VALUE(V) x) { at_[k] = x; }

 private:
  V at_[Count];
};
template <class C, class V, class Lane>
class lane_numbers<C, V, Lane, 0> {
 public:
  FLAGGEMS_INLINE lane_numbers(global_ptr<C> memory, i64 step, Lane lane)
      : memory_(memory), step_(step), lane_(lane) {}
  FLAGGEMS_INLINE V get(i64 k) const {
    return load<C>(global_ptr<const C>(memory_ + k * step_), lane_);
  }
  FLAGGEMS_INLINE void set(i64 k, FLAGGEMS_VALUE(V) x) { store(memory_ + k * step_, lane_, x); }

 private:
  global_ptr<C> memory_;
  i64 step_;
  Lane lane_;
};

/// `Count` of them; those of 0 in `memory`, `step` from one to the next.
template <class C, class V, int Count, class Lane>
FLAGGEMS_INLINE lane_numbers<C, V, Lane, Count> numbers_of_lane(global_ptr<C> memory, i64 step,
                                                                Lane lane) {
  return {memory, step, lane};
}

/// Matrices of n rows and columns, whose steps are these.
struct matrix_steps {
  i64 row, column;
  FLAGGEMS_INLINE i64 operator()(i64 i, i64 j) const { return i * row + j * column; }
};

/// How matrices are made doubly stochastic: from exp, or with `of_shares` from softmax along rows
/// plus eps, by `passes` divisions by sums plus eps, of columns, rows, columns, ...
template <class C>
struct balancing {
  i64 n, passes;
  C eps;
  bool of_shares;
};

/// A lane has a matrix of n = `Size` rows. With Size = 0, n is known at run time, and `memory` has
/// n
/// * n numbers for each matrix, those of one place side by side. `powers` may be null: the
/// exponentials.
template <class C, int Size>
struct balanced_matrices {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, const balancing<C>& how,
                                  const row_arg<C>& in, const matrix_steps& from,
                                  const row_target<C>& out, const matrix_steps& to,
                                  const row_target<C>& powers, const matrix_steps& powers_to,
                                  global_ptr<C> memory) {
    for_each_piece_of_rows(block, space, [&](i64 row, i64 begin, i64 count) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(row);
      const auto x = in.at(c);
      const auto y = out.at(c);
      const auto p = powers.at(c);
      const global_ptr<C> own = memory == nullptr ? memory : memory + row * space.length + begin;
      block.for_each_lane(count, [&](auto lane) FLAGGEMS_LAMBDA {
        using V = lane_value<decltype(lane), C>;
        const i64 n = Size > 0 ? Size : how.n;
        auto m = numbers_of_lane<C, V, Size * Size>(own, space.rows * space.length, lane);
        const auto read = [&](i64 i, i64 j) FLAGGEMS_LAMBDA {
          return load<C>(x.data + begin * x.stride + from(i, j), x.stride, lane);
        };
        for (i64 i = 0; i < n; ++i) {
          V most(C(0)), total(C(1));
          if (how.of_shares) {
            most = read(i, 0), total = V(C(0));
            for (i64 j = 1; j < n; ++j)
              most = maximum_of{}.template operator()<V>(most, read(i, j));
            for (i64 j = 0; j < n; ++j) total = total + exp(V(read(i, j) - most));
          }
          for (i64 j = 0; j < n; ++j) {
            const V e = exp(V(read(i, j) - most));
            if (p.data != nullptr)
              store(p.data + begin * p.stride + powers_to(i, j), p.stride, lane, e);
            m.set(i * n + j, how.of_shares ? V(e / total + V(how.eps)) : e);
          }
        }
        for (i64 pass = 0; pass < how.passes; ++pass) {
          const bool columns = pass % 2 == 0;
          for (i64 i = 0; i < n; ++i) {
            V total(how.eps);
            for (i64 j = 0; j < n; ++j) total = total + m.get(columns ? j * n + i : i * n + j);
            for (i64 j = 0; j < n; ++j) {
              const i64 k = columns ? j * n + i : i * n + j;
              m.set(k, m.get(k) / total);
            }
          }
        }
        for (i64 i = 0; i < n; ++i)
          for (i64 j = 0; j < n; ++j)
            store(y.data + begin * y.stride + to(i, j), y.stride, lane, m.get(i * n + j));
      });
    });
  }

  static constexpr i64 tile = 256;
  /// f(row, begin, count) for pieces of rows.
  template <class Block, class F>
  FLAGGEMS_INLINE static void for_each_piece_of_rows(Block& block, const row_space& space,
                                                     const F& f) {
    const i64 pieces = ceil_div(space.length, tile);
    block.for_each_tile(space.rows * pieces, [&](i64 k) FLAGGEMS_LAMBDA {
      const i64 row = k / pieces, begin = (k - row * pieces) * tile;
      f(row, begin, min_of(tile, space.length - begin));
    });
  }
};

/// The gradient of logarithms of matrices R that Sinkhorn's iteration has made doubly stochastic:
/// (G - u 1^T - 1 v^T) R element by element, where (u, v) solves [I R; R^T I] (u, v) = the sums of
/// R G along rows and columns, by `steps` steps of conjugate gradients from 0. `memory` has
/// n * n + 8 n numbers for each matrix.
template <class C, int Size>
struct balanced_matrices_gradient {
  static constexpr i64 tile = balanced_matrices<C, Size>::tile;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, i64 size, i64 steps,
                                  const row_arg<C>& results, const matrix_steps& of_results,
                                  const row_arg<C>& grads, const matrix_steps& of_grads,
                                  const row_target<C>& out, const matrix_steps& to,
                                  global_ptr<C> memory) {
    using pieces = balanced_matrices<C, Size>;
    pieces::for_each_piece_of_rows(
        block, space, [&](i64 row, i64 begin, i64 count) FLAGGEMS_LAMBDA {
          const coordinates c = space.locate(row);
          const auto results_row = results.at(c), grads_row = grads.at(c);
          const auto y = out.at(c);
          const global_ptr<C> own =
              memory == nullptr ? memory : memory + row * space.length + begin;
          block.for_each_lane(count, [&](auto lane) FLAGGEMS_LAMBDA {
            using V = lane_value<decltype(lane), C>;
            const i64 n = Size > 0 ? Size : size, both = 2 * n;
            // Keeps quotients finite where the residual is 0.
            const V tiny(is_same<C, f64> ? C(1e-30) : C(1e-10));
            // The solution, the residual, the direction and the matrix times it.
            const i64 all = space.rows * space.length;
            auto matrix = numbers_of_lane<C, V, Size * Size>(own, all, lane);
            auto state = numbers_of_lane<C, V, 8 * Size>(own == nullptr ? own : own + n * n * all,
                                                         all, lane);
            const i64 solution = 0, residual = both, direction = 2 * both, product = 3 * both;
            const auto r = [&](i64 i, i64 j) FLAGGEMS_LAMBDA { return matrix.get(i * n + j); };
            const auto g = [&](i64 i, i64 j) FLAGGEMS_LAMBDA {
              return load<C>(grads_row.data + begin * grads_row.stride + of_grads(i, j),
                             grads_row.stride, lane);
            };
            for (i64 i = 0; i < n; ++i)
              for (i64 j = 0; j < n; ++j)
                matrix.set(i * n + j,
                           load<C>(results_row.data + begin * results_row.stride + of_results(i, j),
                                   results_row.stride, lane));
            V squares(C(0));
            for (i64 i = 0; i < n; ++i) {
              V along(C(0)), across(C(0));
              for (i64 j = 0; j < n; ++j) {
                along = along + r(i, j) * g(i, j);
                across = across + r(j, i) * g(j, i);
              }
              state.set(residual + i, along), state.set(residual + n + i, across);
              squares = squares + along * along + across * across;
            }
            for (i64 k = 0; k < both; ++k) {
              state.set(solution + k, V(C(0)));
              state.set(direction + k, state.get(residual + k));
            }
            for (i64 step = 0; step < steps; ++step) {
              V curvature(C(0));
              for (i64 i = 0; i < n; ++i) {
                V along = state.get(direction + i), across = state.get(direction + n + i);
                for (i64 j = 0; j < n; ++j) {
                  along = along + r(i, j) * state.get(direction + n + j);
                  across = across + r(j, i) * state.get(direction + j);
                }
                state.set(product + i, along), state.set(product + n + i, across);
                curvature = curvature + state.get(direction + i) * along +
                            state.get(direction + n + i) * across;
              }
              const V length = squares / (curvature + tiny);
              V left(C(0));
              for (i64 k = 0; k < both; ++k) {
                state.set(solution + k,
                          state.get(solution + k) + length * state.get(direction + k));
                const V rest = state.get(residual + k) - length * state.get(product + k);
                state.set(residual + k, rest);
                left = left + rest * rest;
              }
              const V share = left / (squares + tiny);
              for (i64 k = 0; k < both; ++k)
                state.set(direction + k,
                          state.get(residual + k) + share * state.get(direction + k));
              squares = left;
            }
            for (i64 i = 0; i < n; ++i)
              for (i64 j = 0; j < n; ++j) {
                const V by = g(i, j) - state.get(solution + i) - state.get(solution + n + j);
                store(y.data + begin * y.stride + to(i, j), y.stride, lane, V(by * r(i, j)));
              }
          });
        });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/hyper_connections.hpp");
