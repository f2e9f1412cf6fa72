// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Factors of positive-definite matrices, and systems of equations with triangles. A block factors
// a matrix, or solves for a column.
#pragma once

#include <flaggems/kernel/family/factor/cholesky.hpp>
#include <flaggems/kernel/family/factor/triangular.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/dispatch/factor.hpp>
#include <flaggems/ops/plan/matrices.hpp>
#include <flaggems/ops/triangle.hpp>

#include <tuple>

namespace flaggems {

namespace operators {
struct linalg_cholesky_ex;
struct cholesky_solve;
struct cholesky_inverse;
struct linalg_solve_triangular;
}  // namespace operators

/// A triangular factor of each matrix, and a number that is 0 where the factorization succeeded.
template <class T, class Device>
struct cholesky_factors {
  tensor<T, Device> l;
  tensor<i32, Device> info;
  auto tie() { return std::tie(l, info); }
};

namespace detail {

/// out = ones on the diagonals of matrices, and zeros elsewhere.
template <class S, class T, class D>
void write_identity(const char* op, const S& stream, const tensor_view<T, D>& out) {
  if (out.empty()) return;
  using at = coordinate<D>;
  using same = call<to_bool, kernels::eq_fn, at, at>;
  const at row(out.shape_of(), out.rank() - 2), column(out.shape_of(), out.rank() - 1);
  assign_node(op, stream, out,
              choice<same, number<T>, number<T>>{same{{}, {row, column}}, {T(1)}, {T(0)}});
}

/// x = the solution of T x = given for each column, where T, whose batches broadcast, is
/// triangular; `given` may be x.
template <class S, class T, class D>
void solve_into(const char* op, const S& stream, const tensor_view<const T, D>& factor,
                const tensor_view<const T, D>& given, const tensor_view<T, D>& x, bool upper,
                bool unit = false) {
  if (x.empty()) return;
  if constexpr (factors_in_workspaces<D>)
    if (solve_triangles(op, stream, factor, given, x, upper, unit)) return;
  if (given.data() != x.data()) copy_into(op, stream, x, given);
  const i64 n = x.size(-2);
  // Columns are read as often as there are right sides.
  tensor<T, D> memory;
  auto matrix = factor;
  if (n > 1 && factor.stride(-2) != 1 && x.size(-1) > 1) {
    memory = empty_by_columns<T>(stream, factor.shape_of(), op);
    copy_into(op, stream, memory.view(), factor);
    matrix = input_of(memory);
  }
  matrix_plan plan(batch_sizes(x.sizes()), x.size(-1));
  plan.add_columns(x);
  plan.add(matrix);
  const kernels::row_space space = plan.space();
  const launch_config config = matrix_launch(op, space, work_of(n, n, 2), n);
  launch<kernels::triangular_solve<T>>(stream, config, space, n, plan.operand(1, matrix),
                                       plan.operand(0, x), static_cast<i32>(upper ? 1 : 0),
                                       static_cast<i32>(unit ? 1 : 0));
}

/// x = the solution of L L^T x = given, where L is a factor of Cholesky's, or its transpose;
/// `given` may be x.
template <class S, class T, class D>
void solve_by_cholesky(const char* op, const S& stream, const tensor_view<const T, D>& factor,
                       const tensor_view<const T, D>& given, const tensor_view<T, D>& x,
                       bool upper) {
  const auto lower = upper ? factor.transpose(-2, -1) : factor;
  solve_into(op, stream, lower, given, x, false);
  solve_into(op, stream, lower.transpose(-2, -1), input_of(x), x, true);
}

/// The sizes to which matrices broadcast: the batches of both, and those of b.
template <class A, class B>
shape solved_sizes(const char* op, const A& a, const B& b, bool left = true) {
  check_square(op, a.sizes());
  check_matrices(op, b.sizes());
  if (a.size(-1) != b.size(left ? -2 : -1)) [[unlikely]]
    raise_shapes(op, "matrices that can be multiplied", a.sizes(), b.sizes());
  return batch_of(broadcast_shapes(batch_sizes(a.sizes()), batch_sizes(b.sizes()), op),
                  {b.size(-2), b.size(-1)});
}

template <class S, class T, class D>
void cholesky_into(const char* op, const S& stream, const tensor_view<const T, D>& x,
                   const tensor_view<T, D>& out, const tensor_view<i32, D>& info, bool upper) {
  check_square(op, x.sizes());
  check_output_sizes(op, x.shape_of(), out);
  check_output_sizes(op, batch_sizes(x.sizes()), info);
  check_output(op, out, x);
  check_separate(op, info, x, out);
  if (info.empty() || replaced<operators::linalg_cholesky_ex>(op, stream, x, out, info, upper))
    return;
  if (x.empty()) return fill(op, stream, info, 0);
  const auto lower = upper ? out.transpose(-2, -1) : out;
  if constexpr (factors_in_workspaces<D>) {
    factor_cholesky(op, stream, upper ? x.transpose(-2, -1) : x, lower, info);
  } else {
    if (upper)
      triangle<operators::triu, false>(op, stream, x, out, 0);
    else
      triangle<operators::tril, true>(op, stream, x, out, 0);
    const i64 n = x.size(-1);
    matrix_plan plan(batch_sizes(x.sizes()));
    plan.add(lower);
    plan.add_number(info);
    const kernels::row_space space = plan.space();
    const launch_config config = matrix_launch(op, space, work_of(n, n, n), n);
    launch<kernels::cholesky<T>>(stream, config, space, n, plan.operand(0, lower),
                                 plan.number(1, info));
  }
}

template <class S, class D>
void check_definite(const char* op, const S& stream, const tensor_view<const i32, D>& info) {
  check_info(op, stream, info, "a positive-definite matrix",
             "one that is not: the leading minor of order ");
}

}  // namespace detail

/// self = L L^T with a lower triangular `l`, or L^T L with an upper one, and info = 0; or the order
/// of the first leading minor that is not positive, where elements of `l` from that column on are
/// undefined.
///
/// Shapes: self, l [..., n, n], info [...], of i32; f32 or f64. Of self only that triangle is read.
/// `l` may be self. With `check_errors`, waits for the stream and raises invalid_argument if an
/// info is not 0. Raises shape_mismatch, invalid_argument or overlap before anything is written.
/// aten::linalg_cholesky_ex.L(Tensor self, *, bool upper=False, bool check_errors=False, Tensor(a!)
/// L, Tensor(b!) info)
template <stream_like S, tensor_like X, tensor_like L, tensor_like Info>
void linalg_cholesky_ex(const S& stream, const X& self, L&& l, Info&& info, bool upper = false,
                        bool check_errors = false) {
  constexpr const char* op = "linalg_cholesky_ex";
  same_device<S, X, L, Info>();
  if constexpr (detail::check_factor_types<const X&, L>()) {
    detail::cholesky_into(op, stream, detail::input_of(self), as_view(l), as_view(info), upper);
    if (check_errors)
      detail::check_definite(op, stream, detail::input_of(contiguous(stream, as_view(info))));
  }
}
/// linalg_cholesky_ex in new tensors, whose columns are contiguous.
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_cholesky_ex(const S& stream, const X& self, bool upper = false,
                                      bool check_errors = false) {
  constexpr const char* op = "linalg_cholesky_ex";
  const auto x = as_view(self);
  detail::check_square(op, x.sizes());
  cholesky_factors<value_t<const X&>, device_of<S>> out{
      detail::empty_by_columns<value_t<const X&>>(stream, x.shape_of(), op),
      empty<i32>(stream, detail::batch_sizes(x.sizes()), op)};
  linalg_cholesky_ex(stream, self, out.l, out.info, upper, check_errors);
  return out;
}

/// self = out out^T with a lower triangular `out`, or out^T out with an upper one. Waits for the
/// stream, and raises invalid_argument if a matrix is not positive-definite; else as
/// linalg_cholesky_ex. aten::linalg_cholesky.out(Tensor self, *, bool upper=False, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void linalg_cholesky(const S& stream, const X& self, Out&& out, bool upper = false) {
  constexpr const char* op = "linalg_cholesky";
  same_device<S, X, Out>();
  if constexpr (detail::check_factor_types<const X&, Out>()) {
    const auto x = detail::input_of(self);
    detail::check_square(op, x.sizes());
    auto info = empty<i32>(stream, detail::batch_sizes(x.sizes()), op);
    detail::cholesky_into(op, stream, x, as_view(out), info.view(), upper);
    detail::check_definite(op, stream, detail::input_of(info));
  }
}
/// linalg_cholesky in a new tensor, whose columns are contiguous.
template <stream_like S, tensor_like X>
[[nodiscard]] auto linalg_cholesky(const S& stream, const X& self, bool upper = false) {
  const auto x = as_view(self);
  detail::check_square("linalg_cholesky", x.sizes());
  auto out = detail::empty_by_columns<value_t<const X&>>(stream, x.shape_of(), "linalg_cholesky");
  linalg_cholesky(stream, self, out, upper);
  return out;
}

/// out = the solution of self out = b, or of out self = b unless `left`, where self is triangular,
/// with ones on its diagonal if `unitriangular`.
///
/// Shapes: self [..., k, k], b and out [..., m, n], k = m, or n unless `left`; batches broadcast.
/// One triangle of self is read. f32 or f64. `out` may be b. A zero on the diagonal gives
/// infinities. Raises shape_mismatch, invalid_argument or overlap before anything is written.
/// aten::linalg_solve_triangular.out(Tensor self, Tensor B, *, bool upper, bool left=True, bool
/// unitriangular=False, Tensor(a!) out)
template <stream_like S, tensor_like A, tensor_like B, tensor_like Out>
void linalg_solve_triangular(const S& stream, const A& self, const B& b, Out&& out, bool upper,
                             bool left = true, bool unitriangular = false) {
  constexpr const char* op = "linalg_solve_triangular";
  same_device<S, A, B, Out>();
  if constexpr (detail::check_factor_types<const A&, const B&, Out>()) {
    const auto factor = detail::input_of(self), given = detail::input_of(b);
    const auto to = as_view(out);
    const shape sizes = detail::solved_sizes(op, factor, given, left);
    check_output_sizes(op, sizes, to);
    const auto right_side = given.expand(sizes);
    check_output(op, to, right_side);
    detail::check_separate(op, to, factor);
    if (to.empty() || detail::replaced<operators::linalg_solve_triangular>(
                          op, stream, factor, right_side, to, upper, left, unitriangular))
      return;
    if (left)
      detail::solve_into(op, stream, factor, right_side, to, upper, unitriangular);
    else
      detail::solve_into(op, stream, factor.transpose(-2, -1), right_side.transpose(-2, -1),
                         to.transpose(-2, -1), !upper, unitriangular);
  }
}
/// linalg_solve_triangular in a new tensor, whose columns are contiguous.
template <stream_like S, tensor_like A, tensor_like B>
[[nodiscard]] auto linalg_solve_triangular(const S& stream, const A& self, const B& b, bool upper,
                                           bool left = true, bool unitriangular = false) {
  constexpr const char* op = "linalg_solve_triangular";
  auto out = detail::empty_by_columns<value_t<const A&>>(
      stream, detail::solved_sizes(op, as_view(self), as_view(b), left), op);
  linalg_solve_triangular(stream, self, b, out, upper, left, unitriangular);
  return out;
}

/// out = the solution of A out = self, where input2 is the factor that linalg_cholesky gives of A.
///
/// Shapes: self, out [..., n, k], input2 [..., n, n]; batches broadcast. f32 or f64; `out` may be
/// self. Raises as linalg_solve_triangular.
/// aten::cholesky_solve.out(Tensor self, Tensor input2, bool upper=False, *, Tensor(a!) out)
template <stream_like S, tensor_like B, tensor_like L, tensor_like Out>
void cholesky_solve(const S& stream, const B& self, const L& input2, Out&& out,
                    bool upper = false) {
  constexpr const char* op = "cholesky_solve";
  same_device<S, B, L, Out>();
  if constexpr (detail::check_factor_types<const B&, const L&, Out>()) {
    const auto factor = detail::input_of(input2), given = detail::input_of(self);
    const auto to = as_view(out);
    const shape sizes = detail::solved_sizes(op, factor, given);
    check_output_sizes(op, sizes, to);
    const auto right_side = given.expand(sizes);
    check_output(op, to, right_side);
    detail::check_separate(op, to, factor);
    if (to.empty() ||
        detail::replaced<operators::cholesky_solve>(op, stream, right_side, factor, to, upper))
      return;
    detail::solve_by_cholesky(op, stream, factor, right_side, to, upper);
  }
}
/// cholesky_solve in a new tensor, whose columns are contiguous.
template <stream_like S, tensor_like B, tensor_like L>
[[nodiscard]] auto cholesky_solve(const S& stream, const B& self, const L& input2,
                                  bool upper = false) {
  constexpr const char* op = "cholesky_solve";
  auto out = detail::empty_by_columns<value_t<const B&>>(
      stream, detail::solved_sizes(op, as_view(input2), as_view(self)), op);
  cholesky_solve(stream, self, input2, out, upper);
  return out;
}

/// As cholesky_solve. aten::_cholesky_solve_helper.out(Tensor self, Tensor A, bool upper, *,
/// Tensor(a!) out)
template <stream_like S, tensor_like B, tensor_like A, tensor_like Out>
void cholesky_solve_helper(const S& stream, const B& self, const A& a, Out&& out, bool upper) {
  cholesky_solve(stream, self, a, out, upper);
}
/// As cholesky_solve. aten::_cholesky_solve_helper(Tensor self, Tensor A, bool upper)
template <stream_like S, tensor_like B, tensor_like A>
[[nodiscard]] auto cholesky_solve_helper(const S& stream, const B& self, const A& a, bool upper) {
  return cholesky_solve(stream, self, a, upper);
}

/// out = the inverse of the matrix A whose factor, as linalg_cholesky gives it, is self.
///
/// Shapes: self, out [..., n, n]; f32 or f64. They share no memory. Raises as
/// linalg_solve_triangular. aten::cholesky_inverse.out(Tensor self, bool upper=False, *, Tensor(a!)
/// out)
template <stream_like S, tensor_like L, tensor_like Out>
void cholesky_inverse(const S& stream, const L& self, Out&& out, bool upper = false) {
  constexpr const char* op = "cholesky_inverse";
  same_device<S, L, Out>();
  if constexpr (detail::check_factor_types<const L&, Out>()) {
    const auto factor = detail::input_of(self);
    const auto to = as_view(out);
    detail::check_square(op, factor.sizes());
    check_output_sizes(op, factor.shape_of(), to);
    detail::check_separate(op, to, factor);
    if (to.empty() || detail::replaced<operators::cholesky_inverse>(op, stream, factor, to, upper))
      return;
    detail::write_identity(op, stream, to);
    detail::solve_by_cholesky(op, stream, factor, detail::input_of(to), to, upper);
  }
}
/// cholesky_inverse in a new tensor, whose columns are contiguous.
template <stream_like S, tensor_like L>
[[nodiscard]] auto cholesky_inverse(const S& stream, const L& self, bool upper = false) {
  constexpr const char* op = "cholesky_inverse";
  const auto factor = as_view(self);
  detail::check_square(op, factor.sizes());
  auto out = detail::empty_by_columns<value_t<const L&>>(stream, factor.shape_of(), op);
  cholesky_inverse(stream, self, out, upper);
  return out;
}

}  // namespace flaggems
