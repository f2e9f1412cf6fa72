// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers of columns that one value of each does not give: variances, logarithms of sums of
// exponentials, norms. Columns are read once, as sums read them (columns.hpp), with a state of
// several numbers each.
#pragma once

#include <flaggems/kernel/family/reduce/simt/columns.hpp>
#include <flaggems/kernel/lang/operands.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// States of Width columns, to which a program adds rows.
template <class Program, int Width>
struct running_columns {
  typename Program::state state[Width];
  FLAGGEMS_INLINE void begin() {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; ++k) state[k] = Program::neutral();
  }
  /// (The caller names Count: OpenCL would deduce an address space.)
  template <int Count>
  FLAGGEMS_INLINE void add(const typename Program::compute (&x)[Count][Width]) {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; ++k)
      state[k] =
          Program::template add<Count>(state[k], [&](int u) FLAGGEMS_LAMBDA { return x[u][k]; });
  }
  FLAGGEMS_INLINE void end() {}
  FLAGGEMS_INLINE typename Program::state of(int k) const { return state[k]; }
};

/// Variances by their root or not, and means, of columns of which `divisor` is the count less the
/// correction. Threads' states are joined as T. Chan, G. Golub, R. LeVeque, Algorithms for
/// computing the sample variance (1983), do it. Equal elements give 0.
template <class C, bool Root>
struct column_variance {
  using compute = C;
  struct state {
    C count, mean, squares;
  };
  C divisor;

  /// Sums of differences from a pivot, and of their squares. The pivot is the first element, then
  /// every 16 rows the mean, so differences are not much greater than the elements'.
  template <int Width>
  struct running {
    C pivot[Width], sum[Width], squares[Width];
    int rows;
    FLAGGEMS_INLINE void begin() {
      rows = 0;
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < Width; ++k) pivot[k] = sum[k] = squares[k] = C(0);
    }
    template <int Count>
    FLAGGEMS_INLINE void add(const C (&x)[Count][Width]) {
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < Width; ++k) {
        if (rows == 0) pivot[k] = x[0][k];
        const auto apart = [&](int u) FLAGGEMS_LAMBDA { return x[u][k] - pivot[k]; };
        sum[k] += folded<Count>(plus{}, apart);
        squares[k] +=
            folded<Count>(plus{}, [&](int u) FLAGGEMS_LAMBDA { return apart(u) * apart(u); });
      }
      rows += Count;
      if (rows % 16 == 0) center();
    }
    FLAGGEMS_INLINE void center() {
      const C by = C(1) / static_cast<C>(rows);
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < Width; ++k) {
        const C rest = sum[k] * by, left = squares[k] - sum[k] * rest;
        // Squares too large are infinite, and of an infinite element not a number.
        squares[k] = !(squares[k] < highest<C>()) ? squares[k] + (sum[k] - sum[k])
                     : left < C(0)                ? C(0)
                                                  : left;
        pivot[k] += rest;
        sum[k] = C(0);
      }
    }
    FLAGGEMS_INLINE state of(int k) const { return {static_cast<C>(rows), pivot[k], squares[k]}; }
    FLAGGEMS_INLINE void end() {
      if (rows > 0) center();
    }
  };

  FLAGGEMS_INLINE static state neutral() { return {C(0), C(0), C(0)}; }
  FLAGGEMS_INLINE static state join(const state& a, const state& b) {
    if (a.count == C(0) || b.count == C(0)) return a.count == C(0) ? b : a;
    const C count = a.count + b.count, share = b.count / count, apart = b.mean - a.mean;
    return {count, a.mean + apart * share,
            a.squares + b.squares + apart * apart * (a.count * share)};
  }
  template <int K>
  FLAGGEMS_INLINE C result(const state& s) const {
    if constexpr (K == 1) return s.mean;
    const C variance = s.squares / divisor;
    if constexpr (Root) return sqrt(variance);
    return variance;
  }
};

/// log(sum(exp(x))) about the greatest element or the greatest number: of an infinite element the
/// exponential is infinite, too.
template <class C>
struct column_log_sum_exp {
  using compute = C;
  struct state {
    C most, sum;
  };
  FLAGGEMS_INLINE static state neutral() { return {-greatest_of<C>(), C(0)}; }
  /// e^x of x <= 0, and of infinity.
  FLAGGEMS_INLINE static C power(C x) { return x > C(0) ? x : softmax_power(x); }
  FLAGGEMS_INLINE static C greater(C a, C b) { return b > a ? b : a; }  // a, if b is NaN
  FLAGGEMS_INLINE static state join(const state& a, const state& b) {
    const C most = greater(a.most, b.most);
    return {most, a.sum * power(a.most - most) + b.sum * power(b.most - most)};
  }
  /// Joins Count rows of a column.
  template <int Count, class F>
  FLAGGEMS_INLINE static state add(const state& s, const F& x) {
    C most = s.most;
    FLAGGEMS_SIMT_UNROLL
    for (int u = 0; u < Count; ++u) most = greater(most, x(u));
    most = min_of(most, greatest_of<C>());
    const C sum = folded<Count>(plus{}, [&](int u) FLAGGEMS_LAMBDA { return power(x(u) - most); });
    return {most, s.sum * power(s.most - most) + sum};
  }
  template <int Width>
  using running = running_columns<column_log_sum_exp, Width>;
  template <int>
  FLAGGEMS_INLINE C result(const state& s) const {
    return log(s.sum) + s.most;
  }
};

/// The root of the sum of squares.
template <class C>
struct column_norm {
  using compute = C;
  using state = C;
  FLAGGEMS_INLINE static state neutral() { return C(0); }
  FLAGGEMS_INLINE static state join(C a, C b) { return a + b; }
  template <int Count, class F>
  FLAGGEMS_INLINE static C add(C s, const F& x) {
    return s + folded<Count>(plus{}, [&](int u) FLAGGEMS_LAMBDA { return C(x(u) * x(u)); });
  }
  template <int Width>
  using running = running_columns<column_norm, Width>;
  template <int>
  FLAGGEMS_INLINE C result(const state& s) const {
    return sqrt(s);
  }
};

/// Columns of a plane: strides of kept positions, of what is reduced, and of columns.
template <class T>
struct column_data {
  global_ptr<T> data;
  i64 kept, step, column;
  FLAGGEMS_INLINE global_ptr<T> at(i64 k, i64 row, i64 c) const {
    return data + (k * kept + row * step + c * column);
  }
  template <class C>
  FLAGGEMS_INLINE void put(i64 k, i64 c, C x) const {
    *at(k, 0, c) = number_cast<T>(x);
  }
};

/// A tensor's rows. `reduce` gives the states of Width columns, of every `stride`th row from
/// `begin` on, before `end`.
template <class Program, class C, class T>
struct column_elements {
  using state = typename Program::state;
  static constexpr int width = vec_size<T>;
  column_data<const T> in;

  template <int Width>
  FLAGGEMS_INLINE void reduce(state (&s)[Width], i64 kept, i64 column, i64 begin, i64 end,
                              i64 stride) const {
    typename Program::template running<Width> all;
    all.begin();
    constexpr int distance = prefetch_distance<Width>;
    const i64 apart = stride * in.step;
    global_ptr<const T> p = in.at(kept, begin, column);
    i64 row = begin;
    for (; row + (distance - 1) * stride < end; row += distance * stride) {
      vec_storage<T, Width> raw[distance];  // all loads before the first use
      FLAGGEMS_SIMT_UNROLL
      for (int u = 0; u < distance; ++u, p += apart)
        raw[u] = load_storage<Width, T, reads::once>(p);
      C x[distance][Width];
      FLAGGEMS_SIMT_UNROLL
      for (int u = 0; u < distance; ++u) unpack<C>(bit_cast<vec<T, Width>>(raw[u]), x[u]);
      all.template add<distance>(x);
    }
    for (; row < end; row += stride, p += apart) {
      C x[1][Width];
      unpack<C>(load_vec<Width>(p), x[0]);
      all.template add<1>(x);
    }
    all.end();
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; ++k) s[k] = all.of(k);
  }
};
/// The states that a first launch left of its parts, which `reduce` joins as if they were rows.
template <class Program>
struct column_parts {
  using state = typename Program::state;
  static constexpr int width = 1;
  column_data<const state> in;

  template <int Width>
  FLAGGEMS_INLINE void reduce(state (&s)[Width], i64 kept, i64 column, i64 begin, i64 end,
                              i64 stride) const {
    constexpr int distance = 4;
    for (i64 row = begin; row < end; row += distance * stride) {
      state x[distance];
      FLAGGEMS_SIMT_UNROLL
      for (int u = 0; u < distance; ++u) {
        const i64 at = row + u * stride;
        x[u] = *in.at(kept, min_of(at, end - 1), column);
        if (at >= end) x[u] = Program::neutral();
      }
      FLAGGEMS_SIMT_UNROLL
      for (int u = 0; u < distance; ++u) s[0] = Program::join(s[0], x[u]);
    }
  }
};

/// Results of a program at columns, `O...` in their order; those without data are not wanted. Or,
/// of a part, its states.
template <class Program, class... O>
struct column_results {
  operands<column_data<O>...> out;
  column_data<typename Program::state> partial;  // whose steps are parts

  FLAGGEMS_INLINE void put(const Program& program, i64 kept, i64 part, i64 column,
                           const typename Program::state& s) const {
    if (partial.data != nullptr) {
      *partial.at(kept, part, column) = s;
      return;
    }
    static_for<static_cast<int>(sizeof...(O))>([&](auto k) FLAGGEMS_LAMBDA {
      const auto& to = operand<k>(out);
      if (to.data != nullptr) to.put(kept, column, program.template result<k>(s));
    });
  }
};

/// The results of a program for the columns of a plane, cut as simt_reduce_outer cuts it.
template <class Program, class Source, class Results, int Threads>
struct simt_column_statistics {
  using state = typename Program::state;
  static constexpr int max_threads = Threads, min_blocks = 1024 / Threads;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const reduction_plane& space,
                                  const reduction_shares& shares, const Program& program,
                                  const Source& source, const Results& results) {
    if constexpr (Source::width > 1) {
      if (space.chunk == Source::width)
        return columns<Source::width>(block, space, shares, program, source, results);
    }
    columns<1>(block, space, shares, program, source, results);
  }

 private:
  template <int Width, class Block>
  FLAGGEMS_INLINE static void columns(Block& block, const reduction_plane& space,
                                      const reduction_shares& shares, const Program& program,
                                      const Source& source, const Results& results) {
    if (space.parts > 1) block.admit_small();
    const int bits = thread_bits(block.threads(), 10), group = min_of(shares.group, bits);
    const int lanes = bits - group, across = 1 << lanes, down = 1 << group;
    const int x = block.thread() & (across - 1), y = block.thread() >> lanes;
    const i64 blocks = (shares.items + across - 1) >> lanes;
    constexpr int pitch = Width > 1 ? Width + 1 : 1;  // against bank conflicts
    const auto states = block.template scratch<state>(i64{block.threads()} * pitch);
    block.for_each_tile(blocks * space.parts, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 part = tile / blocks, first = (tile - part * blocks) << lanes, lane = first + x;
      const i64 begin = part * shares.per_part, end = min_of(space.steps, begin + shares.per_part);
      state own[Width];
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < Width; ++k) own[k] = Program::neutral();
      if (lane < shares.items && y < down) {
        const i64 kept = lane * Width / space.inner;
        source.template reduce<Width>(own, kept, lane * Width - kept * space.inner, begin + y, end,
                                      down);
      }
      block.sync();  // the block's previous tile may still be read
      if (y < down) {
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < Width; ++k) states.write((y * across + x) * pitch + k, own[k]);
      }
      block.sync();
      block.for_each(i64{across} * Width, [&](i64 k) FLAGGEMS_LAMBDA {
        const i64 column = first * Width + k, place = k / Width * pitch + k % Width;
        if (column >= shares.items * Width) return;
        state total = states.read(place);
        for (int row = 1; row < down; ++row)
          total = Program::join(total, states.read(i64{row} * across * pitch + place));
        const i64 kept = column / space.inner;
        results.put(program, kept, part, column - kept * space.inner, total);
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/reduce/simt/column_statistics.hpp");
