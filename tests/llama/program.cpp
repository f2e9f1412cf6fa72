// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What the program refuses, its sampling and its report on the host; the real model
// (FLAGGEMS_TEST_MODEL) against the committed golden data.
#include <llama/instances.hpp>
#include <llama/random_model.hpp>
#include <llama/report.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace llama::test;  // NOLINT(google-build-using-namespace)
using llama::token_id;

// ---- what is refused

/// What loading `file` is refused with; empty if it is not.
std::string refusal(const gguf_builder& builder) {
  const std::string bytes = builder.bytes();
  try {
    const auto file = llama::gguf::parse(llama::test::as_bytes(bytes));
    const fg::stream<fg::host> stream;
    const llama::model<fg::host> model(file, stream);
  } catch (const fg::error& problem) {
    EXPECT_EQ(problem.code(), fg::errc::bad_file) << problem.what();
    return problem.what();
  }
  return {};
}

void expect_refused(const gguf_builder& builder, const std::string& text) {
  const std::string what = refusal(builder);
  EXPECT_NE(what.find(text), std::string::npos) << "got: " << what << "\nwithout: " << text;
  EXPECT_EQ(what.find('\n'), std::string::npos);
}

TEST(ModelFile, IsRefusedWithOneLine) {
  EXPECT_EQ(refusal(random_model({}).file), "");
  expect_refused(llama::test::small_model(), "'llama.embedding_length'");
  {
    gguf_builder other;
    other.string("general.architecture", "mamba");
    expect_refused(other, "'mamba'");
  }
  const auto with = [](auto&& change) {
    small_sizes sizes;
    change(sizes);
    return random_model(sizes).file;
  };
  expect_refused(with([](auto& s) { s.kv_heads = 3; }), "multiple of the key and value heads");
  expect_refused(with([](auto& s) { s.rotary = 18; }), "llama.rope.dimension_count");
  expect_refused(with([](auto& s) { s.rope_factor = -1; }), "llama.rope.scaling.factor");
  // Finite and positive as f64 only.
  for (const double number : {1e300, 1e-300, 0.0, -1.0}) {
    expect_refused(with([&](auto& s) { s.eps = number; }), "layer_norm_rms_epsilon");
    expect_refused(with([&](auto& s) { s.rope_base = number; }), "llama.rope.freq_base");
  }
  expect_refused(with([](auto& s) { s.layers = 0; }), "'llama.block_count'");
  const auto plus = [](auto&& change) {
    random_model model({});
    change(model.file);
    return model.file;
  };
  expect_refused(plus([](auto& f) { f.u32("llama.expert_count", 8); }), "without experts");
  expect_refused(plus([](auto& f) { f.string("llama.rope.scaling.type", "yarn"); }), "'yarn'");
  expect_refused(plus([](auto& f) { f.u32("llama.attention.value_length", 8); }), "one length");
  expect_refused(
      plus([](auto& f) { f.tensor("blk.0.attn_q.bias", {64}, f32, std::string(256, 0)); }),
      "'blk.0.attn_q.bias'");
  expect_refused(
      plus([](auto& f) { f.tensor("blk.7.attn_q.weight", {1}, f32, std::string(4, 0)); }),
      "2 layers");
  expect_refused(plus([](auto& f) { f.tensor("output.weight", {256}, q6_k, std::string(210, 0)); }),
                 "Q6_K");
  expect_refused(plus([](auto& f) { f.tensor("output.weight", {64}, f32, std::string(256, 0)); }),
                 "sizes [40, 64]");
}

TEST(Model, RefusesWhatDoesNotFit) {
  const std::string bytes = random_model({}).file.bytes();
  const auto file = llama::gguf::parse(llama::test::as_bytes(bytes));
  const fg::stream<fg::host> stream;
  llama::model<fg::host> model(file, stream);
  model.reserve(4);
  const auto code = [&](const std::vector<token_id>& ids) {
    try {
      (void)model.run(ids);
    } catch (const fg::error& problem) {
      return problem.code();
    }
    return fg::errc::driver_error;
  };
  EXPECT_EQ(code({}), fg::errc::invalid_argument);
  EXPECT_EQ(code({1, 2, 3, 4, 5}), fg::errc::out_of_range);
  EXPECT_EQ(code({40}), fg::errc::out_of_range);
  EXPECT_EQ(code({-1}), fg::errc::out_of_range);
  EXPECT_EQ(model.past(), 0);
}

// ---- sampling

std::vector<int> draws(const llama::sampling& how, const std::vector<float>& logits, int count) {
  const fg::stream<fg::host> stream;
  llama::sampler<fg::host> sampler(stream, how, static_cast<i64>(logits.size()));
  const fg::tensor_view<const float> view(logits.data(), {static_cast<i64>(logits.size())});
  std::vector<int> result;
  for (int i = 0; i < count; ++i) result.push_back(sampler.next(view));
  return result;
}

TEST(Sampler, TakesTheBestWhenItMust) {
  const std::vector<float> logits{0.5F, -1, 3, 2.5F, -7};
  for (const llama::sampling& how :
       {llama::sampling{}, llama::sampling{1, 1, 1, 4}, llama::sampling{1, 0, 1e-6, 4},
        llama::sampling{1e-3, 0, 1, 4}, llama::sampling{1e-38, 0, 1, 4},
        llama::sampling{1e-38, 3, 1, 4}, llama::sampling{1e-300, 0, 1, 4},
        llama::sampling{1e-300, 2, 0.5, 4}})
    EXPECT_EQ(draws(how, logits, 20), std::vector<int>(20, 2));
}

TEST(Sampler, DrawsInProportion) {
  const std::vector<float> logits{std::log(1.F), std::log(2.F), std::log(3.F), std::log(4.F)};
  constexpr int count = 4000;
  const auto shares = [&](const llama::sampling& how) {
    std::vector<double> share(4, 0);
    for (const int id : draws(how, logits, count))
      share[static_cast<std::size_t>(id)] += 1.0 / count;
    return share;
  };
  const auto expect = [](const std::vector<double>& got, const std::vector<double>& want) {
    // Five standard deviations of a share of 4000 draws.
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(got[i], want[i],
                  want[i] == 0 ? 0 : 5 * std::sqrt(want[i] * (1 - want[i]) / count));
  };
  expect(shares({1, 0, 1, 5}), {0.1, 0.2, 0.3, 0.4});
  expect(shares({0.5, 0, 1, 5}), {1 / 30., 4 / 30., 9 / 30., 16 / 30.});
  expect(shares({1, 2, 1, 5}), {0, 0, 3 / 7., 4 / 7.});
  expect(shares({1, 0, 0.6, 5}), {0, 0, 3 / 7., 4 / 7.});
  expect(shares({1, 3, 0.7, 5}), {0, 0, 3 / 7., 4 / 7.});
  expect(shares({1, 9, 1, 5}), {0.1, 0.2, 0.3, 0.4});
}

TEST(Sampler, RepeatsItselfForASeed) {
  const std::vector<float> logits(100, 0.F);
  EXPECT_EQ(draws({1, 0, 1, 7}, logits, 50), draws({1, 0, 1, 7}, logits, 50));
  EXPECT_NE(draws({1, 0, 1, 7}, logits, 50), draws({1, 0, 1, 8}, logits, 50));
}

TEST(Report, IsJsonForAnyBytes) {
  const std::string text = "a\"\\\n\x01\x7f\xc3\xa9\xf0\x9f\x98\x80\xff\xed\xa0\x80/";
  const std::string quoted = llama::json_string(text);
  EXPECT_EQ(nlohmann::json::parse(quoted).get<std::string>(),
            "a\"\\\n\x01\x7f\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd/");
  std::ostringstream out;
  llama::print_json(out, text, {4, 5}, llama::ending::length, {});
  const auto object = nlohmann::json::parse(out.str());
  EXPECT_EQ(object["ids"].get<std::vector<int>>(), (std::vector<int>{4, 5}));
  EXPECT_EQ(object["end"], "length");
}

// ---- the real model

class Golden : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    path = std::getenv("FLAGGEMS_TEST_MODEL");
    if (path == nullptr)
      GTEST_SKIP() << "FLAGGEMS_TEST_MODEL is not set (examples/llama/fetch_model.py)";
    std::ifstream stream(FLAGGEMS_TEST_SOURCE_DIR "/tests/llama/data/golden.json");
    golden = nlohmann::json::parse(stream);
    prompt = golden["prompts"][static_cast<std::size_t>(GetParam())];
    ids = prompt["ids"].get<std::vector<token_id>>();
  }

  /// With a cache in f32, the logits that are checked are within 1e-3 of their own norm. Softmax
  /// ignores an offset that all logits share, and the best of them may stand near 0 (in 'story' the
  /// 64 best have norm 17 of all logits' 3,546), so that theirs says little of the error; with a
  /// cache in f16 (2^-12 of each key) it is the norm of as many logits of the vocabulary.
  void expect_logits(const fg::tensor_view<const float>& logits, llama::cache_dtype cache) {
    const double mean_square = prompt["norm"].get<double>() * prompt["norm"].get<double>() /
                               static_cast<double>(logits.numel());
    const auto check = [&](const nlohmann::json& at, const nlohmann::json& want) {
      double squares = 0, norm = 0, worst = 0, largest = 0;
      for (std::size_t k = 0; k < at.size(); ++k) {
        const double x = want[k].get<double>(), difference = logits(at[k].get<i64>()) - x;
        squares += difference * difference;
        norm += x * x;
        worst = (std::max)(worst, std::abs(difference));
        largest = (std::max)(largest, std::abs(x));
      }
      if (cache == llama::cache_dtype::f16) {
        norm = mean_square * static_cast<double>(at.size());
        largest = (std::max)(largest, std::sqrt(mean_square));
      }
      EXPECT_LT(std::sqrt(squares / norm), 1e-3);
      EXPECT_LT(worst / largest, 1e-3);
      RecordProperty("distance", std::to_string(std::sqrt(squares / norm)));
    };
    check(golden["sample_ids"], prompt["sample_logits"]);
    check(prompt["top_ids"], prompt["top_logits"]);
  }

  const char* path = nullptr;
  nlohmann::json golden, prompt;
  std::vector<token_id> ids;
};

TEST_P(Golden, LogitsAndGreedyTokens) {
  const auto file = llama::gguf::open(path);
  const fg::stream<fg::host> stream;
  for (const auto cache : {llama::cache_dtype::f16, llama::cache_dtype::f32}) {
    SCOPED_TRACE(cache == llama::cache_dtype::f16 ? "cache in f16" : "cache in f32");
    llama::model<fg::host> model(file, stream, llama::weight_dtype::q4, cache);
    llama::sampler<fg::host> best(stream, {}, model.sizes().vocabulary);
    model.reserve(static_cast<i64>(ids.size()) + 64);
    auto logits = model.run(ids);
    expect_logits(logits, cache);
    std::vector<token_id> tokens;
    for (int i = 0; i < 64; ++i) {
      if (i > 0) logits = model.run({&tokens.back(), 1});
      tokens.push_back(best.next(logits));
    }
    EXPECT_EQ(tokens, prompt["greedy"].get<std::vector<token_id>>());
  }
}

TEST_P(Golden, LogitsWithWeightsInF32) {
  const auto file = llama::gguf::open(path);
  const fg::stream<fg::host> stream;
  llama::model<fg::host> model(file, stream, llama::weight_dtype::f32, llama::cache_dtype::f32);
  model.reserve(static_cast<i64>(ids.size()));
  expect_logits(model.run(ids), llama::cache_dtype::f32);
}

INSTANTIATE_TEST_SUITE_P(Prompts, Golden, ::testing::Range(0, 5));

}  // namespace
