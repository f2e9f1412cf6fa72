// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Words of global memory by which the blocks of a launch tell each other what they know. A word is
// read and written as a whole, in no order with other memory, so it carries all that it says.
#pragma once

#include <flaggems/kernel/lang/prelude.hpp>

namespace flaggems::kernels {

/// Adds one to a word; gives what it was. All blocks see one order of such additions.
FLAGGEMS_INLINE u32 take_ticket(global_ptr<u32> p) {
#if !FLAGGEMS_DEVICE_CODE || FLAGGEMS_LANGUAGE_OPENCL
  return __sync_fetch_and_add(p, u32{1});
#elif FLAGGEMS_LANGUAGE_HIP
  return __hip_atomic_fetch_add(p, u32{1}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
  return atomicAdd(p, u32{1});
#endif
}

/// Writes a word that other blocks read.
FLAGGEMS_INLINE void publish(global_ptr<u64> p, u64 word) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(word)
               : "memory");
#elif FLAGGEMS_LANGUAGE_HIP && FLAGGEMS_DEVICE_CODE
  __hip_atomic_store(p, word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
  *static_cast<FLAGGEMS_GLOBAL volatile u64*>(p) = word;
#endif
}

/// Reads a word that other blocks write.
FLAGGEMS_INLINE u64 published(global_ptr<const u64> p) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  u64 word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
               : "=l"(word)
               : "l"(__cvta_generic_to_global(p))
               : "memory");
  return word;
#elif FLAGGEMS_LANGUAGE_HIP && FLAGGEMS_DEVICE_CODE
  return __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
  return *static_cast<FLAGGEMS_GLOBAL const volatile u64*>(p);
#endif
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/lang/published.hpp");
