// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernel launches on the host. Each kernel has an entry function per instruction-set level, into
// whose target attribute its always-inline code is compiled; the level is chosen at run time.
#pragma once

#include <flaggems/detail/cpu.hpp>
#include <flaggems/detail/host_resources.hpp>
#include <flaggems/detail/meeting.hpp>
#include <flaggems/device/launch_config.hpp>
#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/launch/host_entry.hpp>
// The host's forms of rows and tiles must be visible where kernels are compiled for it.
#include <flaggems/kernel/expr/vector/groups.hpp>
#include <flaggems/kernel/expr/vector/rows.hpp>
#include <flaggems/kernel/family/pointwise/vector/tiles.hpp>

#include <limits>

namespace flaggems::detail {

template <class Kernel, class... Args>
FLAGGEMS_FLATTEN void host_entry<Kernel, Args...>::baseline(i64 index, i64 count,
                                                            unsigned char* scratch,
                                                            const Args&... args) {
  static_assert(!FLAGGEMS_LANGUAGE_CUDA || sizeof(Kernel) == 0,
                "flaggems: operators on the host need a file that nvcc does not compile");
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
template <class Kernel, class... Args>
FLAGGEMS_FLATTEN FLAGGEMS_TARGET_AVX2 void host_entry<Kernel, Args...>::avx2(i64 index, i64 count,
                                                                             unsigned char* scratch,
                                                                             const Args&... args) {
  if constexpr (has_levels<Kernel>) {
    kernels::host_block<kernels::isa_avx2> block(index, count, scratch);
    Kernel::run(block, args...);
  }
}
#endif
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_MAX_ISA >= 2
template <class Kernel, class... Args>
FLAGGEMS_FLATTEN FLAGGEMS_TARGET_AVX512 void host_entry<Kernel, Args...>::avx512(
    i64 index, i64 count, unsigned char* scratch, const Args&... args) {
  if constexpr (has_levels<Kernel>) {
    kernels::host_block<kernels::isa_avx512> block(index, count, scratch);
    Kernel::run(block, args...);
  }
}
template <class Kernel, class... Args>
FLAGGEMS_FLATTEN FLAGGEMS_TARGET_AVX512_BF16 void host_entry<Kernel, Args...>::avx512_bf16(
    i64 index, i64 count, unsigned char* scratch, const Args&... args) {
  if constexpr (has_bf16_entries<Kernel>) {
    kernels::host_block<kernels::isa_avx512_bf16> block(index, count, scratch);
    Kernel::run(block, args...);
  }
}
template <class Kernel, class... Args>
FLAGGEMS_FLATTEN FLAGGEMS_TARGET_AMX void host_entry<Kernel, Args...>::amx(i64 index, i64 count,
                                                                           unsigned char* scratch,
                                                                           const Args&... args) {
  if constexpr (has_bf16_entries<Kernel>) {
    kernels::host_block<kernels::isa_amx> block(index, count, scratch);
    Kernel::run(block, args...);
  }
}
#endif

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
