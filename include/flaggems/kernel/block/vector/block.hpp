// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's block: one worker of the thread pool, whose "threads" are the lanes of a vector. A
// launch has one block per worker; each takes a contiguous share of the tiles.
#pragma once

#include <flaggems/kernel/block/vector/outlined.hpp>
#include <flaggems/kernel/lang/vector/lanes.hpp>

namespace flaggems::kernels {

/// Block-local memory of the host: a worker's memory, padded so that a tail can be accessed as a
/// full vector.
template <class T>
struct host_scratch {
  T* data;
  FLAGGEMS_HOST_INLINE T read(i64 i) const { return data[i]; }
  FLAGGEMS_HOST_INLINE void write(i64 i, identity<T> x) const { data[i] = x; }
  FLAGGEMS_HOST_INLINE host_scratch from(i64 i) const { return {data + i}; }
};
template <class C, class T, class Isa>
FLAGGEMS_HOST_INLINE typename simd_type<C, Isa>::type load(host_scratch<T> s,
                                                           lane_vector<Isa> lane) {
  return load_lanes<C, T, Isa>(s.data + lane.begin, Isa::lanes);
}
template <class C, class T, class Isa>
FLAGGEMS_HOST_INLINE typename simd_type<C, Isa>::type load(host_scratch<T> s, lane_tail<Isa> lane) {
  return load_lanes<C, T, Isa>(s.data + lane.begin, Isa::lanes);
}
template <class T, class V, class Isa>
FLAGGEMS_HOST_INLINE void store(host_scratch<T> s, lane_vector<Isa> lane, const V& x) {
  store_lanes(s.data + lane.begin, x, Isa::lanes);
}
template <class T, class V, class Isa>
FLAGGEMS_HOST_INLINE void store(host_scratch<T> s, lane_tail<Isa> lane, const V& x) {
  store_lanes(s.data + lane.begin, x, Isa::lanes);
}

template <class Isa>
class host_block {
 public:
  using isa = Isa;
  using lane_type = lane_vector<Isa>;
  template <class T>
  using value = typename simd_type<T, Isa>::type;
  template <class T>
  using scratch_type = host_scratch<T>;
  /// The padding after each scratch array, which a full vector may touch.
  static constexpr i64 scratch_padding = 16 * 8;

  FLAGGEMS_HOST_INLINE host_block(i64 index, i64 count, unsigned char* scratch, Isa level = {})
      : index_(index), count_(count), scratch_(scratch), level_(level) {}

  /// Part F of a kernel (block/vector/outlined.hpp).
  template <class F, class... Args>
  FLAGGEMS_HOST_INLINE auto part() const {
    return part_of<F, Args...>(level_);
  }

  FLAGGEMS_HOST_INLINE const Isa& level() const { return level_; }

  FLAGGEMS_HOST_INLINE i64 index() const { return index_; }
  FLAGGEMS_HOST_INLINE i64 count() const { return count_; }
  FLAGGEMS_HOST_INLINE int thread() const { return 0; }
  FLAGGEMS_HOST_INLINE int threads() const { return 1; }
  FLAGGEMS_HOST_INLINE void sync() const {}
  FLAGGEMS_HOST_INLINE void await_earlier() const {}
  template <class F>
  FLAGGEMS_HOST_INLINE void await_earlier(const F&) const {}

  /// This block's contiguous share of n tiles.
  struct tile_range {
    i64 begin, end;
  };
  FLAGGEMS_HOST_INLINE tile_range share_of(i64 n) const {
    if (count_ == 1) return {0, n};  // saves a small call two divisions
    // Shares differ by at most one tile; written so that n * index cannot overflow.
    const i64 share = n / count_, rest = n % count_;
    const i64 begin = share * index_ + min_of(index_, rest);
    return {begin, begin + share + (index_ < rest ? 1 : 0)};
  }
  /// f(begin, end) for that share.
  template <class F>
  FLAGGEMS_HOST_INLINE void for_each_share(i64 n, const F& f) const {
    const tile_range share = share_of(n);
    if (share.begin < share.end) f(share.begin, share.end);
  }
  template <class F>
  FLAGGEMS_HOST_INLINE void for_each_tile(i64 n, const F& f) const {
    const tile_range share = share_of(n);
    for (i64 tile = share.begin; tile < share.end; ++tile) f(tile);
  }

  template <class F>
  FLAGGEMS_HOST_INLINE void for_each_lane(i64 n, const F& f) const {
    i64 i = 0;
    for (; i + Isa::lanes <= n; i += Isa::lanes) f(lane_vector<Isa>{i});
    if (i < n) f(lane_tail<Isa>{i, static_cast<int>(n - i)});
  }

  template <class F>
  FLAGGEMS_HOST_INLINE void for_each(i64 n, const F& f) const {
    for (i64 i = 0; i < n; ++i) f(i);
  }

  template <class F>
  FLAGGEMS_HOST_INLINE void single(const F& f) const {
    f();
  }

  template <class S, class Op, class F>
  FLAGGEMS_HOST_INLINE S reduce(i64 n, S init, Op op, const F& f) const {
    return fold_lanes<S>(fold_vectors<2>(n, init, op, f), op);
  }
  /// The first half of `reduce`: a partial result per lane, in M independent accumulators to hide
  /// latency: 1 where f takes longer than op.
  template <int M, class S, class Op, class F>
  FLAGGEMS_HOST_INLINE auto fold_vectors(i64 n, S init, Op op, const F& f) const {
    using V = decltype(f(lane_vector<Isa>{0}));
    constexpr i64 lanes = Isa::lanes, step = M * lanes;
    // Partial results of a segment are added to a second level, which bounds the error of long
    // sums. Segments are shorter where steps are brief.
    constexpr i64 segment = (M == 4 ? max_of(16, 128 / Isa::lanes) : 64) * step;
    const V neutral = state_traits<V>::splat(init);
    V total = neutral;
    i64 i = 0;
    while (n - i >= step) {
      V part[M];
      FLAGGEMS_UNROLL
      for (int k = 0; k < M; ++k) part[k] = neutral;
      const i64 stop = i + min_of((n - i) / step * step, segment);
      const auto next = [&](auto k) FLAGGEMS_LAMBDA {
        part[k] = op(part[k], f(lane_vector<Isa>{i + k * lanes}));
      };
      if constexpr (M == 4) {
#pragma GCC unroll 2
        for (; i < stop; i += step) static_for<M>(next);
        part[0] = op(part[0], part[2]), part[1] = op(part[1], part[3]);
      } else {
        for (; i < stop; i += step) static_for<M>(next);
      }
      if constexpr (M > 1) part[0] = op(part[0], part[1]);
      total = op(total, part[0]);
    }
    if constexpr (M > 2)
      for (; n - i >= lanes; i += lanes) total = op(total, f(lane_vector<Isa>{i}));
    for (; i < n; i += lanes) {  // at most two more; the last one is a tail
      const lane_tail<Isa> tail{i, static_cast<int>(min_of(n - i, lanes))};
      total = select(tail.mask(), op(total, f(tail)), total);
    }
    return total;
  }

  template <int M, class T, class F>
  FLAGGEMS_HOST_INLINE void accumulate(i64 n, T (&sums)[M], const F& f) const {
    value<T> acc[M];
    static_for<M>([&](auto k) FLAGGEMS_LAMBDA { acc[k] = value<T>(T(0)); });
    for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA { f(lane, acc); });
    static_for<M>([&](auto k) FLAGGEMS_LAMBDA { sums[k] = fold_lanes<T>(acc[k], plus{}); });
  }

  template <class T, class In, class Out>
  FLAGGEMS_HOST_INLINE T exclusive_scan(i64 n, T init, const In& in, const Out& out) const {
    T sum = init;
    for (i64 i = 0; i < n; ++i) {
      const T x = in(i);
      out(i, sum);
      sum = static_cast<T>(sum + x);
    }
    return sum;
  }

  template <class T>
  FLAGGEMS_HOST_INLINE host_scratch<T> scratch(i64 count) {
    unsigned char* p = scratch_;
    scratch_ += round_up(count * static_cast<i64>(sizeof(T)) + scratch_padding, 64);
    return {static_cast<T*>(static_cast<void*>(p))};
  }

  template <class T>
  FLAGGEMS_HOST_INLINE T atomic_add(host_scratch<T> s, i64 i, identity<T> x) const {
    const T old = s.data[i];
    s.data[i] = static_cast<T>(old + x);
    return old;
  }

 private:
  i64 index_, count_;
  unsigned char* scratch_;
  [[no_unique_address]] Isa level_;
};

}  // namespace flaggems::kernels
