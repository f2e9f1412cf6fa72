// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes small GGUF files in memory, right and wrong ones, for the tests and the fuzzer's seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace llama::test {

/// The bytes of a GGUF file in the making; nothing is checked, so that wrong files can be made.
class gguf_builder {
 public:
  std::uint32_t version = 3;
  std::uint32_t alignment = 32;

  void string(std::string_view key, std::string_view value) {
    begin(key, 8);
    put_string(metadata_, value);
  }
  template <class Number>
  void number(std::string_view key, std::uint32_t type, Number value) {
    begin(key, type);
    put(metadata_, value);
  }
  void u32(std::string_view key, std::uint32_t value) { number(key, 4, value); }
  void f32(std::string_view key, float value) { number(key, 6, value); }
  void boolean(std::string_view key, bool value) {
    number(key, 7, static_cast<std::uint8_t>(value));
  }
  void strings(std::string_view key, const std::vector<std::string>& values) {
    begin(key, 9);
    put(metadata_, std::uint32_t{8});
    put(metadata_, std::uint64_t{values.size()});
    for (const std::string& value : values) put_string(metadata_, value);
  }
  template <class Number>
  void numbers(std::string_view key, std::uint32_t type, const std::vector<Number>& values) {
    begin(key, 9);
    put(metadata_, type);
    put(metadata_, std::uint64_t{values.size()});
    for (const Number value : values) put(metadata_, value);
  }
  /// An array of u8 inside `depth` - 1 arrays of one element.
  void nested(std::string_view key, std::uint32_t depth) {
    begin(key, 9);
    for (std::uint32_t i = 1; i < depth; ++i) {
      put(metadata_, std::uint32_t{9});
      put(metadata_, std::uint64_t{1});
    }
    put(metadata_, std::uint32_t{0});
    put(metadata_, std::uint64_t{2});
    metadata_ += "ab";
  }
  void tensor(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
              std::string_view bytes) {
    tensor_at(name, dims, type, data_.size());
    data_.append(bytes);
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
  }
  /// A row of the tensor table without data.
  void tensor_at(std::string_view name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                 std::uint64_t offset) {
    put_string(table_, name);
    put(table_, static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t size : dims) put(table_, size);
    put(table_, type);
    put(table_, offset);
    ++tensors_;
  }

  [[nodiscard]] std::string bytes() const { return bytes(tensors_, entries_); }
  [[nodiscard]] std::string bytes(std::uint64_t tensors, std::uint64_t entries) const {
    std::string file = "GGUF";
    put(file, version);
    put(file, tensors);
    put(file, entries);
    file += metadata_;
    file += table_;
    if (tensors_ != 0) file.resize((file.size() + alignment - 1) / alignment * alignment);
    return file + data_;
  }

 private:
  template <class Number>
  static void put(std::string& to, Number value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    to.append(bytes, sizeof value);
  }
  static void put_string(std::string& to, std::string_view text) {
    put(to, std::uint64_t{text.size()});
    to.append(text);
  }
  void begin(std::string_view key, std::uint32_t type) {
    put_string(metadata_, key);
    put(metadata_, type);
    ++entries_;
  }

  std::string metadata_, table_, data_;
  std::uint64_t tensors_ = 0, entries_ = 0;
};

[[nodiscard]] inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// A vocabulary of all single bytes, a few merges and control tokens, and small tensors.
[[nodiscard]] inline gguf_builder small_model(std::string_view pre = "smollm") {
  gguf_builder file;
  file.string("general.architecture", "llama");
  file.u32("llama.block_count", 2);
  file.f32("llama.rope.freq_base", 10000.0F);
  file.string("tokenizer.ggml.model", "gpt2");
  file.string("tokenizer.ggml.pre", pre);
  std::vector<std::string> tokens{"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<user>"};
  std::vector<std::int32_t> types{3, 3, 3, 4};
  for (char c = '!'; c <= '~'; ++c) tokens.push_back(std::string(1, c));
  // The byte alphabet's names of space, line break and two bytes of UTF-8.
  for (const char* text : {"\xC4\xA0", "\xC4\x8A", "\xC3\x83", "\xC2\xA9", "he", "ll", "hell",
                           "hello", "\xC4\xA0hello", "\xC3\x83\xC2\xA9"})
    tokens.emplace_back(text);
  types.resize(tokens.size(), 1);
  file.strings("tokenizer.ggml.tokens", tokens);
  file.numbers("tokenizer.ggml.token_type", 5, types);
  file.strings("tokenizer.ggml.merges",
               {"h e", "l l", "he ll", "hell o", "\xC4\xA0 hello", "\xC3\x83 \xC2\xA9"});
  file.u32("tokenizer.ggml.bos_token_id", 1);
  file.u32("tokenizer.ggml.eos_token_id", 2);
  file.boolean("tokenizer.ggml.add_bos_token", false);
  file.string("tokenizer.chat_template",
              "{% if x %}{{ '<|im_start|>system\nBe kind<|im_end|>\n' }}{% endif %}<|im_end|>");
  file.nested("test.nested", 3);
  file.tensor("a", {64, 2}, 3, std::string(80, '\1'));
  file.tensor("b", {5}, 0, std::string(20, '\2'));
  file.tensor("c", {256}, 14, std::string(210, '\3'));
  return file;
}

}  // namespace llama::test
