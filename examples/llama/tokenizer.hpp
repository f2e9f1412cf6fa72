// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Byte-level BPE from the vocabulary and merges of a GGUF file. Gives the ids that llama.cpp gives,
// for broken UTF-8 too.
#pragma once

#include "gguf.hpp"
#include "pretokenizer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <queue>
#include <string>
#include <string_view>
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
      *find_slot(vocabulary_.tokens[i]) = static_cast<token_id>(i);
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
  [[nodiscard]] token_id find(std::string_view text) const { return *find_slot(text); }

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
  /// The slots of a hash table that says where in another table a key stands: a tenth of the memory
  /// of a map with nodes.
  class index_table {
   public:
    static constexpr std::int32_t nothing = -1;
    /// Makes room for `count` keys; forgets all.
    void reserve(std::size_t count) {
      std::size_t size = 16;
      while (size < 2 * count) size *= 2;
      slots_.assign(size, nothing);
    }
    /// The slot of the key with this hash for which is_key(index) is true, or the empty one where
    /// it belongs.
    template <class IsKey>
    [[nodiscard]] const std::int32_t* find(std::size_t hash, IsKey&& is_key) const {
      std::size_t at = hash & (slots_.size() - 1);
      while (slots_[at] != nothing && !is_key(slots_[at])) at = (at + 1) & (slots_.size() - 1);
      return &slots_[at];
    }

   private:
    std::vector<std::int32_t> slots_;
  };
  static_assert(no_token == index_table::nothing);

  [[nodiscard]] const token_id* find_slot(std::string_view text) const {
    return ids_.find(std::hash<std::string_view>()(text),
                     [&](token_id id) { return spelled(id) == text; });
  }
  [[nodiscard]] token_id* find_slot(std::string_view text) {
    return const_cast<token_id*>(std::as_const(*this).find_slot(text));
  }
  [[nodiscard]] const std::int32_t* find_merge(std::uint64_t pair) const {
    std::uint64_t hash = pair * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32;
    return merge_ranks_.find(static_cast<std::size_t>(hash), [&](std::int32_t rank) {
      return merge_pairs_[static_cast<std::size_t>(rank)] == pair;
    });
  }

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
    merge_ranks_.reserve(vocabulary_.merges.size());
    merge_pairs_.reserve(vocabulary_.merges.size());
    merge_results_.reserve(vocabulary_.merges.size());
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
      const std::uint64_t pair = pair_of(left, right);
      auto* slot = const_cast<std::int32_t*>(find_merge(pair));
      if (*slot == index_table::nothing) *slot = static_cast<std::int32_t>(i);
      merge_pairs_.push_back(pair);  // of equal ones the first counts
      merge_results_.push_back(result);
    }
    vocabulary_.merges = {};  // not needed any more
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
      if (const std::int32_t rank = *find_merge(pair_of(a, b)); rank != index_table::nothing)
        queue.push({rank, left, right, a, b, merge_results_[static_cast<std::size_t>(rank)]});
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
  index_table ids_, merge_ranks_;  // of the tokens; of the merges
  std::vector<std::uint64_t> merge_pairs_;
  std::vector<token_id> merge_results_;
  std::array<token_id, 256> byte_ids_{};
  std::array<std::string, 256> byte_text_;
  std::array<std::int16_t, 324> unicode_to_byte_{};  // 256 bytes + the 68 that are not printable
  std::vector<token_id> specials_;                   // longest spelling first
  std::vector<token_id> stops_;                      // sorted
};

}  // namespace llama
