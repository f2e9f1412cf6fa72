// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/config.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace flaggems {

/// What kind of mistake an `error` reports.
enum class errc {
  invalid_argument,  ///< a value outside its domain (a negative size, an unknown name)
  shape_mismatch,    ///< sizes that do not fit together
  dtype_mismatch,    ///< an element type the operator does not take
  device_mismatch,   ///< operands on different devices
  out_of_range,      ///< an index or dimension outside its range
  overlap,           ///< an output that shares memory with an input (or itself) in a forbidden way
  out_of_memory,     ///< the device could not give the memory asked for
  not_supported,     ///< legal, but the device or build lacks it
  bad_file,          ///< a file that is truncated, corrupt or of an unknown version
  device_unavailable,  ///< no such device, or its driver could not be opened
  driver_error         ///< a driver call failed; the text has the driver's code and words
};

/// The name of `code` as it is spelled in `errc`.
[[nodiscard]] constexpr std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::invalid_argument: return "invalid_argument";
    case errc::shape_mismatch: return "shape_mismatch";
    case errc::dtype_mismatch: return "dtype_mismatch";
    case errc::device_mismatch: return "device_mismatch";
    case errc::out_of_range: return "out_of_range";
    case errc::overlap: return "overlap";
    case errc::out_of_memory: return "out_of_memory";
    case errc::not_supported: return "not_supported";
    case errc::bad_file: return "bad_file";
    case errc::device_unavailable: return "device_unavailable";
    case errc::driver_error: return "driver_error";
  }
  return "unknown";
}

/// The one error type: a code, the operator (or function) that refused, what it expected and what
/// it got. `what()` is "<operator>: expected <expected>, got <got> [<code>]".
class error : public std::exception {
 public:
  error(errc code, std::string_view op, std::string expected, std::string got)
      : code_(code), op_(op), expected_(std::move(expected)), got_(std::move(got)) {
    text_.append(op_).append(": expected ").append(expected_);
    if (!got_.empty()) text_.append(", got ").append(got_);
    text_.append(" [").append(to_string(code)).append("]");
  }

  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] errc code() const noexcept { return code_; }
  [[nodiscard]] const std::string& op() const noexcept { return op_; }
  [[nodiscard]] const std::string& expected() const noexcept { return expected_; }
  [[nodiscard]] const std::string& got() const noexcept { return got_; }

 private:
  errc code_;
  std::string op_, expected_, got_, text_;
};

/// Called with the error when the library is built without exceptions; must not return.
using error_handler = void (*)(const error&);

namespace detail {
inline std::atomic<error_handler>& error_handler_slot() noexcept {
  static std::atomic<error_handler> slot{nullptr};
  return slot;
}
}  // namespace detail

/// Sets the handler for builds without exceptions and returns the one before. Without a handler, or
/// if it returns, the error is printed to stderr and the program aborts.
inline error_handler set_error_handler(error_handler handler) noexcept {
  return detail::error_handler_slot().exchange(handler);
}

/// Throws `error(code, op, expected, got)`, or calls the error handler without exceptions.
[[noreturn]] FLAGGEMS_COLD inline void raise(errc code, std::string_view op, std::string expected,
                                             std::string got = {}) {
  error failure(code, op, std::move(expected), std::move(got));
#if FLAGGEMS_EXCEPTIONS
  throw failure;
#else
  if (const error_handler handler = detail::error_handler_slot().load()) handler(failure);
  std::fprintf(stderr, "%s\n", failure.what());
  std::abort();
#endif
}

/// Raises unless `condition` holds. For texts that are constant; where a text must be built, test
/// the condition first and call `raise`, so that nothing is built on the hot path.
inline void check(bool condition, errc code, const char* op, const char* expected,
                  const char* got = "") {
  if (!condition) [[unlikely]]
    raise(code, op, expected, got);
}

}  // namespace flaggems
