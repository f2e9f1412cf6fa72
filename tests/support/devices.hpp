// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A device type of yours under our tests: with the settings of tests/CMakeLists.txt
//   -DFLAGGEMS_TEST_DEVICE_HEADER=<its header> -DFLAGGEMS_TEST_DEVICE=<type>
// every typed suite of tests/device and tests/ops runs on it, too; with
//   -DFLAGGEMS_TEST_DEVICE_ONLY=ON
// on it alone, as does what other tests run on a chip.
#pragma once

#include <flaggems/vendors/host.hpp>
#include <flaggems/vendors/simt.hpp>

#include <gtest/gtest.h>

#include <tuple>
#include <type_traits>

namespace flaggems_test {

/// A device and an element type, for typed tests.
template <class D, class T>
struct on {
  using device = D;
  using type = T;
};

/// A chip with warps of 32 lanes: the emulator, or a device type over a simulated driver whose
/// launches the emulator runs (simulated/cuda.hpp), so that no kernel is compiled for both; yours
/// where it is the only one, whatever its warps are.
#if defined(FLAGGEMS_TEST_CHIP32)
using chip32 = FLAGGEMS_TEST_CHIP32;
#elif defined(FLAGGEMS_TEST_DEVICE_ONLY)
using chip32 = FLAGGEMS_TEST_DEVICE;
#else
using chip32 = flaggems::simt32;
#endif

/// Whether the typed suites of this program run on the host, and on our chips. Kernels of chips
/// compile much sooner with options that the host's cannot have, in a program of their own
/// (tests/CMakeLists.txt).
#ifndef FLAGGEMS_TEST_HOST
#define FLAGGEMS_TEST_HOST 1
#endif
#ifndef FLAGGEMS_TEST_CHIPS
#define FLAGGEMS_TEST_CHIPS 1
#endif
/// Whether those on warps of 64 lanes run, too: in CI the commit chooses the sources that have
/// them.
#ifndef FLAGGEMS_TEST_WIDE_WARPS
#define FLAGGEMS_TEST_WIDE_WARPS 1
#endif

namespace detail {
#ifdef FLAGGEMS_TEST_DEVICE
using own_device = FLAGGEMS_TEST_DEVICE;
#else
struct own_device;
#endif
#if defined(FLAGGEMS_TEST_DEVICE_ONLY)
template <class>
inline constexpr bool runs_here = false;
#else
template <class D>
inline constexpr bool runs_here = FLAGGEMS_TEST_CHIPS;
template <>
inline constexpr bool runs_here<flaggems::host> = FLAGGEMS_TEST_HOST;
template <>
inline constexpr bool runs_here<flaggems::simt64> = FLAGGEMS_TEST_CHIPS&& FLAGGEMS_TEST_WIDE_WARPS;
#endif
#ifdef FLAGGEMS_TEST_DEVICE
template <>
inline constexpr bool runs_here<own_device> = true;
#else
template <>
inline constexpr bool runs_here<own_device> = false;
#endif
template <class D, class T>
inline constexpr bool runs_here<on<D, T>> = runs_here<D>;

template <class Chosen, class... Rest>
struct those_here;
template <class... Chosen>
struct those_here<std::tuple<Chosen...>> {
  using type = ::testing::Types<Chosen...>;
};
template <class... Chosen, class First, class... Rest>
struct those_here<std::tuple<Chosen...>, First, Rest...>
    : those_here<std::conditional_t<runs_here<First> && !(std::is_same_v<First, Chosen> || ...),
                                    std::tuple<Chosen..., First>, std::tuple<Chosen...>>,
                 Rest...> {};

template <class Host, class Chips, class Wide>
struct cases;
template <template <class...> class Host, class... H, template <class...> class Chips, class... C,
          template <class...> class Wide, class... W>
struct cases<Host<H...>, Chips<C...>, Wide<W...>>
    : those_here<std::tuple<>, on<flaggems::host, H>..., on<chip32, C>...,
                 on<flaggems::simt64, W>..., on<own_device, C>...> {};
}  // namespace detail

/// D..., and yours; several of yours, FLAGGEMS_TEST_DEVICES, alone.
#ifdef FLAGGEMS_TEST_DEVICES
template <class...>
using devices_and_own = ::testing::Types<FLAGGEMS_TEST_DEVICES>;
#else
template <class... D>
using devices_and_own = typename detail::those_here<std::tuple<>, D..., detail::own_device>::type;
#endif

/// The types to test on the host, those on a chip, ours and yours, and those on warps of 64 lanes:
/// cases<on_host<f32, bf16>, on_chips<bf16>, on_wide<f32>> are the on<D, T>.
template <class... T>
struct on_host;
template <class... T>
struct on_chips;
template <class... T>
struct on_wide;
template <class Host, class Chips, class Wide = on_wide<>>
using cases = typename detail::cases<Host, Chips, Wide>::type;

}  // namespace flaggems_test
