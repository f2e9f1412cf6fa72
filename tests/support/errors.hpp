// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/error.hpp>

#include <gtest/gtest.h>

namespace flaggems_test {

/// The error that `f` raises; fails the test if there is none.
template <class F>
flaggems::error error_of(F&& f) {
  try {
    f();
  } catch (const flaggems::error& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was raised";
  return {flaggems::errc::driver_error, "none", "none", "none"};
}

}  // namespace flaggems_test
