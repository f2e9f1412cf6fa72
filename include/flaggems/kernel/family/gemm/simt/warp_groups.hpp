// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products by warp groups (wgmma): one loads boxes of the operands through the copy engine,
// the others multiply them. Persistent; blocks of a cluster share the boxes of `b`.
#pragma once

#include <flaggems/kernel/family/gemm/simt/warp_group_results.hpp>
#include <flaggems/kernel/family/gemm/simt/warp_group_work.hpp>

namespace flaggems::kernels {

/// A thread of such a product; Space as warp_group_space.
template <class Block, class T, class Out, class Bias, class Tile, class Sums,
          class Space = warp_group_space>
class warp_group_product {
 public:
  using C = mma_sum<T>;
  FLAGGEMS_INLINE warp_group_product(Block& block, const Space& space, const tensor_map& a,
                                     const tensor_map& b, const tensor_map& to,
                                     const gemm_out<Out, C>& out, const Bias& bias, const Sums& how)
      : block_(block),
        unit_(block.machine()),
        space_(space),
        a_(a),
        b_(b),
        to_(to),
        out_(out),
        bias_(bias),
        how_(how),
        thread_(static_cast<u32>(block.thread())),
        rank_(static_cast<u32>(block.cluster_block())),
        base_(unit_.address(block.template scratch<u64>(Tile::scratch / 8))),
        first_(static_cast<i32>(block.cluster())),
        stride_(static_cast<i32>(block.clusters())) {}

  FLAGGEMS_INLINE void run() {
    if (thread_ == 0) {
      constexpr u32 releases = (Tile::ping_pong ? 1 : Tile::consumers) * Tile::cluster;
      for (u32 s = 0; s < Tile::stages; ++s) {
        unit_.init_barrier(full(s), Space::gathers ? 5 : 1);
        unit_.init_barrier(empty(s), releases);
      }
      unit_.fence_barriers();
      unit_.prefetch(a_);
      unit_.prefetch(b_);
    }
    if constexpr (Tile::cluster > 1)
      block_.sync_cluster();
    else
      block_.sync();
    unit_.await_earlier(space_.admits);
    // One branch a role, so that each has its number of registers.
    if (thread_ < 128) {
      unit_.template give_registers<40>();
      if (Space::gathers || thread_ == 0)
        by_layout([&](auto a, auto b) FLAGGEMS_LAMBDA {
          if constexpr (Space::gathers)
            gather<typename decltype(b)::b_boxes>();
          else
            produce<typename decltype(a)::a_boxes, typename decltype(b)::b_boxes>();
        });
    } else {
      unit_.template take_registers<232>();
      consume();
    }
    unit_.sync_warp();
    // The others of a cluster write to this block's memory and arrive at its barriers.
    if constexpr (Tile::cluster > 1) unit_.sync_cluster();
  }

 private:
  using unit_type = warp_group_unit<typename Block::machine_type>;
  using place = typename Space::place;
  using search = typename Space::search;
  using position = pipeline_position<Tile::stages>;
  using sums_type = C[Tile::parts][Tile::n / 2];
  static constexpr int terms = Tile::line_bytes / static_cast<int>(sizeof(T));  // of a step
  static constexpr int parts = Tile::parts;

  // Scratch: stages of a and b | slabs of results | barriers of full and empty stages.
  FLAGGEMS_INLINE u32 a_at(u32 stage) const { return base_ + stage * Tile::stage_bytes; }
  FLAGGEMS_INLINE u32 b_at(u32 stage) const { return a_at(stage) + Tile::a_bytes; }
  FLAGGEMS_INLINE u32 slabs() const { return base_ + Tile::stages * Tile::stage_bytes; }
  FLAGGEMS_INLINE u32 full(u32 stage) const { return slabs() + Tile::slabs_bytes + 16 * stage; }
  FLAGGEMS_INLINE u32 empty(u32 stage) const { return full(stage) + 8; }

  /// Blocks of a cluster have tiles below each other and the same columns of b, or columns beside
  /// each other and the same rows of a.
  static constexpr int a_sharers = Space::shares_a ? Tile::cluster : 1;
  static constexpr int b_sharers = Tile::cluster / a_sharers;
  FLAGGEMS_INLINE place locate(search& from, i32 tile) const {
    place at = space_.locate(from, tile, Tile::m * b_sharers, Tile::n * a_sharers);
    if constexpr (b_sharers > 1) at.i += static_cast<i32>(rank_) * Tile::m;
    if constexpr (a_sharers > 1) at.j += static_cast<i32>(rank_) * Tile::n;
    return at;
  }

  /// f<A, B>() of the operands' layouts: a loop each, without a choice inside.
  template <class F>
  FLAGGEMS_INLINE void by_layout(const F& f) const {
    using along = layout<major::along>;
    if constexpr (sizeof(T) == 2 && Space::groups) {
      space_.b_across ? f(along{}, layout<major::across>{}) : f(along{}, along{});
    } else if constexpr (sizeof(T) == 2) {
      using across = layout<major::across>;
      if (space_.a_across)
        space_.b_across ? f(across{}, across{}) : f(across{}, along{});
      else
        space_.b_across ? f(along{}, across{}) : f(along{}, along{});
    } else {
      f(along{}, along{});
    }
  }
  template <major Major>
  struct layout {
    using a_boxes = operand_boxes<Major, Tile::m, a_sharers>;
    using b_boxes = operand_boxes<Major, Tile::n, b_sharers>;
    static constexpr major value = Major;
  };

  template <class A, class B>
  FLAGGEMS_INLINE void produce() const {
    position at;
    search from;
    for (i32 tile = first_; tile < space_.tiles; tile += stride_) {
      const place to = locate(from, tile);
      if constexpr (Space::groups)
        if (!to.multiplies()) continue;
      const i32 a_batch = to.batch * space_.a_batched, b_batch = to.batch * space_.b_batched;
      i32 k = to.step * terms;
      typename Space::steps_of_b of_b(space_, to);
      for (i32 step = space_.steps; step > 0; --step, k += terms, of_b.next(space_), at.next()) {
        const u32 bar = full(at.stage);
        unit_.wait(empty(at.stage), at.phase ^ 1);
        if constexpr (Space::groups)
          load_rows(to, a_at(at.stage), k, a_batch, bar, B::bytes);
        else {
          unit_.expect(bar, A::bytes + B::bytes);
          A::load(unit_, a_, a_at(at.stage), to.i, k, a_batch, bar, a_sharers > 1 ? rank_ : 0);
        }
        B::load(unit_, b_, b_at(at.stage), of_b.line, of_b.step * terms, b_batch, bar,
                b_sharers > 1 ? rank_ : 0);
      }
    }
  }

  /// Boxes of a of 64 rows, those that are not past the end; expects them and so many bytes.
  FLAGGEMS_INLINE void load_rows(const place& to, u32 at, i32 k, i32 batch, u32 bar,
                                 u32 others) const {
    using boxes = operand_boxes<major::along, 64, a_sharers>;
    const i32 count = min_of(ceil_div(to.end - to.i, 64), Tile::m / 64);
    unit_.expect(bar, static_cast<u32>(count) * boxes::bytes + others);
    for (i32 p = 0; p < count; ++p)
      boxes::load(unit_, a_, at + static_cast<u32>(p) * boxes::bytes, to.i + p * 64, k, batch, bar,
                  a_sharers > 1 ? rank_ : 0);
  }

  /// All threads of the group copy lines of a to where boxes would be, so many steps ahead of those
  /// that are there for the others; thread 0 loads the boxes of b.
  template <class B>
  FLAGGEMS_INLINE void gather() const {
    // The others release a stage when they have the next one, too.
    constexpr int ahead = min_of(Tile::stages / 2, Tile::stages - 2);
    constexpr int count = Tile::m / 16;  // lines of a thread
    static_assert(Tile::cluster == 1 && !Tile::ping_pong);
    const u32 vector = thread_ % 8, own = thread_ / 8;
    const u32 to = own * Tile::line_bytes + (vector ^ own % 8) * 16;  // as boxes are swizzled
    position at, ready;
    int pending = 0;
    const auto let = [&](auto left) FLAGGEMS_LAMBDA {
      unit_.template await_copies<decltype(left)::value>();
      unit_.fence_writes();
      unit_.sync_warp();
      if (thread_ % 32 == 0) unit_.arrive(full(ready.stage));
      ready.next();
    };
    search from;
    for (i32 tile = first_; tile < space_.tiles; tile += stride_) {
      const place here = locate(from, tile);
      if (!here.multiplies()) continue;
      i32 lines[count];
      FLAGGEMS_SIMT_UNROLL
      for (int i = 0; i < count; ++i)
        lines[i] = space_.line(here, here.i + static_cast<i32>(own) + i * 16);
      u32 term = vector;  // of the vectors of a line
      for (i32 step = 0; step < space_.steps; ++step, term += 8, at.next()) {
        const u32 bar = full(at.stage);
        unit_.wait(empty(at.stage), at.phase ^ 1);
        if (thread_ == 0) {
          unit_.expect(bar, B::bytes);
          B::load(unit_, b_, b_at(at.stage), here.j, step * terms, here.batch, bar, 0);
        }
        FLAGGEMS_SIMT_UNROLL
        for (int i = 0; i < count; ++i)
          unit_.copy(a_at(at.stage) + to + static_cast<u32>(i * 16 * Tile::line_bytes),
                     space_.vector_of(here, lines[i], term),
                     lines[i] >= 0 && term < space_.vectors);
        unit_.commit_copies();
        if (++pending <= ahead) continue;
        let(int_constant<ahead>{});
        --pending;
      }
    }
    for (; pending > 0; --pending) let(int_constant<0>{});
  }

  FLAGGEMS_INLINE void consume() const {
    const u32 group = thread_ / 128 - 1, thread = thread_ % 128;
    sums_type sums;
    if constexpr (Space::groups) clear(sums);
    position at;
    search from;
    const warp_group_results<unit_type, C, Out, Bias, Tile, Space> results(
        unit_, space_, to_, out_, bias_, slabs() + (thread_ - 128) / 32 * 2 * Tile::slab_bytes);
    u32 slab = 0;  // of the warp's two, the next one
    i32 tile = first_;
    if constexpr (Tile::ping_pong) {
      if (group == 1) {  // begins with the second tile, after the first group's products
        at.skip(static_cast<u32>(space_.steps));
        tile += stride_;
        unit_.arrive_named(1, 256);
      }
    }
    for (; tile < space_.tiles; tile += Tile::ping_pong ? 2 * stride_ : stride_) {
      place to = locate(from, tile);
      bool multiplies = true;
      if constexpr (Space::groups) {
        if (!to.exists()) continue;
        multiplies = to.multiplies();
      }
      u32 first = 0;
      if constexpr (Tile::ping_pong) {
        unit_.sync_named(1 + group, 256);
      } else {
        first = group * Tile::rows;
        to.i += static_cast<i32>(first);
      }
      if constexpr (Space::groups) {
        if (multiplies && to.i >= to.end) {  // the other group has all rows of the tile
          pass(at, thread);
          multiplies = false;
        }
      }
      if (multiplies)
        by_layout([&](auto a, auto b) FLAGGEMS_LAMBDA {
          if constexpr (Sums::by_step)
            multiply_by_steps<decltype(a), decltype(b)>(sums, at, to, first, thread);
          else
            multiply<decltype(a), decltype(b)>(sums, at, first, thread);
        });
      if constexpr (Tile::ping_pong) {
        unit_.arrive_named(2 - group, 256);
        at.skip(static_cast<u32>(space_.steps));  // what the other group multiplies
      }
      results.store(sums, to, thread, slab);
    }
    if (space_.stores_boxes && thread % 32 == 0) unit_.template await_reads<0>();
  }

  FLAGGEMS_INLINE static void clear(sums_type& sums) {
    constexpr int count = Tile::n / 2;
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < parts * count; ++e) sums[e / count][e % count] = 0;
  }

  /// Leaves the steps of a tile to the other group.
  FLAGGEMS_INLINE void pass(position& at, u32 thread) const {
    for (i32 step = 0; step < space_.steps; ++step, at.next()) {
      unit_.wait(full(at.stage), at.phase);
      release(at.stage, thread);
    }
  }
  /// All steps of a tile. One step's products stay pending while the next ones are issued.
  template <class A, class B>
  FLAGGEMS_INLINE void multiply(sums_type& sums, position& at, u32 first, u32 thread) const {
    u32 before = 0;
    for (i32 step = 0; step < space_.steps; ++step) {
      unit_.wait(full(at.stage), at.phase);
      issue<A, B>(sums, at, first, step > 0);
      unit_.template await<1>();
      if (step > 0) release(before, thread);
      before = at.stage;
      at.next();
    }
    unit_.template await<0>();
    release(before, thread);
    hold(sums);
  }
  /// The same, each step by itself. While one step's sums are added to the others, the unit has the
  /// next step, if there are registers for it, and what the other group multiplies.
  template <class A, class B>
  FLAGGEMS_INLINE void multiply_by_steps(sums_type& all, position& at, const place& to, u32 first,
                                         u32 thread) const {
    constexpr int count = Tile::n / 2;
    constexpr bool has_two = 3 * parts * count <= 192;
    sums_type sums[has_two ? 2 : 1];
    clear(all);
    u32 before = 0;
    const scale_rows rows(space_, to, thread);
    const auto begin = [&](sums_type& now, i32 step) FLAGGEMS_LAMBDA {
      unit_.wait(full(at.stage), at.phase);
      issue<A, B>(now, at, first, 0);
      return factors_of(to, to.step + step, rows);
    };
    using factors = decltype(begin(sums[0], 0));
    const auto finish = [&](sums_type& done, const factors& by, auto left) FLAGGEMS_LAMBDA {
      unit_.template await<decltype(left)::value>();
      release(before, thread);
      hold(done);
      FLAGGEMS_SIMT_UNROLL
      for (int p = 0; p < parts; ++p) {
        FLAGGEMS_SIMT_UNROLL
        for (int e = 0; e < count; ++e) all[p][e] = by.add(p, e, done[p][e], all[p][e]);
      }
    };
    using none = int_constant<0>;
    using one = int_constant<1>;
    const auto advance = [&]() FLAGGEMS_LAMBDA {
      before = at.stage;
      at.next();
    };
    i32 step = 0;
    if constexpr (has_two) {
      factors by = begin(sums[0], 0);
      advance();
      for (; step + 2 < space_.steps; step += 2) {
        const factors next = begin(sums[1], step + 1);
        finish(sums[0], by, one{});
        advance();
        by = begin(sums[0], step + 2);
        finish(sums[1], next, one{});
        advance();
      }
      if (step + 1 < space_.steps) {
        const factors next = begin(sums[1], step + 1);
        finish(sums[0], by, one{});
        advance();
        finish(sums[1], next, none{});
      } else {
        finish(sums[0], by, none{});
      }
    } else {
      for (; step < space_.steps; ++step) {
        const factors by = begin(sums[0], step);
        advance();
        finish(sums[0], by, none{});
      }
    }
  }
  /// Issues the products of a step, which is in a stage.
  template <class A, class B>
  FLAGGEMS_INLINE void issue(sums_type& sums, const position& at, u32 first, i32 adds) const {
    const u64 a = matrix_descriptor<A::value>(a_at(at.stage) + first * Tile::line_bytes);
    const u64 b = matrix_descriptor<B::value>(b_at(at.stage));
    hold(sums);
    unit_.begin();
    FLAGGEMS_SIMT_UNROLL
    for (u64 q = 0; q < Tile::line_bytes / 32; ++q) {
      FLAGGEMS_SIMT_UNROLL
      for (u64 p = 0; p < parts; ++p)
        unit_.template multiply<T, A::value, B::value>(
            sums[p], a + q * A::a_boxes::step + p * (64 * Tile::line_bytes / 16),
            b + q * B::b_boxes::step, q > 0 ? 1 : adds);
    }
    unit_.commit();
    hold(sums);
  }

  using scale_rows = rows_of_scales<Space, Sums, parts>;
  FLAGGEMS_INLINE auto factors_of([[maybe_unused]] const place& to, [[maybe_unused]] i32 step,
                                  [[maybe_unused]] const scale_rows& rows) const {
    if constexpr (Sums::scales) {
      static_assert(Sums::lines % Tile::n == 0);
      block_factors<parts> r;
      // (A cluster's last columns may all be past the end.)
      const i32 j = a_sharers > 1 ? min_of(to.j, space_.n - 1) : to.j;
      const f32 of_columns =
          how_.b[to.batch * how_.b_batch + j / Sums::lines * how_.b_row + step * how_.b_step];
      FLAGGEMS_SIMT_UNROLL
      for (int p = 0; p < parts; ++p) {
        FLAGGEMS_SIMT_UNROLL
        for (int h = 0; h < 2; ++h)
          r.at[p][h] =
              how_.a[to.batch * how_.a_batch + rows(p, h) * how_.a_row + step * how_.a_step] *
              of_columns;
      }
      return r;
    } else {
      return no_factors{};
    }
  }
  FLAGGEMS_INLINE void hold(sums_type& sums) const {
    FLAGGEMS_SIMT_UNROLL
    for (int p = 0; p < parts; ++p) unit_.hold(sums[p]);
  }
  /// Lets all who load into a stage overwrite it.
  FLAGGEMS_INLINE void release(u32 stage, u32 thread) const {
    if constexpr (Tile::cluster == 1) {
      if (thread == 0) unit_.arrive(empty(stage));
    } else {
      if (thread < Tile::cluster) unit_.arrive_at(empty(stage), thread);
    }
  }

  Block& block_;
  unit_type unit_;
  const Space& space_;
  const tensor_map &a_, &b_, &to_;
  const gemm_out<Out, C>& out_;
  const Bias& bias_;
  const Sums& how_;
  u32 thread_, rank_, base_;
  i32 first_, stride_;
};

/// The product of T by T: of 16 or 8 bits, or f32, rounded to tf32.
template <class T, class Out, class Bias, class Tile, class Sums = sums_of_unit>
struct gemm_warp_groups : warp_group_kernel<Tile::threads, Tile::scratch> {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const warp_group_space& space, const tensor_map& a,
                                  const tensor_map& b, const tensor_map& to,
                                  const gemm_out<Out, mma_sum<T>>& out, const Bias& bias,
                                  const Sums& how) {
    if constexpr (warp_group_unit<typename Block::machine_type>::exists)
      warp_group_product<Block, T, Out, Bias, Tile, Sums>(block, space, a, b, to, out, bias, how)
          .run();
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/simt/warp_groups.hpp");
