// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products made of others: sums of matrix products, linear combinations, bilinear forms, cross
// products, the transform of Hadamard, and a layer with its activation.
#pragma once

#include <flaggems/kernel/family/transform/hadamard.hpp>
#include <flaggems/ops/checks.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/gemm_epilogue.hpp>
#include <flaggems/ops/plan/rows.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace flaggems {

namespace detail {

/// [m, n] of batches [b, m, k] and [b, k, n].
template <class A, class B>
shape addbmm_shape(const A& a, const B& b) {
  shape sizes = bmm_shape("addbmm", a, b);
  sizes.erase(0);
  return sizes;
}

/// [..., O] of x1 [..., I], x2 [..., J] and weight [O, I, J].
template <class X, class Y, class W>
shape bilinear_shape(const X& x1, const Y& x2, const W& weight) {
  constexpr const char* op = "bilinear";
  const bool right = x1.rank() > 0 && x1.rank() == x2.rank() && weight.rank() == 3 &&
                     x1.size(-1) == weight.size(1) && x2.size(-1) == weight.size(2);
  shape sizes = x1.shape_of(), others = x2.shape_of();
  if (right) {
    sizes[x1.rank() - 1] = others[x1.rank() - 1] = weight.size(0);
  }
  if (!right || !(sizes == others)) [[unlikely]]
    raise(errc::shape_mismatch, op, "x1 [..., I], x2 [..., J] and weight [O, I, J]",
          to_string(x1.shape_of()) + ", " + to_string(x2.shape_of()) + " and " +
              to_string(weight.shape_of()));
  return sizes;
}
template <class S, class T, class D>
void bilinear_into(const S& stream, const tensor_view<const T, D>& x1,
                   const tensor_view<const T, D>& x2, const tensor_view<const T, D>& weight,
                   const std::optional<tensor_view<const T, D>>& bias,
                   const tensor_view<T, D>& out) {
  constexpr const char* op = "bilinear";
  using C = arithmetic_t<T>;
  const shape sizes = bilinear_shape(x1, x2, weight);
  check_output_sizes(op, sizes, out);
  check_disjoint_output(op, out, x1, x2, weight);
  const i64 outputs = weight.size(0), columns = weight.size(2);
  if (bias) {
    check_output_sizes(op, {outputs}, *bias);
    check_disjoint_output(op, out, *bias);
  }
  if (out.empty()) return;
  // x1 times weight, [..., O J] in C; then the sums with x2.
  const auto turned = contiguous(stream, weight.transpose(1, 2));
  shape wide = sizes;
  wide[sizes.rank() - 1] = outputs * columns;
  auto partial = empty<C>(stream, wide, op);
  linear(stream, x1, std::as_const(turned).view().view({outputs * columns, weight.size(1)}),
         partial);
  const auto parts = std::as_const(partial).view().unflatten(-1, {outputs, columns});
  auto total = empty<C>(stream, sizes, op);
  const i64 last = -1;
  reduce_values<operators::sum, kernels::sum_of, C>(
      op, stream, mul(parts, cast<C>(x2.unsqueeze(-2))), total.view(), int_list(&last, 1), false,
      reduction_result::total);
  if (bias)
    assign_node(op, stream, out, cast<T>(add(total, cast<C>(*bias))).node);
  else
    assign_node(op, stream, out, cast<T>(total).node);
}

/// [m, ...] of input [n, ...] and coefficients [m, n].
template <class X, class C>
shape combination_shape(const X& input, const C& coefficients) {
  constexpr const char* op = "compute_linear_combination";
  check_matrix_rank(op, "a matrix of coefficients", coefficients, 2);
  if (input.rank() == 0) [[unlikely]]
    raise(errc::invalid_argument, op, "an input of at least one dimension", "none");
  check_size(op, "columns of the coefficients", input.size(0), coefficients.size(1));
  shape sizes = input.shape_of();
  sizes[0] = coefficients.size(0);
  return sizes;
}
/// Whether all dimensions but the first are one.
template <class View>
bool is_of_lines(const View& v) {
  for (int d = 1; d + 1 < v.rank(); ++d)
    if (v.stride(d) != v.stride(d + 1) * v.size(d + 1)) return false;
  return true;
}

/// The broadcast sizes, 3 along `dim`.
template <class X, class Y>
shape cross_shape(const X& a, const Y& b, i64 dim) {
  constexpr const char* op = "linalg_cross";
  const shape sizes = broadcast_shapes(a.shape_of(), b.shape_of(), op);
  if (a.rank() != b.rank() || sizes.rank() == 0 || sizes[normalize_dim(dim, sizes.rank(), op)] != 3)
      [[unlikely]]
    raise(errc::shape_mismatch, op, "two tensors of one rank, with 3 elements along dim",
          to_string(a.shape_of()) + " and " + to_string(b.shape_of()));
  return sizes;
}

/// out = scale times x times the matrix of Hadamard, whose rows are padded by zeros to a power of
/// two times `order`: a step for each factor of 2, and one for the order, if it is not 1.
template <class S, class T, class D>
void hadamard_into(const char* op, i32 order, const S& stream, const tensor_view<const T, D>& x,
                   f64 scale, const tensor_view<T, D>& out) {
  using C = arithmetic_t<T>;
  if (x.rank() == 0) [[unlikely]]
    raise(errc::shape_mismatch, op, "a tensor of at least one dimension", "none");
  static_cast<void>(check_same_shape(op, out, x));
  if (out.empty()) return;
  const i64 length = x.size(-1), rows = x.numel() / length;
  i64 whole = order;
  while (whole < length) whole *= 2;
  shape sizes = x.shape_of();
  sizes[x.rank() - 1] = whole;
  auto from = empty<C>(stream, sizes, op), to = empty<C>(stream, sizes, op);
  assign_node(op, stream, from.view().narrow(-1, 0, length), cast<C>(x).node);
  if (whole > length) fill(op, stream, from.view().narrow(-1, length, whole - length), 0);
  for (i64 step = 1; step < whole / order; step *= 2) {
    const shape pairs{rows * whole / (2 * step), 2, step};
    const auto in = std::as_const(from).view().view(pairs);
    const auto results = to.view().view(pairs);
    const auto first = in.select(1, 0), second = in.select(1, 1);
    assign_node(op, stream, results.select(1, 0), add(first, second).node);
    assign_node(op, stream, results.select(1, 1), sub(first, second).node);
    std::swap(from, to);
  }
  if (order != 1) {
    row_plan plan(out.sizes(), out.rank() - 1);
    plan.add(out);
    plan.add(from.view());
    const kernels::row_space space = plan.space();
    launch_config config;
    config.op = op;
    config.tiles = space.rows;
    config.work = work_of(from.numel(), order, 2);
    launch<kernels::hadamard_blocks<T, C>>(stream, config, space, order, whole / order,
                                           plan.arg(1, input_of(from)), plan.target(0, out),
                                           static_cast<C>(scale));
    return;
  }
  const auto done = std::as_const(from).view().narrow(-1, 0, length);
  assign_node(op, stream, out, cast<T>(mul(done, static_cast<C>(scale))).node);
}

}  // namespace detail

/// out = beta * input + alpha * the sum of batch1[b] * batch2[b]: one product, of matrices side by
/// side.
///
/// batch1 [b, m, k], batch2 [b, k, n], out [m, n]; input broadcasts to [m, n] and may be `out`
/// itself. Otherwise as `addmm`. aten::addbmm.out(Tensor self, Tensor batch1, Tensor batch2, *,
/// Scalar beta=1, Scalar alpha=1, Tensor(a!) out)
template <stream_like S, tensor_like Input, tensor_like A, tensor_like B, tensor_like Out>
void addbmm(const S& stream, const Input& input, const A& batch1, const B& batch2, Out&& out,
            const gemm_scalars<value_t<const A&>>& scalars = {}) {
  constexpr const char* op = "addbmm";
  same_device<S, Input, A, B, Out>();
  const auto to = as_view(out);
  const shape sizes = detail::bmm_shape(op, as_view(batch1), as_view(batch2));
  detail::check_sizes(op, to, {sizes[1], sizes[2]});
  const auto a = detail::expand_batch(as_view(batch1), sizes[0]);
  const auto b = detail::expand_batch(as_view(batch2), sizes[0]);
  check_disjoint_output(op, to, a, b);
  const i64 depth = sizes[0] * a.size(2);
  const auto rows = contiguous(stream, a.movedim(0, 1));
  const auto columns = contiguous(stream, b);
  detail::add_product(op, stream, as_view(input), rows.view().view({sizes[1], depth}),
                      columns.view().view({depth, sizes[2]}), to, scalars);
}
/// The same in a new tensor of batch1's dtype.
template <stream_like S, tensor_like Input, tensor_like A, tensor_like B>
[[nodiscard]] auto addbmm(const S& stream, const Input& input, const A& batch1, const B& batch2,
                          const gemm_scalars<value_t<const A&>>& scalars = {}) {
  auto out = empty<value_t<const A&>>(
      stream, detail::addbmm_shape(as_view(batch1), as_view(batch2)), "addbmm");
  addbmm(stream, input, batch1, batch2, out, scalars);
  return out;
}

/// out = input * other + bias: addmm in another order. input [m, k], other [k, n]; bias broadcasts
/// to [m, n]. flaggems::matmuladd(Tensor input, Tensor other, Tensor bias)
template <stream_like S, tensor_like A, tensor_like B, tensor_like Bias, tensor_like Out>
void matmuladd(const S& stream, const A& input, const B& other, const Bias& bias, Out&& out) {
  addmm(stream, bias, input, other, out);
}
template <stream_like S, tensor_like A, tensor_like B, tensor_like Bias>
[[nodiscard]] auto matmuladd(const S& stream, const A& input, const B& other, const Bias& bias) {
  return addmm(stream, bias, input, other);
}

/// out = relu(input * weight + bias), in one pass.
///
/// input [m, k], weight [k, n], out [m, n]; bias broadcasts to [m, n]; one floating-point dtype;
/// computed in f32 or f64 and rounded once. Otherwise as `mm`.
/// flag_gems::matmul_bias_activation(Tensor input, Tensor weight, Tensor bias)
template <stream_like S, tensor_like A, tensor_like B, tensor_like Bias, tensor_like Out>
void matmul_bias_activation(const S& stream, const A& input, const B& weight, const Bias& bias,
                            Out&& out) {
  using T = value_t<const A&>;
  static_assert(detail::kind_of<T> == detail::kind::floating,
                "flaggems: matmul_bias_activation is of floating point");
  using C = detail::arithmetic_t<T>;
  mm(stream, input, weight, out,
     epilogue(cast<T>(relu(add(product_as<C>, cast<C>(as_view(bias)))))));
}
template <stream_like S, tensor_like A, tensor_like B, tensor_like Bias>
[[nodiscard]] auto matmul_bias_activation(const S& stream, const A& input, const B& weight,
                                          const Bias& bias) {
  constexpr const char* op = "matmul_bias_activation";
  auto out =
      empty<value_t<const A&>>(stream, detail::mm_shape(op, as_view(input), as_view(weight)), op);
  matmul_bias_activation(stream, input, weight, bias, out);
  return out;
}

/// out[i, ...] = the sum over j of coefficients[i, j] * input[j, ...].
///
/// input [n, ...], coefficients [m, n], out [m, ...], any strides; one dtype of numbers, also
/// complex; summed as by `mm`. out is not read (ATen adds to what it holds) and shares no memory
/// with an input. Raises invalid_argument, shape_mismatch or overlap before anything is written.
/// aten::_compute_linear_combination.out(Tensor input, Tensor coefficients, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like C, tensor_like Out>
void compute_linear_combination(const S& stream, const X& input, const C& coefficients, Out&& out) {
  constexpr const char* op = "compute_linear_combination";
  using D = device_of<S>;
  same_device<S, X, C, Out>();
  tensor_view<const value_t<const X&>, D> x(as_view(input));
  tensor_view<value_t<Out>, D> to(as_view(out));
  const tensor_view<const value_t<const C&>, D> by(as_view(coefficients));
  detail::check_sizes(op, to, detail::combination_shape(x, by));
  detail::check_separate_output(op, to, x, by);
  // [.., n, last]: one product if all dimensions but the first are one, else a batch of them.
  const bool joined = detail::is_of_lines(x) && detail::is_of_lines(to);
  const auto turned = [&](auto v) {
    if (v.rank() == 1) return v.unsqueeze(-1);
    return joined ? v.flatten(1) : v.movedim(0, -2);
  };
  if (to.empty()) return;
  const auto from = turned(x);
  const auto into = turned(to);
  shape sizes = from.shape_of();
  sizes[sizes.rank() - 2] = by.size(0);
  sizes[sizes.rank() - 1] = by.size(1);
  detail::product(op, stream, by.expand(sizes), from.transpose(-2, -1), into,
                  detail::no_bias_view{}, 1, 0);
}
/// The same in a new tensor. aten::_compute_linear_combination(Tensor input, Tensor coefficients)
template <stream_like S, tensor_like X, tensor_like C>
[[nodiscard]] auto compute_linear_combination(const S& stream, const X& input,
                                              const C& coefficients) {
  auto out = empty<value_t<const X&>>(
      stream, detail::combination_shape(as_view(input), as_view(coefficients)),
      "compute_linear_combination");
  compute_linear_combination(stream, input, coefficients, out);
  return out;
}

/// out[..., o] = the sum over i and j of x1[..., i] weight[o, i, j] x2[..., j], plus bias[o].
///
/// x1 [..., I], x2 [..., J], weight [O, I, J], bias [O] or std::nullopt, out [..., O]; one
/// floating-point dtype; sums are in f32 or f64. out shares no memory with an input. Raises
/// shape_mismatch or overlap before anything is written. aten::bilinear(Tensor input1, Tensor
/// input2, Tensor weight, Tensor? bias=None)
template <stream_like S, tensor_like X, tensor_like Y, tensor_like W, optional_tensor B,
          tensor_like Out>
void bilinear(const S& stream, const X& x1, const Y& x2, const W& weight, const B& bias,
              Out&& out) {
  same_device<S, X, Y, W, Out>();
  using T = value_t<const X&>;
  using D = device_of<S>;
  static_assert(detail::kind_of<T> == detail::kind::floating,
                "flaggems: bilinear is of floating point");
  detail::bilinear_into<S, T, D>(stream, as_view(x1), as_view(x2), as_view(weight),
                                 detail::optional_view<T, D>(bias), as_view(out));
}
template <stream_like S, tensor_like X, tensor_like Y, tensor_like W,
          optional_tensor B = std::nullopt_t>
[[nodiscard]] auto bilinear(const S& stream, const X& x1, const Y& x2, const W& weight,
                            const B& bias = std::nullopt) {
  auto out = empty<value_t<const X&>>(
      stream, detail::bilinear_shape(as_view(x1), as_view(x2), as_view(weight)), "bilinear");
  bilinear(stream, x1, x2, weight, bias, out);
  return out;
}

/// out = the cross products of vectors of three elements along `dim`.
///
/// self, other: broadcast, of one rank and dtype, with 3 elements along dim (1 is repeated); out
/// has the broadcast sizes and shares no memory with them. Raises out_of_range, shape_mismatch or
/// overlap before anything is written. aten::linalg_cross.out(Tensor self, Tensor other, *, int
/// dim=-1, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Y, tensor_like Out>
void linalg_cross(const S& stream, const X& self, const Y& other, Out&& out, i64 dim = -1) {
  constexpr const char* op = "linalg_cross";
  same_device<S, X, Y, Out>();
  const auto to = as_view(out);
  const shape sizes = detail::cross_shape(as_view(self), as_view(other), dim);
  check_output_sizes(op, sizes, to);
  check_disjoint_output(op, to, as_view(self), as_view(other));
  const auto a = as_view(self).expand(sizes), b = as_view(other).expand(sizes);
  for (i64 i = 0; i < 3; ++i) {
    const i64 j = (i + 1) % 3, k = (i + 2) % 3;
    assign(stream, to.select(dim, i),
           sub(mul(a.select(dim, j), b.select(dim, k)), mul(a.select(dim, k), b.select(dim, j))),
           op);
  }
}
template <stream_like S, tensor_like X, tensor_like Y>
[[nodiscard]] auto linalg_cross(const S& stream, const X& self, const Y& other, i64 dim = -1) {
  auto out = empty<value_t<const X&>>(
      stream, detail::cross_shape(as_view(self), as_view(other), dim), "linalg_cross");
  linalg_cross(stream, self, other, out, dim);
  return out;
}

/// out = scale * x H over the last dimension, where H is Sylvester's matrix of Hadamard:
/// H[i, j] = (-1)^(the bits that i and j share). A length that is no power of two is padded by
/// zeros to one.
///
/// x, out: the same sizes and floating-point dtype; `out` may be `x`. Sums are in f32 or f64.
/// Raises shape_mismatch or overlap before anything is written.
/// flaggems::hadamard_transform(Tensor x, float scale=1.0)
template <stream_like S, tensor_like X, tensor_like Out>
void hadamard_transform(const S& stream, const X& x, Out&& out, f64 scale = 1) {
  same_device<S, X, Out>();
  using T = value_t<const X&>;
  static_assert(detail::kind_of<T> == detail::kind::floating && std::is_same_v<T, value_t<Out>>,
                "flaggems: input and output have one floating-point dtype");
  detail::hadamard_into<S, T, device_of<S>>("hadamard_transform", 1, stream, as_view(x), scale,
                                            as_view(out));
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto hadamard_transform(const S& stream, const X& x, f64 scale = 1) {
  auto out = empty<value_t<const X&>>(stream, as_view(x).shape_of(), "hadamard_transform");
  hadamard_transform(stream, x, out, scale);
  return out;
}

// One line an order.
#define FLAGGEMS_HADAMARD(name, order)                                                             \
  template <stream_like S, tensor_like X, tensor_like Out>                                         \
  void name(const S& stream, const X& x, Out&& out, f64 scale = 1) {                               \
    same_device<S, X, Out>();                                                                      \
    using T = value_t<const X&>;                                                                   \
    static_assert(detail::kind_of<T> == detail::kind::floating && std::is_same_v<T, value_t<Out>>, \
                  "flaggems: input and output have one floating-point dtype");                     \
    detail::hadamard_into<S, T, device_of<S>>(#name, order, stream, as_view(x), scale,             \
                                              as_view(out));                                       \
  }                                                                                                \
  template <stream_like S, tensor_like X>                                                          \
  [[nodiscard]] auto name(const S& stream, const X& x, f64 scale = 1) {                            \
    auto out = empty<value_t<const X&>>(stream, as_view(x).shape_of(), #name);                     \
    name(stream, x, out, scale);                                                                   \
    return out;                                                                                    \
  }

/// As hadamard_transform with the Kronecker product of a matrix of Hadamard of order 12, after
/// Paley, and Sylvester's, as fast_hadamard_transform has it; lengths are padded by zeros to 12
/// times a power of two. flaggems::hadamard_transform_12N(Tensor x, float scale=1.0)
FLAGGEMS_HADAMARD(hadamard_transform_12n, 12)
/// The same of order 20, after Williamson.
/// flaggems::hadamard_transform_20N(Tensor x, float scale=1.0)
FLAGGEMS_HADAMARD(hadamard_transform_20n, 20)
/// The same of order 28, after Williamson.
/// flaggems::hadamard_transform_28N(Tensor x, float scale=1.0)
FLAGGEMS_HADAMARD(hadamard_transform_28n, 28)
/// The same of order 40, after Paley.
/// flaggems::hadamard_transform_40N(Tensor x, float scale=1.0)
FLAGGEMS_HADAMARD(hadamard_transform_40n, 40)
#undef FLAGGEMS_HADAMARD

}  // namespace flaggems
