// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/error.hpp>

#include <gtest/gtest.h>

#include <string_view>

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

/// Whether the error's text has these words.
inline bool contains(const flaggems::error& e, std::string_view words) {
  return std::string_view(e.what()).find(words) != std::string_view::npos;
}

}  // namespace flaggems_test
