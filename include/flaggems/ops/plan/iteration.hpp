// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The iteration space of an operator: the output's sizes and the strides of every operand, reduced
// to the fewest dimensions and tiled; for SIMT devices, split into steps.
#pragma once

#include <flaggems/device/launch_config.hpp>
#include <flaggems/kernel/family/pointwise/pointwise.hpp>
#include <flaggems/tensor/extents.hpp>
#include <flaggems/tensor/overlap.hpp>

namespace flaggems::detail {

/// The most operands of one launch, the output included.
inline constexpr int max_operands = 16;

/// Sizes, and a row of strides for each operand. Dimensions of size 1 are left out.
class iteration {
 public:
  /// What a tensor becomes in a kernel.
  template <class T, class C>
  using arg = kernels::arg<T, C>;

  explicit iteration(std::span<const i64> sizes) : full_rank_(static_cast<int>(sizes.size())) {
    for (int d = 0; d < full_rank_; ++d) {
      full_sizes_[d] = sizes[static_cast<std::size_t>(d)];
      if (full_sizes_[d] != 1) {
        kept_[rank_] = d;
        sizes_[rank_++] = full_sizes_[d];
      }
    }
  }

  /// The space of `n` elements that all of `operands` have contiguous: one dimension.
  [[nodiscard]] static iteration flat(i64 n, int operands) {
    iteration it(std::span<const i64>{});
    it.full_rank_ = 1;
    it.rank_ = n == 1 ? 0 : 1;
    it.full_sizes_[0] = it.sizes_[0] = n;
    it.operands_ = operands;
    for (int k = 0; k < operands; ++k) it.strides_[k][0] = 1;
    return it;
  }

  /// Adds an operand whose sizes broadcast to the space's (the caller has checked that).
  void add(std::span<const i64> sizes, std::span<const i64> strides) {
    i64* row = strides_[operands_++];
    const int missing = full_rank_ - static_cast<int>(sizes.size());
    for (int d = 0; d < rank_; ++d) {
      const int own = kept_[d] - missing;
      const bool broadcast = own < 0 || sizes[static_cast<std::size_t>(own)] == 1;
      row[d] = broadcast ? 0 : strides[static_cast<std::size_t>(own)];
    }
  }
  /// Adds an operand that is an element's row-major index.
  void add_position() {
    i64* row = strides_[operands_++];
    i64 stride = 1;
    for (int d = rank_ - 1; d >= 0; --d) {
      row[d] = stride;
      stride *= sizes_[d];
    }
  }

  [[nodiscard]] bool empty() const {
    for (int d = 0; d < full_rank_; ++d)
      if (full_sizes_[d] == 0) return true;
    return false;
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] i64 size(int d) const { return sizes_[d]; }
  [[nodiscard]] i64 stride(int operand, int d) const { return strides_[operand][d]; }
  [[nodiscard]] i64 numel() const {
    i64 n = 1;
    for (int d = 0; d < rank_; ++d) n *= sizes_[d];
    return n;
  }

  /// Sorts the dimensions by the first operand's strides, smallest innermost, and merges them.
  FLAGGEMS_ONCE void collapse() {
    sort(0);
    merge();
  }
  /// The same, but sorted by these strides first, given as an operand's.
  void collapse(std::span<const i64> sizes, std::span<const i64> strides) {
    add(sizes, strides);
    sort(operands_ - 1);
    --operands_;
    merge();
  }
  /// Merges adjacent dimensions that every operand traverses with one stride.
  FLAGGEMS_ONCE void merge() {
    int last = 0;
    for (int d = 1; d < rank_; ++d) {
      if (mergeable(last, d)) {
        sizes_[last] *= sizes_[d];
        for (int k = 0; k < operands_; ++k) strides_[k][last] = strides_[k][d];
      } else if (++last != d) {
        sizes_[last] = sizes_[d];
        for (int k = 0; k < operands_; ++k) strides_[k][last] = strides_[k][d];
      }
    }
    if (rank_ > 0) rank_ = last + 1;
  }

  /// For an operand transposed against the first one: puts the outer dimension along which it is
  /// contiguous next to the innermost, so that a tile can have whole cache lines of both.
  FLAGGEMS_ONCE void arrange_transposed() {
    const int inner = rank_ - 1;
    for (int k = 1; k < operands_ && inner > 0 && !transposed_; ++k) {
      i64 least = magnitude(strides_[k][inner]);
      int along = inner;
      for (int d = 0; d < inner; ++d) {
        const i64 step = magnitude(strides_[k][d]);
        if (step != 0 && step < least) least = step, along = d;
      }
      if (along == inner) continue;
      transposed_ = true;
      for (int d = along; d + 1 < inner; ++d) swap(d, d + 1);
    }
  }

  /// Adds dimension `d` of a space with the same operands as the innermost one.
  void append(const iteration& from, int d) {
    sizes_[rank_] = from.sizes_[d];
    operands_ = from.operands_;
    for (int k = 0; k < operands_; ++k) strides_[k][rank_] = from.strides_[k][d];
    ++rank_;
  }

  /// The tiles of at most `chunk` elements of the innermost dimension. With a `depth`, after
  /// arrange_transposed: where that found an operand, of `depth` rows of at most 64 elements; else
  /// of several short rows, if they are contiguous or one element each.
  [[nodiscard]] FLAGGEMS_NOINLINE_ONCE kernels::tiling tiles(i64 chunk, i64 depth = 1) const {
    kernels::tiling t{};
    const bool blocks = transposed_ && depth > 1;
    t.outer_rank = rank_ > 0 ? rank_ - 1 : 0;
    t.inner = rank_ > 0 ? sizes_[rank_ - 1] : 1;
    t.chunk = blocks ? kernels::transposed_columns : chunk;
    t.chunks = kernels::ceil_div(t.inner, t.chunk);
    t.tiles = t.chunks;
    t.depth = 1;
    for (int d = 0; d < t.outer_rank; ++d) t.outer_sizes[d] = sizes_[d];
    int outer = t.outer_rank;
    const bool together =
        !blocks && depth > 1 && outer > 0 && t.inner > 0 && t.inner <= chunk / 2 && is_dense();
    if (blocks || together) {
      --outer;
      t.depth = blocks ? depth : kernels::min_of(sizes_[outer], chunk / t.inner);
      t.depths = kernels::ceil_div(sizes_[outer], t.depth);
      t.tiles *= t.depths;
    }
    while (outer > 0) t.tiles *= sizes_[--outer];
    return t;
  }
  /// Whether rows along the innermost dimension are contiguous or one element each.
  [[nodiscard]] bool is_dense() const {
    for (int k = 0; k < operands_; ++k)
      if (strides_[k][rank_ - 1] != 0 && strides_[k][rank_ - 1] != 1) return false;
    return true;
  }
  /// Whether every count and offset is far below 2^32: a cheap test, true of most.
  [[nodiscard]] bool is_small() const {
    u64 large = 0, elements = 1;  // nothing wraps before it shows in `large`
    for (int d = 0; d < rank_; ++d) large |= elements *= static_cast<u64>(sizes_[d]);
    for (int k = 0; k < operands_; ++k) {
      u64 reach = 0;
      for (int d = 0; d < rank_; ++d) {
        const u64 step = static_cast<u64>(magnitude(strides_[k][d]));
        large |= step;
        reach += static_cast<u64>(sizes_[d] - 1) * step;
      }
      large |= reach;
    }
    return large < u64{1} << 30;
  }
  /// Calls f(part, its first coordinates) for parts of the space in which every count and every
  /// offset from an operand's first element fits in 32 bits: mostly one part.
  template <class F>
  void for_each_narrow_part(const F& f) const {
    kernels::coordinates first{};
    first.rank = rank_ > 0 ? rank_ - 1 : 0;
    for_each_narrow_part(f, first);
  }

  /// The strides of an operand, innermost last, followed by a zero if there is room: the inner
  /// stride for kernels that have all of these outside. The rest of `to` is unchanged.
  FLAGGEMS_NOINLINE void copy_strides(int operand, i64 (&to)[max_rank]) const {
    if (rank_ < max_rank) to[rank_] = 0;
    copy_few(to, strides_[operand], rank_);
  }

 private:
  static i64 magnitude(i64 x) { return x < 0 ? -x : x; }
  template <class F>
  void for_each_narrow_part(const F& f, const kernels::coordinates& first) const {
    int widest = 0;
    if (is_narrow(widest)) return f(*this, first);
    iteration part = *this;
    kernels::coordinates from = first;
    const i64 size = sizes_[widest], half = size > 128 ? size / 128 * 64 : size / 2;
    part.sizes_[widest] = half;
    part.for_each_narrow_part(f, from);
    part.sizes_[widest] = size - half;
    (widest == from.rank ? from.inner : from.at[widest]) += half;
    part.for_each_narrow_part(f, from);
  }
  /// Sets the dimension along which an operand reaches farthest. What no memory could hold, and no
  /// device will run, is as good as narrow: so many parts could not even be launched.
  bool is_narrow(int& widest) const {
    constexpr f64 limit = 2147483647, memory = 140737488355328;  // 2^47
    f64 elements = 1, farthest = -1;
    bool narrow = true;
    for (int d = 0; d < rank_; ++d) elements *= static_cast<f64>(sizes_[d]);
    f64 most = elements;
    for (int k = 0; k < operands_; ++k) {
      f64 reach = 0;
      for (int d = 0; d < rank_; ++d) {
        const f64 along =
            static_cast<f64>(sizes_[d] - 1) * static_cast<f64>(magnitude(strides_[k][d]));
        reach += along;
        if (along > farthest) farthest = along, widest = d;
      }
      narrow = narrow && reach < limit;
      most = kernels::max_of(most, reach);
    }
    return (narrow && elements < limit) || most >= memory;
  }
  FLAGGEMS_ONCE void sort(int first) {
    for (int i = 1; i < rank_; ++i)
      for (int j = i; j > 0 && before(j, j - 1, first); --j) swap(j, j - 1);
  }
  /// By the strides of operand `first`, then of all.
  [[nodiscard]] bool before(int a, int b, int first) const {
    const i64 fa = magnitude(strides_[first][a]), fb = magnitude(strides_[first][b]);
    if (fa != fb) return fa > fb;
    for (int k = 0; k < operands_; ++k) {
      const i64 sa = magnitude(strides_[k][a]), sb = magnitude(strides_[k][b]);
      if (sa != sb) return sa > sb;
    }
    return false;
  }
  void swap(int a, int b) {
    std::swap(sizes_[a], sizes_[b]);
    for (int k = 0; k < operands_; ++k) std::swap(strides_[k][a], strides_[k][b]);
  }
  [[nodiscard]] bool mergeable(int outer, int inner) const {
    for (int k = 0; k < operands_; ++k) {
      i64 step = 0;  // too large a one is no stride
      if (!multiply(strides_[k][inner], sizes_[inner], step) || strides_[k][outer] != step)
        return false;
    }
    return true;
  }

  int full_rank_ = 0, rank_ = 0, operands_ = 0;
  bool transposed_ = false;
  int kept_[max_rank];
  i64 full_sizes_[max_rank], sizes_[max_rank];
  i64 strides_[max_operands][max_rank];
};

}  // namespace flaggems::detail
