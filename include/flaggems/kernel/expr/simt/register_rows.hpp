// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows in a SIMT device's registers. A group of threads shares a row of contiguous elements; each
// holds some vectors of it, read once, and goes through them as often as the kernel needs. What of
// a long row the thread group cannot hold, the rest, waits in block-local memory or is read again
// in each pass.
#pragma once

#include <flaggems/kernel/block/simt/cluster_reduce.hpp>
#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// Elements that one access of up to 16 bytes moves, if there are `Count`.
template <class T, int Count>
inline constexpr int piece_size = Count < vec_size<T> ? Count : vec_size<T>;

/// Element j of N as a C.
template <class C, class T, int Width>
FLAGGEMS_INLINE C element(const vec_words<T, Width>& x, int j) {
  if constexpr (is_same<T, bf16> && is_same<C, f32> && Width % 2 == 0)  // the upper side of an f32
    return bit_cast<f32>(j % 2 == 0 ? x.at[j / 2] << 16 : x.at[j / 2] & 0xffff0000u);
  else
    return number_cast<C>(bit_cast<vec<T, Width>>(x).at[j]);
}

/// Values of a window: N consecutive elements of a row.
template <class C, int Width>
struct window_values {
  static constexpr int count = Width;
  C at[Width];
};

/// A window as it lies in memory.
template <class T, int Width>
struct register_window {
  static constexpr int piece = piece_size<T, Width>;
  vec_words<T, piece> at[Width / piece];

  FLAGGEMS_INLINE static register_window all(T fill) {
    vec<T, piece> some;
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < piece; ++j) some.at[j] = fill;
    register_window r;
    FLAGGEMS_SIMT_UNROLL
    for (auto& words : r.at) words = bit_cast<vec_words<T, piece>>(some);
    return r;
  }
  template <class C>
  FLAGGEMS_INLINE window_values<C, Width> values() const {
    window_values<C, Width> r;
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < Width; ++j) r.at[j] = element<C, T, piece>(at[j / piece], j % piece);
    return r;
  }
};

/// The elements [at, at + N) of a row of n; `fill` if `inside` is false. Where windows are
/// `Aligned`, they begin where an access may. `Hoisted`: nobody writes them, and they may be read
/// before what is stored earlier.
template <bool Aligned, int Width, bool Hoisted = false, class T>
FLAGGEMS_INLINE register_window<T, Width> fetch_window(global_ptr<const T> row, int at, int n,
                                                       bool inside, T fill) {
  auto r = register_window<T, Width>::all(fill);
  if (!inside) return r;
  constexpr int piece = piece_size<T, Width>, count = Width / piece;
  constexpr bool is_wide = Width > 1 && sizeof(T) * piece >= 4;
  int off = 0;
  bool is_across = false;
  if constexpr (is_wide && !Aligned) {
    off = static_cast<int>(reinterpret_cast<u64>(row + at) / sizeof(T) % piece);
    // SIMT devices may read all of an aligned access with an element of the row in it.
    is_across = FLAGGEMS_DEVICE_CODE || (at >= off && at - off + Width + piece <= n);
  }
  FLAGGEMS_SIMT_UNROLL
  for (int k = 0; k < count; ++k) {
    const auto from = row + at + k * piece;
    if constexpr (Hoisted && Aligned && piece == vec_size<T>) {
      r.at[k] = bit_cast<vec_words<T, piece>>(load_words_constant<T>(from));
    } else if constexpr (Width > 1 && Aligned) {
      r.at[k] = load_vec_words<piece>(from);
    } else {
      bool is_read = false;
      if constexpr (is_wide) {
        is_read = off == 0 || is_across;
        if (off == 0)
          r.at[k] = load_vec_words<piece>(from);
        else if (is_across)
          r.at[k] = load_unaligned<piece>(from, off);
      }
      if (!is_read) {
        vec<T, piece> some;
        FLAGGEMS_SIMT_UNROLL
        for (int j = 0; j < piece; ++j) some.at[j] = number_cast<T>(from[j]);
        r.at[k] = bit_cast<vec_words<T, piece>>(some);
      }
    }
  }
  return r;
}
/// Writes a window, if it is inside. `Hoisted`: loads of windows that are so may pass it.
template <bool Aligned, bool Hoisted = false, class T, class C, int Width>
FLAGGEMS_INLINE void store_window(global_ptr<T> row, int at, bool inside,
                                  const window_values<C, Width>& x) {
  constexpr int piece = piece_size<T, Width>;
  if constexpr (Hoisted && Aligned && piece == vec_size<T>) {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; k += piece) {
      vec<T, piece> some;
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < piece; ++j) some.at[j] = number_cast<T>(x.at[k + j]);
      store_vec_if<piece>(inside, row + at + k, some);
    }
    return;
  }
  if (!inside) return;
  if (Width > 1 && (Aligned || is_vec_aligned<piece>(row + at))) {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; k += piece) {
      vec<T, piece> some;
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < piece; ++j) some.at[j] = number_cast<T>(x.at[k + j]);
      store_vec<piece>(row + at + k, some);
    }
  } else if constexpr (Width == 1 || !Aligned) {
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < Width; ++j) row[at + j] = number_cast<T>(x.at[j]);
  }
}

/// How threads share rows: in thread groups of 2^shift neighbours, up to 32, or where `shift` is
/// negative as a block, or those of a cluster, which work on one row at a time.
struct row_threads {
  int shift;
  int staged = 0;  // vectors of a row for which a block has room in its memory
  static constexpr int block = -1, cluster = -2;
};

/// The rest of a row, of which the first windows wait in block-local memory, each thread's own,
/// where a launch gave some (row_threads::kept). Up to `Most` windows are read at once; with 0 none
/// is kept.
template <class T, class Block, int Most>
class staged_rest {
  static constexpr int width = vec_size<T>;
  using words = vec_words<T, width>;  // (NVRTC 13 fails at vectors of 8-bit floats here.)

 public:
  static constexpr bool stages = Most > 0;
  FLAGGEMS_INLINE staged_rest(Block& block, row_threads groups)
      : room_(block.template scratch<words>(groups.staged)),
        threads_(block.threads()),
        staged_(Most > 0 ? groups.staged / threads_ & -Most : 0) {
    if (staged() > 0) room_ = room_.from(block.thread());
  }

  /// Asks for what is kept of the row that x holds; `fill` where that has ended.
  template <class Share>
  FLAGGEMS_INLINE void fetch(const Block& block, const Share& x, global_ptr<const T> row, T fill) {
    row_ = row;
    if constexpr (Most > 0) {
      vec<T, width> none;
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < width; ++j) none.at[j] = fill;
      FLAGGEMS_SIMT_NO_UNROLL
      for (int k = 0; k < staged_; ++k) {
        const int i = x.at(Share::vectors + k);
        if (i <= x.last())
          block.copy_async(room_, k * threads_, reinterpret_cast<global_ptr<const words>>(row + i),
                           true);
        else
          room_.write(k * threads_, bit_cast<words>(none));
      }
      block.commit_copies();
    }
  }
  /// Before it is read.
  FLAGGEMS_INLINE void await(const Block& block) const {
    if (staged() > 0) block.template wait_copies<0>();
  }
  /// A multiple of Most.
  FLAGGEMS_INLINE int staged() const { return Most > 0 ? staged_ : 0; }
  FLAGGEMS_INLINE words read(int k) const { return room_.read(k * threads_); }
  FLAGGEMS_INLINE global_ptr<const T> row() const { return row_; }

 private:
  typename Block::template scratch_type<words> room_;
  int threads_, staged_;
  global_ptr<const T> row_;
};

/// The elements beside its windows that a thread can hold, with so many vectors.
FLAGGEMS_INLINE constexpr int row_edges(int vectors) { return vectors == 1 ? 4 : 1; }

/// What a thread holds of a row: Vectors windows of 16 bytes, as they lie in memory; and, unless
/// rows are `Aligned` windows, some of the elements before the first address that is a multiple of
/// 16 and behind the last window, of which there are fewer than two windows.
template <class T, int Vectors, bool Aligned>
class row_share {
 public:
  using value_type = T;
  static constexpr int width = vec_size<T>, vectors = Vectors,
                       group = Vectors == 2 || Vectors == 4 ? 2 : 1;
  static constexpr bool is_aligned = Aligned;
  /// Only threads that hold the most are launched for longer rows than a thread group can hold.
  static constexpr bool has_rest = Vectors >= 8;
  /// Elements beside the windows that a thread may hold: of short rows they are many.
  static constexpr int edges = Aligned ? 0 : row_edges(Vectors);

  /// The share of thread `lane` of a thread group of `size`, of a row of n elements, or of none: n
  /// = 0.
  FLAGGEMS_INLINE void place(global_ptr<const T> row, i64 n, int lane, int size) {
    n_ = static_cast<int>(n);
    begin_ = lane * width;
    step_ = size * width;
    end_ = n_;
    if constexpr (!Aligned) {
      const int off = static_cast<int>(reinterpret_cast<u64>(row) / sizeof(T) % width);
      const int head = min_of(off == 0 ? 0 : width - off, n_);
      begin_ += head;
      end_ = n_ - (n_ - head) % width;
      FLAGGEMS_SIMT_UNROLL
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
  /// That with which its last window begins; negative if it has none.
  FLAGGEMS_INLINE int last() const { return end_ - width; }
  /// The elements beside the windows.
  FLAGGEMS_INLINE int edge_at(int e) const { return edge_at_[e]; }
  FLAGGEMS_INLINE bool has_edge(int e) const { return edge_at_[e] < n_; }
  /// Whether rows of n elements may have a rest, if thread groups have `size` threads.
  FLAGGEMS_INLINE static bool leaves_rest(i64 n, int size) {
    return has_rest && n > static_cast<i64>(Vectors) * width * size;
  }

  FLAGGEMS_INLINE void load(global_ptr<const T> row, T fill) {
    const words none = words_of(fill);
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Vectors; ++k) {
      resident_[k] = none;
      if (has(k)) resident_[k] = load_vec_words<width>(row + at(k));
    }
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < edges; ++e) {
      edge_[e] = fill;
      if (has_edge(e)) edge_[e] = number_cast<T>(row[edge_at_[e]]);
    }
  }
  /// Between two passes: what is computed from elements is not kept from one to the next, as it
  /// would take more registers than they do.
  FLAGGEMS_INLINE void refresh() {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Vectors; ++k) {
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < 4; ++j) FLAGGEMS_FORGET(resident_[k].at[j]);
    }
    if constexpr (Vectors >= 8) {  // nor are places
      FLAGGEMS_FORGET(begin_);
      FLAGGEMS_FORGET(step_);
    }
  }
  /// Window k as values of C.
  template <class C>
  FLAGGEMS_INLINE window_values<C, width> read(int k) const {
    return values<C>(resident_[k]);
  }
  template <class C>
  FLAGGEMS_INLINE window_values<C, 1> read_edge(int e) const {
    return {{number_cast<C>(edge_[e])}};
  }
  /// Puts values in the place of window k.
  template <class C>
  FLAGGEMS_INLINE void put(int k, const window_values<C, width>& x) {
    vec<T, width> some;
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < width; ++j) some.at[j] = number_cast<T>(x.at[j]);
    resident_[k] = bit_cast<words>(some);
  }
  template <class C>
  FLAGGEMS_INLINE void put_edge(int e, const window_values<C, 1>& x) {
    edge_[e] = number_cast<T>(x.at[0]);
  }
  /// f(values, at, inside) for all that is held; what is not inside has the value of `fill`.
  template <class C, class F>
  FLAGGEMS_INLINE void for_resident(const F& f) const {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Vectors; ++k) f(read<C>(k), at(k), has(k));
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < edges; ++e) f(read_edge<C>(e), edge_at_[e], has_edge(e));
  }
  /// f(values, at, inside) for the windows of the rest, read from memory. Backwards, what was read
  /// last, and is in a cache, comes first. (Several at a time take registers from what is held:
  /// rows of 262,144 gained a twentieth, and those that fit lost a tenth.)
  template <class C, bool Backwards, class F>
  FLAGGEMS_INLINE void for_rest(global_ptr<const T> row, const F& f) const {
    for_rest_from<C, Backwards>(at(Vectors), row, f);
  }
  /// The same with `Batch` windows read at once, for rows of which nothing else is held.
  template <class C, int Batch, class F>
  FLAGGEMS_INLINE void for_rest_in_batches(global_ptr<const T> row, const F& f) const {
    const int first = at(Vectors), count = rest_count(first);
    int k = 0;
    FLAGGEMS_SIMT_NO_UNROLL
    for (; k + Batch <= count; k += Batch) {
      words some[Batch];
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < Batch; ++j)
        some[j] = load_vec_words<width>(row + first + (k + j) * step_);
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < Batch; ++j) f(values<C>(some[j]), first + (k + j) * step_, true);
    }
    FLAGGEMS_SIMT_NO_UNROLL
    for (; k < count; ++k) {
      const int i = first + k * step_;
      f(values<C>(load_vec_words<width>(row + i)), i, true);
    }
  }
  /// The same where `rest` keeps some of it.
  template <class C, bool Backwards, class Block, int Most, class F>
  FLAGGEMS_INLINE void for_rest(const staged_rest<T, Block, Most>& rest, const F& f) const {
    if constexpr (has_rest) {
      // In the last pass little else is held.
      constexpr int batch = max_of(Backwards ? Most : Most / 2, 1);
      FLAGGEMS_SIMT_NO_UNROLL
      for (int k = 0; k < rest.staged(); k += batch) {
        words some[batch];  // read before results are stored, which keep later loads behind them
        FLAGGEMS_SIMT_UNROLL
        for (int j = 0; j < batch; ++j) some[j] = rest.read(k + j);
        FLAGGEMS_SIMT_UNROLL
        for (int j = 0; j < batch; ++j) {
          const int i = at(Vectors + k + j);
          f(values<C>(some[j]), i, i < end_);
        }
      }
      for_rest_from<C, Backwards>(at(Vectors + rest.staged()), rest.row(), f);
    }
  }
  /// Writes all that is held to the row that it is of.
  FLAGGEMS_INLINE void store(global_ptr<T> row) const {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Vectors; ++k)
      if (has(k)) store_vec<width>(row + at(k), bit_cast<vec<T, width>>(resident_[k]));
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < edges; ++e)
      if (has_edge(e)) row[edge_at_[e]] = edge_[e];
  }

 private:
  using words = vec_words<T, width>;
  /// The windows from element `first` on.
  FLAGGEMS_INLINE int rest_count(int first) const {
    return has_rest && first < end_ ? (end_ - first - 1) / step_ + 1 : 0;
  }
  template <class C, bool Backwards, class F>
  FLAGGEMS_INLINE void for_rest_from(int first, global_ptr<const T> row, const F& f) const {
    const int count = rest_count(first);
    FLAGGEMS_SIMT_NO_UNROLL
    for (int k = 0; k < count; ++k) {
      const int i = first + (Backwards ? count - 1 - k : k) * step_;
      f(values<C>(load_vec_words<width>(row + i)), i, true);
    }
  }
  FLAGGEMS_INLINE static words words_of(T fill) {
    vec<T, width> all;
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < width; ++j) all.at[j] = fill;
    return bit_cast<words>(all);
  }
  template <class C>
  FLAGGEMS_INLINE static window_values<C, width> values(const words& x) {
    window_values<C, width> r;
    FLAGGEMS_SIMT_UNROLL
    for (int j = 0; j < width; ++j) r.at[j] = element<C, T, width>(x, j);
    return r;
  }

  words resident_[Vectors];
  T edge_[edges + 1];
  int n_, begin_, step_, end_, edge_at_[edges + 1];
};

/// Where a row begins in two operands, whose strides between rows are a and b. (Without
/// coordinates: arrays with an index known at run time are no registers.) An Index of 32 bits,
/// where there are no more rows, is divided by few instructions.
template <class Index = i64, class Space>
FLAGGEMS_INLINE void locate_row(const Space& space, int rank, identity<Index> row, const i64* a,
                                const i64* b, i64& at_a, i64& at_b) {
  at_a = at_b = 0;
  FLAGGEMS_SIMT_NO_UNROLL
  for (int d = rank - 1; d > 0; --d) {
    const Index size = static_cast<Index>(space.sizes[d]), next = row / size;
    const i64 i = row - next * size;
    at_a += i * a[d];
    at_b += i * b[d];
    row = next;
  }
  at_a += row * a[0];
  at_b += row * b[0];
}

/// The row_threads of a kernel whose threads hold Vectors vectors of each of Rows rows. What it is
/// never launched with takes no code: only threads that hold eight vectors are shared by clusters,
/// and thread groups of some rows are blocks if threads hold more than one vector of each, and only
/// then. Where a kernel says `Blocks`, thread groups of one row are.
template <int Vectors, int Rows, bool Blocks = false>
class row_thread_groups {
 public:
  FLAGGEMS_INLINE explicit row_thread_groups(row_threads groups) : shift_(groups.shift) {}

  /// Whether thread groups are blocks, or clusters of blocks.
  FLAGGEMS_INLINE bool are_blocks() const { return Rows > 1 ? Vectors > 1 : Blocks || shift_ < 0; }
  template <class Block>
  FLAGGEMS_INLINE int threads(const Block& block) const {
    return are_clusters() ? block.threads() * block.cluster_blocks()
           : are_blocks() ? block.threads()
                          : 1 << shift_;
  }
  template <class Block>
  FLAGGEMS_INLINE int lane(const Block& block) const {
    return are_clusters() ? block.cluster_block() * block.threads() + block.thread()
           : are_blocks() ? block.thread()
                          : block.thread() & ((1 << shift_) - 1);
  }
  /// Calls f(first, step) for the rows of this block's share: a thread group works on `Rows` rows
  /// at once, the first one and those each `step` further; they may be beyond the last. All threads
  /// of a block are called as often. With Step > 0 thread groups are blocks, and that is how far
  /// rows are apart; the first one exists.
  template <int Step = 0, class Block, class F>
  FLAGGEMS_INLINE void for_each(const Block& block, i64 rows, const F& f) const {
    if constexpr (Step > 0) {
      for (i64 tile = block.index();; tile += block.count()) {
        const u64 t = static_cast<u64>(tile);
        const i64 first = static_cast<i64>(t / Step * (Step * Rows) + t % Step);
        if (first >= rows) return;
        f(first, i64{Step});
      }
    } else {
      const int groups = are_blocks() ? 1 : block.threads() >> shift_;
      const int own = are_blocks() ? 0 : block.thread() >> shift_;
      const i64 count = are_clusters() ? block.clusters() : block.count();
      const i64 index = are_clusters() ? block.cluster() : block.index();
      const i64 step = count * (groups * Rows);
      for (i64 row = index * (groups * Rows); row < rows; row += step) f(row + own, groups);
    }
  }
  /// The reductions over a cluster, if thread groups are such.
  template <class Block>
  FLAGGEMS_INLINE cluster_reduction<Block, Vectors == 8> across(const Block& block) const {
    return cluster_reduction<Block, Vectors == 8>(block, are_clusters());
  }
  /// Threads that meet by shuffles alone: a thread group's, or a warp's of a thread group that is a
  /// block.
  template <class Block>
  FLAGGEMS_INLINE int shuffle_width(const Block&) const {
    return are_blocks() ? Block::warp_size : 1 << shift_;
  }
  /// Whether x holds for any thread group that must reduce together with this one; a thread group's
  /// threads agree.
  template <class Block>
  FLAGGEMS_INLINE bool any(const Block& block, bool x,
                           source_line line = FLAGGEMS_CALLER_LINE) const {
    return are_blocks() ? x : block.any_in_warp(x, line);
  }
  /// Reduces the states of each thread group's threads, for each of its rows.
  template <class S, class Block, class Op>
  FLAGGEMS_INLINE void reduce(const Block& block, cluster_reduction<Block, Vectors == 8>& across,
                              S* states, identity<S> neutral, Op op,
                              source_line line = FLAGGEMS_CALLER_LINE) const {
    if (are_blocks()) {
      if constexpr (Rows == 1)
        states[0] = block.template reduce_block<S>(states[0], neutral, op, line);
      else
        reduce_blocks<S>(block, states, neutral, op, line);
    } else {
      for (int mask = (1 << shift_) / 2; mask > 0; mask /= 2) {
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < Rows; ++r)
          states[r] = op(states[r], block.template shuffle_xor<S>(states[r], mask, line));
      }
    }
    states[0] = across.template operator()<S>(states[0], neutral, op, line);
  }

 private:
  FLAGGEMS_INLINE bool are_clusters() const {
    return Vectors == 8 && shift_ == row_threads::cluster;
  }

  /// The states of some rows at once.
  template <class S, class Block, class Op>
  FLAGGEMS_INLINE static void reduce_blocks(const Block& block, S* states, const S& neutral, Op op,
                                            source_line line) {
    constexpr int batch = min_of(Rows, 16 / static_cast<int>(sizeof(S)));
    static_assert(Rows % batch == 0);
    struct alignas(batch * static_cast<int>(sizeof(S))) some {
      S of[batch];
    };
    const auto each = [&](const some& a, const some& b) FLAGGEMS_LAMBDA {
      some r;
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < batch; ++k) r.of[k] = op(a.of[k], b.of[k]);
      return r;
    };
    some none;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < batch; ++k) none.of[k] = neutral;
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < Rows; r += batch) {
      some mine;
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < batch; ++k) mine.of[k] = states[r + k];
      mine = block.template reduce_block<some>(mine, none, each, line);
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < batch; ++k) states[r + k] = mine.of[k];
    }
  }

  int shift_;
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/expr/simt/register_rows.hpp");
