// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/creation.hpp>
#include <flaggems/registry/families/scan.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::scan, flaggems::host, flaggems::f32, bool);

namespace flaggems_test {
namespace {

TEST(registry_scan, all) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 7});
  const view<host> x(a);
  check("cumsum", {x, 1}, [&] { return fg::cumsum(s, a, 1); });
  check("cumprod", {x, 0, fg::dtype::f32}, [&] { return fg::cumprod(s, a, 0); });
  check("logcumsumexp", {x, -1}, [&] { return fg::logcumsumexp(s, a, 1); });
  check("flaggems::normed_cumsum", {x}, [&] { return fg::normed_cumsum(s, a); });
  check("cummax", {x, 1}, [&] { return fg::cummax(s, a, 1); });
  check("cummin", {x, 0}, [&] { return fg::cummin(s, a, 0); });
  for (const char* const name : {"cummax", "cummin"}) {
    const auto& helper = fg::registry<host>::at("_" + std::string(name) + "_helper");
    note(helper);
    const auto values = copy_of(x);
    auto places = fg::zeros<i64>(s, {3, 7});
    const view<host> indices(places.view());
    helper(s, {x, values, indices, 1});
    const auto want = name[4] == 'a' ? fg::cummax(s, a, 1) : fg::cummin(s, a, 1);
    expect_same(values.view(), view<host>(want.values), name);
    expect_same(indices, view<host>(want.indices), name);
  }
  for (const char* const name : {"cumsum", "cumprod"}) {
    const auto& in_place = fg::registry<host>::at(std::string(name) + "_");
    note(in_place);
    const auto got = copy_of(x);
    in_place(s, {got, 1});
    const auto want = fg::registry<host>::at(name)(s, {x, 1});
    expect_same(got.view(), want.view(), name);
  }
}

// Bool is added up as i64, and holds no sums.
TEST(registry_scan, of_bools) {
  const auto& s = stream_of<host>();
  const auto a = fg::from_values<bool>(s, {true, false, true}, {3});
  const view<host> x(a);
  for (const char* const name : {"cumsum", "cumprod"}) {
    const auto& op = fg::registry<host>::at(name);
    EXPECT_EQ(op(s, {x, 0}).dtype(), fg::dtype::i64);
    EXPECT_ERROR(op(s, {x, 0, fg::dtype::bool_}), dtype_mismatch, name, "bool");
  }
  check("cumsum", {x, 0}, [&] { return fg::cumsum(s, a, 0); });
}

}  // namespace
}  // namespace flaggems_test
