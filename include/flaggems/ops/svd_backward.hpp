// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of singular values and vectors, and of what is computed by them. `grad` is the gradient
// of a result.
#pragma once

#include <flaggems/ops/factor_backward.hpp>
#include <flaggems/ops/lstsq.hpp>
#include <flaggems/ops/svd.hpp>

#include <optional>

namespace flaggems {
namespace detail {

/// Adds the gradient of a by its singular vectors to that by its values, k by k, in `inner`; gives
/// what lies outside of these vectors into `out`.
template <class F, class T, class D>
void add_vectors(const F& f, const tensor_view<const T, D>& grad_u,
                 const tensor_view<const T, D>& grad_vh, const tensor_view<const T, D>& u,
                 const tensor_view<const T, D>& s, const tensor_view<const T, D>& vh,
                 const tensor_view<T, D>& inner, const tensor_view<T, D>& out) {
  const i64 m = u.size(1), k = s.size(1), n = vh.size(2);
  const auto of_u = f.times(f.t(u), grad_u), of_v = f.times(vh, f.t(grad_vh));
  auto one = f.empty_of(k, k);
  write_identity(f.op, f.stream, one.view());
  const auto row = s.unsqueeze(2).expand(one.sizes()), column = s.unsqueeze(1).expand(one.sizes());
  const auto apart = (column - row) * (column + row) + one.view();  // 1 on the diagonal, over 0
  const auto turned = [](const tensor<T, D>& x) { return x.view() - x.view().transpose(1, 2); };
  assign(f.stream, inner, (turned(of_u) * column + row * turned(of_v)) / apart + inner, f.op);
  auto left = f.times(u, inner);
  if (m > k) {
    const auto within = f.times(u, of_u);
    assign(f.stream, left,
           left.view() + (grad_u - within.view()) / s.unsqueeze(1).expand(left.sizes()), f.op);
  }
  bmm(f.stream, left.view(), vh, out);
  if (n > k) {
    const auto within = f.times(f.t(of_v), vh);
    const auto outside =
        f.value(k, n, (grad_vh - within.view()) / s.unsqueeze(2).expand(within.sizes()));
    const auto more = f.times(u, outside);
    assign(f.stream, out, out + more.view(), f.op);
  }
}

template <class S, class T, class D>
operand_gradients<T, D> differentiate_lstsq(
    const char* op, const S& stream, const tensor_view<const T, D>& grad,
    const tensor_view<const T, D>& a, const tensor_view<const T, D>& b,
    const tensor_view<const T, D>& x, const std::optional<f64>& rcond, gradient_mask<2> wanted) {
  const lstsq_plan plan(a, b, {});
  check_operand_sizes(op, "a gradient", plan.solution, grad.sizes());
  check_operand_sizes(op, "a solution", plan.solution, x.sizes());
  const auto f = formula_of<T>(op, stream, plan.batch);
  const i64 m = plan.m, n = plan.n, c = plan.k, k = kernels::min_of(m, n);
  const auto columns = [&](const auto& v) { return plan.of_vectors ? v.unsqueeze(-1) : v; };
  operand_gradients<T, D> r;
  auto to_a = f.result(m, n), to_b = f.result(m, c);
  if (k == 0 || to_b.empty()) {
    fill(op, stream, to_a.view(), 0);
    fill(op, stream, to_b.view(), 0);
  } else {
    tensor<T, D> own[7];
    const auto matrix = f.take(a, own[0]), sides = f.take(columns(b), own[1]);
    const auto g = f.take(columns(grad), own[2]), solution = f.take(columns(x), own[3]);
    const auto parts = svd_of(op, stream, a, false);
    const auto u = f.take(input_of(parts.u), own[4]), vh = f.take(input_of(parts.vh), own[5]);
    const auto s = as_row(op, stream, input_of(parts.s).expand(batch_of(f.batch, {k})), own[6])
                       .view({f.batch.numel(), k, 1});
    const auto wide = s.expand({f.batch.numel(), k, c});
    const auto counts = gt(wide, wide.narrow(1, 0, 1).expand(wide.sizes()) *
                                     static_cast<T>(plan.least(rcond, rounding_of<T>)));
    const auto over = [&](const tensor<T, D>& v) {  // by values that count
      return f.value(k, c, where(counts, v.view() / wide, T(0)));
    };
    const auto by_grad = f.times(vh, g), by_solution = f.times(vh, solution);
    const auto once = over(by_grad), twice = over(once), back = over(by_solution);
    bmm(stream, u, once, f.flat(to_b));
    if (wanted[0]) {
      // What the equations leave, and what of the gradient no equation says.
      const auto image = f.times(matrix, solution), turned = f.times(f.t(vh), twice);
      const auto rest = f.value(m, c, sides - image.view());
      const auto kept = f.value(k, c, where(counts, by_grad.view(), T(0)));
      const auto inside = f.times(f.t(vh), kept), sources = f.times(u, back);
      const auto outside = f.value(n, c, g - inside.view());
      const auto one = f.times(f.flat(to_b), f.t(solution)), two = f.times(rest, f.t(turned)),
                 three = f.times(sources, f.t(outside));
      assign(stream, f.flat(to_a), two.view() + three.view() - one.view(), op);
    }
  }
  if (wanted[0]) r.self = f.summed(std::move(to_a), a.shape_of());
  if (wanted[1]) {
    if (!plan.of_vectors) {
      r.other = f.summed(std::move(to_b), b.shape_of());
    } else {
      shape with_column(b.sizes());
      with_column.push_back(1);
      const auto all = f.summed(std::move(to_b), with_column);
      r.other = empty<T>(stream, b.shape_of(), op);
      copy_into(op, stream, r.other->view(), input_of(all).squeeze(-1));
    }
  }
  return r;
}

}  // namespace detail

/// The gradient of linalg_svd, which gave u, s and vh, by its matrix; gradients that are
/// std::nullopt are 0.
///
/// grad_u and u [..., m, k], grad_s and s [..., k], grad_vh and vh [..., k, n], k = min(m, n); of
/// full matrices give the first k columns and rows. The result [..., m, n]; f32 or f64. Vectors of
/// equal values, or of 0 where the matrix is not square, have none: it is not finite. Raises
/// invalid_argument or shape_mismatch. flaggems::linalg_svd_backward(Tensor? grad_u, Tensor?
/// grad_s, Tensor? grad_vh, Tensor u, Tensor s, Tensor vh) -> Tensor
template <stream_like S, optional_tensor GU, optional_tensor GS, optional_tensor GV, tensor_like U,
          tensor_like Values, tensor_like Vh>
[[nodiscard]] auto linalg_svd_backward(const S& stream, const GU& grad_u, const GS& grad_s,
                                       const GV& grad_vh, const U& u, const Values& s,
                                       const Vh& vh) {
  same_device<S, GU, GS, GV, U, Values, Vh>();
  constexpr const char* op = "linalg_svd_backward";
  using T = value_t<const U&>;
  using D = device_of<S>;
  if constexpr (detail::check_factor_types<const U&, const Values&, const Vh&>()) {
    const auto left = detail::input_of(u), right = detail::input_of(vh), all = detail::input_of(s);
    detail::check_matrices(op, left.sizes());
    detail::check_matrices(op, right.sizes());
    const auto f = detail::formula_of<T>(op, stream, detail::batch_sizes(left.sizes()));
    const i64 m = left.size(-2), k = left.size(-1), n = right.size(-1);
    detail::check_size(op, "as many columns of u as the lesser of its rows and vh's columns:",
                       kernels::min_of(m, n), k);
    detail::check_operand_sizes(op, "s", detail::batch_of(f.batch, {k}), all.sizes());
    detail::check_operand_sizes(op, "vh", detail::batch_of(f.batch, {k, n}), right.sizes());
    const auto given_u = detail::optional_view<T, D>(grad_u),
               given_v = detail::optional_view<T, D>(grad_vh);
    const auto given_s = detail::optional_view<T, D>(grad_s);
    tensor<T, D> own[6];
    const auto of_u = detail::or_zeros(f, given_u, "grad_u", m, k, own[0]);
    const auto of_v = detail::or_zeros(f, given_v, "grad_vh", k, n, own[1]);
    if (given_s) detail::check_operand_sizes(op, "grad_s", all.shape_of(), given_s->sizes());
    auto out = f.result(m, n);
    if (out.empty()) return out;
    const auto lefts = f.take(left, own[2]), rights = f.take(right, own[3]);
    const auto values = detail::as_row(op, stream, all, own[4]).view({f.batch.numel(), k});
    auto inner = f.empty_of(k, k);
    fill(op, stream, inner.view(), 0);
    if (given_s)
      detail::copy_into(op, stream, inner.view().diagonal(0, 1, 2),
                        detail::as_row(op, stream, *given_s, own[5]).view({f.batch.numel(), k}));
    if (given_u || given_v)
      detail::add_vectors(f, of_u, of_v, lefts, values, rights, inner.view(), f.flat(out));
    else
      bmm(stream, f.times(lefts, inner), rights, f.flat(out));
    return out;
  }
}

/// The gradient of linalg_det by its matrix, that of the determinant times the matrix of cofactors;
/// right for singular matrices, too.
///
/// grad [...], a and the result [..., n, n]; f32 or f64. By singular values: waits for the stream,
/// and raises as linalg_svd. flaggems::linalg_det_backward(Tensor grad, Tensor a) -> Tensor
template <stream_like S, tensor_like G, tensor_like A>
[[nodiscard]] auto linalg_det_backward(const S& stream, const G& grad, const A& a) {
  same_device<S, G, A>();
  constexpr const char* op = "linalg_det_backward";
  using T = value_t<const A&>;
  if constexpr (detail::check_factor_types<const G&, const A&>())
    return detail::differentiate_numbers(
        op, stream, detail::input_of(grad), detail::input_of(a),
        [&](const auto& f, const auto& x, const auto& given, const auto& out) {
          const i64 count = x.size(0), n = x.size(1);
          const auto parts = detail::svd_of(op, stream, x, false);
          const auto turns = linalg_det(stream, parts.u), back = linalg_det(stream, parts.vh);
          // The product of all values but one, for each.
          auto one = f.empty_of(n, n);
          detail::write_identity(op, stream, one.view());
          auto others = f.empty_of(1, n);
          const auto values = parts.s.view().unsqueeze(1).expand(one.sizes());
          const auto rest = f.value(n, n, values * (T(1) - one.view()) + one.view());
          prod(stream, rest, others.view().select(1, 0), 2);
          const auto each = [&](const auto& v) {
            return v.view({count, 1, 1}).expand({count, 1, n});
          };
          assign(stream, others,
                 others.view() * each(given) * each(turns.view()) * each(back.view()), op);
          const auto left = f.value(n, n, parts.u.view() * others.view().expand(one.sizes()));
          bmm(stream, left, parts.vh, out);
        });
}

/// The gradients of linalg_lstsq's solution, which it gave as `solution`, by its operands;
/// `output_mask` says which. By singular values, of which those count that counted there: waits for
/// the stream, and raises as linalg_lstsq.
///
/// Shapes as there; grad as solution; rcond as it was given there.
/// flaggems::linalg_lstsq_backward(Tensor grad, Tensor self, Tensor b, Tensor solution, float?
/// rcond=None, bool[2] output_mask) -> (Tensor, Tensor)
template <stream_like S, tensor_like G, tensor_like A, tensor_like B, tensor_like X>
[[nodiscard]] auto linalg_lstsq_backward(const S& stream, const G& grad, const A& self, const B& b,
                                         const X& solution, std::optional<f64> rcond = {},
                                         gradient_mask<2> output_mask = {true, true}) {
  same_device<S, G, A, B, X>();
  if constexpr (detail::check_factor_types<const G&, const A&, const B&, const X&>())
    return detail::differentiate_lstsq("linalg_lstsq_backward", stream, detail::input_of(grad),
                                       detail::input_of(self), detail::input_of(b),
                                       detail::input_of(solution), rcond, output_mask);
}

}  // namespace flaggems
