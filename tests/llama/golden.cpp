// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// That the committed golden data belong to the tokenizer's ids; the forward pass that must give
// their logits and tokens is tested in program.cpp.
#include <llama/chat.hpp>
#include <llama/tokenizer.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

TEST(Golden, PromptsHaveTheIdsOfTheTokenizer) {
  std::ifstream stream(FLAGGEMS_TEST_SOURCE_DIR "/tests/llama/data/golden.json");
  const nlohmann::json golden = nlohmann::json::parse(stream);
  ASSERT_EQ(golden["prompts"].size(), 5U);
  ASSERT_EQ(golden["sample_ids"].size(), 512U);
  for (const auto& prompt : golden["prompts"]) {
    EXPECT_EQ(prompt["greedy"].size(), 64U);
    EXPECT_EQ(prompt["top_ids"].size(), 64U);
    EXPECT_EQ(prompt["top_ids"][0], prompt["greedy"][0]);
    EXPECT_EQ(prompt["sample_logits"].size(), 512U);
  }
  const char* path = std::getenv("FLAGGEMS_TEST_MODEL");
  if (path == nullptr)
    GTEST_SKIP() << "FLAGGEMS_TEST_MODEL is not set (examples/llama/fetch_model.py)";
  const llama::gguf file = llama::gguf::open(path);
  const llama::tokenizer tokens(file);
  const llama::chat_template chat(file, tokens);
  for (const auto& prompt : golden["prompts"]) {
    const auto text = prompt["text"].get<std::string>();
    const auto ids =
        prompt["chat"].get<bool>() ? chat.encode({{"user", text}}) : tokens.encode(text);
    EXPECT_EQ(ids, prompt["ids"].get<std::vector<llama::token_id>>()) << prompt["name"];
  }
}

}  // namespace
