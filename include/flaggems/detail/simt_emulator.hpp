// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A chip's block on the host: each thread is a fiber, so barriers, shuffles and block-local memory
// behave as on a chip, and every use of them is checked. Threads change places at barriers and
// shuffles only, in a fixed order: a run is deterministic, and a mistake is reported wherever the
// order would have hidden it.
#pragma once

#include <flaggems/detail/simt_team.hpp>

namespace flaggems::kernels {

/// Block-local memory of the emulator: elements [0, count) at a byte offset, each access checked.
template <class T>
struct emulated_array {
  static constexpr bool is_scratch = true;
  using value_type = T;
  detail::simt_team* team;
  int thread;
  i64 offset, count;

  T read(i64 i, int line = FLAGGEMS_CALLER_LINE) const {
    T x;
    __builtin_memcpy(&x, touch(detail::simt_team::access::read, i, line), sizeof(T));
    return x;
  }
  void write(i64 i, identity<T> x, int line = FLAGGEMS_CALLER_LINE) const {
    __builtin_memcpy(touch(detail::simt_team::access::write, i, line), &x, sizeof(T));
  }
  /// The elements from i on.
  emulated_array from(i64 i, int line = FLAGGEMS_CALLER_LINE) const {
    team->check_view(i, count, thread, line);
    return {team, thread, offset + i * static_cast<i64>(sizeof(T)), count - i};
  }
  /// The same memory as elements of another type.
  template <class U>
  emulated_array<U> as() const {
    return {team, thread, offset,
            count * static_cast<i64>(sizeof(T)) / static_cast<i64>(sizeof(U))};
  }
  unsigned char* touch(detail::simt_team::access kind, i64 i, int line) const {
    return team->touch(kind, offset, static_cast<i64>(sizeof(T)), count, i, thread, line);
  }
};

/// One thread of an emulated chip with warps of `WarpSize` lanes; a `Machine` of `simt_block`.
template <int WarpSize, bool Clusters = false>
struct emulated_machine {
  static constexpr int warp_size = WarpSize;
  static constexpr bool has_clusters = Clusters;
  template <class T>
  using array_type = emulated_array<T>;
  using state = detail::simt_team::state;

  detail::simt_team* team;
  int thread_index;  // in the cluster
  int own_block = thread_index / team->threads();

  int thread() const { return thread_index - own_block * team->threads(); }
  int threads() const { return team->threads(); }
  i64 block() const { return team->first_block() + own_block; }
  i64 blocks() const { return team->blocks(); }
  void sync(int line) const { team->sync(thread_index, line); }
  i64 cluster() const { return team->first_block() / team->cluster(); }
  i64 clusters() const { return team->blocks() / team->cluster(); }
  int cluster_block() const { return own_block; }
  int cluster_blocks() const { return team->cluster(); }
  void sync_cluster(int line) const { team->sync_cluster(thread_index, line); }
  void leave_cluster(int line) const { sync_cluster(line); }
  template <class T>
  array_type<T> of_block(const array_type<T>& s, int other) const {
    const i64 stride = team->stride();
    return {team, thread_index, s.offset % stride + other * stride, s.count};
  }
  u32 shuffle_xor(u32 x, int mask, int line = 0) const {
    team->check_distance(mask, WarpSize, line);
    return static_cast<u32>(team->shuffle(thread_index, state::shuffle_xor, x, mask, line));
  }
  u32 shuffle_up(u32 x, int delta, int line = 0) const {
    team->check_distance(delta, WarpSize, line);
    return static_cast<u32>(team->shuffle(thread_index, state::shuffle_up, x, delta, line));
  }
  u32 shuffle_from(u32 x, int lane, int line = 0) const {
    team->check_distance(lane, WarpSize, line);
    return static_cast<u32>(team->shuffle(thread_index, state::shuffle_from, x, lane, line));
  }
  u64 alike(u32 x, int line = 0) const {
    const u64 set = team->shuffle(thread_index, state::alike, x != 0 ? 1 : 0, 0, line);
    return (x != 0 ? set : ~set) & ~u64(0) >> (64 - WarpSize);
  }
  static constexpr bool has_copies_ahead = true;
  template <class Pack>
  void copy_ahead(const array_type<Pack>& to, i64 i, const Pack* from, bool exists,
                  int line) const {
    team->copy_ahead(to.offset, to.count, i, exists ? from : nullptr, thread_index, line);
  }
  void close_copies() const { team->close_copies(thread_index); }
  template <int Left>
  void await_copies(int line) const {
    team->await_copies(Left, thread_index, line);
  }
  template <class T>
  array_type<T> scratch(i64 offset, i64 count) const {
    team->check_scratch(offset, count, static_cast<i64>(sizeof(T)));
    return {team, thread_index,
            own_block * team->stride() + detail::simt_team::exchange_bytes + offset, count};
  }
  template <class T>
  array_type<T> exchange(int which) const {
    team->check_exchange(static_cast<i64>(sizeof(T)));
    constexpr i64 bytes = detail::simt_team::exchange_bytes / 2;
    return {team, thread_index, own_block * team->stride() + which * bytes,
            min_of<i64>(32, bytes / static_cast<i64>(sizeof(T)))};
  }
  template <class T>
  T atomic_add(array_type<T> s, i64 i, identity<T> x, int line = 0) const {
    unsigned char* const p = s.touch(detail::simt_team::access::update, i, line);
    T old;
    __builtin_memcpy(&old, p, sizeof(T));
    const T sum = static_cast<T>(old + x);
    __builtin_memcpy(p, &sum, sizeof(T));
    return old;
  }
};

/// Runs `Kernel::run(block, args...)` on `clusters` clusters of `cluster` blocks (up to 8) of
/// `threads` threads with `scratch` bytes of block-local memory each. Effects are visible on
/// return. Raises what the checks find, naming `op`, the kernel and the line. Warps have 32 or 64
/// threads, blocks a multiple of it up to 1024. Any number of threads may call it at once. For
/// device types of an emulated or invented chip, by way of vendors/simt.hpp.
template <int WarpSize, class Kernel, bool Clusters = true, class... Args>
void run_emulated_clusters(const char* op, i64 clusters, int cluster, int threads, i64 scratch,
                           const Args&... args) {
  static_assert(WarpSize == 32 || WarpSize == 64,
                "flaggems: run_emulated takes warps of 32 or 64 threads");
  using machine = emulated_machine<WarpSize, Clusters>;
  const auto body = [&](detail::simt_team& team, int thread) {
    simt_block<machine> block(machine{&team, thread});
    Kernel::run(block, args...);
  };
  using body_type = decltype(body);
  detail::simt_team::of_this_thread().run(
      {op, &detail::simt_kernel_name<Kernel>, WarpSize, threads, cluster, clusters * cluster,
       scratch,
       [](const void* context, detail::simt_team& team, int thread) {
         (*static_cast<const body_type*>(context))(team, thread);
       },
       &body});
}
/// The same on `blocks` blocks of a chip without clusters.
template <int WarpSize, class Kernel, class... Args>
void run_emulated(const char* op, i64 blocks, int threads, i64 scratch, const Args&... args) {
  run_emulated_clusters<WarpSize, Kernel, false>(op, blocks, 1, threads, scratch, args...);
}

}  // namespace flaggems::kernels
