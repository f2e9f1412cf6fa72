// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The order in which vectors copy one layout to another.
#pragma once

#include <flaggems/kernel/family/copy/space.hpp>
#include <flaggems/tensor/overlap.hpp>

namespace flaggems {
/// What the elements around the input are: a number, the input mirrored at its edge, its edge, or
/// its other end.
enum class pad_mode { constant, reflect, replicate, circular };
}  // namespace flaggems

namespace flaggems::detail {

/// How the host copies bits from one layout to another: which two dimensions are a block's, and in
/// which order blocks are copied. If the innermost dimensions of input and output differ, reads or
/// writes are not sequential: a dimension of few rows is innermost, of many, eight of the output's
/// are (docs/notes/copies.md).
class copy_plan {
 public:
  kernels::copy_space space;
  int item;          // bytes of an element
  bool rows = true;  // what is side by side in the output is so in the input

  i64 bytes;  // to copy

  /// Both have elements of one size; x broadcasts to the sizes of `out`.
  copy_plan(const memory_layout& out, const memory_layout& x)
      : item(static_cast<int>(out.item)), bytes(out.item) {
    space.transposed = false;
    const i64 size = out.item;
    const int missing = out.sizes.size() - x.sizes.size();
    for (int d = 0; d < out.sizes.size(); ++d) {
      const i64 n = out.sizes[d];
      if (n == 1) continue;
      const bool repeats = d < missing || x.sizes[d - missing] == 1;
      insert({n, out.strides[d] * size, repeats ? 0 : x.strides[d - missing] * size, -1});
      bytes *= n;
    }
    merge();
    rows = rank_ == 0 || (last().to == size && last().from == size);
    if (rows) {
      const i64 length = rank_ == 0 ? size : dims_[--rank_].size * size;
      // A short row is an element of its own, of which there are transpositions.
      rows = rank_ == 0 || length > 8 || (length & (length - 1)) != 0;
      if (!rows) item = static_cast<int>(length);
      if (rows) plan_rows(length);
    }
    if (!rows) plan_elements();
    finish();
  }

  /// A transposition goes through a buffer if its cache lines would not stay in the caches, or
  /// would evict each other (docs/notes/copies.md).
  void stage(bool streamed) {
    constexpr i64 large = i64{2} << 20, medium = i64{1} << 18, pages = 1024;
    space.streamed = streamed;
    space.staged =
        streamed || bytes >= large ||
        (bytes >= medium && (space.to_step[0] % pages == 0 || space.from_step[1] % pages == 0));
  }

 private:
  struct dimension {
    i64 size, to, from;
    int cut;  // the block's dimension whose pieces this one counts, or -1
  };
  /// Bytes of a row, or rows, of one block; elements of one; rows that are few.
  static constexpr i64 most_bytes = 32768, most_elements = 2048, few_rows = 16;
  static constexpr i64 whole = i64{1} << 62;

  [[nodiscard]] const dimension& last() const { return dims_[rank_ - 1]; }
  static i64 magnitude(i64 x) { return x < 0 ? -x : x; }
  /// The dimension along which the input has its smallest step.
  [[nodiscard]] int nearest() const {
    int best = rank_ - 1;
    for (int d = rank_ - 1; d >= 0; --d) {
      const i64 step = magnitude(dims_[d].from), least = magnitude(dims_[best].from);
      if (step != 0 && (least == 0 || step < least)) best = d;
    }
    return best;
  }
  dimension taken(int d) {
    const dimension x = dims_[d];
    for (--rank_; d < rank_; ++d) dims_[d] = dims_[d + 1];
    return x;
  }
  void move_last(int d) {
    const dimension x = taken(d);
    dims_[rank_++] = x;
  }
  /// Makes `d` the block's outer (0) or inner (1) dimension. What is longer than `piece` is cut,
  /// and the pieces become the last dimension of the grid.
  void set(int k, const dimension& d, i64 piece) {
    space.to_step[k] = d.to;
    space.from_step[k] = d.from;
    space.count[k] = space.rest[k] = d.size;
    space.cut[k] = -1;
    if (d.size <= piece) return;
    const i64 pieces = kernels::ceil_div(d.size, piece);
    space.count[k] = piece;
    space.rest[k] = d.size - (pieces - 1) * piece;
    dims_[rank_++] = {pieces, d.to * piece, d.from * piece, k};
  }
  /// What remains is the grid.
  void finish() {
    if (rank_ == 0) dims_[rank_++] = {1, 0, 0, -1};
    space.rank = rank_;
    space.blocks = 1;
    for (int d = 0; d < rank_; ++d) {
      space.sizes[d] = dims_[d].size;
      space.to[d] = dims_[d].to;
      space.from[d] = dims_[d].from;
      space.blocks *= dims_[d].size;
      if (dims_[d].cut >= 0) space.cut[dims_[d].cut] = d;
    }
  }

  /// Puts a dimension where it belongs: those of large steps in the output come first.
  void insert(const dimension& x) {
    int at = rank_++;
    for (; at > 0; --at) {
      const i64 step = magnitude(x.to), outer = magnitude(dims_[at - 1].to);
      if (step < outer || (step == outer && magnitude(x.from) <= magnitude(dims_[at - 1].from)))
        break;
      dims_[at] = dims_[at - 1];
    }
    dims_[at] = x;
  }
  /// Merges adjacent dimensions that both sides traverse with one stride.
  void merge() {
    int last = 0;
    for (int d = 1; d < rank_; ++d) {
      const dimension &outer = dims_[last], &inner = dims_[d];
      i64 to = 0, from = 0;  // too large a one is no step
      if (multiply(inner.to, inner.size, to) && multiply(inner.from, inner.size, from) &&
          to == outer.to && from == outer.from)
        dims_[last] = {outer.size * inner.size, inner.to, inner.from, -1};
      else
        dims_[++last] = inner;
    }
    if (rank_ > 0) rank_ = last + 1;
  }

  void plan_rows(i64 length) {
    if (rank_ == 0 || length > most_bytes) {
      set(0, {1, 0, 0, -1}, whole);
      return set(1, {length, 1, 1, -1}, most_bytes);
    }
    set(1, {length, 1, 1, -1}, whole);
    const int closest = nearest(), inner = rank_ - 1;
    if (closest == inner) return set(0, taken(inner), most_bytes / length);
    if (dims_[closest].size <= few_rows) return set(0, taken(closest), whole);
    if (dims_[inner].size <= few_rows)
      set(0, taken(inner), whole);
    else
      set(0, taken(inner), kernels::max_of(i64{8}, 512 / length));
    move_last(closest);
  }

  void plan_elements() {
    const int closest = nearest(), inner = rank_ - 1, side = 16 / item;
    const dimension x = dims_[closest], y = dims_[inner];
    if (closest != inner && y.to == item && x.from == item && x.size >= side && y.size >= side) {
      space.transposed = true;
      taken(inner), taken(closest);
      set(0, x, even_piece(x.size, kernels::transposed_bytes / item, side));
      return set(1, y, even_piece(y.size, kernels::transposed_elements, side));
    }
    if (closest != inner && y.size < 8 && x.size > y.size) {
      taken(inner), taken(closest);
      set(0, y, whole);
      return set(1, x, most_elements);
    }
    taken(inner);
    if (rank_ == 0 || y.size >= most_elements)
      set(0, {1, 0, 0, -1}, whole);
    else
      set(0, taken(rank_ - 1), most_elements / y.size);
    set(1, y, most_elements);
  }
  /// Pieces of `most` at the most, multiples of `side`, none of which is much shorter.
  static i64 even_piece(i64 size, i64 most, i64 side) {
    if (size <= most) return most;
    return kernels::min_of(
        most, kernels::round_up(kernels::ceil_div(size, kernels::ceil_div(size, most)), side));
  }

  int rank_ = 0;
  dimension dims_[max_rank + 2];
};

}  // namespace flaggems::detail
