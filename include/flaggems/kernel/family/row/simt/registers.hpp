// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Row programs in registers (expr/simt/register_rows.hpp), where the elements of each row, at most
// 2^30, are contiguous in all operands.
#pragma once

#include <flaggems/kernel/family/row/contract.hpp>
#include <flaggems/kernel/family/row/simt/operands.hpp>
#include <flaggems/kernel/family/row/simt/places.hpp>
#include <flaggems/kernel/family/row/simt/policy.hpp>

namespace flaggems::kernels {

/// The rows of a thread group as a program sees them. `More` are further inputs.
template <class Block, class Policy, class Program, class Rest, class Params, class Places,
          int Vectors, int Rows, bool Aligned, class Out, class T, class Operands, class... More>
class register_rows_view {
  using C = typename Program::compute;
  using M = typename Program::terms;
  using share = row_share<T, Vectors, Aligned>;
  static constexpr int width = share::width;
  using groups_type = row_thread_groups<Vectors, Rows, Policy::blocks>;
  using across_type = cluster_reduction<Block, Vectors == 8>;
  // Terms stay in registers until the sum is known where those suffice.
  static constexpr bool keeps = M::keeps && Vectors < 8 && Vectors * width <= 32;
  template <class X>
  using input_rows = per_row<typename input_operand<X, share>::type, Rows>;

 public:
  FLAGGEMS_INLINE register_rows_view(const Block& block, const groups_type& groups,
                                     across_type& across, Rest& rest, const Params& params,
                                     const Operands& all, const Places& places, int lane, int size,
                                     C part)
      : block_(block),
        groups_(groups),
        across_(across),
        rest_(rest),
        params_(params),
        operands_(all),
        places_(places),
        lane_(lane),
        size_(size),
        part_(part) {}

  /// Asks for the rows' elements.
  FLAGGEMS_INLINE void load(C fill) {
    places_.locate(operand<0>(operands_.in), from_);
    // (Behind the reduction the launch's arguments would be waited for.)
    locate_outputs(typename make_int_sequence_type<Out::count>::type{});
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const i64 row = places_.first + r * places_.step;
      x[r].place(from_[r], row < places_.space.rows ? places_.space.length : 0, lane_, size_);
      x[r].load(from_[r], number_cast<T>(fill));
    }
    rest_.fetch(block_, x[0], from_[0], number_cast<T>(fill));
    if constexpr (M::pivot_kind == pivots::row && Vectors > 1) {
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        begins_[r] = T{};
        if (x[r].length() > 0) begins_[r] = from_[r][0];
      }
    }
    load_inputs(make_int_sequence<sizeof...(More)>{});
  }

  FLAGGEMS_INLINE C part() const { return part_; }
  FLAGGEMS_INLINE i64 length() const { return places_.space.length; }
  FLAGGEMS_INLINE per_row<C, Rows> pivot() const {
    per_row<C, Rows> s;
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r) s.of[r] = pivots_[r];
    return s;
  }

  template <class Terms>
  FLAGGEMS_INLINE auto reduce() {
    static_assert(is_same<Terms, M>);
    static_assert(M::pivot_kind != pivots::partial || Program::traits.fills_lowest,
                  "flaggems: terms about the greatest element need filled_with_lowest()");
    if constexpr (M::pivot_kind == pivots::partial)
      return reduce_partial();
    else
      return reduce_row();
  }
  template <class F, class... X>
  FLAGGEMS_INLINE auto sum(const F& f, const X&... known) {
    using V = decltype(result(f, make_int_sequence<sizeof...(More)>{}, known...));
    return sum_with<row_sum<C, V>>([&](int r, const auto& g) FLAGGEMS_LAMBDA { with_inputs(r, g); },
                                   f, known...);
  }
  template <class F, class... X>
  FLAGGEMS_INLINE auto weighted_sum(const F& f, const X&... known) {
    using V = decltype(result(f, make_int_sequence<sizeof...(More) + Params::count>{}, known...));
    return sum_with<row_sum<C, V>>(
        [&](int r, const auto& g) FLAGGEMS_LAMBDA { with_operands(r, g); }, f, known...);
  }
  template <class F, class G>
  FLAGGEMS_INLINE auto update(const F& f, const G& g) {
    static_assert(M::pivot_kind == pivots::none && Program::traits.has_updates);
    per_row<C, Rows> s;
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      const auto to = const_cast<global_ptr<T>>(from_[r]);
      C sum = C(0);
      const auto enter = [&](auto v, int, bool) FLAGGEMS_LAMBDA {
        FLAGGEMS_SIMT_UNROLL
        for (int j = 0; j < decltype(v)::count; ++j) sum = sum + g(v.at[j]);
      };
      with_inputs(r, [&](auto... other) FLAGGEMS_LAMBDA {
        const auto updated = [&](auto v, auto... w) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int j = 0; j < decltype(v)::count; ++j) v.at[j] = f(v.at[j], w.at[j]...);
          return v;
        };
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < Vectors; ++k) {
          (other.prepare(x[r], k), ...);
          x[r].put(k, updated(x[r].template read<C>(k), other.template read<C>(k)...));
        }
        FLAGGEMS_SIMT_UNROLL
        for (int e = 0; e < share::edges; ++e)
          x[r].put_edge(
              e, updated(x[r].template read_edge<C>(e), other.template read_edge<C>(x[r], e)...));
        x[r].store(to);
        x[r].template for_resident<C>(enter);
        x[r].template for_rest<C, false>(from_[r],
                                         [&](auto v, int at, bool inside) FLAGGEMS_LAMBDA {
                                           v = updated(v, other.template read_rest<C>(x[r], at)...);
                                           FLAGGEMS_SIMT_UNROLL
                                           for (int j = 0; j < width; ++j)
                                             v.at[j] = number_cast<C>(number_cast<T>(v.at[j]));
                                           store_window<Aligned>(to, at, inside, v);
                                           enter(v, at, inside);
                                         });
      });
      s.of[r] = sum;
    }
    groups_.template reduce<C>(block_, across_, s.of, C(0), plus{});
    return s;
  }
  /// Computed where it is used, row by row: eagerly it takes registers.
  template <class F, class... X>
  FLAGGEMS_INLINE auto each(const F& f, const X&... known) const {
    return [f, known...](int r) FLAGGEMS_LAMBDA { return f(known(r)...); };
  }
  template <int K, class F>
  FLAGGEMS_INLINE auto number(const F& f) const {
    return numbers_of(operand<K>(operands_.numbers), f);
  }
  template <int K>
  FLAGGEMS_INLINE per_row<C, Rows> at() const {
    const auto index = number<K>([](auto i) FLAGGEMS_LAMBDA { return static_cast<i64>(i); });
    per_row<C, Rows> s;
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      s.of[r] = C(0);
      if (static_cast<u64>(index(r)) < static_cast<u64>(x[r].length()))
        s.of[r] = number_cast<C>(from_[r][index(r)]);
    }
    return s;
  }
  template <int K, class F, class... X>
  FLAGGEMS_INLINE void store(const F& f, const X&... known) {
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      x[r].refresh();
      store_row(r, operand<K>(to_).of[r], f, known(r)...);
    }
  }
  template <int K, class X>
  FLAGGEMS_INLINE void put(const X& value) const {
    put_rows(operand<K>(operands_.results), value);
  }

  share x[Rows];

 private:
  template <int... K>
  FLAGGEMS_INLINE void load_inputs(int_sequence<K...>) {
    (load_input(operand<K + 1>(operands_.in), operand<K>(more_)), ...);
  }
  template <class X>
  FLAGGEMS_INLINE void load_input(const row_arg<X>& in, input_rows<row_arg<X>>& to) {
    global_ptr<const X> rows[Rows];
    places_.locate(in, rows);
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r) to.of[r].load(x[r], rows[r], number_cast<X>(C(0)));
  }
  template <class X, int K>
  FLAGGEMS_INLINE void load_input(const in_place<X, K>&, input_rows<in_place<X, K>>& to) {
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r) to.of[r].load(x[r], operand<K>(to_).of[r], number_cast<X>(C(0)));
  }
  template <class X>
  FLAGGEMS_INLINE void load_input(const by_channel<X>& in, input_rows<by_channel<X>>& to) {
    global_ptr<const X> rows[Rows] = {};
    if (in.data != nullptr) places_.locate(in, rows);
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r) to.of[r].load(rows[r], in.channels);
  }
  template <int... K>
  FLAGGEMS_INLINE void locate_outputs(int_sequence<K...>) {
    (places_.locate(operand<K>(operands_.out), operand<K>(to_).of), ...);
  }
  /// g(operands of row r...): further inputs; and parameters.
  template <class G>
  FLAGGEMS_INLINE void with_inputs(int r, const G& g) const {
    with_inputs_of(r, g, make_int_sequence<sizeof...(More)>{});
  }
  template <class G, int... K>
  FLAGGEMS_INLINE void with_inputs_of([[maybe_unused]] int r, const G& g,
                                      int_sequence<K...>) const {
    g(operand<K>(more_).of[r]...);
  }
  template <class G>
  FLAGGEMS_INLINE void with_operands(int r, const G& g) const {
    with_inputs(r, [&](const auto&... other) FLAGGEMS_LAMBDA {
      params_(r, [&](const auto&... parameter) FLAGGEMS_LAMBDA { g(other..., parameter...); });
    });
  }
  /// f(values, at, inside, the operands' values...) for all of row r.
  template <bool Backwards, class F, class... Operand>
  FLAGGEMS_INLINE void for_all(int r, const F& f, Operand... other) const {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Vectors; ++k) {
      (other.prepare(x[r], k), ...);
      f(x[r].template read<C>(k), x[r].at(k), x[r].has(k), other.template read<C>(k)...);
    }
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < share::edges; ++e)
      f(x[r].template read_edge<C>(e), x[r].edge_at(e), x[r].has_edge(e),
        other.template read_edge<C>(x[r], e)...);
    for_rest<Backwards>(r, [&](auto v, int at, bool inside) FLAGGEMS_LAMBDA {
      f(v, at, inside, other.template read_rest<C>(x[r], at)...);
    });
  }
  template <bool Backwards, class F>
  FLAGGEMS_INLINE void for_rest(int r, const F& f) const {
    if constexpr (Rows == 1) {
      if constexpr (Rest::stages)
        x[r].template for_rest<C, Backwards>(rest_, f);
      else
        x[r].template for_rest<C, Backwards>(from_[r], f);
    }
  }
  template <int>
  using value_of = C;
  /// What f gives for as many operands besides the first, for decltype.
  template <class F, int... K, class... X>
  FLAGGEMS_HD static auto result(const F& f, int_sequence<K...>, const X&... known) {
    return f(C(0), value_of<K>(0)..., known(0)...);
  }
  template <class Sum, class With, class F, class... X>
  FLAGGEMS_INLINE auto sum_with(const With& with, const F& f, const X&... known) {
    static_assert(!Rest::stages, "flaggems: a sum takes no staged rest");
    using S = typename Sum::type;
    per_row<S, Rows> s;
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      S mine = Sum::zero();
      if constexpr (sizeof...(X) > 0) x[r].refresh();
      add_row(r, mine, with, f, known(r)...);
      s.of[r] = mine;
    }
    groups_.template reduce<S>(block_, across_, s.of, Sum::zero(), plus_each{});
    return s;
  }
  template <class S, class With, class F, class... X>
  FLAGGEMS_INLINE void add_row(int r, S& sum, const With& with, const F& f, X... known) const {
    with(r, [&](auto... other) FLAGGEMS_LAMBDA {
      for_all<false>(
          r,
          [&](auto v, int, bool inside, auto... w) FLAGGEMS_LAMBDA {
            // (Where zeros are in the place of elements that are not there, f is zero.)
            if (Program::traits.fills_lowest && !inside) return;
            FLAGGEMS_SIMT_UNROLL
            for (int j = 0; j < decltype(v)::count; ++j)
              sum = sum + f(v.at[j], w.at[j]..., known...);
          },
          other...);
    });
  }
  template <class X, class F>
  FLAGGEMS_INLINE auto numbers_of(const row_arg<X>& in, const F& f) const {
    using V = decltype(copy_of(f(declval_of<const X&>())));
    global_ptr<const X> at[Rows];
    places_.locate(in, at);
    per_row<V, Rows> s;
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      s.of[r] = V{};
      if (x[r].length() > 0) s.of[r] = f(number_cast<X>(at[r][0]));
    }
    return s;
  }
  template <class R, class X>
  FLAGGEMS_INLINE void put_rows(const row_target<R>& out, const X& value) const {
    if (out.data == nullptr) return;
    global_ptr<R> to[Rows];
    places_.locate(out, to);
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r)
      if (lane_ == 0 && x[r].length() > 0) to[r][0] = number_cast<R>(value(r));
  }
  template <class To, class F, class... X>
  FLAGGEMS_INLINE void store_row(int r, To to, const F& f, X... known) const {
    const auto work = [&](auto... other) FLAGGEMS_LAMBDA {
      const C pivot = pivots_[r];
      const auto fresh = [&](auto v, auto... w) FLAGGEMS_LAMBDA {
        FLAGGEMS_SIMT_UNROLL
        for (int j = 0; j < decltype(v)::count; ++j)
          v.at[j] = f(term_of(v.at[j], pivot), w.at[j]..., known...);
        return v;
      };
      if constexpr (keeps) {
        const C factor = M::carry(own_[r], pivot);
        const auto kept = [&](auto v, auto... w) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int j = 0; j < decltype(v)::count; ++j)
            v.at[j] = f(kept_term<C>{v.at[j], factor}, w.at[j]..., known...);
          return v;
        };
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < Vectors; ++k) {
          (other.prepare(x[r], k), ...);
          write(to, x[r].at(k), x[r].has(k),
                kept(terms_[r * Vectors + k], other.template read<C>(k)...));
        }
        FLAGGEMS_SIMT_UNROLL
        for (int e = 0; e < share::edges; ++e)
          write(to, x[r].edge_at(e), x[r].has_edge(e),
                kept(edge_terms_[r * share::edges + e], other.template read_edge<C>(x[r], e)...));
        for_rest<true>(r, [&](auto v, int at, bool inside) FLAGGEMS_LAMBDA {
          write(to, at, inside, fresh(v, other.template read_rest<C>(x[r], at)...));
        });
      } else {
        for_all<true>(
            r,
            [&](auto v, int at, bool inside, auto... w)
                FLAGGEMS_LAMBDA { write(to, at, inside, fresh(v, w...)); },
            other...);
      }
    };
    if constexpr (Program::traits.has_updates)
      params_(r, work);
    else
      with_operands(r, work);
  }
  FLAGGEMS_INLINE static C term_of(C v, C pivot) {
    if constexpr (M::pivot_kind == pivots::none)
      return v;
    else
      return M::term(v, pivot);
  }
  template <class To, int Width>
  FLAGGEMS_INLINE void write(To to, int at, bool inside, const window_values<C, Width>& v) const {
    store_window<(Aligned || Policy::same_offset), Policy::hoisted>(to, at, inside, v);
  }

  FLAGGEMS_INLINE auto reduce_row() {
    using sums_type = sums<C, 2>;
    per_row<typename M::template state<C>, Rows> s;
    // Of short rows the pivot is a good one, as there are no registers for a second turn.
    constexpr bool good = Vectors == 1;
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      if constexpr (good) {
        C lead = C(0);
        x[r].template for_resident<C>([&](auto v, int, bool) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int j = 0; j < decltype(v)::count; ++j) lead = fma(v.at[j], part_, lead);
        });
        pivots_[r] = lead;
      } else {
        pivots_[r] = number_cast<C>(begins_[r]);
      }
    }
    if constexpr (good) groups_.template reduce<C>(block_, across_, pivots_, C(0), plus{});
    const sums_type none = row_sum<C, sums_type>::zero();
    for (bool is_rough = !good;; is_rough = false) {
      sums_type all[Rows];
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        x[r].refresh();
        const C pivot = pivots_[r];
        sums_type mine = none;
        for_all<false>(r, [&](auto v, int, bool inside) FLAGGEMS_LAMBDA {
          if (inside) {
            FLAGGEMS_SIMT_UNROLL
            for (int j = 0; j < decltype(v)::count; ++j)
              mine = mine + M::enter(M::term(v.at[j], pivot), part_);
          }
        });
        all[r] = mine;
      }
      groups_.template reduce<sums_type>(block_, across_, all, none, plus_each{});
      bool is_far = false;
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) {
        s.of[r] = M::template finish<C>(all[r], part_);
        is_far = is_far || M::is_far(s.of[r]);
      }
      if (!is_rough || !groups_.any(block_, is_far)) break;
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r)  // not of groups beside: bits depend on the row alone
        if (is_far) pivots_[r] = pivots_[r] + s.of[r].rest;
    }
    if constexpr (good) {
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r) M::template settle<C>(s.of[r], pivots_[r]);
    }
    return s;
  }

  /// Each warp has a pivot of its own, so that the block meets once a row.
  FLAGGEMS_INLINE auto reduce_partial() {
    using state = pivoted_sum<C>;
    using leader = typename M::leader;
    const state none{M::first(), C(0)};
    const int lanes = groups_.shuffle_width(block_);
    per_row<state, Rows> s;
    state* const states = s.of;
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r) {
      C pivot = none.pivot, sum = C(0);
      x[r].template for_resident<C>([&](auto v, int, bool) FLAGGEMS_LAMBDA {
        FLAGGEMS_SIMT_UNROLL
        for (int j = 0; j < decltype(v)::count; ++j) pivot = leader{}(pivot, v.at[j]);
      });
      pivot = block_.reduce_subwarp(pivot, leader{}, lanes);
      own_[r] = pivot;
      const auto add = [&](auto v) FLAGGEMS_LAMBDA {
        FLAGGEMS_SIMT_UNROLL
        for (int j = 0; j < decltype(v)::count; ++j) {
          v.at[j] = M::term(v.at[j], pivot);
          sum = sum + M::weight(v.at[j]);
        }
        return v;
      };
      x[r].refresh();
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < Vectors; ++k) {
        const auto term = add(x[r].template read<C>(k));
        if constexpr (keeps) terms_[r * Vectors + k] = term;
      }
      FLAGGEMS_SIMT_UNROLL
      for (int e = 0; e < share::edges; ++e)
        edge_terms_[r * share::edges + e] = add(x[r].template read_edge<C>(e));
      states[r] = {pivot, sum};
    }
    if constexpr (Rows == 1) {
      // Of the rest each thread has a pivot of its own.
      state mine = states[0];
      rest_.await(block_);
      const auto add_rest = [&](auto v, int, bool) FLAGGEMS_LAMBDA {
        const C before = mine.pivot;
        FLAGGEMS_SIMT_UNROLL
        for (int j = 0; j < decltype(v)::count; ++j) mine.pivot = leader{}(mine.pivot, v.at[j]);
        mine.sum = mine.sum * M::carry(before, mine.pivot);
        FLAGGEMS_SIMT_UNROLL
        for (int j = 0; j < decltype(v)::count; ++j)
          mine.sum = mine.sum + M::weight(C(M::term(v.at[j], mine.pivot)));
      };
      if constexpr (Program::traits.reads_once)
        x[0].template for_rest_in_batches<C, 4>(from_[0], add_rest);
      else
        for_rest<false>(0, add_rest);
      if (share::leaves_rest(places_.space.length, size_))
        states[0] = block_.reduce_subwarp(mine, M{}, lanes);
      else
        states[0].sum = block_.reduce_subwarp(states[0].sum, plus{}, lanes);
      if (groups_.are_blocks()) states[0] = block_.reduce_warps(states[0], none, M{});
    } else {
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r)
        states[r].sum = block_.reduce_subwarp(states[r].sum, plus{}, lanes);
    }
    states[0] = across_(states[0], none, M{});
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; ++r) pivots_[r] = states[r].pivot;
    return s;
  }

  const Block& block_;
  const groups_type& groups_;
  across_type& across_;
  Rest& rest_;
  const Params& params_;
  const Operands& operands_;
  const Places places_;
  int lane_, size_;
  C part_;
  global_ptr<const T> from_[Rows];
  Out to_;
  T begins_[Rows];                      // the rows' first elements
  operands<input_rows<More>...> more_;  // further inputs
  C pivots_[Rows], own_[Rows];          // the rows', and of what subwarps hold
  window_values<C, width> terms_[Rows * Vectors];
  window_values<C, 1> edge_terms_[Rows * share::edges + 1];
};

template <class Program, class Operands, int Vectors, int Rows, bool Aligned>
struct register_row_program;

template <class Program, class T, class... More, class... Out, class... W, class Numbers,
          class Results, int Vectors, int Rows, bool Aligned>
struct register_row_program<
    Program,
    row_operands<operands<row_arg<T>, More...>, operands<row_target<Out>...>,
                 operands<row_arg<W>...>, Numbers, Results>,
    Vectors, Rows, Aligned> {
  using all_operands = row_operands<operands<row_arg<T>, More...>, operands<row_target<Out>...>,
                                    operands<row_arg<W>...>, Numbers, Results>;
  using out_rows = operands<per_row<global_ptr<Out>, Rows>...>;
  using C = typename Program::compute;
  using policy = register_policy<Program, T, Vectors, Rows, Aligned, W...>;
  using share = row_share<T, Vectors, Aligned>;
  static constexpr int max_threads = policy::max_threads, min_blocks = policy::min_blocks;

  template <class Block, class Space>
  FLAGGEMS_INLINE static void run(Block& block, const Space& space, row_threads given,
                                  const all_operands& all, const Program& program) {
    run_with(block, space, given, all, program,
             typename make_int_sequence_type<sizeof...(W)>::type{});
  }

 private:
  template <class Weight>
  using weights_type = row_weights<Weight, share, Rows, policy>;

  template <class Block, class Space, int... K>
  FLAGGEMS_INLINE static void run_with(Block& block, const Space& space, row_threads given,
                                       const all_operands& all, const Program& program,
                                       int_sequence<K...>) {
    const row_thread_groups<Vectors, Rows, policy::blocks> groups(given);
    const int lane = groups.lane(block), size = groups.threads(block);
    work(block, space, given, all, program, groups, lane, size,
         weights_type<W>(operand<K>(all.params), Program::neutral(K), space.length, lane, size)...);
  }
  template <class Block, class Space, class Groups, class... Weights>
  FLAGGEMS_INLINE static void work(Block& block, const Space& space, row_threads given,
                                   const all_operands& all, const Program& program,
                                   const Groups& groups, int lane, int size, Weights... weights) {
    auto across = groups.across(block);
    const C part = near_quotient(C(1), static_cast<C>(space.length));
    // (Windows that begin anywhere leave too few registers.)
    constexpr bool stages = Program::traits.stages && share::has_rest && Aligned;
    using rest_type = staged_rest<T, Block, stages ? 4 : 0>;
    rest_type rest(block, given);
    bool has_weights = false;
    const auto give = [&]([[maybe_unused]] int r, const auto& g)
                          FLAGGEMS_LAMBDA { g(weights.of(r)...); };
    using params_type = given_parameters<decltype(copy_of(give)), sizeof...(Weights)>;
    const params_type params{give};
    constexpr C fill = Program::traits.fills_lowest ? lowest<C>() : C(0);
    constexpr int step_of_pairs = policy::same_offset ? share::width : 0;
    groups.template for_each<step_of_pairs>(
        block, space.rows, [&](i64 first, i64 step) FLAGGEMS_LAMBDA {
          const row_places<Space> places{space, policy::same_offset ? 1 : outer_rank(space), first,
                                         step};
          register_rows_view<Block, policy, Program, rest_type, params_type, row_places<Space>,
                             Vectors, Rows, Aligned, out_rows, T, all_operands, More...>
              r(block, groups, across, rest, params, all, places, lane, size, part);
          r.load(fill);
          if (!has_weights) {
            (weights.meet(r.x), ...);
            has_weights = policy::keeps_parameters && block.count() % share::width == 0;
          }
          program.run(r);
        });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/simt/registers.hpp");
