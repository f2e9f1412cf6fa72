// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The only file that examines compiler and vendor macros. It includes nothing, so that the device
// subset can include it under every runtime compiler.
#pragma once

// ---- the language
#if defined(FLAGGEMS_DIALECT_LANES)  // told to the compilers of vendors/driver/dialect.hpp
#define FLAGGEMS_LANGUAGE_DIALECT 1
#define FLAGGEMS_FREESTANDING 1
#elif defined(__CUDACC_RTC__)
#define FLAGGEMS_LANGUAGE_CUDA 1
#define FLAGGEMS_FREESTANDING 1
#elif defined(__CUDACC__)
#define FLAGGEMS_LANGUAGE_CUDA 1
#elif defined(__OPENCL_CPP_VERSION__) || defined(__OPENCL_VERSION__)
#define FLAGGEMS_LANGUAGE_OPENCL 1
#define FLAGGEMS_FREESTANDING 1
#elif defined(__HIP__)
#define FLAGGEMS_LANGUAGE_HIP 1
#if defined(__HIPCC_RTC__) || \
    (!defined(__HIP_RUNTIME_WRAPPER_INCLUDED__) && !defined(HIP_INCLUDE_HIP_HIP_RUNTIME_H))
#define FLAGGEMS_FREESTANDING 1  // HIPRTC, or -nogpuinc: no std header
#endif
#endif

#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1203
#error "flaggems needs the compilers of CUDA 12.3 or later"  // __builtin_bit_cast
#endif
#if defined(__NVCC__)
#pragma nv_diag_suppress 1675  // g++'s pragmas in host-only code
#pragma nv_diag_suppress 128   // a loop not reached on devices without streams
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
/// 1 for a vendor's language that has CUDA's keywords and functions, but no instructions of
/// NVIDIA's: clang's, with FLAGGEMS_DIALECT_LANES lanes a warp.
#ifndef FLAGGEMS_LANGUAGE_DIALECT
#define FLAGGEMS_LANGUAGE_DIALECT 0
#endif
#ifndef FLAGGEMS_FREESTANDING
#define FLAGGEMS_FREESTANDING 0
#endif

// Device compilers compile kernels as C++17. The include of a missing file ends compilation at
// once: #error alone is followed by thousands of messages.
#if !FLAGGEMS_FREESTANDING && __cplusplus < 202002L
#error "flaggems needs C++20: compile with -std=c++20 or later"
#include <flaggems_needs_cxx20>
#endif

/// 1 while device code is compiled, 0 for host code.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || FLAGGEMS_LANGUAGE_OPENCL || \
    FLAGGEMS_LANGUAGE_DIALECT || defined(__CUDACC_RTC__)
#define FLAGGEMS_DEVICE_CODE 1
#else
#define FLAGGEMS_DEVICE_CODE 0
#endif

/// 1 for CUDA's code that OpenCL launches, as NVIDIA's drivers can: told to the compiler by
/// vendors/opencl/ptx.hpp.
#if FLAGGEMS_LANGUAGE_CUDA && defined(FLAGGEMS_LAUNCHED_BY_OPENCL)
#define FLAGGEMS_CUDA_BY_OPENCL 1
#else
#define FLAGGEMS_CUDA_BY_OPENCL 0
#endif

/// 1 where CUDA's target has programmatic dependent launch and clusters.
#if FLAGGEMS_LANGUAGE_CUDA && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && \
    !FLAGGEMS_CUDA_BY_OPENCL
#define FLAGGEMS_CUDA_WAITS_FOR_LAUNCHES 1
#define FLAGGEMS_CUDA_CLUSTERS 1
#define FLAGGEMS_CUDA_TALL_F64_TILES 1
#else
#define FLAGGEMS_CUDA_WAITS_FOR_LAUNCHES 0
#define FLAGGEMS_CUDA_CLUSTERS 0
#define FLAGGEMS_CUDA_TALL_F64_TILES 0
#endif

/// 1 where CUDA's target rounds f32 to bf16, and has NaN-propagating maximum and minimum, by one
/// instruction.
#if FLAGGEMS_LANGUAGE_CUDA && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define FLAGGEMS_CUDA_ROUNDS_BF16 1
#define FLAGGEMS_CUDA_EXTREMA_OF_NAN 1
#else
#define FLAGGEMS_CUDA_ROUNDS_BF16 0
#define FLAGGEMS_CUDA_EXTREMA_OF_NAN 0
#endif
/// 1 where CUDA's target has mma of bf16.
#define FLAGGEMS_CUDA_TILES FLAGGEMS_CUDA_ROUNDS_BF16
/// 1 where it has mma of 8-bit floats.
#if FLAGGEMS_LANGUAGE_CUDA && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
#define FLAGGEMS_CUDA_F8_TILES 1
#else
#define FLAGGEMS_CUDA_F8_TILES 0
#endif

/// 1 where CUDA's target has wgmma and setmaxnreg: sm_90a alone.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define FLAGGEMS_CUDA_WARP_GROUPS 1
#else
#define FLAGGEMS_CUDA_WARP_GROUPS 0
#endif

/// KiB of shared memory per block on every device that CUDA's or HIP's target covers.
#if FLAGGEMS_LANGUAGE_HIP
#define FLAGGEMS_SHARED_KIB 64
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 750
#define FLAGGEMS_SHARED_KIB 48
#elif __CUDA_ARCH__ < 800
#define FLAGGEMS_SHARED_KIB 64
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL) || \
    defined(__CUDA_ARCH_FEAT_SM103_ALL)  // other code of these may run on later SIMT devices, with
                                         // less
#define FLAGGEMS_SHARED_KIB 227
#else
#define FLAGGEMS_SHARED_KIB 99
#endif

/// The lanes of a wave that HIP compiles for.
#if defined(__AMDGCN_WAVEFRONT_SIZE)
#define FLAGGEMS_HIP_WARP_SIZE __AMDGCN_WAVEFRONT_SIZE
#else
#define FLAGGEMS_HIP_WARP_SIZE 64
#endif

/// 1 where HIP's target has matrix units of waves of 64 lanes (MFMA of CDNA 2 and 3); those of
/// 16 x 16 x 32 bytes (CDNA 3); those of waves of 32 lanes (WMMA of RDNA 3).
#if FLAGGEMS_LANGUAGE_HIP && defined(__HIP_DEVICE_COMPILE__) &&                                  \
    (defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || \
     defined(__gfx950__))
#define FLAGGEMS_HIP_MFMA 1
#else
#define FLAGGEMS_HIP_MFMA 0
#endif
#if FLAGGEMS_HIP_MFMA && !defined(__gfx90a__)
#define FLAGGEMS_HIP_MFMA_WIDE_BYTES 1
#else
#define FLAGGEMS_HIP_MFMA_WIDE_BYTES 0
#endif
#if FLAGGEMS_LANGUAGE_HIP && defined(__HIP_DEVICE_COMPILE__) && defined(__GFX11__) && \
    __AMDGCN_WAVEFRONT_SIZE == 32
#define FLAGGEMS_HIP_WMMA 1
#else
#define FLAGGEMS_HIP_WMMA 0
#endif

/// 1 where the host's vectors can be compiled: plain C++ with the vector extensions of g++ or
/// clang.
#define FLAGGEMS_HOST_SIMD                                                           \
  (!FLAGGEMS_LANGUAGE_CUDA && !FLAGGEMS_LANGUAGE_HIP && !FLAGGEMS_LANGUAGE_OPENCL && \
   !FLAGGEMS_LANGUAGE_DIALECT)

// ---- the compiler
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

// ---- user switches that the annotations below depend on
/// The highest instruction-set level (`isa_level`: 0 baseline, 1 avx2, 2 avx512, 3 avx512_bf16, 4
/// amx) for which the host's kernels are compiled. Lower levels reduce program size and compile
/// time. Must be equal in all files of a program.
#ifndef FLAGGEMS_MAX_ISA
#define FLAGGEMS_MAX_ISA 4
#elif FLAGGEMS_MAX_ISA < 0 || FLAGGEMS_MAX_ISA > 4
#error "flaggems: FLAGGEMS_MAX_ISA is one of 0 to 4"
#endif

/// 1, for tests: instructions beyond the baseline are modelled in C++
/// (kernel/lang/vector/instruction_model.hpp), so that every level runs, slowly, on any machine.
/// Must be equal in all files of a program.
#ifndef FLAGGEMS_MODEL_ISA
#define FLAGGEMS_MODEL_ISA 0
#endif

/// 0: the compiler chooses which functions of the device subset to inline: faster compilation,
/// slower kernels. For the baseline alone, as passing vectors between functions of different
/// instruction sets breaks the ABI. Must be equal in all files of a program.
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
#elif FLAGGEMS_LANGUAGE_HIP || FLAGGEMS_LANGUAGE_DIALECT
#define FLAGGEMS_HD __attribute__((host)) __attribute__((device))
#define FLAGGEMS_INLINE __attribute__((host)) __attribute__((device)) inline FLAGGEMS_ALWAYS_INLINE
#define FLAGGEMS_LAMBDA __attribute__((host)) __attribute__((device)) FLAGGEMS_ALWAYS_INLINE
#else
#define FLAGGEMS_HD
/// Precedes every function of the device subset.
#define FLAGGEMS_INLINE inline FLAGGEMS_ALWAYS_INLINE
/// Follows the parameter list of every lambda of the device subset.
#define FLAGGEMS_LAMBDA FLAGGEMS_ALWAYS_INLINE
#endif

/// As FLAGGEMS_INLINE, for host-only functions: nvcc accepts no vectors in device code.
#define FLAGGEMS_HOST_INLINE inline FLAGGEMS_ALWAYS_INLINE

/// A parameter whose type V, scalar or vector, is deduced. OpenCL would deduce V with an address
/// space from a reference; on the host, vectors by value depend on the ABI.
#if FLAGGEMS_LANGUAGE_OPENCL
#define FLAGGEMS_VALUE(V) V
#else
#define FLAGGEMS_VALUE(V) const V&
#endif

/// The default capture of a lambda that copies what its loop reads: in OpenCL references, as clang
/// casts copies of classes to another address space in a way that LLVM does not read.
#if FLAGGEMS_LANGUAGE_OPENCL
#define FLAGGEMS_COPIES &
#else
#define FLAGGEMS_COPIES =
#endif

// Address spaces, for the languages that have them.
#if FLAGGEMS_LANGUAGE_OPENCL
#define FLAGGEMS_GLOBAL __global
#define FLAGGEMS_SHARED __local
#else
#define FLAGGEMS_GLOBAL
#define FLAGGEMS_SHARED
#endif

/// The caller's line and file, a kernels::source_line, when used as a default argument; 0 where the
/// language has none.
#if FLAGGEMS_DEVICE_CODE || FLAGGEMS_LANGUAGE_CUDA
#define FLAGGEMS_CALLER_LINE 0
#else
#define FLAGGEMS_CALLER_LINE \
  ::flaggems::kernels::source_line { __builtin_LINE(), __builtin_FILE() }
#endif

/// 1 under the address sanitizer, which must be told of switches of stacks.
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

/// 1 where asm statements use instructions beyond the baseline: g++ only, as clang generates them.
#define FLAGGEMS_X86_ASM (FLAGGEMS_ARCH_X86 && !FLAGGEMS_MODEL_ISA)
#define FLAGGEMS_GCC_X86_ASM (FLAGGEMS_X86_ASM && FLAGGEMS_COMPILER_GCC)
/// Either the asm statement made of all arguments but the first or, where instructions are
/// modelled, the first argument, an expression. FLAGGEMS_TILE_INSTRUCTION: ordered, for tiles.
#if FLAGGEMS_MODEL_ISA
#define FLAGGEMS_INSTRUCTION(model, ...) model
#define FLAGGEMS_TILE_INSTRUCTION(model, ...) model
#else
#define FLAGGEMS_INSTRUCTION(model, ...) asm(__VA_ARGS__)
#define FLAGGEMS_TILE_INSTRUCTION(model, ...) asm volatile(__VA_ARGS__)
#endif

// Only names that both g++ 12 and clang 14 know: clang drops a target attribute with an unknown
// one. Each level includes the previous one.
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

/// The widest asm operand: clang checks it against the enclosing function, which has no target
/// attribute, not the one it is inlined into.
#define FLAGGEMS_ASM_OPERAND_BYTES (FLAGGEMS_GCC_X86_ASM ? 64 : 16)

/// Unrolls the loop of few iterations that follows, to keep indexed arrays in registers. For
/// functions with a target attribute, which lambdas (static_for) would not have.
#if FLAGGEMS_COMPILER_CLANG
#define FLAGGEMS_UNROLL _Pragma("unroll")
#elif FLAGGEMS_COMPILER_GCC
#define FLAGGEMS_UNROLL _Pragma("GCC unroll 64")
#else
#define FLAGGEMS_UNROLL
#endif

/// Unroll, or do not unroll, the loop of few iterations that follows in device code: unrolled,
/// indexed arrays stay in registers. The emulator keeps loops, which compile faster, and so does
/// OpenCL, whose drivers compile once more.
#if FLAGGEMS_DEVICE_CODE && !FLAGGEMS_LANGUAGE_OPENCL
#define FLAGGEMS_SIMT_UNROLL _Pragma("unroll")
#define FLAGGEMS_SIMT_NO_UNROLL _Pragma("unroll 1")
#else
#define FLAGGEMS_SIMT_UNROLL
#define FLAGGEMS_SIMT_NO_UNROLL
#endif

/// Precedes a function's constant array with run-time indices: it is in memory once, not copied or
/// selected from by each thread.
#if FLAGGEMS_LANGUAGE_OPENCL
#define FLAGGEMS_TABLE static __constant constexpr
#else
#define FLAGGEMS_TABLE static constexpr
#endif

/// Hides the origin of a vector value from the optimiser (g++ only; no instruction).
#if FLAGGEMS_GCC_X86_ASM
#define FLAGGEMS_OPAQUE(x) asm("" : "+v"(x))
#else
#define FLAGGEMS_OPAQUE(x) static_cast<void>(x)
#endif

/// __builtin_shufflevector with a pack of indices, which nvcc does not expand: its files have no
/// host vectors.
#if FLAGGEMS_LANGUAGE_CUDA
#define FLAGGEMS_SHUFFLE(a, b, ...) operators_of_the_host_need_a_file_that_nvcc_does_not_compile(a)
#else
#define FLAGGEMS_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif

/// Whether the host can query a functor's return type: of nvcc's __device__ lambdas, those that
/// declare it ("-> float").
#if defined(__NVCC__) && defined(__CUDACC_EXTENDED_LAMBDA__)
#define FLAGGEMS_RESULT_IS_KNOWN(F)                   \
  (!__nv_is_extended_device_lambda_closure_type(F) || \
   __nv_is_extended_device_lambda_with_preserved_return_type(F))
#else
#define FLAGGEMS_RESULT_IS_KNOWN(F) true
#endif

/// Hides the origin of a 32-bit word from device compilers, so that they recompute values instead
/// of spilling or holding them in registers.
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
#define FLAGGEMS_FORGET(word) asm volatile("" : "+r"(word))
#elif FLAGGEMS_LANGUAGE_HIP && FLAGGEMS_DEVICE_CODE
#define FLAGGEMS_FORGET(word) asm volatile("" : "+v"(word))
#else
#define FLAGGEMS_FORGET(word) static_cast<void>(word)
#endif

/// Precedes a function of the device subset without vectors (indices, offsets): on the host it is
/// compiled once, not per instruction set.
#if FLAGGEMS_HOST_SIMD
#define FLAGGEMS_SCALAR inline __attribute__((noinline))
#else
#define FLAGGEMS_SCALAR FLAGGEMS_INLINE
#endif

/// Keeps a function out of line, to find it in a disassembly.
#define FLAGGEMS_NOINLINE __attribute__((noinline))
/// Inlines all calls in a function, if the compiler can (clang: its direct calls).
#define FLAGGEMS_FLATTEN __attribute__((flatten))
/// Error paths: out of line, away from hot code.
#define FLAGGEMS_COLD __attribute__((noinline, cold))

/// 1: other objects of the program have the longer functions that are no templates, and common
/// kernels, as CMake's target flaggems::compiled does; 2: this is the object of those functions; 3:
/// one of kernels (FLAGGEMS_KERNEL_ONCE, launch/host_entry.hpp). Files of 0 and 1 may be mixed.
#ifndef FLAGGEMS_COMPILED
#define FLAGGEMS_COMPILED 0
#endif
/// `inline` of those functions, and of those that are out of line anyhow. In the form 1 compilers
/// read their bodies and make no code of them (g++ refuses gnu_inline beside noinline, and inlines
/// nothing that is optimised in another way).
#if FLAGGEMS_COMPILED % 2 == 1 && defined(__clang__)
#pragma clang diagnostic ignored "-Wgnu-inline-cpp-without-extern"
#define FLAGGEMS_ONCE __attribute__((gnu_inline, noinline)) inline
#define FLAGGEMS_NOINLINE_ONCE FLAGGEMS_ONCE
#define FLAGGEMS_COLD_ONCE __attribute__((cold)) FLAGGEMS_ONCE
#elif FLAGGEMS_COMPILED % 2 == 1
#define FLAGGEMS_ONCE __attribute__((gnu_inline, optimize("O0"))) inline
#define FLAGGEMS_NOINLINE_ONCE FLAGGEMS_ONCE
#define FLAGGEMS_COLD_ONCE __attribute__((cold)) FLAGGEMS_ONCE
#else
#if FLAGGEMS_COMPILED == 2
#define FLAGGEMS_ONCE __attribute__((used)) inline
#else
#define FLAGGEMS_ONCE inline
#endif
#define FLAGGEMS_NOINLINE_ONCE FLAGGEMS_NOINLINE FLAGGEMS_ONCE
#define FLAGGEMS_COLD_ONCE FLAGGEMS_COLD FLAGGEMS_ONCE
#endif

// ---- other user switches
/// 1: element access through a view is checked. Independent of NDEBUG. (Kernels use no views.)
#ifndef FLAGGEMS_BOUNDS_CHECK
#define FLAGGEMS_BOUNDS_CHECK 1
#endif

/// 1: freed host memory is filled with 0xFF, which is NaN or -1; what lies behind a block is
/// checked.
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

/// 1: headers of the device subset embed their source in the program, for runtime compilers. Set 0
/// for programs without such devices; with one, a launch then raises not_supported.
#ifndef FLAGGEMS_EMBED
#if defined(__ELF__) && !FLAGGEMS_FREESTANDING && !FLAGGEMS_DEVICE_CODE
#define FLAGGEMS_EMBED 1
#else
#define FLAGGEMS_EMBED 0
#endif
#endif

/// The last line of a header with kernels, also yours: embeds its source in the program under
/// `name`, by which others include it; names must be unique in a program. Section `flaggems_texts`
/// holds name, zero, text, zero per file, so that the linker keeps duplicates and they can be
/// reported.
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
