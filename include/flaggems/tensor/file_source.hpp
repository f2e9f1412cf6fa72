// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/error.hpp>

namespace flaggems::detail {

/// The origin of bytes, for error messages: the function, and the file if there is one.
struct file_source {
  const char* op;
  std::string_view path = {};  // must outlive this

  [[noreturn]] FLAGGEMS_COLD void refuse(errc code, std::string_view expected,
                                         std::string_view got) const {
    raise(code, op, expected, path.empty() ? text(got) : text(got) + " in '" + path + "'");
  }
  /// Raises bad_file.
  [[noreturn]] FLAGGEMS_COLD void refuse(std::string_view expected, std::string_view got) const {
    refuse(errc::bad_file, expected, got);
  }
  void check(bool condition, const char* expected, const char* got) const {
    if (!condition) [[unlikely]]
      refuse(expected, got);
  }
};

}  // namespace flaggems::detail
