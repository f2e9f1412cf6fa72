// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/cholesky.hpp>
#include <flaggems/ops/eigenvalues.hpp>
#include <flaggems/ops/factor_backward.hpp>
#include <flaggems/ops/fft.hpp>
#include <flaggems/ops/householder.hpp>
#include <flaggems/ops/ldl.hpp>
#include <flaggems/ops/lstsq.hpp>
#include <flaggems/ops/lu.hpp>
#include <flaggems/ops/svd.hpp>
#include <flaggems/ops/svd_backward.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

using factor_types = flaggems::detail::factor_types;
using fft_types = flaggems::detail::fft_types;

/// Factors of matrices, and what follows from them.
struct linalg {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::linalg_cholesky, factor_types, "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::linalg_cholesky_ex, factor_types, line("linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)").out("L")),
        FLAGGEMS_BIND(flaggems::cholesky_inverse, factor_types, "cholesky_inverse(Tensor self, bool upper=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::cholesky_solve, factor_types, "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::cholesky_solve_helper, factor_types, "_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor"),
        FLAGGEMS_BIND(flaggems::linalg_solve_triangular, factor_types, "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::linalg_lu_factor_ex, factor_types, "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)"),
        FLAGGEMS_BIND(flaggems::linalg_lu_factor, factor_types, "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)"),
        FLAGGEMS_BIND(flaggems::linalg_lu, factor_types, "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)"),
        FLAGGEMS_BIND(flaggems::lu_unpack, factor_types, "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)"),
        FLAGGEMS_BIND(flaggems::linalg_det, factor_types, "linalg_det(Tensor A) -> Tensor"),
        FLAGGEMS_BIND(flaggems::linalg_slogdet, factor_types, "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)"),
        FLAGGEMS_BIND(flaggems::linalg_ldl_factor_ex, factor_types, "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)"),
        FLAGGEMS_BIND(flaggems::linalg_ldl_factor, factor_types, "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)"),
        FLAGGEMS_BIND(flaggems::linalg_ldl_solve, factor_types, "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::linalg_householder_product, factor_types, line("linalg_householder_product(Tensor input, Tensor tau) -> Tensor")),
        FLAGGEMS_BIND(flaggems::linalg_householder_product, factor_types, line("orgqr(Tensor self, Tensor input2) -> Tensor")),
        FLAGGEMS_BIND(flaggems::ormqr, factor_types, "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor"),
        FLAGGEMS_BIND(flaggems::linalg_svd, factor_types, line("linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)").out("U")),
        FLAGGEMS_BIND(flaggems::linalg_svdvals, factor_types, "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::svd, factor_types, line("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)").out("U")),
        FLAGGEMS_BIND(flaggems::fft_fft, fft_types, "fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::fft, fft_types, "flaggems::fft(Tensor x, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"),
        FLAGGEMS_BIND(flaggems::linalg_eigvals, factor_types, "linalg_eigvals(Tensor self) -> Tensor"),
        FLAGGEMS_BIND(flaggems::linalg_eigvals, factor_types, line("_linalg_eigvals(Tensor self) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::linalg_lstsq, factor_types, line("linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)").outputs_after(2)),
        FLAGGEMS_BIND(flaggems::cholesky_backward, factor_types, line("flaggems::cholesky_backward(Tensor grad, Tensor l, bool upper=False) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::cholesky_inverse_backward, factor_types, line("flaggems::cholesky_inverse_backward(Tensor grad, Tensor l, Tensor inverse, bool upper=False) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::cholesky_solve_backward, factor_types, line("flaggems::cholesky_solve_backward(Tensor grad, Tensor self, Tensor input2, Tensor result, bool upper, bool[2] output_mask) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::linalg_solve_triangular_backward, factor_types, line("flaggems::linalg_solve_triangular_backward(Tensor grad, Tensor self, Tensor B, Tensor result, bool upper, bool left, bool unitriangular, bool[2] output_mask) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::linalg_lu_backward, factor_types, line("flaggems::linalg_lu_backward(Tensor? grad_l, Tensor? grad_u, Tensor p, Tensor l, Tensor u) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::linalg_lu_factor_ex_backward, factor_types, line("flaggems::linalg_lu_factor_ex_backward(Tensor grad, Tensor lu, Tensor pivots, bool pivot=True) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::linalg_det_backward, factor_types, line("flaggems::linalg_det_backward(Tensor grad, Tensor a) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::linalg_slogdet_backward, factor_types, line("flaggems::linalg_slogdet_backward(Tensor grad, Tensor a) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::linalg_svd_backward, factor_types, line("flaggems::linalg_svd_backward(Tensor? grad_u, Tensor? grad_s, Tensor? grad_vh, Tensor u, Tensor s, Tensor vh) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::linalg_lstsq_backward, factor_types, line("flaggems::linalg_lstsq_backward(Tensor grad, Tensor self, Tensor b, Tensor solution, float? rcond, bool[2] output_mask) -> (Tensor, Tensor)").without_out()));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
