// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels compiled by nvcc with the program: in a .cu file each launch refers to an entry function
// of its own, lambdas included, which the driver finds in the program. Empty with other compilers.
#pragma once

#include <flaggems/kernel/block/simt/entry.hpp>
#include <flaggems/vendors/driver/kernel_text.hpp>

namespace flaggems::detail {

/// A list node: an instance whose code is linked into the program.
struct linked_kernel {
  const kernel_instance* instance;
  int (*find)(void** function);  ///< in the current context; returns a driver result
  linked_kernel* next;

  // written before main, or while a library is loaded
  static inline linked_kernel* first = nullptr;

  /// Null if the program has none.
  static const linked_kernel* of(const kernel_instance& instance) noexcept {
    const linked_kernel* k = first;
    // By address: lambdas of one function share a name.
    while (k != nullptr && k->instance != &instance) k = k->next;
    return k;
  }
};

#if FLAGGEMS_LANGUAGE_CUDA && !FLAGGEMS_FREESTANDING

template <class Kernel, class... Args>
__global__ void __launch_bounds__(kernels::entry_of<Kernel, Args...>::max_threads,
                                  kernels::entry_of<Kernel, Args...>::min_blocks)
    linked_entry(const __grid_constant__ kernels::argument_pack<Args...> args,
                 unsigned char* workspace, i64 slice) {
#if FLAGGEMS_DEVICE_CODE
  kernels::run_entry<Kernel, Args...>(args, workspace, slice);
#endif
}

/// Adds an instance to the list before main, by being named in a launch.
template <class Kernel, class... Args>
struct linked_registration {
  using entry_type = void (*)(const kernels::argument_pack<Args...>, unsigned char*, i64);
  // (nvcc instantiates entry functions named in functions, not in initialisers.)
  static entry_type entry() { return &linked_entry<Kernel, Args...>; }
  static int find(void** function) {
    return static_cast<int>(cudaGetFuncBySymbol(reinterpret_cast<cudaFunction_t*>(function),
                                                reinterpret_cast<const void*>(entry())));
  }
  static linked_kernel* add() {
    static linked_kernel own = {&instance_of<Kernel, Args...>, &find, linked_kernel::first};
    return linked_kernel::first = &own;
  }
  static inline linked_kernel* const added = add();
};
template <class Kernel, class... Args>
void register_linked() {
  static_cast<void>(linked_registration<Kernel, Args...>::entry());
  static_cast<void>(linked_registration<Kernel, Args...>::added);
}

#else

template <class Kernel, class... Args>
void register_linked() {}

#endif

}  // namespace flaggems::detail
