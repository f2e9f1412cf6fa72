// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A SIMT block: threads in warps, barriers, shuffles, shared memory. `Machine` supplies these for
// CUDA, HIP, OpenCL and the host's emulator; everything built on them is written here once.
#pragma once

#include <flaggems/kernel/block/simt/machine.hpp>
#include <flaggems/kernel/block/simt/mma_by_shuffles.hpp>

namespace flaggems::kernels {

/// Access to block-local memory by a lane. Arrays of a machine have `is_scratch` and value_type.
template <class C, class Array, conditional<Array::is_scratch, int, void> = 0>
FLAGGEMS_INLINE C load(FLAGGEMS_VALUE(Array) s, lane_scalar lane,
                       source_line line = FLAGGEMS_CALLER_LINE) {
  return number_cast<C>(s.read(lane.begin, line));
}
template <class Array, class V, conditional<Array::is_scratch, int, void> = 0>
FLAGGEMS_INLINE void store(FLAGGEMS_VALUE(Array) s, lane_scalar lane, FLAGGEMS_VALUE(V) x,
                           source_line line = FLAGGEMS_CALLER_LINE) {
  s.write(lane.begin, number_cast<typename Array::value_type>(x), line);
}

/// Whether a machine has matrix multiply-accumulate (mma) instructions.
template <class Machine, class = int>
inline constexpr bool matrix_unit = false;
template <class Machine>
inline constexpr bool matrix_unit<Machine, decltype(Machine::has_matrix_unit + 0)> =
    Machine::has_matrix_unit;

/// Whether a machine has clusters: blocks that share their memory.
template <class Machine, class = int>
inline constexpr bool clustering = false;
template <class Machine>
inline constexpr bool clustering<Machine, decltype(Machine::has_clusters + 0)> =
    Machine::has_clusters;

/// Whether a machine has programmatic dependent launch: a launch may begin before the previous one
/// has ended.
template <class Machine, class = int>
inline constexpr bool beginning_early = false;
template <class Machine>
inline constexpr bool beginning_early<Machine, decltype(Machine::begins_early + 0)> =
    Machine::begins_early;

/// Whether a machine's shuffles are barriers of the whole block.
template <class Machine, class = int>
inline constexpr bool shuffling_by_blocks = false;
template <class Machine>
inline constexpr bool shuffling_by_blocks<Machine, decltype(Machine::shuffles_by_blocks + 0)> =
    Machine::shuffles_by_blocks;

/// Whether a machine has asynchronous copies to block-local memory.
template <class Machine, class = int>
inline constexpr bool async_copies = false;
template <class Machine>
inline constexpr bool async_copies<Machine, decltype(Machine::has_async_copies + 0)> =
    Machine::has_async_copies;

/// A loop of a block's. A machine that watches loops is told each step, and refuses a barrier that
/// threads reach in different ones.
template <class Machine, class = int>
struct loop_steps {
  FLAGGEMS_INLINE explicit loop_steps(const Machine&) {}
  FLAGGEMS_INLINE void begin(i64) const {}
};

/// The least power of two that is at least n and 2; n is at most 128.
FLAGGEMS_INLINE int lanes_of(int n) {
  u32 bits = static_cast<u32>(n - 1) | 1U;
  for (int step = 1; step < 8; step *= 2) bits |= bits >> step;
  return static_cast<int>(bits) + 1;
}

/// What a `Machine` has:
///   static constexpr int warp_size;
///   int thread(), threads();  i64 block(), blocks();
///   void sync(line);  // a barrier of the whole block
///   u32 shuffle_xor(u32 x, int mask, line), shuffle_up(u32 x, int delta, line);
///   u32 shuffle_from(u32 x, int lane, line);  // from any lane
///   u64 ballot_match(u32 x, line);  // the lanes of the warp whose x != 0 equals this lane's
///   template <class T> array_type<T> scratch(i64 offset, i64 count);  // block-local memory, bytes
///   template <class T> array_type<T> exchange(int which);  // block-local, 32 entries of 16 bytes
///   template <class T> T atomic_add(array_type<T>, i64 i, T x, line);
/// and, depending on its constants,
///   shuffles_by_blocks: shuffles that all threads of a block must take part in, and states<S>(),
///     block-local memory of 16 bytes a thread;
///   has_matrix_unit: multiply_tiles, transpose_tile and load_tiles, as the block has them, and
///     reaches_tiles, whether load_tiles takes an array's memory;
///   has_async_copies: copy_async, commit_copies, wait_copies and wait_own_copies, which makes
///     copies visible to the thread alone;
///   begins_early: await_earlier, admit_next and admit_small, as the block has them;
///   has_clusters: the members about clusters, as the block has them.
/// `array_type<T>` has read(i, line), write(i, x, line), from(i). `line` is where the
/// kernel calls, a source_line.
template <class Machine>
class simt_block {
 public:
  using lane_type = lane_scalar;
  static constexpr int warp_size = Machine::warp_size;
  static_assert(warp_size >= 32,
                "flaggems: kernels take warps of 32 threads or more: a chip with fewer says 1");
  template <class T>
  using value = T;
  template <class T>
  using scratch_type = typename Machine::template array_type<T>;

  using machine_type = Machine;

  FLAGGEMS_INLINE explicit simt_block(const Machine& machine) : machine_(machine) {}

  FLAGGEMS_INLINE i64 index() const { return machine_.block(); }
  FLAGGEMS_INLINE i64 count() const { return machine_.blocks(); }
  FLAGGEMS_INLINE int thread() const { return machine_.thread(); }
  FLAGGEMS_INLINE int threads() const { return machine_.threads(); }
  FLAGGEMS_INLINE void sync(source_line line = FLAGGEMS_CALLER_LINE) const { machine_.sync(line); }

  /// Programmatic dependent launch, wait: returns once previous launches have ended and their
  /// memory is visible. Before it, only arguments may be read, no memory or scratch; a small launch
  /// runs `meanwhile`, which may `prefetch`. Called by all threads; entry.hpp calls it for kernels
  /// without `awaits_earlier`.
  template <class F>
  FLAGGEMS_INLINE void await_earlier([[maybe_unused]] const F& meanwhile) const {
    if constexpr (beginning_early<Machine>) machine_.await_earlier(meanwhile);
  }
  FLAGGEMS_INLINE void await_earlier() const {
    await_earlier([]() FLAGGEMS_LAMBDA {});
  }
  /// Programmatic dependent launch, trigger: lets the next launch begin before the previous ones
  /// have ended. For launches that occupy little of the device. await_earlier triggers too.
  FLAGGEMS_INLINE void admit_next() const {
    if constexpr (beginning_early<Machine>) machine_.admit_next();
  }
  /// The same by a launch of any size whose successor has few blocks: those take the place of
  /// blocks that end early.
  FLAGGEMS_INLINE void admit_small() const {
    if constexpr (beginning_early<Machine>) machine_.admit_small();
  }

  template <class F>
  FLAGGEMS_INLINE void for_each_tile(i64 n, const F& f) const {
    const loop_steps<Machine> steps(machine_);
    for (i64 tile = index(); tile < n; tile += count()) {
      steps.begin(tile);
      f(tile);
    }
  }
  template <class F>
  FLAGGEMS_INLINE void for_each_share(i64 n, const F& f) const {
    const loop_steps<Machine> steps(machine_);
    for (i64 tile = index(); tile < n; tile += count()) {
      steps.begin(tile);
      f(tile, tile + 1);
    }
  }
  template <class F>
  FLAGGEMS_INLINE void for_each_lane(i64 n, const F& f) const {
    const loop_steps<Machine> steps(machine_);
    for (i64 i = thread(); i < n; i += threads()) {
      steps.begin(i);
      f(lane_scalar{i});
    }
  }
  template <class F>
  FLAGGEMS_INLINE void for_each(i64 n, const F& f) const {
    const loop_steps<Machine> steps(machine_);
    for (i64 i = thread(); i < n; i += threads()) {
      steps.begin(i);
      f(i);
    }
  }
  template <class F>
  FLAGGEMS_INLINE void single(const F& f) const {
    if (thread() == 0) f();
  }

  template <class S, class Op, class F>
  FLAGGEMS_INLINE S reduce(i64 n, S init, Op op, const F& f,
                           source_line line = FLAGGEMS_CALLER_LINE) const {
    S mine = init;
    for (i64 i = thread(); i < n; i += threads()) mine = op(mine, f(lane_scalar{i}));
    return reduce_block(mine, init, op, line);
  }

  template <int M, class T, class F>
  FLAGGEMS_INLINE void accumulate(i64 n, T (&sums)[M], const F& f,
                                  source_line line = FLAGGEMS_CALLER_LINE) const {
    T acc[M];
    static_for<M>([&](auto k) FLAGGEMS_LAMBDA { acc[k] = T(0); });
    for (i64 i = thread(); i < n; i += threads()) f(lane_scalar{i}, acc);
    static_for<M>([&](auto k)
                      FLAGGEMS_LAMBDA { sums[k] = reduce_block(acc[k], T(0), plus{}, line); });
  }

  template <class T, class In, class Out>
  FLAGGEMS_INLINE T exclusive_scan(i64 n, T init, const In& in, const Out& out,
                                   source_line line = FLAGGEMS_CALLER_LINE) const {
    T carry = init;
    for (i64 start = 0; start < n; start += threads()) {
      const i64 i = start + thread();
      const T x = i < n ? in(i) : T(0);
      T total;
      const T before = exclusive_scan_block<T>(x, T(0), plus{}, total, line);
      if (i < n) out(i, static_cast<T>(carry + before));
      carry = static_cast<T>(carry + total);
    }
    return carry;
  }

  /// The states of the threads before this one, joined in their order, and of all: `total`.
  /// `neutral` is the identity of `op`.
  template <class S, class Op>
  FLAGGEMS_INLINE S exclusive_scan_block(const S& mine, const S& neutral, Op op, S& total,
                                         source_line line = FLAGGEMS_CALLER_LINE) const {
    const int lane = thread() % warp_size;
    S inclusive = mine;
    for (int delta = 1; delta < warp_size; delta *= 2) {
      const S below = shuffle_up(inclusive, delta, line);
      if (lane >= delta) inclusive = op(below, inclusive);
    }
    const S below = shuffle_up(inclusive, 1, line);
    const S before = exclusive_scan_warps<S>(inclusive, neutral, op, total, line);
    if (lane == 0) return before;
    return op(before, below);
  }
  /// The same of one state a warp, which its last lane gives.
  template <class S, class Op>
  FLAGGEMS_INLINE S exclusive_scan_warps(const S& mine, const S& neutral, Op op, S& total,
                                         source_line line = FLAGGEMS_CALLER_LINE) const {
    const int warp = thread() / warp_size, warps = threads() / warp_size;
    if constexpr (!shuffling_by_blocks<Machine>) {
      if (warps == 1) {
        total = shuffle_from(mine, warp_size - 1, line);
        return neutral;
      }
    }
    S before = total = neutral;
    const auto totals = next_exchange<S>();
    if (thread() % warp_size == warp_size - 1) totals.write(warp, mine, line);
    machine_.sync(line);
    for (int w = 0; w < warps; ++w) {
      if (w == warp) before = total;
      total = op(total, totals.read(w, line));
    }
    return before;
  }

  /// Reduces one state per thread over the block. All threads get the same bits if `op` is
  /// commutative. `neutral` is the identity of `op`.
  template <class S, class Op>
  FLAGGEMS_INLINE S reduce_block(S mine, S neutral, Op op,
                                 source_line line = FLAGGEMS_CALLER_LINE) const {
    return reduce_warps(reduce_subwarp(mine, op, warp_size, line), neutral, op, line);
  }
  /// The same of states that are equal within each warp.
  template <class S, class Op>
  FLAGGEMS_INLINE S reduce_warps(S mine, S neutral, Op op,
                                 source_line line = FLAGGEMS_CALLER_LINE) const {
    const int warps = threads() / warp_size;
    if constexpr (!shuffling_by_blocks<Machine>)
      if (warps == 1) return mine;
    const auto partial = next_exchange<S>();
    const int lane = thread() % warp_size;
    if (lane == 0) partial.write(thread() / warp_size, mine, line);
    machine_.sync(line);
    if constexpr (shuffling_by_blocks<Machine>) {
      S all = partial.read(0, line);
      for (int w = 1; w < warps; ++w) all = op(all, partial.read(w, line));
      return all;
    }
    const int lanes = lanes_of(warps);
    const int from = lane & (lanes - 1);
    mine = neutral;
    if (from < warps) mine = partial.read(from, line);
    return reduce_subwarp(mine, op, lanes, line);
  }
  /// Reduces over each `size` consecutive threads, a power of two up to a warp. All threads of the
  /// block take part. Where shuffles are barriers of the block, two barriers serve all steps.
  template <class S, class Op>
  FLAGGEMS_INLINE S reduce_subwarp(S mine, Op op, int size,
                                   source_line line = FLAGGEMS_CALLER_LINE) const {
    if constexpr (shuffling_by_blocks<Machine>) {
      const auto states = machine_.template states<S>();
      const int first = thread() & -size;
      states.write(thread(), mine, line);
      machine_.sync(line);
      mine = states.read(first, line);
      for (int k = 1; k < size; ++k) mine = op(mine, states.read(first + k, line));
      machine_.sync(line);
    } else {
      for (int mask = size >> 1; mask > 0; mask >>= 1)
        mine = op(mine, shuffle_xor(mine, mask, line));
    }
    return mine;
  }

  /// Reduces over the blocks of a cluster states that are equal within each block.
  template <class S, class Op>
  FLAGGEMS_INLINE S reduce_cluster(S mine, S neutral, Op op,
                                   source_line line = FLAGGEMS_CALLER_LINE) const {
    const int blocks = cluster_blocks();
    if (blocks == 1) return mine;
    const auto partial = next_exchange<S>();
    if (thread() == 0) partial.write(0, mine, line);
    sync_cluster(line);
    const int lanes = lanes_of(blocks);
    const int from = thread() & (lanes - 1);
    mine = neutral;
    if (from < blocks) mine = of_block(partial, from).read(0, line);
    sync_cluster(line);  // no block continues or ends while its state is read
    return reduce_subwarp(mine, op, lanes, line);
  }
  /// The older name of reduce_cluster.
  template <class S, class Op>
  FLAGGEMS_INLINE S fold_cluster(S mine, S neutral, Op op,
                                 source_line line = FLAGGEMS_CALLER_LINE) const {
    return reduce_cluster(mine, neutral, op, line);
  }

  /// Reduces over each `size` consecutive threads, a power of two up to a block. The result is
  /// undefined in threads after the last complete group.
  template <class S, class Op>
  FLAGGEMS_INLINE S reduce_group(S mine, Op op, int size,
                                 source_line line = FLAGGEMS_CALLER_LINE) const {
    mine = reduce_subwarp(mine, op, min_of(size, warp_size), line);
    if constexpr (!shuffling_by_blocks<Machine>)
      if (size <= warp_size) return mine;
    const int lane = thread() % warp_size, warp = thread() / warp_size;
    const auto partial = next_exchange<S>();
    if (lane == 0) partial.write(warp, mine, line);
    machine_.sync(line);
    const int warps = size / warp_size;
    if constexpr (shuffling_by_blocks<Machine>) {
      if (size <= warp_size) return mine;
      const int first = warp & -warps, last = min_of(first + warps, threads() / warp_size);
      mine = partial.read(first, line);
      for (int w = first + 1; w < last; ++w) mine = op(mine, partial.read(w, line));
      return mine;
    }
    const int from = (warp & -warps) + (lane & (warps - 1));
    if (from < threads() / warp_size) mine = partial.read(from, line);
    return reduce_subwarp(mine, op, warps, line);
  }

  template <class T>
  FLAGGEMS_INLINE scratch_type<T> scratch(i64 n) {
    const i64 at = used_;
    used_ += round_up(n * static_cast<i64>(sizeof(T)), 16);
    return machine_.template scratch<T>(at, n);
  }

  /// x of the thread whose index differs by `mask`, which is below the warp size. All threads of
  /// the block take part.
  template <class T>
  FLAGGEMS_INLINE T shuffle_xor(const T& x, int mask,
                                source_line line = FLAGGEMS_CALLER_LINE) const {
    return by_words(x, [&](u32 w) FLAGGEMS_LAMBDA { return machine_.shuffle_xor(w, mask, line); });
  }

  /// x of the lane `delta` below, or its own x where there is none. All threads take part.
  template <class T>
  FLAGGEMS_INLINE T shuffle_up(const T& x, int delta,
                               source_line line = FLAGGEMS_CALLER_LINE) const {
    return by_words(x, [&](u32 w) FLAGGEMS_LAMBDA { return machine_.shuffle_up(w, delta, line); });
  }

  /// x of lane `lane` of the warp, which may differ from thread to thread. All threads of the block
  /// take part.
  template <class T>
  FLAGGEMS_INLINE T shuffle_from(const T& x, int lane,
                                 source_line line = FLAGGEMS_CALLER_LINE) const {
    return by_words(x, [&](u32 w) FLAGGEMS_LAMBDA { return machine_.shuffle_from(w, lane, line); });
  }

  /// Whether x is true in any thread that shuffles with this one: its warp, or its block where
  /// shuffles are barriers of the block. All threads of the block take part; where the result is
  /// false, they may skip the shuffles that follow.
  FLAGGEMS_INLINE bool any_in_warp(bool x, source_line line = FLAGGEMS_CALLER_LINE) const {
    const u32 mine = x ? 1 : 0;
    if constexpr (shuffling_by_blocks<Machine>) {
      const auto either = [](u32 a, u32 b) FLAGGEMS_LAMBDA { return a | b; };
      return reduce_block<u32>(mine, 0, either, line) != 0;
    } else {
      constexpr u64 all = ~u64{0} >> (64 - warp_size);
      const bool differ = machine_.ballot_match(mine, line) != all;
      return x || differ;
    }
  }

  /// mma of 32 consecutive threads: c += a * b with a of 16 x 16 and b of 16 x 8 elements of T, c
  /// of 16 x 8. With g = thread % 32 / 4 and t = thread % 4, a thread has, in words of two
  /// elements, lowest first,
  ///   a: (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8) and the elements to their right,
  ///   b: (2t, g), (2t + 8, g) and the elements below,
  ///   c: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
  /// That is of bf16 and f16; of 8 bits there are two elements for each of these, of f32 half of
  /// one (so the columns of a are t and t + 4), which is rounded to tf32. Of f64 an element has two
  /// words: a is 16 x 4, (g, t) and (g + 8, t), and b 4 x 8, (t, g). All threads of the block take
  /// part.
  template <class T>
  FLAGGEMS_INLINE void multiply_tiles(mma_sum<T> (&c)[4], const u32 (&a)[4],
                                      const u32 (&b)[2]) const {
    if constexpr (matrix_unit<Machine>)
      machine_.template multiply_tiles<T>(c, a, b);
    else
      small_tiles::multiply<T>(*this, c, a, b);
  }
  /// Transposes a matrix of 8 x 8 elements of 16 bits: a thread has (g, 2t) and (g, 2t + 1).
  FLAGGEMS_INLINE u32 transpose_tile(u32 x) const {
    if constexpr (matrix_unit<Machine>)
      return machine_.transpose_tile(x);
    else
      return small_tiles::transpose(*this, x);
  }

  /// ldmatrix of 32 consecutive threads: four matrices of 8 x 8 elements of 16 bits, whose rows are
  /// vectors of 16 bytes; `at(lane)` is the vector of row lane % 8 of matrix lane / 8. Of matrix i,
  /// a thread gets the elements (g, 2t) and (g, 2t + 1), g and t as above, of the transposed one
  /// (2t, g) and (2t + 1, g), as x[i].
  template <bool Transposed, class Vec, class Row>
  FLAGGEMS_INLINE void load_tiles(u32 (&x)[4], const scratch_type<Vec>& from, const Row& at,
                                  source_line line = FLAGGEMS_CALLER_LINE) const {
    static_assert(sizeof(Vec) == 16, "flaggems: rows of these matrices are vectors of 16 bytes");
    const int lane = thread() % 32, g = lane / 4, t = lane % 4;
    if constexpr (matrix_unit<Machine>)
      if (machine_.reaches_tiles(from))
        return machine_.template load_tiles<Transposed>(x, from, at(lane));
    const auto of_rows = from.template as<u32>();
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < 4; ++i) {
      if constexpr (Transposed) {
        const int shift = g % 2 * 16;
        const u32 low = of_rows.read(at(8 * i + 2 * t) * 4 + g / 2, line) >> shift;
        const u32 high = of_rows.read(at(8 * i + 2 * t + 1) * 4 + g / 2, line) >> shift;
        x[i] = (low & 0xffffu) | high << 16;
      } else {
        x[i] = of_rows.read(at(8 * i + g) * 4 + t, line);
      }
    }
  }

  /// Asynchronous copy of 4, 8 or 16 bytes to to[i]: zeros unless `exists`.
  template <class Vec>
  FLAGGEMS_INLINE void copy_async(const scratch_type<Vec>& to, i64 i, global_ptr<const Vec> from,
                                  bool exists, source_line line = FLAGGEMS_CALLER_LINE) const {
    static_assert(sizeof(Vec) == 4 || sizeof(Vec) == 8 || sizeof(Vec) == 16,
                  "flaggems: asynchronous copies are of 4, 8 or 16 bytes");
    if constexpr (async_copies<Machine>) {
      machine_.copy_async(to, i, from, exists, line);
    } else {
      Vec x{};
      if (exists) x = *from;
      to.write(i, x, line);
    }
  }
  /// Commits the copies that the thread has issued as one group.
  FLAGGEMS_INLINE void commit_copies() const {
    if constexpr (async_copies<Machine>) machine_.commit_copies();
  }
  /// Waits until at most Left of each thread's groups are pending, and makes the copies visible to
  /// the warp. All threads of the block take part.
  template <int Left>
  FLAGGEMS_INLINE void wait_copies(source_line line = FLAGGEMS_CALLER_LINE) const {
    if constexpr (async_copies<Machine>)
      machine_.template wait_copies<Left>(line);
    else
      machine_.sync(line);
  }

  /// The same, and makes them visible to the block: as wait_copies and sync, at less cost.
  template <int Left>
  FLAGGEMS_INLINE void sync_copies(source_line line = FLAGGEMS_CALLER_LINE) const {
    if constexpr (async_copies<Machine>) machine_.template wait_own_copies<Left>(line);
    machine_.sync(line);
  }

  /// The lanes of the warp whose x is 0 where this lane's is 0, one bit each. All threads take
  /// part.
  FLAGGEMS_INLINE u64 lanes_alike(u32 x, source_line line = FLAGGEMS_CALLER_LINE) const {
    return machine_.ballot_match(x, line);
  }
  /// Increments counts[i] for each thread of a warp in lane order and returns the value before; i <
  /// 2^Bits. Until the next barrier, those entries belong to this warp. All threads of the block
  /// take part.
  template <int Bits>
  FLAGGEMS_INLINE u32 count_in_turn(scratch_type<u32> counts, i32 i,
                                    source_line line = FLAGGEMS_CALLER_LINE) const {
    using lanes = conditional<(warp_size > 32), u64, u32>;
    lanes same = static_cast<lanes>(~lanes(0));
    FLAGGEMS_SIMT_UNROLL
    for (int b = 0; b < Bits; ++b) {
      same &= static_cast<lanes>(machine_.ballot_match(static_cast<u32>(i) & 1U << b, line));
    }
    const int before =
        count_bits(static_cast<lanes>(same & ((lanes(1) << thread() % warp_size) - 1)));
    u32 count = 0;
    if (before == 0) count = atomic_add<u32>(counts, i, static_cast<u32>(count_bits(same)), line);
    return machine_.shuffle_from(count, lowest_bit(same), line) + static_cast<u32>(before);
  }

  /// A cluster: `launch_config::cluster` consecutive blocks that run concurrently and access each
  /// other's block-local memory; a single block on other devices. The index of this block's
  /// cluster, and of this block in it.
  FLAGGEMS_INLINE i64 cluster() const {
    if constexpr (clustering<Machine>)
      return machine_.cluster();
    else
      return index();
  }
  FLAGGEMS_INLINE i64 clusters() const {
    if constexpr (clustering<Machine>)
      return machine_.clusters();
    else
      return count();
  }
  FLAGGEMS_INLINE int cluster_block() const {
    if constexpr (clustering<Machine>)
      return machine_.cluster_block();
    else
      return 0;
  }
  FLAGGEMS_INLINE int cluster_blocks() const {
    if constexpr (clustering<Machine>)
      return machine_.cluster_blocks();
    else
      return 1;
  }
  /// As for_each_tile, by clusters.
  template <class F>
  FLAGGEMS_INLINE void for_each_cluster_tile(i64 n, const F& f) const {
    const loop_steps<Machine> steps(machine_);
    for (i64 tile = cluster(); tile < n; tile += clusters()) {
      steps.begin(tile);
      f(tile);
    }
  }
  /// A barrier of all threads of the cluster. Needed before the first access to another block's
  /// memory, as that block may not have started, and after the last, as it may end.
  FLAGGEMS_INLINE void sync_cluster(source_line line = FLAGGEMS_CALLER_LINE) const {
    if constexpr (clustering<Machine>)
      machine_.sync_cluster(line);
    else
      machine_.sync(line);
  }
  /// The last such barrier: orders only the end of blocks after accesses to their memory.
  FLAGGEMS_INLINE void leave_cluster(source_line line = FLAGGEMS_CALLER_LINE) const {
    if constexpr (clustering<Machine>) machine_.leave_cluster(line);
  }
  /// Another block's instance of an array of this block.
  template <class T>
  FLAGGEMS_INLINE auto of_block(const T& s, [[maybe_unused]] int block) const {
    if constexpr (clustering<Machine>)
      return machine_.of_block(s, block);
    else
      return s;
  }

  /// For a machine's further abilities (kernel/block/simt/tensor_map.hpp).
  FLAGGEMS_INLINE const Machine& machine() const { return machine_; }

  template <class T>
  FLAGGEMS_INLINE T atomic_add(scratch_type<T> s, i64 i, identity<T> x,
                               source_line line = FLAGGEMS_CALLER_LINE) const {
    return machine_.template atomic_add<T>(s, i, x, line);
  }

 private:
  template <int Count>
  struct words {
    u32 word[Count];
  };
  template <class T, class F>
  FLAGGEMS_INLINE static T by_words(const T& x, const F& f) {
    if constexpr (sizeof(T) > 4) {
      auto w = bit_cast<words<static_cast<int>(sizeof(T) / 4)>>(x);
      for (u32& one : w.word) one = f(one);
      return bit_cast<T>(w);
    } else {
      using bits = uint_of_size<static_cast<int>(sizeof(T))>;
      return bit_cast<T>(static_cast<bits>(f(static_cast<u32>(bit_cast<bits>(x)))));
    }
  }

  /// Block-local entries, one per warp, double-buffered: a collective that writes them before a
  /// barrier and reads them after it needs no second barrier.
  template <class T>
  FLAGGEMS_INLINE scratch_type<T> next_exchange() const {
    half_ ^= 1;
    return machine_.template exchange<T>(half_);
  }

  Machine machine_;
  i64 used_ = 0;
  mutable int half_ = 0;
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/block/simt/block.hpp");
