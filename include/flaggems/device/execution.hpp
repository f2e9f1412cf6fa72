// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How a device runs kernels: what chooses between the forms that a kernel has. Where memory is, and
// who may read it, is another question (host_accessible).
#pragma once

#include <flaggems/device/concept.hpp>

#include <type_traits>

namespace flaggems {

/// An execution model.
enum class execution {
  vector_workers,  ///< threads of the process, each with vectors
  simt,            ///< blocks of threads in warps, as GPUs have them
  vector_core      ///< cores with vectors and explicit local memory, as NPUs have them
};

/// The execution model of a device type: `capabilities::model` where it says so. Otherwise one
/// whose kernels are all linked, and whose memory the host can read, has vector_workers; any other
/// simt.
template <class D>
inline constexpr execution execution_model = [] {
  if constexpr (requires { D::capabilities::model; })
    return execution(D::capabilities::model);
  else
    return D::capabilities::host_accessible && !detail::needs_modules<D> ? execution::vector_workers
                                                                         : execution::simt;
}();

/// Whether kernels run in their form for threads in warps, and in that for vectors.
template <class D>
inline constexpr bool has_simt = execution_model<D> == execution::simt;
template <class D>
inline constexpr bool has_vectors = execution_model<D> == execution::vector_workers;

namespace detail {
/// Whether vectors are those of the process's own pool of threads, whose number and caches a kernel
/// may be planned for; not so of a device type derived from one that has it.
template <class D>
inline constexpr bool has_thread_pool = [] {
  if constexpr (requires { typename D::thread_pool_device; })
    return has_vectors<D> && std::is_same_v<typename D::thread_pool_device, D>;
  else
    return false;
}();
}  // namespace detail

}  // namespace flaggems
