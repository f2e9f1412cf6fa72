// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A device type of yours under our tests: with the settings of tests/CMakeLists.txt
//   -DFLAGGEMS_TEST_DEVICE_HEADER=<its header> -DFLAGGEMS_TEST_DEVICE=<type>
// every typed suite of tests/device and tests/ops runs on it, too; with
//   -DFLAGGEMS_TEST_DEVICE_ONLY=ON
// on it alone.
#pragma once

#include <gtest/gtest.h>

namespace flaggems_test {

/// A device and an element type, for typed tests.
template <class D, class T>
struct on {
  using device = D;
  using type = T;
};

namespace detail {
template <class... Own>
struct lists {
#ifdef FLAGGEMS_TEST_DEVICE_ONLY
  template <class...>
  using devices = ::testing::Types<Own...>;
  template <class T, class...>
  using cases = ::testing::Types<on<Own, T>...>;
#else
  template <class... D>
  using devices = ::testing::Types<D..., Own...>;
  template <class T, class... Cases>
  using cases = ::testing::Types<Cases..., on<Own, T>...>;
#endif
};
#ifdef FLAGGEMS_TEST_DEVICE
using own_lists = lists<FLAGGEMS_TEST_DEVICE>;
#else
using own_lists = lists<>;
#endif
}  // namespace detail

/// D..., and yours.
template <class... D>
using devices_and_own = detail::own_lists::devices<D...>;
/// Cases..., each an on<D, T>, and on<yours, T>.
template <class T, class... Cases>
using cases_and_own = detail::own_lists::cases<T, Cases...>;

}  // namespace flaggems_test
