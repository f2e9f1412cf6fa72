// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/cholesky.hpp>
#include <flaggems/ops/eigenvalues.hpp>
#include <flaggems/ops/fft.hpp>
#include <flaggems/ops/householder.hpp>
#include <flaggems/ops/ldl.hpp>
#include <flaggems/ops/lstsq.hpp>
#include <flaggems/ops/lu.hpp>
#include <flaggems/ops/svd.hpp>

#include "contract.hpp"

namespace contract {

template <class T>
using complex_of = std::conditional_t<std::is_same_v<T, f64>, fg::c128, fg::c64>;

void factors() {
  each(types<f32, f64>{}, [](auto& x) {
    using T = typename std::remove_cvref_t<decltype(x)>::value_type;
    const auto& numbers = some<i32>();
    fg::linalg_cholesky_ex(s, x, x, numbers);
    fg::linalg_solve_triangular(s, x, x, x, true);
    fg::cholesky_solve(s, x, x, x);
    fg::cholesky_inverse(s, x, x);
    fg::linalg_lu_factor_ex(s, x, x, numbers, numbers);
    fg::lu_unpack(s, x, numbers, x, x, x);
    (void)fg::linalg_slogdet(s, x);
    fg::linalg_ldl_factor_ex(s, x, x, numbers, numbers);
    fg::linalg_ldl_solve(s, x, numbers, x, x);
    fg::linalg_householder_product(s, x, x, x);
    fg::ormqr(s, x, x, x, x);
    fg::linalg_svd(s, x, x, x, x);
    (void)fg::linalg_lstsq(s, x, x);
    fg::linalg_eigvals(s, x, some<complex_of<T>>());
  });
}

void transforms() {
  each(types<pair<f32, fg::c64>, pair<f64, fg::c128>, pair<fg::c64, fg::c64>,
             pair<fg::c128, fg::c128>>{},
       [](auto& x, auto& out) { fg::fft_fft(s, x, out); });
}

}  // namespace contract
