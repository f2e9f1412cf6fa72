// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/registry/families/reduce.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::reduce, flaggems::host, flaggems::f32,
                         flaggems::i64, bool, flaggems::c64);

namespace flaggems_test {
namespace {

struct registry_reduce : testing::Test {
  const fg::stream<host>& s = stream_of<host>();
  fg::tensor<f32> a = numbers({3, 4, 5});
  fg::tensor<i64> m = numbers<i64>({3, 4}, -9, 9);
  view<host> x{a}, p{m};
};

TEST_F(registry_reduce, sums) {
  const i64 two[] = {0, 2};
  check("sum", {x}, [&] { return fg::sum(s, a); });
  check("sum.dim_IntList", {x, fg::int_list(two), true}, [&] {
    return fg::sum(s, a, {0, 2}, true);
  });
  check("sum.dim_IntList", {x, std::nullopt}, [&] { return fg::sum(s, a); });
  check("sum.dim_IntList", {x, -1}, [&] { return fg::sum(s, a, -1); });
  check("sum", {p}, [&] { return fg::sum(s, m); });
  check("mean", {x}, [&] { return fg::mean(s, a); });
  check("mean.dim", {x, fg::int_list(two)}, [&] { return fg::mean(s, a, {0, 2}); });
  check("prod", {p}, [&] { return fg::prod(s, m); });
  check("prod.dim_int", {x, 1, true}, [&] { return fg::prod(s, a, 1, true); });
}

TEST_F(registry_reduce, of_a_given_dtype) {
  const auto t = fg::gt(s, a, 0);
  const view<host> truths(t);
  check("sum", {p, fg::dtype::f32}, [&] { return fg::sum<f32>(s, m); });
  check("sum", {truths}, [&] { return fg::sum(s, t); });
  check("sum", {x, fg::dtype::bool_}, [&] { return fg::sum<bool>(s, a); });
  check("prod.dim_int", {truths, 0, false, fg::dtype::bool_},
        [&] { return fg::prod<bool>(s, t, 0); });
  check("mean", {p, fg::dtype::f32}, [&] { return fg::mean<f32>(s, m); });
  EXPECT_ERROR(fg::registry<host>::at("mean")(s, {p}), dtype_mismatch, "mean", "f32", "i64");
}

TEST_F(registry_reduce, others) {
  const auto t = fg::gt(s, a, 0);
  const view<host> truths(t);
  const i64 dims[] = {0, 1};
  check("amax", {x, 1}, [&] { return fg::amax(s, a, 1); });
  check("amax", {x}, [&] { return fg::amax(s, a); });
  check("amin", {p, fg::int_list(dims), true}, [&] { return fg::amin(s, m, {0, 1}, true); });
  check("any", {truths}, [&] { return fg::any(s, t); });
  check("any.dim", {x, 0}, [&] { return fg::any(s, a, 0); });
  check("any.dims", {p, fg::int_list(dims)}, [&] { return fg::any(s, m, {0, 1}); });
  // Of an empty list nothing is reduced, of None everything.
  check("any.dims", {x, fg::int_list()}, [&] { return fg::ne(s, a, 0); });
  check("all.dims", {p, fg::int_list(), true}, [&] { return fg::ne(s, m, 0); });
  check("any.dims", {x, std::nullopt}, [&] { return fg::any(s, a); });
  check("all", {x}, [&] { return fg::all(s, a); });
  check("all.dim", {truths, 2, true}, [&] { return fg::all(s, t, 2, true); });
  check("all.dims", {truths}, [&] { return fg::all(s, t); });
  check("argmax", {x}, [&] { return fg::argmax(s, a); });
  check("argmax", {x, 1, true}, [&] { return fg::argmax(s, a, 1, true); });
  check("argmin", {p, 0}, [&] { return fg::argmin(s, m, 0); });
}

}  // namespace
}  // namespace flaggems_test
