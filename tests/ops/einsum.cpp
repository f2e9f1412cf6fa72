// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/einsum.hpp>
#include <support/ops.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flaggems_test {
namespace {

template <class Case>
class einsums : public ::testing::Test {};
using few_cases = cases<on_host<f32, bf16>, on_chips<f32>, on_wide<f32>>;
TYPED_TEST_SUITE(einsums, few_cases);

std::size_t at(i64 i) { return static_cast<std::size_t>(i); }

/// An operand of the reference: sizes and values in row-major order.
struct operand {
  shape sizes;
  std::vector<double> values;
};

/// The sum of products by loops over all letters. `inputs` and `result` have no ellipsis.
operand reference(const std::vector<std::string>& inputs, const std::string& result,
                  const std::vector<operand>& operands) {
  std::map<char, i64> sizes;
  std::string letters = result;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    for (std::size_t d = 0; d < inputs[k].size(); ++d) {
      i64& size = sizes.try_emplace(inputs[k][d], 1).first->second;
      if (size == 1) size = operands[k].sizes[static_cast<int>(d)];
      if (letters.find(inputs[k][d]) == letters.npos) letters += inputs[k][d];
    }
  operand r;
  i64 kept = 1, all = 1;
  for (const char c : result) r.sizes.push_back(sizes[c]), kept *= sizes[c];
  for (const char c : letters) all *= sizes[c];
  r.values.assign(at(kept), 0);
  for (i64 n = 0; n < all; ++n) {
    std::map<char, i64> place;
    i64 rest = n;
    for (std::size_t d = letters.size(); d-- > 0;) {
      place[letters[d]] = rest % sizes[letters[d]];
      rest /= sizes[letters[d]];
    }
    double term = 1;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      i64 offset = 0;
      for (std::size_t d = 0; d < inputs[k].size(); ++d) {
        const i64 size = operands[k].sizes[static_cast<int>(d)];
        offset = offset * size + (size == 1 ? 0 : place[inputs[k][d]]);
      }
      term *= operands[k].values[at(offset)];
    }
    i64 offset = 0;
    for (const char c : result) offset = offset * sizes[c] + place[c];
    r.values[at(offset)] += term;
  }
  return r;
}

/// One equation; `inputs`, `result`: the same without an ellipsis.
struct example {
  std::string_view equation;
  std::vector<std::string> inputs;
  std::string result;
  std::vector<shape> sizes;
  std::vector<i64> path{};
};

const std::vector<example>& examples() {
  static const std::vector<example> all = {
      {"ij,jk->ik", {"ij", "jk"}, "ik", {{3, 4}, {4, 5}}},
      {"ij,jk->ki", {"ij", "jk"}, "ki", {{3, 4}, {4, 5}}},
      {"ij,jk", {"ij", "jk"}, "ik", {{3, 4}, {4, 5}}},
      {"ba", {"ba"}, "ab", {{3, 4}}},
      {"bA", {"bA"}, "Ab", {{3, 4}}},
      {"ij->", {"ij"}, "", {{3, 4}}},
      {"i->i", {"i"}, "i", {{3}}},
      {"ii->i", {"ii"}, "i", {{4, 4}}},
      {"ii", {"ii"}, "", {{4, 4}}},
      {"iji->j", {"iji"}, "j", {{3, 4, 3}}},
      {"i,i->", {"i", "i"}, "", {{5}, {5}}},
      {"i,j->ij", {"i", "j"}, "ij", {{3}, {4}}},
      {"i,j->ji", {"i", "j"}, "ji", {{3}, {4}}},
      {"bij,bjk->bik", {"bij", "bjk"}, "bik", {{2, 3, 4}, {2, 4, 5}}},
      {"bij,bjk->kib", {"bij", "bjk"}, "kib", {{2, 3, 4}, {2, 4, 5}}},
      {"bhqd,bhkd->bhqk", {"bhqd", "bhkd"}, "bhqk", {{2, 2, 3, 4}, {2, 2, 5, 4}}},
      {"abcd,dcef->abef", {"abcd", "dcef"}, "abef", {{2, 3, 2, 4}, {4, 2, 2, 3}}},
      {"...ij,...jk->...ik", {"xyij", "yjk"}, "xyik", {{2, 3, 2, 4}, {3, 4, 2}}},
      {"...ij,jk...->ik...", {"xij", "jkx"}, "ikx", {{3, 2, 4}, {4, 2, 3}}},
      {"...i->...", {"xyi"}, "xy", {{2, 3, 4}}},
      {"i...->i", {"ixy"}, "i", {{2, 3, 4}}},
      {"...,...->...", {"xy", "xy"}, "xy", {{2, 3}, {2, 3}}},
      {"i...,j...", {"ix", "jx"}, "xij", {{2, 3}, {4, 3}}},
      {"bn,anm,bm->ba", {"bn", "anm", "bm"}, "ba", {{2, 3}, {4, 3, 5}, {2, 5}}},
      {"ij,jk,kl->il", {"ij", "jk", "kl"}, "il", {{2, 3}, {3, 4}, {4, 2}}, {1, 2, 0, 1}},
      {"ij,jk,kl->il", {"ij", "jk", "kl"}, "il", {{2, 3}, {3, 4}, {4, 2}}, {2, 0, 1, 0}},
      {"ij,jk->ik", {"ij", "jk"}, "ik", {{3, 1}, {4, 5}}},
      {"ij,ij->ij", {"ij", "ij"}, "ij", {{3, 1}, {1, 4}}},
      {"ij,kj->ik", {"ij", "kj"}, "ik", {{1, 4}, {3, 4}}},
      {"ij,k->i", {"ij", "k"}, "i", {{3, 4}, {5}}},
      {"ij,jk->ik", {"ij", "jk"}, "ik", {{3, 0}, {0, 5}}},
      {"ij,jk->ik", {"ij", "jk"}, "ik", {{0, 3}, {3, 5}}},
      {"ij->j", {"ij"}, "j", {{0, 3}}},
      {" i j , j k -> i k ", {"ij", "jk"}, "ik", {{2, 3}, {3, 2}}},
      {",ij->ij", {"", "ij"}, "ij", {{}, {2, 3}}},
      {"abcdefg,abcdefg->abcdefg",
       {"abcdefg", "abcdefg"},
       "abcdefg",
       {{1, 2, 1, 2, 1, 2, 2}, {1, 2, 1, 2, 1, 2, 2}}},
      {"abcdefgh,abcdefgh->abcdefg",
       {"abcdefgh", "abcdefgh"},
       "abcdefg",
       {{2, 2, 2, 2, 2, 2, 2, 3}, {2, 2, 2, 2, 2, 2, 2, 3}}},
      {"ab,bc,cd,de,ef,fg,gh,hi->ai",
       {"ab", "bc", "cd", "de", "ef", "fg", "gh", "hi"},
       "ai",
       {{2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}}},
  };
  return all;
}

TYPED_TEST(einsums, equations) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  for (const example& one : examples())
    for (const layout of : {layout::contiguous, layout::transposed, layout::negative}) {
      SCOPED_TRACE(std::string(one.equation) + " " + to_string(of));
      std::vector<test_tensor<T, D>> tensors;
      std::vector<fg::tensor_view<const T, D>> views;
      std::vector<operand> operands;
      for (const shape& sizes : one.sizes) {
        tensors.emplace_back(sizes, of, random_values(sizes));
        operands.push_back({sizes, tensors.back().values()});
      }
      for (auto& x : tensors) views.push_back(x.in());
      const auto got = fg::einsum(s, one.equation, views, one.path);
      const operand want = reference(one.inputs, one.result, operands);
      ASSERT_EQ(std::string(fg::to_string(got.shape_of())), fg::to_string(want.sizes));
      expect_close<T>(values_of(got), want.values, tolerance_of<T>(64));
      for (const auto& x : tensors) EXPECT_TRUE(x.untouched());
    }
}

TYPED_TEST(einsums, products_lie_as_they_are_made) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  test_tensor<T, D> a({3, 4}), b({4, 5});
  const auto turned = fg::einsum(test_stream<D>(), "ij,jk->ki", std::vector{a.in(), b.in()});
  EXPECT_EQ(std::string(fg::to_string(fg::int_list(turned.strides()))), "[3, 1]");
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(einsum, other_types) {
  const auto& s = test_stream<host>();
  test_tensor<i64> a({2, 3}, layout::contiguous, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values_of(fg::einsum(s, "ij,kj->ik", std::vector{a.in(), a.in()})),
            (std::vector<double>{14, 32, 32, 77}));
  EXPECT_EQ(values_of(fg::einsum(s, "ij->i", std::vector{a.in()})), (std::vector<double>{6, 15}));
  const auto x = fg::from_values<fg::c64>(s, {{1, 2}, {0, 1}}),
             y = fg::from_values<fg::c64>(s, {{3, -1}, {2, 0}});
  const auto dot = fg::einsum(s, "i,i->", std::tie(x, y));
  EXPECT_EQ(fg::einsum(s, "i,i->", {x.view(), y.view()}).data()->re, 5);
  EXPECT_EQ(dot.data()->re, 5);
  EXPECT_EQ(dot.data()->im, 7);
}

TEST(einsum, refuses_bad_equations) {
  const auto& s = test_stream<host>();
  test_tensor<f32> a({2, 3}), b({3, 4}), c({3, 3, 3});
  const auto run = [&](std::string_view equation, auto&&... x) {
    static_cast<void>(fg::einsum(s, equation, std::vector{x.in()...}));
  };
  EXPECT_RAISES(run("ij,jk->il", a, b), invalid_argument, "einsum");
  EXPECT_RAISES(run("ij,jk->ii", a, b), invalid_argument, "einsum");
  EXPECT_RAISES(run("ij,jk", a), invalid_argument, "einsum");
  EXPECT_RAISES(run("ij", a, b), invalid_argument, "einsum");
  EXPECT_RAISES(run("i1->i", a), invalid_argument, "einsum");
  EXPECT_RAISES(run("i.j->i", a), invalid_argument, "einsum");
  EXPECT_RAISES(run("...i...->i", a), invalid_argument, "einsum");
  EXPECT_RAISES(run("ij->...->i", a), invalid_argument, "einsum");
  EXPECT_RAISES(run("ij,ij->ij", a, b), shape_mismatch, "einsum");
  EXPECT_RAISES(run("ii->i", a), shape_mismatch, "einsum");
  EXPECT_RAISES(run("i->i", a), shape_mismatch, "einsum");
  EXPECT_RAISES(run("ijk->i", a), shape_mismatch, "einsum");
  EXPECT_RAISES(run("abc,def,ghi->abcdefghi", c, c, c), invalid_argument, "einsum");
  EXPECT_RAISES(static_cast<void>(fg::einsum(s, "ij,jk->ik", std::vector{a.in(), b.in()}, {0, 0})),
                invalid_argument, "einsum");
  EXPECT_RAISES(static_cast<void>(fg::einsum(s, "ij,jk->ik", std::vector{a.in(), b.in()}, {0})),
                invalid_argument, "einsum");
  EXPECT_RAISES(static_cast<void>(fg::einsum(s, "ij", std::vector<fg::tensor_view<const f32>>{})),
                invalid_argument, "einsum");
}
#endif

}  // namespace
}  // namespace flaggems_test
