// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How rows of SIMT devices are held in registers: vectors a thread, threads a row, rows a block.
#pragma once

#include <flaggems/kernel/expr/simt/register_rows.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/plan/rows.hpp>

#include <cstdint>

namespace flaggems::detail {

/// Whether each vector of `width` elements, a power of two, of an operand's rows, which are
/// contiguous, begins where an access of 16 bytes may; an operand without data has none.
template <class Operand>
bool are_vec_aligned(const Operand& x, int rank, i64 width) {
  i64 all = 0;
  for (int d = 0; d < rank; ++d) all |= x.strides[d];
  return reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 && (all & (width - 1)) == 0;
}

/// What a kernel that holds rows can do, or asks for.
struct register_row_options {
  bool many_aux = false;     ///< rows have much in common: one vector of each of some rows, or four
  bool paired = false;       ///< two rows share what is beside them
  bool stages_rest = false;  ///< the rest of a whole row is staged in block-local memory
  bool reads_once = false;   ///< what is not held is read once: nothing is gained by holding it
};

/// How the rows of a launch are held in the registers of a SIMT device's threads
/// (kernel/expr/simt/register_rows.hpp).
template <class Device>
struct register_rows {
  using numbers = tuning<families::row, Device>;

  int vectors;          // a thread holds of a row, in kernels that hold 1, 2, 4 or 8
  bool is_aligned;      // vectors are
  int threads;          // a block
  int cluster = 1;      // blocks that share a row
  int pair_stride = 0;  // how far the two rows are apart that a block works on at once, if it does
  kernels::row_threads groups;

  /// Whether rows can be held: positions in one have 32 bits, and where they lie in several
  /// dimensions, so have their numbers.
  static constexpr bool take(i64 count, i64 n, int rank) {
    constexpr i64 most = i64{1} << 30;  // limit
    return n <= most && (rank <= 1 || count <= most);
  }
  /// For `count` rows of n elements; `width` of them, a power of two, make a vector. `aligned`:
  /// operands begin with one. Kernels that hold four have blocks for rows of `long_row_vectors`, if
  /// whole, else of no more than tuning's; longer rows, and those of more than tuning's where rows
  /// are few, are shared by blocks.
  register_rows(i64 count, i64 n, int width, bool aligned, i64 long_row_vectors,
                const register_row_options& options = {})
      : is_aligned(aligned && (n & (width - 1)) == 0), groups{0} {
    const i64 all = n >> __builtin_ctz(static_cast<unsigned>(width));
    const bool few = all > numbers::subwarp_vectors && all <= numbers::vectors_of_few &&
                     count <= numbers::few_vectors / all;
    // A warp each: fewer blocks to begin, and none meets.
    const bool by_warps = few && is_aligned && !options.many_aux && all <= numbers::warp_vectors &&
                          count > numbers::warp_rows;
    if (all <= (!is_aligned ? 16 : options.many_aux ? 8 : 2))
      vectors = 1;
    else if ((few && !by_warps) || all <= (!is_aligned        ? 32
                                           : options.many_aux ? 0
                                                              : numbers::subwarp_vectors))
      vectors = 2;
    else
      vectors = all <= (is_aligned ? long_row_vectors
                                   : kernels::min_of(long_row_vectors, numbers::long_row_vectors))
                    ? 4
                    : 8;
    if (all <= numbers::subwarp_vectors || by_warps) {
      threads = by_warps && count > numbers::many_warp_rows ? numbers::threads_of_many_warps
                                                            : numbers::threads_of_warps;
      const int edges = kernels::row_edges(vectors);
      const i64 least = is_aligned ? 1 : (2 * width - 2 + edges - 1) / edges;
      while (i64{vectors} << groups.shift < all || i64{1} << groups.shift < least) ++groups.shift;
    } else {
      const i64 wanted = (all + vectors - 1) / vectors;
      threads = static_cast<int>(kernels::min_of(wanted, most_threads));
      groups.shift = kernels::row_threads::block;
    }
    if (options.reads_once && all > numbers::long_row_vectors && count > numbers::rows_read_once) {
      // A block for each row; with two in a unit, one reads while the other reduces.
      vectors = 8;
      threads = numbers::threads_read_once;
    } else if (all > numbers::long_row_vectors &&
               (count <= numbers::few_long_rows || all > long_row_vectors)) {
      groups.shift = kernels::row_threads::cluster;
      vectors = 8;
      const bool keeps = options.stages_rest && is_aligned && count > numbers::few_long_rows;
      threads = keeps && all <= numbers::staged_vectors ? numbers::threads_of_staged
                                                        : numbers::threads_of_cluster;
      while (cluster < 8 && i64{cluster} * threads * vectors < all) cluster *= 2;
      // As much again waits in blocks' memory: units have room for twice as many blocks, of which
      // some read while others write. (Few rows have units of their own.)
      const int staged = keeps && i64{cluster} * threads * vectors < all ? 8 : 0;
      while (threads < most_threads && i64{cluster} * threads * (vectors + staged) < all)
        threads *= 2;
      groups.staged = staged * threads;
    }
    if (options.paired && !is_aligned && vectors == 4 &&
        groups.shift == kernels::row_threads::block && count > 4 * numbers::few_vectors / all)
      pair_stride = width;
  }
  /// Rows that a thread group works on at once, so that each thread has as much to load.
  [[nodiscard]] int rows() const { return vectors == 1 ? 4 : pair_stride > 0 ? 2 : 1; }
  [[nodiscard]] i64 tiles(i64 all) const {
    if (pair_stride > 0) {
      const i64 rest = all % (2 * pair_stride);
      return all / (2 * pair_stride) * pair_stride + (rest < pair_stride ? rest : pair_stride);
    }
    const int rows_per_tile = rows() * (groups.shift < 0 ? 1 : threads >> groups.shift);
    return (all + rows_per_tile - 1) / rows_per_tile;
  }
  /// What the launch of `all` rows is.
  void configure(launch_config& config, i64 all) const {
    config.tiles = tiles(all);
    config.threads = threads;
    config.cluster = cluster;
    config.scratch = i64{groups.staged} * 16;
    // What blocks read beside rows that begin alike stays with them: no more than run at once.
    constexpr int resident = numbers::resident_threads;
    config.blocks_per_unit =
        pair_stride >= 8 && threads <= numbers::threads_of_pairs && resident % threads == 0
            ? resident / threads
            : 0;
  }
  /// Calls f(vectors, rows, whole) with constants; `Paired`: whether rows may be.
  template <bool Paired = false, class F>
  void visit(const F& f) const {
    if constexpr (Paired) {
      if (pair_stride > 0)
        return f(kernels::int_constant<4>{}, kernels::int_constant<2>{}, std::false_type{});
    }
    if (is_aligned)
      visit_vectors(f, std::true_type{});
    else
      visit_vectors(f, std::false_type{});
  }

 private:
  static constexpr i64 most_threads = 1024;  // limit

  template <class F, class Aligned>
  void visit_vectors(const F& f, Aligned all) const {
    using kernels::int_constant;
    switch (vectors) {
      case 1: return f(int_constant<1>{}, int_constant<4>{}, all);
      case 2: return f(int_constant<2>{}, int_constant<1>{}, all);
      case 4: return f(int_constant<4>{}, int_constant<1>{}, all);
      default: return f(int_constant<8>{}, int_constant<1>{}, all);
    }
  }
};

}  // namespace flaggems::detail
