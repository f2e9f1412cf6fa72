// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products with orthogonal matrices that are given by reflectors, as QR factorizations give them. A
// block has a column of the product.
#pragma once

#include <flaggems/kernel/family/factor/householder.hpp>
#include <flaggems/ops/cholesky.hpp>

namespace flaggems {

namespace operators {
struct linalg_householder_product;
struct ormqr;
}  // namespace operators

namespace detail {

/// x = Q x, or Q^T x if `transposed`.
template <class S, class T, class D>
void apply_reflectors(const char* op, const S& stream, const tensor_view<const T, D>& reflectors,
                      const tensor_view<const T, D>& tau, const tensor_view<T, D>& x,
                      bool transposed) {
  const i64 n = x.size(-2), k = tau.size(-1);
  if (x.empty() || k == 0) return;
  matrix_plan plan(batch_sizes(x.sizes()), x.size(-1));
  plan.add_columns(x);
  plan.add(reflectors);
  plan.add_vector(tau);
  const kernels::row_space space = plan.space();
  const launch_config config = matrix_launch(op, space, work_of(n, k, 4), n);
  launch<kernels::householder_apply<T>>(stream, config, space, n, k, plan.operand(1, reflectors),
                                        plan.vector(2, tau), plan.operand(0, x),
                                        static_cast<i32>(transposed ? 1 : 0));
}

/// Raises unless there are at most as many factors as columns, and as rows.
template <class A, class Tau>
void check_reflectors(const char* op, const A& reflectors, const Tau& tau) {
  check_matrices(op, reflectors.sizes());
  const i64 k = tau.rank() > 0 ? tau.size(-1) : 0;
  if (tau.rank() + 1 != reflectors.rank() ||
      k > kernels::min_of(reflectors.size(-1), reflectors.size(-2))) [[unlikely]]
    raise_shapes(op, "no more factors than the reflectors have rows and columns",
                 reflectors.sizes(), tau.sizes());
  check_operand_sizes(op, "tau", batch_of(batch_sizes(reflectors.sizes()), {k}), tau.sizes());
}
/// And that the product has no more columns than rows.
template <class A, class Tau>
void check_product(const char* op, const A& reflectors, const Tau& tau) {
  check_reflectors(op, reflectors, tau);
  if (reflectors.size(-2) < reflectors.size(-1)) [[unlikely]]
    raise_sizes(op, "no more columns than rows", reflectors.sizes());
}

}  // namespace detail

/// out = the first n columns of H(0) H(1) ... H(k - 1), where H(i) = 1 - tau[i] v v^T and v is 0
/// above i, 1 at i, and below as column i of `input` has it.
///
/// Shapes: input, out [..., m, n], m >= n, tau [..., k], k <= n; f32 or f64. They share no memory.
/// Raises shape_mismatch, invalid_argument or overlap before anything is written.
/// aten::linalg_householder_product.out(Tensor input, Tensor tau, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Tau, tensor_like Out>
void linalg_householder_product(const S& stream, const X& input, const Tau& tau, Out&& out) {
  constexpr const char* op = "linalg_householder_product";
  same_device<S, X, Tau, Out>();
  if constexpr (detail::check_factor_types<const X&, const Tau&, Out>()) {
    const auto reflectors = detail::input_of(input), factors = detail::input_of(tau);
    const auto to = as_view(out);
    detail::check_product(op, reflectors, factors);
    check_output_sizes(op, reflectors.shape_of(), to);
    detail::check_separate(op, to, reflectors, factors);
    if (to.empty() || detail::replaced<operators::linalg_householder_product>(
                          op, stream, reflectors, factors, to))
      return;
    detail::write_identity(op, stream, to);
    detail::apply_reflectors(op, stream, reflectors, factors, to, false);
  }
}
/// linalg_householder_product in a new tensor, whose columns are contiguous.
template <stream_like S, tensor_like X, tensor_like Tau>
[[nodiscard]] auto linalg_householder_product(const S& stream, const X& input, const Tau& tau) {
  constexpr const char* op = "linalg_householder_product";
  const auto reflectors = as_view(input);
  detail::check_product(op, reflectors, as_view(tau));
  auto out = detail::empty_by_columns<value_t<const X&>>(stream, reflectors.shape_of(), op);
  linalg_householder_product(stream, input, tau, out);
  return out;
}

/// out = Q input3, or input3 Q unless `left`; with `transpose`, Q^T in the place of Q. Q is the
/// product of the reflectors in `self`, with the factors input2, as linalg_householder_product has
/// it, but with all its columns.
///
/// Shapes: self [..., q, r], input2 [..., k], k <= min(q, r), input3, out [..., m, n], q = m, or n
/// unless `left`, of the same batch; f32 or f64. `out` may be input3. Raises shape_mismatch,
/// invalid_argument or overlap before anything is written.
/// aten::ormqr.out(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False,
/// *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Tau, tensor_like C, tensor_like Out>
void ormqr(const S& stream, const X& self, const Tau& input2, const C& input3, Out&& out,
           bool left = true, bool transpose = false) {
  constexpr const char* op = "ormqr";
  same_device<S, X, Tau, C, Out>();
  if constexpr (detail::check_factor_types<const X&, const Tau&, const C&, Out>()) {
    const auto reflectors = detail::input_of(self), factors = detail::input_of(input2),
               given = detail::input_of(input3);
    const auto to = as_view(out);
    detail::check_reflectors(op, reflectors, factors);
    detail::check_matrices(op, given.sizes());
    if (!detail::same_sizes(detail::batch_sizes(given.sizes()),
                            detail::batch_sizes(reflectors.sizes())) ||
        given.size(left ? -2 : -1) != reflectors.size(-2)) [[unlikely]]
      detail::raise_shapes(op, "matrices of one batch that can be multiplied", reflectors.sizes(),
                           given.sizes());
    check_same_sizes(op, given, to);
    check_output(op, to, given);
    detail::check_separate(op, to, reflectors, factors);
    if (to.empty() || detail::replaced<operators::ormqr>(op, stream, reflectors, factors, given, to,
                                                         left, transpose))
      return;
    detail::copy_into(op, stream, to, given);
    detail::apply_reflectors(op, stream, reflectors, factors, left ? to : to.transpose(-2, -1),
                             transpose == left);
  }
}
/// ormqr in a new tensor, whose columns are contiguous.
template <stream_like S, tensor_like X, tensor_like Tau, tensor_like C>
[[nodiscard]] auto ormqr(const S& stream, const X& self, const Tau& input2, const C& input3,
                         bool left = true, bool transpose = false) {
  detail::check_matrices("ormqr", as_view(input3).sizes());
  auto out =
      detail::empty_by_columns<value_t<const X&>>(stream, as_view(input3).shape_of(), "ormqr");
  ormqr(stream, self, input2, input3, out, left, transpose);
  return out;
}

}  // namespace flaggems
