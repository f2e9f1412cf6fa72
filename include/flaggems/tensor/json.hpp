// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A strict reader of JSON (RFC 8259) for file headers, and a writer of its strings.
#pragma once

#include <flaggems/kernel/lang/prelude.hpp>
#include <flaggems/tensor/file_source.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace flaggems::detail {

/// Moves `at` behind the UTF-8 character there, in its shortest form and no surrogate; or, and
/// gives false, to the byte that belongs to none.
[[nodiscard]] FLAGGEMS_ONCE bool skip_utf8(std::string_view s, std::size_t& at) noexcept {
  const unsigned char first = static_cast<unsigned char>(s[at]);
  const int more = first < 0x80 ? 0 : first < 0xc2 ? -1 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  if (more < 0 || first > 0xf4) return false;
  ++at;
  for (int i = 0; i < more; ++i) {
    if (at == s.size()) return false;
    const unsigned char c = static_cast<unsigned char>(s[at]);
    const unsigned char least = i != 0 ? 0x80 : first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned char most = i != 0 ? 0xbf : first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (c < least || c > most) return false;
    ++at;
  }
  return true;
}
[[nodiscard]] inline bool is_utf8(std::string_view s) noexcept {
  for (std::size_t at = 0; at != s.size();)
    if (!skip_utf8(s, at)) return false;
  return true;
}

/// Reads values in document order. Anything unexpected raises bad_file with the source and
/// position. The source must outlive the reader.
class json_reader {
 public:
  json_reader(std::string_view json, const file_source& source) : text_(json), source_(source) {}

  // Out of line, as it was more than half of what reads a header.
  /// Skips white space, then `c` if it comes next.
  FLAGGEMS_NOINLINE bool accept(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  FLAGGEMS_NOINLINE void expect(char c) {
    if (!accept(c)) fail(text("'") + std::string_view(&c, 1) + "'");
  }
  /// Only white space may follow.
  void expect_end() {
    skip_spaces();
    if (at_ != text_.size()) fail("the end of the header");
  }
  /// Begins `{"key": value, ...}` or `[value, ...]`.
  void open(char bracket) {
    expect(bracket);
    is_first_ = true;
  }
  /// Whether a value (and before it, its key) comes next, which must be read; else `bracket` has
  /// been read, which ends the innermost object or array.
  FLAGGEMS_NOINLINE bool next(char bracket) {
    const bool is_first = std::exchange(is_first_, false);
    if (is_first ? !accept(bracket) : accept(',')) return true;
    if (!is_first) expect(bracket);
    return false;
  }
  /// A key, and the colon; as `string`.
  std::string_view key() {
    const std::string_view r = string();
    expect(':');
    return r;
  }
  /// An integer from 0 to 2^63 - 1, without sign, fraction or exponent.
  FLAGGEMS_NOINLINE i64 integer() {
    skip_spaces();
    const std::size_t first = at_;
    i64 value = 0;
    for (; at_ != text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value))
        fail("an integer below 2^63");
    if (at_ == first || (text_[first] == '0' && at_ != first + 1))
      fail("an integer that is not negative");
    return value;
  }
  /// Valid until the next string or key is read.
  std::string_view string() {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != '"') fail("a string");
    ++at_;
    string_.clear();
    std::size_t first = at_;  // of what is to be appended
    for (;;) {
      if (at_ == text_.size()) fail("the end of a string");
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c < 0x20) fail("no control character in a string");
      if (c != '"' && c != '\\') {
        if (!skip_utf8(text_, at_)) fail("UTF-8");
        continue;
      }
      string_.append(text_.data() + first, at_ - first);
      ++at_;
      if (c == '"') return string_;
      escape();
      first = at_;
    }
  }
  [[noreturn]] FLAGGEMS_COLD void fail(std::string_view expected) const {
    source_.refuse(
        text(expected) + " in the JSON header",
        at_ == text_.size() ? text("its end") : text("something else at byte ") + text(at_));
  }

 private:
  void skip_spaces() {
    while (at_ != text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  u32 four_hex_digits() {
    u32 value = 0;
    for (int i = 0; i < 4; ++i) {
      if (at_ == text_.size()) fail("four hexadecimal digits");
      const char c = text_[at_];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) fail("four hexadecimal digits");
      value = value * 16 + static_cast<u32>(digit);
      ++at_;
    }
    return value;
  }
  /// What comes after a backslash.
  void escape() {
    if (at_ == text_.size()) fail("an escape sequence");
    constexpr std::string_view codes = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    const char c = text_[at_];
    if (const std::size_t i = codes.find(c); i != codes.npos) {
      string_ += meanings[i];
      ++at_;
      return;
    }
    if (c != 'u') fail("an escape sequence");
    ++at_;
    u32 code = four_hex_digits();
    if (code >= 0xd800 && code < 0xdc00) {
      if (text_.substr(at_, 2) != "\\u") fail("the second half of a surrogate pair");
      at_ += 2;
      const u32 low = four_hex_digits();
      if (low < 0xdc00 || low > 0xdfff) fail("the second half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      fail("the first half of a surrogate pair");
    }
    char bytes[4];
    std::size_t count = 0;
    const auto put = [&](u32 byte) { bytes[count++] = static_cast<char>(byte); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0 | code >> 6);
      put(0x80 | (code & 63));
    } else if (code < 0x10000) {
      put(0xe0 | code >> 12);
      put(0x80 | (code >> 6 & 63));
      put(0x80 | (code & 63));
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 63));
      put(0x80 | (code >> 6 & 63));
      put(0x80 | (code & 63));
    }
    string_.append(bytes, count);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool is_first_ = false;  // the next value of the innermost object or array
  std::string string_;     // the last one
  const file_source& source_;
};

/// `plain`, which is UTF-8, as a JSON string, with its quotes.
[[nodiscard]] inline std::string json_quoted(std::string_view plain) {
  std::string r = "\"";
  for (const char c : plain) {
    constexpr char hex[] = "0123456789abcdef";
    const unsigned char u = static_cast<unsigned char>(c);
    const char code[] = {'\\', 'u', '0', '0', hex[u >> 4], hex[u & 15]}, mark[] = {'\\', c};
    r += u < 0x20                ? std::string_view(code, sizeof code)
         : c == '"' || c == '\\' ? std::string_view(mark, sizeof mark)
                                 : std::string_view(&c, 1);
  }
  return r += '"';
}

}  // namespace flaggems::detail
