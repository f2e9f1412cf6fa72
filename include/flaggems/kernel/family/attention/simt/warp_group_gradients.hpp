// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of attention by warp groups (wgmma): a pass over the queries and one over the keys
// (kernel/family/attention/backward.hpp). One thread loads boxes of a unit's rows and of what they
// pass over; the others have 64 rows each. Weights and slopes are computed where the next product
// reads them, in registers: a pass computes scores anew, and no two blocks add to one gradient.
#pragma once

#include <flaggems/kernel/block/simt/warp_group.hpp>
#include <flaggems/kernel/family/attention/simt/gradient_units.hpp>

namespace flaggems::kernels {

/// A thread of a pass.
template <class Block, class Space, class T, class Tile>
class attention_gradient_by_warp_groups {
 public:
  FLAGGEMS_INLINE attention_gradient_by_warp_groups(
      Block& block, const Space& space, const tensor_map& row, const tensor_map& row_value,
      const tensor_map& other, const tensor_map& other_value, const tensor_map& sums,
      global_ptr<const f32> sums_data, const decode_arg<T>& grad, const decode_arg<T>& grad_value)
      : block_(block),
        unit_(block.machine()),
        space_(space),
        row_(row),
        row_value_(row_value),
        other_(other),
        other_value_(other_value),
        sums_(sums),
        sums_data_(sums_data),
        grad_(grad),
        grad_value_(grad_value),
        thread_(static_cast<u32>(block.thread())),
        base_(unit_.address(block.template scratch<u64>(Tile::scratch / 8))) {}

  FLAGGEMS_INLINE void run() {
    if (thread_ == 0) {
      for (u32 s = 0; s <= stages; ++s) {
        unit_.init_barrier(full(s), 1);
        unit_.init_barrier(empty(s), Tile::consumers);
      }
      unit_.fence_barriers();
    }
    block_.sync();
    unit_.await_earlier(false);
    // One branch a role, so that each has its number of registers.
    if (thread_ < 128) {
      unit_.template give_registers<Tile::few_registers>();
      if (thread_ == 0) produce();
    } else {
      unit_.template take_registers<Tile::many_registers>();
      consume();
    }
    unit_.sync_warp();
  }

 private:
  using unit_type = warp_group_unit<typename Block::machine_type>;
  using work = attention_gradient_unit<Tile, Space>;
  static constexpr bool of_queries = work::of_queries;
  static constexpr int d = Tile::d, n = Tile::n, m = Tile::m;
  static constexpr u32 stages = Tile::stages;
  /// Whether a unit's rows are kept in registers, which spares memory half of what scores read.
  static constexpr bool keeps_rows = d <= 64 && n == 64;
  /// Logarithms in a stage, and sums behind them: of sequences those from a multiple of 4 on, as
  /// the copy engine takes lines from 16 bytes on only.
  static constexpr int stage_sums = Space::has_sequences ? n + 4 : n;
  using kept_type = u32[d / 4];
  using ring_position = pipeline_position<Tile::stages>;
  using scores_type = f32[n / 2];
  using sums_type = f32[d / 2];
  using words_type = u32[n / 4];

  // Scratch: rows | their values | stages of others | of their values | of sums | barriers of
  // stages and, last, of the rows.
  FLAGGEMS_INLINE u32 others_at(u32 stage) const {
    return base_ + 2 * Tile::row_bytes + stage * Tile::other_bytes;
  }
  FLAGGEMS_INLINE u32 values_at(u32 stage) const { return others_at(stage + stages); }
  FLAGGEMS_INLINE u32 sums_at(u32 stage) const {
    return others_at(2 * stages) + stage * Tile::sums_bytes;
  }
  FLAGGEMS_INLINE u32 full(u32 slot) const { return sums_at(stages) + 16 * slot; }
  FLAGGEMS_INLINE u32 empty(u32 slot) const { return full(slot) + 8; }
  static constexpr u32 of_rows = stages;

  /// f(unit, its index) for each of the block's units.
  template <class F>
  FLAGGEMS_INLINE void for_each_unit(const F& f) const {
    for (u32 index = static_cast<u32>(block_.cluster()); index < space_.tiles;
         index += static_cast<u32>(block_.clusters())) {
      const work u(space_, index);
      if (u.exists()) f(u, index);
    }
  }
  FLAGGEMS_INLINE i32 other_heads() const { return of_queries ? 1 : space_.group; }

  // ---- the thread that loads
  FLAGGEMS_INLINE void load(u32 to, const tensor_map& map, i32 position, i32 head,
                            const decode_place& place, u32 rows, u32 bar) const {
    FLAGGEMS_SIMT_UNROLL
    for (int b = 0; b < Tile::boxes; ++b)
      unit_.load_box(to + static_cast<u32>(b) * rows * 128, map,
                     box_corner<5>{{b * 64, position, head, static_cast<i32>(place.inner),
                                    static_cast<i32>(place.outer)}},
                     bar);
  }
  FLAGGEMS_INLINE void produce() const {
    ring_position at;
    u32 phase = 0;
    for_each_unit([&](const work& u, u32) FLAGGEMS_LAMBDA {
      unit_.wait(empty(of_rows), phase ^ 1);
      unit_.expect(full(of_rows), 2 * Tile::row_bytes);
      load(base_, row_, u.row_at() + u.first, u.head, u.place, m, full(of_rows));
      load(base_ + Tile::row_bytes, row_value_, u.row_at() + u.first, u.head, u.place, m,
           full(of_rows));
      phase ^= 1;
      for (i32 h = 0; h < other_heads(); ++h)
        for (i32 t = u.begin; t < u.end; ++t) {
          unit_.wait(empty(at.stage), at.phase ^ 1);
          unit_.expect(full(at.stage),
                       2 * Tile::other_bytes + (of_queries ? 0 : 2 * stage_sums * 4));
          const i32 first = u.other_at() + t * n;
          load(others_at(at.stage), other_, first, h, u.place, n, full(at.stage));
          load(values_at(at.stage), other_value_, first, h, u.place, n, full(at.stage));
          if constexpr (!of_queries)
            unit_.load_box(sums_at(at.stage), sums_,
                           box_corner<3>{{first / 4 * 4, u.batch * space_.group + h, 0}},
                           full(at.stage));
          at.next();
        }
    });
  }

  // ---- a warp group that multiplies
  /// Rows of this warp group, as first factors.
  FLAGGEMS_INLINE void keep(kept_type& to, u32 from) const {
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < d / 4; ++i) {
      const int word = i % 4, e = i / 4 * 16 + word / 2 * 8 + column(),
                row = row_in_tile() + word % 2 * 8;
      to[i] = unit_.template read<u32>(from + static_cast<u32>(e / 64 * (m * 128)) +
                                       swizzled(static_cast<u32>(row * 128 + e % 64 * 2), 8));
    }
  }
  /// Rows for one tile's product, in registers of their own: ptxas (13.0) gives away those of a
  /// product's first factors, even if the next tile reads them again.
  FLAGGEMS_INLINE void copy(kept_type& to, const kept_type& from) const {
    const u32 none = static_cast<u32>(space_.group) >> 31;  // 0, which compilers do not know
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < d / 4; ++i) to[i] = from[i] ^ none;
    unit_.hold(to);
  }
  /// s = rows, `kept` or from `row` on, times the others from `other` on.
  FLAGGEMS_INLINE void multiply(scores_type& s, const kept_type& kept, u32 row, u32 other) const {
    const u64 a = matrix_descriptor<major::along>(row + (thread_ / 128 - 1) * (64 * 128));
    const u64 b = matrix_descriptor<major::along>(other);
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < d / 16; ++i) {
      const u64 box = static_cast<u64>(i / 4), part = static_cast<u64>(i % 4 * 2);
      if constexpr (keeps_rows)
        unit_.template multiply_rows<T, major::along>(s, kept + 4 * i,
                                                      b + box * (n * 128 / 16) + part, i > 0);
      else
        unit_.template multiply<T, major::along, major::along>(
            s, a + box * (m * 128 / 16) + part, b + box * (n * 128 / 16) + part, i > 0);
    }
    unit_.commit();
  }
  /// sums += factors times the others from `other` on.
  FLAGGEMS_INLINE void add(sums_type& sums, const words_type& factors, u32 other) const {
    const u64 b = matrix_descriptor<major::across, n>(other);
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < n / 16; ++i)
      unit_.template multiply_rows<T, major::across>(sums, factors + 4 * i,
                                                     b + static_cast<u64>(i * (16 * 128 / 16)), 1);
    unit_.commit();
  }
  FLAGGEMS_INLINE void release(u32 slot) const {
    if (thread_ % 128 == 0) unit_.arrive(empty(slot));
  }
  FLAGGEMS_INLINE i32 row_in_tile() const {
    return static_cast<i32>(thread_ - 128) / 32 * 16 + static_cast<i32>(thread_) % 32 / 4;
  }
  FLAGGEMS_INLINE i32 column() const { return static_cast<i32>(thread_) % 4 * 2; }

  /// Of a thread's two rows: where the others of a tile that they do not see end or begin, from the
  /// thread's first one on, with windows the other end, too; of queries the logarithm, in powers of
  /// two, and the sum.
  struct rows_type {
    i32 bound[2], window[2];
    u32 first;  // of queries of a sequence that are others: the first one's sum in a stage
    f32 log[2], sum[2];
  };
  FLAGGEMS_INLINE rows_type rows_of(const work& u) const {
    rows_type x{};
    if constexpr (Space::has_sequences && !of_queries) x.first = static_cast<u32>(u.other_at()) % 4;
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      const i32 row = u.first + row_in_tile() + 8 * r;
      if constexpr (of_queries) {
        const u32 at = static_cast<u32>(u.batch * space_.group + u.head) * space_.padded.divisor +
                       min_of(static_cast<u32>(u.row_at() + row), space_.padded.divisor - 1);
        x.log[r] = sums_data_[at];
        x.sum[r] = sums_data_[i64{space_.sums} + at];
        x.bound[r] = u.bound(min_of(row, u.rows() - 1)) - column();
      } else {
        x.bound[r] = row - u.bounds.diagonal - column();
      }
      if constexpr (Space::has_windows) x.window[r] = u.window_bound(row) - column();
    }
    return x;
  }
  FLAGGEMS_INLINE void hide(scores_type& s, const rows_type& x, i32 tile) const {
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < n / 2; ++i) {
      const i32 other = tile * n + i / 4 * 8 + i % 2, bound = x.bound[i / 2 % 2];
      bool is_hidden = of_queries ? other >= bound : other < bound;
      if constexpr (Space::has_windows) {
        const i32 beyond = x.window[i / 2 % 2];
        is_hidden = is_hidden || (of_queries ? other < beyond : other >= beyond);
      }
      s[i] = is_hidden ? lowest<f32>() : s[i];
    }
  }
  /// Others of another sequence, behind a unit's own, become 0 in a stage, which has `kept` before
  /// them, and what such queries have, from number `first` on, hides them: numbers times weights of
  /// 0 might be none.
  FLAGGEMS_INLINE void clear(u32 stage, u32 kept, [[maybe_unused]] u32 first) const {
    FLAGGEMS_SIMT_NO_UNROLL
    for (u32 b = 0; b < Tile::boxes; ++b)
      for (u32 i = kept * 8 + thread_ - 128; i < n * 8; i += 128 * Tile::consumers) {
        unit_.write(others_at(stage) + b * (n * 128) + i * 16, vec<u32, 4>{});
        unit_.write(values_at(stage) + b * (n * 128) + i * 16, vec<u32, 4>{});
      }
    if constexpr (!of_queries)
      for (u32 i = thread_ - 128; i < stage_sums / 2; i += 128 * Tile::consumers) {
        const f32 hides = i < stage_sums / 4 ? -lowest<f32>() : 0.0F;
        vec<u32, 4> x;
        FLAGGEMS_SIMT_UNROLL
        for (u32 e = 0; e < 4; ++e)
          x.at[e] = i % (stage_sums / 4) * 4 + e < first + kept
                        ? unit_.template read<u32>(sums_at(stage) + 16 * i + 4 * e)
                        : bit_cast<u32>(hides);
        unit_.write(sums_at(stage) + 16 * i, x);
      }
    unit_.fence_writes();
    unit_.sync_named(1 + Tile::consumers, 128 * Tile::consumers);
  }
  /// f(score, x) for each, x being what its query has: its own row's `own`, or, of others, what the
  /// stage has from number `first` on.
  template <class F>
  FLAGGEMS_INLINE void for_each_score(scores_type& s, const f32 (&own)[2], u32 stage, u32 first,
                                      const F& f) const {
    if constexpr (of_queries) {
      FLAGGEMS_SIMT_UNROLL
      for (int i = 0; i < n / 2; ++i) f(i, s[i], own[i / 2 % 2]);
    } else {
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < n / 8; ++j) {
        const u32 at = sums_at(stage) + 4 * (first + static_cast<u32>(8 * j + column()));
        vec<f32, 2> x;
        if constexpr (Space::has_sequences)
          x = {{unit_.template read<f32>(at), unit_.template read<f32>(at + 4)}};
        else
          x = unit_.template read<vec<f32, 2>>(at);
        FLAGGEMS_SIMT_UNROLL
        for (int e = 0; e < 4; ++e) f(4 * j + e, s[4 * j + e], x.at[e % 2]);
      }
    }
  }
  FLAGGEMS_INLINE static void pack(words_type& to, const scores_type& s) {
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < n / 4; ++i) to[i] = pack_halves<T>(s[2 * i], s[2 * i + 1]);
  }

  /// What a thread has of its unit: scores, their slopes, the factors that these become, and sums.
  struct state {
    scores_type s, g;
    words_type weights, slopes;
    sums_type sums, value_sums;
    kept_type row, value;
  };
  /// What sums of ended products used and wrote.
  FLAGGEMS_INLINE void settle(state& own) const {
    unit_.hold(own.sums);
    unit_.hold(own.slopes);
    if constexpr (!of_queries) {
      unit_.hold(own.value_sums);
      unit_.hold(own.weights);
    }
  }
  /// A tile of others. No product is pending in the end: compilers move registers that a loop
  /// carries, which a pending product might still read.
  FLAGGEMS_INLINE void step(state& own, const rows_type& x, const ring_position& at, const work& u,
                            i32 tile) const {
    const f32 factor = space_.scale * ln2_constants<f32>::inverse;
    const u32 stage = at.stage;
    scores_type &s = own.s, &g = own.g;
    unit_.wait(full(stage), at.phase);
    if constexpr (Space::has_sequences)
      if (const i32 kept = u.others() - tile * n; kept < n)
        clear(stage, static_cast<u32>(kept), x.first);
    kept_type row, value;
    if constexpr (keeps_rows) {
      copy(row, own.row);
      copy(value, own.value);
    }
    unit_.hold(s);
    unit_.hold(g);
    unit_.begin();
    multiply(s, row, base_, others_at(stage));
    multiply(g, value, base_ + Tile::row_bytes, values_at(stage));
    unit_.template await<1>();
    unit_.hold(s);
    if constexpr (keeps_rows) unit_.hold(row);
    for_each_score(s, x.log, stage, x.first, [&](int, f32& score, f32 log) FLAGGEMS_LAMBDA {
      score = fma(score, factor, -log);
    });
    if (u.hides(tile)) hide(s, x, tile);
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < n / 2; ++i) s[i] = softmax_power_of_two(s[i]);
    if constexpr (of_queries) {
      unit_.template await<0>();
    } else {
      pack(own.weights, s);
      unit_.hold(own.weights);
      unit_.hold(own.value_sums);
      unit_.begin();
      add(own.value_sums, own.weights, values_at(stage));
      unit_.template await<1>();
    }
    unit_.hold(g);
    if constexpr (keeps_rows) unit_.hold(value);
    for_each_score(g, x.sum, stage, x.first + stage_sums,
                   [&](int i, f32& slope, f32 sum)
                       FLAGGEMS_LAMBDA { slope = s[i] * (slope - sum); });
    pack(own.slopes, g);
    unit_.hold(own.slopes);
    unit_.hold(own.sums);
    unit_.begin();
    add(own.sums, own.slopes, others_at(stage));
    unit_.template await<0>();
    settle(own);
    if constexpr (!of_queries) unit_.sync_named(thread_ / 128, 128);  // all have read its sums
    release(stage);
  }

  FLAGGEMS_INLINE void consume() const {
    ring_position at;
    u32 phase = 0;
    for_each_unit([&](const work& u, u32 index) FLAGGEMS_LAMBDA {
      const rows_type x = rows_of(u);
      state own;
      FLAGGEMS_SIMT_UNROLL
      for (int i = 0; i < d / 2; ++i) own.sums[i] = own.value_sums[i] = 0.0F;
      unit_.wait(full(of_rows), phase);
      phase ^= 1;
      if constexpr (keeps_rows) {
        keep(own.row, base_);
        keep(own.value, base_ + Tile::row_bytes);
        unit_.sync_named(thread_ / 128, 128);  // all have read them
        release(of_rows);
      }
      i32 left = other_heads() * max_of(0, u.end - u.begin), tile = u.begin;
      FLAGGEMS_SIMT_NO_UNROLL
      for (; left > 0; --left) {
        step(own, x, at, u, tile);
        at.next();
        if (++tile == u.end) tile = u.begin;
      }
      if constexpr (!keeps_rows) release(of_rows);
      // Anew, rather than kept in registers meanwhile.
      store(work(space_, static_cast<u32>(settled(static_cast<i32>(index)))), own.sums,
            own.value_sums);
    });
  }

  FLAGGEMS_INLINE void store(const work& u, const sums_type& sums,
                             const sums_type& value_sums) const {
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < 2; ++r) {
      const i32 row = u.first + row_in_tile() + 8 * r;
      const bool exists = row < u.rows();
      const auto line = [&](const decode_arg<T>& arg) FLAGGEMS_LAMBDA {
        return arg.at(u.place) + (i64{u.head} * arg.head + i64{u.row_at() + row} * arg.position);
      };
      store_fragment_row<d>(block_, sums + 2 * r, space_.scale, line(grad_), grad_.element,
                            space_.head_size, space_.is_grad_aligned, exists);
      if constexpr (!of_queries)
        store_fragment_row<d>(block_, value_sums + 2 * r, 1.0F, line(grad_value_),
                              grad_value_.element, space_.value_size, space_.is_grad_value_aligned,
                              exists);
    }
  }

  Block& block_;
  unit_type unit_;
  const Space& space_;
  const tensor_map &row_, &row_value_, &other_, &other_value_, &sums_;
  global_ptr<const f32> sums_data_;
  const decode_arg<T>&grad_, &grad_value_;
  u32 thread_, base_;
};

/// A pass in T (bf16 or f16).
template <class T, class Tile>
struct attention_warp_gradients : warp_group_kernel<Tile::threads, Tile::scratch> {
  template <class Block, class Space>
  FLAGGEMS_INLINE static void run(Block& block, const Space& space, const tensor_map& row,
                                  const tensor_map& row_value, const tensor_map& other,
                                  const tensor_map& other_value, const tensor_map& sums,
                                  global_ptr<const f32> sums_data, const decode_arg<T>& grad,
                                  const decode_arg<T>& grad_value) {
    if constexpr (warp_group_unit<typename Block::machine_type>::exists)
      attention_gradient_by_warp_groups<Block, Space, T, Tile>(
          block, space, row, row_value, other, other_value, sums, sums_data, grad, grad_value)
          .run();
  }
};

/// What each query's weights and slopes need: the logarithm in powers of two, infinite where it
/// sees no key and past the last one, and the sum of grad_out * out; vector-aligned lines of T.
/// Eight threads have a query.
template <class T>
struct attention_gradient_sums {
  static constexpr int max_threads = 128, lanes = 8, width = 8;
  static constexpr int rows = max_threads / lanes;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const attention_gradient_space& space,
                                  const decode_arg<const T>& grad_out,
                                  const decode_arg<const T>& out, const decode_arg<const f32>& logs,
                                  global_ptr<f32> to) {
    const i32 lane = block.thread() % lanes;
    block.for_each_tile(ceil_div(space.sums, u32{rows}), [&](i64 tile) FLAGGEMS_LAMBDA {
      const u32 index = static_cast<u32>(tile) * rows + static_cast<u32>(block.thread() / lanes);
      const u32 before = space.padded.quotient(min_of(index, space.sums - 1));
      const u32 row = min_of(index, space.sums - 1) - before * space.padded.divisor;
      const u32 batch = space.sharers.quotient(before);
      const decode_place place(space, batch);
      const i64 head = before - batch * space.sharers.divisor;
      const bool exists = row < static_cast<u32>(space.queries);
      f32 sum = 0.0F;
      if (exists) {
        const auto x = grad_out.at(place) + (head * grad_out.head + i64{row} * grad_out.position);
        const auto y = out.at(place) + (head * out.head + i64{row} * out.position);
        for (i32 e = lane * width; e < space.value_size; e += lanes * width) {
          const auto a = bit_cast<vec<T, width>>(load_words<T>(x + e));
          const auto b = bit_cast<vec<T, width>>(load_words<T>(y + e));
          FLAGGEMS_SIMT_UNROLL
          for (int k = 0; k < width; ++k) sum = fma(f32(a.at[k]), f32(b.at[k]), sum);
        }
      }
      FLAGGEMS_SIMT_UNROLL
      for (int beyond = 1; beyond < lanes; beyond *= 2)
        sum += block.template shuffle_xor<f32>(sum, beyond);
      if (lane != 0 || index >= space.sums) return;
      f32 log = lowest<f32>();
      if (exists) log = logs.at(place)[head * logs.head + i64{row} * logs.position];
      to[index] = log == lowest<f32>() ? -lowest<f32>() : log * ln2_constants<f32>::inverse;
      to[i64{space.sums} + index] = sum;
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/simt/warp_group_gradients.hpp");
