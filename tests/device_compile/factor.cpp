// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/factor/cholesky.hpp>
#include <flaggems/kernel/family/factor/eigenvalues.hpp>
#include <flaggems/kernel/family/factor/householder.hpp>
#include <flaggems/kernel/family/factor/ldl.hpp>
#include <flaggems/kernel/family/factor/lu.hpp>
#include <flaggems/kernel/family/factor/svd.hpp>
#include <flaggems/kernel/family/factor/triangular.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;
using flaggems::i32, flaggems::i64, flaggems::f64;
FLAGGEMS_INSTANCE(linalg_cholesky_ex_f32, fk::cholesky<float>, fk::row_space, i64,
                  fk::matrices<float>, fk::matrices<i32>)
FLAGGEMS_INSTANCE(linalg_solve_triangular_f64, fk::triangular_solve<f64>, fk::row_space, i64,
                  fk::matrices<const f64>, fk::matrices<f64>, i32, i32)
FLAGGEMS_INSTANCE(linalg_lu_factor_ex_f32, fk::lu_factor<float>, fk::row_space, i64, i64,
                  fk::matrices<float>, fk::matrices<i32>, fk::matrices<i32>, i32)
FLAGGEMS_INSTANCE(linalg_det_f32, fk::lu_determinant<float>, fk::row_space, i64,
                  fk::matrices<const float>, fk::matrices<const i32>, fk::matrices<float>,
                  fk::matrices<float>, i32)
FLAGGEMS_INSTANCE(lu_unpack_order, fk::lu_order, fk::row_space, i64, i64, fk::matrices<const i32>,
                  fk::matrices<i64>)
FLAGGEMS_INSTANCE(linalg_ldl_factor_ex_f32, fk::ldl_factor<float>, fk::row_space, i64,
                  fk::matrices<float>, fk::matrices<i32>, fk::matrices<i32>)
FLAGGEMS_INSTANCE(linalg_ldl_solve_f64, fk::ldl_solve<f64>, fk::row_space, i64,
                  fk::matrices<const f64>, fk::matrices<const i32>, fk::matrices<f64>)
FLAGGEMS_INSTANCE(ormqr_f32, fk::householder_apply<float>, fk::row_space, i64, i64,
                  fk::matrices<const float>, fk::matrices<const float>, fk::matrices<float>, i32)
FLAGGEMS_INSTANCE(linalg_svd_f64, fk::jacobi_svd<f64>, fk::row_space, i64, i64, i64,
                  fk::matrices<f64>, fk::matrices<f64>, fk::matrices<f64>, fk::matrices<i32>, i32)
FLAGGEMS_INSTANCE(linalg_eigvals_f32, fk::hessenberg_qr<float>, fk::row_space, i64,
                  fk::matrices<float>, fk::matrices<flaggems::c64>, fk::matrices<i32>)
