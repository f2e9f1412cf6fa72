// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/pointwise.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::pointwise, flaggems::host, flaggems::f32,
                         flaggems::i64, bool, flaggems::c64);

namespace flaggems_test {
namespace {

namespace rm = fg::rounding_mode;

struct registry_pointwise : testing::Test {
  const fg::stream<host>& s = stream_of<host>();
  fg::tensor<f32> a = numbers({3, 4}, 0.5, 2), b = numbers({3, 4}, 0.5, 2, 7);
  fg::tensor<i64> m = numbers<i64>({6}, 1, 9), n = numbers<i64>({6}, 1, 9, 3);
  view<host> x{a}, y{b}, p{m}, q{n};
  template <class F>
  void check_either(const std::string& name, const F& f) {  // of one operand or two
    if constexpr (!requires { requires std::is_void_v<decltype(f(a, b))>; })  // b as the output
      check(name + ".Tensor", {x, y}, [&] { return f(a, b); });
    else
      check(name, {x}, [&] { return f(a); });
  }
};

#define CHECK_ALIAS(other, name) \
  check_either(                  \
      #other, [&](const auto&... v) -> decltype(fg::name(s, v...)) { return fg::name(s, v...); });
TEST_F(registry_pointwise, other_names){FLAGGEMS_POINTWISE_ALIASES(CHECK_ALIAS)}

TEST_F(registry_pointwise, arithmetic) {
  check("add.Tensor", {x, y}, [&] { return fg::add(s, a, b); });
  check("add.Tensor", {x, y, 0.5}, [&] { return fg::add(s, a, b, 0.5); });
  check("add.Tensor", {p, q, -2}, [&] { return fg::add(s, m, n, -2); });
  check("add.Scalar", {x, 2, 3}, [&] { return fg::add(s, a, 2, 3); });
  check("add.Scalar", {p, 2}, [&] { return fg::add(s, m, 2); });
  for (const char* const name : {"sub", "subtract"}) {
    check(std::string(name) + ".Tensor", {x, y, 2}, [&] { return fg::sub(s, a, b, 2); });
    check(std::string(name) + ".Scalar", {x, 1.5}, [&] { return fg::sub(s, a, 1.5); });
  }
  for (const char* const name : {"mul", "multiply"}) {
    check(std::string(name) + ".Tensor", {p, q}, [&] { return fg::mul(s, m, n); });
    check(std::string(name) + ".Scalar", {x, 1.5}, [&] { return fg::mul(s, a, 1.5); });
  }
  for (const char* const div : {"div", "divide", "true_divide"}) {
    const std::string name(div);
    check(name + ".Tensor", {x, y}, [&] { return fg::div(s, a, b); });
    check(name + ".Scalar", {x, 3}, [&] { return fg::div(s, a, 3); });
    if (name == "true_divide") continue;
    check(name + ".Tensor_mode", {x, y, std::nullopt}, [&] { return fg::div(s, a, b); });
    check(name + ".Tensor_mode", {p, q, "floor"}, [&] { return fg::div(s, m, n, rm::floor); });
    check(name + ".Scalar_mode", {x, 0.3, "trunc"}, [&] { return fg::div(s, a, 0.3, rm::trunc); });
  }
  check("pow.Tensor_Tensor", {x, y}, [&] { return fg::pow(s, a, b); });
  check("pow.Tensor_Scalar", {x, 3}, [&] { return fg::pow(s, a, 3); });
  check("pow.Tensor_Scalar", {p, 2}, [&] { return fg::pow(s, m, 2); });
  check("pow.Scalar", {2.5, y}, [&] { return fg::pow(s, 2.5, b); });
  check("maximum", {x, y}, [&] { return fg::maximum(s, a, b); });
  check("minimum", {p, q}, [&] { return fg::minimum(s, m, n); });
}

TEST_F(registry_pointwise, complex_numbers) {
  const fg::c128 z(0.5, -2);
  const auto c = fg::mul(s, a, z);
  const view<host> v(c);
  // Of floats and integers: complex ones, in new tensors alone.
  const auto of_floats = fg::registry<host>::at("mul.Scalar")(s, {x, z});
  expect_same(of_floats.view(), v, "mul.Scalar");
  const auto sums = fg::add(s, m, z);
  const auto of_integers = fg::registry<host>::at("add.Scalar")(s, {p, z});
  expect_same(of_integers.view(), view<host>(sums), "add.Scalar");
  check("mul.Scalar", {v, z}, [&] { return fg::mul(s, c, z); });
  check("mul.Scalar", {v, 2}, [&] { return fg::mul(s, c, 2); });
  check("add.Tensor", {v, v, z}, [&] { return fg::add(s, c, c, z); });
  check("sub.Scalar", {v, z, 3}, [&] { return fg::sub(s, c, z, 3); });
  check("eq.Scalar", {v, z}, [&] { return fg::eq(s, c, z); });
  const auto few = fg::gt(s, a, 1);
  check("where.ScalarOther", {view<host>(few), v, z}, [&] { return fg::where(s, few, c, z); });
  // What has none.
  EXPECT_ERROR(fg::registry<host>::at("pow.Tensor_Scalar")(s, {x, z}), dtype_mismatch, "pow",
               "c64");
  EXPECT_ERROR(fg::registry<host>::at("mul_.Scalar")(s, {x, z}), dtype_mismatch, "mul_", "c64");
  EXPECT_ERROR(fg::registry<host>::at("add.Tensor")(s, {x, y, z}), invalid_argument, "add.Tensor",
               "alpha");
}

TEST_F(registry_pointwise, comparisons) {
#define COMPARISON(name, other)                                                     \
  for (const char* const key : {#name, #other}) {                                   \
    check(std::string(key) + ".Tensor", {x, y}, [&] { return fg::name(s, a, b); }); \
    check(std::string(key) + ".Scalar", {p, 4}, [&] { return fg::name(s, m, 4); }); \
  }
  COMPARISON(eq, eq)
  COMPARISON(ne, not_equal)
  COMPARISON(lt, less)
  COMPARISON(le, less_equal)
  COMPARISON(gt, greater)
  COMPARISON(ge, greater_equal)
  check("logical_and", {x, y}, [&] { return fg::logical_and(s, a, b); });
  check("logical_or", {p, q}, [&] { return fg::logical_or(s, m, n); });
  check("logical_xor", {x, y}, [&] { return fg::logical_xor(s, a, b); });
}

TEST_F(registry_pointwise, clamp_and_where) {
  for (const char* const name : {"clamp", "clip"}) {
    check(name, {x, 0.75, 1.5}, [&] { return fg::clamp(s, a, 0.75, 1.5); });
    check(name, {x, std::nullopt, 1.5}, [&] { return fg::clamp(s, a, std::nullopt, 1.5); });
    check(name, {p, 3}, [&] { return fg::clamp(s, m, 3, std::nullopt); });
    const std::string tensors = std::string(name) + ".Tensor";
    check(tensors, {x, y, y}, [&] { return fg::clamp(s, a, b, b); });
    check(tensors, {x, std::nullopt, y},
          [&] { return fg::clamp(s, a, std::nullopt, std::optional(b.view())); });
  }
  EXPECT_ERROR(fg::registry<host>::at("clamp")(s, {x}), invalid_argument, "at least one");
  const auto condition = fg::gt(s, a, b);
  const view<host> c(condition);
  check("where.self", {c, x, y}, [&] { return fg::where(s, condition, a, b); });
  check("where.ScalarSelf", {c, 2.5, y}, [&] { return fg::where(s, condition, 2.5, b); });
  check("where.ScalarOther", {c, x, 3}, [&] { return fg::where(s, condition, a, 3); });
}

/// Operands of several dtypes are converted as the typed operators convert them.
TEST_F(registry_pointwise, promotion) {
  const auto i = numbers<i64>({3, 4}, -9, 9);
  const auto t = fg::gt(s, a, b);
  const view<host> integers(i), truths(t);
  check("add.Tensor", {x, integers}, [&] { return fg::add(s, a, i); });
  check("add.Tensor", {x, truths}, [&] { return fg::add(s, a, t); });
  check("maximum", {integers, truths}, [&] { return fg::maximum(s, i, t); });
  check("add.Tensor", {truths, truths}, [&] { return fg::add(s, t, t); });
  check("eq.Tensor", {x, integers}, [&] { return fg::eq(s, a, i); });
  check("where.self", {integers, x, integers}, [&] { return fg::where(s, i, a, i); });
  const auto at = [](const char* key) -> const auto& { return fg::registry<host>::at(key); };
  const auto same = [&](const char* key, arguments<host> given, auto&& typed) {
    expect_same(at(key)(s, given), boxed_results(std::move(typed))[0], key);
  };
  same("add.Scalar", {integers, 0.5}, fg::add(s, i, 0.5));
  same("add.Scalar", {truths, 2}, fg::add(s, t, 2));
  same("div.Tensor", {integers, integers}, fg::div(s, i, i));
  same("div.Tensor_mode", {integers, integers, std::nullopt}, fg::div(s, i, i));
  same("mul.Tensor", {integers, x}, fg::mul(s, i, a));
  // A tensor without dimensions promotes as a number does.
  const auto scalar = numbers<f32>({});
  const auto whole = numbers<i64>({}, 3, 5);
  const view<host> zero_dim(scalar), whole_zero_dim(whole);
  same("add.Tensor", {integers, zero_dim}, fg::add(s, i, fg::as_scalar(scalar)));
  same("add.Tensor", {x, whole_zero_dim}, fg::add(s, a, fg::as_scalar(whole)));
  EXPECT_ERROR(at("add.Tensor")(s, {integers, integers, 0.5}), invalid_argument, "alpha", "i64");
  EXPECT_ERROR(at("add.Tensor")(s, {x, x, true}), invalid_argument, "alpha");
}

/// Outputs of other dtypes get the result converted, if their kind holds it.
TEST_F(registry_pointwise, outputs_of_other_dtypes) {
  const auto at = [](const char* key) -> const auto& { return fg::registry<host>::at(key); };
  auto wide = fg::empty<f32>(s, {6});
  at("add.out")(s, {p, q, {}, view<host>(wide)});
  const auto sum = fg::add(s, m, n);
  for (i64 k = 0; k < 6; ++k) EXPECT_EQ(wide(k), static_cast<f32>(sum(k)));
  auto narrow = fg::empty<i64>(s, {3, 4});
  EXPECT_ERROR(at("add.out")(s, {x, y, {}, view<host>(narrow)}), dtype_mismatch, "add.out", "f32",
               "i64");
  auto other = fg::empty<i64>(s, {3, 3});
  EXPECT_ERROR(at("eq.Tensor_out")(s, {x, y, view<host>(other)}), shape_mismatch, "[3, 4]");
  auto same = fg::empty<f32>(s, {3, 3});
  EXPECT_ERROR(at("add.out")(s, {x, y, {}, view<host>(same)}), shape_mismatch, "add");
}

#define NAME(name, rule, formula) #name,
#define NONE(name, rule, formula)
TEST(registry_table, every_pointwise_operator) {
  std::set<std::string> names;
  for (const auto family : fg::registry<host>::families())
    for (const auto& op : family()) names.emplace(op.schema().name);
  for (const char* const name : {FLAGGEMS_POINTWISE_TABLE(NAME, NAME, NAME)})
    EXPECT_TRUE(names.contains(name))
        << name << " has no line in include/flaggems/registry/families";
}

}  // namespace
}  // namespace flaggems_test
