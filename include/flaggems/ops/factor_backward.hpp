// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of triangular factors of matrices, and of what follows from them, made of products and
// triangular solutions. `grad` is the gradient of a result. Those by singular values are in
// svd_backward.hpp.
#pragma once

#include <flaggems/ops/cholesky.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/lu.hpp>
#include <flaggems/ops/native_norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/statistics.hpp>
#include <flaggems/ops/triangle.hpp>

#include <optional>
#include <tuple>
#include <utility>

namespace flaggems {

/// Gradients of two operands, the first one a matrix; those not asked for are absent.
template <class T, class Device>
struct operand_gradients {
  std::optional<tensor<T, Device>> self, other;
  [[nodiscard]] auto tie() { return std::tie(self, other); }
};

namespace detail {

/// What gradients of matrices are made of. Matrices are [count, rows, columns] here, whatever the
/// dimensions of their batch.
template <class T, class S>
struct matrix_formula {
  using D = device_of<S>;
  using view = tensor_view<const T, D>;
  using made = tensor<T, D>;
  const char* op;
  const S& stream;
  shape batch;

  /// x, broadcast to the batch and copied into `memory` where it is no view of this kind.
  view take(const view& x, made& memory) const {
    const i64 m = x.size(-2), n = x.size(-1);
    const shape all = batch_of(batch, {m, n});
    return as_row(op, stream, x.expand(all), memory).view({batch.numel(), m, n});
  }
  [[nodiscard]] made empty_of(i64 m, i64 n) const {
    return empty<T>(stream, {batch.numel(), m, n}, op);
  }
  /// The results under the sizes of the batch.
  [[nodiscard]] made result(i64 m, i64 n) const {
    return empty<T>(stream, batch_of(batch, {m, n}), op);
  }
  static tensor_view<T, D> flat(made& x) {
    return x.view().view({batch_sizes(x.sizes()).numel(), x.size(-2), x.size(-1)});
  }
  static view t(const view& x) { return x.transpose(1, 2); }

  [[nodiscard]] made times(const view& a, const view& b) const {
    made r = empty_of(a.size(1), b.size(2));
    bmm(stream, a, b, r.view());
    return r;
  }
  /// The x of a x = b, or of x a = b, where a is triangular.
  [[nodiscard]] made solved(const view& a, const view& b, bool upper, bool left = true,
                            bool unit = false) const {
    made r = empty_of(b.size(1), b.size(2));
    linalg_solve_triangular(stream, a, b, r.view(), upper, left, unit);
    return r;
  }
  /// x below its diagonal and on it, or only below if `strict`; above with `upper`.
  [[nodiscard]] made part(const view& x, bool upper, bool strict = false) const {
    made r = empty_of(x.size(1), x.size(2));
    put_part(x, r.view(), upper, strict);
    return r;
  }
  void put_part(const view& x, const tensor_view<T, D>& out, bool upper, bool strict) const {
    if (upper)
      triangle<operators::triu, false>(op, stream, x, out, strict ? 1 : 0);
    else
      triangle<operators::tril, true>(op, stream, x, out, strict ? -1 : 0);
  }
  /// An expression as new matrices.
  template <class X>
  [[nodiscard]] made value(i64 m, i64 n, const X& x) const {
    made r = empty_of(m, n);
    assign(stream, r, x, op);
    return r;
  }
  /// x, of the batch, summed over what a broadcast operand of these sizes had repeated.
  [[nodiscard]] made summed(made&& x, const shape& sizes) const {
    if (same_sizes(x.sizes(), sizes)) return std::move(x);
    made r = empty<T>(stream, sizes, op);
    shape kept(sizes);
    i64 dims[max_rank];
    int n = 0;
    const int leading = x.rank() - sizes.rank();
    for (int d = 0; d < leading; ++d) kept.insert(0, 1);
    for (int d = 0; d < x.rank(); ++d)
      if (kept[d] != x.size(d)) dims[n++] = d;
    if (n == 0) {
      copy_into(op, stream, r.view().view(kept), input_of(x));
      return r;
    }
    sum_into<T>(op, stream, x, r.view().view(kept), int_list(dims, n), true);
    return r;
  }
};

template <class T, class S>
matrix_formula<T, S> formula_of(const char* op, const S& stream, const shape& batch) {
  return {op, stream, batch};
}

template <class S, class T, class D>
tensor<T, D> differentiate_cholesky(const char* op, const S& stream,
                                    const tensor_view<const T, D>& grad,
                                    const tensor_view<const T, D>& l, bool upper) {
  check_square(op, l.sizes());
  check_operand_sizes(op, "a gradient", l.shape_of(), grad.sizes());
  const auto f = formula_of<T>(op, stream, batch_sizes(l.sizes()));
  const i64 n = l.size(-1);
  auto out = f.result(n, n);
  if (out.empty()) return out;
  tensor<T, D> own_l, own_grad;
  const auto part = f.part(f.take(l, own_l), upper);  // the other triangle may have anything
  auto factor = input_of(part), g = f.take(grad, own_grad);
  if (upper) factor = f.t(factor), g = f.t(g);
  const auto product = f.times(f.t(factor), g);
  const auto lower = f.part(product, false), below = f.part(product, false, true);
  const auto half = f.value(n, n, (lower.view() + below.view()) * T(0.5));
  const auto right = f.solved(f.t(factor), half, true);
  const auto whole = f.solved(factor, right, false, false);
  assign(stream, f.flat(out), (whole.view() + whole.view().transpose(1, 2)) * T(0.5), op);
  return out;
}

/// -(common L) below the diagonal of a lower factor, or -(L common) above that of an upper one.
template <class F, class T, class D>
tensor<T, D> gradient_of_factor(const F& f, const tensor_view<const T, D>& factor,
                                const tensor<T, D>& common, bool upper) {
  const auto product = upper ? f.times(factor, common) : f.times(common, factor);
  const auto own = f.part(product, upper);
  auto out = f.result(factor.size(1), factor.size(2));
  assign(f.stream, f.flat(out), -own.view(), f.op);
  return out;
}

template <class S, class T, class D>
tensor<T, D> differentiate_inverse(const char* op, const S& stream,
                                   const tensor_view<const T, D>& grad,
                                   const tensor_view<const T, D>& l,
                                   const tensor_view<const T, D>& inverse, bool upper) {
  check_square(op, l.sizes());
  check_operand_sizes(op, "a gradient", l.shape_of(), grad.sizes());
  check_operand_sizes(op, "an inverse", l.shape_of(), inverse.sizes());
  const auto f = formula_of<T>(op, stream, batch_sizes(l.sizes()));
  const i64 n = l.size(-1);
  if (l.empty()) return f.result(n, n);
  tensor<T, D> own_l, own_grad, own_inverse;
  const auto factor = f.part(f.take(l, own_l), upper);
  const auto g = f.take(grad, own_grad);
  const auto inner = f.value(n, n, g + f.t(g));
  const auto whole = f.take(inverse, own_inverse);
  return gradient_of_factor(f, input_of(factor), f.times(whole, f.times(inner, whole)), upper);
}

/// The batch of matrices a and right sides b, which broadcast.
template <class T, class D>
shape common_batch(const char* op, const tensor_view<const T, D>& a,
                   const tensor_view<const T, D>& b) {
  check_square(op, a.sizes());
  check_matrices(op, b.sizes());
  return broadcast_shapes(batch_sizes(a.sizes()), batch_sizes(b.sizes()), op);
}

template <class S, class T, class D>
operand_gradients<T, D> differentiate_cholesky_solve(const char* op, const S& stream,
                                                     const tensor_view<const T, D>& grad,
                                                     const tensor_view<const T, D>& b,
                                                     const tensor_view<const T, D>& l,
                                                     const tensor_view<const T, D>& x, bool upper,
                                                     gradient_mask<2> wanted) {
  const auto f = formula_of<T>(op, stream, common_batch(op, l, b));
  const i64 n = b.size(-2), k = b.size(-1);
  check_operand_sizes(op, "a gradient", batch_of(f.batch, {l.size(-1), k}), grad.sizes());
  check_operand_sizes(op, "a result", batch_of(f.batch, {n, k}), x.sizes());
  operand_gradients<T, D> r;
  tensor<T, D> own_l, own_grad, own_x;
  const auto factor = f.part(f.take(l, own_l), upper);
  const auto g = f.take(grad, own_grad), result = f.take(x, own_x);
  auto to_b = f.result(n, k);
  cholesky_solve(stream, g, factor, f.flat(to_b), upper);
  if (wanted[1]) {
    const auto product = f.times(f.flat(to_b), f.t(result));
    const auto common = f.value(n, n, product.view() + product.view().transpose(1, 2));
    r.other = f.summed(gradient_of_factor(f, input_of(factor), common, upper), l.shape_of());
  }
  if (wanted[0]) r.self = f.summed(std::move(to_b), b.shape_of());
  return r;
}

template <class S, class T, class D>
operand_gradients<T, D> differentiate_triangular(const char* op, const S& stream,
                                                 const tensor_view<const T, D>& grad,
                                                 const tensor_view<const T, D>& a,
                                                 const tensor_view<const T, D>& b,
                                                 const tensor_view<const T, D>& x, bool upper,
                                                 bool left, bool unit, gradient_mask<2> wanted) {
  const auto f = formula_of<T>(op, stream, common_batch(op, a, b));
  const i64 m = b.size(-2), n = b.size(-1), k = a.size(-1);
  check_size(op, left ? "right sides with rows:" : "right sides with columns:", k, left ? m : n);
  check_operand_sizes(op, "a gradient", batch_of(f.batch, {m, n}), grad.sizes());
  check_operand_sizes(op, "a result", batch_of(f.batch, {m, n}), x.sizes());
  operand_gradients<T, D> r;
  tensor<T, D> own_a, own_grad, own_x;
  const auto factor = f.take(a, own_a), g = f.take(grad, own_grad), result = f.take(x, own_x);
  auto to_b = f.result(m, n);
  linalg_solve_triangular(stream, f.t(factor), g, f.flat(to_b), !upper, left, unit);
  if (wanted[0]) {
    const auto side = f.flat(to_b);
    const auto product = left ? f.times(side, f.t(result)) : f.times(f.t(result), side);
    const auto own = f.part(product, upper, unit);
    auto to_a = f.result(k, k);
    assign(stream, f.flat(to_a), -own.view(), op);
    r.self = f.summed(std::move(to_a), a.shape_of());
  }
  if (wanted[1]) r.other = f.summed(std::move(to_b), b.shape_of());
  return r;
}

/// The gradient of a = p l u by those of l and u, all [count, ...]; without p no rows were
/// exchanged.
template <class F, class T, class D>
void differentiate_lu(const F& f, const tensor_view<const T, D>& grad_l,
                      const tensor_view<const T, D>& grad_u,
                      const std::optional<tensor_view<const T, D>>& p,
                      const tensor_view<const T, D>& l, const tensor_view<const T, D>& u,
                      const tensor_view<T, D>& out) {
  const i64 m = l.size(1), n = u.size(2), k = l.size(2);
  const auto l1 = l.narrow(1, 0, k), u1 = u.narrow(2, 0, k);
  auto of_l = f.times(f.t(l1), grad_l.narrow(1, 0, k));
  auto of_u = f.times(grad_u.narrow(2, 0, k), f.t(u1));
  auto rows = f.empty_of(m, n);  // the gradient of l u
  const auto put = [&](const auto& to, const tensor<T, D>& x) {
    copy_into(f.op, f.stream, to, input_of(x));
  };
  if (n > k) {  // what is right of the square follows from it
    const auto right = grad_u.narrow(2, k, n - k);
    const auto less = f.times(right, f.t(u.narrow(2, k, n - k)));
    assign(f.stream, of_l, of_l.view() - less.view(), f.op);
    put(rows.view().narrow(2, k, n - k), f.solved(f.t(l1), right, true, true, true));
  }
  if (m > k) {
    const auto under = grad_l.narrow(1, k, m - k);
    const auto less = f.times(f.t(l.narrow(1, k, m - k)), under);
    assign(f.stream, of_u, of_u.view() - less.view(), f.op);
    put(rows.view().narrow(1, k, m - k), f.solved(f.t(u1), under, false, false));
  }
  const auto below = f.part(of_l, false, true), above = f.part(of_u, true);
  const auto inner = f.value(k, k, below.view() + above.view());
  const auto half = f.solved(f.t(l1), inner, true, true, true);
  put(rows.view().narrow(1, 0, k).narrow(2, 0, k), f.solved(f.t(u1), half, false, false));
  if (p)
    bmm(f.stream, *p, rows.view(), out);
  else
    put(out, rows);
}

/// x, or zeros of these sizes where there is none.
template <class F, class T, class D>
tensor_view<const T, D> or_zeros(const F& f, const std::optional<tensor_view<const T, D>>& x,
                                 const char* name, i64 m, i64 n, tensor<T, D>& memory) {
  if (x) {
    check_operand_sizes(f.op, name, batch_of(f.batch, {m, n}), x->sizes());
    return f.take(*x, memory);
  }
  memory = f.empty_of(m, n);
  fill(f.op, f.stream, memory.view(), 0);
  return memory;
}

/// The gradient by matrices x [..., n, n] of what is one number each, as determinants are:
/// `into(f, x, grad, out)` writes it, of x [count, n, n], grad [count, 1, 1], out as x.
template <class S, class T, class D, class Into>
tensor<T, D> differentiate_numbers(const char* op, const S& stream,
                                   const tensor_view<const T, D>& grad,
                                   const tensor_view<const T, D>& x, const Into& into) {
  check_square(op, x.sizes());
  const auto f = formula_of<T>(op, stream, batch_sizes(x.sizes()));
  check_operand_sizes(op, "a gradient", f.batch, grad.sizes());
  const i64 n = x.size(-1);
  auto out = f.result(n, n);
  if (out.empty()) return out;
  tensor<T, D> own, own_grad;
  const auto given = as_row(op, stream, grad, own_grad).view({f.batch.numel(), 1, 1});
  into(f, f.take(x, own), given, f.flat(out));
  return out;
}

}  // namespace detail

/// The gradient of linalg_cholesky, which gave `l`, by its symmetric matrix.
///
/// grad, l and the result [..., n, n]; f32 or f64. Only that triangle of grad and l is read that l
/// has. Raises invalid_argument or shape_mismatch. flaggems::cholesky_backward(Tensor grad, Tensor
/// l, bool upper=False) -> Tensor
template <stream_like S, tensor_like G, tensor_like L>
[[nodiscard]] auto cholesky_backward(const S& stream, const G& grad, const L& l,
                                     bool upper = false) {
  same_device<S, G, L>();
  if constexpr (detail::check_factor_types<const G&, const L&>())
    return detail::differentiate_cholesky("cholesky_backward", stream, detail::input_of(grad),
                                          detail::input_of(l), upper);
}

/// The gradient of cholesky_inverse, which gave `inverse`, by its factor `l`.
///
/// All [..., n, n]; f32 or f64. The result is 0 outside the triangle of l. Raises invalid_argument
/// or shape_mismatch. flaggems::cholesky_inverse_backward(Tensor grad, Tensor l, Tensor inverse,
/// bool upper=False) -> Tensor
template <stream_like S, tensor_like G, tensor_like L, tensor_like Inverse>
[[nodiscard]] auto cholesky_inverse_backward(const S& stream, const G& grad, const L& l,
                                             const Inverse& inverse, bool upper = false) {
  same_device<S, G, L, Inverse>();
  if constexpr (detail::check_factor_types<const G&, const L&, const Inverse&>())
    return detail::differentiate_inverse("cholesky_inverse_backward", stream,
                                         detail::input_of(grad), detail::input_of(l),
                                         detail::input_of(inverse), upper);
}

/// The gradients of cholesky_solve, which gave `result`, by its right sides `self` and its factor
/// `input2`; `output_mask` says which.
///
/// Shapes as there; grad as result. That of the factor is 0 outside its triangle. Raises
/// invalid_argument or shape_mismatch. flaggems::cholesky_solve_backward(Tensor grad, Tensor self,
/// Tensor input2, Tensor result, bool upper, bool[2] output_mask) -> (Tensor, Tensor)
template <stream_like S, tensor_like G, tensor_like B, tensor_like L, tensor_like X>
[[nodiscard]] auto cholesky_solve_backward(const S& stream, const G& grad, const B& self,
                                           const L& input2, const X& result, bool upper = false,
                                           gradient_mask<2> output_mask = {true, true}) {
  same_device<S, G, B, L, X>();
  if constexpr (detail::check_factor_types<const G&, const B&, const L&, const X&>())
    return detail::differentiate_cholesky_solve(
        "cholesky_solve_backward", stream, detail::input_of(grad), detail::input_of(self),
        detail::input_of(input2), detail::input_of(result), upper, output_mask);
}

/// The gradients of linalg_solve_triangular, which gave `result`, by its matrix `self` and its
/// right sides `b`; `output_mask` says which.
///
/// Shapes as there; grad as result. That of the matrix is 0 outside its triangle, and on the
/// diagonal if `unitriangular`. Raises invalid_argument or shape_mismatch.
/// flaggems::linalg_solve_triangular_backward(Tensor grad, Tensor self, Tensor B, Tensor result,
/// bool upper, bool left, bool unitriangular, bool[2] output_mask) -> (Tensor, Tensor)
template <stream_like S, tensor_like G, tensor_like A, tensor_like B, tensor_like X>
[[nodiscard]] auto linalg_solve_triangular_backward(const S& stream, const G& grad, const A& self,
                                                    const B& b, const X& result, bool upper,
                                                    bool left = true, bool unitriangular = false,
                                                    gradient_mask<2> output_mask = {true, true}) {
  same_device<S, G, A, B, X>();
  if constexpr (detail::check_factor_types<const G&, const A&, const B&, const X&>())
    return detail::differentiate_triangular(
        "linalg_solve_triangular_backward", stream, detail::input_of(grad), detail::input_of(self),
        detail::input_of(b), detail::input_of(result), upper, left, unitriangular, output_mask);
}

/// The gradient of linalg_lu, which gave p, l and u, by its matrix; a gradient that is
/// std::nullopt is 0.
///
/// Shapes as there: grad_l and l [..., m, k], grad_u and u [..., k, n], p [..., m, m], or of no
/// elements where no rows were exchanged; the result [..., m, n]. Raises invalid_argument or
/// shape_mismatch. flaggems::linalg_lu_backward(Tensor? grad_l, Tensor? grad_u, Tensor p, Tensor l,
/// Tensor u) -> Tensor
template <stream_like S, optional_tensor GL, optional_tensor GU, tensor_like P, tensor_like L,
          tensor_like U>
[[nodiscard]] auto linalg_lu_backward(const S& stream, const GL& grad_l, const GU& grad_u,
                                      const P& p, const L& l, const U& u) {
  same_device<S, GL, GU, P, L, U>();
  constexpr const char* op = "linalg_lu_backward";
  using T = value_t<const L&>;
  using D = device_of<S>;
  if constexpr (detail::check_factor_types<const L&, const U&, const P&>()) {
    const auto lower = detail::input_of(l), upper = detail::input_of(u), turn = detail::input_of(p);
    detail::check_matrices(op, lower.sizes());
    detail::check_matrices(op, upper.sizes());
    const auto f = detail::formula_of<T>(op, stream, detail::batch_sizes(lower.sizes()));
    const i64 m = lower.size(-2), k = lower.size(-1), n = upper.size(-1);
    detail::check_operand_sizes(op, "u", detail::batch_of(f.batch, {k, n}), upper.sizes());
    if (!turn.empty())
      detail::check_operand_sizes(op, "p", detail::batch_of(f.batch, {m, m}), turn.sizes());
    tensor<T, D> own[5];
    const auto of_l =
        detail::or_zeros(f, detail::optional_view<T, D>(grad_l), "grad_l", m, k, own[0]);
    const auto of_u =
        detail::or_zeros(f, detail::optional_view<T, D>(grad_u), "grad_u", k, n, own[1]);
    std::optional<tensor_view<const T, D>> order;
    if (!turn.empty()) order = f.take(turn, own[2]);
    auto out = f.result(m, n);
    if (!out.empty())
      detail::differentiate_lu(f, of_l, of_u, order, f.take(lower, own[3]), f.take(upper, own[4]),
                               f.flat(out));
    return out;
  }
}

/// The gradient of linalg_lu_factor_ex, which gave `lu` and `pivots`, by its matrix.
///
/// grad, lu and the result [..., m, n], pivots [..., min(m, n)] of i32. Raises invalid_argument,
/// shape_mismatch or, where the host reads pivots, out_of_range.
/// flaggems::linalg_lu_factor_ex_backward(Tensor grad, Tensor lu, Tensor pivots, bool pivot=True)
/// -> Tensor
template <stream_like S, tensor_like G, tensor_like LU, tensor_like Pivots>
[[nodiscard]] auto linalg_lu_factor_ex_backward(const S& stream, const G& grad, const LU& lu,
                                                const Pivots& pivots, bool pivot = true) {
  same_device<S, G, LU, Pivots>();
  constexpr const char* op = "linalg_lu_factor_ex_backward";
  using T = value_t<const LU&>;
  if constexpr (detail::check_factor_types<const G&, const LU&>()) {
    const auto g = detail::input_of(grad);
    const auto parts = lu_unpack(stream, lu, pivots, true, pivot);
    detail::check_operand_sizes(op, "a gradient", as_view(lu).shape_of(), g.sizes());
    const i64 k = parts.l.size(-1);
    // l has zeros above its diagonal and ones on it, u zeros below: their gradients do not count.
    auto of_l = empty<T>(stream, parts.l.shape_of(), op),
         of_u = empty<T>(stream, parts.u.shape_of(), op);
    detail::triangle<operators::tril, true>(op, stream, g.narrow(-1, 0, k), of_l.view(), -1);
    detail::triangle<operators::triu, false>(op, stream, g.narrow(-2, 0, k), of_u.view(), 0);
    return linalg_lu_backward(stream, of_l, of_u, parts.p, parts.l, parts.u);
  }
}

/// The gradient of linalg_slogdet's logabsdet by its matrix: grad times the transposed inverse.
///
/// grad [...], a and the result [..., n, n]; f32 or f64; not finite for singular matrices. Raises
/// invalid_argument or shape_mismatch. flaggems::linalg_slogdet_backward(Tensor grad, Tensor a) ->
/// Tensor
template <stream_like S, tensor_like G, tensor_like A>
[[nodiscard]] auto linalg_slogdet_backward(const S& stream, const G& grad, const A& a) {
  same_device<S, G, A>();
  constexpr const char* op = "linalg_slogdet_backward";
  if constexpr (detail::check_factor_types<const G&, const A&>())
    return detail::differentiate_numbers(
        op, stream, detail::input_of(grad), detail::input_of(a),
        [&](const auto& f, const auto& x, const auto& given, const auto& out) {
          const auto parts = linalg_lu(stream, x);
          auto scaled = f.empty_of(x.size(1), x.size(2));
          detail::write_identity(op, stream, scaled.view());
          assign(stream, scaled, scaled.view() * given.expand(scaled.sizes()), op);
          const auto half = f.solved(f.t(parts.u.view()), scaled, false);
          const auto whole = f.solved(f.t(parts.l.view()), half, true, true, true);
          bmm(stream, parts.p, whole, out);
        });
}

}  // namespace flaggems
