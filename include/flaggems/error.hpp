// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/config.hpp>
#include <flaggems/detail/text.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

namespace flaggems {

/// The kind of an `error`.
enum class errc {
  invalid_argument,    ///< a value outside its domain (a negative size, an unknown name)
  shape_mismatch,      ///< incompatible sizes
  dtype_mismatch,      ///< an element type the operator does not take
  device_mismatch,     ///< a stream, event or tensor of another device of the type
  out_of_range,        ///< an index or dimension outside its range
  overlap,             ///< an output that shares memory with an input (or itself) illegally
  out_of_memory,       ///< the device could not allocate the requested memory
  not_supported,       ///< legal, but not supported by the device or build
  bad_file,            ///< a file that is truncated, corrupt or of an unknown version
  device_unavailable,  ///< no such device, or its driver could not be opened
  driver_error         ///< a driver call failed; the text has the driver's code and message
};

/// The name of `code` as spelled in `errc`.
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

/// The only error type: a code, the operator (or function) that raised it, what it expected and
/// what it got. `what()` is "<operator>: expected <expected>, got <got> [<code>]". Texts are stored
/// in the object, so that out_of_memory can be reported, and truncated with "...".
class error : public std::exception {
 public:
  FLAGGEMS_COLD_ONCE error(errc code, std::string_view op, std::string_view expected,
                           std::string_view got) noexcept
      : code_(code) {
    op_ = put(op, 256);
    put(": expected ", 16);
    expected_ = put(expected, 320);
    if (!got.empty()) put(", got ", 16);
    got_ = put(got, 320);
    put(" [", 16);
    put(to_string(code), 32);
    put("]", 16);
    text_[size_] = '\0';
  }

  [[nodiscard]] const char* what() const noexcept override { return text_; }
  [[nodiscard]] errc code() const noexcept { return code_; }
  [[nodiscard]] std::string_view op() const noexcept { return view(op_); }
  [[nodiscard]] std::string_view expected() const noexcept { return view(expected_); }
  [[nodiscard]] std::string_view got() const noexcept { return view(got_); }

 private:
  struct part {
    short begin = 0, size = 0;
  };
  [[nodiscard]] std::string_view view(part p) const noexcept {
    return {text_ + p.begin, static_cast<std::size_t>(p.size)};
  }
  // At most `most` bytes of s, appended.
  FLAGGEMS_ONCE part put(std::string_view s, int most) noexcept {
    const bool cut = s.size() > static_cast<std::size_t>(most);
    const part p{static_cast<short>(size_), static_cast<short>(cut ? most : int(s.size()))};
    for (int i = 0; i < p.size; ++i)
      text_[size_++] = cut && i + 3 >= most ? '.' : s[static_cast<std::size_t>(i)];
    return p;
  }

  errc code_;
  part op_, expected_, got_;
  int size_ = 0;
  char text_[992];  // the sum of the parts' limits, and the terminator
};

/// Called with the error when the library is built without exceptions; must not return.
using error_handler = void (*)(const error&);

namespace detail {
inline error_handler& error_handler_slot() noexcept {  // read and written by __atomic built-ins
  static error_handler slot = nullptr;
  return slot;
}
}  // namespace detail

/// Sets the handler for builds without exceptions and returns the previous one. Without a handler,
/// or if it returns, the error is printed to stderr and the program aborts.
inline error_handler set_error_handler(error_handler handler) noexcept {
  return __atomic_exchange_n(&detail::error_handler_slot(), handler, __ATOMIC_SEQ_CST);
}

/// Throws `error(code, op, expected, got)`, or calls the error handler without exceptions.
[[noreturn]] FLAGGEMS_COLD_ONCE void raise(errc code, std::string_view op,
                                           std::string_view expected, std::string_view got = {}) {
  const error failure(code, op, expected, got);
#if FLAGGEMS_EXCEPTIONS
  throw failure;
#else
  if (const error_handler handler =
          __atomic_load_n(&detail::error_handler_slot(), __ATOMIC_SEQ_CST))
    handler(failure);
  std::fprintf(stderr, "%s\n", failure.what());
  std::abort();
#endif
}

/// Raises unless `condition` holds. For constant texts; if a text must be built, test the condition
/// first and call `raise`, to keep that off the hot path.
inline void check(bool condition, errc code, const char* op, const char* expected,
                  const char* got = "") {
  if (!condition) [[unlikely]]
    raise(code, op, expected, got);
}

}  // namespace flaggems
