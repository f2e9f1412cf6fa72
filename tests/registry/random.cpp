// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/random.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::random, flaggems::host, flaggems::f32,
                         flaggems::i64, bool);

namespace flaggems_test {
namespace {

using fg::philox_generator;

const auto& s = stream_of<host>();
const auto& at(const std::string& key) {
  const auto& op = fg::registry<host>::at(key);
  note(op);
  return op;
}

struct registry_random : testing::Test {
  fg::tensor<f32> a = numbers({3, 4}, 0.1, 0.9), b = numbers({3, 4}, 0.1, 0.9, 5);
  view<host> x{a}, y{b};
  static constexpr philox_generator start{7, 3};

  /// All forms of an operator against the typed one, each from the same state: given(generator) are
  /// the arguments.
  template <class Given, class Typed>
  void check_drawn(const std::string& key, const Given& given, const Typed& typed) {
    philox_generator typed_one = start, boxed_one = start;
    const auto want = boxed_results(typed(typed_one));
    std::vector<fg::any_tensor<host>> got(want.size());
    at(key).call(fg::ref(s), given(boxed_one), got);
    for (std::size_t k = 0; k < want.size(); ++k) expect_same(got[k].view(), want[k].view(), key);
    EXPECT_EQ(boxed_one.offset, typed_one.offset) << key;
    if (const auto* const out = other_form(at(key), fg::bindings::form::out)) {
      boxed_one = start;
      arguments<host> with_outputs = given(boxed_one);
      std::vector<fg::any_tensor<host>> memory;
      for (const auto& w : want) memory.push_back(garbage<host>(w.dtype(), shape(w.sizes())));
      for (const auto& m : memory) with_outputs.push_back(m);
      note(*out);
      out->call(fg::ref(s), with_outputs, {});
      for (std::size_t k = 0; k < want.size(); ++k)
        expect_same(memory[k].view(), want[k].view(), key + " into an output");
    }
    if (const auto* const in_place = other_form(at(key), fg::bindings::form::in_place))
      check_changed(std::string(in_place->schema().key()), given, want[0].view());
  }
  /// What an operator makes of its first argument.
  template <class Given>
  void check_changed(const std::string& key, const Given& given, const view<host>& want) {
    philox_generator boxed_one = start;
    arguments<host> changed = given(boxed_one);
    const auto self = copy_of(changed[0].view());
    changed[0] = self;
    at(key).call(fg::ref(s), changed, {});
    expect_same(self.view(), want, key);
  }
  template <class Given, class Typed>
  void check_written(const std::string& key, const Given& given, const Typed& typed) {
    philox_generator typed_one = start;
    auto self = numbers({3, 4}, 0.1, 0.9);
    typed(self, typed_one);
    check_changed(key, given, view<host>(self));
  }
};

#define GIVEN(...) [&](philox_generator& g) { return arguments<host>{__VA_ARGS__, g}; }
#define TYPED(...) [&](philox_generator& g) { return __VA_ARGS__; }
#define WRITES(...) [&](auto& to, philox_generator& g) { __VA_ARGS__; }

TEST_F(registry_random, distributions) {
  check_drawn("uniform", GIVEN(x, -1, 2.5), TYPED(fg::uniform(s, a, -1, 2.5, g)));
  check_drawn("log_normal", GIVEN(x, 0.5, 0.25), TYPED(fg::log_normal(s, a, 0.5, 0.25, g)));
  check_drawn("cauchy", GIVEN(x, 1, 2), TYPED(fg::cauchy(s, a, 1, 2, g)));
  check_drawn("exponential", GIVEN(x, 2), TYPED(fg::exponential(s, a, 2, g)));
  check_drawn("geometric", GIVEN(x, 0.25), TYPED(fg::geometric(s, a, 0.25, g)));
  check_drawn("normal_functional", GIVEN(x, 1, 2), TYPED(fg::normal(s, a, 1, 2, g)));
  check_written("normal_", GIVEN(x, 1, 2), WRITES(fg::normal_(s, to, 1, 2, g)));
  check_drawn("normal.Tensor_float", GIVEN(x, 2), TYPED(fg::normal(s, a, 2.0, g)));
  check_drawn("normal.float_Tensor", GIVEN(2, x), TYPED(fg::normal(s, 2.0, a, g)));
  check_drawn("normal.Tensor_Tensor", GIVEN(x, y), TYPED(fg::normal(s, a, b, g)));
  check_drawn("bernoulli", GIVEN(x), TYPED(fg::bernoulli(s, a, g)));
  check_drawn("bernoulli.p", GIVEN(x, 0.25), TYPED(fg::bernoulli(s, a, 0.25, g)));
  check_written("bernoulli_.float", GIVEN(x, 0.25), WRITES(fg::bernoulli_(s, to, 0.25, g)));
  check_written("bernoulli_.Tensor", GIVEN(x, y), WRITES(fg::bernoulli_(s, to, b, g)));
  check_drawn("poisson", GIVEN(x), TYPED(fg::poisson(s, a, g)));
  EXPECT_ERROR(at("uniform")(s, {x}), invalid_argument, "a generator");
}

TEST_F(registry_random, integers) {
  check_written("random_.from", GIVEN(x, -3, 4), WRITES(fg::random_(s, to, -3, 4, g)));
  check_written("random_.from", GIVEN(x, 5, std::nullopt),
                WRITES(fg::random_(s, to, 5, std::nullopt, g)));
  check_written("random_.to", GIVEN(x, 4), WRITES(fg::random_(s, to, 4, g)));
  check_written("random_", GIVEN(x), WRITES(fg::random_(s, to, g)));
  const i64 two_five[] = {2, 5};
  const fg::int_list sizes(two_five);
  check_drawn("randint.generator", GIVEN(9, sizes), TYPED(fg::randint(s, 9, {2, 5}, g)));
  check_drawn("randint.low_generator", GIVEN(-9, 9, sizes),
              TYPED(fg::randint(s, -9, 9, {2, 5}, g)));
  check_drawn("randperm.generator", GIVEN(9), TYPED(fg::randperm(s, 9, g)));
}

TEST_F(registry_random, new_tensors) {
  const i64 two_five[] = {2, 5};
  const fg::int_list sizes(two_five);
  check_drawn("rand.generator", GIVEN(sizes), TYPED(fg::rand(s, {2, 5}, g)));
  check_drawn("randn.generator", GIVEN(sizes), TYPED(fg::randn(s, {2, 5}, g)));
  check_drawn("rand_like.generator", GIVEN(x), TYPED(fg::rand_like(s, a, g)));
  check_drawn("randn_like.generator", GIVEN(x), TYPED(fg::randn_like(s, a, g)));
  check_drawn("randint_like.low_generator_dtype", GIVEN(x, -3, 4),
              TYPED(fg::randint_like(s, a, -3, 4, g)));
}

TEST_F(registry_random, dropouts) {
  check_drawn("flaggems::dropout", GIVEN(x, 0.5, true), TYPED(fg::dropout(s, a, 0.5, true, g)));
  check_drawn("flaggems::feature_dropout", GIVEN(x, 0.5, true),
              TYPED(fg::feature_dropout(s, a, 0.5, true, g)));
  check_drawn("flaggems::alpha_dropout", GIVEN(x, 0.5, true),
              TYPED(fg::alpha_dropout(s, a, 0.5, true, g)));
  check_drawn("flaggems::feature_alpha_dropout", GIVEN(x, 0.5, true),
              TYPED(fg::feature_alpha_dropout(s, a, 0.5, true, g)));
  check_drawn("flaggems::native_dropout", GIVEN(x, 0.5, true),
              TYPED(fg::native_dropout(s, a, 0.5, true, g)));
  check_drawn("flaggems::native_dropout", GIVEN(x, 0.5, std::nullopt),
              TYPED(fg::native_dropout(s, a, 0.5, std::nullopt, g)));
  const auto c = numbers({3, 4}, -2, 2);
  const view<host> z(c);
  check_drawn("rrelu", GIVEN(z, 0.25, 0.5, true), TYPED(fg::rrelu(s, c, 0.25, 0.5, true, g)));
  const auto noise = garbage<host>(fg::dtype::f32, {3, 4});
  auto typed_noise = fg::empty<f32>(s, {3, 4});
  check_drawn("rrelu_with_noise", GIVEN(z, noise, 0.25, 0.5, true),
              TYPED(fg::rrelu_with_noise(s, c, typed_noise, 0.25, 0.5, true, g)));
  expect_same(noise.view(), view<host>(typed_noise), "noise");
  philox_generator boxed_functional{7}, typed_functional{7};
  fg::any_tensor<host> two[2];
  const auto& functional = at("rrelu_with_noise_functional");
  functional.call(s, {z, noise, 0.25, 0.5, true, boxed_functional}, two);
  const auto pair =
      fg::rrelu_with_noise_functional(s, c, typed_noise, 0.25, 0.5, true, typed_functional);
  expect_same(two[0], view<host>(pair.first), "rrelu_with_noise_functional");
  expect_same(two[1], view<host>(pair.second), "noise_out");
}

TEST_F(registry_random, multinomial) {
  philox_generator boxed_one{7}, typed_one{7};
  const auto got = at("multinomial")(s, {x, 3, false, boxed_one});
  expect_same(got.view(), boxed_results(fg::multinomial(s, a, 3, false, typed_one))[0],
              "multinomial");
  EXPECT_EQ(boxed_one.offset, typed_one.offset);
  const auto memory = garbage<host>(fg::dtype::i64, {3, 3});
  at("multinomial.out")(s, {x, 3, true, boxed_one, memory});
  expect_same(memory.view(), boxed_results(fg::multinomial(s, a, 3, true, typed_one))[0], "out");
  EXPECT_ERROR(at("multinomial")(s, {x, 3}), invalid_argument, "a generator");
}

}  // namespace
}  // namespace flaggems_test
