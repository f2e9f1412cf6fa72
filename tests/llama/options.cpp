// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <llama/options.hpp>

#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

using arguments = std::vector<const char*>;

llama::options good(const arguments& given) {
  const auto result = llama::parse_options(given);
  if (const auto* problem = std::get_if<llama::usage_error>(&result)) {
    ADD_FAILURE() << problem->text;
    return {};
  }
  return std::get<llama::options>(result);
}

std::string bad(const arguments& given) {
  const auto result = llama::parse_options(given);
  const auto* problem = std::get_if<llama::usage_error>(&result);
  if (problem == nullptr) return "";
  EXPECT_EQ(problem->text.find('\n'), std::string::npos);
  return problem->text;
}

TEST(Options, Defaults) {
  const llama::options chosen = good({});
  EXPECT_FALSE(chosen.prompt.has_value());
  EXPECT_EQ(chosen.n, 128);
  EXPECT_EQ(chosen.dtype, llama::weight_dtype::q4);
  EXPECT_EQ(chosen.kv, llama::cache_dtype::f16);
  EXPECT_EQ(chosen.activations, llama::activation_dtype::q8);
  EXPECT_EQ(chosen.temperature, 0);
  EXPECT_EQ(chosen.top_p, 1);
  EXPECT_FALSE(chosen.json || chosen.chat || chosen.help);
}

TEST(Options, ReadsEach) {
  const llama::options chosen =
      good({"--model", "m.gguf",     "--prompt", "--n",     "--n=0",         "--threads",
            "2",       "--ctx",      "4096",     "--dtype", "bf16",          "--temperature",
            "0.7",     "--top-k=40", "--top-p",  "9e-1",    "--seed",        "18446744073709551615",
            "--json",  "--chat",     "--kv",     "f32",     "--activations", "f32"});
  EXPECT_EQ(chosen.model, "m.gguf");
  EXPECT_EQ(chosen.prompt, "--n");  // a value may look like an option
  EXPECT_EQ(chosen.n, 0);
  EXPECT_EQ(chosen.threads, 2);
  EXPECT_EQ(chosen.context, 4096);
  EXPECT_EQ(chosen.dtype, llama::weight_dtype::bf16);
  EXPECT_EQ(chosen.kv, llama::cache_dtype::f32);
  EXPECT_EQ(chosen.activations, llama::activation_dtype::f32);
  EXPECT_EQ(chosen.temperature, 0.7);
  EXPECT_EQ(chosen.top_k, 40);
  EXPECT_EQ(chosen.top_p, 0.9);
  EXPECT_EQ(chosen.seed, ~std::uint64_t{0});
  EXPECT_TRUE(chosen.json && chosen.chat);
  EXPECT_EQ(good({"--prompt="}).prompt, "");
  EXPECT_EQ(good({"--n", "1", "--n", "2"}).n, 2);
  EXPECT_TRUE(good({"-h"}).help);
  EXPECT_TRUE(good({"--score"}).score);
  EXPECT_EQ(good({"--device", "cuda"}).device, llama::device_kind::cuda);
  EXPECT_EQ(good({"--device", "opencl"}).device, llama::device_kind::opencl);
  EXPECT_EQ(good({"--device", "cuda"}).kv, llama::cache_dtype::bf16);
  EXPECT_EQ(good({"--kv", "f16", "--device", "cuda"}).kv, llama::cache_dtype::f16);
  EXPECT_EQ(good({"--synthetic", "llama-3-8b"}).synthetic, "llama-3-8b");
  EXPECT_EQ(good({"--synthetic", "tiny", "--prompt-tokens", "2048"}).prompt_tokens, 2048);
  EXPECT_EQ(good({"--synthetic", "tiny"}).dtype, llama::weight_dtype::bf16);
  EXPECT_EQ(good({"--dtype", "f32", "--synthetic", "tiny"}).dtype, llama::weight_dtype::f32);
}

TEST(Options, RefusesEachWrongValueInOneLine) {
  for (const arguments& given : std::vector<arguments>{{"--n", "-1"},
                                                       {"--n", ""},
                                                       {"--n", "1.5"},
                                                       {"--n", "12x"},
                                                       {"--n", " 1"},
                                                       {"--n", "2147483648"},
                                                       {"--n", "99999999999999999999"},
                                                       {"--threads", "0"},
                                                       {"--threads", "1025"},
                                                       {"--ctx", "0"},
                                                       {"--dtype", "f16"},
                                                       {"--dtype", ""},
                                                       {"--kv", "q8"},
                                                       {"--activations", "q4"},
                                                       {"--temperature", "-0.1"},
                                                       {"--temperature", "nan"},
                                                       {"--temperature", "inf"},
                                                       {"--temperature", "0x1"},
                                                       {"--temperature", "1e999"},
                                                       {"--temperature", "1,5"},
                                                       {"--top-k", "-1"},
                                                       {"--device", "gpu"},
                                                       {"--top-p", "0"},
                                                       {"--top-p", "1.01"},
                                                       {"--top-p", "1e"},
                                                       {"--seed", "-1"},
                                                       {"--seed", "18446744073709551616"}}) {
    const std::string text = bad(given);
    EXPECT_NE(text.find(given[0]), std::string::npos) << given[0] << ' ' << given[1];
    EXPECT_NE(text.find(std::string("'") + given[1] + "'"), std::string::npos) << text;
  }
  EXPECT_NE(bad({"--frobnicate"}).find("unknown option '--frobnicate'"), std::string::npos);
  EXPECT_NE(bad({"stray"}).find("unknown option 'stray'"), std::string::npos);
  EXPECT_NE(bad({"--n"}).find("needs a value"), std::string::npos);
  EXPECT_NE(bad({"--model", ""}).find("--model"), std::string::npos);
  EXPECT_NE(bad({"--json=yes"}).find("no value"), std::string::npos);
  EXPECT_NE(bad({"--chat", "--json"}).find("--prompt"), std::string::npos);
  EXPECT_NE(bad({"--chat", "--raw"}).find("--raw"), std::string::npos);
  EXPECT_NE(bad({"--score", "--json"}).find("--score"), std::string::npos);
  EXPECT_NE(bad({"--synthetic", "tiny", "--dtype", "q4"}).find("bf16"), std::string::npos);
  EXPECT_NE(bad({"--synthetic", "tiny", "--prompt", "x"}).find("--prompt"), std::string::npos);
  EXPECT_NE(bad({"--kv", "bf16"}).find("GPU"), std::string::npos);
  EXPECT_NE(bad({"--synthetic", ""}).find("--synthetic"), std::string::npos);
}

TEST(Options, ReadsThePromptFromTheStream) {
  std::istringstream input("two\nlines\n");
  EXPECT_EQ(llama::read_prompt(good({}), input), "two\nlines");
  std::istringstream unused("x");
  EXPECT_EQ(llama::read_prompt(good({"--prompt", "given"}), unused), "given");
  EXPECT_EQ(unused.get(), 'x');
}

TEST(Options, HelpSaysTheDefaults) {
  std::string usage(llama::usage);
  usage = std::regex_replace(usage, std::regex("\n {10,}"), " ");
  const std::regex line("(--[a-z-]+) [^\n]*\\(default ([^ :;)]+)");
  int count = 0;
  for (std::sregex_iterator at(usage.begin(), usage.end(), line), end; at != end; ++at, ++count)
    EXPECT_EQ(good({(*at)[1].str().c_str(), (*at)[2].str().c_str()}), good({})) << at->str();
  EXPECT_EQ(count, 10);
}

TEST(Options, HelpNamesEveryOption) {
  for (const char* name :
       {"--model",     "--prompt",      "--n ",    "--threads", "--dtype",
        "--kv",        "--temperature", "--top-k", "--top-p",   "--device",
        "--synthetic", "--seed",        "--json",  "--help",    "--chat",
        "--ctx",       "--activations", "--score", "--raw",     "--prompt-tokens"})
    EXPECT_NE(llama::usage.find(name), std::string_view::npos) << name;
}

}  // namespace
