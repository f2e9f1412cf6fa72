// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A strict reader of JSON (RFC 8259) for file headers, and a writer of its strings.
#pragma once

#include <flaggems/kernel/lang/prelude.hpp>
#include <flaggems/tensor/file_source.hpp>

#include <string>
#include <string_view>

namespace flaggems::detail {

/// Reads values in document order. Anything unexpected raises bad_file with the source and
/// position. The source must outlive the reader.
class json_reader {
 public:
  json_reader(std::string_view json, const file_source& source) : text_(json), source_(source) {}

  /// Skips white space, then `c` if it comes next.
  bool accept(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("'") + c + "'");
  }
  /// Only white space may follow.
  void expect_end() {
    skip_spaces();
    if (at_ != text_.size()) fail("the end of the header");
  }
  /// Reads `{"key": value, ...}`: calls f(key) at each value, which must read it.
  template <class F>
  void object(F&& f) {
    expect('{');
    if (accept('}')) return;
    do {
      skip_spaces();
      const std::string key = string();
      expect(':');
      f(key);
    } while (accept(','));
    expect('}');
  }
  /// Reads `[value, ...]`: calls f() at each value, which must read it.
  template <class F>
  void array(F&& f) {
    expect('[');
    if (accept(']')) return;
    do f();
    while (accept(','));
    expect(']');
  }
  /// An integer from 0 to 2^63 - 1, without sign, fraction or exponent.
  i64 integer() {
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
  std::string string() {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != '"') fail("a string");
    ++at_;
    std::string r;
    for (;;) {
      if (at_ == text_.size()) fail("the end of a string");
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return r;
      }
      if (c < 0x20) fail("no control character in a string");
      if (c == '\\')
        escape(r);
      else
        utf8(r, c);
    }
  }
  [[noreturn]] void fail(const std::string& expected) const {
    source_.refuse(expected + " in the JSON header",
                   at_ == text_.size() ? std::string("its end")
                                       : "something else at byte " + std::to_string(at_));
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
  void escape(std::string& r) {
    ++at_;  // the backslash
    if (at_ == text_.size()) fail("an escape sequence");
    constexpr std::string_view codes = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    const char c = text_[at_];
    if (const std::size_t i = codes.find(c); i != codes.npos) {
      r += meanings[i];
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
    const auto put = [&r](u32 byte) { r += static_cast<char>(static_cast<unsigned char>(byte)); };
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
  }
  /// One UTF-8 character: in its shortest form and no surrogate.
  void utf8(std::string& r, unsigned char first) {
    int more = first < 0x80 ? 0 : first < 0xc2 ? -1 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (more < 0 || first > 0xf4) fail("UTF-8");
    r += text_[at_++];
    for (int i = 0; i < more; ++i) {
      if (at_ == text_.size()) fail("UTF-8");
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      const unsigned char least = i != 0          ? 0x80
                                  : first == 0xe0 ? 0xa0
                                  : first == 0xf0 ? 0x90
                                                  : 0x80;
      const unsigned char most = i != 0 ? 0xbf : first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
      if (c < least || c > most) fail("UTF-8");
      r += text_[at_++];
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  const file_source& source_;
};

/// `text` as a JSON string, with its quotes.
[[nodiscard]] inline std::string json_quoted(std::string_view plain) {
  std::string r = "\"";
  for (const char c : plain) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      r += '\\';
      r += c;
    } else if (u < 0x20) {
      constexpr char hex[] = "0123456789abcdef";
      r += "\\u00";
      r += hex[u >> 4];
      r += hex[u & 15];
    } else {
      r += c;
    }
  }
  return r += '"';
}

}  // namespace flaggems::detail
