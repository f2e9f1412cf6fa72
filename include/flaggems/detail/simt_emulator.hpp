// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A SIMT block on the host: each thread is a fiber, so barriers, shuffles and block-local memory
// behave as on a SIMT device, and every use of them is checked. Threads switch only at barriers and
// shuffles, in a fixed order: runs are deterministic, and errors are reported even where that order
// would hide them.
#pragma once

#include <flaggems/detail/simt_thread_group.hpp>

namespace flaggems::kernels {

/// Block-local memory of the emulator: elements [0, count) at a byte offset, with checked access.
template <class T>
struct emulated_array {
  static constexpr bool is_scratch = true;
  using value_type = T;
  detail::simt_thread_group* group;
  int thread;
  i64 offset, count;

  T read(i64 i, int line = FLAGGEMS_CALLER_LINE) const {
    T x;
    __builtin_memcpy(&x, touch(detail::simt_thread_group::access::read, i, line), sizeof(T));
    return x;
  }
  void write(i64 i, identity<T> x, int line = FLAGGEMS_CALLER_LINE) const {
    __builtin_memcpy(touch(detail::simt_thread_group::access::write, i, line), &x, sizeof(T));
  }
  /// The elements from i on.
  emulated_array from(i64 i, int line = FLAGGEMS_CALLER_LINE) const {
    group->check_view(i, count, thread, line);
    return {group, thread, offset + i * static_cast<i64>(sizeof(T)), count - i};
  }
  /// The same memory as elements of another type.
  template <class U>
  emulated_array<U> as() const {
    return {group, thread, offset,
            count * static_cast<i64>(sizeof(T)) / static_cast<i64>(sizeof(U))};
  }
  unsigned char* touch(detail::simt_thread_group::access kind, i64 i, int line) const {
    return group->touch(kind, offset, static_cast<i64>(sizeof(T)), count, i, thread, line);
  }
};

/// One thread of an emulated SIMT device with warps of `WarpSize` lanes; a `Machine` of
/// `simt_block`.
template <int WarpSize, bool Clusters = false>
struct emulated_machine {
  static constexpr int warp_size = WarpSize;
  static constexpr bool has_clusters = Clusters;
  template <class T>
  using array_type = emulated_array<T>;
  using state = detail::simt_thread_group::state;

  detail::simt_thread_group* group;
  int thread_index;  // in the cluster
  int own_block = thread_index / group->threads();

  int thread() const { return thread_index - own_block * group->threads(); }
  int threads() const { return group->threads(); }
  i64 block() const { return group->first_block() + own_block; }
  i64 blocks() const { return group->blocks(); }
  void sync(int line) const { group->sync(thread_index, line); }
  i64 cluster() const { return group->first_block() / group->cluster(); }
  i64 clusters() const { return group->blocks() / group->cluster(); }
  int cluster_block() const { return own_block; }
  int cluster_blocks() const { return group->cluster(); }
  void sync_cluster(int line) const { group->sync_cluster(thread_index, line); }
  void leave_cluster(int line) const { sync_cluster(line); }
  template <class T>
  array_type<T> of_block(const array_type<T>& s, int other) const {
    const i64 stride = group->stride();
    return {group, thread_index, s.offset % stride + other * stride, s.count};
  }
  u32 shuffle_xor(u32 x, int mask, int line = 0) const {
    group->check_distance(mask, WarpSize, line);
    return static_cast<u32>(group->shuffle(thread_index, state::shuffle_xor, x, mask, line));
  }
  u32 shuffle_up(u32 x, int delta, int line = 0) const {
    group->check_distance(delta, WarpSize, line);
    return static_cast<u32>(group->shuffle(thread_index, state::shuffle_up, x, delta, line));
  }
  u32 shuffle_from(u32 x, int lane, int line = 0) const {
    group->check_distance(lane, WarpSize, line);
    return static_cast<u32>(group->shuffle(thread_index, state::shuffle_from, x, lane, line));
  }
  u64 ballot_match(u32 x, int line = 0) const {
    const u64 set = group->shuffle(thread_index, state::ballot_match, x != 0 ? 1 : 0, 0, line);
    return (x != 0 ? set : ~set) & ~u64(0) >> (64 - WarpSize);
  }
  static constexpr bool has_async_copies = true;
  template <class Vec>
  void copy_async(const array_type<Vec>& to, i64 i, const Vec* from, bool exists, int line) const {
    group->copy_async(to.offset, to.count, i, exists ? from : nullptr, thread_index, line);
  }
  void commit_copies() const { group->commit_copies(thread_index); }
  template <int Left>
  void wait_copies(int line) const {
    group->wait_copies(Left, thread_index, line);
  }
  template <class T>
  array_type<T> scratch(i64 offset, i64 count) const {
    group->check_scratch(offset, count, static_cast<i64>(sizeof(T)));
    return {group, thread_index,
            own_block * group->stride() + detail::simt_thread_group::exchange_bytes + offset,
            count};
  }
  template <class T>
  array_type<T> exchange(int which) const {
    group->check_exchange(static_cast<i64>(sizeof(T)));
    constexpr i64 bytes = detail::simt_thread_group::exchange_bytes / 2;
    return {group, thread_index, own_block * group->stride() + which * bytes,
            min_of<i64>(32, bytes / static_cast<i64>(sizeof(T)))};
  }
  template <class T>
  T atomic_add(array_type<T> s, i64 i, identity<T> x, int line = 0) const {
    unsigned char* const p = s.touch(detail::simt_thread_group::access::update, i, line);
    T old;
    __builtin_memcpy(&old, p, sizeof(T));
    const T sum = static_cast<T>(old + x);
    __builtin_memcpy(p, &sum, sizeof(T));
    return old;
  }
};

/// Runs `Kernel::run(block, args...)` on `clusters` clusters of `cluster` blocks (up to 8) of
/// `threads` threads with `scratch` bytes of block-local memory each; synchronous. Raises the
/// checks' errors, which name `op`, the kernel and the line. Warps have 32 or 64 threads, blocks a
/// multiple of it up to 1024. Thread-safe. For emulated or invented device types, through
/// vendors/simt.hpp.
template <int WarpSize, class Kernel, bool Clusters = true, class... Args>
void run_emulated_clusters(const char* op, i64 clusters, int cluster, int threads, i64 scratch,
                           const Args&... args) {
  static_assert(WarpSize == 32 || WarpSize == 64,
                "flaggems: run_emulated takes warps of 32 or 64 threads");
  using machine = emulated_machine<WarpSize, Clusters>;
  const auto body = [&](detail::simt_thread_group& group, int thread) {
    simt_block<machine> block(machine{&group, thread});
    Kernel::run(block, args...);
  };
  using body_type = decltype(body);
  detail::simt_thread_group::of_this_thread().run(
      {op, &detail::simt_kernel_name<Kernel>, WarpSize, threads, cluster, clusters * cluster,
       scratch,
       [](const void* context, detail::simt_thread_group& group, int thread) {
         (*static_cast<const body_type*>(context))(group, thread);
       },
       &body});
}
/// The same on `blocks` blocks without clusters.
template <int WarpSize, class Kernel, class... Args>
void run_emulated(const char* op, i64 blocks, int threads, i64 scratch, const Args&... args) {
  run_emulated_clusters<WarpSize, Kernel, false>(op, blocks, 1, threads, scratch, args...);
}

}  // namespace flaggems::kernels
