// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The forward pass of a small random model against its reference in double, and the loop that
// generates: on the host, and on flaggems::cuda over the simulated driver as a part of tests/cuda.
#include <llama/generate.hpp>
#include <llama/instances.hpp>
#include <llama/random_model.hpp>
#include <support/devices.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace {

using namespace llama::test;  // NOLINT(google-build-using-namespace)
using llama::token_id;

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
using devices = flaggems_test::devices_and_own<fg::host>;
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
  compare<TypeParam>(sizes, llama::weight_dtype::bf16, 5e-2);
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

template <class Device>
class RandomModel : public ::testing::Test {};
TYPED_TEST_SUITE(RandomModel, devices);

// tests/cuda/llama.cpp counts the graphs that give these tokens.
TYPED_TEST(RandomModel, GivesTheSameTokensOnEveryDevice) {
  llama::generated first;
  EXPECT_EQ(greedy<TypeParam>(llama::weight_dtype::f32, 2, 64, -1, first),
            (std::vector<token_id>{216, 216, 187, 57}));
  EXPECT_EQ(first.steps, 1);
  EXPECT_EQ(first.end, llama::ending::length);
}

TYPED_TEST(RandomModel, EndsAlikeOnEveryDevice) {
  constexpr auto hold = llama::weight_dtype::f32;
  llama::generated first;
  EXPECT_EQ(greedy<TypeParam>(hold, 4, 64, -1, first),
            (std::vector<token_id>{216, 216, 187, 57, 187, 57, 57, 57}));
  // A token that the step behind it has run when the host sees it.
  EXPECT_EQ(greedy<TypeParam>(hold, 4, 64, 187, first),
            (std::vector<token_id>{216, 216, 187, 57, 57, 57}));
  EXPECT_EQ(first.end, llama::ending::stop_token);
  EXPECT_EQ(greedy<TypeParam>(hold, 4, 5, -1, first), (std::vector<token_id>{216, 216, 187}));
  EXPECT_EQ(first.end, llama::ending::context);
}

}  // namespace
