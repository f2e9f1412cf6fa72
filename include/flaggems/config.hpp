// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The only file that looks at compiler and vendor macros. It includes nothing, so that the device
// subset can include it under every runtime compiler.
#pragma once

// ---- which language is this?
#if defined(__CUDACC_RTC__)
#define FLAGGEMS_LANGUAGE_CUDA 1
#define FLAGGEMS_FREESTANDING 1
#elif defined(__CUDACC__)
#define FLAGGEMS_LANGUAGE_CUDA 1
#elif defined(__OPENCL_CPP_VERSION__) || defined(__OPENCL_VERSION__)
#define FLAGGEMS_LANGUAGE_OPENCL 1
#define FLAGGEMS_FREESTANDING 1
#elif defined(__HIP__)
#define FLAGGEMS_LANGUAGE_HIP 1
#if !defined(__HIP_RUNTIME_WRAPPER_INCLUDED__) && !defined(HIP_INCLUDE_HIP_HIP_RUNTIME_H)
#define FLAGGEMS_FREESTANDING 1  // -nogpuinc: no vendor header, no std header
#endif
#endif

#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1203
#error "flaggems needs the compilers of CUDA 12.3 or later"  // __builtin_bit_cast
#endif
#if defined(__NVCC__)
#pragma nv_diag_suppress 1675  // g++'s pragmas, in what only the host runs
#pragma nv_diag_suppress 128   // a loop that is not reached on devices without streams
#endif

#ifndef FLAGGEMS_LANGUAGE_CUDA
#define FLAGGEMS_LANGUAGE_CUDA 0
#endif
#ifndef FLAGGEMS_LANGUAGE_HIP
#define FLAGGEMS_LANGUAGE_HIP 0
#endif
#ifndef FLAGGEMS_LANGUAGE_OPENCL
#define FLAGGEMS_LANGUAGE_OPENCL 0
#endif
#ifndef FLAGGEMS_FREESTANDING
#define FLAGGEMS_FREESTANDING 0
#endif

// Device compilers take the C++17 of kernels/. The include, of no file, ends a compilation at once:
// behind #error alone come thousands of messages about the rest.
#if !FLAGGEMS_FREESTANDING && __cplusplus < 202002L
#error "flaggems needs C++20: compile with -std=c++20 or later"
#include <flaggems_needs_cxx20>
#endif

/// 1 while code for a SIMT device is generated, 0 while code for the host is.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || FLAGGEMS_LANGUAGE_OPENCL || \
    defined(__CUDACC_RTC__)
#define FLAGGEMS_DEVICE_CODE 1
#else
#define FLAGGEMS_DEVICE_CODE 0
#endif

/// 1 where CUDA's code has the instruction that waits for the launch before, and where it has
/// clusters of blocks.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define FLAGGEMS_CUDA_WAITS_FOR_LAUNCHES 1
#define FLAGGEMS_CUDA_CLUSTERS 1
#else
#define FLAGGEMS_CUDA_WAITS_FOR_LAUNCHES 0
#define FLAGGEMS_CUDA_CLUSTERS 0
#endif

/// 1 where CUDA's code has the instruction that rounds f32 to bf16, and those for a maximum and a
/// minimum that are NaN where an operand is.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define FLAGGEMS_CUDA_ROUNDS_BF16 1
#define FLAGGEMS_CUDA_EXTREMA_OF_NAN 1
#else
#define FLAGGEMS_CUDA_ROUNDS_BF16 0
#define FLAGGEMS_CUDA_EXTREMA_OF_NAN 0
#endif
/// 1 where CUDA's code has instructions for small matrices of bf16.
#define FLAGGEMS_CUDA_TILES FLAGGEMS_CUDA_ROUNDS_BF16

/// KiB of shared memory that a block may have on every SIMT device which CUDA's code is for.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 750
#define FLAGGEMS_CUDA_SHARED_KIB 48
#elif __CUDA_ARCH__ < 800
#define FLAGGEMS_CUDA_SHARED_KIB 64
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL) || \
    defined(__CUDA_ARCH_FEAT_SM103_ALL)  // other code of these may run on later SIMT devices, with
                                         // less
#define FLAGGEMS_CUDA_SHARED_KIB 227
#else
#define FLAGGEMS_CUDA_SHARED_KIB 99
#endif

/// The lanes of a wave that HIP compiles for.
#if defined(__AMDGCN_WAVEFRONT_SIZE)
#define FLAGGEMS_HIP_WARP_SIZE __AMDGCN_WAVEFRONT_SIZE
#else
#define FLAGGEMS_HIP_WARP_SIZE 64
#endif

/// 1 where the host's vectors can be compiled: plain C++, with g++'s or clang's vector extensions.
#define FLAGGEMS_HOST_SIMD \
  (!FLAGGEMS_LANGUAGE_CUDA && !FLAGGEMS_LANGUAGE_HIP && !FLAGGEMS_LANGUAGE_OPENCL)

// ---- which compiler is this?
#if defined(__clang__)
#define FLAGGEMS_COMPILER_CLANG 1
#else
#define FLAGGEMS_COMPILER_CLANG 0
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define FLAGGEMS_COMPILER_GCC 1
#else
#define FLAGGEMS_COMPILER_GCC 0
#endif

// ---- switches a user may set, that the annotations below depend on
/// The highest instruction-set level (`isa_level`: 0 baseline, 1 avx2, 2 avx512, 3 avx512_bf16,
/// 4 amx) that the host's kernels are compiled for and run at. A lower one makes programs smaller
/// and compilations shorter. The same in all files of a program.
#ifndef FLAGGEMS_MAX_ISA
#define FLAGGEMS_MAX_ISA 4
#elif FLAGGEMS_MAX_ISA < 0 || FLAGGEMS_MAX_ISA > 4
#error "flaggems: FLAGGEMS_MAX_ISA is one of 0 to 4"
#endif

/// 1, for tests: instructions beyond the baseline are computed in C++
/// (kernel/lang/vector/instruction_model.hpp), so that every level runs, slowly, on any machine.
/// The same in all files of a program.
#ifndef FLAGGEMS_MODEL_ISA
#define FLAGGEMS_MODEL_ISA 0
#endif

/// 0: the compiler chooses which functions of the device subset it inlines, which makes
/// compilations shorter and kernels slower. For the baseline alone: a vector passed between
/// functions compiled for different instruction sets changes its ABI. The same in all files of a
/// program.
#ifndef FLAGGEMS_FORCE_INLINE
#define FLAGGEMS_FORCE_INLINE 1
#elif !FLAGGEMS_FORCE_INLINE && FLAGGEMS_MAX_ISA > 0 && !FLAGGEMS_MODEL_ISA
#error "flaggems: FLAGGEMS_FORCE_INLINE=0 needs FLAGGEMS_MAX_ISA=0"
#endif
#if FLAGGEMS_FORCE_INLINE
#define FLAGGEMS_ALWAYS_INLINE __attribute__((always_inline))
#else
#define FLAGGEMS_ALWAYS_INLINE
#endif

// ---- function annotations of the device subset
#if FLAGGEMS_LANGUAGE_CUDA
#define FLAGGEMS_HD __host__ __device__
#define FLAGGEMS_INLINE __host__ __device__ __forceinline__
#define FLAGGEMS_LAMBDA
#elif FLAGGEMS_LANGUAGE_HIP
#define FLAGGEMS_HD __attribute__((host)) __attribute__((device))
#define FLAGGEMS_INLINE __attribute__((host)) __attribute__((device)) inline FLAGGEMS_ALWAYS_INLINE
#define FLAGGEMS_LAMBDA __attribute__((host)) __attribute__((device)) FLAGGEMS_ALWAYS_INLINE
#else
#define FLAGGEMS_HD
/// Before every function of the device subset.
#define FLAGGEMS_INLINE inline FLAGGEMS_ALWAYS_INLINE
/// After the parameter list of every lambda of the device subset.
#define FLAGGEMS_LAMBDA FLAGGEMS_ALWAYS_INLINE
#endif

/// As FLAGGEMS_INLINE, of what only the host runs: nvcc takes no vectors in code for SIMT devices.
#define FLAGGEMS_HOST_INLINE inline FLAGGEMS_ALWAYS_INLINE

/// The type of a parameter whose type V, scalar or vector, is deduced. OpenCL would deduce V with
/// an address space from a reference; on the host a vector by value is a question of ABI.
#if FLAGGEMS_LANGUAGE_OPENCL
#define FLAGGEMS_VALUE(V) V
#else
#define FLAGGEMS_VALUE(V) const V&
#endif

// Address spaces, for the languages that have them.
#if FLAGGEMS_LANGUAGE_OPENCL
#define FLAGGEMS_GLOBAL __global
#define FLAGGEMS_SHARED __local
#else
#define FLAGGEMS_GLOBAL
#define FLAGGEMS_SHARED
#endif

/// The line of the caller when used as a default argument; 0 where the language cannot tell.
#if FLAGGEMS_DEVICE_CODE || FLAGGEMS_LANGUAGE_CUDA
#define FLAGGEMS_CALLER_LINE 0
#else
#define FLAGGEMS_CALLER_LINE __builtin_LINE()
#endif

/// 1 under the address sanitizer: code that changes stacks must tell it.
#if defined(__SANITIZE_ADDRESS__)
#define FLAGGEMS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FLAGGEMS_ASAN 1
#endif
#endif
#ifndef FLAGGEMS_ASAN
#define FLAGGEMS_ASAN 0
#endif

// ---- the host's instruction set
#if !FLAGGEMS_DEVICE_CODE && defined(__x86_64__)
#define FLAGGEMS_ARCH_X86 1
#else
#define FLAGGEMS_ARCH_X86 0
#endif
#if !FLAGGEMS_DEVICE_CODE && defined(__aarch64__)
#define FLAGGEMS_ARCH_ARM64 1
#else
#define FLAGGEMS_ARCH_ARM64 0
#endif

/// 1 where instructions beyond the baseline may stand in asm statements; of g++ alone, which needs
/// them where clang finds them.
#define FLAGGEMS_X86_ASM (FLAGGEMS_ARCH_X86 && !FLAGGEMS_MODEL_ISA)
#define FLAGGEMS_GCC_X86_ASM (FLAGGEMS_X86_ASM && FLAGGEMS_COMPILER_GCC)
/// The asm statement that the arguments behind the first make or, where instructions are modelled,
/// the first, an expression. FLAGGEMS_TILE_INSTRUCTION: of tiles, whose order counts.
#if FLAGGEMS_MODEL_ISA
#define FLAGGEMS_INSTRUCTION(model, ...) model
#define FLAGGEMS_TILE_INSTRUCTION(model, ...) model
#else
#define FLAGGEMS_INSTRUCTION(model, ...) asm(__VA_ARGS__)
#define FLAGGEMS_TILE_INSTRUCTION(model, ...) asm volatile(__VA_ARGS__)
#endif

// Words that both g++ 12 and clang 14 know: clang drops a target attribute whole when one word is
// unknown to it. Each level contains the one before.
#if FLAGGEMS_MODEL_ISA
#define FLAGGEMS_TARGET_AVX2
#define FLAGGEMS_TARGET_AVX512
#define FLAGGEMS_TARGET_AVX512_BF16
#define FLAGGEMS_TARGET_AMX
#else
#define FLAGGEMS_TARGET_AVX2 __attribute__((target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")))
#define FLAGGEMS_TARGET_AVX512                                                \
  __attribute__((                                                             \
      target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq," \
             "avx512vl")))
#define FLAGGEMS_TARGET_AVX512_BF16                                                    \
  __attribute__((                                                                      \
      target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl," \
             "avx512vnni,avx512bf16")))
#define FLAGGEMS_TARGET_AMX                                                            \
  __attribute__((                                                                      \
      target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl," \
             "avx512vnni,avx512bf16,amx-tile,amx-bf16,amx-int8")))
#endif

/// The widest asm operand: clang judges it by the function the text stands in, which has no target
/// attribute of its own, not by the one it is inlined into.
#define FLAGGEMS_ASM_OPERAND_BYTES (FLAGGEMS_GCC_X86_ASM ? 64 : 16)

/// Before a loop of few steps: it is unrolled, so that arrays indexed in it stay in registers. For
/// functions with a target attribute of their own, whose lambdas (static_for) would not have it.
#if FLAGGEMS_COMPILER_CLANG
#define FLAGGEMS_UNROLL _Pragma("unroll")
#elif FLAGGEMS_COMPILER_GCC
#define FLAGGEMS_UNROLL _Pragma("GCC unroll 64")
#else
#define FLAGGEMS_UNROLL
#endif

/// Before a loop of few steps in what SIMT devices run: unrolled there, so that arrays indexed in
/// it stay in registers. The emulator's stays a loop, which compiles faster. And before one that
/// stays one.
#if FLAGGEMS_DEVICE_CODE
#define FLAGGEMS_SIMT_UNROLL _Pragma("unroll")
#define FLAGGEMS_SIMT_NO_UNROLL _Pragma("unroll 1")
#else
#define FLAGGEMS_SIMT_UNROLL
#define FLAGGEMS_SIMT_NO_UNROLL
#endif

/// Before an array in a function with constants that are indexed by what is known at run time: it
/// lies in memory once. (Each thread would have a copy, or choose between all of them.)
#if FLAGGEMS_LANGUAGE_OPENCL
#define FLAGGEMS_TABLE static __constant constexpr
#else
#define FLAGGEMS_TABLE static constexpr
#endif

/// Hides how a vector value came about from the optimiser (g++ only; no instruction).
#if FLAGGEMS_GCC_X86_ASM
#define FLAGGEMS_OPAQUE(x) asm("" : "+v"(x))
#else
#define FLAGGEMS_OPAQUE(x) static_cast<void>(x)
#endif

/// __builtin_shufflevector with a pack of places, which nvcc leaves unexpanded: vectors of the host
/// are not for its files.
#if FLAGGEMS_LANGUAGE_CUDA
#define FLAGGEMS_SHUFFLE(a, b, ...) operators_of_the_host_need_a_file_that_nvcc_does_not_compile(a)
#else
#define FLAGGEMS_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif

/// Whether the host can ask what a functor returns: of nvcc's __device__ lambdas, those that say it
/// ("-> float").
#if defined(__NVCC__) && defined(__CUDACC_EXTENDED_LAMBDA__)
#define FLAGGEMS_RESULT_IS_KNOWN(F)                   \
  (!__nv_is_extended_device_lambda_closure_type(F) || \
   __nv_is_extended_device_lambda_with_preserved_return_type(F))
#else
#define FLAGGEMS_RESULT_IS_KNOWN(F) true
#endif

/// Hides from a SIMT device's compiler how a word of 32 bits came about, so that it computes again
/// what it would otherwise keep in further registers.
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
#define FLAGGEMS_FORGET(word) asm volatile("" : "+r"(word))
#elif FLAGGEMS_LANGUAGE_HIP && FLAGGEMS_DEVICE_CODE
#define FLAGGEMS_FORGET(word) asm volatile("" : "+v"(word))
#else
#define FLAGGEMS_FORGET(word) static_cast<void>(word)
#endif

/// Before a function of the device subset that has no vectors (places, offsets): on the host it is
/// compiled once, not into each entry of each instruction set.
#if FLAGGEMS_HOST_SIMD
#define FLAGGEMS_SCALAR inline __attribute__((noinline))
#else
#define FLAGGEMS_SCALAR FLAGGEMS_INLINE
#endif

/// Keeps a function out of line, so that it can be found in a disassembly.
#define FLAGGEMS_NOINLINE __attribute__((noinline))
/// All that a function calls becomes part of it where the compiler can (clang: its own calls).
#define FLAGGEMS_FLATTEN __attribute__((flatten))
/// Error paths: out of line and away from the hot code.
#define FLAGGEMS_COLD __attribute__((noinline, cold))

// ---- other switches a user may set
/// 1: element access through a view is checked. Independent of NDEBUG. (Kernels use no views.)
#ifndef FLAGGEMS_BOUNDS_CHECK
#define FLAGGEMS_BOUNDS_CHECK 1
#endif

/// 1: memory of the host that is freed is filled with bytes of 0xFF, which are NaN or -1.
#ifndef FLAGGEMS_FILL_FREED
#if defined(__OPTIMIZE__) || defined(NDEBUG)
#define FLAGGEMS_FILL_FREED 0
#else
#define FLAGGEMS_FILL_FREED 1
#endif
#endif

/// 1: errors are thrown; 0 (-fno-exceptions): they go to the handler of `set_error_handler`.
#ifndef FLAGGEMS_EXCEPTIONS
#if defined(__cpp_exceptions)
#define FLAGGEMS_EXCEPTIONS 1
#else
#define FLAGGEMS_EXCEPTIONS 0
#endif
#endif

/// 1: a program whose devices compile at run time has the text of the kernels' headers for it. A
/// user sets 0 for programs without such devices; with one, a launch then raises not_supported.
#ifndef FLAGGEMS_EMBED
#if defined(__ELF__) && !FLAGGEMS_FREESTANDING && !FLAGGEMS_DEVICE_CODE
#define FLAGGEMS_EMBED 1
#else
#define FLAGGEMS_EMBED 0
#endif
#endif

/// The last line of a header with kernels, yours too: puts its text under `name`, by which others
/// include it, into each object file that launches on a device which compiles at run time; no other
/// header of the program may have that name. In the section `flaggems_texts` stand a name, a zero,
/// a text, a zero, and so on, once for each file: so that two of one name are noticed, and not lost
/// when the program is linked.
#if FLAGGEMS_EMBED
namespace flaggems::detail {
namespace {  // each file numbers the texts of its headers
inline constexpr int most_texts = 4096;
template <int Number>
requires(Number < most_texts) struct numbered_text;  // `put` is compiled where it is named:
                                                     // vendors/driver/kernel_text.hpp
}  // namespace
}  // namespace flaggems::detail
#define FLAGGEMS_TEXT(name)                                                         \
  namespace flaggems::detail {                                                      \
  namespace {                                                                       \
  template <>                                                                       \
  struct numbered_text<__COUNTER__> {                                               \
    FLAGGEMS_NOINLINE static void put() {                                           \
      asm(".pushsection flaggems_texts,\"aG\",@progbits,\"" name " of " __FILE__    \
          "\",comdat\n"                                                             \
          ".asciz \"" name "\"\n.incbin \"" __FILE__ "\"\n.byte 0\n.popsection\n"); \
    }                                                                               \
  };                                                                                \
  }                                                                                 \
  }                                                                                 \
  static_assert(true)
#else
#define FLAGGEMS_TEXT(name) static_assert(true)
#endif

FLAGGEMS_TEXT("flaggems/config.hpp");
