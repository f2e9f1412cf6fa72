// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a conversation needs beside the tokenizer: the chat template, and printing whole characters.
#pragma once

#include "gguf.hpp"
#include "tokenizer.hpp"

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace llama {

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
  /// Whether the file has a template that the constructor takes.
  [[nodiscard]] static bool is_in(const gguf& file, const tokenizer& tokens) {
    const auto text = file.find<std::string_view>("tokenizer.chat_template");
    return text && text->find("<|im_start|>") != text->npos &&
           tokens.find("<|im_start|>") != no_token && tokens.find("<|im_end|>") != no_token;
  }

  /// Reads `tokenizer.chat_template`. Raises bad_file if it is missing or not ChatML, or if the
  /// vocabulary lacks its two control tokens.
  chat_template(const gguf& file, const tokenizer& tokens) : tokens_(&tokens) {
    const auto text = file.get<std::string_view>("tokenizer.chat_template");
    if (!is_in(file, tokens))
      file.refuse("a ChatML template (<|im_start|> and <|im_end|>)", "another chat template");
    start_ = tokens.find("<|im_start|>");
    end_ = tokens.find("<|im_end|>");
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
    append_end_of_answer(ids);
  }

  /// Appends what makes the model answer.
  void append_generation_prompt(std::vector<token_id>& ids) const {
    ids.push_back(start_);
    tokens_->encode_to("assistant\n", false, ids);
  }

  /// Appends what ends an answer that the model was making.
  void append_end_of_answer(std::vector<token_id>& ids) const {
    ids.push_back(end_);
    tokens_->encode_to("\n", false, ids);
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
