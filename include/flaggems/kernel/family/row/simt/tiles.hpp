// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Short rows on a SIMT device that lie one behind the other and begin anywhere in memory's accesses
// of 16 bytes, the vectors. A block takes a tile of many rows, which is vector-aligned and ends
// one, into block-local memory by whole vectors, and brings it back so; in between threads take
// rows, or parts of one, word by word into registers, and put the results in their place.
#pragma once

#include <flaggems/kernel/family/row/contract.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// The rows, and how they make up tiles.
struct short_row_space {
  i64 tiles;
  i32 length, tile;  // elements of a row, rows of a tile
  i32 last;          // elements of the last tile
  u32 spacing;       // a warp works on rows that are 2^apart apart, which begin in different banks
};

/// What of a row each of Thread group threads has room for, in words of 32 bits. They come in
/// groups, of which all threads have as many; the last one, which not all fill, is apart: to test
/// the place of each word takes as many instructions as to read it.
template <class T, int Lanes>
struct short_row_size {
  static constexpr int in_word = 4 / static_cast<int>(sizeof(T));
  static constexpr int group = 4, groups = sizeof(T) == 2 ? 4 : 8;
  static constexpr int longest = ((groups + 1) * group * Lanes - 1) * in_word + in_word - 1;
};

/// What one of Thread group consecutive threads holds of a row, widened: each Thread group-th word,
/// and of 16-bit elements the one that shares its word with another row.
template <class T, int Lanes, class Block>
class short_row {
 public:
  using elements = typename Block::template scratch_type<T>;
  using all_words = typename Block::template scratch_type<u32>;
  using size = short_row_size<T, Lanes>;
  static constexpr int in_word = size::in_word, group = size::group, groups = size::groups;

  /// Row `row` of a tile, of n elements; `fill` in the place of what is not there.
  FLAGGEMS_INLINE short_row(elements tile, all_words words, u32 row, u32 n, u32 lane, T fill)
      : tile_(tile), words_(words) {
    const u32 odd = in_word == 2 ? row & n & 1 : 0, all = n / in_word, begin = row * n;
    whole_ = static_cast<i32>(all / (group * Lanes));
    rest_ = static_cast<i32>(all % (group * Lanes));
    word_ = static_cast<i32>((begin + odd) / in_word + lane);
    first_ = static_cast<i32>(odd + lane * in_word);
    has_rest_ = rest_ != 0;
    rest_ -= static_cast<i32>(lane);
    has_edge_ = in_word == 2 && n % 2 != 0 && lane == 0;
    edge_at_ = static_cast<i32>(odd != 0 ? 0 : n - 1);
    begin_ = static_cast<i32>(begin);
    // (Zeros in the place of groups that are not there: registers that are only sometimes set are
    // taken all the time.)
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < groups * group; ++k) {
      if (k / group < whole_)
        widen(words.read(word_ + k * Lanes), at_[k]);
      else
        widen(0, at_[k]);
    }
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < group; ++k) {
      u32 some = both(fill);
      if (k * Lanes < rest_) some = words.read(rest_word() + k * Lanes);
      widen(some, at_[groups * group + k]);
    }
    T some = fill;
    if (has_edge_) some = tile.read(begin_ + edge_at_);
    edge_ = number_cast<f32>(some);
  }
  /// f(value, whether it is there) for all.
  template <class F>
  FLAGGEMS_INLINE void each(const F& f) {
    FLAGGEMS_SIMT_UNROLL
    for (int g = 0; g < groups; ++g) {
      if (g >= whole_) continue;
      FLAGGEMS_SIMT_UNROLL
      for (int k = g * group * in_word; k < (g + 1) * group * in_word; ++k)
        f(at_[k / in_word][k % in_word], true);
    }
    if (has_rest_) {
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < group * in_word; ++k)
        f(at_[groups * group + k / in_word][k % in_word], k / in_word * Lanes < rest_);
    }
    if (in_word == 2) f(edge_, has_edge_);
  }
  /// Puts f(value, beside, i) in the place of each, whose own of what stands beside a row is
  /// beside.read(i).
  template <class Aux, class F>
  FLAGGEMS_INLINE void store(const Aux& aux, const F& f) const {
    FLAGGEMS_SIMT_UNROLL
    for (int g = 0; g < groups; ++g) {
      if (g >= whole_) continue;
      FLAGGEMS_SIMT_UNROLL
      for (int k = g * group; k < (g + 1) * group; ++k)
        words_.write(word_ + k * Lanes, narrow(f, at_[k], aux.from(first_), k));
    }
    if (has_rest_) {
      const i32 first = first_ + whole_ * (group * Lanes * in_word);
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < group; ++k)
        if (k * Lanes < rest_)
          words_.write(rest_word() + k * Lanes,
                       narrow(f, at_[groups * group + k], aux.from(first), k));
    }
    if (has_edge_) tile_.write(begin_ + edge_at_, number_cast<T>(f(edge_, aux.from(edge_at_), 0)));
  }

 private:
  using word = vec<T, in_word>;
  FLAGGEMS_INLINE i32 rest_word() const { return word_ + whole_ * (group * Lanes); }
  FLAGGEMS_INLINE static u32 both(T x) {
    word w;
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < in_word; ++j) w.at[j] = x;
    return bit_cast<u32>(w);
  }
  FLAGGEMS_INLINE static void widen(u32 x, f32 (&to)[in_word]) {
    if constexpr (is_same<T, bf16>) {  // the upper side of an f32
      to[0] = bit_cast<f32>(x << 16);
      to[1] = bit_cast<f32>(x & 0xffff0000u);
    } else {
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < in_word; ++j) to[j] = number_cast<f32>(bit_cast<word>(x).at[j]);
    }
  }
  /// Word k of those from `aux` on.
  template <class F, class Aux>
  FLAGGEMS_INLINE static u32 narrow(const F& f, const f32 (&x)[in_word], const Aux& aux, int k) {
    word w;
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < in_word; ++j)
      w.at[j] = number_cast<T>(f(x[j], aux, k * Lanes * in_word + j));
    return bit_cast<u32>(w);
  }

  elements tile_;
  all_words words_;
  f32 at_[(groups + 1) * group][in_word], edge_;
  i32 whole_, rest_, word_, first_, begin_, edge_at_;
  bool has_rest_, has_edge_;
};

struct no_aux {
  FLAGGEMS_INLINE no_aux from(i32) const { return {}; }
};

/// Pointers to parameters.
template <class... W>
struct parameter_pointers {
  template <class Program, int K>
  FLAGGEMS_INLINE void read(i32, f32*) const {}
};
template <class First, class... Rest>
struct parameter_pointers<First, Rest...> {
  global_ptr<const First> first;
  parameter_pointers<Rest...> rest;
  template <class Program, int K>
  FLAGGEMS_INLINE void read(i32 i, f32* to) const {
    to[K] = first != nullptr ? number_cast<f32>(first[i]) : static_cast<f32>(Program::neutral(K));
    rest.template read<Program, K + 1>(i, to);
  }
};

FLAGGEMS_INLINE parameter_pointers<> pointers_of() { return {}; }
template <class First, class... Rest>
FLAGGEMS_INLINE parameter_pointers<First, Rest...> pointers_of(const row_arg<First>& first,
                                                               const row_arg<Rest>&... rest) {
  return {first.data, pointers_of(rest...)};
}

/// A short row as a program sees it. Terms take the place of elements, which costs nothing.
template <int Lanes, class Block, class Row, class Aux, int Params>
struct tile_row_view {
  const Block& block;
  Row& x;
  const Aux& aux;
  i32 n;
  f32 part_;

  FLAGGEMS_INLINE f32 part() const { return part_; }
  FLAGGEMS_INLINE i64 length() const { return n; }
  template <class F, class... X>
  FLAGGEMS_INLINE auto each(const F& f, const X&... values) const {
    return f(values...);
  }
  template <class M>
  FLAGGEMS_INLINE auto reduce() const {
    if constexpr (M::pivot_kind == pivots::partial) {
      using leader = typename M::leader;
      pivoted_sum<f32> s{M::first(), 0};
      x.each([&](f32& v, bool) FLAGGEMS_LAMBDA { s.pivot = leader{}(s.pivot, v); });
      s.pivot = block.reduce_subwarp(s.pivot, leader{}, Lanes);
      x.each([&](f32& v, bool) FLAGGEMS_LAMBDA {
        v = M::term(v, s.pivot);
        s.sum = s.sum + M::weight(v);
      });
      s.sum = block.reduce_subwarp(s.sum, plus{}, Lanes);
      return s;
    } else {
      f32 pivot = 0;
      x.each([&](f32& v, bool) FLAGGEMS_LAMBDA { pivot = fma(v, part_, pivot); });
      pivot = block.reduce_subwarp(pivot, plus{}, Lanes);
      sums<f32, 2> s = row_sum<f32, sums<f32, 2>>::zero();
      x.each([&](f32& v, bool inside) FLAGGEMS_LAMBDA {
        v = M::term(v, pivot);
        if (inside) s = s + M::enter(v, part_);
      });
      s = block.reduce_subwarp(s, plus_each{}, Lanes);
      auto state = M::template finish<f32>(s, part_);
      M::template settle<f32>(state, pivot);
      return state;
    }
  }
  template <class F, class... X>
  FLAGGEMS_INLINE auto sum(const F& f, const X&... values) const {
    using V = decltype(copy_of(f(f32(0), values...)));
    auto s = row_sum<f32, V>::zero();
    x.each([&](f32& v, bool) FLAGGEMS_LAMBDA { s = s + f(v, values...); });
    return block.reduce_subwarp(s, plus_each{}, Lanes);
  }
  template <int K, class F, class... X>
  FLAGGEMS_INLINE void store(const F& f, const X&... values) const {
    static_assert(K == 0 && Params <= 2);
    x.store(aux, [&](f32 v, auto own, int i) FLAGGEMS_LAMBDA {
      if constexpr (Params == 0) {
        return f(v, values...);
      } else {
        const vec<f32, Params> w = own.read(i);
        if constexpr (Params == 1)
          return f(v, w.at[0], values...);
        else
          return f(v, w.at[0], w.at[1], values...);
      }
    });
  }
};

/// A row program of one input, one output and parameters W as what short_row_tiles runs.
template <class Program, class... W>
struct tile_row_program {
  static constexpr int aux = sizeof...(W);  // numbers that come with each place of the rows
  static constexpr bool fills_lowest = Program::traits.fills_lowest;
  Program program;
  parameter_pointers<W...> params;

  FLAGGEMS_INLINE vec<f32, aux> of(i32 i) const {
    vec<f32, aux> w;
    params.template read<Program, 0>(i, w.at);
    return w;
  }
  template <int Lanes, class Block, class Row, class Aux>
  FLAGGEMS_INLINE void run(const Block& block, Row& x, i32 n, const Aux& numbers) const {
    tile_row_view<Lanes, Block, Row, Aux, aux> r{block, x, numbers, n,
                                                 near_quotient(1.0f, static_cast<f32>(n))};
    program.run(r);
  }
};

/// An operator on short rows of floats T of 16 or 32 bits; Thread group threads share a row.
template <class Op, class T, int Lanes>
struct short_row_tiles {
  static constexpr int max_threads = Lanes > 2 ? 128 : 64, min_blocks = Lanes > 2 ? 8 : 16;
  /// The vectors that a thread asks for at once; of more, predicates would run out.
  static constexpr int batch = 5;
  /// The rows that a block works on at once, and the least of a tile: words of as many banks, and
  /// whole vectors. Where these are few bytes, a tile is several times as many.
  static constexpr int at_once = max_threads / Lanes;
  static constexpr int most_bytes = 2 * batch * max_threads * 16;
  static constexpr int most_scratch =
      max_of(max_of(at_once, 128 / static_cast<int>(sizeof(T))) *
                 short_row_size<T, Lanes>::longest * static_cast<int>(sizeof(T)),
             most_bytes) +
      4 * Op::aux * short_row_size<T, Lanes>::longest + 16;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const short_row_space& space,
                                  global_ptr<const T> in, global_ptr<T> out, const Op& op) {
    constexpr int width = vec_size<T>;
    const i32 n = space.length, all = space.tile * n, thread = block.thread();
    const auto staged = block.template scratch<vec<u32, 4>>(all / width);
    const auto elements = staged.template as<T>();
    const auto words = staged.template as<u32>();
    const auto aux = load_aux(block, n, op);
    block.for_each_tile(space.tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const global_ptr<const T> from = in + tile * all;
      const global_ptr<T> to = out + tile * all;
      const i32 here = tile + 1 < space.tiles ? all : space.last;
      const i32 vectors = static_cast<i32>(static_cast<u32>(here) / width), edge = vectors * width;
      block.sync();
      FLAGGEMS_SIMT_NO_UNROLL
      for (i32 p = thread; p < vectors; p += batch * max_threads) {
        vec<u32, 4> some[batch] = {};
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < batch; ++k)
          if (p + k * max_threads < vectors)
            some[k] = load_words<T>(from + p * width + k * max_threads * width);
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < batch; ++k)
          if (p + k * max_threads < vectors) staged.write(p + k * max_threads, some[k]);
      }
      FLAGGEMS_SIMT_NO_UNROLL
      for (i32 i = edge + thread; i < all; i += max_threads)
        elements.write(i, i < here ? number_cast<T>(from[i]) : number_cast<T>(0.0f));
      block.sync();
      // Rows behind the last are computed, too: threads stay together.
      constexpr u32 in_warp = 32 / Lanes;
      const u32 own = static_cast<u32>(thread), spacing = space.spacing;
      const u32 turns = static_cast<u32>(space.tile) / in_warp;
      FLAGGEMS_SIMT_NO_UNROLL
      for (u32 turn = own / 32; turn < turns; turn += max_threads / 32) {
        const u32 set = turn >> spacing;
        const u32 row = ((set * in_warp + own % 32 / Lanes) << spacing) + (turn - (set << spacing));
        short_row<T, Lanes, Block> x(elements, words, row, static_cast<u32>(n), own % Lanes,
                                     number_cast<T>(Op::fills_lowest ? lowest<f32>() : 0.0f));
        op.template run<Lanes>(block, x, n, aux);
      }
      block.sync();
      FLAGGEMS_SIMT_NO_UNROLL
      for (i32 p = thread; p < vectors; p += batch * max_threads) {
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < batch; ++k) {
          const bool inside = p + k * max_threads < vectors;
          vec<u32, 4> some{};
          if (inside) some = staged.read(p + k * max_threads);
          store_vec_if<width>(inside, to + p * width + k * max_threads * width,
                              bit_cast<vec<T, width>>(some));
        }
      }
      FLAGGEMS_SIMT_NO_UNROLL
      for (i32 i = edge + thread; i < here; i += max_threads) to[i] = elements.read(i);
    });
  }

 private:
  template <class Block>
  FLAGGEMS_INLINE static auto load_aux(Block& block, i32 n, const Op& op) {
    if constexpr (Op::aux == 0) {
      return no_aux{};
    } else {
      const auto numbers = block.template scratch<vec<f32, Op::aux>>(n);
      FLAGGEMS_SIMT_NO_UNROLL
      for (i32 i = block.thread(); i < n; i += max_threads) numbers.write(i, op.of(i));
      return numbers;
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/simt/tiles.hpp");
