// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Softmax of contiguous rows on a SIMT device.
#pragma once

#include <flaggems/kernel/expr/simt/register_rows.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// The greatest of some elements, and the sum of their exponentials, divided by that of it.
template <class C>
struct softmax_state {
  C top, sum;

  /// That of no elements. The least finite number: -inf less it is -inf, it less itself 0.
  FLAGGEMS_INLINE static softmax_state none() {
    return {-bit_cast<C>(bit_cast<typename float_format<C>::bits>(highest<C>()) - 1), C(0)};
  }
  template <int Width>
  FLAGGEMS_INLINE void raise_to(const window_values<C, Width>& x) {
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < Width; ++j) top = greater_number{}(top, x.at[j]);
  }
  /// Adds elements up to `top`; their exponentials.
  template <int Width>
  FLAGGEMS_INLINE window_values<C, Width> add(window_values<C, Width> x) {
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < Width; ++j) {
      x.at[j] = softmax_power(C(x.at[j] - top));
      sum = sum + x.at[j];
    }
    return x;
  }
};
/// The state of both together; the bits do not depend on their order.
struct softmax_join {
  template <class C>
  FLAGGEMS_INLINE softmax_state<C> operator()(const softmax_state<C>& a,
                                              const softmax_state<C>& b) const {
    const bool is_first = a.top > b.top;
    const softmax_state<C> greater = is_first ? a : b, lesser = is_first ? b : a;
    return {greater.top, fma(lesser.sum, softmax_power(C(lesser.top - greater.top)), greater.sum)};
  }
};

/// softmax (family/row/softmax.hpp) where the elements of each row are contiguous, at most 2^30.
/// Each warp has a maximum of its own, so that the block meets once a row.
template <class T, class Out, class C, bool Log, int Vectors, int Rows, bool Aligned>
struct simt_softmax {
  static constexpr int max_threads = Rows > 1 ? 128 : Vectors < 8 ? 512 : 1024;
  using share = row_share<T, Vectors, Aligned>;
  static constexpr int width = share::width;
  // Exponentials wait in registers for their sum where those suffice.
  static constexpr bool keeps_powers = !Log && Vectors < 8 && Vectors * width <= 32;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, row_threads given,
                                  const row_arg<T>& in, const row_target<Out>& out) {
    using state = softmax_state<C>;
    const row_thread_groups<Vectors, Rows> groups(given);
    const int lane = groups.lane(block), size = groups.threads(block);
    auto across = groups.across(block);
    // (Of windows that begin anywhere there is too much beside them for registers.)
    staged_rest<T, Block, share::has_rest && Aligned ? 4 : 0> rest(block, given);
    groups.for_each(block, space.rows, [&](i64 first, i64 step) FLAGGEMS_LAMBDA {
      share x[Rows];
      global_ptr<const T> from[Rows];
      global_ptr<Out> to[Rows];
      state states[Rows];
      C tops[Rows];  // of what the thread holds
      window_values<C, width> powers[Rows * Vectors];
      window_values<C, 1> edge_powers[Rows * share::edges + 1];
      take_rows(space, space.rank, first, step, in, out, lane, size, lowest<C>(), x, from, to);
      rest.fetch(block, x[0], from[0], number_cast<T>(lowest<C>()));
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        state s = state::none();
        x[r].template for_resident<C>([&](auto v, int, bool) FLAGGEMS_LAMBDA { s.raise_to(v); });
        s.top = block.reduce_subwarp(s.top, greater_number{}, groups.shuffle_width(block));
        tops[r] = s.top;
        x[r].refresh();
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < Vectors; ++k) {
          const auto power = s.add(x[r].template read<C>(k));
          if constexpr (keeps_powers) powers[r * Vectors + k] = power;
        }
        FLAGGEMS_SIMT_UNROLL
        for (int e = 0; e < share::edges; ++e)
          edge_powers[r * share::edges + e] = s.add(x[r].template read_edge<C>(e));
        states[r] = s;
      }
      if constexpr (Rows == 1) {
        // Of the rest each thread has a maximum of its own.
        state s = states[0];
        const auto more = [&](auto v, int, bool) FLAGGEMS_LAMBDA {
          const C before = s.top;
          s.raise_to(v);
          s.sum = s.sum * softmax_power(C(before - s.top));
          s.add(v);
        };
        rest.await(block);
        x[0].template for_rest<C, false>(rest, more);
        if (share::leaves_rest(space.length, size))
          states[0] = block.reduce_subwarp(s, softmax_join{}, groups.shuffle_width(block));
        else
          states[0].sum = block.reduce_subwarp(s.sum, plus{}, groups.shuffle_width(block));
      } else {
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < Rows; ++r)
          states[r].sum = block.reduce_subwarp(states[r].sum, plus{}, groups.shuffle_width(block));
      }
      if (Rows == 1 && groups.are_blocks()) {
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < Rows; ++r)
          states[r] = block.reduce_warps(states[r], state::none(), softmax_join{});
      }
      states[0] = across(states[0], state::none(), softmax_join{});
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        x[r].refresh();
        const state s = states[r];
        const C scale = Log ? log(s.sum) : near_quotient(C(1), s.sum);
        const C own = keeps_powers ? C(softmax_power(C(tops[r] - s.top)) * scale) : scale;
        const auto result = [&](auto v) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int j = 0; j < decltype(v)::count; ++j)
            v.at[j] = Log ? v.at[j] - s.top - scale : softmax_power(C(v.at[j] - s.top)) * scale;
          return v;
        };
        const auto scaled = [&](auto power) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int j = 0; j < decltype(power)::count; ++j) power.at[j] = power.at[j] * own;
          return power;
        };
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < Vectors; ++k) {
          if constexpr (keeps_powers)
            store_window<Aligned>(to[r], x[r].at(k), x[r].has(k), scaled(powers[r * Vectors + k]));
          else
            store_window<Aligned>(to[r], x[r].at(k), x[r].has(k), result(x[r].template read<C>(k)));
        }
        FLAGGEMS_SIMT_UNROLL
        for (int e = 0; e < share::edges; ++e) {
          if constexpr (keeps_powers)
            store_window<Aligned>(to[r], x[r].edge_at(e), x[r].has_edge(e),
                                  scaled(edge_powers[r * share::edges + e]));
          else
            store_window<Aligned>(to[r], x[r].edge_at(e), x[r].has_edge(e),
                                  result(x[r].template read_edge<C>(e)));
        }
        if constexpr (Rows == 1) {
          const auto write = [&](auto v, int at, bool inside) FLAGGEMS_LAMBDA {
            store_window<Aligned>(to[r], at, inside, result(v));
          };
          x[r].template for_rest<C, true>(rest, write);
        }
      }
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/simt/softmax.hpp");
