// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How text is cut into words before byte pairs are merged: code points, their classes, and the
// splitting rules of the GPT-2, SmolLM, Llama 3 and Qwen 2 tokenizers, written out by hand because
// std::regex knows no Unicode categories.
#pragma once

#include "unicode_ranges.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace llama {

namespace detail {

inline constexpr std::uint32_t replacement_character = 0xfffd;

template <std::size_t Count>
[[nodiscard]] bool in_ranges(const code_point_range (&ranges)[Count], std::uint32_t point) {
  const auto* at = std::upper_bound(
      std::begin(ranges), std::end(ranges), point,
      [](std::uint32_t p, const code_point_range& range) { return p < range.first; });
  return at != std::begin(ranges) && point <= (at - 1)->last;
}

/// What the splitting rules tell apart.
enum class point_class : std::uint8_t { letter, number, space, other, none /* past the end */ };

[[nodiscard]] inline point_class classify(std::uint32_t p) {
  if (p < 0x80) {
    if ((p | 0x20U) >= 'a' && (p | 0x20U) <= 'z') return point_class::letter;
    if (p >= '0' && p <= '9') return point_class::number;
    return p == ' ' || (p >= 9 && p <= 13) ? point_class::space : point_class::other;
  }
  // Unicode's property White_Space.
  if (p == 0x85 || p == 0xa0 || p == 0x1680 || (p >= 0x2000 && p <= 0x200a) || p == 0x2028 ||
      p == 0x2029 || p == 0x202f || p == 0x205f || p == 0x3000)
    return point_class::space;
  if (in_ranges(letters, p)) return point_class::letter;
  return in_ranges(numbers, p) ? point_class::number : point_class::other;
}

inline void append_utf8(std::string& to, std::uint32_t p) {
  const auto put = [&to](std::uint32_t byte) { to += static_cast<char>(byte); };
  if (p < 0x80) {
    put(p);
  } else if (p < 0x800) {
    put(0xc0 | p >> 6), put(0x80 | (p & 0x3f));
  } else if (p < 0x10000) {
    put(0xe0 | p >> 12), put(0x80 | (p >> 6 & 0x3f)), put(0x80 | (p & 0x3f));
  } else {
    put(0xf0 | p >> 18), put(0x80 | (p >> 12 & 0x3f)), put(0x80 | (p >> 6 & 0x3f)),
        put(0x80 | (p & 0x3f));
  }
}

/// The code point at `at`, which is moved past it. As llama.cpp: a byte that does not begin a
/// complete sequence gives U+FFFD and is one byte long; overlong forms and surrogates are taken at
/// their value. A value above U+10FFFF (which llama.cpp throws on) counts as broken.
[[nodiscard]] inline std::uint32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t lead = byte(at);
  if (lead < 0x80) return ++at, lead;
  const std::size_t length = lead < 0xc0   ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf8 ? 4
                                           : 0;
  if (length == 0 || length > text.size() - at) return ++at, replacement_character;
  std::uint32_t point = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80) return ++at, replacement_character;
    point = point << 6 | (byte(at + i) & 0x3fU);
  }
  if (point > 0x10ffff) return ++at, replacement_character;
  at += length;
  return point;
}

/// The rules by which text is cut into words before merging.
enum class splitter : std::uint8_t {
  gpt2,    ///< 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  smollm,  ///< every \p{N} alone, then as gpt2 between them
  llama3,  ///< (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
           ///<   ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
  qwen2    ///< as llama3, with \p{N} for \p{N}{1,3}
};

/// A run of code points with their classes, as the rules see it: nothing before 0, nothing at size.
struct classified {
  const std::uint32_t* points;
  const point_class* classes;
  std::size_t size;

  [[nodiscard]] std::uint32_t point(std::size_t i) const {
    return i < size ? points[i] : 0xffffffff;
  }
  [[nodiscard]] point_class kind(std::size_t i) const {
    return i < size ? classes[i] : point_class::none;
  }
  [[nodiscard]] std::size_t run(std::size_t i, point_class wanted) const {
    const std::size_t begin = i;
    while (kind(i) == wanted) ++i;
    return i - begin;
  }
  /// The length of an English contraction (apostrophe included) at `i`, or 0.
  [[nodiscard]] std::size_t contraction(std::size_t i, bool any_case) const {
    if (point(i) != '\'') return 0;
    const auto lower = [&](std::size_t k) {
      const std::uint32_t p = point(k);
      return any_case && p >= 'A' && p <= 'Z' ? p + 32 : p;
    };
    const std::uint32_t first = lower(i + 1), second = lower(i + 2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    const bool two = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                     (first == 'l' && second == 'l');
    return two ? 3 : 0;
  }
  /// The length of the match of \s+(?!\S)|\s+ at `i`, where a space stands.
  [[nodiscard]] std::size_t spaces(std::size_t i) const {
    const std::size_t count = run(i, point_class::space);
    return count > 1 && i + count < size ? count - 1 : count;
  }
};

[[nodiscard]] inline std::size_t gpt2_word(const classified& text, std::size_t at) {
  if (const std::size_t length = text.contraction(at, false)) return length;
  const std::size_t lead = text.point(at) == ' ' ? 1 : 0;
  const point_class kind = text.kind(at + lead);
  if (kind == point_class::letter || kind == point_class::number || kind == point_class::other)
    return lead + text.run(at + lead, kind);
  return text.spaces(at);
}

[[nodiscard]] inline std::size_t llama3_word(const classified& text, std::size_t at,
                                             std::size_t max_digits) {
  if (const std::size_t length = text.contraction(at, true)) return length;
  const std::uint32_t point = text.point(at);
  const point_class kind = text.kind(at);
  const auto is_break = [&](std::size_t i) {
    return text.point(i) == '\r' || text.point(i) == '\n';
  };
  if (kind == point_class::letter) return text.run(at, kind);
  if (!is_break(at) && kind != point_class::number && text.kind(at + 1) == point_class::letter)
    return 1 + text.run(at + 1, point_class::letter);
  if (kind == point_class::number) return (std::min)(max_digits, text.run(at, kind));
  const std::size_t lead = point == ' ' ? 1 : 0;
  if (text.kind(at + lead) == point_class::other) {
    std::size_t end = at + lead + text.run(at + lead, point_class::other);
    while (is_break(end)) ++end;
    return end - at;
  }
  const std::size_t count = text.run(at, point_class::space);
  for (std::size_t i = at + count; i > at; --i)  // \s*[\r\n]+: up to the last line break of the run
    if (is_break(i - 1)) return i - at;
  return text.spaces(at);
}

/// Calls `word(first, last)` for each piece of `text`, in order; they cover it.
template <class Word>
void split_words(splitter rules, const classified& text, Word word) {
  std::size_t at = 0;
  while (at < text.size) {
    if (rules == splitter::smollm) {
      if (text.kind(at) == point_class::number) {
        word(at, at + 1), ++at;
        continue;
      }
      std::size_t end = at;
      while (end < text.size && text.kind(end) != point_class::number) ++end;
      const classified piece{text.points + at, text.classes + at, end - at};
      for (std::size_t i = 0; i < piece.size;) {
        const std::size_t length = gpt2_word(piece, i);
        word(at + i, at + i + length), i += length;
      }
      at = end;
    } else {
      const std::size_t length = rules == splitter::gpt2
                                     ? gpt2_word(text, at)
                                     : llama3_word(text, at, rules == splitter::llama3 ? 3 : 1);
      word(at, at + length), at += length;
    }
  }
}

}  // namespace detail

}  // namespace llama
