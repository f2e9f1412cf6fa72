// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Warp groups: four warps that multiply tiles of block-local memory (wgmma, sm_90a), fed by the
// copy engine's boxes through mbarriers. One instruction a member; addresses in block-local memory
// are numbers of bytes, and those of a matrix are what a descriptor says.
#pragma once

#include <flaggems/kernel/block/simt/tensor_map.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// A matrix in block-local memory for wgmma: rows of 128 bytes, swizzled by 8 pieces, in groups of
/// 8 rows; of major::across, the next 64 elements across are `Rows` rows further.
template <major Major, int Rows = 64>
FLAGGEMS_INLINE constexpr u64 matrix_descriptor(u32 address) {
  constexpr u64 leading = Major == major::across ? Rows * 128 : 16, stride = 8 * 128;
  return u64{(address & 0x3FFFF) >> 4} | leading >> 4 << 16 | stride >> 4 << 32 | u64{1} << 62;
}

/// Where a warp group is in a ring of stages, of which mbarriers say whether they are full.
template <int Stages>
struct pipeline_position {
  u32 stage = 0, phase = 0;
  FLAGGEMS_INLINE void next() {
    if (++stage == Stages) stage = 0, phase ^= 1;
  }
  FLAGGEMS_INLINE void skip(u32 steps) {
    stage += steps;
    phase ^= stage / Stages & 1;
    stage %= Stages;
  }
};

/// What warp groups of a machine do; `exists` says whether they have these members.
///
/// mbarriers: of 8 bytes; a phase ends when `count` threads have arrived and all expected bytes.
///   init_barrier(bar, count), fence_barriers(): by one thread, before a barrier of the cluster
///   expect(bar, bytes): arrives, and expects bytes of boxes;  arrive(bar);
///   arrive_at(bar, block): of a block of the cluster;  wait(bar, parity): for the phase's end
/// boxes, by one thread:
///   load_box(to, map, first, bar), of 3 to 5 dimensions;  load_box(to, map, first, bar, blocks):
///   to those of a mask, at the same address;  store_box(map, first, from);  await_reads<Left>():
///   until all but the last Left boxes that the thread stores have been read;  fence_writes():
///   before a store_box, by each thread that wrote
/// copies of 16 bytes, by any thread:
///   copy(to, from, is_there): zeros if it is not;  commit_copies();  await_copies<Left>(): until
///   all but the last Left groups of the thread's copies are there, fence_writes() before products
///   read them
/// barriers of threads:
///   sync_named(id, threads), arrive_named(id, threads): id 1 to 15;  sync_warp();  sync_cluster()
/// registers of a warp group:
///   take_registers<Count>(), give_registers<Count>()
/// products, by all threads of a warp group. A thread's sums[4 * j + e] are at row 16 * w + l / 4 +
/// e / 2 * 8 and column 8 * j + l % 4 * 2 + e % 2, of its warp w and lane l:
///   multiply<T, A, B>(sums, a, b, adds): sums (+)= a b of 64 x 32 and 32 x Columns bytes of T,
///   from descriptors, sums a mma_sum<T>; of other types than those of 16 bits both along;
///   multiply_rows<T, B>(sums, a, b, adds): the same of 16 bits and rows in registers, a word a[i]
///   of which is the pair at 16 * w + l / 4 + i % 2 * 8 and i / 2 * 8 + l % 4 * 2
///   begin(), commit(): before and after products that end together;  await<Left>(): until at most
///   Left such groups are pending;  hold(x), of sums and of rows in registers: before begin, after
///   commit and before they are read or written, so that the compiler moves no use of them across
/// elements:
///   store_tiles(to, x): stmatrix of four 8 x 8 matrices, a row's address a lane
///   read<T>(address);  write(address, x): 16 bytes or 2, fence_writes() before products read them
/// await_earlier(admits): programmatic dependent launch, wait, and trigger if `admits`
template <class Machine, class = int>
struct warp_group_unit {
  static constexpr bool exists = false;
};

/// What a device is told of a kernel by warp groups: threads, and bytes of block-local memory. Code
/// for CUDA's other targets has no such kernel and takes one warp a block, by which the host knows
/// it (most_threads in launch/launch.hpp).
template <int Threads, int Scratch>
struct warp_group_kernel {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE && !FLAGGEMS_CUDA_WARP_GROUPS
  static constexpr int max_threads = 32;
#else
  static constexpr int max_threads = Threads;
#endif
  static constexpr int min_blocks = 1;
  static constexpr int most_scratch = Scratch;
  static constexpr bool awaits_earlier = true;
};

#if FLAGGEMS_CUDA_WARP_GROUPS

// The registers of a warp group's sums, by eights: their operands and their numbers.
#define FLAGGEMS_SUMS_8(r, i)                                                      \
  "+" r(d[i]), "+" r(d[i + 1]), "+" r(d[i + 2]), "+" r(d[i + 3]), "+" r(d[i + 4]), \
      "+" r(d[i + 5]), "+" r(d[i + 6]), "+" r(d[i + 7])
#define FLAGGEMS_SUMS_16(r, i) FLAGGEMS_SUMS_8(r, i), FLAGGEMS_SUMS_8(r, i + 8)
#define FLAGGEMS_SUMS_32(r, i) FLAGGEMS_SUMS_16(r, i), FLAGGEMS_SUMS_16(r, i + 16)
#define FLAGGEMS_SUMS_40(r, i) FLAGGEMS_SUMS_32(r, i), FLAGGEMS_SUMS_8(r, i + 32)
#define FLAGGEMS_SUMS_48(r, i) FLAGGEMS_SUMS_32(r, i), FLAGGEMS_SUMS_16(r, i + 32)
#define FLAGGEMS_SUMS_56(r, i) FLAGGEMS_SUMS_48(r, i), FLAGGEMS_SUMS_8(r, i + 48)
#define FLAGGEMS_SUMS_64(r, i) FLAGGEMS_SUMS_32(r, i), FLAGGEMS_SUMS_32(r, i + 32)
#define FLAGGEMS_SUMS_72(r, i) FLAGGEMS_SUMS_64(r, i), FLAGGEMS_SUMS_8(r, i + 64)
#define FLAGGEMS_SUMS_80(r, i) FLAGGEMS_SUMS_64(r, i), FLAGGEMS_SUMS_16(r, i + 64)
#define FLAGGEMS_SUMS_88(r, i) FLAGGEMS_SUMS_80(r, i), FLAGGEMS_SUMS_8(r, i + 80)
#define FLAGGEMS_SUMS_96(r, i) FLAGGEMS_SUMS_64(r, i), FLAGGEMS_SUMS_32(r, i + 64)
#define FLAGGEMS_SUMS_128(r, i) FLAGGEMS_SUMS_64(r, i), FLAGGEMS_SUMS_64(r, i + 64)
#define FLAGGEMS_AT_32                                                                             \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25," \
  "%26,%27,%28,%29,%30,%31"
#define FLAGGEMS_AT_40 FLAGGEMS_AT_32 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define FLAGGEMS_AT_48 FLAGGEMS_AT_40 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define FLAGGEMS_AT_56 FLAGGEMS_AT_48 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define FLAGGEMS_AT_64                                                            \
  FLAGGEMS_AT_32                                                                  \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50," \
  "%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define FLAGGEMS_AT_72 FLAGGEMS_AT_64 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define FLAGGEMS_AT_80 FLAGGEMS_AT_72 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define FLAGGEMS_AT_88 FLAGGEMS_AT_80 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define FLAGGEMS_AT_96 FLAGGEMS_AT_88 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define FLAGGEMS_AT_128                                                           \
  FLAGGEMS_AT_96                                                                  \
  ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111," \
  "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
// `form`: terms and types; `options`: factors of -1 and transpositions, if the form has them.
#define FLAGGEMS_WGMMA_OF(form, options, columns, at, a, b, p, ta, tb, ...)                \
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" #p                                 \
               ", 0;\n\twgmma.mma_async.sync.aligned.m64n" #columns form " {" at "}, %" #a \
               ", %" #b ", p" options ";\n\t}"                                             \
               : __VA_ARGS__                                                               \
               : "l"(x), "l"(y), "r"(adds), "n"(A == major::across), "n"(B == major::across))
#define FLAGGEMS_WGMMA_F32(form, options, columns, sums, ...) \
  FLAGGEMS_WGMMA_OF(form, options, columns, __VA_ARGS__, FLAGGEMS_SUMS_##sums("f", 0))
#define FLAGGEMS_WGMMA_S32(form, columns, sums, ...) \
  FLAGGEMS_WGMMA_OF(form, "", columns, __VA_ARGS__, FLAGGEMS_SUMS_##sums("r", 0))
#define FLAGGEMS_WGMMA(columns, sums, at, a, b, p, ta, tb)                                         \
  template <class T, major A, major B>                                                             \
  FLAGGEMS_INLINE static void multiply(f32(&d)[columns / 2], u64 x, u64 y, i32 adds) {             \
    static_assert(sizeof(T) == 2 || (A == major::along && B == major::along));                     \
    if constexpr (is_same<T, bf16>)                                                                \
      FLAGGEMS_WGMMA_F32("k16.f32.bf16.bf16", ", 1, 1, %" #ta ", %" #tb, columns, sums, at, a, b,  \
                         p, ta, tb);                                                               \
    else if constexpr (is_same<T, f16>)                                                            \
      FLAGGEMS_WGMMA_F32("k16.f32.f16.f16", ", 1, 1, %" #ta ", %" #tb, columns, sums, at, a, b, p, \
                         ta, tb);                                                                  \
    else if constexpr (is_same<T, f8e4m3>)                                                         \
      FLAGGEMS_WGMMA_F32("k32.f32.e4m3.e4m3", ", 1, 1", columns, sums, at, a, b, p, ta, tb);       \
    else if constexpr (is_same<T, f8e5m2>)                                                         \
      FLAGGEMS_WGMMA_F32("k32.f32.e5m2.e5m2", ", 1, 1", columns, sums, at, a, b, p, ta, tb);       \
    else                                                                                           \
      FLAGGEMS_WGMMA_F32("k8.f32.tf32.tf32", ", 1, 1", columns, sums, at, a, b, p, ta, tb);        \
  }                                                                                                \
  template <class T, major A, major B>                                                             \
  FLAGGEMS_INLINE static void multiply(u32(&d)[columns / 2], u64 x, u64 y, i32 adds) {             \
    static_assert(A == major::along && B == major::along);                                         \
    if constexpr (is_same<T, i8>)                                                                  \
      FLAGGEMS_WGMMA_S32("k32.s32.s8.s8", columns, sums, at, a, b, p, ta, tb);                     \
    else                                                                                           \
      FLAGGEMS_WGMMA_S32("k32.s32.u8.u8", columns, sums, at, a, b, p, ta, tb);                     \
  }
#define FLAGGEMS_WGMMA_ROWS_OF(type, columns, at, a0, a1, a2, a3, b, p, tb, ...)            \
  asm volatile(                                                                             \
      "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" #p                                           \
      ", 0;\n\twgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." type "." type " {" at \
      "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b ", p, 1, 1, %" #tb ";\n\t}"       \
      : __VA_ARGS__                                                                         \
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y), "r"(adds), "n"(B == major::across))
#define FLAGGEMS_WGMMA_ROWS(columns, at, a0, a1, a2, a3, b, p, tb, ...)                            \
  template <class T, major B>                                                                      \
  FLAGGEMS_INLINE static void multiply_rows(f32(&d)[columns / 2], const u32* x, u64 y, i32 adds) { \
    if constexpr (is_same<T, bf16>)                                                                \
      FLAGGEMS_WGMMA_ROWS_OF("bf16", columns, at, a0, a1, a2, a3, b, p, tb, __VA_ARGS__);          \
    else                                                                                           \
      FLAGGEMS_WGMMA_ROWS_OF("f16", columns, at, a0, a1, a2, a3, b, p, tb, __VA_ARGS__);           \
  }

template <>
struct warp_group_unit<cuda_machine, int> {
  static constexpr bool exists = true;
  FLAGGEMS_INLINE explicit warp_group_unit(const cuda_machine&) {}

  template <class T>
  FLAGGEMS_INLINE u32 address(const device_array<T>& s) const {
    return static_cast<u32>(__cvta_generic_to_shared(s.data));
  }
  template <class T>
  FLAGGEMS_INLINE T read(u32 at) const {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
    if constexpr (sizeof(T) == 8) {
      u64 x;
      asm volatile("ld.shared.u64 %0, [%1];" : "=l"(x) : "r"(at) : "memory");
      return bit_cast<T>(x);
    } else if constexpr (sizeof(T) == 2) {
      u16 x;
      asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(at) : "memory");
      return bit_cast<T>(x);
    } else {
      u32 x;
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
      return bit_cast<T>(x);
    }
  }

  FLAGGEMS_INLINE void write(u32 at, const vec<u32, 4>& x) const {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(x.at[0]), "r"(x.at[1]),
                 "r"(x.at[2]), "r"(x.at[3])
                 : "memory");
  }

  FLAGGEMS_INLINE void write(u32 at, u16 x) const {
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(x) : "memory");
  }

  FLAGGEMS_INLINE void copy(u32 to, const vec<u32, 4>* from, bool is_there) const {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(is_there ? 16 : 0)
                 : "memory");
  }
  FLAGGEMS_INLINE void commit_copies() const {
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  template <int Left>
  FLAGGEMS_INLINE void await_copies() const {
    asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
  }

  FLAGGEMS_INLINE void init_barrier(u32 bar, u32 count) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
  }
  FLAGGEMS_INLINE void fence_barriers() const {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  FLAGGEMS_INLINE void expect(u32 bar, u32 bytes) const {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes)
                 : "memory");
  }
  FLAGGEMS_INLINE void arrive(u32 bar) const {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
  }
  // (In the default form: at the scope of a cluster an arrival costs 2,000 cycles.)
  FLAGGEMS_INLINE void arrive_at(u32 bar, u32 block) const {
    asm volatile(
        "{\n\t.reg .b32 r;\n\tmapa.shared::cluster.u32 r, %0, %1;\n\t"
        "mbarrier.arrive.shared::cluster.b64 _, [r];\n\t}" ::"r"(bar),
        "r"(block)
        : "memory");
  }
  FLAGGEMS_INLINE void wait(u32 bar, u32 parity) const { cuda_machine::await_phase(bar, parity); }

  FLAGGEMS_INLINE void prefetch(const tensor_map& map) const {
    asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<u64>(&map)) : "memory");
  }
  template <int Rank>
  FLAGGEMS_INLINE void load_box(u32 to, const tensor_map& map, const box_corner<Rank>& first,
                                u32 bar) const {
    static_assert(Rank >= 3 && Rank <= 5);
#define FLAGGEMS_LOAD_BOX(dims, at_dims)                                                          \
  asm volatile("cp.async.bulk.tensor." dims                                                       \
               ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " at_dims    \
               "], [%2];" ::"r"(to),                                                              \
               "l"(reinterpret_cast<u64>(&map)), "r"(bar), "r"(first.at[0]), "r"(first.at[1]),    \
               "r"(first.at[2]), "r"(first.at[Rank > 3 ? 3 : 0]), "r"(first.at[Rank > 4 ? 4 : 0]) \
               : "memory")
    if constexpr (Rank == 3) FLAGGEMS_LOAD_BOX("3d", "{%3, %4, %5}");
    if constexpr (Rank == 4) FLAGGEMS_LOAD_BOX("4d", "{%3, %4, %5, %6}");
    if constexpr (Rank == 5) FLAGGEMS_LOAD_BOX("5d", "{%3, %4, %5, %6, %7}");
#undef FLAGGEMS_LOAD_BOX
  }
  FLAGGEMS_INLINE void load_box(u32 to, const tensor_map& map, const box_corner<3>& first, u32 bar,
                                u16 blocks) const {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
        "l"(reinterpret_cast<u64>(&map)), "r"(first.at[0]), "r"(first.at[1]), "r"(first.at[2]),
        "r"(bar), "h"(blocks)
        : "memory");
  }
  FLAGGEMS_INLINE void store_box(const tensor_map& map, const box_corner<3>& first,
                                 u32 from) const {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];\n\t"
        "cp.async.bulk.commit_group;" ::"l"(reinterpret_cast<u64>(&map)),
        "r"(first.at[0]), "r"(first.at[1]), "r"(first.at[2]), "r"(from)
        : "memory");
  }
  template <int Left>
  FLAGGEMS_INLINE void await_reads() const {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Left) : "memory");
  }
  FLAGGEMS_INLINE void fence_writes() const {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }

  FLAGGEMS_INLINE void sync_named(u32 id, u32 threads) const {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
  }
  FLAGGEMS_INLINE void arrive_named(u32 id, u32 threads) const {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
  }
  FLAGGEMS_INLINE void sync_warp() const { __syncwarp(); }
  FLAGGEMS_INLINE void sync_cluster() const {
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
  }
  template <int Count>
  FLAGGEMS_INLINE void take_registers() const {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
  }
  template <int Count>
  FLAGGEMS_INLINE void give_registers() const {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
  }

  FLAGGEMS_WGMMA(64, 32, FLAGGEMS_AT_32, 32, 33, 34, 35, 36)
  FLAGGEMS_WGMMA(80, 40, FLAGGEMS_AT_40, 40, 41, 42, 43, 44)
  FLAGGEMS_WGMMA(112, 56, FLAGGEMS_AT_56, 56, 57, 58, 59, 60)
  FLAGGEMS_WGMMA(128, 64, FLAGGEMS_AT_64, 64, 65, 66, 67, 68)
  FLAGGEMS_WGMMA(144, 72, FLAGGEMS_AT_72, 72, 73, 74, 75, 76)
  FLAGGEMS_WGMMA(160, 80, FLAGGEMS_AT_80, 80, 81, 82, 83, 84)
  FLAGGEMS_WGMMA(176, 88, FLAGGEMS_AT_88, 88, 89, 90, 91, 92)
  FLAGGEMS_WGMMA(192, 96, FLAGGEMS_AT_96, 96, 97, 98, 99, 100)
  FLAGGEMS_WGMMA(256, 128, FLAGGEMS_AT_128, 128, 129, 130, 131, 132)

  FLAGGEMS_WGMMA_ROWS(64, FLAGGEMS_AT_32, 32, 33, 34, 35, 36, 37, 38, FLAGGEMS_SUMS_32("f", 0))
  FLAGGEMS_WGMMA_ROWS(96, FLAGGEMS_AT_48, 48, 49, 50, 51, 52, 53, 54, FLAGGEMS_SUMS_48("f", 0))
  FLAGGEMS_WGMMA_ROWS(128, FLAGGEMS_AT_64, 64, 65, 66, 67, 68, 69, 70, FLAGGEMS_SUMS_64("f", 0))
  FLAGGEMS_WGMMA_ROWS(192, FLAGGEMS_AT_96, 96, 97, 98, 99, 100, 101, 102, FLAGGEMS_SUMS_96("f", 0))
  FLAGGEMS_WGMMA_ROWS(256, FLAGGEMS_AT_128, 128, 129, 130, 131, 132, 133, 134,
                      FLAGGEMS_SUMS_128("f", 0))

  template <class W, int Count>
  FLAGGEMS_INLINE void hold(W (&x)[Count]) const {
    FLAGGEMS_SIMT_UNROLL
    for (int i = 0; i < Count; ++i) {
      if constexpr (is_same<W, f32>)
        asm volatile("" : "+f"(x[i])::"memory");
      else
        asm volatile("" : "+r"(x[i])::"memory");
    }
  }
  FLAGGEMS_INLINE void begin() const { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
  FLAGGEMS_INLINE void commit() const {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  template <int Left>
  FLAGGEMS_INLINE void await() const {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
  }

  FLAGGEMS_INLINE void store_tiles(u32 to, const u32 (&x)[4]) const {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                 "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
                 : "memory");
  }
  FLAGGEMS_INLINE void await_earlier(bool admits) const {
    if (admits) asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
    asm volatile("griddepcontrol.wait;" : : : "memory");
  }
};

#undef FLAGGEMS_WGMMA_ROWS
#undef FLAGGEMS_WGMMA_ROWS_OF
#undef FLAGGEMS_WGMMA
#undef FLAGGEMS_WGMMA_S32
#undef FLAGGEMS_WGMMA_F32
#undef FLAGGEMS_WGMMA_OF
#undef FLAGGEMS_AT_128
#undef FLAGGEMS_AT_96
#undef FLAGGEMS_AT_88
#undef FLAGGEMS_AT_80
#undef FLAGGEMS_AT_72
#undef FLAGGEMS_AT_64
#undef FLAGGEMS_AT_56
#undef FLAGGEMS_AT_48
#undef FLAGGEMS_AT_40
#undef FLAGGEMS_AT_32
#undef FLAGGEMS_SUMS_128
#undef FLAGGEMS_SUMS_96
#undef FLAGGEMS_SUMS_88
#undef FLAGGEMS_SUMS_80
#undef FLAGGEMS_SUMS_72
#undef FLAGGEMS_SUMS_64
#undef FLAGGEMS_SUMS_56
#undef FLAGGEMS_SUMS_48
#undef FLAGGEMS_SUMS_40
#undef FLAGGEMS_SUMS_32
#undef FLAGGEMS_SUMS_16
#undef FLAGGEMS_SUMS_8

#endif

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/block/simt/warp_group.hpp");
