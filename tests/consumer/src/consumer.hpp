// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/error.hpp>
#include <flaggems/version.hpp>

#include <cstdio>

namespace consumer {

/// 0 when the library computes what it should.
inline int use() {
  std::printf("flaggems %d.%d.%d\n", FLAGGEMS_VERSION_MAJOR, FLAGGEMS_VERSION_MINOR,
              FLAGGEMS_VERSION_PATCH);
  return flaggems::to_string(flaggems::errc::overlap) == "overlap" ? 0 : 1;
}

/// A mistake that the library refuses with shape_mismatch.
inline void provoke() {
  flaggems::check(use() != 0, flaggems::errc::shape_mismatch, "consumer", "sizes [2]", "[3]");
}

/// 0 when the mistake arrives as an exception.
inline int refuse() {
#if FLAGGEMS_EXCEPTIONS
  try {
    provoke();
  } catch (const flaggems::error& failure) {
    return failure.code() == flaggems::errc::shape_mismatch ? 0 : 1;
  }
#endif
  return 1;
}

/// The address of a piece of the library's state: one for the whole program.
inline const void* handler_slot() { return &flaggems::detail::error_handler_slot(); }

}  // namespace consumer
