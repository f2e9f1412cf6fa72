// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/statistics.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::statistics, flaggems::host, flaggems::f32,
                         bool);

namespace flaggems_test {
namespace {

using list = fg::int_list;

TEST(registry_statistics, reductions) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 7});
  const view<host> x(a);
  check("max.dim", {x, 1}, [&] { return fg::max(s, a, 1); });
  check("max", {x}, [&] { return fg::max(s, a); });
  check("min.dim", {x, 0, true}, [&] { return fg::min(s, a, 0, true); });
  check("min", {x}, [&] { return fg::min(s, a); });
  check("aminmax", {x, 1}, [&] { return fg::aminmax(s, a, 1); });
  check("count_nonzero", {x, 1}, [&] { return fg::count_nonzero(s, a, 1); });
  check("count_nonzero", {x}, [&] { return fg::count_nonzero(s, a); });
  check("count_nonzero.dim_IntList", {x, list{0}}, [&] { return fg::count_nonzero(s, a, 0); });
  check("nansum", {x, 1}, [&] { return fg::nansum(s, a, 1); });
  check("logsumexp", {x, 1}, [&] { return fg::logsumexp(s, a, 1); });
  check("special_logsumexp", {x, 0, true}, [&] { return fg::logsumexp(s, a, 0, true); });
  check("var.correction", {x, 1, 0}, [&] { return fg::var(s, a, 1, 0.0); });
  check("std.correction", {x}, [&] { return fg::stddev(s, a); });
  check("var_mean.correction", {x, 0, std::nullopt, true},
        [&] { return fg::var_mean(s, a, 0, {}, true); });
  check("linalg_vector_norm", {x, 3, 1}, [&] { return fg::linalg_vector_norm(s, a, 3, 1); });
  check("norm.Scalar", {x}, [&] { return fg::norm(s, a); });
  check("norm.ScalarOpt_dim", {x, 1, list{0}, true}, [&] { return fg::norm(s, a, 1.0, 0, true); });
  check("diff", {x, 2, 0}, [&] { return fg::diff(s, a, 2, 0); });
  check("diff", {x, 1, 1, x, {}}, [&] { return fg::diff(s, a, 1, 1, a); });
  check("trace", {x}, [&] { return fg::trace(s, a); });
}

TEST(registry_statistics, comparisons) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 4}), b = numbers({3, 4}, -2, 2, 2);
  const auto c = fg::evaluate(s, a + 1e-7f);
  const view<host> x(a), y(b), near(c);
  const auto truth = [&](const char* key, const arguments<host>& given) {
    const auto& op = fg::registry<host>::at(key);
    note(op);
    fg::any_results<host> got;
    op.call(fg::ref(s), given, got);
    EXPECT_TRUE(got.tensors.empty());
    return got.truth;
  };
  EXPECT_TRUE(truth("is_nonzero", {x.narrow(0, 0, 1).narrow(1, 0, 1)}));
  EXPECT_TRUE(truth("equal", {x, x}));
  EXPECT_FALSE(truth("equal", {x, near}));
  EXPECT_TRUE(truth("allclose", {x, near, 0, 1e-3}));
  EXPECT_FALSE(truth("allclose", {x, y}));
  EXPECT_ERROR(truth("allclose", {x, y, -1.0}), invalid_argument, "allclose");
  EXPECT_ERROR(fg::registry<host>::at("equal")(s, {x, x}), invalid_argument, "equal",
               "any_results");
}

TEST(registry_statistics, truths) {
  const auto& s = stream_of<host>();
  const auto t = fg::from_values<bool>(s, {true, false}), one = fg::full<bool>(s, {1}, true);
  const view<host> x(t), yes(one);
  check("_is_all_true", {x}, [&] { return fg::is_all_true(s, t); });
  check("_is_any_true", {x}, [&] { return fg::is_any_true(s, t); });
  for (const char* const key : {"_assert_async", "_assert_async.msg"}) {
    const auto& op = fg::registry<host>::at(key);
    note(op);
    arguments<host> right{yes}, wrong{x.narrow(0, 1, 1)};
    if (op.schema().parameters.size() == 2)
      right.emplace_back("seven"), wrong.emplace_back("seven");
    op.call(s, right, {});
    EXPECT_ERROR(op.call(s, wrong, {}), invalid_argument, "not 0",
                 wrong.size() == 2 ? "seven" : "0");
  }
  check("_functional_assert_async.msg", {yes, "eight", x},
        [&] { return fg::functional_assert_async(s, one, "eight", t); });
}

TEST(registry_statistics, distances) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 4}), b = numbers({3, 4}, -1, 1, 3);
  const view<host> x(a), y(b);
  check("pairwise_distance", {x, y, 3, 0.5, true},
        [&] { return fg::pairwise_distance(s, a, b, 3, 0.5, true); });
  check("cdist", {x, y, 1, 2}, [&] { return fg::cdist(s, a, b, 1, 2); });
  check("_cdist_forward", {x, y, 3, std::nullopt}, [&] { return fg::cdist(s, a, b, 3); });
  check("_euclidean_dist", {x, y}, [&] { return fg::cdist(s, a, b); });
  const auto z = fg::cdist(s, a, b, 1);
  const view<host> between(z);
  check("_cdist_backward", {between, x, y, 1, between},
        [&] { return fg::cdist_backward(s, z, a, b, 1, z); });
  check("pdist", {x, 1}, [&] { return fg::pdist(s, a, 1); });
  check("_pdist_forward", {x, 3}, [&] { return fg::pdist(s, a, 3); });
  const auto pairs = numbers({3}, 1, 2, 4);
  check("_pdist_backward", {view<host>(pairs), x, 3, view<host>(pairs)},
        [&] { return fg::pdist_backward(s, pairs, a, 3, pairs); });
  check("renorm", {x, 2, 0, 0.5}, [&] { return fg::renorm(s, a, 2, 0, 0.5); });
  check("linalg_matrix_norm.str_ord", {x, "nuc"},
        [&] { return fg::linalg_matrix_norm(s, a, fg::matrix_norm_order::nuc); });
  check("linalg_matrix_norm", {x, 1, list{1, 0}, true}, [&] {
    return fg::linalg_matrix_norm(s, a, 1, {1, 0}, true);
  });
}

TEST(registry_statistics, products) {
  const auto& s = stream_of<host>();
  const auto a = numbers({4}), b = numbers({4}, -2, 2, 2), m = numbers({4, 4}, -2, 2, 3);
  const view<host> x(a), y(b), matrix(m);
  check("outer", {x, y}, [&] { return fg::outer(s, a, b); });
  check("ger", {x, y}, [&] { return fg::outer(s, a, b); });
  check("dot", {x, y}, [&] { return fg::dot(s, a, b); });
  check("vdot", {x, y}, [&] { return fg::vdot(s, a, b); });
  check("dist", {x, y, 3}, [&] { return fg::dist(s, a, b, 3); });
  check("linalg_vecdot", {x, y}, [&] { return fg::linalg_vecdot(s, a, b); });
  check("addr", {matrix, x, y, 2, 0.5},
        [&] { return fg::addr(s, m, a, b, {.beta = 2, .alpha = 0.5}); });
  check("addmv", {x, matrix, y, 1, 3},
        [&] { return fg::addmv(s, a, m, b, {.beta = 1, .alpha = 3}); });
  check("kron", {matrix, x}, [&] { return fg::kron(s, m, a); });
}

}  // namespace
}  // namespace flaggems_test
