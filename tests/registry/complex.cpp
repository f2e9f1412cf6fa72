// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Complex numbers in boxed calls; the families are compiled beside the tests of their own.
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/arrange.hpp>
#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/complex.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/stack.hpp>
#include <registry/support.hpp>

namespace flaggems_test {
namespace {

using fg::c64;

struct registry_complex : testing::Test {
  const fg::stream<host>& s = stream_of<host>();
  fg::tensor<f32> p = numbers({3, 4, 2}), q = numbers({3, 4, 2}, -2, 2, 5), r = numbers({3, 4});
  fg::tensor_view<c64> a = fg::view_as_complex(p), b = fg::view_as_complex(q);
  view<host> x{a}, y{b}, z{r};
};

TEST_F(registry_complex, formulas) {
  check("add.Tensor", {x, y, 0.5}, [&] { return fg::add(s, a, b, 0.5); });
  check("add.Scalar", {x, 2}, [&] { return fg::add(s, a, 2); });
  check("sub.Tensor", {x, z}, [&] { return fg::sub(s, a, r); });
  check("mul.Tensor", {x, y}, [&] { return fg::mul(s, a, b); });
  check("mul.Scalar", {x, 0.25}, [&] { return fg::mul(s, a, 0.25); });
  check("div.Tensor", {x, y}, [&] { return fg::div(s, a, b); });
  check("eq.Tensor", {x, y}, [&] { return fg::eq(s, a, b); });
  check("ne.Scalar", {x, 1.5}, [&] { return fg::ne(s, a, 1.5); });
  const fg::c128 number(0.5, -1);
  check("rsub.Tensor", {x, y, number}, [&] { return fg::rsub(s, a, b, number); });
  check("rsub.Scalar", {x, number, 2}, [&] { return fg::rsub(s, a, number, 2); });
  check("neg", {x}, [&] { return fg::neg(s, a); });
  check("square", {x}, [&] { return fg::square(s, a); });
  check("exp", {x}, [&] { return fg::exp(s, a); });
  check("sqrt", {x}, [&] { return fg::sqrt(s, a); });
  check("conj_physical", {x}, [&] { return fg::conj_physical(s, a); });
  const auto size = fg::registry<host>::at("abs")(s, {x});
  EXPECT_EQ(size.dtype(), fg::dtype::f32);
  expect_same(size, view<host>(fg::abs(s, a)), "abs");
  // A real operand comes first.
  expect_same(fg::registry<host>::at("mul.Tensor")(s, {z, x}), view<host>(fg::mul(s, r, a)), "mul");
}

TEST_F(registry_complex, copies_sums_and_products) {
  check("clone", {x}, [&] { return fg::clone(s, a); });
  const auto zeros = fg::registry<host>::at("to.dtype")(s, {x, fg::dtype::f32});
  expect_same(zeros, view<host>(fg::to<f32>(s, a)), "to");
  check("sum", {x}, [&] { return fg::sum(s, a); });
  check("mean.dim", {x, 1}, [&] { return fg::mean(s, a, 1); });
  const auto turned = b.t();
  const view<host> w(turned);
  check("mm", {x, w}, [&] { return fg::mm(s, a, turned); });
}

TEST_F(registry_complex, moves) {
  using list = fg::int_list;
  check("permute_copy", {x, list{1, 0}}, [&] { return fg::permute_copy(s, a, {1, 0}); });
  check("flip", {x, list{1}}, [&] { return fg::flip(s, a, {1}); });
  check("roll", {x, list{1}, list{0}}, [&] { return fg::roll(s, a, 1, 0); });
  check("repeat", {x, list{2, 1}}, [&] { return fg::repeat(s, a, {2, 1}); });
  const view<host> views[] = {x, y};
  const std::span<const view<host>> all(views);
  check("stack", {all, 1}, [&] { return fg::stack(s, std::tie(a, b), 1); });
}

TEST_F(registry_complex, refusals) {
  const auto at = [](const char* key) -> const auto& { return fg::registry<host>::at(key); };
  EXPECT_ERROR(at("lt.Tensor")(s, {x, y}), dtype_mismatch, "lt.Tensor", "got c64");
  EXPECT_ERROR(at("log")(s, {x}), dtype_mismatch, "log", "got c64");
  EXPECT_ERROR(at("amax")(s, {x}), dtype_mismatch, "amax", "got c64");
  EXPECT_ERROR(at("polar")(s, {x, y}), dtype_mismatch, "polar", "got c64");
  EXPECT_ERROR(at("abs_")(s, {copy_of(x)}), dtype_mismatch, "abs_");
  EXPECT_ERROR(at("add.out")(s, {x, y, 1, copy_of(z)}), dtype_mismatch, "add.out");
}

}  // namespace
}  // namespace flaggems_test
