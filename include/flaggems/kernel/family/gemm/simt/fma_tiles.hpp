// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products in full precision on SIMT devices with asynchronous copies: multiply-adds of sums
// in registers, from block-local memory that the copies fill some steps ahead.
#pragma once

#include <flaggems/kernel/family/gemm/simt/results.hpp>

namespace flaggems::kernels {

/// A block's tile: a thread has RowGroups x ColumnGroups groups of 4 x 4 results, 8 x 4 threads are
/// a warp, 2 x 2 warps a block; steps of 16 terms, Stages of them in block-local memory.
template <int RowGroups, int ColumnGroups, int Stages, int Blocks>
struct fma_tile {
  static constexpr int row_groups = RowGroups, column_groups = ColumnGroups;
  static constexpr int rows = 64 * RowGroups, columns = 32 * ColumnGroups;
  static constexpr int depth = 16, stages = Stages, threads = 128;
  static constexpr int blocks = Blocks;  // resident at once, which bounds registers
};

/// The boxes of Lines x Depth elements of an operand, one after the other along the sum: copied to
/// block-local memory term by term, lines side by side. What lies along the sum goes element by
/// element, by eight terms of four lines a warp, so that neither side has conflicts.
template <class T, major Major, int Lines, int Depth, int Threads, class Arg = gemm_arg<T>>
class element_loader {
 public:
  static constexpr int size = 16 / static_cast<int>(sizeof(T));  // of a vector
  static constexpr bool along = Major == major::along;
  static constexpr int pitch = Lines + size;
  static constexpr int box = Depth * pitch / size;  // in vectors
  static constexpr int copies = along ? Lines * Depth / Threads : Lines * Depth / (size * Threads);
  static constexpr bool turns = is_same<Arg, turning_arg<T>>;  // by whole steps
  static_assert(along || !turns);

  /// For lines from `first` on, and terms [begin, end): with Major across, lines are multiples of a
  /// vector.
  FLAGGEMS_INLINE element_loader(int thread, global_ptr<const T> matrix, const Arg& x, i64 lines,
                                 i64 first, i64 begin, i64 end) {
    if constexpr (along) {
      const int line = thread / terms, term = thread % terms;
      // Lines past the end repeat the last one: computed, not stored.
      from_ = matrix + first * x.line + begin + term;
      FLAGGEMS_SIMT_UNROLL
      for (int i = 0; i < groups; ++i)
        step_[i] =
            static_cast<u32>(min_of(i64{line + i * lines_at_once}, lines - 1 - first) * x.line);
      hop_ = Depth;
      left_ = static_cast<i32>(end - begin) - term;
      to_ = term * pitch + line;
      if constexpr (turns) {
        from_ += begin / x.turn * x.hop;
        turn_ = x.turn;
        turn_hop_ = x.hop;
        until_turn_ = turn_ - begin % x.turn;
      }
    } else {
      constexpr int vectors = Lines / size;
      const int row = thread / vectors, v = thread % vectors;
      from_ = matrix + (begin + row) * x.along + first + v * size;
      step_[0] = static_cast<u32>(x.along) * (Threads / vectors);
      hop_ = x.along * Depth;
      left_ = first + v * size < lines ? static_cast<i32>(end - begin) - row : 0;
      to_ = row * pitch / size + v;
    }
  }
  /// Copies a part of the next box to `slot`, zeros for terms past the end.
  template <class Block>
  FLAGGEMS_INLINE void load(const Block& block, const typename Block::template scratch_type<T>& to,
                            int slot, int part, int parts) const {
    FLAGGEMS_SIMT_UNROLL
    for (int e = copies * part / parts; e < copies * (part + 1) / parts; ++e) {
      if constexpr (along) {
        constexpr int halves = Depth / terms;
        const int term = e % halves * terms, i = e / halves;
        block.template copy_async<T>(to, slot * size + to_ + term * pitch + i * lines_at_once,
                                     from_ + step_[i] + term, term < left_);
      } else {
        using words = vec<u32, 4>;
        constexpr int rows = Threads / (Lines / size);
        block.template copy_async<words>(
            to.template as<words>(), slot + to_ + e * (rows * pitch / size),
            reinterpret_cast<global_ptr<const words>>(from_ + static_cast<u32>(e) * step_[0]),
            e * rows < left_);
      }
    }
  }
  FLAGGEMS_INLINE void advance() {
    from_ += hop_;
    left_ -= Depth;
    if constexpr (turns) {
      until_turn_ -= Depth;
      if (until_turn_ == 0) {
        from_ += turn_hop_;
        until_turn_ = turn_;
      }
    }
  }

 private:
  static constexpr int terms = 8, lines_at_once = Threads / terms;
  static constexpr int groups = along ? Lines / lines_at_once : 1;
  static_assert(Depth % terms == 0 && Lines % lines_at_once == 0);

  global_ptr<const T> from_;
  i64 hop_;
  u32 step_[groups];
  i32 left_;
  int to_;
  i64 turn_ = 0, turn_hop_ = 0, until_turn_ = 0;
};

/// out = alpha * a * b^T + bias, of T that are summed as such, in tiles.
template <class T, class Out, class Bias, class Tile, major A, major B, class BArg = gemm_arg<T>>
struct gemm_fma_tiles {
  using a_loader = element_loader<T, A, Tile::rows, Tile::depth, Tile::threads>;
  using b_loader = element_loader<T, B, Tile::columns, Tile::depth, Tile::threads, BArg>;
  static constexpr int max_threads = Tile::threads, min_blocks = Tile::blocks;
  static constexpr int depth = Tile::depth, size = a_loader::size;
  static constexpr int high = 4 * Tile::row_groups, wide = 4 * Tile::column_groups;
  static constexpr int stage = a_loader::box + b_loader::box, all = Tile::stages * stage;
  static constexpr int pitch = b_loader::pitch;  // of sums in block-local memory
  static constexpr int most_scratch = all * 16;
  static_assert(size == 4 && Tile::rows * pitch <= all * size && Tile::stages > 2);

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const gemm_space& space, const gemm_arg<T>& a,
                                  const BArg& b, const gemm_out<Out, T>& out, const Bias& bias,
                                  const sum_parts<T>& parts) {
    const auto stages = block.template scratch<T>(all * size);
    const int warp = block.thread() / 32, lane = block.thread() % 32;
    // In vectors: a thread's rows and columns lie 8 and 4 apart.
    const int row = warp / 2 * (8 * Tile::row_groups) + lane / 4;
    const int column = warp % 2 * (4 * Tile::column_groups) + lane % 4;
    block.for_each_tile(parts.units(space.tiles()), [&](i64 index) FLAGGEMS_LAMBDA {
      const tile_part unit = tile_part::of(space, parts, index);
      T sums[high][wide];
      FLAGGEMS_SIMT_UNROLL
      for (int e = 0; e < high * wide; ++e) sums[e / wide][e % wide] = T(0);
      multiply(block, stages, space, a, b, unit, row, column, sums);
      // Found once more, so that the loop has the registers: 4096^3 on an H200 in 2.79 ms,
      // not 2.92.
      const tile_part to = tile_part::of(space, parts, settled(index));
      const auto found = stages.template as<values>();
      FLAGGEMS_SIMT_UNROLL
      for (int i = 0; i < high; ++i) {
        FLAGGEMS_SIMT_UNROLL
        for (int g = 0; g < Tile::column_groups; ++g)
          found.write(
              ((row + i / size * 8) * size + i % size) * (pitch / size) + column + 4 * g,
              values{{sums[i][4 * g], sums[i][4 * g + 1], sums[i][4 * g + 2], sums[i][4 * g + 3]}});
      }
      block.sync();
      store_rows<Tile::rows, Tile::columns, pitch, Tile::threads>(
          block, stages, to.j, [](int r) FLAGGEMS_LAMBDA { return r; },
          tile_results<Out, T, Bias, sums_together<Out>>(space, out, bias, parts, to));
      block.sync();
    });
  }

 private:
  using values = vec<T, size>;

  template <class Block, class Stages>
  FLAGGEMS_INLINE static void multiply(const Block& block, const Stages& stages,
                                       const gemm_space& space, const gemm_arg<T>& a, const BArg& b,
                                       const tile_part& unit, int row, int column,
                                       T (&sums)[high][wide]) {
    a_loader next_a(block.thread(), operand_of(space, a, unit.batch), a, space.m, unit.i,
                    unit.begin, unit.end);
    const gemm_arg<T>& second = b;
    b_loader next_b(block.thread(), operand_of(space, second, unit.batch), b, space.n, unit.j,
                    unit.begin, unit.end);
    const int steps = static_cast<int>(ceil_div(unit.end - unit.begin, i64{depth}));
    int write = 0, read = 0;
    const auto advance = [](int& slot)
                             FLAGGEMS_LAMBDA { slot = slot == all - stage ? 0 : slot + stage; };
    // Past the last step are zeros, so that the loop has no branches.
    const auto load = [&](int part, int count) FLAGGEMS_LAMBDA {
      next_a.load(block, stages, write, part, count);
      next_b.load(block, stages, write + a_loader::box, part, count);
      if (part + 1 < count) return;
      next_a.advance();
      next_b.advance();
      advance(write);
      block.commit_copies();
    };
    const auto here = stages.template as<values>();
    values x[2][Tile::row_groups], y[2][Tile::column_groups];  // of this term and of the next
    const auto fetch = [&](int q, int to) FLAGGEMS_LAMBDA {
      const int of_a = read + q * (a_loader::pitch / size) + row;
      const int of_b = read + a_loader::box + q * (b_loader::pitch / size) + column;
      FLAGGEMS_SIMT_UNROLL
      for (int g = 0; g < Tile::row_groups; ++g) x[to][g] = here.read(of_a + 8 * g);
      FLAGGEMS_SIMT_UNROLL
      for (int g = 0; g < Tile::column_groups; ++g) y[to][g] = here.read(of_b + 4 * g);
    };
    FLAGGEMS_SIMT_UNROLL
    for (int s = 1; s < Tile::stages; ++s) load(0, 1);
    block.template sync_copies<Tile::stages - 2>();
    fetch(0, 0);
    for (int step = 0; step < steps; ++step) {
      FLAGGEMS_SIMT_UNROLL
      for (int q = 0; q < depth; ++q) {
        if (q + 1 == depth) {
          block.template sync_copies<Tile::stages - 2>();
          advance(read);
        }
        fetch((q + 1) % depth, (q + 1) % 2);
        FLAGGEMS_SIMT_UNROLL
        for (int i = 0; i < high; ++i) {
          FLAGGEMS_SIMT_UNROLL
          for (int e = 0; e < wide; ++e) {
            const int j = i % 2 != 0 ? wide - 1 - e : e;  // back and forth: operands repeat
            sums[i][j] = multiply_add<T>(x[q % 2][i / size].at[i % size],
                                         y[q % 2][j / size].at[j % size], sums[i][j]);
          }
        }
        if (q + 1 < depth) load(q, depth - 1);
      }
    }
    block.template sync_copies<0>();
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/simt/fma_tiles.hpp");
