// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/copy.hpp>
#include <flaggems/registry/families/linalg.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::linalg, flaggems::host, flaggems::f32,
                         flaggems::c64);

namespace flaggems_test {
namespace {

/// 4 on the diagonals of numbers of at most 1: positive-definite, of which the lower triangle is
/// read.
auto definite(i64 n) {
  auto a = numbers({2, n, n}, -1, 1);
  for (i64 k = 0; k < 2; ++k)
    for (i64 i = 0; i < n; ++i) a.data()[(k * n + i) * n + i] = 4;
  return a;
}

TEST(registry_linalg, cholesky) {
  const auto& s = stream_of<host>();
  const auto a = definite(4), b = numbers({2, 4, 3}, -1, 1, 2);
  const auto l = fg::linalg_cholesky(s, a);
  const view<host> x(a), y(b), factor(l);
  check("linalg_cholesky", {x}, [&] { return fg::linalg_cholesky(s, a); });
  check("linalg_cholesky_ex", {x, true, true},
        [&] { return fg::linalg_cholesky_ex(s, a, true, true); });
  check("cholesky_inverse", {factor}, [&] { return fg::cholesky_inverse(s, l); });
  check("cholesky_solve", {y, factor}, [&] { return fg::cholesky_solve(s, b, l); });
  check("_cholesky_solve_helper", {y, factor, false},
        [&] { return fg::cholesky_solve_helper(s, b, l, false); });
  check("linalg_solve_triangular", {x, y, true, true, true},
        [&] { return fg::linalg_solve_triangular(s, a, b, true, true, true); });
  constexpr bool both[] = {true, true};
  const auto sides = fg::cholesky_solve(s, b, l), inverse = fg::cholesky_inverse(s, l);
  const view<host> solved(sides), inverses(inverse);
  check("flaggems::cholesky_backward", {x, factor}, [&] { return fg::cholesky_backward(s, a, l); });
  check("flaggems::cholesky_inverse_backward", {x, factor, inverses, true},
        [&] { return fg::cholesky_inverse_backward(s, a, l, inverse, true); });
  check("flaggems::cholesky_solve_backward",
        {y, y, factor, solved, true, std::span<const bool>(both)},
        [&] { return fg::cholesky_solve_backward(s, b, b, l, sides, true); });
  check("flaggems::linalg_solve_triangular_backward",
        {y, x, y, solved, true, true, false, std::span<const bool>(both)},
        [&] { return fg::linalg_solve_triangular_backward(s, b, a, b, sides, true); });
  const auto negative = numbers({2, 2}, -2, -1);
  EXPECT_ERROR(fg::registry<host>::at("linalg_cholesky")(s, {view<host>(negative)}),
               invalid_argument, "linalg_cholesky", "positive-definite", "order 1");
}

TEST(registry_linalg, factors_with_pivots) {
  const auto& s = stream_of<host>();
  const auto a = definite(4), b = numbers({2, 4, 3}, -1, 1, 2);
  const auto lu = fg::linalg_lu_factor(s, a);
  const auto ld = fg::linalg_ldl_factor(s, a);
  const view<host> x(a), y(b), data(lu.lu), pivots(lu.pivots), block(ld.ld), places(ld.pivots);
  check("linalg_lu_factor_ex", {x, true, true},
        [&] { return fg::linalg_lu_factor_ex(s, a, true, true); });
  check("linalg_lu_factor", {x, false}, [&] { return fg::linalg_lu_factor(s, a, false); });
  check("linalg_lu", {x}, [&] { return fg::linalg_lu(s, a); });
  check("lu_unpack", {data, pivots}, [&] { return fg::lu_unpack(s, lu.lu, lu.pivots); });
  check("linalg_det", {x}, [&] { return fg::linalg_det(s, a); });
  const auto parts = fg::linalg_lu(s, a);
  const auto g = numbers({2}, 1, 2);
  const view<host> p(parts.p), lower(parts.l), upper(parts.u), grad(g);
  check("flaggems::linalg_lu_backward", {x, std::nullopt, p, lower, upper},
        [&] { return fg::linalg_lu_backward(s, a, std::nullopt, parts.p, parts.l, parts.u); });
  check("flaggems::linalg_lu_factor_ex_backward", {x, data, pivots},
        [&] { return fg::linalg_lu_factor_ex_backward(s, a, lu.lu, lu.pivots); });
  check("flaggems::linalg_det_backward", {grad, x},
        [&] { return fg::linalg_det_backward(s, g, a); });
  check("flaggems::linalg_slogdet_backward", {grad, x},
        [&] { return fg::linalg_slogdet_backward(s, g, a); });
  check("linalg_slogdet", {x}, [&] { return fg::linalg_slogdet(s, a); });
  check("linalg_ldl_factor_ex", {x}, [&] { return fg::linalg_ldl_factor_ex(s, a); });
  check("linalg_ldl_factor", {x}, [&] { return fg::linalg_ldl_factor(s, a); });
  check("linalg_ldl_solve", {block, places, y},
        [&] { return fg::linalg_ldl_solve(s, ld.ld, ld.pivots, b); });
}

TEST(registry_linalg, orthogonal_factors) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 4, 3}, -1, 1), b = numbers({2, 4, 2}, -1, 1, 2),
             t = numbers({2, 3}, 0, 1, 3);
  const view<host> x(a), y(b), tau(t);
  check("linalg_householder_product", {x, tau},
        [&] { return fg::linalg_householder_product(s, a, t); });
  check("orgqr", {x, tau}, [&] { return fg::linalg_householder_product(s, a, t); });
  check("ormqr", {x, tau, y, true, true}, [&] { return fg::ormqr(s, a, t, b, true, true); });
  check("linalg_svd", {x, false, "gesvd"}, [&] { return fg::linalg_svd(s, a, false); });
  check("linalg_svdvals", {x}, [&] { return fg::linalg_svdvals(s, a); });
  check("svd", {x, false}, [&] { return fg::svd(s, a, false); });
  check("linalg_lstsq", {x, y, 1e-4, "gelsd"},
        [&] { return fg::linalg_lstsq(s, a, b, 1e-4, fg::lstsq_driver::gelsd); });
  const auto given = fg::linalg_lstsq(s, a, b).solution;
  const view<host> solution(given);
  constexpr bool both[] = {true, true};
  check("flaggems::linalg_lstsq_backward",
        {solution, x, y, solution, std::nullopt, std::span<const bool>(both)},
        [&] { return fg::linalg_lstsq_backward(s, given, a, b, given); });
  const auto f = fg::linalg_svd(s, a, false);
  const view<host> u(f.u), values(f.s), vh(f.vh);
  check("flaggems::linalg_svd_backward", {x, std::nullopt, vh, u, values, vh},
        [&] { return fg::linalg_svd_backward(s, a, std::nullopt, f.vh, f.u, f.s, f.vh); });
  const auto square = definite(3);
  const view<host> z(square);
  check("linalg_eigvals", {z}, [&] { return fg::linalg_eigvals(s, square); });
  check("_linalg_eigvals", {z}, [&] { return fg::linalg_eigvals(s, square); });
  EXPECT_ERROR(fg::registry<host>::at("linalg_svdvals")(s, {x, "other"}), invalid_argument,
               "gesvdj");
  EXPECT_ERROR(
      check("linalg_lstsq", {x, y, {}, "other"}, [&] { return fg::linalg_lstsq(s, a, b); }),
      invalid_argument, "gelsy");
}

TEST(registry_linalg, transforms) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 6});
  const auto c = fg::fft_fft(s, a);
  const view<host> x(a), z(c);
  check("fft_fft", {x, 4, 0, "ortho"},
        [&] { return fg::fft_fft(s, a, 4, 0, fg::fft_norm::ortho); });
  check("flaggems::fft", {z}, [&] { return fg::fft(s, c); });
}

}  // namespace
}  // namespace flaggems_test
