// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/unary.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::unary, flaggems::host, flaggems::f32,
                         flaggems::i64, flaggems::c64);

namespace flaggems_test {
namespace {

// Every pointwise operator of the library's table is registered under its name.
#define NAME(name, rule, formula) #name,
constexpr const char* unary_names[] = {
#define NONE(name, rule, formula)
    FLAGGEMS_POINTWISE_TABLE(NAME, NONE, NONE)};

TEST(registry_unary, of_the_table) {
  const auto& s = stream_of<host>();
  const auto t = numbers({3, 5}, 0.1, 2);
  const view<host> x(t);
#define CHECK(name, rule, formula)                                                    \
  check(fg::registry<host>::find(#name) != nullptr ? #name : "flaggems::" #name, {x}, \
        [&] { return fg::name(s, t); });
  FLAGGEMS_POINTWISE_TABLE(CHECK, NONE, NONE)
  EXPECT_EQ(std::size(unary_names), 22U);
  check("negative", {x}, [&] { return fg::neg(s, t); });
  check("absolute", {x}, [&] { return fg::abs(s, t); });
}

TEST(registry_unary, integers) {
  const auto& s = stream_of<host>();
  const auto t = numbers<i64>({7}, -9, 9);
  const view<host> x(t);
  check("neg", {x}, [&] { return fg::neg(s, t); });
  check("relu", {x}, [&] { return fg::relu(s, t); });
  // They become f32, which the in-place form cannot store.
  const auto& exp = fg::registry<host>::at("exp");
  expect_same(exp(s, {x}), boxed_results(fg::exp(s, t))[0], "exp");
  EXPECT_ERROR(fg::registry<host>::at("exp_")(s, {x}), dtype_mismatch, "f32");
}

TEST(registry_unary, activations) {
  const auto& s = stream_of<host>();
  const auto a = numbers({4, 3}), b = numbers({4, 3}, -1, 1, 2);
  const view<host> x(a), y(b);
  check("gelu", {x}, [&] { return fg::gelu(s, a); });
  check("gelu", {x, "tanh"}, [&] { return fg::gelu(s, a, fg::gelu_approximate::tanh); });
  check("flaggems::silu_and_mul", {x, y}, [&] { return fg::silu_and_mul(s, a, b); });
  check("flaggems::gelu_and_mul", {x, y, "tanh"},
        [&] { return fg::gelu_and_mul(s, a, b, fg::gelu_approximate::tanh); });
  EXPECT_ERROR(fg::registry<host>::at("gelu")(s, {x, "none at all"}), invalid_argument,
               "none or tanh", "none at all");
}

}  // namespace
}  // namespace flaggems_test
