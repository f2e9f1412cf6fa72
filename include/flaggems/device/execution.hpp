// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Execution models, which select among the forms of a kernel. Where memory is and whether the host
// reads it is separate (host_accessible).
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

/// The execution model of a device type: `capabilities::model` if given. Otherwise vector_workers
/// if all kernels are linked and the host can read its memory, else simt.
template <class D>
inline constexpr execution execution_model = [] {
  if constexpr (requires { D::capabilities::model; })
    return execution(D::capabilities::model);
  else
    return D::capabilities::host_accessible && !detail::needs_modules<D> ? execution::vector_workers
                                                                         : execution::simt;
}();

/// Whether kernels run in their SIMT form; in their vector form.
template <class D>
inline constexpr bool has_simt = execution_model<D> == execution::simt;
template <class D>
inline constexpr bool has_vectors = execution_model<D> == execution::vector_workers;

/// The instructions of a SIMT device's matrix units.
enum class matrix_instructions {
  none,
  mma,   ///< of 32 threads, as NVIDIA's GPUs have them
  mfma,  ///< of waves of 64 lanes, as AMD's CDNA has them
  wmma   ///< of waves of 32 lanes, as AMD's RDNA 3 has them
};

/// Those of a device type: `capabilities::matrix` if given, else mma where
/// `capabilities::matrix_units` says that there are any. Some of its devices may have none:
/// `D::has_matrix_units(device)`, if there, says which have.
template <class D>
inline constexpr matrix_instructions matrix_instructions_of = [] {
  if constexpr (requires { D::capabilities::matrix; })
    return matrix_instructions(D::capabilities::matrix);
  else
    return D::capabilities::matrix_units ? matrix_instructions::mma : matrix_instructions::none;
}();

namespace detail {
/// Whether vector workers are the process's own thread pool, whose size and caches kernels may be
/// planned for; not true of device types derived from such a one.
template <class D>
inline constexpr bool has_thread_pool = [] {
  if constexpr (requires { typename D::thread_pool_device; })
    return has_vectors<D> && std::is_same_v<typename D::thread_pool_device, D>;
  else
    return false;
}();
}  // namespace detail

}  // namespace flaggems
