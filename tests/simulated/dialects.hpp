// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The dialects of CUDA over their simulated drivers.
#pragma once

#include "device.hpp"

#include <flaggems/vendors/corex.hpp>
#include <flaggems/vendors/gcu.hpp>
#include <flaggems/vendors/hygon.hpp>
#include <flaggems/vendors/maca.hpp>
#include <flaggems/vendors/musa.hpp>

namespace flaggems_test {
using hip_api = flaggems::detail::amd_api<flaggems::hip, 64>;
}  // namespace flaggems_test

namespace flaggems::detail {

template <>
struct instance_observer<flaggems_test::hip_api>
    : flaggems_test::simulated_launches<flaggems_test::hip_api> {};
template <>
struct instance_observer<hygon_api> : flaggems_test::simulated_launches<hygon_api> {};
template <>
struct instance_observer<musa_api> : flaggems_test::simulated_launches<musa_api> {};
template <>
struct instance_observer<maca_api> : flaggems_test::simulated_launches<maca_api> {};
template <>
struct instance_observer<corex_api> : flaggems_test::simulated_launches<corex_api> {};
template <>
struct instance_observer<gcu_api> : flaggems_test::simulated_launches<gcu_api> {};

/// As the vendor has no runtime compiler, all images are in the program.
template <>
inline std::string_view precompiled_image_of<gcu_api>(const kernel_instance& instance,
                                                      std::string_view target) noexcept {
  static std::string image;  // locked by what loads it
  image = "flaggems simulated image of gcu\n" + std::string(instance.types());
  return target == "gcu400" ? std::string_view(image) : std::string_view();
}

}  // namespace flaggems::detail

// What no kernel changes is compiled once a program, in simulated/dialects.cpp.
#define FLAGGEMS_SIMULATED_DIALECTS(X) \
  X(flaggems_test::hip_api)            \
  X(flaggems::detail::musa_api)        \
  X(flaggems::detail::maca_api)        \
  X(flaggems::detail::corex_api)       \
  X(flaggems::detail::gcu_api)
#define FLAGGEMS_DECLARED(Api)                         \
  extern template class flaggems::detail::driver<Api>; \
  extern template struct flaggems::driver_device<Api>;
FLAGGEMS_SIMULATED_DIALECTS(FLAGGEMS_DECLARED)
#undef FLAGGEMS_DECLARED
