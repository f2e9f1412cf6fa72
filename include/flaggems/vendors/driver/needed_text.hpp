// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The declarations of the library's texts that a source needs: to parse the others takes a runtime
// compiler longer. One is left out if nothing that stays says its name.
#pragma once

#include <flaggems/vendors/driver/kernel_text.hpp>

#include <algorithm>

namespace flaggems::detail {

[[nodiscard]] constexpr bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// A text as words, signs, literals and directives (to the end of their last line).
[[nodiscard]] inline std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> found;
  bool begins_line = true;
  const auto line_end = [&](std::size_t at) {
    return (std::min)(text.find('\n', at), text.size());
  };
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    const char c = text[at];
    end = at + 1;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      begins_line = begins_line || c == '\n';
      continue;
    }
    if (text.compare(at, 2, "//") == 0) {
      end = line_end(at);
      continue;
    }
    if (text.compare(at, 2, "/*") == 0) {
      end = text.find("*/", at + 2);
      end = end == text.npos ? text.size() : end + 2;
      continue;
    }
    if (c == '#' && begins_line) {
      end = line_end(at);
      while (end < text.size() && text[end - 1] == '\\') end = line_end(end + 1);
    } else if (c == '"' || c == '\'') {
      while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
      end = (std::min)(end + 1, text.size());
    } else if (c >= '0' && c <= '9') {
      while (end < text.size() && (text[end] == '\'' || text[end] == '.' || is_letter(text[end])))
        ++end;
    } else if (is_letter(c)) {
      while (end < text.size() && is_letter(text[end])) ++end;
    } else if (text.compare(at, 2, "::") == 0) {
      end = at + 2;
    }
    begins_line = false;
    found.push_back(text.substr(at, end - at));
  }
  return found;
}

/// The texts that a source includes, without the declarations that it does not need.
class needed_texts {
 public:
  std::vector<const char*> names, texts;

  needed_texts(const kernel_texts& all, std::string_view source) : said_(hashes) {
    tokens_.reserve(all.names.size());
    const tokens lines = tokens_of(source);
    for (const std::string_view token : lines) include(all, token);
    for (const std::string_view token : lines)
      if (is_word(token)) say(token);
    for (text_ = 0; text_ < names.size(); ++text_) {
      const bool is_library = std::string_view(names[text_]).substr(0, 17) == "flaggems/kernels/";
      if (is_library)
        read_scope(0, tokens_[text_].size(), none, {});
      else  // the user's stay as they are
        declared_.push_back({text_, none, 0, {}, 0, tokens_[text_].size(), {}, false});
    }
    while (keep_more()) {
    }
    kept_.reserve(names.size());
    for (text_ = 0; text_ < names.size(); ++text_) texts[text_] = rest_of(texts[text_]);
  }

 private:
  using tokens = std::vector<std::string_view>;
  static constexpr std::size_t none = ~std::size_t(0), hashes = std::size_t(1) << 18;

  // What stands at a namespace's scope, or a member function.
  struct declaration {
    std::size_t text, within;    // its text; the class that it is a member of, if any
    std::size_t name;            // the name's hash; 0: it stays
    std::string_view range;      // what is left out with it
    std::size_t first, last;     // its tokens, without those of member functions
    std::string_view directive;  // or a directive's words
    bool stays;
  };

  static bool is_word(std::string_view token) noexcept {
    return is_letter(token[0]) && (token[0] < '0' || token[0] > '9');
  }
  static bool is_directive(std::string_view token) noexcept {
    return token[0] == '#' && token.size() > 1;
  }
  // Two words with the same: a declaration more may stay.
  static std::size_t hash_of(std::string_view word, std::string_view end = {}) noexcept {
    u64 hash = 0xcbf29ce484222325u;
    for (const std::string_view part : {word, end})
      for (const char c : part) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return static_cast<std::size_t>(hash >> 32) % (hashes - 1) + 1;
  }
  void say(std::string_view token) {
    if (is_word(token)) said_[hash_of(token)] = true;
    if (is_directive(token)) say_all(token.substr(1));
  }
  void say_all(std::string_view words) {
    for (const std::string_view word : tokens_of(words)) say(word);
  }

  // Takes in what a directive includes.
  void include(const kernel_texts& all, std::string_view directive) {
    if (directive.substr(0, 8) != "#include") return;
    std::string_view name = directive.substr(directive.find_first_of("<\"") + 1);
    name = name.substr(0, name.find_first_of(">\""));
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    for (std::size_t k = 0; k < all.names.size(); ++k) {
      if (all.names[k] != name) continue;
      const tokens& included = tokens_.emplace_back(tokens_of(all.texts[k]));
      names.push_back(all.names[k]);
      texts.push_back(all.texts[k]);
      for (const std::string_view token : included) include(all, token);
      return;
    }
  }

  // Behind the bracket that closes the one at `at`, which may be a template's.
  [[nodiscard]] std::size_t behind(std::size_t at, std::size_t end) const {
    const tokens& all = tokens_[text_];
    const bool angles = all[at] == "<";
    for (int depth = 0, angle = 0; at < end; ++at) {
      const char c = all[at].size() == 1 ? all[at][0] : ' ';
      depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
      if (angles && depth == 0) angle += c == '<' ? 1 : c == '>' ? -1 : 0;
      if (depth == 0 && angle == 0) return at + 1;
    }
    return end;
  }
  // The tokens from `at` to `end`, at a namespace's scope or in a class.
  void read_scope(std::size_t at, std::size_t end, std::size_t within,
                  std::string_view class_name) {
    const tokens& all = tokens_[text_];
    while (at < end) {
      const std::string_view token = all[at];
      if (token == "namespace") {
        while (at + 1 < end && all[at] != "{") ++at;
        const std::size_t last = behind(at, end);
        read_scope(at + 1, last - 1, within, class_name);
        at = last;
      } else if (token == "public" || token == "private" || token == "protected") {
        at += 2;
      } else if (is_directive(token)) {
        read_directive(token.substr(1));
        ++at;
      } else {
        at = read(at, end, within, class_name);
      }
    }
  }
  // A macro says its words where it is said. A row of a table, "RULE(name, ...", declares the
  // functor name_fn.
  void read_directive(std::string_view words) {
    constexpr std::string_view define = "define ", table = "_TABLE";
    const auto add = [&](std::size_t name, std::string_view range, std::string_view said) {
      declared_.push_back({text_, none, name, range, 0, 0, said, false});
    };
    if (words.substr(0, define.size()) != define) return add(0, {}, words);
    words.remove_prefix(define.size());
    const std::string_view name = words.substr(0, words.find_first_not_of(letters_of_names));
    const bool is_table =
        name.size() > table.size() && name.substr(name.size() - table.size()) == table;
    bool is_row = false;
    while (!words.empty()) {
      const std::string_view line = is_table ? words.substr(0, words.find("\\\n")) : words;
      words.remove_prefix((std::min)(line.size() + 2, words.size()));
      const std::size_t first = line.find('(') + 1;
      if (is_row)
        add(hash_of(line.substr(first, line.find(',') - first), "_fn"), line, line);
      else
        add(hash_of(name), {}, line);
      is_row = true;
    }
  }
  // The declaration at `at`; behind it.
  std::size_t read(std::size_t at, std::size_t end, std::size_t within,
                   std::string_view class_name) {
    const tokens& all = tokens_[text_];
    const std::size_t first = at;
    // Its name stands before the first of some signs. Macros, what compilers have, operators and
    // enumerations stay: they are used without their names.
    std::string_view name;
    bool is_class = false, stays = false;
    while (at < end && !is_directive(all[at])) {
      const std::string_view token = all[at];
      if (token == "<" || token == "alignas") {
        at = behind(token == "<" ? at : at + 1, end);
        continue;
      }
      if (token.size() == 1 && std::string_view("(={;:[").find(token[0]) != token.npos) break;
      is_class = is_class || token == "struct" || token == "class" || token == "union";
      stays = stays || token == "operator" || token == "enum";
      if (token != "template" && is_word(token)) name = token;
      ++at;
      if (token == "operator")
        while (at < end && all[at] != "(") ++at;
    }
    const bool is_function = at < end && all[at] == "(" && !is_class;
    std::size_t body = none;
    bool has_several = false;
    while (at < end && !is_directive(all[at])) {
      const std::string_view token = all[at];
      const bool opens = token == "(" || token == "[" || token == "{";
      if (token == "{" && body == none) body = at;
      has_several = has_several || token == ",";
      at = opens ? behind(at, end) : at + 1;
      if (token == ";" || (token == "{" && is_function)) break;
    }
    stays = stays || name.empty() || name.substr(0, 9) == "FLAGGEMS_" ||
            name.substr(0, 2) == "__" || name == "static_assert" ||
            (has_several && !is_function && !is_class);  // variables that are declared together
    if (within != none)  // and members that are not functions, and constructors
      stays = stays || !is_function || body == none || name == class_name;
    const char* const begin = all[first].data();
    const char* const last = all[at - 1].data() + all[at - 1].size();
    const std::size_t index = declared_.size();
    declared_.push_back({text_,
                         within,
                         stays ? 0 : hash_of(name),
                         {begin, static_cast<std::size_t>(last - begin)},
                         first,
                         at,
                         {},
                         false});
    if (is_class && body != none && within == none) {
      declared_[index].last = body;
      read_scope(body + 1, behind(body, end) - 1, index, name);
    }
    return at;
  }

  // Keeps what is needed by what is kept so far. Whether there was any.
  bool keep_more() {
    bool any = false;
    for (declaration& d : declared_) {
      if (d.stays || (d.within != none && !declared_[d.within].stays) ||
          (d.name != 0 && !said_[d.name]))
        continue;
      d.stays = any = true;
      for (std::size_t k = d.first; k < d.last; ++k) say(tokens_[d.text][k]);
      say_all(d.directive);
    }
    return any;
  }
  // A text without what does not stay; its lines keep their numbers.
  const char* rest_of(const char* at) {
    std::string& rest = kept_.emplace_back();
    for (const declaration& d : declared_)
      if (d.text == text_ && !d.stays && (d.within == none || declared_[d.within].stays) &&
          !d.range.empty()) {
        rest.append(at, d.range.data());
        rest.append(static_cast<std::size_t>(std::count(d.range.begin(), d.range.end(), '\n')),
                    '\n');
        at = d.range.data() + d.range.size();
      }
    rest += at;
    return rest.c_str();
  }

  std::size_t text_ = 0;        // the text that is read
  std::vector<tokens> tokens_;  // of each text
  std::vector<declaration> declared_;
  std::vector<bool> said_;         // by words' hashes
  std::vector<std::string> kept_;  // what is left of each text
};

}  // namespace flaggems::detail
