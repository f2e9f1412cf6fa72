// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The norms of norm.hpp on a chip, where the elements of each row, less than 2^30, are contiguous,
// and so are weight and bias.
#pragma once

#include <flaggems/kernels/norm.hpp>
#include <flaggems/kernels/rows_chip.hpp>

namespace flaggems::kernels {

/// The most threads of a block whose threads hold so much.
template <int Packs, int Rows>
inline constexpr int norm_threads = Rows > 1 ? 512 : 1024;

/// A power of two by which differences from a mean are multiplied before they are squared, so that
/// the squares of what rounding the mean left are finite; it is 1 for means of ordinary size.
template <class C>
FLAGGEMS_INLINE C square_scale(C mean) {
  constexpr int digits = exponent_bias<C> / 2;
  return abs(mean) > power_of_two<C>(digits) ? power_of_two<C>(-digits) : C(1);
}

/// The values of a window times the weights of the same elements, if there are any.
template <bool Whole, class C, int Width, class W>
FLAGGEMS_INLINE window_values<C, Width> weighted(window_values<C, Width> x,
                                                 global_ptr<const W> weight, int at, int n,
                                                 bool inside) {
  if (weight != nullptr) {
    const auto w = load_window<Whole, C, Width>(weight, at, n, inside, C(0));
    FLAGGEMS_CHIP_UNROLL
    for (int j = 0; j < Width; ++j) x.at[j] = x.at[j] * w.at[j];
  }
  return x;
}

/// layer_norm
template <class T, class W, class Out, class C, int Packs, int Rows, bool Whole>
struct layer_norm_chip {
  static constexpr int max_threads = norm_threads<Packs, Rows>;
  using share = row_share<T, Packs, Whole>;
  static constexpr int width = share::width;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const norm_space& space, row_teams teams,
                                  const row_arg<T>& in, const row_arg<W>& weight,
                                  const row_arg<W>& bias, const row_target<Out>& out, C eps) {
    const int lane = teams.lane(block), size = teams.threads(block);
    const C part = C(1) / static_cast<C>(space.length);
    teams.for_each<Rows>(block, space.rows, [&](i64 first, i64 step) FLAGGEMS_LAMBDA {
      share x[Rows];
      global_ptr<const T> from[Rows];
      global_ptr<Out> to[Rows];
      C means[Rows];
      indexed<C, C> sums[Rows];
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r)
        take_row(space, space.outer_rank, first + r * step, in, out, lane, size, C(0), x[r],
                 from[r], to[r]);
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r) {
        C sum = C(0);
        // Divided before they are added: the sum of large numbers is one that C may not have.
        x[r].template for_held<C>([&](auto v, int, bool) FLAGGEMS_LAMBDA {
          FLAGGEMS_CHIP_UNROLL
          for (int j = 0; j < decltype(v)::count; ++j) sum = fma(v.at[j], part, sum);
        });
        means[r] = sum;
      }
      teams.fold<Rows, C>(block, means, C(0), plus{});
      // So far a mean is an estimate, of a long row that of the part that is held. The differences
      // from it tell what it is off, and their squares, less that, the variance.
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r) {
        x[r].refresh();
        const C scale = square_scale(means[r]), estimate = means[r] * scale;
        indexed<C, C> s{C(0), C(0)};
        x[r].template for_all<C>(from[r], [&](auto v, int, bool inside) FLAGGEMS_LAMBDA {
          if (inside) {
            FLAGGEMS_CHIP_UNROLL
            for (int j = 0; j < decltype(v)::count; ++j) {
              const C d = fma(v.at[j], scale, -estimate);
              s.value = s.value + d;
              s.index = fma(d, d, s.index);
            }
          }
        });
        sums[r] = s;
      }
      teams.fold<Rows, indexed<C, C>>(block, sums, indexed<C, C>{C(0), C(0)}, plus_both{});
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r) {
        x[r].refresh();
        const C back = near_quotient(C(1), square_scale(means[r]));
        const C rest = sums[r].value * part;
        const C mean = means[r] + rest * back;
        const C variance = max_of(C(0), C(sums[r].index * part - rest * rest)) * back * back;
        const C scale = near_quotient(C(1), sqrt(C(variance + eps)));
        const int n = x[r].length();
        x[r].template for_all<C, true>(from[r], [&](auto v, int at, bool inside) FLAGGEMS_LAMBDA {
          constexpr int count = decltype(v)::count;
          FLAGGEMS_CHIP_UNROLL
          for (int j = 0; j < count; ++j) v.at[j] = (v.at[j] - mean) * scale;
          v = weighted<Whole>(v, weight.data, at, n, inside);
          if (bias.data != nullptr) {
            const auto b = load_window<Whole, C, count>(bias.data, at, n, inside, C(0));
            FLAGGEMS_CHIP_UNROLL
            for (int j = 0; j < count; ++j) v.at[j] = v.at[j] + b.at[j];
          }
          store_window<Whole>(to[r], at, inside, v);
        });
      }
    });
  }
};

/// rms_norm
template <class T, class W, class Out, class C, int Packs, int Rows, bool Whole>
struct rms_norm_chip {
  static constexpr int max_threads = norm_threads<Packs, Rows>;
  using share = row_share<T, Packs, Whole>;
  static constexpr int width = share::width;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const norm_space& space, row_teams teams,
                                  const row_arg<T>& in, const row_arg<W>& weight,
                                  const row_target<Out>& out, C eps) {
    const int lane = teams.lane(block), size = teams.threads(block);
    const C part = C(1) / static_cast<C>(space.length);
    teams.for_each<Rows>(block, space.rows, [&](i64 first, i64 step) FLAGGEMS_LAMBDA {
      share x[Rows];
      global_ptr<const T> from[Rows];
      global_ptr<Out> to[Rows];
      C squares[Rows];
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r)
        take_row(space, space.outer_rank, first + r * step, in, out, lane, size, C(0), x[r],
                 from[r], to[r]);
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r) {
        C sum = C(0);
        x[r].template for_all<C>(from[r], [&](auto v, int, bool) FLAGGEMS_LAMBDA {
          FLAGGEMS_CHIP_UNROLL
          for (int j = 0; j < decltype(v)::count; ++j) sum = fma(v.at[j], v.at[j], sum);
        });
        squares[r] = sum;
      }
      teams.fold<Rows, C>(block, squares, C(0), plus{});
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r) {
        x[r].refresh();
        const C scale = near_quotient(C(1), sqrt(C(squares[r] * part + eps)));
        const int n = x[r].length();
        x[r].template for_all<C, true>(from[r], [&](auto v, int at, bool inside) FLAGGEMS_LAMBDA {
          FLAGGEMS_CHIP_UNROLL
          for (int j = 0; j < decltype(v)::count; ++j) v.at[j] = v.at[j] * scale;
          store_window<Whole>(to[r], at, inside, weighted<Whole>(v, weight.data, at, n, inside));
        });
      }
    });
  }
};

/// fused_add_rms_norm
template <class T, class R, class W, class C, int Packs, int Rows, bool Whole>
struct fused_add_rms_norm_chip {
  static constexpr int max_threads = norm_threads<Packs, Rows>;
  using share = row_share<R, Packs, Whole>;
  static constexpr int width = share::width;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const norm_space& space, row_teams teams,
                                  const row_target<T>& x, const row_target<R>& residual,
                                  const row_arg<W>& weight, C eps) {
    const int lane = teams.lane(block), size = teams.threads(block);
    const C part = C(1) / static_cast<C>(space.length);
    teams.for_each<Rows>(block, space.rows, [&](i64 first, i64 step) FLAGGEMS_LAMBDA {
      share total[Rows];
      global_ptr<T> inout[Rows];
      global_ptr<R> sums[Rows];
      C squares[Rows];
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r)
        take_row(space, space.outer_rank, first + r * step, residual, x, lane, size, C(0), total[r],
                 sums[r], inout[r]);
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r) {
        const int n = total[r].length();
        C sum = C(0);
        // The norm is that of the rounded sum.
        const auto add = [&](auto v, int at, bool inside) FLAGGEMS_LAMBDA {
          constexpr int count = decltype(v)::count;
          const auto more =
              load_window<Whole, C, count>(global_ptr<const T>(inout[r]), at, n, inside, C(0));
          FLAGGEMS_CHIP_UNROLL
          for (int j = 0; j < count; ++j) {
            v.at[j] = number_cast<C>(number_cast<R>(v.at[j] + more.at[j]));
            sum = fma(v.at[j], v.at[j], sum);
          }
          store_window<Whole>(sums[r], at, inside, v);
          return v;
        };
        FLAGGEMS_CHIP_UNROLL
        for (int k = 0; k < Packs; ++k)
          total[r].put(k, add(total[r].template read<C>(k), total[r].at(k), total[r].has(k)));
        FLAGGEMS_CHIP_UNROLL
        for (int e = 0; e < share::edges; ++e)
          total[r].put_edge(
              e, add(total[r].template read_edge<C>(e), total[r].edge_at(e), total[r].has_edge(e)));
        total[r].template for_rest<C, false>(global_ptr<const R>(sums[r]),
                                             [&](auto v, int at, bool inside)
                                                 FLAGGEMS_LAMBDA { add(v, at, inside); });
        squares[r] = sum;
      }
      teams.fold<Rows, C>(block, squares, C(0), plus{});
      FLAGGEMS_CHIP_UNROLL
      for (int r = 0; r < Rows; ++r) {
        total[r].refresh();
        const C scale = near_quotient(C(1), sqrt(C(squares[r] * part + eps)));
        const int n = total[r].length();
        total[r].template for_all<C, true>(
            global_ptr<const R>(sums[r]), [&](auto v, int at, bool inside) FLAGGEMS_LAMBDA {
              FLAGGEMS_CHIP_UNROLL
              for (int j = 0; j < decltype(v)::count; ++j) v.at[j] = v.at[j] * scale;
              store_window<Whole>(inout[r], at, inside,
                                  weighted<Whole>(v, weight.data, at, n, inside));
            });
      }
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/norm_chip.hpp");
