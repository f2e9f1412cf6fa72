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

/// One thread of an emulated SIMT device with warps of `WarpSize` (32 or 64) lanes; a `Machine` of
/// `simt_block`.
template <int WarpSize, bool Clusters = false>
struct emulated_machine {
  static constexpr int warp_size = WarpSize;
  static constexpr bool has_clusters = Clusters;
  static constexpr int emulates_warp_groups = 1, watches_loops = 1;
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
  void sync(source_line line) const { group->sync(thread_index, line); }
  i64 cluster() const { return group->first_block() / group->cluster(); }
  i64 clusters() const { return group->blocks() / group->cluster(); }
  int cluster_block() const { return own_block; }
  int cluster_blocks() const { return group->cluster(); }
  void sync_cluster(source_line line) const { group->sync_cluster(thread_index, line); }
  void leave_cluster(source_line line) const { sync_cluster(line); }
  template <class T>
  array_type<T> of_block(const array_type<T>& s, int other) const {
    const i64 stride = group->stride();
    return {group, thread_index, s.offset % stride + other * stride, s.count};
  }
  u32 shuffle_xor(u32 x, int mask, source_line line = 0) const {
    group->check_distance(mask, WarpSize, line);
    return static_cast<u32>(group->shuffle(thread_index, state::shuffle_xor, x, mask, line));
  }
  u32 shuffle_up(u32 x, int delta, source_line line = 0) const {
    group->check_distance(delta, WarpSize, line);
    return static_cast<u32>(group->shuffle(thread_index, state::shuffle_up, x, delta, line));
  }
  u32 shuffle_from(u32 x, int lane, source_line line = 0) const {
    group->check_distance(lane, WarpSize, line);
    return static_cast<u32>(group->shuffle(thread_index, state::shuffle_from, x, lane, line));
  }
  u64 ballot_match(u32 x, source_line line = 0) const {
    const u64 set = group->shuffle(thread_index, state::ballot_match, x != 0 ? 1 : 0, 0, line);
    return (x != 0 ? set : ~set) & ~u64(0) >> (64 - WarpSize);
  }
  static constexpr bool has_async_copies = true;
  template <class Vec>
  void copy_async(const array_type<Vec>& to, i64 i, const Vec* from, bool exists,
                  source_line line) const {
    group->copy_async(
        {to.offset, to.count, i, static_cast<int>(sizeof(Vec)), exists ? from : nullptr, 0, line},
        thread_index);
  }
  void commit_copies() const { group->commit_copies(thread_index); }
  template <int Left>
  void wait_copies(source_line line) const {
    group->wait_copies(Left, thread_index, line);
  }
  template <int Left>
  void wait_own_copies(source_line line) const {
    wait_copies<Left>(line);
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
  T atomic_add(array_type<T> s, i64 i, identity<T> x, source_line line = 0) const {
    unsigned char* const p = s.touch(detail::simt_thread_group::access::update, i, line);
    T old;
    __builtin_memcpy(&old, p, sizeof(T));
    const T sum = static_cast<T>(old + x);
    __builtin_memcpy(p, &sum, sizeof(T));
    return old;
  }
};

/// The same of a device whose threads shuffle with nobody: a block has warps of 32 all the same, by
/// 16 bytes a thread and barriers of the block, as OpenCL's have.
template <>
struct emulated_machine<1, false> : emulated_machine<block_warp(1), false> {
  static constexpr bool shuffles_by_blocks = true;
  static constexpr i64 state_bytes = 16;  // a thread's
  emulated_machine(detail::simt_thread_group* group_of, int index)
      : emulated_machine<block_warp(1), false>{group_of, index} {}

  template <class S>
  array_type<S> states() const {
    group->check_exchange(static_cast<i64>(sizeof(S)));
    return {group, thread_index, group->stride() - state_bytes * threads(), threads()};
  }
  u32 shuffle_xor(u32 x, int mask, source_line line = 0) const {
    group->check_distance(mask, warp_size, line);
    return from_thread(x, thread() ^ mask, line);
  }
  u32 shuffle_up(u32 x, int delta, source_line line = 0) const {
    group->check_distance(delta, warp_size, line);
    return from_thread(x, thread() % warp_size < delta ? thread() : thread() - delta, line);
  }
  u32 shuffle_from(u32 x, int lane, source_line line = 0) const {
    group->check_distance(lane, warp_size, line);
    return from_thread(x, first_of_warp() + lane, line);
  }
  u64 ballot_match(u32 x, source_line line = 0) const {
    const auto slots = states<u32>();
    slots.write(thread(), x, line);
    sync(line);
    u64 lanes = 0;
    for (int lane = 0; lane < warp_size; ++lane)
      if ((slots.read(first_of_warp() + lane, line) != 0) == (x != 0)) lanes |= u64{1} << lane;
    sync(line);
    return lanes;
  }

 private:
  int first_of_warp() const { return thread() / warp_size * warp_size; }
  u32 from_thread(u32 x, int from, source_line line) const {
    const auto slots = states<u32>();
    slots.write(thread(), x, line);
    sync(line);
    const u32 r = slots.read(from, line);
    sync(line);
    return r;
  }
};

/// The emulator knows the step of a loop that a thread is in.
template <class Machine>
struct loop_steps<Machine, decltype(Machine::watches_loops + 0)> {
  explicit loop_steps(const Machine& machine)
      : step_(machine.group->step_of(machine.thread_index)), outer_(step_) {}
  loop_steps(const loop_steps&) = delete;
  loop_steps& operator=(const loop_steps&) = delete;
  ~loop_steps() { step_ = outer_; }
  void begin(i64 step) const { step_ = step; }

 private:
  i64& step_;
  i64 outer_;
};

/// Warp groups of the emulator: see detail/simt_warp_groups.hpp.
template <class Machine>
struct warp_group_unit<Machine, decltype(Machine::emulates_warp_groups + 0)> {
  static constexpr bool exists = Machine::warp_size == 32 && !shuffling_by_blocks<Machine>;
  explicit warp_group_unit(const Machine& machine) : machine_(machine) {}

  template <class T>
  u32 address(const emulated_array<T>& s) const {
    return own(static_cast<u32>(s.offset - machine_.own_block * group().stride()));
  }
  template <class T>
  T read(u32 at, int line = FLAGGEMS_CALLER_LINE) const {
    T x;
    __builtin_memcpy(&x, group().written_bytes(at, sizeof(T), line), sizeof(T));
    return x;
  }
  template <class T = vec<u32, 4>>
  void write(u32 at, const T& x, int line = FLAGGEMS_CALLER_LINE) const {
    __builtin_memcpy(group().bytes_at(at, sizeof(x), line), &x, sizeof(x));
    group().set_initialised(at, sizeof(x), true);
    all().note_write(thread(), at, sizeof(x));
  }

  void copy(u32 to, const vec<u32, 4>* from, bool is_there, int line = FLAGGEMS_CALLER_LINE) const {
    (void)group().bytes_at(to, sizeof(*from), line);
    group().set_initialised(to, sizeof(*from), false);
    all().add_copy(thread(), [this, to, from, is_there, line] {
      write(to, is_there ? *from : vec<u32, 4>{}, line);
    });
  }
  void commit_copies() const { all().commit_copies(thread()); }
  template <int Left>
  void await_copies() const {
    all().await_copies(thread(), Left);
  }

  void init_barrier(u32 bar, u32 count, int line = FLAGGEMS_CALLER_LINE) const {
    (void)group().bytes_at(bar, 8, line);
    all().init_barrier(bar, count);
  }
  void fence_barriers() const {}
  void expect(u32 bar, u32 bytes, int line = FLAGGEMS_CALLER_LINE) const {
    if (!all().arrive(bar, bytes)) refuse_arrival(line);
  }
  void arrive(u32 bar, int line = FLAGGEMS_CALLER_LINE) const { expect(bar, 0, line); }
  void arrive_at(u32 bar, u32 block, int line = FLAGGEMS_CALLER_LINE) const {
    expect(of_block(bar, block), 0, line);
  }
  void wait(u32 bar, u32 parity, int line = FLAGGEMS_CALLER_LINE) const {
    group().await_phase(thread(), bar, parity, line);
  }

  void prefetch(const tensor_map&) const {}
  template <int Rank>
  void load_box(u32 to, const tensor_map& map, const box_corner<Rank>& first, u32 bar,
                int line = FLAGGEMS_CALLER_LINE) const {
    load_box(to, map, first, bar, static_cast<u16>(1U << machine_.own_block), line);
  }
  template <int Rank>
  void load_box(u32 to, const tensor_map& map, const box_corner<Rank>& first, u32 bar, u16 blocks,
                int line = FLAGGEMS_CALLER_LINE) const {
    if (map.rank != Rank) group().refuse("a map of the corner's dimensions", "another", line);
    if (first.at[0] * static_cast<i32>(map.element) % 16 != 0)
      group().refuse("a box that begins at a multiple of 16 bytes of a line", "another", line);
    std::vector<unsigned char> data(map.box_elements() * map.element);
    for_each_element(map, first, to, [&](const unsigned char* from, u32 byte) {
      if (from != nullptr) __builtin_memcpy(&data[byte], from, map.element);
    });
    const i64 bytes = static_cast<i64>(data.size());
    for (u32 block = 0; block < static_cast<u32>(group().cluster()); ++block)
      if ((blocks >> block & 1) != 0) {
        (void)group().bytes_at(of_block(to, block), bytes, line);
        group().set_initialised(of_block(to, block), bytes, false);
        all().add_box(of_block(to, block), of_block(bar, block), data);
      }
  }
  void store_box(const tensor_map& map, const box_corner<3>& first, u32 from,
                 int line = FLAGGEMS_CALLER_LINE) const {
    const i64 bytes = i64{map.box_elements()} * map.element;
    const unsigned char* const data = group().written_bytes(from, bytes, line);
    if (!all().is_fenced(from, static_cast<u32>(bytes)))
      group().refuse("a fence before a box is stored", "none after a write", line);
    all().add_store(thread(), [this, map, first, from, line,
                               was = std::vector<unsigned char>(data, data + bytes)] {
      const unsigned char* const now = group().bytes_at(from, static_cast<i64>(was.size()), line);
      if (__builtin_memcmp(now, was.data(), was.size()) != 0)
        group().refuse("memory that nothing writes while the box in it is stored", "a write", line);
      for_each_element(map, first, from, [&](unsigned char* to, u32 byte) {
        if (to != nullptr) __builtin_memcpy(to, now + byte, map.element);
      });
    });
  }
  template <int Left>
  void await_reads() const {
    all().await_stores(thread(), Left);
  }
  void fence_writes() const { all().fence(thread()); }

  void sync_named(u32 id, u32 threads, int line = FLAGGEMS_CALLER_LINE) const {
    group().sync_named(thread(), id, threads, line);
  }
  void arrive_named(u32 id, u32 threads, int line = FLAGGEMS_CALLER_LINE) const {
    group().arrive_named(thread(), id, threads, line);
  }
  void sync_warp(int line = FLAGGEMS_CALLER_LINE) const { (void)machine_.shuffle_xor(0, 0, line); }
  void sync_cluster(int line = FLAGGEMS_CALLER_LINE) const { machine_.sync_cluster(line); }
  template <int Count>
  void take_registers() const {}
  template <int Count>
  void give_registers() const {}

  template <class T, major A, major B, class C, int Count>
  void multiply(C (&sums)[Count], u64 a, u64 b, i32 adds, int line = FLAGGEMS_CALLER_LINE) const {
    static_assert(is_same<C, mma_sum<T>>);
    static_assert(sizeof(T) == 2 || (A == major::along && B == major::along));
    add_product<T>(sums, 2 * Count, {a, A == major::across}, {b, B == major::across}, nullptr, adds,
                   line);
  }
  template <class T, major B, int Count>
  void multiply_rows(f32 (&sums)[Count], const u32* a, u64 b, i32 adds,
                     int line = FLAGGEMS_CALLER_LINE) const {
    static_assert(sizeof(T) == 2);
    add_product<T>(sums, 2 * Count, {}, {b, B == major::across}, a, adds, line);
  }
  template <class W, int Count>
  void hold(W (&)[Count]) const {}
  void begin() const {}
  void commit() const { all().commit(thread()); }
  template <int Left>
  void await(int line = FLAGGEMS_CALLER_LINE) const {
    group().await_products(thread(), Left, line);
  }

  void store_tiles(u32 to, const u32 (&x)[4], int line = FLAGGEMS_CALLER_LINE) const {
    const int lane = machine_.thread() % Machine::warp_size;
    for (int i = 0; i < 4; ++i) {
      const u32 row = machine_.shuffle_from(to, 8 * i + lane / 4, line);
      const u32 at = row + static_cast<u32>(lane % 4 * 4);
      __builtin_memcpy(group().bytes_at(at, 4, line), &x[i], 4);
      group().set_initialised(at, 4, true);
      all().note_write(thread(), at, 4);
    }
  }
  void await_earlier(bool) const {
    if constexpr (beginning_early<Machine>) machine_.await_earlier([] {});
  }

 private:
  detail::simt_thread_group& group() const { return *machine_.group; }
  detail::simt_warp_groups& all() const { return group().warp_groups(); }
  int thread() const { return machine_.thread_index; }
  u32 own(u32 byte) const { return of_block(byte, static_cast<u32>(machine_.own_block)); }
  static u32 of_block(u32 address, u32 block) {
    return (address & detail::simt_warp_groups::byte_mask) |
           block << detail::simt_warp_groups::block_shift;
  }
  [[noreturn]] void refuse_arrival(int line) const {
    group().refuse("an mbarrier that has been initialised and counts so many arrivals", "another",
                   line);
  }
  template <class T>
  void add_product(mma_sum<T>* sums, int columns, detail::simt_warp_groups::operand a,
                   detail::simt_warp_groups::operand b, const u32* rows, i32 adds, int line) const {
    const detail::simt_warp_groups::product one = {sums,
                                                   columns,
                                                   a,
                                                   b,
                                                   rows,
                                                   adds != 0,
                                                   static_cast<int>(sizeof(T)),
                                                   is_same<mma_sum<T>, u32>,
                                                   &element<T>,
                                                   0,
                                                   line};
    if (!all().is_fenced(machine_.own_block, one))
      group().refuse("a fence between a write and products", "none", line);
    all().add_product(thread(), one);
  }
  /// The bits of an element as it is multiplied; f32 without what tf32 does not hold.
  template <class T>
  static u32 element(const unsigned char* at) {
    T x;
    __builtin_memcpy(&x, at, sizeof(T));
    if constexpr (is_same<mma_sum<T>, u32>)
      return static_cast<u32>(x);
    else if constexpr (is_same<T, f32>)
      return bit_cast<u32>(x) & ~u32{0x1FFF};
    else
      return bit_cast<u32>(static_cast<f32>(x));
  }
  /// f(address in global memory or null outside, byte in the box) for the elements of a box of
  /// which `local` is the address in block-local memory.
  template <int Rank, class F>
  static void for_each_element(const tensor_map& map, const box_corner<Rank>& first, u32 local,
                               const F& f) {
    for (u32 i = 0; i < map.box_elements(); ++i) {
      u64 at = map.address;
      bool inside = true;
      u32 rest = i;
      for (int d = 0; d < map.rank; ++d) {
        const i64 x = i64{first.at[d]} + rest % map.box[d];
        rest /= map.box[d];
        inside = inside && x >= 0 && static_cast<u64>(x) < map.sizes[d];
        at += static_cast<u64>(x) * map.strides[d];
      }
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      f(inside ? reinterpret_cast<unsigned char*>(at) : nullptr,
        swizzled(local + i * map.element, map.swizzle) - local);
    }
  }

  const Machine& machine_;
};

/// Runs `Kernel::run(block, args...)` on `clusters` clusters of `cluster` blocks (up to 8) of
/// `threads` threads with `scratch` bytes of block-local memory each; synchronous. Raises the
/// checks' errors, which name `op`, the kernel and the line. Warps have 1, 32 or 64 threads, blocks
/// a multiple of 32 or 64 up to 1024. Thread-safe. For emulated or invented device types, through
/// vendors/simt.hpp.
template <int WarpSize, class Kernel, bool Clusters = true, class... Args>
void run_emulated_clusters(const char* op, i64 clusters, int cluster, int threads, i64 scratch,
                           const Args&... args) {
  static_assert((WarpSize == 1 && !Clusters) || WarpSize == 32 || WarpSize == 64,
                "flaggems: run_emulated takes warps of 32 or 64 threads, or 1 without clusters");
  using machine = emulated_machine<WarpSize, Clusters>;
  i64 states = 0;
  if constexpr (shuffling_by_blocks<machine>) states = machine::state_bytes * threads;
  const auto body = [&](detail::simt_thread_group& group, int thread) {
    simt_block<machine> block(machine{&group, thread});
    Kernel::run(block, args...);
  };
  using body_type = decltype(body);
  detail::simt_thread_group::of_this_thread().run(
      {op, &detail::simt_kernel_name<Kernel>, WarpSize, machine::warp_size, threads, cluster,
       clusters * cluster, scratch, states,
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
