// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of vectors, and of matrices element by element: outer, dot, kron, and sums with them.
#pragma once

#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>

namespace flaggems {
namespace detail {

template <class X>
void check_vector(const char* op, const X& x) {
  if (x.rank() != 1) [[unlikely]]
    raise_sizes(op, "a vector", x.sizes());
}

/// The sizes of kron, and both operands with a dimension for each of the other's.
template <class A, class B>
struct kron_plan {
  shape sizes;
  A a;
  B b;
};
template <class A, class B>
kron_plan<A, B> plan_kron(const A& a, const B& b) {
  const int rank = a.rank() > b.rank() ? a.rank() : b.rank();
  if (2 * rank > max_rank) [[unlikely]]
    raise(errc::invalid_argument, "kron", "at most 4 dimensions", text(rank));
  kron_plan<A, B> plan{{}, a, b};
  while (plan.a.rank() < rank) plan.a = plan.a.unsqueeze(0);
  while (plan.b.rank() < rank) plan.b = plan.b.unsqueeze(0);
  for (int d = 0; d < rank; ++d) {
    i64 n = 0;
    if (!multiply(plan.a.size(2 * d), plan.b.size(2 * d), n)) [[unlikely]]
      raise_shapes("kron", "fewer than 2^63 elements", a.shape_of(), b.shape_of());
    plan.sizes.push_back(n);
    plan.a = plan.a.unsqueeze(2 * d + 1);
    plan.b = plan.b.unsqueeze(2 * d);
  }
  return plan;
}

}  // namespace detail

/// out[i, j] = x[i] y[j] for vectors. Raises invalid_argument for other ranks, shape_mismatch or
/// overlap. aten::outer.out(Tensor self, Tensor vec2, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Y, tensor_like Out>
void outer(const S& stream, const X& x, const Y& y, Out&& out) {
  const auto a = as_view(x);
  const auto b = as_view(y);
  detail::check_vector("outer", a);
  detail::check_vector("outer", b);
  const auto to = as_view(out);
  detail::check_output_sizes("outer", {a.size(0), b.size(0)}, to);
  assign(stream, to, mul(a.unsqueeze(1), b.unsqueeze(0)), "outer");
}
template <stream_like S, tensor_like X, tensor_like Y>
[[nodiscard]] auto outer(const S& stream, const X& x, const Y& y) {
  const auto a = as_view(x);
  const auto b = as_view(y);
  detail::check_vector("outer", a);
  detail::check_vector("outer", b);
  return evaluate(stream, mul(a.unsqueeze(1), b.unsqueeze(0)), "outer");
}

namespace detail {
/// The conjugate of a complex operand; a real one itself.
template <class View>
auto conjugated(const View& x) {
  if constexpr (kernels::is_complex<typename View::value_type>)
    return conj_physical(x);
  else
    return x;
}
}  // namespace detail

// One line a name: of the sum of x[i] y[i]; `first` makes the factor of x.
#define FLAGGEMS_DOT(name, first)                                                          \
  template <stream_like S, tensor_like X, tensor_like Y, tensor_like Out>                  \
  void name(const S& stream, const X& x, const Y& y, Out&& out) {                          \
    using T = value_t<const X&>;                                                           \
    static_assert(std::is_same_v<T, value_t<const Y&>> && std::is_same_v<T, value_t<Out>>, \
                  "flaggems: the vectors and the output have one dtype");                  \
    const auto a = as_view(x);                                                             \
    const auto b = as_view(y);                                                             \
    detail::check_vector(#name, a);                                                        \
    check_same_sizes(#name, a, b);                                                         \
    detail::reduce_values<operators::sum, kernels::sum_of, detail::sum_fold<T, T>>(        \
        #name, stream, mul(first(a), b), as_view(out), {}, false,                          \
        detail::reduction_result::total);                                                  \
  }                                                                                        \
  template <stream_like S, tensor_like X, tensor_like Y>                                   \
  [[nodiscard]] auto name(const S& stream, const X& x, const Y& y) {                       \
    auto out = empty<value_t<const X&>>(stream, {}, #name);                                \
    name(stream, x, y, out);                                                               \
    return out;                                                                            \
  }

/// out = the sum of x[i] y[i] of two vectors, in no dimension and of their dtype. Raises
/// invalid_argument for other ranks, shape_mismatch or overlap.
/// aten::dot.out(Tensor self, Tensor tensor, *, Tensor(a!) out)
FLAGGEMS_DOT(dot, as_view)
/// As dot; of complex vectors, with the conjugates of x.
/// aten::vdot.out(Tensor self, Tensor other, *, Tensor(a!) out)
FLAGGEMS_DOT(vdot, detail::conjugated)
#undef FLAGGEMS_DOT

/// out = the sums of conj(x) y along a dimension of x and y, which broadcast. All have one dtype,
/// of floating point or complex. Raises shape_mismatch, out_of_range or overlap.
/// aten::linalg_vecdot.out(Tensor x, Tensor y, *, int dim=-1, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Y, tensor_like Out>
void linalg_vecdot(const S& stream, const X& x, const Y& y, Out&& out, i64 dim = -1) {
  using T = value_t<const X&>;
  static_assert(std::is_same_v<T, value_t<const Y&>> && std::is_same_v<T, value_t<Out>> &&
                    detail::kind_of<T> >= detail::kind::floating,
                "flaggems: the tensors have one dtype, of floating point or complex");
  detail::reduce_values<operators::sum, kernels::sum_of, detail::sum_fold<T, T>>(
      "linalg_vecdot", stream, mul(detail::conjugated(as_view(x)), as_view(y)), as_view(out),
      int_list(&dim, 1), false, detail::reduction_result::total);
}
template <stream_like S, tensor_like X, tensor_like Y>
[[nodiscard]] auto linalg_vecdot(const S& stream, const X& x, const Y& y, i64 dim = -1) {
  const auto products = mul(detail::conjugated(as_view(x)), as_view(y));
  auto out = empty<value_t<const X&>>(
      stream, detail::reduced_shape("linalg_vecdot", products, int_list(&dim, 1), false),
      "linalg_vecdot");
  linalg_vecdot(stream, x, y, out, dim);
  return out;
}

/// out = beta * input + alpha * vec1[i] vec2[j]; input broadcasts to the product, and is not read
/// if beta is 0. All have one dtype. Raises invalid_argument, shape_mismatch or overlap.
/// aten::addr.out(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1,
/// Tensor(a!) out)
template <stream_like S, tensor_like Input, tensor_like X, tensor_like Y, tensor_like Out>
void addr(const S& stream, const Input& input, const X& vec1, const Y& vec2, Out&& out,
          const gemm_scalars<value_t<const X&>>& scalars = {}) {
  const auto a = as_view(vec1);
  const auto b = as_view(vec2);
  detail::check_vector("addr", a);
  detail::check_vector("addr", b);
  addmm(stream, input, a.unsqueeze(1), b.unsqueeze(0), out, scalars);
}
template <stream_like S, tensor_like Input, tensor_like X, tensor_like Y>
[[nodiscard]] auto addr(const S& stream, const Input& input, const X& vec1, const Y& vec2,
                        const gemm_scalars<value_t<const X&>>& scalars = {}) {
  const auto a = as_view(vec1);
  const auto b = as_view(vec2);
  detail::check_vector("addr", a);
  detail::check_vector("addr", b);
  auto out = detail::empty_result<value_t<const X&>>(
      "addr", stream, {a.numel(), b.numel()}, as_view(input), a.unsqueeze(1), b.unsqueeze(0));
  addr(stream, input, vec1, vec2, out, scalars);
  return out;
}
/// out = beta * input + alpha * (mat * vec), as addmm with a vector.
/// aten::addmv.out(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1,
/// Tensor(a!) out)
template <stream_like S, tensor_like Input, tensor_like A, tensor_like X, tensor_like Out>
void addmv(const S& stream, const Input& input, const A& mat, const X& vec, Out&& out,
           const gemm_scalars<value_t<const A&>>& scalars = {}) {
  const auto x = as_view(vec);
  const auto from = as_view(input);
  const auto to = as_view(out);
  detail::check_vector("addmv", x);
  detail::check_vector("addmv", to);
  addmm(stream, from.rank() == 0 ? from.view() : from.unsqueeze(-1), mat, x.unsqueeze(1),
        to.unsqueeze(1), scalars);
}
template <stream_like S, tensor_like Input, tensor_like A, tensor_like X>
[[nodiscard]] auto addmv(const S& stream, const Input& input, const A& mat, const X& vec,
                         const gemm_scalars<value_t<const A&>>& scalars = {}) {
  const auto a = as_view(mat);
  if (a.rank() != 2) [[unlikely]]
    detail::raise_sizes("addmv", "a matrix", a.sizes());
  auto out = empty<value_t<const A&>>(stream, {a.size(0)}, "addmv");
  addmv(stream, input, mat, vec, out, scalars);
  return out;
}

/// out = the blocks x[i, ...] * y of all elements of x: out's sizes are the products of theirs. At
/// most four dimensions. Raises invalid_argument, shape_mismatch or overlap.
/// aten::kron.out(Tensor self, Tensor other, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Y, tensor_like Out>
void kron(const S& stream, const X& x, const Y& y, Out&& out) {
  const auto plan = detail::plan_kron(detail::input_of(x), detail::input_of(y));
  const auto to = as_view(out);
  detail::check_output_sizes("kron", plan.sizes, to);
  if (to.empty()) return;
  auto parts = to;
  for (int d = plan.sizes.rank() - 1; d >= 0; --d)
    parts = parts.unflatten(d, {plan.a.size(2 * d), plan.b.size(2 * d + 1)});
  assign(stream, parts, mul(plan.a, plan.b), "kron");
}
template <stream_like S, tensor_like X, tensor_like Y>
[[nodiscard]] auto kron(const S& stream, const X& x, const Y& y) {
  const shape sizes = detail::plan_kron(detail::input_of(x), detail::input_of(y)).sizes;
  auto out = empty<promote_t<value_t<const X&>, value_t<const Y&>>>(stream, sizes, "kron");
  kron(stream, x, y, out);
  return out;
}

}  // namespace flaggems
