// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernel launches on the host. Each kernel has an entry function per instruction-set level, into
// whose target attribute its always-inline code is compiled; the level is chosen at run time.
// Kernel constants: `has_bf16_entries` adds entries for AVX-512-BF16 and AMX (others run AVX-512
// there); `is_scalar` and `has_parts` (vector code in out-of-line parts,
// kernel/block/vector/outlined.hpp) have a single entry.
#pragma once

#include <flaggems/detail/cpu.hpp>
#include <flaggems/detail/host_resources.hpp>
#include <flaggems/detail/meeting.hpp>
#include <flaggems/device/launch_config.hpp>
#include <flaggems/kernel/block/vector/block.hpp>
// The host's forms of rows and tiles must be visible where kernels are compiled for it.
#include <flaggems/kernel/expr/vector/groups.hpp>
#include <flaggems/kernel/expr/vector/rows.hpp>
#include <flaggems/kernel/family/pointwise/vector/tiles.hpp>

#include <limits>

namespace flaggems::detail {

template <class Kernel>
concept has_bf16_entries = Kernel::has_bf16_entries;
template <class Kernel>
concept is_scalar = Kernel::is_scalar;
template <class Kernel>
concept has_parts = Kernel::has_parts;

template <class Kernel, class... Args>
struct host_entry {
  static_assert(!FLAGGEMS_LANGUAGE_CUDA || sizeof(Kernel) == 0,
                "flaggems: operators on the host need a file that nvcc does not compile");
  using function = void (*)(i64 index, i64 count, unsigned char* scratch, const Args&... args);

  FLAGGEMS_NOINLINE FLAGGEMS_FLATTEN static void baseline(i64 index, i64 count,
                                                          unsigned char* scratch,
                                                          const Args&... args) {
    if constexpr (has_parts<Kernel>) {
      kernels::host_block<kernels::isa_any> block(index, count, scratch,
                                                  {{}, static_cast<int>(isa())});
      Kernel::run(block, args...);
    } else {
      kernels::host_block<kernels::isa_baseline> block(index, count, scratch);
      Kernel::run(block, args...);
    }
  }
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_MAX_ISA >= 1
  FLAGGEMS_NOINLINE FLAGGEMS_FLATTEN FLAGGEMS_TARGET_AVX2 static void avx2(i64 index, i64 count,
                                                                           unsigned char* scratch,
                                                                           const Args&... args) {
    kernels::host_block<kernels::isa_avx2> block(index, count, scratch);
    Kernel::run(block, args...);
  }
#endif
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_MAX_ISA >= 2
  FLAGGEMS_NOINLINE FLAGGEMS_FLATTEN FLAGGEMS_TARGET_AVX512 static void avx512(
      i64 index, i64 count, unsigned char* scratch, const Args&... args) {
    kernels::host_block<kernels::isa_avx512> block(index, count, scratch);
    Kernel::run(block, args...);
  }
  FLAGGEMS_NOINLINE FLAGGEMS_FLATTEN FLAGGEMS_TARGET_AVX512_BF16 static void avx512_bf16(
      i64 index, i64 count, unsigned char* scratch, const Args&... args) {
    kernels::host_block<kernels::isa_avx512_bf16> block(index, count, scratch);
    Kernel::run(block, args...);
  }
  FLAGGEMS_NOINLINE FLAGGEMS_FLATTEN FLAGGEMS_TARGET_AMX static void amx(i64 index, i64 count,
                                                                         unsigned char* scratch,
                                                                         const Args&... args) {
    kernels::host_block<kernels::isa_amx> block(index, count, scratch);
    Kernel::run(block, args...);
  }
#endif

  static function best() {  // the first call raises if FLAGGEMS_ISA names no level
    if constexpr (has_parts<Kernel>) return baseline;  // to raise, as above
    [[maybe_unused]] const isa_level level = isa();
    if constexpr (!is_scalar<Kernel>) {
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_MAX_ISA >= 3
      if constexpr (has_bf16_entries<Kernel>) {
        if (level == isa_level::avx512_bf16) return avx512_bf16;
        if (level == isa_level::amx) return FLAGGEMS_MAX_ISA >= 4 ? amx : avx512_bf16;
      }
#endif
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_MAX_ISA >= 2
      if (level >= isa_level::avx512) return avx512;
#endif
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_MAX_ISA >= 1
      if (level >= isa_level::avx2) return avx2;
#endif
    }
    return baseline;
  }
};

/// One worker's share of a launch whose arguments `context` knows.
using host_share = void (*)(const void* context, int worker, int count, unsigned char* scratch);

/// The calling thread's scratch memory, for each of `workers`.
FLAGGEMS_NOINLINE_ONCE unsigned char* some_scratch(const launch_config& config, int workers) {
  i64 bytes = 0;
  unsigned char* const p = __builtin_mul_overflow(config.scratch, i64{workers}, &bytes)
                               ? nullptr
                               : thread_scratch(bytes);
  if (p == nullptr)
    raise(errc::out_of_memory, config.op,
          text(workers) + " times " + text(config.scratch) + " bytes of scratch", "none");
  return p;
}
/// Independent of the kernel, so compiled once. All workers' memory is allocated first: if that
/// fails, nothing has been written.
FLAGGEMS_NOINLINE_ONCE void run_host_workers(const launch_config& wanted, int workers,
                                             host_share share, const void* context,
                                             bool concurrent) {
  (void)isa();  // may raise, which workers must not
  constexpr i64 page = 4096;
  launch_config config = wanted;
  if (config.scratch > 0 && config.scratch <= (std::numeric_limits<i64>::max)() - page)
    config.scratch = (config.scratch + page - 1) / page * page;
  unsigned char* const scratch = config.scratch <= 0 ? nullptr : some_scratch(config, workers);
  const inside_launch here;
  host_thread_pool().run(
      workers,
      [&](int worker, int count) {
        share(context, worker, count,
              scratch == nullptr ? nullptr : scratch + worker * config.scratch);
      },
      concurrent);
}

// A launch's rendezvous of workers, if it has one.
inline void abandon_if_meeting(const meeting& m) noexcept { m.abandon(); }
template <class Arg>
void abandon_if_meeting(const Arg&) noexcept {}

template <class Kernel, class... Args>
void host_launch(const launch_config& config, const Args&... args) {
  constexpr bool concurrent = (std::is_same_v<Args, meeting> || ...);
  const i64 workers = host_workers(config.work, config.tiles);
  const auto entry = host_entry<Kernel, Args...>::best();
  if (workers <= 1 && config.scratch <= 0) {
    entry(0, 1, nullptr, args...);
  } else if (workers <= 1) {
    unsigned char* const scratch = some_scratch(config, 1);
    const inside_launch here;
    entry(0, 1, scratch, args...);
  } else {
    const auto share = [&](int worker, int count, unsigned char* scratch) {
#if FLAGGEMS_EXCEPTIONS
      if constexpr (concurrent) {
        try {
          entry(worker, count, scratch, args...);
          // so that the exception of the worker that failed is raised
        } catch (const abandoned_meeting&) {
        } catch (...) {
          (abandon_if_meeting(args), ...);
          throw;
        }
        return;
      }
#endif
      entry(worker, count, scratch, args...);
    };
    using closure = decltype(share);
    run_host_workers(
        config, static_cast<int>(workers),
        [](const void* context, int worker, int count, unsigned char* scratch) {
          (*static_cast<closure*>(context))(worker, count, scratch);
        },
        &share, concurrent);
  }
}

}  // namespace flaggems::detail
