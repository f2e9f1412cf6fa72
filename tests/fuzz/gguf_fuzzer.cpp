// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer harness: the GGUF reader, the tokenizer built from what it read, and text through it.
// Whatever the bytes, the only way out but success is flaggems::error. run.sh builds
// and runs it; compiled with -DFLAGGEMS_FUZZ_SEEDS and without libFuzzer, `--write-seeds DIR`
// writes the small valid files to begin with, and file names are inputs to run once.
#include <llama/chat.hpp>
#include <llama/gguf.hpp>
#include <llama/gguf_builder.hpp>
#include <llama/tokenizer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

volatile std::size_t sink;

template <class Run>
void attempt(Run run) {
  try {
    run();
  } catch (const flaggems::error& problem) {
    // One line for a person, never more.
    if (std::string_view(problem.what()).find('\n') != std::string_view::npos) std::abort();
  }
}

void read_everything(const llama::gguf& file) {
  std::size_t sum = 0;
  for (const llama::tensor_info& tensor : file.tensors()) {
    if (!tensor.bytes.empty())
      sum += static_cast<std::size_t>(tensor.bytes.front()) +
             static_cast<std::size_t>(tensor.bytes.back());
    attempt([&] { sum += file.tensor(tensor.name).bytes.size(); });
  }
  for (std::size_t i = 0; i < file.metadata_count(); ++i) {
    const std::string_view key = file.metadata_key(i);
    attempt([&] { sum += file.get<std::string_view>(key).size(); });
    attempt([&] { sum += file.get<std::uint32_t>(key); });
    attempt([&] { sum += file.get<double>(key) > 0 ? 1 : 0; });
    attempt([&] { sum += file.get<bool>(key) ? 1 : 0; });
    attempt([&] {
      const auto texts = file.find_array<std::string_view>(key);
      for (const std::string_view text : *texts) sum += text.size();
    });
    attempt([&] { sum += file.find_array<std::int32_t>(key)->size(); });
  }
  sink = sum;
}

void use_tokenizer(const llama::gguf& file, std::string_view raw) {
  const llama::tokenizer tokens(file);
  for (const std::string_view text :
       {std::string_view("hello <|im_start|> h\xC3\xA9llo 123 \xff\xf0\x9f  \n\t'll x"), raw})
    for (const bool special : {false, true}) {
      const std::vector<llama::token_id> ids = tokens.encode(text, special);
      std::string shown;
      llama::utf8_stream stream;
      for (const llama::token_id id : ids) {
        std::string piece;
        tokens.decode_to(id, piece, true);
        shown += stream.push(piece);
        sink = tokens.is_stop(id) ? 1 : 0;
      }
      shown += stream.flush();
      if (shown != tokens.decode(ids, true)) std::abort();
    }
  const llama::chat_template chat(file, tokens);
  sink = chat.encode({{"user", raw}}).size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  attempt([&] {
    const llama::gguf file = llama::gguf::parse(bytes);
    read_everything(file);
    const std::string_view tail(reinterpret_cast<const char*>(data), size);
    use_tokenizer(file, tail.substr(size - (size < 256 ? size : 256)));
  });
  return 0;
}

#ifdef FLAGGEMS_FUZZ_SEEDS
// Writes the seeds, or runs the inputs given: a regression test without libFuzzer.
int main(int count, char** arguments) {
  const std::vector<std::string> given(arguments + 1, arguments + count);
  if (given.size() == 2 && given[0] == "--write-seeds") {
    int number = 0;
    for (const char* pre : {"smollm", "gpt-2", "llama-bpe", "qwen2"})
      std::ofstream(given[1] + "/seed" + std::to_string(number++), std::ios::binary)
          << llama::test::small_model(pre).bytes();
    llama::test::gguf_builder tiny;
    tiny.version = 2;
    tiny.u32("general.alignment", 8);
    tiny.alignment = 8;
    tiny.tensor("x", {32}, 8, std::string(34, 'x'));
    std::ofstream(given[1] + "/seed" + std::to_string(number), std::ios::binary) << tiny.bytes();
    return 0;
  }
  for (const std::string& path : given) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  return 0;
}
#endif
