// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The forward pass: a small random model against a reference in double, on the host and on the
// emulated chip; the real model (FLAGGEMS_TEST_MODEL) against the committed golden data.
#include <llama/generate.hpp>
#include <llama/gguf_builder.hpp>
#include <llama/instances.hpp>
#include <llama/report.hpp>

#include <flaggems/vendors/simt.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

extern template class llama::matrix<flaggems::simt32>;
extern template class llama::weight_source<flaggems::simt32>;
extern template class llama::model<flaggems::simt32>;
extern template class llama::sampler<flaggems::simt32>;

namespace {

namespace fg = flaggems;
using fg::i64;
using llama::token_id;
using llama::test::gguf_builder;
using values = std::vector<double>;

// ---- a small random model and its reference

struct small_sizes {
  std::size_t layers = 2, width = 64, hidden = 96, heads = 4, kv_heads = 2, head = 16, rotary = 16;
  std::size_t vocabulary = 40;
  double rope_factor = 1, rope_base = 500, eps = 1e-5F;
  bool own_output = false, divisors = false;
};

enum : std::uint32_t { f32 = 0, f16 = 1, q4_0 = 2, q4_1 = 3, q8_0 = 8, bf16 = 30, q6_k = 14 };

/// Random tensors as the file's bytes and, decoded here, as numbers.
class random_model {
 public:
  explicit random_model(const small_sizes& sizes, unsigned seed = 1)
      : sizes_(sizes), random_(seed) {
    const auto count = [&](const char* key, std::size_t n) {
      file.u32(key, static_cast<std::uint32_t>(n));
    };
    file.string("general.architecture", "llama");
    count("llama.block_count", sizes.layers);
    count("llama.embedding_length", sizes.width);
    count("llama.feed_forward_length", sizes.hidden);
    count("llama.context_length", 64);
    count("llama.attention.head_count", sizes.heads);
    count("llama.attention.head_count_kv", sizes.kv_heads);
    count("llama.attention.key_length", sizes.head);
    count("llama.rope.dimension_count", sizes.rotary);
    file.number("llama.attention.layer_norm_rms_epsilon", 12, sizes.eps);
    file.number("llama.rope.freq_base", 12, sizes.rope_base);
    if (sizes.rope_factor != 1) {
      file.string("llama.rope.scaling.type", "linear");
      file.f32("llama.rope.scaling.factor", static_cast<float>(sizes.rope_factor));
    }
    const std::size_t q = sizes.heads * sizes.head, kv = sizes.kv_heads * sizes.head;
    add("token_embd.weight", sizes.vocabulary, sizes.width, sizes.own_output ? f16 : q8_0);
    if (sizes.own_output) add("output.weight", sizes.vocabulary, sizes.width, q4_0);
    if (sizes.divisors) add("rope_freqs.weight", 0, sizes.rotary / 2, f32);
    add("output_norm.weight", 0, sizes.width, f32);
    for (std::size_t i = 0; i < sizes.layers; ++i) {
      const std::string blk = "blk." + std::to_string(i) + ".";
      add(blk + "attn_norm.weight", 0, sizes.width, f32);
      add(blk + "ffn_norm.weight", 0, sizes.width, i == 0 ? f16 : bf16);
      add(blk + "attn_q.weight", q, sizes.width, q4_0);
      add(blk + "attn_k.weight", kv, sizes.width, q4_1);
      add(blk + "attn_v.weight", kv, sizes.width, q8_0);
      add(blk + "attn_output.weight", sizes.width, q, f16);
      add(blk + "ffn_gate.weight", sizes.hidden, sizes.width, bf16);
      add(blk + "ffn_up.weight", sizes.hidden, sizes.width, f32);
      add(blk + "ffn_down.weight", sizes.width, sizes.hidden, q4_1);
    }
  }

  gguf_builder file;

  /// The logits behind the last of `ids`.
  [[nodiscard]] values logits(const std::vector<token_id>& ids) const {
    const std::size_t n = ids.size(), width = sizes_.width, head = sizes_.head;
    std::vector<values> x;
    for (const token_id id : ids) {
      const auto row = at("token_embd.weight").begin() + static_cast<long>(width) * id;
      x.emplace_back(row, row + static_cast<long>(width));
    }
    for (std::size_t i = 0; i < sizes_.layers; ++i) {
      const std::string blk = "blk." + std::to_string(i) + ".";
      std::vector<values> q, k, v;
      for (std::size_t p = 0; p < n; ++p) {
        const values h = norm(x[p], at(blk + "attn_norm.weight"));
        q.push_back(rotated(product(at(blk + "attn_q.weight"), h), p));
        k.push_back(rotated(product(at(blk + "attn_k.weight"), h), p));
        v.push_back(product(at(blk + "attn_v.weight"), h));
      }
      for (std::size_t p = 0; p < n; ++p) {
        values mixed(sizes_.heads * head, 0);
        for (std::size_t a = 0; a < sizes_.heads; ++a) {
          const std::size_t b = a * sizes_.kv_heads / sizes_.heads;
          values weights(p + 1);
          double sum = 0;
          for (std::size_t j = 0; j <= p; ++j) {
            double dot = 0;
            for (std::size_t e = 0; e < head; ++e) dot += q[p][a * head + e] * k[j][b * head + e];
            sum += weights[j] = std::exp(dot / std::sqrt(static_cast<double>(head)));
          }
          for (std::size_t j = 0; j <= p; ++j)
            for (std::size_t e = 0; e < head; ++e)
              mixed[a * head + e] += weights[j] / sum * v[j][b * head + e];
        }
        add_to(x[p], product(at(blk + "attn_output.weight"), mixed));
        const values h = norm(x[p], at(blk + "ffn_norm.weight"));
        values gate = product(at(blk + "ffn_gate.weight"), h);
        const values up = product(at(blk + "ffn_up.weight"), h);
        for (std::size_t e = 0; e < gate.size(); ++e) gate[e] *= up[e] / (1 + std::exp(-gate[e]));
        add_to(x[p], product(at(blk + "ffn_down.weight"), gate));
      }
    }
    return product(at(sizes_.own_output ? "output.weight" : "token_embd.weight"),
                   norm(x.back(), at("output_norm.weight")));
  }

 private:
  [[nodiscard]] const values& at(const std::string& name) const { return tensors_.at(name); }
  static void add_to(values& x, const values& y) {
    for (std::size_t e = 0; e < x.size(); ++e) x[e] += y[e];
  }
  static values product(const values& matrix, const values& x) {
    values y(matrix.size() / x.size(), 0);
    for (std::size_t e = 0; e < matrix.size(); ++e) y[e / x.size()] += matrix[e] * x[e % x.size()];
    return y;
  }
  static values norm(values x, const values& weight) {
    double squares = 0;
    for (const double e : x) squares += e * e;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5F);
    for (std::size_t e = 0; e < x.size(); ++e) x[e] *= scale * weight[e];
    return x;
  }
  [[nodiscard]] values rotated(values x, std::size_t position) const {
    for (std::size_t first = 0; first < x.size(); first += sizes_.head)
      for (std::size_t j = 0; j < sizes_.rotary / 2; ++j) {
        double angle =
            static_cast<double>(position) *
            std::pow(500.0, -2.0 * static_cast<double>(j) / static_cast<double>(sizes_.rotary)) /
            sizes_.rope_factor;
        if (sizes_.divisors) angle /= at("rope_freqs.weight")[j];
        double &a = x[first + 2 * j], &b = x[first + 2 * j + 1];
        const double turned = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = turned;
      }
    return x;
  }

  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  template <class T>
  double put(std::string& bytes, T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes.append(raw, sizeof value);
    return fg::kernels::number_cast<double>(value);
  }
  template <class T>
  T stored(double value) {
    return fg::kernels::number_cast<T>(value);
  }

  /// rows = 0: a vector.
  void add(const std::string& name, std::size_t rows, std::size_t columns, std::uint32_t type) {
    values numbers;
    std::string bytes;
    const std::size_t count = (rows == 0 ? 1 : rows) * columns;
    const double low = rows == 0 ? 0.5 : -0.5, high = rows == 0 ? 2 : 0.5;
    while (numbers.size() < count) {
      if (type == f32) {
        numbers.push_back(put(bytes, static_cast<float>(uniform(low, high))));
      } else if (type == f16) {
        numbers.push_back(put(bytes, stored<fg::f16>(uniform(low, high))));
      } else if (type == bf16) {
        numbers.push_back(put(bytes, stored<fg::bf16>(uniform(low, high))));
      } else if (type == q8_0) {
        const double d = put(bytes, stored<fg::f16>(uniform(0.001, 0.005)));
        for (int e = 0; e < 32; ++e)
          numbers.push_back(d * put(bytes, static_cast<std::int8_t>(random_() % 256)));
      } else {
        const double d = put(bytes, stored<fg::f16>(uniform(0.02, 0.08)));
        const double m = type == q4_1 ? put(bytes, stored<fg::f16>(uniform(-0.6, -0.2))) : -8 * d;
        unsigned packed[16];
        for (unsigned& byte : packed) bytes += static_cast<char>(byte = random_() % 256);
        for (const unsigned byte : packed) numbers.push_back(d * (byte % 16) + m);
        for (const unsigned byte : packed) numbers.push_back(d * (byte / 16) + m);
      }
    }
    if (rows == 0)
      file.tensor(name, {columns}, type, bytes);
    else
      file.tensor(name, {columns, rows}, type, bytes);
    tensors_[name] = std::move(numbers);
  }

  small_sizes sizes_;
  std::mt19937 random_;
  std::map<std::string, values> tensors_;
};

double distance(const values& got, const values& want) {
  double squares = 0, norm = 0;
  for (std::size_t k = 0; k < want.size(); ++k) {
    squares += (got[k] - want[k]) * (got[k] - want[k]);
    norm += want[k] * want[k];
  }
  return std::sqrt(squares / norm);
}

template <class D>
values numbers(const fg::stream<D>& stream, const fg::tensor_view<const float, D>& logits) {
  const auto host = fg::to_host(stream, logits);
  return {host.data(), host.data() + host.numel()};
}

template <class Device>
class SmallModel : public ::testing::Test {};
using devices = ::testing::Types<fg::host, fg::simt32>;
TYPED_TEST_SUITE(SmallModel, devices);

template <class D>
void compare(const small_sizes& sizes, llama::weight_dtype hold, double tolerance,
             llama::cache_dtype cache = llama::cache_dtype::f32,
             llama::activation_dtype activations = llama::activation_dtype::f32) {
  const random_model expected(sizes);
  const std::string bytes = expected.file.bytes();
  const auto file = llama::gguf::parse(llama::test::as_bytes(bytes));
  const fg::stream<D> stream;
  // Batches of three: the prompt is cut.
  llama::model<D> model(file, stream, hold, cache, 3, activations);
  EXPECT_EQ(model.sizes().vocabulary, 40);
  model.reserve(7);
  std::vector<token_id> ids{3, 39, 0, 17, 17, 5, 21};
  EXPECT_LT(distance(numbers(stream, model.run(ids)), expected.logits(ids)), tolerance);
  EXPECT_EQ(model.past(), 7);
  model.reserve(9);  // what has been run stays
  for (const token_id next : {8, 30}) {
    ids.push_back(next);
    EXPECT_LT(distance(numbers(stream, model.run({&next, 1})), expected.logits(ids)), tolerance);
  }
  model.reset();
  ids = {1};
  EXPECT_LT(distance(numbers(stream, model.run(ids)), expected.logits(ids)), tolerance);
}

TYPED_TEST(SmallModel, HasTheLogitsOfTheReference) {
  compare<TypeParam>({}, llama::weight_dtype::q4, 1e-5);
  compare<TypeParam>({}, llama::weight_dtype::f32, 1e-5);
  // Chips multiply weights of bf16 with activations of bf16.
  const double bf16_tolerance = fg::host_accessible<TypeParam> ? 2e-2 : 5e-2;
  compare<TypeParam>({}, llama::weight_dtype::bf16, bf16_tolerance);
  compare<TypeParam>({}, llama::weight_dtype::q4, 5e-3, llama::cache_dtype::f16);
  compare<TypeParam>({}, llama::weight_dtype::q4, 3e-2, llama::cache_dtype::f32,
                     llama::activation_dtype::q8);
}

TYPED_TEST(SmallModel, HoldsKeysInBf16OnChips) {
  if constexpr (!fg::host_accessible<TypeParam>)
    compare<TypeParam>({}, llama::weight_dtype::bf16, 5e-2, llama::cache_dtype::bf16);
  else
    EXPECT_THROW(compare<TypeParam>({}, llama::weight_dtype::f32, 4e-2, llama::cache_dtype::bf16),
                 fg::error);
}

TYPED_TEST(SmallModel, HasTheLogitsOfTheReferenceWithOtherParts) {
  small_sizes sizes;
  sizes.rotary = 8;
  sizes.rope_factor = 2;
  sizes.own_output = true;
  sizes.divisors = true;
  sizes.kv_heads = 4;
  compare<TypeParam>(sizes, llama::weight_dtype::q4, 1e-5);
  compare<TypeParam>(sizes, llama::weight_dtype::f32, 1e-5);
}

/// Greedy tokens of random weights; `stop` ends them the first time.
template <class D>
std::vector<token_id> greedy(llama::weight_dtype hold, i64 count, i64 limit, token_id stop,
                             llama::generated& first) {
  const fg::stream<D> stream;
  const auto sizes = *llama::hyperparameters::named("tiny");
  llama::model<D> model(sizes, llama::weight_source<D>(7, hold, stream), stream,
                        llama::cache_dtype::f32);
  llama::sampler<D> best(stream, {}, sizes.vocabulary);
  llama::generator<D> generates(stream, model, best);
  model.reserve(limit);
  std::vector<token_id> ids;
  const std::vector<token_id> prompt{5, 250, 31};
  const auto take = [&](token_id id) {
    const bool goes_on = id != stop || (stop = -1, false);
    if (goes_on) ids.push_back(id);
    return goes_on;
  };
  first = generates.run(model.run(prompt), count, limit, take);
  // Whatever ended it, the next text goes on behind the tokens taken.
  std::vector<token_id> more{9};
  if (first.waiting) more.insert(more.begin(), *first.waiting);
  EXPECT_EQ(model.past() + static_cast<i64>(first.waiting.has_value()),
            3 + static_cast<i64>(ids.size()));
  if (first.end != llama::ending::context) generates.run(model.run(more), count, limit, take);
  return ids;
}

TEST(RandomModel, GivesTheSameTokensOnEveryDevice) {
  constexpr auto hold = llama::weight_dtype::f32;
  const std::vector<token_id> expected{216, 216, 187, 57};  // tests/cuda/llama.cpp has the same
  llama::generated host, chip;
  EXPECT_EQ(greedy<fg::host>(hold, 2, 64, -1, host), expected);
  EXPECT_EQ(greedy<fg::simt32>(hold, 2, 64, -1, chip), expected);
  EXPECT_EQ(host.steps, 1);
  EXPECT_EQ(chip.steps, 1);
  EXPECT_EQ(chip.end, llama::ending::length);
}

TEST(RandomModel, EndsAlikeOnEveryDevice) {
  constexpr auto hold = llama::weight_dtype::f32;
  llama::generated host, chip;
  const auto all = greedy<fg::host>(hold, 4, 64, -1, host);
  ASSERT_EQ(all.size(), 8U);
  // A token that the step behind it has run when the host sees it.
  const auto expected = greedy<fg::host>(hold, 4, 64, all[2], host);
  EXPECT_EQ(host.end, llama::ending::stop_token);
  EXPECT_EQ(greedy<fg::simt32>(hold, 4, 64, all[2], chip), expected);
  EXPECT_EQ(chip.end, llama::ending::stop_token);
  const auto cut = greedy<fg::host>(hold, 4, 5, -1, host);
  EXPECT_EQ(cut.size(), 3U);
  EXPECT_EQ(host.end, llama::ending::context);
  EXPECT_EQ(greedy<fg::simt32>(hold, 4, 5, -1, chip), cut);
  EXPECT_EQ(chip.end, llama::ending::context);
}

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
