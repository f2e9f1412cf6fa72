// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Row programs on rows of any strides, staged in block-local memory; on the host, on groups of rows
// by vectors.
#pragma once

#include <flaggems/kernel/family/row/contract.hpp>
#include <flaggems/kernel/family/row/space.hpp>

namespace flaggems::kernels {

/// `sums` of each row of a group, as loops over one row take them.
template <class Group, class V, int Count>
struct sums_list {
  using C = decltype(declval_of<const typename Group::list&>()[0]);
  sums<C, Count> of[Group::most_rows];
  FLAGGEMS_INLINE explicit sums_list(const sums<V, Count>& v) {
    for (int k = 0; k < Count; ++k) {
      const typename Group::list one(v.at[k]);
      for (int r = 0; r < Group::most_rows; ++r) of[r].at[k] = one[r];
    }
  }
  FLAGGEMS_INLINE const sums<C, Count>& operator[](int r) const { return of[r]; }
};
template <class Group, class V>
FLAGGEMS_INLINE typename Group::list list_of(const V& v) {
  return typename Group::list(v);
}
template <class Group, class V, int Count>
FLAGGEMS_INLINE sums_list<Group, V, Count> list_of(const sums<V, Count>& v) {
  return sums_list<Group, V, Count>(v);
}

/// A group of rows as a program sees them.
template <class Block, class Program, class Space, class Operands, class Rows>
class staged_rows_view {
  using C = typename Program::compute;
  using M = typename Program::terms;
  using group = row_group<Block, C>;
  using list = typename group::list;
  using values = typename group::values;

 public:
  FLAGGEMS_INLINE staged_rows_view(Block& block, const Space& space, C part, int count,
                                   const coordinates& c, const Operands& all, Rows& rows)
      : block_(block),
        n_(space.length),
        part_(part),
        count_(count),
        c_(c),
        operands_(all),
        rows_(rows) {}

  FLAGGEMS_INLINE C part() const { return part_; }
  FLAGGEMS_INLINE i64 length() const { return n_; }
  FLAGGEMS_INLINE values pivot() const { return pivot_; }

  /// Of all rows of a group at once.
  template <class F, class... X>
  FLAGGEMS_INLINE auto each(const F& f, const X&... known) const {
    return f(known...);
  }
  template <class Terms>
  FLAGGEMS_INLINE auto reduce() {
    static_assert(is_same<Terms, M>);
    static_assert(M::pivot_kind != pivots::partial || Program::traits.fills_lowest,
                  "flaggems: terms about the greatest element need filled_with_lowest()");
    const auto rows = [&](int r) FLAGGEMS_LAMBDA { return rows_.in.place(r); };
    if constexpr (M::pivot_kind == pivots::partial) {
      const values pivot = group::template fold<4>(
          block_, count_, n_, M::first(), typename M::leader{}, [&](int r) FLAGGEMS_LAMBDA {
            return [x = rows(r)](auto i) FLAGGEMS_LAMBDA { return x.first(i); };
          });
      is_read_ = true;
      pivot_ = pivot;
      pivots_ = list(pivot);
      const values sum =
          group::template fold<1>(block_, count_, n_, C(0), plus{}, [&](int r) FLAGGEMS_LAMBDA {
            return [x = rows(r), pivot = pivots_[r]](auto i) FLAGGEMS_LAMBDA {
              x.fetch_next(i);
              const auto v = x.again(i);
              const auto t = M::term(v, pivot);
              if constexpr (M::keeps) x.put(i, t);
              return M::weight(t);
            };
          });
      return pivoted_sum<values>{pivot, sum};
    } else {
      const C part = part_;
      values pivot =
          group::template fold<2>(block_, count_, n_, C(0), plus{}, [&](int r) FLAGGEMS_LAMBDA {
            return [x = rows(r), part](auto i) FLAGGEMS_LAMBDA { return x.first(i) * part; };
          });
      is_read_ = true;
      typename M::template state<values> s;
      for (int turn = 0;; ++turn) {
        pivots_ = list(pivot);
        s = M::template finish<values>(
            group::template fold_each<2>(
                block_, count_, n_, row_sum<C, sums<C, 2>>::zero(), plus_each{},
                [&](int r) FLAGGEMS_LAMBDA {
                  return [x = rows(r), part, pivot = pivots_[r]](auto i) FLAGGEMS_LAMBDA {
                    x.fetch_next(i);
                    const auto v = x.again(i);
                    const auto d = M::term(v, pivot);
                    return M::enter(d, part);
                  };
                }),
            part);
        const auto is_far = M::template is_far<values>(s);
        if (turn == 1 || !any_lane(is_far)) break;
        pivot = select(is_far, values(pivot + s.rest), pivot);
      }
      M::template settle<values>(s, pivot);
      pivot_ = pivot;
      return s;
    }
  }
  template <class F, class... X>
  FLAGGEMS_INLINE auto sum(const F& f, const X&... known) {
    return sum_of_rows([&](int r, const auto& g)
                           FLAGGEMS_LAMBDA { return rows_.with_inputs(r, g); },
                       f, list_of<group>(known)...);
  }
  template <class F, class... X>
  FLAGGEMS_INLINE auto weighted_sum(const F& f, const X&... known) {
    return sum_of_rows([&](int r, const auto& g)
                           FLAGGEMS_LAMBDA { return rows_.with_operands(r, g); },
                       f, list_of<group>(known)...);
  }
  template <class F, class G>
  FLAGGEMS_INLINE auto update(const F& f, const G& g) {
    static_assert(M::pivot_kind == pivots::none && Program::traits.has_updates);
    const auto sum =
        group::template fold<2>(block_, count_, n_, C(0), plus{}, [&](int r) FLAGGEMS_LAMBDA {
          return rows_.with_inputs(r, [&](auto... other) FLAGGEMS_LAMBDA {
            return [f, g, x = rows_.in.place(r), y = rows_.updated.place(r), other...](auto i)
                       FLAGGEMS_LAMBDA {
                         y.store(i, f(x.first(i), other.template load<C>(i)...));
                         // What was stored is read again: it is rounded.
                         const auto v = y.template load<C>(i);
                         x.put(i, v);
                         return g(v);
                       };
          });
        });
    for (int r = 0; r < count_; ++r) rows_.updated.end(r);
    return sum;
  }
  template <int K, class F>
  FLAGGEMS_INLINE values number(const F& f) const {
    const auto& in = operand<K>(operands_.numbers);
    const auto first = in.data + c_.offset(in.strides);
    const i64 step = group_step(c_, in.strides);
    return group::gather(count_, [=](int r) FLAGGEMS_LAMBDA { return f(first[r * step]); });
  }
  template <int K>
  FLAGGEMS_INLINE values at() const {
    const auto& index = operand<K>(operands_.numbers);
    const auto& in = operand<0>(operands_.in);
    const auto first = index.data + c_.offset(index.strides);
    const auto row = in.data + c_.offset(in.strides);
    const i64 step = group_step(c_, index.strides), row_step = group_step(c_, in.strides);
    const auto walk = walk_of(rows_.space, in.strides);
    return group::gather(count_, [=, n = n_](int r) FLAGGEMS_LAMBDA {
      const i64 i = static_cast<i64>(first[r * step]);
      if (static_cast<u64>(i) >= static_cast<u64>(n)) return C(0);
      return number_cast<C>(row[r * row_step + walk.offset(i)]);
    });
  }
  template <int K, class F, class... X>
  FLAGGEMS_INLINE void store(const F& f, const X&... known) const {
    store_rows(operand<K>(rows_.out), f, list_of<group>(known)...);
  }
  template <int K, class X>
  FLAGGEMS_INLINE void put(const X& value) const {
    put_rows(operand<K>(operands_.results), list(values(value)));
  }

 private:
  template <class With, class F, class... L>
  FLAGGEMS_INLINE auto sum_of_rows(const With& with, const F& f, const L&... lists) {
    const bool is_read = is_read_;
    is_read_ = true;
    const auto row = [&](int r) FLAGGEMS_LAMBDA {
      return with(r, [&](auto... other) FLAGGEMS_LAMBDA {
        return term_function(is_read, rows_.in.place(r), f, lists[r]...)(other...);
      });
    };
    using V = decltype(copy_of(row(0)(declval_of<typename Rows::lane_type>())));
    using S = row_sum<C, V>;
    if constexpr (S::count == 1)
      return group::template fold<2>(block_, count_, n_, C(0), plus{}, row);
    else
      return group::template fold_each<2>(block_, count_, n_, S::zero(), plus_each{}, row);
  }
  /// A function of operands that gives one of lanes, which gives terms.
  template <class X, class F, class... Known>
  FLAGGEMS_INLINE static auto term_function(bool is_read, const X& x, const F& f,
                                            const Known&... known) {
    return [=](auto... other) FLAGGEMS_LAMBDA {
      return [=](auto i) FLAGGEMS_LAMBDA {
        const auto v = is_read ? x.again(i) : x.first(i);
        return f(v, value_at(other, i)..., known...);
      };
    };
  }
  template <class T, class Lane>
  FLAGGEMS_INLINE static auto value_at(const T& row, Lane lane) {
    if constexpr (T::is_optional)
      return optional_parameter<T, Lane, C>{row, lane};
    else
      return row.template load<C>(lane);
  }

  template <class Out, class F, class... L>
  FLAGGEMS_INLINE void store_rows(const Out& out, const F& f, const L&... lists) const {
    for (int r = 0; r < count_; ++r) {
      store_row(r, out, f, lists[r]...);
      out.end(r);
    }
  }
  template <class Out, class F, class... X>
  FLAGGEMS_INLINE void store_row(int r, const Out& out, const F& f, X... known) const {
    const auto x = rows_.in.place(r);
    const auto y = out.place(r);
    const C pivot = pivots_[r];
    // (Copies: what a loop reads by a reference it would read again after each store.)
    const auto work = [&](auto... other) FLAGGEMS_LAMBDA {
      block_.for_each_lane(n_, [FLAGGEMS_COPIES](auto i) FLAGGEMS_LAMBDA {
        if constexpr (M::keeps || Program::traits.has_updates) {
          const auto t = x.kept(i);
          y.store(i, f(t, value_at(other, i)..., known...));
        } else {
          if constexpr (Rows::parameters > 0) x.fetch_next(i);
          const auto v = x.again(i);
          if constexpr (M::pivot_kind == pivots::none)
            y.store(i, f(v, value_at(other, i)..., known...));
          else
            y.store(i, f(M::term(v, pivot), value_at(other, i)..., known...));
        }
      });
      return 0;
    };
    if constexpr (Program::traits.has_updates)
      rows_.with_parameters(work);
    else
      rows_.with_operands(r, work);
  }
  template <class R>
  FLAGGEMS_INLINE void put_rows(const row_target<R>& out, const list& value) const {
    if (out.data == nullptr) return;
    const auto first = out.data + c_.offset(out.strides);
    const i64 step = group_step(c_, out.strides);
    block_.single([&]() FLAGGEMS_LAMBDA {
      for (int r = 0; r < count_; ++r) first[r * step] = number_cast<R>(value[r]);
    });
  }

  Block& block_;
  i64 n_;
  C part_;
  int count_;
  const coordinates& c_;
  const Operands& operands_;
  Rows& rows_;
  bool is_read_ = false;
  values pivot_ = values(C(0));
  list pivots_{values(C(0))};
};

/// An operand by channel, as loops over a row read it.
template <class T>
struct channel_place {
  global_ptr<const T> row;
  row_channels channels;
  template <class C, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load(Lane lane) const {
    using V = lane_value<Lane, C>;
    if (row == nullptr) return V(static_cast<C>(channels.neutral));
    const i64 first = channels.channel(lane.begin);
    if ((first + 1) * channels.size - lane.begin >= lane_count<V>)
      return V(number_cast<C>(row[first * channels.step]));
    return load_at<C>(
        row, lane, [all = channels](i64 i) FLAGGEMS_LAMBDA { return all.channel(i) * all.step; });
  }
};
template <class T>
class channel_row {
 public:
  template <class Block>
  FLAGGEMS_INLINE channel_row(Block&, i64, const row_channels& channels, int)
      : channels_(channels) {}
  FLAGGEMS_INLINE void begin_group(global_ptr<const T> row, i64 step, int) {
    row_ = row;
    step_ = step;
  }
  FLAGGEMS_INLINE channel_place<T> place(int r) const {
    return {row_ == nullptr ? row_ : row_ + r * step_, channels_};
  }

 private:
  row_channels channels_;
  global_ptr<const T> row_ = nullptr;
  i64 step_ = 0;
};

/// How loops over a row read a further input, and how it lies.
template <class Block, class X, class Walk>
struct input_row {
  using type = read_row<Block, typename operand_element<X>::type, Walk>;
};
template <class Block, class T, class Walk>
struct input_row<Block, by_channel<T>, Walk> {
  using type = channel_row<T>;
};
template <class Space, class X>
FLAGGEMS_INLINE auto input_walk(const Space& space, const X& x) {
  return walk_of(space, x.strides);
}
template <class Space, class T>
FLAGGEMS_INLINE row_channels input_walk(const Space&, const by_channel<T>& x) {
  return x.channels;
}

/// A read_row's place, as an operand: a parameter may be absent.
template <class Place, bool Optional>
struct operand_place : Place {
  static constexpr bool is_optional = Optional;
  FLAGGEMS_INLINE explicit operand_place(const Place& place) : Place(place) {}
};

struct no_updated_rows {
  template <class Block, class Walk>
  FLAGGEMS_INLINE no_updated_rows(Block&, i64, const Walk&, bool, int) {}
  FLAGGEMS_INLINE void begin_group(global_ptr<const void>, i64) {}
};

/// The rows of all operands.
template <bool Updates, class Block, class C, class Space, class Operands>
struct staged_rows;
template <bool Updates, class Block, class C, class Space, class T, class... More, class... Out,
          class... W, class Numbers, class Results>
struct staged_rows<Updates, Block, C, Space,
                   row_operands<operands<row_arg<T>, More...>, operands<row_target<Out>...>,
                                operands<row_arg<W>...>, Numbers, Results>> {
  using all_operands = row_operands<operands<row_arg<T>, More...>, operands<row_target<Out>...>,
                                    operands<row_arg<W>...>, Numbers, Results>;
  using walk = walk_type<Space>;
  using lane_type = typename Block::lane_type;
  static constexpr int parameters = sizeof...(W);
  /// The first input's rows as they are written.
  using updated_type = conditional<Updates, written_row<Block, T, walk>, no_updated_rows>;
  const Space& space;
  staged_row<Block, C, T, walk> in;
  operands<typename input_row<Block, More, walk>::type...> more;
  updated_type updated;
  operands<written_row<Block, Out, walk>...> out;
  operands<read_row<Block, W, walk>...> params;

  template <int... Input, int... J, int... K>
  FLAGGEMS_INLINE staged_rows(Block& block, const Space& s, const all_operands& all, int most,
                              int_sequence<Input...>, int_sequence<J...>, int_sequence<K...>)
      : space(s),
        in(block, s.length, walk_of(s, operand<0>(all.in).strides), most),
        more{{{{block, s.length, input_walk(s, place_of(all, operand<Input + 1>(all.in))),
                most}}...}},
        updated(block, s.length, walk_of(s, operand<0>(all.in).strides), false, most),
        out{{{{block, s.length, walk_of(s, operand<J>(all.out).strides),
               operand<J>(all.out).streamed, most}}...}},
        params{{{{block, s.length, walk_of(s, operand<K>(all.params).strides)}}...}} {
    (operand<K>(params).begin_group(operand<K>(all.params).data, 0, 1), ...);
  }
  FLAGGEMS_INLINE void begin(const coordinates& c, int count, const all_operands& all) {
    const auto& x = operand<0>(all.in);
    in.begin_group(x.data + c.offset(x.strides), group_step(c, x.strides), count);
    updated.begin_group(const_cast<global_ptr<T>>(x.data) + c.offset(x.strides),
                        group_step(c, x.strides));
    begin_more(c, count, all, make_int_sequence<sizeof...(More)>{});
    begin_out(c, all, make_int_sequence<sizeof...(Out)>{});
  }
  /// g(places of row r...): of further inputs; and of parameters.
  template <class G>
  FLAGGEMS_INLINE auto with_inputs(int r, const G& g) const {
    return with(r, g, make_int_sequence<sizeof...(More)>{}, int_sequence<>{});
  }
  template <class G>
  FLAGGEMS_INLINE auto with_operands(int r, const G& g) const {
    return with(r, g, make_int_sequence<sizeof...(More)>{}, make_int_sequence<sizeof...(W)>{});
  }

  template <class G>
  FLAGGEMS_INLINE auto with_parameters(const G& g) const {
    return with(0, g, int_sequence<>{}, make_int_sequence<sizeof...(W)>{});
  }

 private:
  template <int... Input>
  FLAGGEMS_INLINE void begin_more(const coordinates& c, [[maybe_unused]] int count,
                                  const all_operands& all, int_sequence<Input...>) {
    (begin_one(c, count, place_of(all, operand<Input + 1>(all.in)), operand<Input>(more)), ...);
  }
  template <int... J>
  FLAGGEMS_INLINE void begin_out(const coordinates& c, const all_operands& all,
                                 int_sequence<J...>) {
    (begin_written(c, operand<J>(all.out), operand<J>(out)), ...);
  }
  template <class X, class R>
  FLAGGEMS_INLINE static void begin_one(const coordinates& c, int count, const X& x, R& row) {
    row.begin_group(x.data == nullptr ? nullptr : x.data + c.offset(x.strides),
                    group_step(c, x.strides), count);
  }
  template <class X, class R>
  FLAGGEMS_INLINE static void begin_written(const coordinates& c, const X& x, R& row) {
    row.begin_group(x.data + c.offset(x.strides), group_step(c, x.strides));
  }
  template <class G, int... Input, int... K>
  FLAGGEMS_INLINE auto with([[maybe_unused]] int r, const G& g, int_sequence<Input...>,
                            int_sequence<K...>) const {
    return g(operand_of<false>(operand<Input>(more).place(r))...,
             operand_of<true>(operand<K>(params).place(0))...);
  }
  template <bool Optional, class Place>
  FLAGGEMS_INLINE static operand_place<Place, Optional> operand_of(const Place& place) {
    return operand_place<Place, Optional>(place);
  }
};

template <class Program, class Operands>
struct staged_row_program;
template <class Program, class In, class... Out, class... W, class Numbers, class Results>
struct staged_row_program<Program, row_operands<In, operands<row_target<Out>...>,
                                                operands<row_arg<W>...>, Numbers, Results>> {
  using C = typename Program::compute;
  using all_operands =
      row_operands<In, operands<row_target<Out>...>, operands<row_arg<W>...>, Numbers, Results>;

  template <class Block, class Space>
  FLAGGEMS_INLINE static void run(Block& block, Space space, all_operands all, Program program) {
    using rows_type = staged_rows<Program::traits.has_updates, Block, C, Space, all_operands>;
    const C part = near_quotient(C(1), static_cast<C>(space.length));
    const int most = row_group<Block, C>::rows_of(space.length);
    rows_type rows(block, space, all, most, typename make_int_sequence_type<In::count - 1>::type{},
                   typename make_int_sequence_type<sizeof...(Out)>::type{},
                   typename make_int_sequence_type<sizeof...(W)>::type{});
    using view = staged_rows_view<Block, Program, Space, all_operands, rows_type>;
    run_on_row_groups(block, space, most, program,
                      [&](const coordinates& c, int count) FLAGGEMS_LAMBDA {
                        rows.begin(c, count, all);
                        return view(block, space, part, count, c, all, rows);
                      });
    end_stream(block,
               is_streamed(all.out, typename make_int_sequence_type<sizeof...(Out)>::type{}));
  }

 private:
  template <class List, int... K>
  FLAGGEMS_INLINE static bool is_streamed(const List& out, int_sequence<K...>) {
    return (operand<K>(out).streamed || ... || false);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/staged.hpp");
