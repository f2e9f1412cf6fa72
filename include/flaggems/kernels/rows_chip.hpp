// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows in a chip's registers. A team of threads shares a row of contiguous elements; each holds
// some packs of it, read once, and goes through them as often as the kernel needs. What of a long
// row the team cannot hold, the rest, is read again in each pass.
#pragma once

#include <flaggems/kernels/pack.hpp>
#include <flaggems/kernels/rows.hpp>

namespace flaggems::kernels {

/// Elements that one access of up to 16 bytes moves, if there are `Count`.
template <class T, int Count>
inline constexpr int piece_size = Count < pack_size<T> ? Count : pack_size<T>;

/// N elements as 32-bit words: apart, those of 16 bits would take a register each.
template <class T, int Width>
using packed = pack<u32, static_cast<int>(sizeof(T)) * Width / 4>;

/// The elements p[0 .. N) in words; p begins a pack.
template <int Width, class T>
FLAGGEMS_INLINE packed<T, Width> load_packed(global_ptr<const T> p) {
#if FLAGGEMS_DEVICE_CODE
  return *reinterpret_cast<global_ptr<const packed<T, Width>>>(p);
#else  // to the host's compiler, a u32 is no part of a tensor of T
  return bit_cast<packed<T, Width>>(load_pack<Width>(p));
#endif
}
/// Element j of N as a C.
template <class C, class T, int Width>
FLAGGEMS_INLINE C element(const packed<T, Width>& x, int j) {
  if constexpr (is_same<T, bf16> && is_same<C, f32>)  // the upper side of an f32
    return bit_cast<f32>(j % 2 == 0 ? x.at[j / 2] << 16 : x.at[j / 2] & 0xffff0000u);
  else
    return number_cast<C>(bit_cast<pack<T, Width>>(x).at[j]);
}

/// The N elements from p on, where p - off begins a pack, by two accesses and shifts by bytes.
template <int Width, class T>
FLAGGEMS_INLINE packed<T, Width> load_across(global_ptr<const T> p, int off) {
  constexpr int count = static_cast<int>(sizeof(T)) * Width / 4;
  const int bytes = off * static_cast<int>(sizeof(T));
  u32 w[2 * count + 1] = {};
  FLAGGEMS_CHIP_UNROLL
  for (int side = 0; side < 2; ++side) {
    const auto some = load_packed<Width>(p + (side * Width - off));
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < count; ++k) w[side * count + k] = some.at[k];
  }
  FLAGGEMS_CHIP_UNROLL
  for (int step = 2; step > 0; step /= 2) {
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k + step < 2 * count; ++k)
      if ((bytes & (4 * step)) != 0) w[k] = w[k + step];
  }
  packed<T, Width> r;
  FLAGGEMS_CHIP_UNROLL
  for (int k = 0; k < count; ++k)
    r.at[k] = static_cast<u32>((static_cast<u64>(w[k + 1]) << 32 | w[k]) >> (bytes % 4 * 8));
  return r;
}

/// Values of a window: N neighbouring elements of a row.
template <class C, int Width>
struct window_values {
  static constexpr int count = Width;
  C at[Width];
};

/// The elements [at, at + N) of a row of n; `fill` if `inside` is false. Where windows are `Whole`,
/// they begin where an access may.
template <bool Whole, class C, int Width, class T>
FLAGGEMS_INLINE window_values<C, Width> load_window(global_ptr<const T> row, int at, int n,
                                                    bool inside, C fill) {
  window_values<C, Width> r;
  FLAGGEMS_CHIP_UNROLL
  for (int j = 0; j < Width; ++j) r.at[j] = fill;
  constexpr int piece = piece_size<T, Width>;
  if constexpr (Width > 1 && sizeof(T) * piece >= 4) {
    const auto take = [&](const packed<T, piece>& some, int first) FLAGGEMS_LAMBDA {
      FLAGGEMS_CHIP_UNROLL
      for (int j = 0; j < piece; ++j) r.at[first + j] = element<C, T, piece>(some, j);
    };
    if constexpr (Whole) {
      if (inside) {
        FLAGGEMS_CHIP_UNROLL
        for (int k = 0; k < Width; k += piece) take(load_packed<piece>(row + at + k), k);
      }
      return r;
    }
    const int off = static_cast<int>(reinterpret_cast<u64>(row + at) / sizeof(T) % piece);
    if (inside && off == 0) {
      FLAGGEMS_CHIP_UNROLL
      for (int k = 0; k < Width; k += piece) take(load_packed<piece>(row + at + k), k);
      return r;
    }
    // Chips may read all of an aligned access with an element of the row in it.
    if (inside && (FLAGGEMS_DEVICE_CODE || (at >= off && at - off + Width + piece <= n))) {
      FLAGGEMS_CHIP_UNROLL
      for (int k = 0; k < Width; k += piece) take(load_across<piece>(row + at + k, off), k);
      return r;
    }
  }
  if (inside) {
    FLAGGEMS_CHIP_UNROLL
    for (int j = 0; j < Width; ++j) r.at[j] = number_cast<C>(row[at + j]);
  }
  return r;
}
/// Writes a window, if it is inside.
template <bool Whole, class T, class C, int Width>
FLAGGEMS_INLINE void store_window(global_ptr<T> row, int at, bool inside,
                                  const window_values<C, Width>& x) {
  constexpr int piece = piece_size<T, Width>;
  if (!inside) return;
  if (Width > 1 && (Whole || begins_pack<piece>(row + at))) {
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < Width; k += piece) {
      pack<T, piece> some;
      FLAGGEMS_CHIP_UNROLL
      for (int j = 0; j < piece; ++j) some.at[j] = number_cast<T>(x.at[k + j]);
      store_pack<piece>(row + at + k, some);
    }
  } else if constexpr (Width == 1 || !Whole) {
    FLAGGEMS_CHIP_UNROLL
    for (int j = 0; j < Width; ++j) row[at + j] = number_cast<T>(x.at[j]);
  }
}

/// The elements beside its windows that a thread can hold, with so many packs.
FLAGGEMS_INLINE constexpr int row_edges(int packs) { return packs == 1 ? 4 : 1; }

/// What a thread holds of a row: Packs windows of 16 bytes, as they lie in memory; and, unless rows
/// are `Whole` windows, some of the elements before the first address that is a multiple of 16 and
/// behind the last window, of which there are fewer than two windows.
template <class T, int Packs, bool Whole>
class row_share {
 public:
  using value_type = T;
  static constexpr int width = pack_size<T>;
  /// Elements beside the windows that a thread may hold: of short rows they are many.
  static constexpr int edges = Whole ? 0 : row_edges(Packs);

  /// The share of thread `lane` of a team of `size`, of a row of n elements, or of none: n = 0.
  FLAGGEMS_INLINE void place(global_ptr<const T> row, i64 n, int lane, int size) {
    n_ = static_cast<int>(n);
    begin_ = lane * width;
    step_ = size * width;
    end_ = n_;
    if constexpr (!Whole) {
      const int off = static_cast<int>(reinterpret_cast<u64>(row) / sizeof(T) % width);
      const int head = min_of(off == 0 ? 0 : width - off, n_);
      begin_ += head;
      end_ = n_ - (n_ - head) % width;
      FLAGGEMS_CHIP_UNROLL
      for (int e = 0; e < edges; ++e) {
        const int i = lane + e * size;
        edge_at_[e] = i < head ? i : i - head + end_;
      }
    }
  }
  FLAGGEMS_INLINE int length() const { return n_; }
  /// The row's element with which window k begins, and whether the row has it.
  FLAGGEMS_INLINE int at(int k) const { return begin_ + k * step_; }
  FLAGGEMS_INLINE bool has(int k) const { return at(k) < end_; }
  /// The elements beside the windows.
  FLAGGEMS_INLINE int edge_at(int e) const { return edge_at_[e]; }
  FLAGGEMS_INLINE bool has_edge(int e) const { return edge_at_[e] < n_; }
  /// Whether rows of n elements may have a rest, if teams have `size` threads.
  FLAGGEMS_INLINE static bool has_rest(i64 n, int size) {
    return n > static_cast<i64>(Packs) * width * size;
  }

  FLAGGEMS_INLINE void load(global_ptr<const T> row, T fill) {
    const words none = words_of(fill);
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < Packs; ++k) {
      held_[k] = none;
      if (has(k)) held_[k] = load_packed<width>(row + at(k));
    }
    FLAGGEMS_CHIP_UNROLL
    for (int e = 0; e < edges; ++e) {
      edge_[e] = fill;
      if (has_edge(e)) edge_[e] = number_cast<T>(row[edge_at_[e]]);
    }
  }
  /// Between two passes: what is computed from elements is not kept from one to the next, as it
  /// would take more registers than they do.
  FLAGGEMS_INLINE void refresh() {
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < Packs; ++k) {
      FLAGGEMS_CHIP_UNROLL
      for (int j = 0; j < 4; ++j) FLAGGEMS_FORGET(held_[k].at[j]);
    }
  }
  /// Window k as values of C.
  template <class C>
  FLAGGEMS_INLINE window_values<C, width> read(int k) const {
    return values<C>(held_[k]);
  }
  template <class C>
  FLAGGEMS_INLINE window_values<C, 1> read_edge(int e) const {
    return {{number_cast<C>(edge_[e])}};
  }
  /// Puts values in the place of window k.
  template <class C>
  FLAGGEMS_INLINE void put(int k, const window_values<C, width>& x) {
    pack<T, width> some;
    FLAGGEMS_CHIP_UNROLL
    for (int j = 0; j < width; ++j) some.at[j] = number_cast<T>(x.at[j]);
    held_[k] = bit_cast<words>(some);
  }
  template <class C>
  FLAGGEMS_INLINE void put_edge(int e, const window_values<C, 1>& x) {
    edge_[e] = number_cast<T>(x.at[0]);
  }
  /// f(values, at, inside) for all that is held; what is not inside has the value of `fill`.
  template <class C, class F>
  FLAGGEMS_INLINE void for_held(const F& f) const {
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < Packs; ++k) f(read<C>(k), at(k), has(k));
    FLAGGEMS_CHIP_UNROLL
    for (int e = 0; e < edges; ++e) f(read_edge<C>(e), edge_at_[e], has_edge(e));
  }
  /// f(values, at, inside) for the windows of the rest, read from memory. Backwards, what was read
  /// last, and is in a cache, comes first. (Several at a time take registers from what is held:
  /// rows of 262,144 gained a twentieth, and those that fit lost a tenth.)
  template <class C, bool Backwards, class F>
  FLAGGEMS_INLINE void for_rest(global_ptr<const T> row, const F& f) const {
    const int first = at(Packs);
    const int count = first < end_ ? (end_ - first - 1) / step_ + 1 : 0;
    FLAGGEMS_CHIP_NO_UNROLL
    for (int k = 0; k < count; ++k) {
      const int i = first + (Backwards ? count - 1 - k : k) * step_;
      f(values<C>(load_packed<width>(row + i)), i, true);
    }
  }
  /// The same for all of the row, of which the rest comes last.
  template <class C, bool Backwards = false, class F>
  FLAGGEMS_INLINE void for_all(global_ptr<const T> row, const F& f) const {
    for_held<C>(f);
    for_rest<C, Backwards>(row, f);
  }

 private:
  using words = packed<T, width>;
  FLAGGEMS_INLINE static words words_of(T fill) {
    pack<T, width> all;
    FLAGGEMS_CHIP_UNROLL
    for (int j = 0; j < width; ++j) all.at[j] = fill;
    return bit_cast<words>(all);
  }
  template <class C>
  FLAGGEMS_INLINE static window_values<C, width> values(const words& x) {
    window_values<C, width> r;
    FLAGGEMS_CHIP_UNROLL
    for (int j = 0; j < width; ++j) r.at[j] = element<C, T, width>(x, j);
    return r;
  }

  words held_[Packs];
  T edge_[edges + 1];
  int n_, begin_, step_, end_, edge_at_[edges + 1];
};

/// Where a row begins in two operands, whose strides between rows are a and b. (Without
/// coordinates: arrays with an index known at run time are no registers.)
template <class Space>
FLAGGEMS_INLINE void locate_row(const Space& space, int rank, i64 row, const i64* a, const i64* b,
                                i64& at_a, i64& at_b) {
  at_a = at_b = 0;
  FLAGGEMS_CHIP_NO_UNROLL
  for (int d = rank - 1; d > 0; --d) {
    const i64 next = row / space.sizes[d], i = row - next * space.sizes[d];
    at_a += i * a[d];
    at_b += i * b[d];
    row = next;
  }
  at_a += row * a[0];
  at_b += row * b[0];
}

/// How threads share rows: in teams of 2^shift neighbours, up to 32, or where `shift` is negative
/// as a block, or those of a cluster.
struct row_teams {
  int shift;
  static constexpr int block = -1, cluster = -2;

  template <class Block>
  FLAGGEMS_INLINE int threads(const Block& block) const {
    return shift == cluster ? block.threads() * block.cluster_blocks()
           : shift < 0      ? block.threads()
                            : 1 << shift;
  }
  template <class Block>
  FLAGGEMS_INLINE int lane(const Block& block) const {
    return shift == cluster ? block.cluster_block() * block.threads() + block.thread()
           : shift < 0      ? block.thread()
                            : block.thread() & ((1 << shift) - 1);
  }
  /// Calls f(first, step) for the rows of this block's share: a team works on `Rows` rows at once,
  /// the first one and those each `step` further; they may be beyond the last. All threads of a
  /// block are called as often.
  template <int Rows, class Block, class F>
  FLAGGEMS_INLINE void for_each(const Block& block, i64 rows, const F& f) const {
    const int teams = shift < 0 ? 1 : block.threads() >> shift;
    const int own = shift < 0 ? 0 : block.thread() >> shift;
    const i64 count = shift == cluster ? block.clusters() : block.count();
    const i64 index = shift == cluster ? block.cluster() : block.index();
    const i64 step = count * (teams * Rows);
    for (i64 row = index * (teams * Rows); row < rows; row += step) f(row + own, teams);
  }
  /// Threads that meet by shuffles alone: a team's, or a warp's of a team that is a block.
  template <class Block>
  FLAGGEMS_INLINE int neighbours(const Block&) const {
    return shift < 0 ? Block::warp_size : 1 << shift;
  }
  /// Folds the states of each team's threads, for each of its rows.
  template <int Rows, class S, class Block, class Op>
  FLAGGEMS_INLINE void fold(const Block& block, S* states, identity<S> neutral, Op op,
                            int line = FLAGGEMS_CALLER_LINE) const {
    FLAGGEMS_CHIP_UNROLL
    for (int r = 0; r < Rows; ++r)
      states[r] = shift < 0 ? block.template fold<S>(states[r], neutral, op, line)
                            : block.template fold_neighbours<S>(states[r], op, 1 << shift, line);
    if constexpr (Rows == 1) {
      if (shift == cluster)
        states[0] = block.template fold_cluster<S>(states[0], neutral, op, line);
    }
  }
};

/// Where a row begins in two operands, a and b, and what thread `lane` of a team of `size` holds of
/// that of a, else `fill`. A row beyond the last has no elements. `rank`: the dimensions of `space`
/// between rows.
template <class Space, class A, class B, class C, class Share, class InA, class InB>
FLAGGEMS_INLINE void take_row(const Space& space, int rank, i64 row, const A& a, const B& b,
                              int lane, int size, C fill, Share& held, InA& in_a, InB& in_b) {
  const bool exists = row < space.rows;
  i64 at_a, at_b;
  locate_row(space, rank, exists ? row : 0, a.strides, b.strides, at_a, at_b);
  in_a = a.data + at_a;
  in_b = b.data + at_b;
  held.place(in_a, exists ? space.length : 0, lane, size);
  held.load(in_a, number_cast<typename Share::value_type>(fill));
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/rows_chip.hpp");
