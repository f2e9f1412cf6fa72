// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What authors of operators along one dimension need on the host side: checks of the output, and
// the operands as rows.
#pragma once

#include <flaggems/device/checks.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/expr/simt/register_rows.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/streaming.hpp>
#include <flaggems/ops/plan/checks.hpp>
#include <flaggems/ops/plan/iteration.hpp>

#include <cstdint>
#include <type_traits>

namespace flaggems {

/// The rows along `dim` of a tensor of the given sizes, any strides; operands are added in turn, at
/// most 16. The dimensions besides `dim` are sorted by stride and merged where all operands allow,
/// so rows come in any order and a kernel cannot tell which one it has: what depends on a row's
/// index is an operand. A weight for each element of a row or for each row is one too, its view
/// expanded to the plan's sizes: `weight.expand(sizes)`, `scale.unsqueeze(-1).expand(sizes)`. An
/// output that lacks `dim`, a number for each row, is added as `out.unsqueeze(dim)`, and the kernel
/// writes its element 0.
class row_plan {
 public:
  /// `dense`: all operands are contiguous and have the plan's sizes, and `dim` is the last
  /// dimension, so that there is nothing to plan.
  row_plan(std::span<const i64> sizes, int dim, bool dense = false)
      : dim_(dim), dense_(dense), it_(dense ? shape() : without_dim(sizes, dim, "row_plan")) {
    length_ = sizes.empty() ? 1 : sizes[static_cast<std::size_t>(dim)];
    rows_ = 1;
    for (int d = 0; dense && d < dim; ++d) rows_ *= sizes[static_cast<std::size_t>(d)];
  }

  /// Adds an operand that has the plan's sizes, except along `dim`.
  template <class T, class D>
  void add(const tensor_view<T, D>& v) {
    if (dense_) return;
    it_.add(without_dim(v.sizes(), dim_, "row_plan"), without_dim(v.strides(), dim_, "row_plan"));
    own_[count_++] = v.rank() == 0 ? 1 : v.stride(dim_);
  }

  /// Whether there is nothing to do: no rows, or rows of no elements. (A result for each row is to
  /// be written for those too: there, ask for `space().rows == 0`.)
  [[nodiscard]] bool empty() const { return rows_ == 0 || it_.empty() || length_ == 0; }
  /// The elements of a row.
  [[nodiscard]] i64 length() const { return length_; }

  /// The rows as the kernel sees them. Call once, after the last operand.
  [[nodiscard]] kernels::row_space space() {
    if (dense_) return {1, {rows_}, rows_, length_};
    it_.collapse();
    kernels::row_space s{};
    s.rank = it_.rank();
    s.rows = it_.numel();
    s.length = length_;
    for (int d = 0; d < s.rank; ++d) s.sizes[d] = it_.size(d);
    return s;
  }
  /// Operand number `operand` (in order of `add`) as a kernel's argument, to read.
  template <class T, class D>
  [[nodiscard]] kernels::row_arg<std::remove_const_t<T>> arg(int operand,
                                                             const tensor_view<T, D>& v) const {
    kernels::row_arg<std::remove_const_t<T>> r{v.data(), {}};
    copy_strides(operand, r.strides);
    return r;
  }
  /// The same, to write.
  template <class T, class D>
  [[nodiscard]] kernels::row_target<T> target(int operand, const tensor_view<T, D>& v) const {
    kernels::row_target<T> r{v.data(), {}};
    copy_strides(operand, r.strides);
    return r;
  }

 private:
  void copy_strides(int operand, i64 (&to)[max_rank]) const {
    if (dense_) {
      to[0] = length_;
      to[1] = 1;
      return;
    }
    it_.copy_strides(operand, to);
    to[it_.rank()] = own_[operand];
  }

  int dim_;
  bool dense_;
  i64 length_ = 1, rows_ = 1;
  detail::iteration it_;
  i64 own_[detail::max_operands];
  int count_ = 0;
};

/// The block-local bytes of a kernel with a kept_row of n elements of C (kernel/expr/rows.hpp) and,
/// on the host, copies of up to `rows` rows that are not contiguous; there they are those of a
/// group of rows, if the kernel works on such.
template <class C, class Device>
[[nodiscard]] constexpr i64 row_scratch(i64 n, int rows, bool grouped = false) noexcept {
  if constexpr (has_simt<Device>) return scratch_bytes<C>(n);
  const i64 least = grouped ? kernels::group_elements : 0;
  return scratch_bytes<C>((n > least ? n : least) + 16 * (grouped ? 16 : 1)) * (1 + rows);
}

namespace detail {
/// Whether the rows of `out`, computed from those of x, are written past the caches.
template <class D, class X, class Out>
bool streams_rows(const X& x, const Out& out) {
  return static_cast<const void*>(x.data()) != static_cast<const void*>(out.data()) &&
         is_streamed<D>(x.numel() *
                        i64{sizeof(typename X::value_type) + sizeof(typename Out::value_type)});
}

/// Whether each pack of `width` elements, a power of two, of an operand's rows, which are
/// contiguous, begins where an access of 16 bytes may; an operand without data has none.
template <class Operand>
bool begins_packs(const Operand& x, int rank, i64 width) {
  i64 all = 0;
  for (int d = 0; d < rank; ++d) all |= x.strides[d];
  return reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 && (all & (width - 1)) == 0;
}

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
  /// by blocks. Where there is `much_beside` a row, which all have in common, a thread holds one
  /// pack of each of some rows, or four of one. `keeping`: the kernel has a kept_rest for whole
  /// rows.
  held_rows(i64 count, i64 n, int width, bool aligned, i64 long_packs, bool much_beside = false,
            bool paired = false, bool keeping = false)
      : whole(aligned && (n & (width - 1)) == 0), teams{0} {
    const i64 all = n >> __builtin_ctz(static_cast<unsigned>(width));
    const bool few = all > 64 && all <= 1024 && count <= few_packs / all;
    // A warp each: fewer blocks to begin, and none meets.
    const bool by_warps = few && whole && !much_beside && all <= 128 && count > 512;
    if (all <= (!whole ? 16 : much_beside ? 8 : 2))
      packs = 1;
    else if ((few && !by_warps) || all <= (!whole ? 32 : much_beside ? 0 : 64))
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
      const bool keeps = keeping && whole && count > 64;
      threads = keeps && all <= 8192 ? 128 : 256;
      while (cluster < 8 && i64{cluster} * threads * packs < all) cluster *= 2;
      // As much again waits in blocks' memory: units have room for twice as many blocks, of which
      // some read while others write. (Few rows have units of their own.)
      const int kept = keeps && i64{cluster} * threads * packs < all ? 8 : 0;
      while (threads < 1024 && i64{cluster} * threads * (packs + kept) < all) threads *= 2;
      teams.kept = kept * threads;
    }
    if (paired && !whole && packs == 4 && teams.shift == kernels::row_teams::block &&
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
}  // namespace detail

}  // namespace flaggems
