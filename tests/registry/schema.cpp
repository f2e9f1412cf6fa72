// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The parser of schemas, and the schemas that lines derive.
#include <flaggems/registry/line.hpp>
#include <registry/support.hpp>

namespace flaggems_test {
namespace {

using fg::boxed_kind;
using fg::parameter_kind;

TEST(schema, parts) {
  constexpr auto parsed = fg::parse_schema(
      "mine::scale.Some_overload(Tensor(a!) self, Tensor? weight, SymInt[2] sizes, *, float "
      "eps=1e-05, "
      "str how='a, b', MemoryFormat? memory_format=None) -> (Tensor(a!), Tensor mean)");
  constexpr int count = parsed.parameter_count;
  static_assert(count == 6);
  const fg::schema s = parsed.view();
  EXPECT_EQ(s.space, "mine");
  EXPECT_EQ(s.name, "scale");
  EXPECT_EQ(s.overload, "Some_overload");
  EXPECT_EQ(s.key(), "mine::scale.Some_overload");
  const auto& p = s.parameters;
  EXPECT_TRUE(p[0].written && !p[0].optional && !p[0].keyword_only);
  EXPECT_EQ(p[0].kind, parameter_kind::tensor);
  EXPECT_TRUE(p[1].optional && !p[1].written);
  EXPECT_EQ(p[1].value.kind, boxed_kind::unset);
  EXPECT_EQ(p[2].kind, parameter_kind::integers);
  EXPECT_TRUE(p[3].keyword_only);
  EXPECT_EQ(p[3].value.number, 1e-5);
  EXPECT_EQ(p[4].value.text, "a, b");
  EXPECT_EQ(p[5].value.kind, boxed_kind::none);
  ASSERT_EQ(s.results.size(), 2U);
  EXPECT_TRUE(s.results[0].written);
  EXPECT_EQ(s.results[1].name, "mean");
  EXPECT_EQ(s.new_results(), 1);
  EXPECT_EQ(s.find("how"), 4);
  EXPECT_EQ(s.find("absent"), -1);
}

TEST(schema, defaults) {
  const auto value_of = [](const char* text) {
    return fg::parse_schema(std::string_view(text)).parameters[0].value;
  };
  EXPECT_EQ(value_of("f(int a=-1) -> ()").integer, -1);
  EXPECT_EQ(value_of("f(int a=-1) -> ()").kind, boxed_kind::integer);
  EXPECT_EQ(value_of("f(Scalar a=1) -> ()").kind, boxed_kind::integer);
  EXPECT_EQ(value_of("f(Scalar a=0.5) -> ()").number, 0.5);
  EXPECT_EQ(value_of("f(Scalar a=True) -> ()").kind, boxed_kind::boolean);
  EXPECT_EQ(value_of("f(bool a=True) -> ()").integer, 1);
  EXPECT_EQ(value_of("f(int[] a=[]) -> ()").kind, boxed_kind::integers);
  EXPECT_EQ(value_of("f(int[2] a=1) -> ()").integer, 1);
  EXPECT_EQ(value_of("f(float a=0.1) -> ()").number, 0.1);
  EXPECT_EQ(value_of("f(float a=1e+06) -> ()").number, 1e6);
  EXPECT_EQ(value_of("f(MemoryFormat a=channels_last) -> ()").integer,
            static_cast<i64>(fg::memory_format::channels_last));
}

TEST(schema, malformed) {
  struct wrong {
    const char* text;
    const char* expected;
  };
  for (const wrong& w : {
           wrong{"add", "a name and its parameters"},
           wrong{"(Tensor a) -> Tensor", "the name of an operator"},
           wrong{"2add(Tensor a) -> Tensor", "the name of an operator"},
           wrong{"add.(Tensor a) -> Tensor", "the name of an overload"},
           wrong{"::add(Tensor a) -> Tensor", "a namespace"},
           wrong{"add(Tensor a)", "results"},
           wrong{"add(Tensor a) -> ", "results"},
           wrong{"add(Tensor a) - > Tensor", "results"},
           wrong{"add(Tensor) -> Tensor", "a type and a name"},
           wrong{"add(Tenor a) -> Tensor", "a type of schemas"},
           wrong{"add(Tensor a, ) -> Tensor", "something around"},
           wrong{"add(, Tensor a) -> Tensor", "something around"},
           wrong{"add(Tensor a, Tensor a) -> Tensor", "different names"},
           wrong{"add(Tensor a, *, *, int b) -> Tensor", "one *"},
           wrong{"add(Tensor a, int b=) -> Tensor", "a default"},
           wrong{"add(Tensor a, int b=None) -> Tensor", "an optional type"},
           wrong{"add(Tensor a, int b=0.5) -> Tensor", "an integer"},
           wrong{"add(Tensor a, int b=x) -> Tensor", "a number"},
           wrong{"add(Tensor a, float b=1e) -> Tensor", "a number"},
           wrong{"add(Tensor a, bool b=1) -> Tensor", "True or False"},
           wrong{"add(Tensor a, str b=tanh) -> Tensor", "a string"},
           wrong{"add(Tensor a, Tensor b=1) -> Tensor", "no default but None"},
           wrong{"add(Tensor a, MemoryFormat b=rows) -> Tensor", "a memory format"},
           wrong{"add(Tensor(ab!) a) -> Tensor", "an alias"},
           wrong{"add(Tensor(a? a) -> Tensor", "a type of schemas"},
           wrong{"add(int(a!) a) -> Tensor", "a Tensor that is written"},
           wrong{"add(int[x] a) -> Tensor", "a length"},
           wrong{"add(str[] a) -> Tensor", "a type of schemas"},
           wrong{"add(Tensor a) -> int", "results of type Tensor"},
           wrong{"add(Tensor a) -> Tensor?", "results of type Tensor"},
           wrong{"add(Tensor a) -> (Tensor, bool)", "the only result"},
           wrong{"add(Tensor a) -> (Tensor[], Tensor)", "the only result"},
           wrong{"add(Tensor(a -> b) a) -> Tensor", "an alias"},
           wrong{"add(Tensor a) -> (Tensor, Tensor", ") at the end"},
           wrong{"add(Tensor a) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, "
                 "Tensor, Tensor, Tensor)",
                 "at most 9"},
       }) {
    EXPECT_ERROR(fg::parse_schema(std::string_view(w.text)), invalid_argument, w.expected);
  }
  std::string many = "f(int p0";
  for (int k = 1; k < 33; ++k) many += ", int p" + std::to_string(k);
  EXPECT_ERROR(fg::parse_schema(many + ") -> ()"), invalid_argument, "at most 32");
}

TEST(schema, results) {
  const auto result = [](const char* text) { return fg::parse_schema(text).results[0]; };
  const auto view_of = result("t(Tensor(a) self) -> Tensor(a)");
  EXPECT_TRUE(view_of.is_view && !view_of.written);
  EXPECT_EQ(view_of.kind, fg::parameter_kind::tensor);
  const auto parts = result("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]");
  EXPECT_TRUE(parts.is_view && !parts.written);
  EXPECT_EQ(parts.kind, fg::parameter_kind::tensors);
  const auto copies = result("unbind_copy.int(Tensor self, int dim=0) -> Tensor[]");
  EXPECT_FALSE(copies.is_view);
  EXPECT_EQ(copies.kind, fg::parameter_kind::tensors);
  EXPECT_EQ(result("equal(Tensor self, Tensor other) -> bool").kind, fg::parameter_kind::boolean);
  EXPECT_TRUE(result("abs_(Tensor(a!) self) -> Tensor(a!)").written);
}

TEST(schema, forms) {
  using fg::bindings::form;
  using fg::bindings::line;
  using fg::bindings::text_of;
  const auto add = line("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  EXPECT_EQ(text_of(add, form::functional, -1).view(), add.text);
  EXPECT_EQ(text_of(add, form::in_place, -1).view(),
            "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  EXPECT_EQ(
      text_of(add, form::out, -1).view(),
      "add.Tensor_out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_EQ(text_of(add.out("out").also("plus"), form::out, 0).view(),
            "plus.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_EQ(text_of(line("mine::f(Tensor x) -> Tensor"), form::out, -1).view(),
            "mine::f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_EQ(
      text_of(line("sort(Tensor self) -> (Tensor values, Tensor indices)"), form::out, -1).view(),
      "sort.out(Tensor self, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, "
      "Tensor(b!) indices)");
  EXPECT_ERROR(text_of(line("zeros(SymInt[] size) -> Tensor"), form::in_place, -1),
               invalid_argument, "a Tensor first");
}

}  // namespace
}  // namespace flaggems_test
