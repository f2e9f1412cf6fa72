// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products whose first operand is an expression, evaluated while it is read:
//
//     linear(stream, silu(gate) * up, weight, out);
#pragma once

#include <flaggems/ops/dispatch/gemm/prologue.hpp>
#include <flaggems/ops/gemm_packed.hpp>

namespace flaggems {

namespace detail {

/// out = x * weight^T of a weight that is a tensor or packed.
template <class S, class Node, class W, class Out, class Added>
void lazy_linear(const S& stream, const expr<Node>& x, const W& weight, const Out& out,
                 const Added& added) {
  const lazy_matrix<Node> first("linear", x.node);
  if constexpr (tensor_like<const W&>)
    linear_into(stream, first, as_view(weight), out, added);
  else
    packed_access::linear(stream, first, weight, out, added);
}

/// A new tensor for the product of the expression x and a weight that is a tensor or packed.
template <class T, class S, class Node, class W, class Added = no_bias_view>
auto lazy_linear_output(const S& stream, const expr<Node>& x, const W& weight,
                        const Added& added = {}) {
  const lazy_matrix<Node> first("linear", x.node);
  const auto sizes = [&] {
    if constexpr (tensor_like<const W&>)
      return linear_shape(first, as_view(weight));
    else
      return linear_shape(first, packed_access::matrix_of(weight));
  }();
  return empty<T>(stream, made_of("linear", sizes, added), "linear");
}
/// The dtype of the result of `linear` without an epilogue.
template <class Node, class W>
using lazy_linear_type =
    std::conditional_t<!tensor_like<const W&> && kernels::is_byte<typename Node::element>, i32,
                       typename Node::element>;

/// What `linear` takes as a weight.
template <class W>
inline constexpr bool is_weight = tensor_like<const W&>;
template <class T, class D>
inline constexpr bool is_weight<packed_matrix<T, D>> = true;

}  // namespace detail

/// out = mat1 * mat2, mat1 an expression, which is evaluated while it is read: no tensor of its
/// size is made, except for up to 16 rows or, on the host, 16,384 elements.
///
/// mat1 [m, k], what its tensors broadcast to; mat2 [k, n], out [m, n], which shares no memory with
/// them. The expression's values are rounded to its dtype, as if they had been assigned to a tensor
/// first; its dtype is mat1's. On the host it is evaluated once for each block of some
/// thousands of columns. Otherwise as `mm`.
template <stream_like S, class Node, tensor_like B, tensor_like Out>
void mm(const S& stream, const expr<Node>& mat1, const B& mat2, Out&& out) {
  same_device<S, B, Out>();
  detail::mm_into(stream, detail::lazy_matrix<Node>("mm", mat1.node), as_view(mat2), as_view(out),
                  detail::no_bias_view{});
}
/// mat1 * mat2, mat1 an expression, in a new tensor of the expression's dtype.
template <stream_like S, class Node, tensor_like B>
[[nodiscard]] auto mm(const S& stream, const expr<Node>& mat1, const B& mat2) {
  const detail::lazy_matrix<Node> first("mm", mat1.node);
  auto out =
      empty<typename Node::element>(stream, detail::mm_shape("mm", first, as_view(mat2)), "mm");
  mm(stream, mat1, mat2, out);
  return out;
}
/// out = last, an expression over the product of an expression and mat2.
template <stream_like S, class Node, tensor_like B, tensor_like Out, class Last>
void mm(const S& stream, const expr<Node>& mat1, const B& mat2, Out&& out,
        const detail::epilogue_operand<Last>& last) {
  same_device<S, B, Out>();
  detail::mm_into(stream, detail::lazy_matrix<Node>("mm", mat1.node), as_view(mat2), as_view(out),
                  last);
}
/// That in a new tensor of the dtype of `last`.
template <stream_like S, class Node, tensor_like B, class Last>
[[nodiscard]] auto mm(const S& stream, const expr<Node>& mat1, const B& mat2,
                      const detail::epilogue_operand<Last>& last) {
  const detail::lazy_matrix<Node> first("mm", mat1.node);
  auto out = empty<typename Last::element>(
      stream, detail::made_of("mm", detail::mm_shape("mm", first, as_view(mat2)), last), "mm");
  mm(stream, mat1, mat2, out, last);
  return out;
}

/// out[b] = input[b] * mat2[b], input an expression [b, m, k] as in `mm`.
template <stream_like S, class Node, tensor_like B, tensor_like Out>
void bmm(const S& stream, const expr<Node>& input, const B& mat2, Out&& out) {
  same_device<S, B, Out>();
  detail::bmm_into(stream, detail::lazy_matrix<Node>("bmm", input.node), as_view(mat2),
                   as_view(out), detail::no_bias_view{});
}
/// The products of an expression and mat2 in a new tensor of the expression's dtype.
template <stream_like S, class Node, tensor_like B>
[[nodiscard]] auto bmm(const S& stream, const expr<Node>& input, const B& mat2) {
  const detail::lazy_matrix<Node> first("bmm", input.node);
  auto out =
      empty<typename Node::element>(stream, detail::bmm_shape("bmm", first, as_view(mat2)), "bmm");
  bmm(stream, input, mat2, out);
  return out;
}
/// out = last, an expression over the products of an expression and mat2.
template <stream_like S, class Node, tensor_like B, tensor_like Out, class Last>
void bmm(const S& stream, const expr<Node>& input, const B& mat2, Out&& out,
         const detail::epilogue_operand<Last>& last) {
  same_device<S, B, Out>();
  detail::bmm_into(stream, detail::lazy_matrix<Node>("bmm", input.node), as_view(mat2),
                   as_view(out), last);
}
/// That in a new tensor of the dtype of `last`.
template <stream_like S, class Node, tensor_like B, class Last>
[[nodiscard]] auto bmm(const S& stream, const expr<Node>& input, const B& mat2,
                       const detail::epilogue_operand<Last>& last) {
  const detail::lazy_matrix<Node> first("bmm", input.node);
  auto out = empty<typename Last::element>(
      stream, detail::made_of("bmm", detail::bmm_shape("bmm", first, as_view(mat2)), last), "bmm");
  bmm(stream, input, mat2, out, last);
  return out;
}

/// out = x * weight^T, x an expression [..., k] as in `mm`; the weight may be packed.
template <stream_like S, class Node, class W, tensor_like Out>
requires(detail::is_weight<W> &&
         !detail::read_only<Out>) auto linear(const S& stream, const expr<Node>& x, const W& weight,
                                              Out&& out) -> detail::nothing_t<Out> {
  same_device<S, Out>();
  detail::lazy_linear(stream, x, weight, as_view(out), detail::no_bias_view{});
  return detail::nothing<Out>;
}
/// out = x * weight^T + bias, x an expression, bias [n].
template <stream_like S, class Node, class W, tensor_like Bias, tensor_like Out>
requires detail::is_weight<W>
void linear(const S& stream, const expr<Node>& x, const W& weight, const Bias& bias, Out&& out) {
  same_device<S, Bias, Out>();
  detail::lazy_linear(stream, x, weight, as_view(out),
                      detail::column_bias<detail::view_of<const Bias&>>{as_view(bias)});
}
/// out = last, an expression over the product of an expression and the weight.
template <stream_like S, class Node, class W, tensor_like Out, class Last>
requires detail::is_weight<W>
void linear(const S& stream, const expr<Node>& x, const W& weight, Out&& out,
            const detail::epilogue_operand<Last>& last) {
  same_device<S, Out>();
  detail::lazy_linear(stream, x, weight, as_view(out), last);
}

/// x * weight^T, x an expression, in a new tensor of its dtype; of i32 for packed 8-bit integers.
template <stream_like S, class Node, class W>
requires detail::is_weight<W>
[[nodiscard]] auto linear(const S& stream, const expr<Node>& x, const W& weight) {
  auto out = detail::lazy_linear_output<detail::lazy_linear_type<Node, W>>(stream, x, weight);
  linear(stream, x, weight, out);
  return out;
}
/// x * weight^T + bias in a new tensor, x an expression; the bias is given as with_bias(b).
template <stream_like S, class Node, class W, class Bias>
requires detail::is_weight<W>
[[nodiscard]] auto linear(const S& stream, const expr<Node>& x, const W& weight,
                          const bias_operand<Bias>& bias) {
  auto out = detail::lazy_linear_output<detail::lazy_linear_type<Node, W>>(stream, x, weight);
  linear(stream, x, weight, bias.value, out);
  return out;
}
/// The same; a const or temporary tensor is the bias.
template <stream_like S, class Node, class W, detail::read_only Bias>
requires detail::is_weight<W>
[[nodiscard]] auto linear(const S& stream, const expr<Node>& x, const W& weight, Bias&& bias) {
  return linear(stream, x, weight, with_bias(bias));
}
/// The expression `last` over x * weight^T, x an expression, in a new tensor of the dtype of
/// `last`.
template <stream_like S, class Node, class W, class Last>
requires detail::is_weight<W>
[[nodiscard]] auto linear(const S& stream, const expr<Node>& x, const W& weight,
                          const detail::epilogue_operand<Last>& last) {
  auto out = detail::lazy_linear_output<typename Last::element>(stream, x, weight, last);
  linear(stream, x, weight, out, last);
  return out;
}

}  // namespace flaggems
