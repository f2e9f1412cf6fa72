// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Byte-level BPE from the vocabulary and merges of a GGUF file. Gives the ids that llama.cpp gives,
// for broken UTF-8 too.
#pragma once

#include "gguf.hpp"
#include "unicode_ranges.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace llama {

using token_id = std::int32_t;

/// No such token.
inline constexpr token_id no_token = -1;

/// The kind of a token, numbered as in the file.
enum class token_type : std::int32_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

/// What a tokenizer is made of; the views live as long as the file they were read from.
struct vocabulary {
  std::string source;  ///< the name errors give the file
  std::string_view pre;
  std::vector<std::string_view> tokens;
  std::vector<token_type> types;  ///< empty: all normal
  std::vector<std::string_view> merges;
  token_id bos = no_token, eos = no_token, eot = no_token;
  bool add_bos = false;
};

/// Reads the vocabulary of `file`. Raises bad_file for a tokenizer that is not byte-level BPE, for
/// ids outside the vocabulary and for lists of different lengths.
[[nodiscard]] inline vocabulary read_vocabulary(const gguf& file) {
  const auto model = file.get<std::string_view>("tokenizer.ggml.model");
  if (model != "gpt2")
    file.refuse("a byte-level BPE tokenizer (tokenizer.ggml.model 'gpt2')", gguf::quoted(model));
  vocabulary result;
  result.source = file.source();
  result.pre = file.get<std::string_view>("tokenizer.ggml.pre");
  const auto list = [&](std::string_view key) {
    auto strings = file.find_array<std::string_view>(key);
    if (!strings) file.refuse("the metadata key " + gguf::quoted(key), "a file without it");
    return *std::move(strings);
  };
  result.tokens = list("tokenizer.ggml.tokens");
  result.merges = list("tokenizer.ggml.merges");
  if (result.tokens.size() > 0x7fffffff) file.refuse("fewer than 2^31 tokens", "more");
  if (const auto types = file.find_array<std::int32_t>("tokenizer.ggml.token_type")) {
    if (types->size() != result.tokens.size())
      file.refuse(std::to_string(result.tokens.size()) + " token types, one a token",
                  std::to_string(types->size()));
    result.types.reserve(types->size());
    for (const std::int32_t type : *types) result.types.push_back(static_cast<token_type>(type));
  }
  const auto special = [&](std::string_view key) {
    const auto id = file.find<std::int64_t>(key);
    if (!id || *id < 0 || *id == 0xffffffff) return no_token;
    if (static_cast<std::uint64_t>(*id) >= result.tokens.size())
      file.refuse(
          "an id below " + std::to_string(result.tokens.size()) + " under " + gguf::quoted(key),
          std::to_string(*id));
    return static_cast<token_id>(*id);
  };
  result.bos = special("tokenizer.ggml.bos_token_id");
  result.eos = special("tokenizer.ggml.eos_token_id");
  result.eot = special("tokenizer.ggml.eot_token_id");
  // The Llama 3 family adds it unless told otherwise.
  const bool is_llama3 = result.pre == "llama-bpe" || result.pre == "llama3";
  result.add_bos =
      file.get_or<bool>("tokenizer.ggml.add_bos_token", is_llama3) && result.bos != no_token;
  return result;
}

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

/// Text to ids and back. Construct once; all members are const and safe to call from many threads.
class tokenizer {
 public:
  /// Builds the tables. Raises bad_file for an unknown pre-tokenizer, an empty vocabulary and a
  /// merge that is malformed or whose parts or result are not in the vocabulary.
  explicit tokenizer(vocabulary source) : vocabulary_(std::move(source)) {
    rules_ = find_rules();
    if (vocabulary_.tokens.empty()) refuse("a vocabulary", "no tokens");
    if (vocabulary_.types.empty())
      vocabulary_.types.assign(vocabulary_.tokens.size(), token_type::normal);
    if (vocabulary_.types.size() != vocabulary_.tokens.size())
      refuse("one type a token", std::to_string(vocabulary_.types.size()) + " types");
    ids_.reserve(vocabulary_.tokens.size());
    // Of equal tokens the last one counts, as in llama.cpp.
    for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i)
      ids_[vocabulary_.tokens[i]] = static_cast<token_id>(i);
    build_bytes();
    build_merges();
    build_special();
  }
  explicit tokenizer(const gguf& file) : tokenizer(read_vocabulary(file)) {}

  [[nodiscard]] std::size_t size() const noexcept { return vocabulary_.tokens.size(); }
  [[nodiscard]] token_id bos() const noexcept { return vocabulary_.bos; }
  [[nodiscard]] token_id eos() const noexcept { return vocabulary_.eos; }
  [[nodiscard]] bool add_bos() const noexcept { return vocabulary_.add_bos; }

  /// The id of the token spelled `text` in the file, or no_token.
  [[nodiscard]] token_id find(std::string_view text) const {
    const auto at = ids_.find(text);
    return at == ids_.end() ? no_token : at->second;
  }

  /// True if generation ends at `id`: eos, eot, or a control token that ends a text or a turn.
  [[nodiscard]] bool is_stop(token_id id) const {
    return std::binary_search(stops_.begin(), stops_.end(), id);
  }

  /// Appends the ids of `text` to `ids`. Control tokens spelled in the text become their ids only
  /// with `parse_special`; user-defined tokens always do. Never adds bos. Bytes whose token the
  /// vocabulary lacks (some control characters) are left out, as in llama.cpp.
  void encode_to(std::string_view text, bool parse_special, std::vector<token_id>& ids) const {
    struct fragment {
      std::string_view text;
      token_id special;
    };
    std::vector<fragment> fragments{{text, no_token}}, next;
    for (const token_id id : specials_) {
      if (!parse_special && type(id) != token_type::user_defined) continue;
      const std::string_view name = spelled(id);
      if (text.find(name) == std::string_view::npos) continue;
      next.clear();
      for (const fragment& part : fragments) {
        std::string_view rest = part.text;
        for (std::size_t at; part.special == no_token && (at = rest.find(name)) != rest.npos;) {
          if (at > 0) next.push_back({rest.substr(0, at), no_token});
          next.push_back({{}, id});
          rest.remove_prefix(at + name.size());
        }
        if (part.special != no_token || !rest.empty()) next.push_back({rest, part.special});
      }
      fragments.swap(next);
    }
    for (const fragment& part : fragments) {
      if (part.special != no_token)
        ids.push_back(part.special);
      else
        encode_plain(part.text, ids);
    }
  }

  /// The ids of `text`; see `encode_to`.
  [[nodiscard]] std::vector<token_id> encode(std::string_view text,
                                             bool parse_special = false) const {
    std::vector<token_id> ids;
    encode_to(text, parse_special, ids);
    return ids;
  }

  /// Appends the bytes of token `id` to `to`: part of a character, perhaps. Control tokens give
  /// nothing, or with `show_special` their spelling. Raises out_of_range for an id that is no
  /// token.
  void decode_to(token_id id, std::string& to, bool show_special = false) const {
    if (id < 0 || static_cast<std::size_t>(id) >= size())
      flaggems::raise(flaggems::errc::out_of_range, "tokenizer::decode",
                      "an id from 0 to " + std::to_string(size() - 1), std::to_string(id));
    const token_type kind = type(id);
    if (kind == token_type::control || kind == token_type::unknown) {
      if (show_special) to.append(spelled(id));
    } else if (kind == token_type::user_defined) {
      to.append(spelled(id));
    } else {
      const std::string_view text = spelled(id);
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const std::uint32_t point = detail::next_code_point(text, at);
        const int byte = point < unicode_to_byte_.size() ? unicode_to_byte_[point] : -1;
        // A character outside the byte alphabet stands for itself.
        if (byte >= 0)
          to += static_cast<char>(byte);
        else
          to.append(text.substr(begin, at - begin));
      }
    }
  }

  /// The bytes of all `ids`.
  [[nodiscard]] std::string decode(const std::vector<token_id>& ids,
                                   bool show_special = false) const {
    std::string text;
    for (const token_id id : ids) decode_to(id, text, show_special);
    return text;
  }

 private:
  struct merge {
    std::int32_t rank;
    token_id result;
  };
  struct candidate {
    std::int32_t rank;
    std::int32_t left;
    std::int32_t right;
    token_id left_id, right_id, result;
    // Lowest rank first, then leftmost.
    friend bool operator>(const candidate& a, const candidate& b) {
      return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
    }
  };
  struct symbol {
    token_id id;  // no_token: merged into its left neighbour
    std::int32_t previous, next;
  };
  struct pair_hash {
    std::size_t operator()(std::uint64_t pair) const noexcept {
      pair *= 0x9e3779b97f4a7c15U;
      return static_cast<std::size_t>(pair ^ pair >> 32);
    }
  };

  [[noreturn]] void refuse(std::string expected, std::string got) const {
    flaggems::raise(flaggems::errc::bad_file, vocabulary_.source, std::move(expected),
                    std::move(got));
  }
  [[nodiscard]] std::string_view spelled(token_id id) const {
    return vocabulary_.tokens[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] token_type type(token_id id) const {
    return vocabulary_.types[static_cast<std::size_t>(id)];
  }
  static std::uint64_t pair_of(token_id left, token_id right) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }

  [[nodiscard]] detail::splitter find_rules() {
    const std::string_view pre = vocabulary_.pre;
    if (pre == "smollm") return detail::splitter::smollm;
    if (pre == "gpt-2" || pre == "gpt2") return detail::splitter::gpt2;
    if (pre == "qwen2") return detail::splitter::qwen2;
    if (pre == "llama-bpe" || pre == "llama3") {
      whole_words_ = true;
      return detail::splitter::llama3;
    }
    refuse("a pre-tokenizer 'smollm', 'gpt-2', 'llama-bpe' or 'qwen2'", gguf::quoted(pre));
  }

  // GPT-2's alphabet: printable bytes of Latin-1 are themselves, the others follow from U+0100.
  void build_bytes() {
    unicode_to_byte_.fill(-1);
    std::uint32_t next = 256;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
      const std::uint32_t point = printable ? byte : next++;
      unicode_to_byte_[point] = static_cast<std::int16_t>(byte);
      std::string& text = byte_text_[byte];
      detail::append_utf8(text, point);
      byte_ids_[byte] = find(text);
    }
  }

  void build_merges() {
    merges_.reserve(vocabulary_.merges.size());
    if (vocabulary_.merges.size() > 0x7fffffff) refuse("fewer than 2^31 merges", "more");
    std::string joined;
    for (std::size_t i = 0; i < vocabulary_.merges.size(); ++i) {
      const std::string_view text = vocabulary_.merges[i];
      const std::size_t space = text.find(' ', 1);
      if (space == std::string_view::npos)
        refuse("merges of two parts", gguf::quoted(text) + " at " + std::to_string(i));
      joined.assign(text.substr(0, space)).append(text.substr(space + 1));
      const token_id left = find(text.substr(0, space)), right = find(text.substr(space + 1));
      const token_id result = find(joined);
      if (left == no_token || right == no_token || result == no_token)
        refuse("merges of tokens into tokens", gguf::quoted(text) + " at " + std::to_string(i));
      // Of equal merges the first one counts.
      merges_.emplace(pair_of(left, right), merge{static_cast<std::int32_t>(i), result});
    }
  }

  void build_special() {
    for (std::size_t i = 0; i < size(); ++i) {
      const auto id = static_cast<token_id>(i);
      const token_type kind = type(id);
      const bool special = kind == token_type::control || kind == token_type::user_defined ||
                           kind == token_type::unknown;
      if (special && !spelled(id).empty()) specials_.push_back(id);
    }
    std::stable_sort(specials_.begin(), specials_.end(), [this](token_id a, token_id b) {
      return spelled(a).size() > spelled(b).size();
    });
    for (const token_id id : {vocabulary_.eos, vocabulary_.eot})
      if (id != no_token) stops_.push_back(id);
    for (const std::string_view name : {"<|endoftext|>", "<|im_end|>", "<|eot_id|>",
                                        "<|end_of_text|>", "<|end|>", "<end_of_turn>"})
      if (const token_id id = find(name); id != no_token && type(id) == token_type::control)
        stops_.push_back(id);
    std::sort(stops_.begin(), stops_.end());
    stops_.erase(std::unique(stops_.begin(), stops_.end()), stops_.end());
  }

  void encode_plain(std::string_view text, std::vector<token_id>& ids) const {
    std::vector<std::uint32_t> points;
    std::vector<detail::point_class> classes;
    points.reserve(text.size());
    classes.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      points.push_back(detail::next_code_point(text, at));
      classes.push_back(detail::classify(points.back()));
    }
    std::string bytes;
    std::vector<symbol> symbols;
    detail::split_words(rules_, {points.data(), classes.data(), points.size()},
                        [&](std::size_t first, std::size_t last) {
                          bytes.clear();
                          for (std::size_t i = first; i < last; ++i)
                            detail::append_utf8(bytes, points[i]);
                          encode_word(bytes, symbols, ids);
                        });
  }

  // Merges the bytes of one word: O(n log n).
  void encode_word(std::string_view bytes, std::vector<symbol>& symbols,
                   std::vector<token_id>& ids) const {
    if (whole_words_) {
      std::string text;
      for (const char c : bytes) text += byte_text_[static_cast<unsigned char>(c)];
      if (const token_id id = find(text); id != no_token) {
        ids.push_back(id);
        return;
      }
    }
    // A byte without a token takes part in no merge; `missing` keeps its neighbours apart.
    constexpr token_id missing = -2;
    symbols.clear();
    const auto count = static_cast<std::int32_t>(bytes.size());
    for (std::int32_t i = 0; i < count; ++i) {
      const token_id id = byte_ids_[static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)])];
      symbols.push_back({id == no_token ? missing : id, i - 1, i + 1 < count ? i + 1 : -1});
    }
    const auto at = [&](std::int32_t i) -> symbol& { return symbols[static_cast<std::size_t>(i)]; };
    std::priority_queue<candidate, std::vector<candidate>, std::greater<>> queue;
    const auto consider = [&](std::int32_t left, std::int32_t right) {
      if (left < 0 || right < 0) return;
      const token_id a = at(left).id, b = at(right).id;
      if (const auto found = merges_.find(pair_of(a, b)); found != merges_.end())
        queue.push({found->second.rank, left, right, a, b, found->second.result});
    };
    for (std::int32_t i = 1; i < count; ++i) consider(i - 1, i);
    while (!queue.empty()) {
      const candidate best = queue.top();
      queue.pop();
      symbol& left = at(best.left);
      symbol& right = at(best.right);
      if (left.id != best.left_id || right.id != best.right_id || left.next != best.right) continue;
      left.id = best.result;
      right.id = no_token;
      left.next = right.next;
      if (left.next >= 0) at(left.next).previous = best.left;
      consider(left.previous, best.left);
      consider(best.left, left.next);
    }
    for (const symbol& part : symbols)
      if (part.id >= 0) ids.push_back(part.id);
  }

  vocabulary vocabulary_;
  detail::splitter rules_{};
  bool whole_words_ = false;  // a word that is a token is not merged (tokenizers' ignore_merges)
  std::unordered_map<std::string_view, token_id> ids_;
  std::unordered_map<std::uint64_t, merge, pair_hash> merges_;
  std::array<token_id, 256> byte_ids_{};
  std::array<std::string, 256> byte_text_;
  std::array<std::int16_t, 324> unicode_to_byte_{};  // 256 bytes + the 68 that are not printable
  std::vector<token_id> specials_;                   // longest spelling first
  std::vector<token_id> stops_;                      // sorted
};

/// Holds back the bytes of an unfinished UTF-8 character, so that what is printed is always whole.
class utf8_stream {
 public:
  /// Takes `bytes`; returns what is complete now. Bytes that can never become a character pass.
  [[nodiscard]] std::string push(std::string_view bytes) {
    held_.append(bytes);
    const std::size_t whole = complete_prefix(held_);
    std::string result = held_.substr(0, whole);
    held_.erase(0, whole);
    return result;
  }
  /// Returns what is held, complete or not.
  [[nodiscard]] std::string flush() { return std::exchange(held_, {}); }

 private:
  static std::size_t complete_prefix(std::string_view text) {
    // Only the last three bytes can belong to a character that is not finished.
    for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
      const auto byte = static_cast<unsigned char>(text[text.size() - back]);
      if (byte < 0x80) break;
      if (byte >= 0xc0) {
        const std::size_t length = byte >= 0xf8 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
        return length > back ? text.size() - back : text.size();
      }
    }
    return text.size();
  }

  std::string held_;
};

/// One message of a conversation.
struct chat_message {
  std::string_view role;  ///< "system", "user" or "assistant"
  std::string_view content;
};

/// The ChatML template, `<|im_start|>ROLE\nCONTENT<|im_end|>\n`, with the default system prompt
/// that the file's own template holds. Text of messages can never become control tokens.
class chat_template {
 public:
  /// Reads `tokenizer.chat_template`. Raises bad_file if it is missing or not ChatML, or if the
  /// vocabulary lacks its two control tokens.
  chat_template(const gguf& file, const tokenizer& tokens) : tokens_(&tokens) {
    const auto text = file.get<std::string_view>("tokenizer.chat_template");
    start_ = tokens.find("<|im_start|>");
    end_ = tokens.find("<|im_end|>");
    if (text.find("<|im_start|>") == text.npos || start_ == no_token || end_ == no_token)
      file.refuse("a ChatML template (<|im_start|> and <|im_end|>)", "another chat template");
    read_default_system(text);
  }

  /// The system prompt used when a conversation does not begin with one; empty if there is none.
  [[nodiscard]] const std::string& default_system() const noexcept { return default_system_; }

  /// Appends one message.
  void append(const chat_message& message, std::vector<token_id>& ids) const {
    ids.push_back(start_);
    // Role and content in one piece: merging may cross the line break, as it does when the
    // rendered template is encoded whole.
    std::string text(message.role);
    text.append("\n").append(message.content);
    tokens_->encode_to(text, false, ids);
    ids.push_back(end_);
    tokens_->encode_to("\n", false, ids);
  }

  /// Appends what makes the model answer.
  void append_generation_prompt(std::vector<token_id>& ids) const {
    ids.push_back(start_);
    tokens_->encode_to("assistant\n", false, ids);
  }

  /// The ids of a whole conversation, the default system prompt first if it has none of its own.
  [[nodiscard]] std::vector<token_id> encode(const std::vector<chat_message>& messages,
                                             bool add_generation_prompt = true) const {
    std::vector<token_id> ids;
    if (!messages.empty() && messages[0].role != "system" && !default_system_.empty())
      append({"system", default_system_}, ids);
    for (const chat_message& message : messages) append(message, ids);
    if (add_generation_prompt) append_generation_prompt(ids);
    return ids;
  }

 private:
  // The literal between `<|im_start|>system\n` and `<|im_end|>`, unless it is an expression.
  void read_default_system(std::string_view text) {
    for (const std::string_view opening : {"<|im_start|>system\n", "<|im_start|>system\\n"}) {
      const std::size_t at = text.find(opening);
      if (at == text.npos) continue;
      const std::size_t begin = at + opening.size();
      const std::size_t end = text.find("<|im_end|>", begin);
      if (end == text.npos) continue;
      const std::string_view literal = text.substr(begin, end - begin);
      if (literal.find_first_of("'\"{}") == literal.npos) {
        default_system_ = literal;
        return;
      }
    }
  }

  const tokenizer* tokens_;
  token_id start_ = no_token, end_ = no_token;
  std::string default_system_;
};

}  // namespace llama
