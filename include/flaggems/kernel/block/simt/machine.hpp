// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The machines of `simt_block`: a thread's access to its language's features. An entry function
// creates each from two pieces of block memory, aligned to 16 bytes: `exchange` (`exchange_bytes`
// of shared memory) and `scratch` (shared memory after the exchange if it fits, else this block's
// slice of a global workspace).
#pragma once

#include <flaggems/kernel/block/simt/mma.hpp>

namespace flaggems::kernels {

/// The bytes of a block's exchange: two buffers of up to 32 warps' entries of 16 bytes.
inline constexpr i64 exchange_bytes = 2 * 32 * 16;

/// The bytes of a cluster's mailbox (kernel/block/simt/cluster_reduce.hpp), after a block's
/// scratch: two mbarriers, and two buffers of up to 8 blocks' entries of 16 bytes.
inline constexpr i64 mailbox_bytes = 16 + 2 * 8 * 16;

/// The lanes of a block's warps on a device whose own warps have `lanes`. Kernels count on 32:
/// where fewer shuffle, the machine makes warps by memory and barriers (`shuffles_by_blocks`).
FLAGGEMS_INLINE constexpr int block_warp(int lanes) { return lanes < 32 ? 32 : lanes; }

/// The greater (lesser) of two; NaN if one is.
FLAGGEMS_INLINE f32 greater_or_nan(f32 a, f32 b) {
#if FLAGGEMS_CUDA_EXTREMA_OF_NAN
  f32 r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return b > a || b != b ? b : a;
#endif
}
FLAGGEMS_INLINE f32 lesser_or_nan(f32 a, f32 b) {
#if FLAGGEMS_CUDA_EXTREMA_OF_NAN
  f32 r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
#else
  return b < a || b != b ? b : a;
#endif
}

/// The number of bits set; the index of the lowest.
FLAGGEMS_INLINE int count_bits(u32 x) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  return __popc(x);
#else
  return __builtin_popcount(x);
#endif
}
FLAGGEMS_INLINE int lowest_bit(u32 x) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  return __ffs(static_cast<int>(x)) - 1;
#else
  return __builtin_ctz(x);
#endif
}
FLAGGEMS_INLINE int count_bits(u64 x) {
  return count_bits(static_cast<u32>(x)) + count_bits(static_cast<u32>(x >> 32));
}
FLAGGEMS_INLINE int lowest_bit(u64 x) {
  const u32 low = static_cast<u32>(x);
  return low != 0 ? lowest_bit(low) : 32 + lowest_bit(static_cast<u32>(x >> 32));
}

#if FLAGGEMS_DEVICE_CODE || FLAGGEMS_LANGUAGE_CUDA || FLAGGEMS_LANGUAGE_HIP

/// Block-local memory of a SIMT device. The pointer is generic, as it may point into a workspace;
/// after inlining compilers infer the address space.
template <class T>
struct device_array {
  static constexpr bool is_scratch = true;
  using value_type = T;
  T* data;
  FLAGGEMS_INLINE T read(i64 i, int = 0) const { return data[i]; }
  FLAGGEMS_INLINE void write(i64 i, identity<T> x, int = 0) const { data[i] = x; }
  FLAGGEMS_INLINE device_array from(i64 i) const { return {data + i}; }
  /// The same memory as elements of another type.
  template <class U>
  FLAGGEMS_INLINE device_array<U> as() const {
    return {reinterpret_cast<U*>(data)};
  }
};

/// A block's memory and its operations, which all machines share.
struct block_memory {
  template <class T>
  using array_type = device_array<T>;
  unsigned char* exchange_data;
  unsigned char* scratch_data;

  template <class T>
  FLAGGEMS_INLINE array_type<T> scratch(i64 offset, i64) const {
    return {reinterpret_cast<T*>(scratch_data + offset)};
  }
  template <class T>
  FLAGGEMS_INLINE array_type<T> exchange(int which) const {
    static_assert(sizeof(T) <= 16, "flaggems: a state that a block reduces has at most 16 bytes");
    return {reinterpret_cast<T*>(exchange_data + which * (exchange_bytes / 2))};
  }

#if !FLAGGEMS_DEVICE_CODE  // the host pass of nvcc and hipcc: parsed, never run
  FLAGGEMS_INLINE int thread() const { return 0; }
  FLAGGEMS_INLINE int threads() const { return 1; }
  FLAGGEMS_INLINE i64 block() const { return 0; }
  FLAGGEMS_INLINE i64 blocks() const { return 1; }
  FLAGGEMS_INLINE void sync(int) const {}
  FLAGGEMS_INLINE u32 shuffle_xor(u32 x, int, int = 0) const { return x; }
  FLAGGEMS_INLINE u32 shuffle_up(u32 x, int, int = 0) const { return x; }
  FLAGGEMS_INLINE u32 shuffle_from(u32 x, int, int = 0) const { return x; }
  FLAGGEMS_INLINE u64 ballot_match(u32, int = 0) const { return 1; }
  template <class T>
  FLAGGEMS_INLINE T atomic_add(array_type<T>, i64, identity<T> x, int = 0) const {
    return x;
  }
#endif
};

#endif

#if FLAGGEMS_LANGUAGE_CUDA

/// A thread under CUDA (nvcc, NVRTC). One-dimensional blocks of whole warps, at most 1024 threads.
struct cuda_machine : block_memory {
  static constexpr int warp_size = 32;

  FLAGGEMS_INLINE cuda_machine(unsigned char* exchange, unsigned char* scratch)
      : block_memory{exchange, scratch} {}

#if FLAGGEMS_DEVICE_CODE
  FLAGGEMS_INLINE int thread() const { return static_cast<int>(threadIdx.x); }
  FLAGGEMS_INLINE int threads() const { return static_cast<int>(blockDim.x); }
  FLAGGEMS_INLINE i64 block() const { return static_cast<i64>(blockIdx.x); }
  FLAGGEMS_INLINE i64 blocks() const { return static_cast<i64>(gridDim.x); }
  FLAGGEMS_INLINE void sync(int) const { __syncthreads(); }
  FLAGGEMS_INLINE u32 shuffle_xor(u32 x, int mask, int = 0) const {
    return __shfl_xor_sync(0xffffffffU, x, mask);
  }
  FLAGGEMS_INLINE u32 shuffle_up(u32 x, int delta, int = 0) const {
    return __shfl_up_sync(0xffffffffU, x, static_cast<unsigned>(delta));
  }
  FLAGGEMS_INLINE u32 shuffle_from(u32 x, int lane, int = 0) const {
    return __shfl_sync(0xffffffffU, x, lane);
  }
  FLAGGEMS_INLINE u64 ballot_match(u32 x, int = 0) const {
    u32 lanes;
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; "
        "@!p not.b32 %0, %0;}"
        : "=r"(lanes)
        : "r"(x));
    return lanes;
  }
  template <class T>
  FLAGGEMS_INLINE T atomic_add(array_type<T> s, i64 i, identity<T> x, int = 0) const {
    if constexpr (is_integer<T> && sizeof(T) == 8) {
      using word = unsigned long long;
      return static_cast<T>(atomicAdd(reinterpret_cast<word*>(s.data + i), static_cast<word>(x)));
    } else {
      return atomicAdd(s.data + i, x);
    }
  }

#if FLAGGEMS_CUDA_WAITS_FOR_LAUNCHES
  // A launch of few blocks triggers the next one at once, so that it can prefetch. Large ones do
  // not, as the next one's blocks would occupy their SMs.
  static constexpr bool begins_early = true;
  template <class F>
  FLAGGEMS_INLINE void await_earlier(const F& meanwhile) const {
    if (is_small()) meanwhile();
    asm volatile("griddepcontrol.wait;" : : : "memory");
    admit_next();
  }
  FLAGGEMS_INLINE void admit_next() const {
    if (is_small()) admit_small();
  }
  FLAGGEMS_INLINE void admit_small() const {
    asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
  }
#endif

#if FLAGGEMS_CUDA_CLUSTERS
  static constexpr bool has_clusters = true;
  FLAGGEMS_INLINE i64 cluster() const {
    u32 r;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(r));
    return r;
  }
  FLAGGEMS_INLINE i64 clusters() const {
    u32 r;
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(r));
    return r;
  }
  FLAGGEMS_INLINE int cluster_block() const {
    int r;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
  }
  FLAGGEMS_INLINE int cluster_blocks() const {
    int r;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(r));
    return r;
  }
  FLAGGEMS_INLINE void sync_cluster(int) const {
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
  }
  FLAGGEMS_INLINE void leave_cluster(int) const {  // without a fence, which would flush all memory
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;" ::
                     : "memory");
  }
  template <class T>
  FLAGGEMS_INLINE array_type<T> of_block(array_type<T> s, int block) const {
    u64 r;
    asm("mapa.u64 %0, %1, %2;" : "=l"(r) : "l"(reinterpret_cast<u64>(s.data)), "r"(block));
    return {reinterpret_cast<T*>(r)};
  }

  // The mbarrier exchange of cluster_reduction (kernel/block/simt/cluster_reduce.hpp): a message is
  // stored to another block's shared memory and counted by its mbarrier, without a fence.
  static constexpr bool has_messages = true;
  FLAGGEMS_INLINE void open_mailbox() const {
    const u32 box = mailbox();
    if (thread() == 0)
      asm volatile(
          "mbarrier.init.shared::cta.b64 [%0], 1;\n\tmbarrier.init.shared::cta.b64 [%0 + 8], 1;\n\t"
          "fence.mbarrier_init.release.cluster;" ::"r"(box)
          : "memory");
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  }
  /// Waits until every block has initialised its mailbox.
  FLAGGEMS_INLINE void await_mailboxes() const {
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
  }
  /// Sends a state to all blocks and returns that of block `from` once all have arrived. `half`
  /// alternates with each call, `phase` with every second.
  template <class S>
  FLAGGEMS_INLINE S swap_messages(const S& mine, int half, u32 phase, int from) const {
    constexpr int words = static_cast<int>(sizeof(S) / 4);
    static_assert(sizeof(S) % 4 == 0 && words <= 4);
    struct message {
      u32 word[words];
    };
    const u32 arrival = mailbox() + static_cast<u32>(8 * half);
    const u32 entries = mailbox() + static_cast<u32>(16 + 128 * half);
    sync(0);  // the state before the last has been read
    if (thread() == 0)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrival),
                   "r"(cluster_blocks() * static_cast<int>(sizeof(S)))
                   : "memory");
    if (thread() < cluster_blocks()) {
      const message sent = bit_cast<message>(mine);
      const u32 to = shared_of_block(entries + static_cast<u32>(16 * cluster_block()), thread());
      const u32 counted_by = shared_of_block(arrival, thread());
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < words; ++k)
        asm volatile(
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
                to + static_cast<u32>(4 * k)),
            "r"(sent.word[k]), "r"(counted_by)
            : "memory");
    }
    await_phase(arrival, phase);
    message got;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < words; ++k)
      asm volatile("ld.shared::cta.b32 %0, [%1];"
                   : "=r"(got.word[k])
                   : "r"(entries + static_cast<u32>(16 * from + 4 * k))
                   : "memory");
    return bit_cast<S>(got);
  }

  // The copy engine (TMA) of box_loads (kernel/block/simt/tensor_map.hpp). One thread calls the
  // first two.
  static constexpr bool has_copy_engine = true;
  /// Whether the engine reaches an array: not if it is in a workspace.
  FLAGGEMS_INLINE bool engine_reaches(array_type<u64> a) const { return __isShared(a.data) != 0; }
  FLAGGEMS_INLINE void expect_boxes(array_type<u64> arrival) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.proxy.async.shared::cta;" ::"r"(
                     shared_address(arrival.data))
                 : "memory");
  }
  template <class Map, int Rank>
  FLAGGEMS_INLINE void load_box(const Map& map, const void* to, const i32 (&first)[Rank],
                                array_type<u64> arrival, u32 bytes) const {
    const u32 at = shared_address(to), bar = shared_address(arrival.data);
    const u64 m = reinterpret_cast<u64>(&map);
    asm volatile(
        "fence.proxy.async.shared::cta;\n\tmbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], "
        "%1;" ::"r"(bar),
        "r"(bytes)
        : "memory");
#define FLAGGEMS_LOAD_BOX(dims, at_dims)                                                  \
  asm volatile("cp.async.bulk.tensor." dims                                               \
               ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, " at_dims \
               "], [%2];" ::"r"(at),                                                      \
               "l"(m), "r"(bar), "r"(first[0]), "r"(first[at_1]), "r"(first[at_2]),       \
               "r"(first[at_3]), "r"(first[at_4])                                         \
               : "memory")
    constexpr int last = Rank - 1, at_1 = last < 1 ? last : 1, at_2 = last < 2 ? last : 2,
                  at_3 = last < 3 ? last : 3, at_4 = last;
    if constexpr (Rank == 1) FLAGGEMS_LOAD_BOX("1d", "{%3}");
    if constexpr (Rank == 2) FLAGGEMS_LOAD_BOX("2d", "{%3, %4}");
    if constexpr (Rank == 3) FLAGGEMS_LOAD_BOX("3d", "{%3, %4, %5}");
    if constexpr (Rank == 4) FLAGGEMS_LOAD_BOX("4d", "{%3, %4, %5, %6}");
    if constexpr (Rank == 5) FLAGGEMS_LOAD_BOX("5d", "{%3, %4, %5, %6, %7}");
#undef FLAGGEMS_LOAD_BOX
  }
  /// Waits for the end of an mbarrier's phase. (At the scope of the block: messages are in its own
  /// memory when they are counted, and cluster scope would invalidate the SM's L1 cache each time.)
  FLAGGEMS_INLINE static void await_phase(u32 bar, u32 phase) {
    u32 done = 0;
    while (done == 0)
      asm volatile(
          "{\n\t.reg .pred p;\n\t"
          "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
          "selp.u32 %0, 1, 0, p;\n\t}"
          : "=r"(done)
          : "r"(bar), "r"(phase)
          : "memory");
  }
  /// Called by all threads: waits for the boxes loaded since the last call; `phase` is its parity.
  FLAGGEMS_INLINE void await_boxes(array_type<u64> arrival, u32 phase) const {
    const u32 bar = shared_address(arrival.data);
    if (thread() == 0)
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
    await_phase(bar, phase);
  }
#endif
#if FLAGGEMS_CUDA_TILES
  static constexpr bool has_async_copies = true;
  template <class Vec>
  FLAGGEMS_INLINE void copy_async(array_type<Vec> to, i64 i, const Vec* from, bool exists,
                                  int) const {
    constexpr int size = static_cast<int>(sizeof(Vec));
    if (!__isShared(to.data)) return to.write(i, exists ? *from : Vec{});  // a workspace
    const u32 at = shared_address(to.data) + static_cast<u32>(i) * size;   // of 32 bits
    if constexpr (size == 16)                                              // past the L1 cache
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at),
                   "l"(__cvta_generic_to_global(from)), "r"(exists ? size : 0)
                   : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at),
                   "l"(__cvta_generic_to_global(from)), "n"(size), "r"(exists ? size : 0)
                   : "memory");
  }
  FLAGGEMS_INLINE void commit_copies() const {
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  template <int Left>
  FLAGGEMS_INLINE void wait_own_copies(int) const {
    asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
  }
  template <int Left>
  FLAGGEMS_INLINE void wait_copies(int line) const {
    wait_own_copies<Left>(line);
    __syncwarp();
  }
  static constexpr bool has_matrix_unit = true;
  template <class T>
  FLAGGEMS_INLINE void multiply_tiles(mma_sum<T>* c, const u32* a, const u32* b) const {
    cuda_mma::multiply<T>(c, a, b);
  }
  template <class Vec>
  FLAGGEMS_INLINE bool reaches_tiles(array_type<Vec> from) const {
    return __isShared(from.data) != 0;
  }
  template <bool Transposed, class Vec>
  FLAGGEMS_INLINE void load_tiles(u32 (&x)[4], array_type<Vec> from, i64 row) const {
    const u32 at = shared_address(from.data) + static_cast<u32>(row) * 16;
    if constexpr (Transposed)
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"(at)
                   : "memory");
    else
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"(at)
                   : "memory");
  }
  FLAGGEMS_INLINE u32 transpose_tile(u32 x) const {
    u32 r;
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(x));
    return r;
  }
#endif

 private:
  FLAGGEMS_INLINE bool is_small() const { return blocks() <= 400; }
  FLAGGEMS_INLINE static u32 shared_address(const void* p) {
    u64 r;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(r) : "l"(p));
    return static_cast<u32>(r);
  }
#if FLAGGEMS_CUDA_CLUSTERS
  FLAGGEMS_INLINE static u32 shared_of_block(u32 address, int block) {
    u32 r;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(block));
    return r;
  }
  FLAGGEMS_INLINE u32 mailbox() const {
    u32 bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return shared_address(exchange_data) + bytes - static_cast<u32>(mailbox_bytes);
  }
#endif
#endif
};

#endif

#if FLAGGEMS_LANGUAGE_HIP

inline constexpr int hip_warp_size = FLAGGEMS_HIP_WARP_SIZE;

/// A thread under HIP, by compiler builtins: no vendor header is needed. A warp may be part of a
/// wave: `WarpSize` 32 is valid on waves of 64 too.
template <int WarpSize = hip_warp_size>
struct hip_machine : block_memory {
  static constexpr int warp_size = WarpSize;

  FLAGGEMS_INLINE hip_machine(unsigned char* exchange, unsigned char* scratch)
      : block_memory{exchange, scratch} {}

#if FLAGGEMS_DEVICE_CODE
  FLAGGEMS_INLINE int thread() const { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
  FLAGGEMS_INLINE int threads() const {
    return static_cast<int>(__builtin_amdgcn_workgroup_size_x());
  }
  FLAGGEMS_INLINE i64 block() const { return static_cast<i64>(__builtin_amdgcn_workgroup_id_x()); }
  FLAGGEMS_INLINE i64 blocks() const {
    return static_cast<i64>(__builtin_amdgcn_grid_size_x() /
                            static_cast<u32>(__builtin_amdgcn_workgroup_size_x()));
  }
  FLAGGEMS_INLINE void sync(int) const {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }
  FLAGGEMS_INLINE u32 shuffle_xor(u32 x, int mask, int = 0) const {
    return from_lane(x, lane_of_wave() ^ mask);
  }
  FLAGGEMS_INLINE u32 shuffle_up(u32 x, int delta, int = 0) const {
    const int lane = lane_of_wave();
    return from_lane(x, lane % WarpSize < delta ? lane : lane - delta);
  }
  FLAGGEMS_INLINE u32 shuffle_from(u32 x, int lane, int = 0) const {
    return from_lane(x, lane_of_wave() / WarpSize * WarpSize + lane);
  }
  FLAGGEMS_INLINE u64 ballot_match(u32 x, int = 0) const {
    constexpr int differ = 33;  // LLVM's ICMP_NE
    const u64 set = __builtin_amdgcn_uicmp(x, 0U, differ), wave = x != 0 ? set : ~set;
    return WarpSize == 64 ? wave : wave >> (lane_of_wave() & 32) & 0xffffffffU;
  }
  template <class T>
  FLAGGEMS_INLINE T atomic_add(array_type<T> s, i64 i, identity<T> x, int = 0) const {
    if constexpr (is_integer<T>) {
      return __hip_atomic_fetch_add(s.data + i, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    } else {
      using word = uint_of_size<sizeof(T)>;
      word* const p = reinterpret_cast<word*>(s.data + i);
      word old = __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
      while (!__hip_atomic_compare_exchange_strong(p, &old, bit_cast<word>(bit_cast<T>(old) + x),
                                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                                   __HIP_MEMORY_SCOPE_WORKGROUP)) {
      }
      return bit_cast<T>(old);
    }
  }

 private:
  FLAGGEMS_INLINE static int lane_of_wave() {
    const u32 low = __builtin_amdgcn_mbcnt_lo(~0U, 0U);
    if constexpr (hip_warp_size == 32)
      return static_cast<int>(low);
    else
      return static_cast<int>(__builtin_amdgcn_mbcnt_hi(~0U, low));
  }
  FLAGGEMS_INLINE static u32 from_lane(u32 x, int lane) {
    return static_cast<u32>(__builtin_amdgcn_ds_bpermute(lane * 4, static_cast<int>(x)));
  }
#endif
};

#endif

#if FLAGGEMS_LANGUAGE_OPENCL

/// A work-item under C++ for OpenCL. Shuffles go through local memory (`slots`, 16 bytes per
/// work-item) between barriers, so no extension is needed and `WarpSize` need not be the size of a
/// sub-group. That is legal because a block shuffles only in collectives that all work-items reach.
template <int WarpSize = 32>
struct opencl_machine : block_memory {
  static constexpr int warp_size = WarpSize;
  static constexpr bool shuffles_by_blocks = true;
  static constexpr int slot_bytes = 16;
  u32* slots;

  FLAGGEMS_INLINE opencl_machine(unsigned char* exchange, unsigned char* scratch,
                                 unsigned char* slots_of_items)
      : block_memory{exchange, scratch}, slots(reinterpret_cast<u32*>(slots_of_items)) {}

  /// A state of each work-item.
  template <class S>
  FLAGGEMS_INLINE array_type<S> states() const {
    static_assert(sizeof(S) <= slot_bytes,
                  "flaggems: a state that is reduced has at most 16 bytes");
    return {reinterpret_cast<S*>(slots)};
  }

  FLAGGEMS_INLINE int thread() const { return static_cast<int>(get_local_id(0)); }
  FLAGGEMS_INLINE int threads() const { return static_cast<int>(get_local_size(0)); }
  FLAGGEMS_INLINE i64 block() const { return static_cast<i64>(get_group_id(0)); }
  FLAGGEMS_INLINE i64 blocks() const { return static_cast<i64>(get_num_groups(0)); }
  // Both fences: scratch may be in a global workspace.
  FLAGGEMS_INLINE void sync(int) const { barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }
  FLAGGEMS_INLINE u32 shuffle_xor(u32 x, int mask, int = 0) const {
    return from_thread(x, thread() ^ mask);
  }
  FLAGGEMS_INLINE u32 shuffle_up(u32 x, int delta, int = 0) const {
    const int t = thread();
    return from_thread(x, t % WarpSize < delta ? t : t - delta);
  }
  FLAGGEMS_INLINE u32 shuffle_from(u32 x, int lane, int = 0) const {
    return from_thread(x, thread() / WarpSize * WarpSize + lane);
  }
  FLAGGEMS_INLINE u64 ballot_match(u32 x, int = 0) const {
    slots[thread()] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    u64 lanes = 0;
    for (int lane = WarpSize - 1; lane >= 0; --lane)
      lanes =
          lanes << 1 | ((slots[thread() / WarpSize * WarpSize + lane] != 0) == (x != 0) ? 1U : 0U);
    barrier(CLK_LOCAL_MEM_FENCE);
    return lanes;
  }
  template <class T>
  FLAGGEMS_INLINE T atomic_add(array_type<T> s, i64 i, identity<T> x, int = 0) const {
    // clang's __sync builtins are instructions; its others become library calls under SPIR, and
    // drivers lack OpenCL's functions on generic pointers.
    if constexpr (is_integer<T>) {
      return __sync_fetch_and_add(s.data + i, x);
    } else {
      using word = uint_of_size<sizeof(T)>;
      auto* const p = reinterpret_cast<volatile word*>(s.data + i);
      for (word old = *p;;) {
        const word seen = __sync_val_compare_and_swap(p, old, bit_cast<word>(bit_cast<T>(old) + x));
        if (seen == old) return bit_cast<T>(old);
        old = seen;
      }
    }
  }

 private:
  FLAGGEMS_INLINE u32 from_thread(u32 x, int from) const {
    slots[thread()] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    const u32 r = slots[from];
    barrier(CLK_LOCAL_MEM_FENCE);
    return r;
  }
};

#endif

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/block/simt/machine.hpp");
