// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Short texts in a fixed buffer, for messages: <string> is expensive to compile, and messages must
// be possible when memory is exhausted.
#pragma once

#include <flaggems/config.hpp>

#include <cstdio>
#include <string_view>

namespace flaggems {

/// A text of at most `capacity` bytes; longer ones end in "...". Built by `+` from texts, numbers
/// and types that convert to std::string_view: `fixed_text("rank ") + fixed_text(n) + " or less"`.
class fixed_text {
 public:
  static constexpr int capacity = 511;

  fixed_text() noexcept { data_[0] = '\0'; }
  explicit FLAGGEMS_COLD fixed_text(std::string_view s) noexcept : fixed_text() { append(s); }
  explicit FLAGGEMS_COLD fixed_text(const char* s) noexcept : fixed_text(std::string_view(s)) {}
  explicit fixed_text(int n) noexcept : fixed_text(static_cast<long long>(n)) {}
  explicit fixed_text(long n) noexcept : fixed_text(static_cast<long long>(n)) {}
  explicit fixed_text(unsigned n) noexcept : fixed_text(static_cast<unsigned long long>(n)) {}
  explicit fixed_text(unsigned long n) noexcept : fixed_text(static_cast<unsigned long long>(n)) {}
  explicit FLAGGEMS_COLD fixed_text(long long n) noexcept : fixed_text() {
    const auto bits = static_cast<unsigned long long>(n);
    if (n < 0) append("-");
    append_digits(n < 0 ? 0 - bits : bits);
  }
  explicit FLAGGEMS_COLD fixed_text(unsigned long long n) noexcept : fixed_text() {
    append_digits(n);
  }
  explicit FLAGGEMS_COLD fixed_text(double x) noexcept : fixed_text() {
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%g", x);
    append(digits);
  }
  explicit fixed_text(bool) = delete;

  FLAGGEMS_COLD_ONCE fixed_text& append(std::string_view s) noexcept {
    if (is_cut_) return *this;
    const int room = capacity - size_;
    is_cut_ = s.size() > static_cast<std::size_t>(room);
    const int n = is_cut_ ? room : static_cast<int>(s.size());
    for (int i = 0; i < n; ++i) data_[size_ + i] = s[static_cast<std::size_t>(i)];
    size_ += n;
    if (is_cut_) data_[size_ - 1] = data_[size_ - 2] = data_[size_ - 3] = '.';
    data_[size_] = '\0';
    return *this;
  }
  fixed_text& operator=(std::string_view s) noexcept {
    size_ = 0;
    is_cut_ = false;
    return append(s);
  }
  fixed_text& operator+=(std::string_view s) noexcept { return append(s); }

  [[nodiscard]] const char* c_str() const noexcept { return data_; }
  [[nodiscard]] std::string_view view() const noexcept {
    return {data_, static_cast<std::size_t>(size_)};
  }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  operator std::string_view() const noexcept { return view(); }
  /// To std::string, if <string> is included.
  template <class String>
  requires requires(String s, std::string_view v) { s.append(v); }
  operator String() const { return String(view()); }

  friend FLAGGEMS_COLD fixed_text operator+(const fixed_text& a, std::string_view b) noexcept {
    fixed_text r = a;
    r.append(b);
    return r;
  }
  friend FLAGGEMS_COLD fixed_text operator+(std::string_view a, const fixed_text& b) noexcept {
    fixed_text r(a);
    r.append(b);
    return r;
  }
  friend fixed_text operator+(const fixed_text& a, const fixed_text& b) noexcept {
    return a + b.view();
  }
  friend bool operator==(const fixed_text& a, const fixed_text& b) noexcept {
    return a.view() == b.view();
  }
  friend bool operator==(const fixed_text& a, std::string_view b) noexcept { return a.view() == b; }
  /// To a stream, if one is included.
  template <class Stream>
  requires requires(Stream& s, std::string_view v) { s.write(v.data(), 1).flush(); }
  friend Stream& operator<<(Stream& s, const fixed_text& t) { return s << t.view(), s; }

 private:
  FLAGGEMS_ONCE void append_digits(unsigned long long n) noexcept {
    char digits[20];
    int first = 20;
    do {
      digits[--first] = static_cast<char>('0' + n % 10);
      n /= 10;
    } while (n != 0);
    append({digits + first, static_cast<std::size_t>(20 - first)});
  }

  int size_ = 0;
  bool is_cut_ = false;
  char data_[capacity + 1];
};

namespace detail {
using text = fixed_text;
}  // namespace detail

}  // namespace flaggems
