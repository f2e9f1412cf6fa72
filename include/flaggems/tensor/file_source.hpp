// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/error.hpp>

#include <string>

namespace flaggems::detail {

/// The origin of bytes, for error messages: the function, and the file if there is one.
struct file_source {
  const char* op;
  std::string path = {};

  [[noreturn]] FLAGGEMS_COLD void refuse(errc code, const std::string& expected,
                                         const std::string& got) const {
    raise(code, op, expected, path.empty() ? got : got + " in '" + path + "'");
  }
  /// Raises bad_file.
  [[noreturn]] FLAGGEMS_COLD void refuse(const std::string& expected,
                                         const std::string& got) const {
    refuse(errc::bad_file, expected, got);
  }
  void check(bool condition, const char* expected, const char* got) const {
    if (!condition) [[unlikely]]
      refuse(expected, got);
  }
};

}  // namespace flaggems::detail
