// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Which kernels factor matrices: on the host they read the operands where they lie, and work in
// workspaces; elsewhere a block factors in place what was copied before.
#pragma once

#include <flaggems/device/execution.hpp>
#include <flaggems/kernel/family/factor/vector/cholesky.hpp>
#include <flaggems/kernel/family/factor/vector/lu.hpp>
#include <flaggems/kernel/family/factor/vector/svd.hpp>
#include <flaggems/kernel/family/factor/vector/triangular.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/plan/matrices.hpp>

namespace flaggems::detail {

/// Whether factors are made by these functions. There are matrices, and all checks have passed.
template <class D>
inline constexpr bool factors_in_workspaces = has_vectors<D>;

/// run(kernel) for matrices of m rows and n columns: Groups factors several side by side, Blocks
/// one at a time.
template <class Groups, class Blocks, class T, class D, class F>
void with_factors(launch_config& config, const kernels::row_space& space, i64 m, i64 n,
                  const F& run) {
  using numbers = tuning<families::factor, D>;
  constexpr i64 at_once = kernels::matrices_at_once;
  if (space.rows < numbers::least_group || m == 0 ||
      n > numbers::group_bytes / static_cast<i64>(sizeof(T)) / at_once / m)
    return run(Blocks());
  config.tiles = kernels::ceil_div(space.rows, at_once);
  run(Groups());
}

/// lower = the factor of Cholesky of the lower triangles x.
template <class S, class T, class D>
void factor_cholesky(const char* op, const S& stream, const tensor_view<const T, D>& x,
                     const tensor_view<T, D>& lower, const tensor_view<i32, D>& info) {
  const i64 n = x.size(-1);
  matrix_plan plan(batch_sizes(x.sizes()));
  plan.add(lower);
  plan.add(x);
  plan.add_number(info);
  const kernels::row_space space = plan.space();
  launch_config config = matrix_launch(op, space, work_of(n, n, n), n);
  with_factors<kernels::cholesky_groups<T>, kernels::cholesky_blocks<T>, T, D>(
      config, space, n, n, [&](auto kernel) {
        using K = decltype(kernel);
        config.scratch = scratch_bytes<T>(K::scratch(n));
        launch<K>(stream, config, space, n, plan.operand(1, x), plan.operand(0, lower),
                  plan.number(2, info));
      });
}

/// lu = the LU factors of x.
template <class S, class T, class D>
void factor_lu(const char* op, const S& stream, const tensor_view<const T, D>& x,
               const tensor_view<T, D>& lu, const tensor_view<i32, D>& pivots,
               const tensor_view<i32, D>& info, bool pivot) {
  const i64 m = x.size(-2), n = x.size(-1);
  matrix_plan plan(batch_sizes(x.sizes()));
  plan.add(lu);
  plan.add(x);
  plan.add_vector(pivots);
  plan.add_number(info);
  const kernels::row_space space = plan.space();
  launch_config config = matrix_launch(op, space, work_of(m, n, kernels::min_of(m, n)), m);
  with_factors<kernels::lu_groups<T>, kernels::lu_blocks<T>, T, D>(
      config, space, m, n, [&](auto kernel) {
        using K = decltype(kernel);
        config.scratch = scratch_bytes<T>(K::scratch(m, n));
        launch<K>(stream, config, space, m, n, plan.operand(1, x), plan.operand(0, lu),
                  plan.vector(2, pivots), plan.number(3, info), pivot);
      });
}

/// x = the solution of triangular systems for many right sides at once, which x may be; false if
/// there are few.
template <class S, class T, class D>
bool solve_triangles(const char* op, const S& stream, const tensor_view<const T, D>& factor,
                     const tensor_view<const T, D>& given, const tensor_view<T, D>& x, bool upper,
                     bool unit) {
  using kernel = kernels::triangular_blocks<T>;
  const i64 n = x.size(-2), sides = x.size(-1);
  if (sides < tuning<families::factor, D>::many_sides) return false;
  matrix_plan plan(batch_sizes(x.sizes()));
  plan.add(x);
  plan.add(factor);
  plan.add(given);
  const kernels::row_space space = plan.space();
  launch_config config = matrix_launch(op, space, work_of(n, n, sides), n);
  config.scratch = scratch_bytes<T>(kernel::scratch(n, sides));
  launch<kernel>(stream, config, space, n, sides, plan.operand(1, factor), plan.operand(2, given),
                 plan.operand(0, x), upper, unit);
  return true;
}

/// values = the singular values of x, which has no fewer rows than columns.
template <class S, class T, class D>
void find_singular_values(const char* op, const S& stream, const tensor_view<const T, D>& x,
                          const tensor_view<T, D>& values, const tensor_view<i32, D>& info) {
  using kernel = kernels::bidiagonal_svd<T>;
  const i64 m = x.size(-2), n = x.size(-1);
  matrix_plan plan(batch_sizes(x.sizes()));
  plan.add(x);
  plan.add_vector(values);
  plan.add_number(info);
  const kernels::row_space space = plan.space();
  launch_config config = matrix_launch(op, space, work_of(m, n, n, 4), m);
  config.scratch = scratch_bytes<T>(kernel::scratch(m, n));
  launch<kernel>(stream, config, space, m, n, plan.operand(0, x), plan.vector(1, values),
                 plan.number(2, info));
}

}  // namespace flaggems::detail
