// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How rows of SIMT devices are held in registers: packs a thread, threads a row, rows a block.
#pragma once

#include <flaggems/kernel/expr/simt/register_rows.hpp>
#include <flaggems/ops/plan/rows.hpp>

#include <cstdint>

namespace flaggems::detail {

/// Whether each pack of `width` elements, a power of two, of an operand's rows, which are
/// contiguous, begins where an access of 16 bytes may; an operand without data has none.
template <class Operand>
bool begins_packs(const Operand& x, int rank, i64 width) {
  i64 all = 0;
  for (int d = 0; d < rank; ++d) all |= x.strides[d];
  return reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 && (all & (width - 1)) == 0;
}

/// What a kernel that holds rows can do, or asks for.
struct held_options {
  bool much_beside = false;  ///< rows have much in common: one pack of each of some rows, or four
  bool paired = false;       ///< two rows share what is beside them
  bool keeps_rest = false;   ///< the rest of a whole row is staged in block-local memory
};

/// How the rows of a launch are held in the registers of a chip's threads
/// (kernel/expr/simt/register_rows.hpp).
struct held_rows {
  int packs;        // a thread holds of a row, in kernels that hold 1, 2, 4 or 8
  bool whole;       // packs are
  int threads;      // a block
  int cluster = 1;  // blocks that share a row
  int alike = 0;    // how far the two rows are apart that a block works on at once, if it does
  kernels::row_teams teams;

  /// Whether rows can be held: positions in one have 32 bits, and where they lie in several
  /// dimensions, so have their numbers.
  static constexpr bool take(i64 count, i64 n, int rank) {
    constexpr i64 most = i64{1} << 30;
    return n <= most && (rank <= 1 || count <= most);
  }
  /// Less work than keeps a large chip busy, in packs: what counts is how soon a row is done.
  static constexpr i64 few_packs = i64{1} << 18;

  /// For `count` rows of n elements; `width` of them, a power of two, make a pack. `aligned`:
  /// operands begin with one. Kernels that hold four have blocks for rows of `long_packs`, if
  /// whole, else of 2048; longer rows, and those of more than 2048 where rows are few, are shared
  /// by blocks.
  held_rows(i64 count, i64 n, int width, bool aligned, i64 long_packs,
            const held_options& options = {})
      : whole(aligned && (n & (width - 1)) == 0), teams{0} {
    const i64 all = n >> __builtin_ctz(static_cast<unsigned>(width));
    const bool few = all > 64 && all <= 1024 && count <= few_packs / all;
    // A warp each: fewer blocks to begin, and none meets.
    const bool by_warps = few && whole && !options.much_beside && all <= 128 && count > 512;
    if (all <= (!whole ? 16 : options.much_beside ? 8 : 2))
      packs = 1;
    else if ((few && !by_warps) || all <= (!whole ? 32 : options.much_beside ? 0 : 64))
      packs = 2;
    else
      packs = all <= (whole || long_packs < 2048 ? long_packs : 2048) ? 4 : 8;
    if (all <= 64 || by_warps) {
      // (Larger blocks begin sooner: 2048 rows of 1024 gained a twentieth; of fewer rows units
      // would have unequal shares.)
      threads = by_warps && count > 1600 ? 256 : 128;
      const int edges = kernels::row_edges(packs);
      const i64 least = whole ? 1 : (2 * width - 2 + edges - 1) / edges;
      while (i64{packs} << teams.shift < all || i64{1} << teams.shift < least) ++teams.shift;
    } else {
      const i64 wanted = (all + packs - 1) / packs;
      threads = static_cast<int>(wanted < 1024 ? wanted : 1024);
      teams.shift = kernels::row_teams::block;
    }
    if (all > 2048 && (count <= 64 || all > long_packs)) {
      teams.shift = kernels::row_teams::cluster;
      packs = 8;
      const bool keeps = options.keeps_rest && whole && count > 64;
      threads = keeps && all <= 8192 ? 128 : 256;
      while (cluster < 8 && i64{cluster} * threads * packs < all) cluster *= 2;
      // As much again waits in blocks' memory: units have room for twice as many blocks, of which
      // some read while others write. (Few rows have units of their own.)
      const int kept = keeps && i64{cluster} * threads * packs < all ? 8 : 0;
      while (threads < 1024 && i64{cluster} * threads * (packs + kept) < all) threads *= 2;
      teams.kept = kept * threads;
    }
    if (options.paired && !whole && packs == 4 && teams.shift == kernels::row_teams::block &&
        count > 4 * few_packs / all)
      alike = width;
  }
  /// Rows that a team works on at once, so that each thread has as much to load.
  [[nodiscard]] int rows() const { return packs == 1 ? 4 : alike > 0 ? 2 : 1; }
  [[nodiscard]] i64 tiles(i64 all) const {
    if (alike > 0) {
      const i64 rest = all % (2 * alike);
      return all / (2 * alike) * alike + (rest < alike ? rest : alike);
    }
    const int together = rows() * (teams.shift < 0 ? 1 : threads >> teams.shift);
    return (all + together - 1) / together;
  }
  /// What the launch of `all` rows is.
  void configure(launch_config& config, i64 all) const {
    config.tiles = tiles(all);
    config.threads = threads;
    config.cluster = cluster;
    config.scratch = i64{teams.kept} * 16;
    // What blocks read beside rows that begin alike stays with them: no more than run at once.
    config.blocks_per_unit = alike >= 8 && threads <= 128 && 512 % threads == 0 ? 512 / threads : 0;
  }
  /// Calls f(packs, rows, whole) with constants; `Paired`: whether rows may be.
  template <bool Paired = false, class F>
  void visit(const F& f) const {
    if constexpr (Paired) {
      if (alike > 0)
        return f(kernels::int_constant<4>{}, kernels::int_constant<2>{}, std::false_type{});
    }
    if (whole)
      visit_packs(f, std::true_type{});
    else
      visit_packs(f, std::false_type{});
  }

 private:
  template <class F, class Whole>
  void visit_packs(const F& f, Whole all) const {
    using kernels::int_constant;
    switch (packs) {
      case 1: return f(int_constant<1>{}, int_constant<4>{}, all);
      case 2: return f(int_constant<2>{}, int_constant<1>{}, all);
      case 4: return f(int_constant<4>{}, int_constant<1>{}, all);
      default: return f(int_constant<8>{}, int_constant<1>{}, all);
    }
  }
};

}  // namespace flaggems::detail
