// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products by warp groups (wgmma): one loads boxes of the operands through the copy engine,
// the others multiply them. Persistent; blocks of a cluster share the boxes of `b`.
#pragma once

#include <flaggems/kernel/block/simt/warp_group.hpp>
#include <flaggems/kernel/family/gemm/scaled.hpp>

namespace flaggems::kernels {

/// A block's tile of Rows x Columns results, of which Consumers warp groups have Rows / Consumers
/// rows each or, if PingPong, a tile each in turn: one multiplies while the other stores. Cluster
/// blocks have tiles below each other.
template <int Rows, int Columns, int Stages, int Cluster, bool PingPong>
struct warp_group_tile {
  static constexpr int m = Rows, n = Columns, stages = Stages, cluster = Cluster;
  static constexpr int line_bytes = 128;  // of a step: what the copy engine swizzles
  static constexpr bool ping_pong = PingPong;
  static constexpr int consumers = 2, threads = 128 * (consumers + 1);
  static constexpr int rows = PingPong ? Rows : Rows / consumers;  // of a warp group
  static constexpr int parts = rows / 64;                          // wgmma has 64 rows
  static constexpr u32 a_bytes = Rows * line_bytes;
  static constexpr u32 b_bytes = (Columns + 63) / 64 * 64 * line_bytes;
  static constexpr u32 stage_bytes = a_bytes + b_bytes;
  // Results leave by slabs of 16 rows of a warp, which has two.
  static constexpr int slab = Columns % 64 == 0 ? 64 : Columns % 32 == 0 ? 32 : 16;
  static constexpr int slab_rows = 16;
  static constexpr u32 slab_bytes = slab_rows * slab * 2,
                       slabs_bytes = consumers * 4 * 2 * slab_bytes;
  static constexpr u32 scratch = stages * stage_bytes + slabs_bytes + 16 * stages;
  static_assert(rows % 64 == 0 && Columns % 16 == 0 && Columns <= 256);
};

/// Tiles of a cluster's rows, of all batches. With split-K, a part of the sums is one more batch of
/// results.
struct warp_group_space {
  i32 m, n;
  i32 steps;    // along the sum, of a part
  i32 batches;  // of the operands
  i32 row_tiles, column_tiles, tiles;
  i32 group;                 // row tiles that pass over all columns together, to stay in L2
  i32 a_batched, b_batched;  // 0: an operand is the same for all batches; 1
  bool a_across, b_across;   // as enum major says
  bool stores_boxes;         // results by the copy engine
  bool reads_contiguous;  // what is added to the results has no strides along their columns but 1
  bool admits;            // the next launch, early

  struct place {
    i32 result, batch, step;  // of results and operands; along the sum, the first one
    i32 i, j;
  };
  FLAGGEMS_INLINE place locate(i32 tile, i32 rows, i32 columns) const {
    const u32 of_result = static_cast<u32>(row_tiles) * static_cast<u32>(column_tiles);
    const u32 result = static_cast<u32>(tile) / of_result;
    const u32 part = result / static_cast<u32>(batches);
    const tile_in_order in(static_cast<u32>(tile) - result * of_result, static_cast<u32>(group),
                           static_cast<u32>(row_tiles), static_cast<u32>(column_tiles));
    place at;
    at.result = static_cast<i32>(result);
    at.batch = at.result - static_cast<i32>(part) * batches;
    at.step = static_cast<i32>(part) * steps;
    at.i = static_cast<i32>(in.row) * rows;
    at.j = static_cast<i32>(in.column) * columns;
    return at;
  }
};

/// The boxes of a tile of `Lines` rows (or columns) of an operand and 128 bytes along the sum. Each
/// of `Sharers` blocks of a cluster loads some of the boxes for all by multicast: rows, or terms
/// where rows are contiguous (of 16 bits, so 64 of both).
template <major Major, int Lines, int Sharers>
struct operand_boxes {
  static constexpr bool is_across = Major == major::across;
  static constexpr int count = is_across ? ceil_div(Lines, 64) : 1;
  static constexpr int rows = (is_across ? 64 : Lines) / Sharers;  // of a box
  static constexpr u32 bytes = count * rows * Sharers * 128;       // by all
  /// How far a descriptor moves for the next 32 bytes of terms, in 16 bytes.
  static constexpr u64 step = is_across ? 16 * 128 / 16 : 32 / 16;
  static_assert(rows % 8 == 0 && rows <= 256);

  template <class Unit>
  FLAGGEMS_INLINE static void load(const Unit& unit, const tensor_map& map, u32 to, i32 line, i32 k,
                                   i32 batch, u32 bar, u32 share) {
    const i32 first = static_cast<i32>(share) * rows;
    FLAGGEMS_SIMT_UNROLL
    for (int s = 0; s < count; ++s) {
      const box_corner<3> at = {
          {is_across ? line + s * 64 : k, (is_across ? k : line) + first, batch}};
      const u32 here = to + static_cast<u32>(s * 64 + first) * 128;
      if constexpr (Sharers > 1)
        unit.load_box(here, map, at, bar, static_cast<u16>((1U << Sharers) - 1));
      else
        unit.load_box(here, map, at, bar);
    }
  }
};

// How a tile's steps are summed: `by_step`, each by itself, and then added up; `scales`, after
// multiplication by what the step has for its rows and columns.

/// The unit sums all steps.
struct sums_of_unit {
  static constexpr bool by_step = false;
};
/// Steps are added up in f32: units sum 8-bit floats with 14 bits of a number.
struct sums_in_f32 {
  static constexpr bool by_step = true;
  static constexpr bool scales = false;
};
/// And each step has a scale a row of a, and one for 128 lines of b.
struct sums_of_blocks {
  static constexpr bool by_step = true;
  static constexpr bool scales = true;
  static constexpr int lines = 128;
  global_ptr<const f32> a, b;
  i64 a_row, a_step, b_row, b_step;
};

/// A thread of such a product.
template <class Block, class T, class Out, class Bias, class Tile, class Sums>
class warp_group_product {
 public:
  using C = mma_sum<T>;
  FLAGGEMS_INLINE warp_group_product(Block& block, const warp_group_space& space,
                                     const tensor_map& a, const tensor_map& b, const tensor_map& to,
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
        unit_.init_barrier(full(s), 1);
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
      if (thread_ == 0)
        by_layout([&](auto a, auto b) FLAGGEMS_LAMBDA {
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
  using place = warp_group_space::place;
  using position = pipeline_position<Tile::stages>;
  using sums_type = C[Tile::parts][Tile::n / 2];
  static constexpr int terms = Tile::line_bytes / static_cast<int>(sizeof(T));  // of a step
  using bias_tile = decltype(declval_of<const Bias&>().at(coordinates{}, i64{}));
  static constexpr int parts = Tile::parts;

  // Scratch: stages of a and b | slabs of results | barriers of full and empty stages.
  FLAGGEMS_INLINE u32 a_at(u32 stage) const { return base_ + stage * Tile::stage_bytes; }
  FLAGGEMS_INLINE u32 b_at(u32 stage) const { return a_at(stage) + Tile::a_bytes; }
  FLAGGEMS_INLINE u32 slabs() const { return base_ + Tile::stages * Tile::stage_bytes; }
  FLAGGEMS_INLINE u32 full(u32 stage) const { return slabs() + Tile::slabs_bytes + 16 * stage; }
  FLAGGEMS_INLINE u32 empty(u32 stage) const { return full(stage) + 8; }

  FLAGGEMS_INLINE place locate(i32 tile) const {
    place at = space_.locate(tile, Tile::m * Tile::cluster, Tile::n);
    at.i += static_cast<i32>(rank_) * Tile::m;
    return at;
  }

  /// f<A, B>() of the operands' layouts: a loop each, without a choice inside.
  template <class F>
  FLAGGEMS_INLINE void by_layout(const F& f) const {
    using along = layout<major::along>;
    if constexpr (sizeof(T) == 2) {
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
    using a_boxes = operand_boxes<Major, Tile::m, 1>;
    using b_boxes = operand_boxes<Major, Tile::n, Tile::cluster>;
    static constexpr major value = Major;
  };

  template <class A, class B>
  FLAGGEMS_INLINE void produce() const {
    position at;
    for (i32 tile = first_; tile < space_.tiles; tile += stride_) {
      const place to = locate(tile);
      const i32 a_batch = to.batch * space_.a_batched, b_batch = to.batch * space_.b_batched;
      i32 k = to.step * terms;
      for (i32 step = space_.steps; step > 0; --step, k += terms, at.next()) {
        const u32 bar = full(at.stage);
        unit_.wait(empty(at.stage), at.phase ^ 1);
        unit_.expect(bar, A::bytes + B::bytes);
        A::load(unit_, a_, a_at(at.stage), to.i, k, a_batch, bar, 0);
        B::load(unit_, b_, b_at(at.stage), to.j, k, b_batch, bar, rank_);
      }
    }
  }

  FLAGGEMS_INLINE void consume() const {
    const u32 group = thread_ / 128 - 1, thread = thread_ % 128;
    sums_type sums;
    position at;
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
      place to = locate(tile);
      u32 first = 0;
      if constexpr (Tile::ping_pong) {
        unit_.sync_named(1 + group, 256);
      } else {
        first = group * Tile::rows;
        to.i += static_cast<i32>(first);
      }
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
      store(sums, to, thread, slab);
    }
    if (space_.stores_boxes && thread % 32 == 0) unit_.template await_reads<0>();
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
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < parts * count; ++e) all[e / count][e % count] = 0;
    u32 before = 0;
    const auto begin = [&](sums_type& now, i32 step) FLAGGEMS_LAMBDA {
      unit_.wait(full(at.stage), at.phase);
      issue<A, B>(now, at, first, 0);
      return factors_of(to, to.step + step, thread);
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

  /// What a step's sums are multiplied by.
  struct no_factors {
    FLAGGEMS_INLINE C add(int, int, C sum, C all) const { return all + sum; }
  };
  /// The scales of a thread's rows, times the one of the tile's columns.
  struct block_factors {
    f32 at[parts][2];
    FLAGGEMS_INLINE f32 add(int p, int e, f32 sum, f32 all) const {
      return fma(sum, at[p][e / 2 % 2], all);
    }
  };
  FLAGGEMS_INLINE auto factors_of([[maybe_unused]] const place& to, [[maybe_unused]] i32 step,
                                  [[maybe_unused]] u32 thread) const {
    if constexpr (Sums::scales) {
      static_assert(Sums::lines % Tile::n == 0);
      block_factors r;
      const f32 of_columns = how_.b[to.j / Sums::lines * how_.b_row + step * how_.b_step];
      const i32 row = to.i + static_cast<i32>(thread / 32 * 16 + thread % 32 / 4);
      FLAGGEMS_SIMT_UNROLL
      for (int p = 0; p < parts; ++p) {
        FLAGGEMS_SIMT_UNROLL
        for (int h = 0; h < 2; ++h) {
          const i32 of = min_of(row + p * 64 + h * 8, space_.m - 1);
          r.at[p][h] = how_.a[of * how_.a_row + step * how_.a_step] * of_columns;
        }
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

  /// Stores the results of a warp group, whose first is at `to`.
  FLAGGEMS_INLINE void store(sums_type& sums, const place& to, u32 thread, u32& slab) const {
    const u32 lane = thread % 32;
    const coordinates batch = {1, {to.result}, 0};
    const bias_tile add = prepared(bias_.at(batch, 0));
    const auto data = out_.at(batch);
    const i32 row = to.i + static_cast<i32>(thread / 32 * 16);
    FLAGGEMS_SIMT_UNROLL
    for (int p = 0; p < parts; ++p) {
      const i32 first = row + p * 64;
      // Inside, elements of neighbouring columns lie at constant distances.
      if (is_same<Bias, no_bias> || (space_.reads_contiguous && to.j + Tile::n <= space_.n))
        store_part<lane_contiguous>(sums[p], add, data, to, first, lane, slab);
      else if constexpr (!is_same<Bias, no_bias>)
        store_part<lane_scalar>(sums[p], add, data, to, first, lane, slab);
    }
  }
  template <class Column>
  FLAGGEMS_INLINE void store_part(const C* sums, const bias_tile& add, global_ptr<Out> data,
                                  const place& to, i32 row, u32 lane, u32& slab) const {
    if constexpr (sizeof(Out) == 2)
      store_slabs<Column>(sums, add, data, to.result, row, to.j, lane, slab);
    else
      store_pairs<Column>(sums, add, data, row + static_cast<i32>(lane / 4),
                          to.j + static_cast<i32>(lane % 4 * 2));
  }

  /// What is stored of a sum; of rows and columns past the end, something.
  template <class Column>
  FLAGGEMS_INLINE auto result(const bias_tile& add, C sum, i32 row, i64 column) const {
    if constexpr (is_same<Column, lane_scalar>)
      column = min_of(static_cast<i32>(column), space_.n - 1);
    return add.template add<C>(row, Column{column}, static_cast<C>(out_.alpha * sum));
  }
  template <class Column>
  FLAGGEMS_INLINE u32 pair(const bias_tile& add, const C* sums, i32 row, i64 column) const {
    const auto low = result<Column>(add, sums[0], row, column);
    const auto high = result<Column>(add, sums[1], row, column + 1);
    if constexpr (is_same<decltype(copy_of(low)), f32>)
      return pack_halves<Out>(low, high);
    else
      return u32{bit_cast<u16>(number_cast<Out>(low))} | u32{bit_cast<u16>(number_cast<Out>(high))}
                                                             << 16;
  }

  /// 16 rows of a warp, a slab of columns at a time through block-local memory.
  template <class Column>
  FLAGGEMS_INLINE void store_slabs(const C* sums, const bias_tile& add, global_ptr<Out> data,
                                   i32 batch, i32 row, i32 column, u32 lane, u32& slab) const {
    constexpr u32 vectors = Tile::slab / 8;  // of 16 bytes, a row
    const u32 own = slabs() + (thread_ - 128) / 32 * 2 * Tile::slab_bytes;
    const u32 vector = lane % 16 * vectors + lane / 16;  // of which the lane tells the address
    const i32 last = space_.m - 1, r = row + static_cast<i32>(lane / 4);
    const i32 upper = min_of(r, last), lower = min_of(r + 8, last);
    // Several at once, so that what they read arrives together, where there are registers for it.
    constexpr int pieces = Tile::slab / 16, together = parts * Tile::n > 256 ? 1 : pieces;
    FLAGGEMS_SIMT_UNROLL
    for (int s = 0; s < Tile::n / Tile::slab; ++s) {
      const i32 left = column + s * Tile::slab;
      const u32 to = own + slab * Tile::slab_bytes;
      slab ^= 1;
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < pieces; j += together) {
        u32 tiles[together][4];
        FLAGGEMS_SIMT_UNROLL
        for (int t = 0; t < together; ++t) {
          const C* x = sums + (s * Tile::slab + (j + t) * 16) / 2;
          const i64 c = i64{left} + lane % 4 * 2 + (j + t) * 16;
          tiles[t][0] = pair<Column>(add, x, upper, c);
          tiles[t][1] = pair<Column>(add, x + 2, lower, c);
          tiles[t][2] = pair<Column>(add, x + 4, upper, c + 8);
          tiles[t][3] = pair<Column>(add, x + 6, lower, c + 8);
        }
        if (j == 0) {
          if (space_.stores_boxes && lane == 0) unit_.template await_reads<1>();
          unit_.sync_warp();
        }
        FLAGGEMS_SIMT_UNROLL
        for (int t = 0; t < together; ++t)
          unit_.store_tiles(swizzled(to + (vector + static_cast<u32>(2 * (j + t))) * 16, vectors),
                            tiles[t]);
      }
      if (space_.stores_boxes) {
        unit_.fence_writes();
        unit_.sync_warp();
        if (lane == 0) unit_.store_box(to_, {{left, row, batch}}, to);
      } else {
        unit_.sync_warp();
        store_rows(data, to, row, left, lane);
      }
    }
  }
  /// A slab row by row, whatever the alignment and strides.
  FLAGGEMS_INLINE void store_rows(global_ptr<Out> data, u32 from, i32 row, i32 column,
                                  u32 lane) const {
    constexpr u32 vectors = Tile::slab / 8;
    const i32 rows = min_of(space_.m - row, 16);
    for (i32 r = 0; r < rows; ++r)
      for (u32 c = lane; c < Tile::slab; c += 32) {
        const i32 j = column + static_cast<i32>(c);
        if (j < space_.n)
          data[(row + r) * out_.row + j * out_.column] = unit_.template read<Out>(
              swizzled(from + static_cast<u32>(r) * (vectors * 16) + c * 2, vectors));
      }
  }

  /// Of other types than those of 16 bits, by pairs of neighbours from registers.
  template <class Column>
  FLAGGEMS_INLINE void store_pairs(const C* sums, const bias_tile& add, global_ptr<Out> data,
                                   i32 row, i32 column) const {
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < Tile::n / 8; ++j) {
      FLAGGEMS_SIMT_UNROLL
      for (int e = 0; e < 4; e += 2) {
        const i32 r = row + e / 2 * 8, c = column + 8 * j;
        const C* x = sums + 4 * j + e;
        const i32 of = min_of(r, space_.m - 1);
        const vec<Out, 2> both = {{number_cast<Out>(result<Column>(add, x[0], of, c)),
                                   number_cast<Out>(result<Column>(add, x[1], of, c + 1))}};
        if (r >= space_.m) continue;
        global_ptr<Out> to = data + r * out_.row + c * out_.column;
        if (space_.stores_boxes && c + 1 < space_.n) {
          *reinterpret_cast<global_ptr<vec<Out, 2>>>(to) = both;
        } else {
          if (c < space_.n) to[0] = both.at[0];
          if (c + 1 < space_.n) to[out_.column] = both.at[1];
        }
      }
    }
  }

  Block& block_;
  unit_type unit_;
  const warp_group_space& space_;
  const tensor_map &a_, &b_, &to_;
  const gemm_out<Out, C>& out_;
  const Bias& bias_;
  const Sums& how_;
  u32 thread_, rank_, base_;
  i32 first_, stride_;
};

/// The product of T by T: of 16 or 8 bits, or f32, rounded to tf32. Code for CUDA's other targets
/// has no such product and takes one warp a block, by which the host knows it (most_threads in
/// launch/launch.hpp).
template <class T, class Out, class Bias, class Tile, class Sums = sums_of_unit>
struct gemm_warp_groups {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE && !FLAGGEMS_CUDA_WARP_GROUPS
  static constexpr int max_threads = 32;
#else
  static constexpr int max_threads = Tile::threads;
#endif
  static constexpr int min_blocks = 1;
  static constexpr int most_scratch = Tile::scratch;
  static constexpr bool awaits_earlier = true;

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
