// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Higher functions, under their names in ATen: gamma, digamma and zeta functions, Bessel and Airy
// functions, orthogonal polynomials: the rows of kernel/family/pointwise/tables/higher.hpp in the
// forms of ops/forms.hpp; polygamma and mvlgamma.
#pragma once

#include <flaggems/kernel/family/pointwise/tables/higher.hpp>
#include <flaggems/ops/checks.hpp>
#include <flaggems/ops/forms.hpp>

namespace flaggems {

namespace operators {
FLAGGEMS_HIGHER_TABLE(FLAGGEMS_NAME, FLAGGEMS_NAME, FLAGGEMS_NAME, FLAGGEMS_NAME)
using polygamma = kernels::polygamma_fn<f64>;
using mvlgamma = kernels::mvlgamma_fn<f64>;
}  // namespace operators

FLAGGEMS_HIGHER_TABLE(FLAGGEMS_UNARY, FLAGGEMS_PREDICATE, FLAGGEMS_PAIR, FLAGGEMS_BINARY)
FLAGGEMS_HIGHER_ALIASES(FLAGGEMS_ALSO, FLAGGEMS_ALSO)

/// a = the regularised lower incomplete gamma function P(a, b).
/// aten::igamma_(Tensor(a!) self, Tensor other)
template <stream_like S, tensor_like A, tensor_operand B>
void igamma_(const S& stream, A&& a, const B& b) {
  assign(stream, a, igamma(a, b), "igamma_");
}
/// a = the regularised upper incomplete gamma function Q(a, b).
/// aten::igammac_(Tensor(a!) self, Tensor other)
template <stream_like S, tensor_like A, tensor_operand B>
void igammac_(const S& stream, A&& a, const B& b) {
  assign(stream, a, igammac(a, b), "igammac_");
}

namespace detail {
inline kernels::polygamma_fn<f64> digamma_derivative(i64 n) {
  if (n < 0) [[unlikely]]
    raise(errc::invalid_argument, "polygamma", "an order of at least 0", text(n));
  return {static_cast<f64>(n)};
}
inline kernels::mvlgamma_fn<f64> gamma_of_dimension(i64 p) {
  if (p < 1) [[unlikely]]
    raise(errc::invalid_argument, "mvlgamma", "a dimension of at least 1", text(p));
  return {static_cast<f64>(p)};
}
}  // namespace detail

/// The derivative n of digamma (an expression): digamma for n = 0. Raises invalid_argument for
/// n < 0.
template <tensor_operand X>
[[nodiscard]] auto polygamma(i64 n, X&& x) {
  return detail::make_call<detail::to_float>(detail::digamma_derivative(n), std::forward<X>(x));
}
/// The derivative n of digamma, in a new tensor. aten::polygamma(int n, Tensor self)
template <stream_like S, tensor_operand X>
[[nodiscard]] auto polygamma(const S& stream, i64 n, const X& x) {
  return evaluate(stream, polygamma(n, x), "polygamma");
}
/// out = the derivative n of digamma; `out` may be `x`. Raises invalid_argument for n < 0,
/// shape_mismatch or overlap before anything is written.
/// aten::polygamma.out(int n, Tensor self, *, Tensor(a!) out)
template <stream_like S, tensor_operand X, tensor_like Out>
void polygamma(const S& stream, i64 n, const X& x, Out&& out) {
  assign(stream, out, polygamma(n, x), "polygamma");
}
/// x = the derivative n of digamma at x. aten::polygamma_(Tensor(a!) self, int n)
template <stream_like S, tensor_like X>
void polygamma_(const S& stream, X&& x, i64 n) {
  assign(stream, x, polygamma(n, x), "polygamma_");
}

/// The logarithm of the gamma function of dimension p: p (p - 1) / 4 log(pi) and the sum of
/// lgamma(x - i / 2) over i < p (an expression). Raises invalid_argument for p < 1.
template <tensor_operand X>
[[nodiscard]] auto mvlgamma(X&& x, i64 p) {
  return detail::make_call<detail::to_float>(detail::gamma_of_dimension(p), std::forward<X>(x));
}
/// The same in a new tensor. aten::mvlgamma(Tensor self, int p)
template <stream_like S, tensor_operand X>
[[nodiscard]] auto mvlgamma(const S& stream, const X& x, i64 p) {
  return evaluate(stream, mvlgamma(x, p), "mvlgamma");
}
/// The same into `out`, which may be `x`. Raises invalid_argument for p < 1, shape_mismatch or
/// overlap before anything is written. aten::mvlgamma.out(Tensor self, int p, *, Tensor(a!) out)
template <stream_like S, tensor_operand X, tensor_like Out>
void mvlgamma(const S& stream, const X& x, Out&& out, i64 p) {
  assign(stream, out, mvlgamma(x, p), "mvlgamma");
}
/// The same into x. aten::mvlgamma_(Tensor(a!) self, int p)
template <stream_like S, tensor_like X>
void mvlgamma_(const S& stream, X&& x, i64 p) {
  assign(stream, x, mvlgamma(x, p), "mvlgamma_");
}
FLAGGEMS_ALSO(special_polygamma, polygamma)
FLAGGEMS_ALSO(special_multigammaln, mvlgamma)

}  // namespace flaggems
