// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Entry functions, which a SIMT device's driver launches. FLAGGEMS_INSTANCE(name, Kernel, Args...)
// at the start of a line defines entry function `name` for one kernel instance in the language of
// the compiler: extern "C" __global__ for CUDA and HIP, __kernel for OpenCL. The kernel and its
// argument types may contain commas. Signatures:
//
//   CUDA, its dialects, HIP
//              name(argument_pack<Args...>, unsigned char* workspace, i64 slice)
//              with exchange_bytes + scratch bytes of dynamic shared memory
//   OpenCL     name(the same bytes as 64-bit words, or their address where they are more than
//              most_argument_bytes, local uchar* shared, global uchar* memory, u64 workspace,
//              i64 slice)
//              where `shared` has exchange_bytes + slot_bytes * work-items + scratch bytes, and
//              `memory` is the buffer that all addresses are in, or null
//   CUDA, launched by OpenCL
//              the same parameters, of which `shared` has no slots
//
// With slice > 0, scratch is not in shared memory but at block * slice bytes in the workspace. The
// arguments are one struct by value, laid out as separate arguments would be.
#pragma once

#include <flaggems/kernel/block/simt/block.hpp>
#include <flaggems/kernel/block/simt/dialect.hpp>
#include <flaggems/kernel/block/simt/machine.hpp>

namespace flaggems::kernels {

/// An argument as a kernel's parameter takes it: in OpenCL a pointer that is an argument points
/// into global memory, and must say so.
template <class T>
struct parameter {
  FLAGGEMS_INLINE static const T& of(const T& x) { return x; }
};
#if FLAGGEMS_LANGUAGE_OPENCL
template <class T>
struct parameter<__generic T*> {
  FLAGGEMS_INLINE static __global T* of(__generic T* x) { return (__global T*)x; }
};
#endif

template <class... Args>
struct argument_pack;
template <>
struct argument_pack<> {
  template <class Kernel, class Block, class... Before>
  FLAGGEMS_INLINE void run(Block& block, const Before&... before) const {
    Kernel::run(block, before...);
  }
};
template <class First, class... Rest>
struct argument_pack<First, Rest...> {
  First first;
  argument_pack<Rest...> rest;
  template <class Kernel, class Block, class... Before>
  FLAGGEMS_INLINE void run(Block& block, const Before&... before) const {
    rest.template run<Kernel>(block, before..., parameter<First>::of(first));
  }
};
template <class Last>
struct argument_pack<Last> {  // no empty member after the last argument: it would take space
  Last last;
  template <class Kernel, class Block, class... Before>
  FLAGGEMS_INLINE void run(Block& block, const Before&... before) const {
    Kernel::run(block, before..., parameter<Last>::of(last));
  }
};

/// The arguments, packed.
template <class First, class... Rest>
FLAGGEMS_INLINE argument_pack<First, Rest...> pack_of(const First& first, const Rest&... rest) {
  if constexpr (sizeof...(Rest) == 0)
    return {first};
  else
    return {first, pack_of(rest...)};
}
FLAGGEMS_INLINE argument_pack<> pack_of() { return {}; }

/// A kernel's `max_threads` per block, or 0: as many as its registers allow.
template <class Kernel, class = int>
inline constexpr int most_threads = 0;
template <class Kernel>
inline constexpr int most_threads<Kernel, decltype(Kernel::max_threads + 0)> = Kernel::max_threads;
/// A kernel's `exact_threads`, which each of its blocks has, or 0: any number of warps.
template <class Kernel, class = int>
inline constexpr int exact_threads = 0;
template <class Kernel>
inline constexpr int exact_threads<Kernel, decltype(Kernel::exact_threads + 0)> =
    Kernel::exact_threads;
/// A kernel's `min_blocks` that must be resident per SM, which bounds registers; 0: any.
template <class Kernel, class = int>
inline constexpr int least_blocks = 0;
template <class Kernel>
inline constexpr int least_blocks<Kernel, decltype(Kernel::min_blocks + 0)> = Kernel::min_blocks;

/// Whether scratch always fits in shared memory on CUDA and HIP, so that compilers know the address
/// space: a kernel bounds its bytes by `most_scratch`.
template <class Kernel, class = int>
inline constexpr bool is_always_shared = false;
template <class Kernel>
inline constexpr bool is_always_shared<Kernel, decltype(Kernel::most_scratch + 0)> =
    exchange_bytes + Kernel::most_scratch <= FLAGGEMS_SHARED_KIB * 1024;

/// Whether a kernel has `awaits_earlier`: it calls block.await_earlier() itself, after work that
/// depends on arguments only. Others are preceded by that call.
template <class Kernel, class = int>
inline constexpr bool awaits_earlier = false;
template <class Kernel>
inline constexpr bool awaits_earlier<Kernel, decltype(Kernel::awaits_earlier + 0)> =
    Kernel::awaits_earlier;

/// The bytes of a pack of arguments that OpenCL takes by value: each driver takes 1,024 in all.
inline constexpr i64 most_argument_bytes = 1024 - 64;

template <class Kernel, class... Args>
struct entry_of {
  static constexpr int max_threads = most_threads<Kernel>;
  static constexpr int min_blocks = least_blocks<Kernel>;
  static constexpr int threads = exact_threads<Kernel>;
  static constexpr bool is_shared = is_always_shared<Kernel>;
  using arguments = argument_pack<Args...>;
  struct words {
    u64 word[(sizeof(arguments) + 7) / 8];
  };
  // The caller names `Machine`: OpenCL would deduce it with an address space.
  template <class Machine>
  FLAGGEMS_INLINE static void run(const arguments& args, const Machine& machine) {
    simt_block<Machine> block(machine);
    if constexpr (!awaits_earlier<Kernel>) block.await_earlier();
    args.template run<Kernel>(block);
  }
#if FLAGGEMS_LANGUAGE_OPENCL
  using given = conditional<(sizeof(words) <= most_argument_bytes), words, u64>;
  template <class Machine>
  FLAGGEMS_INLINE static void run_given(const words& packed, const Machine& machine) {
    arguments unpacked;
    __builtin_memcpy(&unpacked, &packed, sizeof(unpacked));
    run<Machine>(unpacked, machine);
  }
  template <class Machine>
  FLAGGEMS_INLINE static void run_given(u64 address, const Machine& machine) {
    run<Machine>(*reinterpret_cast<const arguments*>(address), machine);
  }
#elif FLAGGEMS_CUDA_BY_OPENCL
  struct alignas(u64) alignas(arguments) whole_words {  // read in place
    arguments args;
  };
  using given = conditional<(sizeof(whole_words) <= most_argument_bytes), whole_words, u64>;
  FLAGGEMS_INLINE static const arguments& in(const whole_words& packed) { return packed.args; }
  FLAGGEMS_INLINE static const arguments& in(u64 address) {
    return *reinterpret_cast<const arguments*>(address);
  }
#endif
};

}  // namespace flaggems::kernels

#if FLAGGEMS_CUDA_BY_OPENCL

namespace flaggems::kernels {

/// With what an entry says of its threads, PTX's compiler leaves registers for all of them.
template <class Entry>
inline constexpr int threads_of_entry = Entry::max_threads > 0 ? Entry::max_threads
                                        : Entry::threads > 0   ? Entry::threads
                                                               : 1024;
#if FLAGGEMS_DEVICE_CODE
/// `shared` is an address within shared memory, as OpenCL's local pointers are.
template <class Entry>
__device__ __forceinline__ void run_by_opencl(const typename Entry::given& given, u64 shared,
                                              u64 workspace, i64 slice) {
  u64 generic;
  asm("cvta.shared.u64 %0, %1;" : "=l"(generic) : "l"(shared));
  auto* const exchange = reinterpret_cast<unsigned char*>(generic);
  unsigned char* scratch = exchange + exchange_bytes;
  if (slice > 0)
    scratch = reinterpret_cast<unsigned char*>(workspace) + static_cast<i64>(blockIdx.x) * slice;
  Entry::template run<cuda_machine>(Entry::in(given), cuda_machine(exchange, scratch));
}
#endif

}  // namespace flaggems::kernels

// vendors/opencl/ptx.hpp says of the parameters 1 and 2 what memory they point into.
#define FLAGGEMS_INSTANCE(name, ...)                                                              \
  extern "C" __global__ void __launch_bounds__(                                                   \
      flaggems::kernels::threads_of_entry<flaggems::kernels::entry_of<__VA_ARGS__>>,              \
      flaggems::kernels::entry_of<__VA_ARGS__>::min_blocks)                                       \
      name(const __grid_constant__ typename flaggems::kernels::entry_of<__VA_ARGS__>::given args, \
           flaggems::u64 shared, flaggems::u64, flaggems::u64 workspace, flaggems::i64 slice) {   \
    flaggems::kernels::run_by_opencl<flaggems::kernels::entry_of<__VA_ARGS__>>(args, shared,      \
                                                                               workspace, slice); \
  }

#elif FLAGGEMS_LANGUAGE_CUDA

extern __shared__ __align__(16) unsigned char flaggems_shared[];

namespace flaggems::kernels {

#if FLAGGEMS_DEVICE_CODE
template <class Kernel, class... Args>
__device__ __forceinline__ void run_entry(const argument_pack<Args...>& args,
                                          unsigned char* workspace, i64 slice) {
  unsigned char* scratch = flaggems_shared + exchange_bytes;
  if (!is_always_shared<Kernel> && slice > 0)
    scratch = workspace + static_cast<i64>(blockIdx.x) * slice;
  entry_of<Kernel, Args...>::template run<cuda_machine>(args,
                                                        cuda_machine(flaggems_shared, scratch));
}
#endif

}  // namespace flaggems::kernels

// As __grid_constant__, arguments are read in place, also by an index; otherwise each thread would
// copy them to local memory.
#define FLAGGEMS_INSTANCE(name, ...)                                          \
  extern "C" __global__ void __launch_bounds__(                               \
      flaggems::kernels::entry_of<__VA_ARGS__>::max_threads,                  \
      flaggems::kernels::entry_of<__VA_ARGS__>::min_blocks)                   \
      name(const __grid_constant__                                            \
           typename flaggems::kernels::entry_of<__VA_ARGS__>::arguments args, \
           unsigned char* workspace, flaggems::i64 slice) {                   \
    flaggems::kernels::run_entry<__VA_ARGS__>(args, workspace, slice);        \
  }

#elif FLAGGEMS_LANGUAGE_HIP || FLAGGEMS_LANGUAGE_DIALECT

extern __attribute__((device)) __attribute__((shared))
__attribute__((aligned(16))) unsigned char flaggems_shared[];

namespace flaggems::kernels {
#if FLAGGEMS_LANGUAGE_HIP
using entry_machine = hip_machine<>;
// Compilers would otherwise keep registers for blocks of 1024 threads, and not know the address
// space of scratch.
template <class Entry>
inline constexpr int threads_of_entry = Entry::threads > 0 ? Entry::threads : 1024;
template <class Entry>
inline constexpr bool is_shared_entry = Entry::is_shared;
#define FLAGGEMS_ENTRY_BOUNDS(...) __attribute__((amdgpu_flat_work_group_size(1, __VA_ARGS__)))
#else
template <class Entry>
inline constexpr bool is_shared_entry = false;
#define FLAGGEMS_ENTRY_BOUNDS(...)
using entry_machine = dialect_machine;
#endif
}  // namespace flaggems::kernels

#define FLAGGEMS_INSTANCE(name, ...)                                                      \
  extern "C" __attribute__((global)) FLAGGEMS_ENTRY_BOUNDS(                               \
      flaggems::kernels::threads_of_entry<flaggems::kernels::entry_of<__VA_ARGS__>>) void \
  name(typename flaggems::kernels::entry_of<__VA_ARGS__>::arguments args,                 \
       unsigned char* workspace, flaggems::i64 slice) {                                   \
    unsigned char* scratch = flaggems_shared + flaggems::kernels::exchange_bytes;         \
    const flaggems::kernels::entry_machine machine(flaggems_shared, scratch);             \
    if (!flaggems::kernels::is_shared_entry<flaggems::kernels::entry_of<__VA_ARGS__>> &&  \
        slice > 0)                                                                        \
      scratch = workspace + machine.block() * slice;                                      \
    flaggems::kernels::entry_of<__VA_ARGS__>::run<flaggems::kernels::entry_machine>(      \
        args, flaggems::kernels::entry_machine(flaggems_shared, scratch));                \
  }

#elif FLAGGEMS_LANGUAGE_OPENCL

// In OpenCL a kernel's struct parameter may hold no pointers, so the arguments are passed as words.
#define FLAGGEMS_INSTANCE(name, ...)                                                               \
  static_assert(sizeof(flaggems::kernels::entry_of<__VA_ARGS__>::given) > 0);                      \
  __kernel void name(flaggems::kernels::entry_of<__VA_ARGS__>::given args,                         \
                     __local unsigned char* shared, __global unsigned char*,                       \
                     flaggems::u64 workspace, flaggems::i64 slice) {                               \
    using machine = flaggems::kernels::opencl_machine<>;                                           \
    unsigned char* const slots = shared + flaggems::kernels::exchange_bytes;                       \
    unsigned char* scratch = slots + machine::slot_bytes * get_local_size(0);                      \
    if (slice > 0)                                                                                 \
      scratch = reinterpret_cast<unsigned char*>(workspace + get_group_id(0) * slice);             \
    flaggems::kernels::entry_of<__VA_ARGS__>::run_given<machine>(args,                             \
                                                                 machine(shared, scratch, slots)); \
  }

#endif

FLAGGEMS_TEXT("flaggems/kernel/block/simt/entry.hpp");
