// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products on SIMT devices with matrix units, from block-local memory that is filled some
// steps ahead.
#pragma once

#include <flaggems/kernel/block/simt/matrix_units.hpp>
#include <flaggems/kernel/family/gemm/simt/register_loader.hpp>
#include <flaggems/kernel/family/gemm/simt/results.hpp>

namespace flaggems::kernels {

/// A block's tile: Rows x Columns results, 2 * Depth bytes of terms a step, Stages steps in
/// block-local memory, WarpRows x WarpColumns warps of the unit's lanes.
template <int Rows, int Columns, int Depth, int Stages, int WarpRows, int WarpColumns, int Blocks,
          int Lanes = 32>
struct mma_tile {
  static constexpr int rows = Rows, columns = Columns, depth = Depth, stages = Stages;
  static constexpr int warp_rows = WarpRows, warp_columns = WarpColumns;
  static constexpr int lanes = Lanes, threads = Lanes * WarpRows * WarpColumns;
  static constexpr int blocks = Blocks;  // resident at once, which bounds registers
};

/// The boxes of Lines x Depth elements of an operand, one after the other along the sum: copied to
/// block-local memory as rows of vectors, which are permuted so that eight threads that read equal
/// vectors of eight rows have no bank conflicts. (What matrix units take lies equally in vectors of
/// all types, if along the sum.)
template <class T, major Major, int Lines, int Depth, int Threads>
class tile_loader {
 public:
  using words = vec<u32, 4>;
  static constexpr bool along = Major == major::along;
  static constexpr int width = vec_size<T>;
  static constexpr int vectors = (along ? Depth : Lines) / width;  // of a row
  static constexpr int rows = along ? Lines : Depth;
  static constexpr int size = rows * vectors;
  static constexpr bool is_wide = sizeof(T) == 8;

  static_assert(along || sizeof(T) == 2 || sizeof(T) == 8);

  /// For lines from `first` on, and terms [begin, end). Sizes along vectors are multiples of these.
  FLAGGEMS_INLINE tile_loader(int thread, global_ptr<const T> matrix, const gemm_arg<T>& x,
                              i64 lines, i64 first, i64 begin, i64 end) {
    const int row = thread / vectors, v = thread % vectors;
    const i64 stride = along ? x.line : x.along;
    const i64 row_at = (along ? first : begin) + row, at = (along ? begin : first) + v * width;
    from_ = matrix + row_at * stride + at;
    stride_ = stride * rows_at_once;
    hop_ = along ? Depth : stride * Depth;
    rows_left_ = count_of((along ? lines : end) - row_at);
    left_ = count_of((along ? end : lines) - at);
    to_ = place(row, v);
  }
  /// Copies a part of the next box to `slot`, zeros for what is outside.
  template <class Block>
  FLAGGEMS_INLINE void load(const Block& block,
                            const typename Block::template scratch_type<words>& stages, int slot,
                            int part, int parts) const {
    constexpr int count = rows / rows_at_once;
    FLAGGEMS_SIMT_UNROLL
    for (int i = count * part / parts; i < count * (part + 1) / parts; ++i)
      block.template copy_async<words>(
          stages, slot + to_ + i * (rows_at_once * vectors),
          reinterpret_cast<global_ptr<const words>>(from_ + i * stride_),
          left_ > 0 && i * rows_at_once < rows_left_);
  }
  FLAGGEMS_INLINE void advance() {
    from_ += hop_;
    (along ? left_ : rows_left_) -= Depth;
  }
  /// A barrier, after which all boxes but the last Left are there.
  template <int Left, class Block>
  FLAGGEMS_INLINE static void sync(const Block& block) {
    block.template sync_copies<Left>();
  }
  /// Fetches lines [first + 16 * j, + 16) and 32 bytes of terms, the q-th, of a box as operand of
  /// mma; `first` is a multiple of 16.
  template <bool IsFirst, class Block>
  FLAGGEMS_INLINE static void fetch(const Block& block,
                                    const typename Block::template scratch_type<words>& stages,
                                    int slot, int first, int j, int q, u32 (&x)[4]) {
    if constexpr (is_wide)
      fetch_wide(block.thread() % 32, stages, slot, first, j, q, x);
    else
      block.template load_tiles<!along, words>(x, stages, [&](int lane) FLAGGEMS_LAMBDA {
        const int row = lane % 8, low = lane / 8 % 2, high = lane / 16;
        const int line = IsFirst ? low : high, term = IsFirst ? high : low;
        if constexpr (along)
          return slot + (first + 8 * line + row) * vectors + j * (16 * vectors) +
                 ((term ^ turn(row)) ^ 2 * q);
        else
          return slot + (8 * term + row) * vectors + q * (16 * vectors) +
                 ((first / 8 + 2 * j) ^ (line ^ turn(row)));
      });
  }

 protected:
  static constexpr int rows_at_once = Threads / vectors;
  static constexpr int period = is_wide ? 4 : 8;  // of rows, whose vectors are permuted alike
  static_assert(Threads % vectors == 0 && rows % rows_at_once == 0 && rows_at_once % period == 0);

  FLAGGEMS_INLINE static int turn(int row) {
    const int by = vectors >= 8 ? row & 7 : row >> 1 & (vectors - 1);
    return is_wide ? 2 * by & (min_of(vectors, 8) - 1) : by;
  }
  /// The same of elements of two words: 16 threads read two vectors each of four rows at once.
  template <class Stages>
  FLAGGEMS_INLINE static void fetch_wide(int lane, const Stages& stages, int slot, int first, int j,
                                         int q, u32 (&x)[4]) {
    const auto elements = stages.template as<u64>();
    const int g = lane / 4, t = lane % 4;
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int vector =
          along
              ? (first + g) * vectors + (16 * j + 8 * i) * vectors + ((t / 2 ^ turn(g)) ^ 2 * q)
              : t * vectors + 4 * q * vectors + ((first / 2 + 8 * j) ^ (4 * i ^ (g / 2 ^ turn(t))));
      const u64 element = elements.read((slot + vector) * 2 + (along ? t : g) % 2);
      x[2 * i] = static_cast<u32>(element);
      x[2 * i + 1] = static_cast<u32>(element >> 32);
    }
  }
  FLAGGEMS_INLINE static int place(int row, int v) { return row * vectors + (v ^ turn(row)); }
  FLAGGEMS_INLINE static i32 count_of(i64 n) { return static_cast<i32>(min_of(n, i64{1} << 30)); }

  global_ptr<const T> from_;
  i64 stride_, hop_;
  i32 left_, rows_left_;
  int to_;
};

/// What loads operands for a unit.
template <class Unit, class T, major Major, int Lines, int Depth, int Threads>
using unit_loader =
    conditional<Unit::takes_loaded_tiles, tile_loader<T, Major, Lines, Depth, Threads>,
                register_loader<Unit, T, Major, Lines, Depth, Threads>>;

/// Terms of a step.
template <class T, class Tile>
inline constexpr int depth_of = Tile::depth * 2 / static_cast<int>(sizeof(T));

/// The sums of steps are added up as they are.
struct plain_steps {
  static constexpr bool are_scaled = false;
};

/// The sums of a tile, which Unit multiplies, of what two loaders bring; and their way to the
/// results. Steps says what the sums of each step are multiplied by, in f32, before they are added:
/// at(step).at[i][h] those of row_of(thread, i, h).
template <class T, class Tile, class Unit, class ALoader, class BLoader, class Steps = plain_steps>
struct tile_product {
  using words = vec<u32, 4>;
  using C = conditional<Steps::are_scaled, f32, mma_sum<T>>;
  static constexpr int depth = depth_of<T, Tile>;
  using a_loader = ALoader;
  using b_loader = BLoader;
  static constexpr int max_threads = Tile::threads, exact_threads = max_threads;
  static constexpr int min_blocks = Tile::blocks;
  static constexpr int rows = Tile::rows / Tile::warp_rows;  // of a warp
  static constexpr int columns = Tile::columns / Tile::warp_columns;
  static constexpr int high = rows / 16, wide = columns / 16;  // in 16 x 16 results
  static constexpr int halves = 16 / Unit::columns;  // that the unit takes of each of these
  static constexpr int pieces = wide * halves;
  static constexpr int stage = a_loader::size + b_loader::size, all = Tile::stages * stage;
  static constexpr int pitch =
      Tile::columns + 8;  // of sums in block-local memory, without conflicts
  /// Vectors of block-local memory: for steps, then for 16 rows of each warp's sums or more.
  static constexpr int row_bytes = 16 * Tile::warp_rows * pitch * int{sizeof(C)};
  static constexpr int vectors = max_of(all, row_bytes / 16);
  static constexpr int most_scratch = vectors * 16;
  static_assert(rows % 16 == 0 && columns % 16 == 0);
  static_assert(Tile::stages > (Unit::takes_loaded_tiles ? 2 : 1));
  static_assert(Tile::lanes == Unit::lanes && Tile::depth % 32 == 0);
  /// 16 rows of each warp, as often as there is room for their sums.
  static constexpr int room = most_scratch / row_bytes;
  static constexpr int at_once = room >= high                        ? high
                                 : high % 2 == 0 && 2 * room >= high ? high / 2
                                                                     : 1;

  /// The row of the tile that a thread's h-th sums of its i-th 16 rows are of.
  FLAGGEMS_INLINE static int row_of(int thread, int i, int h) {
    return thread / Unit::lanes / Tile::warp_columns * rows + i * 16 +
           Unit::row(thread % Unit::lanes) + h * Unit::row_step;
  }

  /// Multiplies `terms` terms of the loaders' boxes and gives the sums to `results`, the first
  /// column being column `first` of the result.
  template <class Block, class Stages, class Results>
  FLAGGEMS_INLINE static void run(const Block& block, const Stages& stages, a_loader& next_a,
                                  b_loader& next_b, i64 terms, i64 first, const Results& results,
                                  const Steps& scales = {}) {
    const int warp = block.thread() / Unit::lanes, warp_row = warp / Tile::warp_columns;
    const int row = warp_row * rows, column = warp % Tile::warp_columns * columns;
    C sums[high][pieces][Unit::sums];
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < high * pieces * Unit::sums; ++e)
      sums[e / (pieces * Unit::sums)][e / Unit::sums % pieces][e % Unit::sums] = 0;
    multiply(block, stages, next_a, next_b, terms, row, column, sums, scales);
    store(block, stages, first, row, column, sums, results);
  }

 private:
  template <class Block, class Stages>
  FLAGGEMS_INLINE static void multiply(const Block& block, const Stages& stages, a_loader& next_a,
                                       b_loader& next_b, i64 terms, int row, int column,
                                       C (&sums)[high][pieces][Unit::sums],
                                       [[maybe_unused]] const Steps& scales) {
    const int steps = static_cast<int>(ceil_div(terms, i64{depth}));
    int write = 0, read = 0;
    const auto advance = [](int& slot)
                             FLAGGEMS_LAMBDA { slot = slot == all - stage ? 0 : slot + stage; };
    // Past the last step are zeros, so that the loop has no branches.
    const auto load = [&](int part, int count) FLAGGEMS_LAMBDA {
      next_a.load(block, stages, write, part, count);
      next_b.load(block, stages, write + a_loader::size, part, count);
      if (part + 1 < count) return;
      next_a.advance();
      next_b.advance();
      advance(write);
      block.commit_copies();
    };
    constexpr int quarters = Tile::depth / 16;
    u32 x[2][high][Unit::words],
        y[2][wide][Unit::words];  // of this quarter of a step and of the next
    const auto fetch_a = [&](int i, int q) FLAGGEMS_LAMBDA {
      a_loader::template fetch<true>(block, stages, read, row, i, q, x[q % 2][i]);
    };
    const auto fetch_b = [&](int j, int q) FLAGGEMS_LAMBDA {
      b_loader::template fetch<false>(block, stages, read + a_loader::size, column, j, q,
                                      y[q % 2][j]);
    };
    // Without asynchronous copies a step's loads are in registers until the next one's begin.
    constexpr bool is_async = Unit::takes_loaded_tiles;
    const auto store_loads = [&]() FLAGGEMS_LAMBDA {
      if constexpr (!is_async) {
        next_a.store(block, stages);
        next_b.store(block, stages);
      }
    };
    FLAGGEMS_SIMT_UNROLL
    for (int s = 1; s < Tile::stages; ++s) load(0, 1), store_loads();
    a_loader::template sync<Tile::stages - 2>(block);
    if constexpr (!is_async) load(0, 1);
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < high; ++i) fetch_a(i, 0);
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < wide; ++j) fetch_b(j, 0);
    auto next_scales = scales_at(scales, 0);
    for (int step = 0; step < steps; ++step) {
      const auto by = next_scales;  // read a step ahead
      next_scales = scales_at(scales, step + 1);
      FLAGGEMS_SIMT_UNROLL
      for (int q = 0; q < quarters; ++q) {
        if (q + 1 == quarters) {
          store_loads();
          a_loader::template sync<Tile::stages - 2>(block);
          advance(read);
          if constexpr (!is_async) load(0, 1);
        }
        FLAGGEMS_SIMT_UNROLL
        for (int i = 0; i < max_of(high, wide); ++i) {
          if (i < wide) fetch_b(i, (q + 1) % quarters);
          if (i < high) fetch_a(i, (q + 1) % quarters);
          if (i < high) {
            FLAGGEMS_SIMT_UNROLL
            for (int e = 0; e < pieces; ++e) {
              // Back and forth: operands repeat.
              const int j = i % 2 != 0 ? pieces - 1 - e : e;
              if constexpr (Steps::are_scaled)
                add_scaled(block, sums[i][j], x[q % 2][i], y[q % 2][j / halves], j % halves,
                           by.at[i]);
              else
                Unit::multiply(block, sums[i][j], x[q % 2][i], y[q % 2][j / halves], j % halves);
            }
          }
        }
        if (is_async && q + 1 < quarters) load(q, quarters - 1);
      }
    }
    a_loader::template sync<0>(block);
  }

  FLAGGEMS_INLINE static auto scales_at([[maybe_unused]] const Steps& scales,
                                        [[maybe_unused]] int step) {
    if constexpr (Steps::are_scaled)
      return scales.at(step);
    else
      return plain_steps{};
  }
  /// c += (a * b) * what its rows are multiplied by.
  template <class Block>
  FLAGGEMS_INLINE static void add_scaled(const Block& block, f32 (&c)[Unit::sums],
                                         const u32 (&a)[Unit::words], const u32 (&b)[Unit::words],
                                         int part, const f32 (&by)[Unit::own_rows]) {
    mma_sum<T> some[Unit::sums];
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < Unit::sums; ++e) some[e] = static_cast<mma_sum<T>>(-0.0F);  // x - 0 is x
    Unit::multiply(block, some, a, b, part);
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < Unit::sums; ++e)
      c[e] = fma(sum_as_f32(some[e]), by[e / (Unit::sums / Unit::own_rows)], c[e]);
  }

  /// Through block-local memory, as many rows of each warp at a time as it has room for, so that
  /// threads have neighbours.
  template <class Block, class Stages, class Results>
  FLAGGEMS_INLINE static void store(const Block& block, const Stages& stages, i64 first_column,
                                    int row, int column, const C (&sums)[high][pieces][Unit::sums],
                                    const Results& results) {
    constexpr int adjacent = Unit::together, own = Unit::own_rows, each = Unit::sums / own;
    using group = vec<C, adjacent>;
    const auto found = stages.template as<group>();
    const int lane = block.thread() % Unit::lanes;
    const int first = (row / rows * (16 * at_once) + Unit::row(lane)) * (pitch / adjacent) +
                      column / adjacent + Unit::column(lane) / adjacent;
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < high; i += at_once) {
      FLAGGEMS_SIMT_UNROLL
      for (int h = 0; h < own * at_once; ++h) {
        const int to_row = first + (h / own * 16 + h % own * Unit::row_step) * (pitch / adjacent);
        FLAGGEMS_SIMT_UNROLL
        for (int j = 0; j < pieces; ++j) {
          FLAGGEMS_SIMT_UNROLL
          for (int e = 0; e < each; e += adjacent) {
            group some;
            FLAGGEMS_SIMT_UNROLL
            for (int g = 0; g < adjacent; ++g)
              some.at[g] = sums[i + h / own][j][h % own * each + e + g];
            found.write(to_row + (j * Unit::columns + e * Unit::step) / adjacent, some);
          }
        }
      }
      block.sync();
      constexpr int high_rows = 16 * at_once;
      store_rows<high_rows * Tile::warp_rows, Tile::columns, pitch, Tile::threads>(
          block, stages, first_column,
          [&](int r) FLAGGEMS_LAMBDA { return r / high_rows * rows + i * 16 + r % high_rows; },
          results);
      block.sync();
    }
  }
};

/// out = alpha * a * b^T + bias in tiles, which Unit multiplies.
template <class T, class Out, class Bias, class Tile, major A, major B, class Unit = mma_unit<T>>
struct gemm_tiles {
  static constexpr int depth = depth_of<T, Tile>;
  using a_loader = unit_loader<Unit, T, A, Tile::rows, depth, Tile::threads>;
  using b_loader = unit_loader<Unit, T, B, Tile::columns, depth, Tile::threads>;
  using product = tile_product<T, Tile, Unit, a_loader, b_loader>;
  using words = typename product::words;
  using C = typename product::C;
  static constexpr int max_threads = product::max_threads, exact_threads = max_threads;
  static constexpr int min_blocks = Tile::blocks, vectors = product::vectors;
  static constexpr int most_scratch = product::most_scratch;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const gemm_space& space, const gemm_arg<T>& a,
                                  const gemm_arg<T>& b, const gemm_out<Out, C>& out,
                                  const Bias& bias, const sum_parts<C>& parts) {
    const auto stages = block.template scratch<words>(vectors);
    block.for_each_tile(parts.units(space.tiles()), [&](i64 index) FLAGGEMS_LAMBDA {
      const tile_part unit = tile_part::of(space, parts, index);
      a_loader next_a(block.thread(), operand_of(space, a, unit.batch), a, space.m, unit.i,
                      unit.begin, unit.end);
      b_loader next_b(block.thread(), operand_of(space, b, unit.batch), b, space.n, unit.j,
                      unit.begin, unit.end);
      product::run(block, stages, next_a, next_b, unit.end - unit.begin, unit.j,
                   tile_results<Out, C, Bias, sums_together<Out>>(space, out, bias, parts, unit));
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/simt/tiles.hpp");
