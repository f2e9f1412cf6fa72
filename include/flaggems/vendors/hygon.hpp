// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Hygon's DCUs through DTK's HIP runtime. That DTK numbers attributes as HIP does, and has HIPRTC,
// is UNCONFIRMED.
#pragma once

#include <flaggems/vendors/hip.hpp>

namespace flaggems {

struct hygon;

namespace detail {

struct hygon_api : hip_dialect<hygon, 64> {
  static constexpr const char* name = "hygon";
  static constexpr const char* library_variable = "FLAGGEMS_HYGON_LIBRARY";
  static constexpr const char* libraries[] = {"libgalaxyhip.so.5", "libgalaxyhip.so"};
  static constexpr const char* compiler_name = "HIPRTC of DTK";  // UNCONFIRMED
  static constexpr const char* compiler_variable = "FLAGGEMS_HYGON_HIPRTC_LIBRARY";
  static constexpr const char* compiler_libraries[] = {"libhiprtc.so", "libgalaxyhip.so.5"};
};

}  // namespace detail

/// Hygon's DCUs, which have waves of 64 lanes. Streams are hipStream_t.
struct hygon : driver_device<detail::hygon_api>, detail::hip_policies<64> {
  static constexpr const char* name = "hygon";
};

template <>
inline constexpr bool host_accessible<hygon> = false;

static_assert(check_device<hygon>());

}  // namespace flaggems
