// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The norms of family/row/norm.hpp on a SIMT device, where the elements of each row, less than
// 2^30, are contiguous, and so are weight and bias.
#pragma once

#include <flaggems/kernel/family/row/norm.hpp>
#include <flaggems/kernel/family/row/simt/operands.hpp>
#include <flaggems/kernel/family/row/variance.hpp>

namespace flaggems::kernels {

/// The most threads of a block whose threads hold so much, and how many blocks a unit shall have
/// room for at least.
template <int Vectors, int Rows, bool Aligned>
inline constexpr int norm_threads = Rows > 1                                    ? 128
                                    : Vectors < 4 || (Vectors == 4 && !Aligned) ? 512
                                                                                : 1024;
template <int Vectors, int Rows, bool Aligned>
inline constexpr int norm_blocks = Rows > 1                 ? (Aligned ? 8 : 2)
                                   : Vectors < 4 && Aligned ? 3
                                                            : 1;

/// What a weight or bias has at the elements of the rows that a thread works on at once. Of several
/// rows of whole windows, or that begin `SameOffset`, it is the same for all, and read once. One
/// row of whole windows is read and folded before: what waits meanwhile takes registers, so room
/// from other blocks. Windows that begin anywhere take longer to read, and come with the row; so do
/// those of `Early` ones, of which a thread holds two: what counts is how soon a row is done.
/// `Hoisted`: those of long rows are read before results are stored. `Batched`, `Pipelined`: as in
/// row_operand.
template <class W, class Share, int Rows, bool Hoisted, bool Early = false, bool Batched = false,
          bool SameOffset = false, bool Pipelined = false>
class row_weights {
  static constexpr bool stays = Share::is_aligned && Rows > 1, is_common = stays || SameOffset;
  static constexpr bool is_resident = stays || !Share::is_aligned || (Early && Share::vectors == 2);
  static_assert(!(Pipelined && is_resident));
  using operand =
      row_operand<W, Share, (Share::vectors < 8) && is_resident, Hoisted, Batched, Pipelined>;

 public:
  FLAGGEMS_INLINE row_weights(const row_arg<W>& weight, int neutral, i64 n, int lane, int size)
      : data_(weight.data), neutral_(number_cast<W>(static_cast<f32>(neutral))) {
    if constexpr (stays) {
      Share x;
      x.place(nullptr, n, lane, size);
      resident_[0].load(x, data_, neutral_);
    }
  }
  /// Before the rows x are folded.
  FLAGGEMS_INLINE void meet(const Share (&x)[Rows]) {
    if constexpr (!stays) {
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < (SameOffset ? 1 : Rows); ++r) resident_[r].load(x[r], data_, neutral_);
    }
  }
  FLAGGEMS_INLINE const operand& of(int r) const { return resident_[is_common ? 0 : r]; }

 private:
  global_ptr<const W> data_;
  W neutral_;
  operand resident_[is_common ? 1 : Rows];
};

/// layer_norm. Of Rows > 1 where thread groups are blocks, of windows that begin anywhere and no
/// outer dimensions but one, every width-th begins alike, and in the result as in x. So do all that
/// a block works on, if the number of blocks is a multiple of width: weights of 16 bits are read
/// once then. (With wider elements, blocks that begin anew were faster.)
template <class T, class W, class Out, class C, int Vectors, int Rows, bool Aligned>
struct simt_layer_norm {
  static constexpr bool same_offset = Vectors > 1 && Rows > 1, is_short = Vectors == 1;
  static constexpr int max_threads = norm_threads<Vectors, (same_offset ? 1 : Rows), Aligned>,
                       min_blocks = !same_offset && Rows > 1  ? norm_blocks<Vectors, Rows, Aligned>
                                    : Vectors == 2 && Aligned ? 2
                                                              : 1;
  // With elements of 16 bits, which are widened, there are no registers for it.
  static constexpr bool hoisted = Vectors == 8 && Aligned && sizeof(T) > 2;
  static constexpr bool keeps = same_offset && sizeof(T) == 2;
  static constexpr bool pipelined = Vectors == 4 && Aligned && sizeof(T) == 2 && sizeof(W) == 2;
  using share = row_share<T, Vectors, Aligned>;
  static constexpr int width = share::width;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const norm_space& space, row_threads given,
                                  const row_arg<T>& in, const row_arg<W>& weight,
                                  const row_arg<W>& bias, const row_target<Out>& out, C eps) {
    // (With much beside a row, threads that hold two whole vectors are those of few rows.)
    const row_thread_groups<Vectors, Rows, Vectors == 8 || (Vectors == 2 && Aligned)> groups(given);
    const int lane = groups.lane(block), size = groups.threads(block);
    auto across = groups.across(block);
    const C part = near_quotient(C(1), static_cast<C>(space.length));
    using weights_type =
        row_weights<W, share, Rows, hoisted, true, (Vectors > 1), same_offset, pipelined>;
    weights_type weights(weight, 1, space.length, lane, size);
    weights_type biases(bias, 0, space.length, lane, size);
    bool has_weights = false;
    const auto work = [&](i64 first, i64 step) FLAGGEMS_LAMBDA {
      share x[Rows];
      global_ptr<const T> from[Rows];
      global_ptr<Out> to[Rows];
      C estimates[Rows], rests[Rows], variances[Rows];
      take_rows(space, same_offset ? 1 : space.outer_rank, first, step, in, out, lane, size, C(0),
                x, from, to);
      // The mean and the variance are those of differences from an estimate, less what it was off.
      // The estimate is the row's first element, unless that turns out to be so far off that digits
      // of the variance are lost; of short rows the mean itself, as there are no registers for a
      // second turn.
      T begins[Rows] = {};
      if constexpr (!is_short) {
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < Rows; ++r)
          if (x[r].length() > 0) begins[r] = from[r][0];
      }
      if (!has_weights) {
        weights.meet(x);
        biases.meet(x);
        has_weights = keeps && block.count() % width == 0;
      }
      if constexpr (!is_short) {  // converted once weights are on their way
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < Rows; ++r) estimates[r] = number_cast<C>(begins[r]);
      } else {
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < Rows; ++r) {
          C sum = C(0);
          // Divided before they are added: the sum of large numbers is one that C may not have.
          x[r].template for_resident<C>([&](auto v, int, bool) FLAGGEMS_LAMBDA {
            FLAGGEMS_SIMT_UNROLL
            for (int j = 0; j < decltype(v)::count; ++j) sum = fma(v.at[j], part, sum);
          });
          estimates[r] = sum;
        }
        groups.template reduce<C>(block, across, estimates, C(0), plus{});
      }
      for (bool is_rough = !is_short;; is_rough = false) {
        indexed<C, C> sums[Rows];
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < Rows; ++r) {
          x[r].refresh();
          const C estimate = estimates[r];
          indexed<C, C> s{C(0), C(0)};
          x[r].template for_all<C>(from[r], [&](auto v, int, bool inside) FLAGGEMS_LAMBDA {
            if (inside) {
              FLAGGEMS_SIMT_UNROLL
              for (int j = 0; j < decltype(v)::count; ++j) {
                const C d = v.at[j] - estimate;
                s.value = fma(d, part, s.value);
                s.index = fma(d, d, s.index);
              }
            }
          });
          sums[r] = s;
        }
        const indexed<C, C> none{C(0), C(0)};
        groups.template reduce<indexed<C, C>>(block, across, sums, none, plus_both{});
        bool is_far = false;
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < Rows; ++r) {
          const C rest = rests[r] = sums[r].value, spread = sums[r].index * part;
          variances[r] = variance_of(rest, spread);
          // (An infinite variance may be that of differences from the estimate alone.)
          is_far = is_far || !(variances[r] < highest<C>() && rest * rest <= C(16) * variances[r]);
        }
        if (!is_rough || !groups.any(block, is_far)) break;
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < Rows; ++r)  // not of thread groups beside: bits depend on the row alone
          if (is_far) estimates[r] = estimates[r] + rests[r];
      }
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        x[r].refresh();
        const C scale = near_inverse_root(C(variances[r] + eps));
        // The mean itself, rounded, would be off by more than the estimate and the rest are.
        const bool is_flat = is_short && are_flat(rests[r], variances[r]);
        const C estimate = is_flat ? C(estimates[r] + rests[r]) : estimates[r];
        const C rest = is_flat ? C(0) : C(rests[r] * scale);
        const auto write = [&](auto v, int at, bool inside, auto w, auto b) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int j = 0; j < decltype(v)::count; ++j)
            v.at[j] = fma(fma(C(v.at[j] - estimate), scale, -rest), w.at[j], b.at[j]);
          store_window<(Aligned || same_offset), hoisted>(to[r], at, inside, v);
        };
        x[r].template for_all<C, true>(from[r], write, weights.of(r), biases.of(r));
      }
    };
    groups.template for_each<same_offset ? width : 0>(block, space.rows, work);
  }
};

/// rms_norm
template <class T, class W, class Out, class C, int Vectors, int Rows, bool Aligned>
struct simt_rms_norm {
  static constexpr int max_threads = norm_threads<Vectors, Rows, Aligned>,
                       min_blocks = norm_blocks<Vectors, Rows, Aligned>;
  static constexpr bool hoisted = Vectors == 8 && Aligned;
  using share = row_share<T, Vectors, Aligned>;
  static constexpr int width = share::width;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const norm_space& space, row_threads given,
                                  const row_arg<T>& in, const row_arg<W>& weight,
                                  const row_target<Out>& out, C eps) {
    const row_thread_groups<Vectors, Rows> groups(given);
    const int lane = groups.lane(block), size = groups.threads(block);
    auto across = groups.across(block);
    const C part = near_quotient(C(1), static_cast<C>(space.length));
    row_weights<W, share, Rows, hoisted> weights(weight, 1, space.length, lane, size);
    groups.for_each(block, space.rows, [&](i64 first, i64 step) FLAGGEMS_LAMBDA {
      share x[Rows];
      global_ptr<const T> from[Rows];
      global_ptr<Out> to[Rows];
      C squares[Rows];
      take_rows(space, space.outer_rank, first, step, in, out, lane, size, C(0), x, from, to);
      weights.meet(x);
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        C sum = C(0);
        x[r].template for_all<C>(from[r], [&](auto v, int, bool) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int j = 0; j < decltype(v)::count; ++j) sum = fma(v.at[j], v.at[j], sum);
        });
        squares[r] = sum;
      }
      groups.template reduce<C>(block, across, squares, C(0), plus{});
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        x[r].refresh();
        const C scale = near_inverse_root(C(fma(squares[r], part, eps)));
        const auto write = [&](auto v, int at, bool inside, auto w) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int j = 0; j < decltype(v)::count; ++j) v.at[j] = v.at[j] * scale * w.at[j];
          store_window<Aligned, hoisted>(to[r], at, inside, v);
        };
        x[r].template for_all<C, true>(from[r], write, weights.of(r));
      }
    });
  }
};

/// fused_add_rms_norm
template <class T, class R, class W, class C, int Vectors, int Rows, bool Aligned>
struct simt_fused_add_rms_norm {
  static constexpr int max_threads = norm_threads<Vectors, Rows, Aligned>,
                       min_blocks =
                           Vectors == 2 && Aligned ? 2 : norm_blocks<Vectors, Rows, Aligned>;
  static constexpr bool hoisted = Vectors == 8 && Aligned;
  using share = row_share<R, Vectors, Aligned>;
  static constexpr int width = share::width;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const norm_space& space, row_threads given,
                                  const row_target<T>& x, const row_target<R>& residual,
                                  const row_arg<W>& weight, C eps) {
    const row_thread_groups<Vectors, Rows> groups(given);
    const int lane = groups.lane(block), size = groups.threads(block);
    auto across = groups.across(block);
    const C part = near_quotient(C(1), static_cast<C>(space.length));
    row_weights<W, share, Rows, hoisted, true> weights(weight, 1, space.length, lane, size);
    groups.for_each(block, space.rows, [&](i64 first, i64 step) FLAGGEMS_LAMBDA {
      share total[Rows];
      row_operand < T, share, Vectors<8> added[Rows];
      global_ptr<T> inout[Rows];
      global_ptr<R> sums[Rows];
      C squares[Rows];
      take_rows(space, space.outer_rank, first, step, residual, x, lane, size, C(0), total, sums,
                inout);
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) added[r].load(total[r], inout[r], number_cast<T>(C(0)));
      weights.meet(total);
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        C sum = C(0);
        const auto add = [](auto v, auto more) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int j = 0; j < decltype(v)::count; ++j) v.at[j] = v.at[j] + more.at[j];
          return v;
        };
        const auto square = [&](auto v, int, bool) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int j = 0; j < decltype(v)::count; ++j) sum = fma(v.at[j], v.at[j], sum);
        };
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < Vectors; ++k) {
          added[r].prepare(total[r], k);
          total[r].put(k, add(total[r].template read<C>(k), added[r].template read<C>(k)));
        }
        FLAGGEMS_SIMT_UNROLL
        for (int e = 0; e < share::edges; ++e)
          total[r].put_edge(e, add(total[r].template read_edge<C>(e),
                                   added[r].template read_edge<C>(total[r], e)));
        total[r].store(sums[r]);
        // The norm is that of the rounded sum.
        total[r].template for_resident<C>(square);
        const auto rest = [&](auto v, int at, bool inside) FLAGGEMS_LAMBDA {
          v = add(v, added[r].template read_rest<C>(total[r], at));
          FLAGGEMS_SIMT_UNROLL
          for (int j = 0; j < width; ++j) v.at[j] = number_cast<C>(number_cast<R>(v.at[j]));
          store_window<Aligned>(sums[r], at, inside, v);
          square(v, at, inside);
        };
        total[r].template for_rest<C, false>(global_ptr<const R>(sums[r]), rest);
        squares[r] = sum;
      }
      groups.template reduce<C>(block, across, squares, C(0), plus{});
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        total[r].refresh();
        const C scale = near_inverse_root(C(fma(squares[r], part, eps)));
        const auto write = [&](auto v, int at, bool inside, auto w) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int j = 0; j < decltype(v)::count; ++j) v.at[j] = v.at[j] * scale * w.at[j];
          store_window<Aligned, hoisted>(inout[r], at, inside, v);
        };
        total[r].template for_all<C, true>(global_ptr<const R>(sums[r]), write, weights.of(r));
      }
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/simt/norm.hpp");
