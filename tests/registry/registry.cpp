// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The registry as a whole: what is in it, what boxed calls refuse, and a family of a user.
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/device.hpp>
#include <registry/schema_list.hpp>
#include <registry/support.hpp>
#include <registry_families.hpp>  // those of this program's sources

#include <sstream>

// [user]
namespace mine {

/// factor * (x + y): an operator of a user.
template <class S, class X, class Y, class Out>
void scaled_sum(const S& stream, const X& x, const Y& y, Out&& out, double factor) {
  flaggems::assign(stream, out, factor * (x + y), "scaled_sum");
}
template <class S, class X, class Y>
auto scaled_sum(const S& stream, const X& x, const Y& y, double factor) {
  return flaggems::evaluate(stream, factor * (x + y), "scaled_sum");
}

struct family {
  static constexpr auto lines() {
    using flaggems::bindings::line;
    return std::tuple(FLAGGEMS_BIND(
        mine::scaled_sum, flaggems::floating_types,
        line("mine::scaled_sum(Tensor x, Tensor y, *, float factor=2.0) -> Tensor").version(3)));
  }
};

}  // namespace mine
// [/user]

FLAGGEMS_REGISTRY_FAMILY(mine::family, flaggems::host, float);
FLAGGEMS_REGISTRY(flaggems::host, FLAGGEMS_TEST_FAMILIES mine::family);

namespace flaggems_test {
namespace {

const auto& at(const char* key) { return fg::registry<host>::at(key); }

TEST(registry_table, names) {
  EXPECT_EQ(fg::registry<host>::find("aten::add.Tensor"), fg::registry<host>::find("add.Tensor"));
  EXPECT_NE(fg::registry<host>::find("add.Tensor"), nullptr);
  EXPECT_EQ(fg::registry<host>::find("add"), nullptr);
  EXPECT_EQ(fg::registry<host>::find("fused_add_rms_norm"), nullptr);
  EXPECT_EQ(fg::registry<host>::find(""), nullptr);
  EXPECT_ERROR(at("absent.Tensor"), not_supported, "registry", "absent.Tensor");
  EXPECT_TRUE(at("add.Tensor").has(fg::dtype::f32));
  EXPECT_FALSE(at("add.Tensor").has(fg::dtype::c128));
  std::set<std::string> keys;
  for (const auto family : fg::registry<host>::families())
    for (const auto& op : family())
      EXPECT_TRUE(keys.emplace(op.schema().key()).second) << op.schema().key();
}

TEST(registry_table, operator_of_a_user) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3}), b = numbers({3}, -1, 1, 2);
  const view<host> x(a), y(b);
  check("mine::scaled_sum", {x, y}, [&] { return mine::scaled_sum(s, a, b, 2); });
  check("mine::scaled_sum", {x, y, 0.5}, [&] { return mine::scaled_sum(s, a, b, 0.5); });
  EXPECT_EQ(at("mine::scaled_sum").version(), 3);
}

TEST(registry_call, kinds) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 3});
  const view<host> x(a);
  const std::span<const view<host>> list(&x, 1);
  const auto& add = at("add.Tensor");
  EXPECT_ERROR(add(s, {x, 2}), invalid_argument, "add.Tensor", "Tensor for argument other",
               "an integer");
  EXPECT_ERROR(add(s, {x, 2.5}), invalid_argument, "a floating-point number");
  EXPECT_ERROR(add(s, {x, std::nullopt}), invalid_argument, "argument other", "None");
  EXPECT_ERROR(add(s, {x}), invalid_argument, "argument other", "nothing");
  EXPECT_ERROR(add(s, {}), invalid_argument, "argument self", "nothing");
  EXPECT_ERROR(add(s, {x, list}), invalid_argument, "a list of tensors");
  EXPECT_ERROR(add(s, {x, x, x}), invalid_argument, "Scalar for argument alpha", "a tensor");
  EXPECT_ERROR(add(s, {x, x, "one"}), invalid_argument, "a string");
  EXPECT_ERROR(add(s, {x, x, 1, 1}), invalid_argument, "3 arguments at most", "4");
  EXPECT_ERROR(at("add.Scalar")(s, {x, x}), invalid_argument, "Scalar for argument other");
  EXPECT_ERROR(at("softmax.int")(s, {x, 1.0}), invalid_argument, "int for argument dim");
  EXPECT_ERROR(at("softmax.int")(s, {x, true}), invalid_argument, "int for argument dim", "a bool");
  EXPECT_ERROR(at("softmax.int")(s, {x, 1, 1}), invalid_argument, "ScalarType? for argument dtype");
  EXPECT_ERROR(at("amax")(s, {x, 1, 1}), invalid_argument, "bool for argument keepdim",
               "an integer");
  EXPECT_ERROR(at("zeros")(s, {fg::int_list{2}, {}, 1}), invalid_argument,
               "Layout? for argument layout");
  EXPECT_ERROR(at("gelu")(s, {x, 1}), invalid_argument, "str for argument approximate");
  EXPECT_ERROR(at("clone")(s, {x, fg::dtype::f32}), invalid_argument, "MemoryFormat?", "a dtype");
  EXPECT_ERROR(at("rms_norm")(s, {x, fg::int_list{3}, {}, true}), invalid_argument,
               "float? for argument eps");
  // An integer is a number and a list of one.
  expect_same(at("rms_norm")(s, {x, 3, {}, 1}), at("rms_norm")(s, {x, fg::int_list{3}, {}, 1.0}),
              "rms_norm");
}

TEST(registry_call, dtypes) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 3});
  const auto d = numbers<f64>({3, 3});
  const auto i = numbers<i64>({3, 3});
  const view<host> x(a), wide(d), whole(i);
  EXPECT_ERROR(at("add.Tensor")(s, {wide, wide}), dtype_mismatch, "add.Tensor",
               "f32, i64, bool or c64", "f64");
  EXPECT_ERROR(at("add.Tensor")(s, {x, wide}), dtype_mismatch, "f64");
  EXPECT_ERROR(at("mm")(s, {x, whole}), dtype_mismatch, "mm", "one dtype");
  EXPECT_ERROR(at("mm")(s, {whole, whole}), dtype_mismatch, "mm", "a dtype of f32", "i64");
  EXPECT_ERROR(at("add_.Tensor")(s, {whole, x}), dtype_mismatch, "add_.Tensor", "f32", "i64");
  EXPECT_ERROR(at("add_.Tensor")(s, {view<host>(std::as_const(a)), x}), invalid_argument,
               "written");
}

TEST(registry_call, in_place_with_a_higher_dtype) {
  const auto& s = stream_of<host>();
  const auto a = numbers({4});
  const auto i = numbers<i64>({4}, 1, 9);
  const view<host> x(a), whole(i);
  const auto self = copy_of(x);
  at("mul_.Tensor")(s, {self, whole});
  auto want = fg::clone(s, a);
  fg::mul_(s, want, i);
  expect_same(self.view(), view<host>(want), "mul_");
}

TEST(registry_call, empty_and_strided_operands) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 4});
  const auto none = fg::empty<f32>(s, {0, 4});
  const view<host> x(a), turned(x.t()), nothing(none);
  expect_same(at("exp")(s, {turned}), boxed_results(fg::exp(s, a.t()))[0], "exp");
  EXPECT_EQ(at("exp")(s, {nothing}).numel(), 0);
  EXPECT_EQ(at("sum.dim_IntList")(s, {nothing, 0}).numel(), 4);
}

/// Those of this program's families; schemas.cpp has all.
TEST(registry_table, schemas) {
  const schema_list all = committed_schemas();
  for (const auto family : fg::registry<host>::families())
    for (const auto& op : family()) {
      const fg::schema& s = op.schema();
      if (s.space == "mine") continue;
      const auto found = all.find(std::string(s.key()));
      ASSERT_NE(found, all.end()) << s.text;
      EXPECT_EQ(found->second, std::pair(op.version(), std::string(s.text)));
    }
}

/// At the end of a whole run: every entry was called.
class all_called : public testing::Environment {
  void TearDown() override {
    if (std::string(GTEST_FLAG_GET(filter)) != "*") return;
    for (const auto family : fg::registry<host>::families())
      for (const auto& op : family())
        if (!called().contains(std::string(op.schema().key())))
          ADD_FAILURE() << "no test calls " << op.schema().text;
  }
};
[[maybe_unused]] const auto* const environment = testing::AddGlobalTestEnvironment(new all_called);

}  // namespace
}  // namespace flaggems_test
