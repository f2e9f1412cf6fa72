// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What models of the RWKV family fuse: the keys of their time mixing, and a product with a vector
// that is mostly zeros, of their channel mixing.
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>

#include <tuple>
#include <type_traits>

namespace flaggems {

/// What rwkv_ka_fusion gives.
template <class T, class D>
struct rwkv_keys {
  tensor<T, D> k, kk, kka;
  [[nodiscard]] auto tie() { return std::tie(k, kk, kka); }
};

namespace detail {

/// The rows [T, H, N] of a tensor [T, C] or [C], C = H N.
template <class T, class D>
auto rows_of_heads(const tensor_view<T, D>& x, i64 heads, i64 size) {
  return (x.rank() == 1 ? x.unsqueeze(0) : x).unflatten(1, {heads, size});
}

template <class T, class D>
void check_keys(const char* op, const tensor_view<const T, D>& k, const tensor_view<const T, D>& kk,
                const tensor_view<const T, D>& a, const tensor_view<const T, D>& ka, i64 heads,
                i64 size) {
  i64 columns = 0;
  if (heads < 0 || size < 0 || !multiply(heads, size, columns) ||
      (k.rank() != 1 && k.rank() != 2) || k.size(-1) != columns) [[unlikely]]
    raise(errc::shape_mismatch, op,
          "k of rank 1 or 2 with " + text(heads) + " * " + text(size) + " columns",
          to_string(k.shape_of()));
  check_same_sizes(op, a, k);
  check_output_sizes(op, {columns}, kk);
  check_output_sizes(op, {columns}, ka);
}

template <class S, class T, class D>
void mix_keys(const S& stream, const tensor_view<const T, D>& k, const tensor_view<const T, D>& kk,
              const tensor_view<const T, D>& a, const tensor_view<const T, D>& ka, i64 heads,
              i64 size, const tensor_view<T, D>& o_k, const tensor_view<T, D>& o_kk,
              const tensor_view<T, D>& o_kka) {
  constexpr const char* op = "rwkv_ka_fusion";
  using C = arithmetic_t<T>;
  check_keys(op, k, kk, a, ka, heads, size);
  const tensor_view<T, D> outs[] = {o_k, o_kk, o_kka};
  for (int i = 0; i < 3; ++i) {
    check_same_shape(op, outs[i], k);
    check_writable(op, outs[i]);
    const placed_layout written(layout_of(outs[i]));
    for (const auto& in : {k, kk, a, ka}) check_no_overlap(op, written, layout_of(in));
    for (int j = 0; j < i; ++j) check_no_overlap(op, written, layout_of(outs[j]));
  }
  if (o_k.empty()) return;
  const auto rows = rows_of_heads(k, heads, size), gates = rows_of_heads(a, heads, size);
  const auto product = mul(cast<C>(rows), cast<C>(kk.unflatten(0, {heads, size})));
  auto squares = empty<C>(stream, {rows.size(0), heads, 1}, op);
  reduce_values<operators::sum, kernels::sum_of, C>(op, stream, square(product), squares.view(),
                                                    {2}, true, reduction_result::total);
  const auto direction = div(product, sqrt(add(squares, C(1e-12))));
  assign_node(op, stream, rows_of_heads(o_kk, heads, size), cast<T>(direction).node);
  assign_node(op, stream, rows_of_heads(o_kka, heads, size),
              cast<T>(mul(direction, cast<C>(gates))).node);
  const auto kept = add(mul(sub(cast<C>(a), C(1)), cast<C>(ka)), C(1));
  assign_node(op, stream, o_k, cast<T>(mul(cast<C>(k), kept)).node);
}

}  // namespace detail

/// The keys of RWKV's time mixing: o_k = k (1 + (a - 1) ka); o_kk = k kk, each head of which is
/// divided by its norm sqrt(the sum of squares + 1e-12); o_kka = o_kk a.
///
/// k, a and outputs [T, H N] or [H N]; kk, ka [H N]; one floating-point dtype, computed in f32 or
/// f64. Outputs share no memory with an input or each other. Raises shape_mismatch or overlap
/// before anything is written. flaggems::rwkv_ka_fusion(Tensor k, Tensor kk, Tensor a, Tensor ka,
/// int H, int N) -> (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like K, tensor_like KK, tensor_like A, tensor_like KA,
          tensor_like OutK, tensor_like OutKK, tensor_like OutKKA>
void rwkv_ka_fusion(const S& stream, const K& k, const KK& kk, const A& a, const KA& ka, OutK&& o_k,
                    OutKK&& o_kk, OutKKA&& o_kka, i64 heads, i64 size) {
  same_device<S, K, KK, A, KA, OutK, OutKK, OutKKA>();
  using T = value_t<const K&>;
  using View = tensor_view<const T, device_of<S>>;
  static_assert(detail::kind_of<T> == detail::kind::floating,
                "flaggems: rwkv_ka_fusion is of floating point");
  detail::mix_keys(stream, View(as_view(k)), View(as_view(kk)), View(as_view(a)), View(as_view(ka)),
                   heads, size, as_view(o_k), as_view(o_kk), as_view(o_kka));
}
template <stream_like S, tensor_like K, tensor_like KK, tensor_like A, tensor_like KA>
[[nodiscard]] auto rwkv_ka_fusion(const S& stream, const K& k, const KK& kk, const A& a,
                                  const KA& ka, i64 heads, i64 size) {
  using T = value_t<const K&>;
  const shape sizes = as_view(k).shape_of();
  constexpr const char* op = "rwkv_ka_fusion";
  rwkv_keys<T, device_of<S>> out{empty<T>(stream, sizes, op), empty<T>(stream, sizes, op),
                                 empty<T>(stream, sizes, op)};
  rwkv_ka_fusion(stream, k, kk, a, ka, out.k, out.kk, out.kka, heads, size);
  return out;
}

/// out[n] = the sum of k[i] v[i, n] over those i where k[i] is not 0: a product with a vector that
/// is mostly zeros, whose rows of v do not count even if they are infinite or NaN.
///
/// k [K], v [K, N], out [N], of one floating-point dtype; sums are in f32 or f64. out shares no
/// memory with an input. Raises shape_mismatch, invalid_argument or overlap before anything is
/// written. flaggems::rwkv_mm_sparsity(Tensor k, Tensor v) -> Tensor
template <stream_like S, tensor_like K, tensor_like V, tensor_like Out>
void rwkv_mm_sparsity(const S& stream, const K& k, const V& v, Out&& out) {
  constexpr const char* op = "rwkv_mm_sparsity";
  same_device<S, K, V, Out>();
  using T = value_t<const K&>;
  using C = detail::arithmetic_t<T>;
  static_assert(detail::kind_of<T> == detail::kind::floating &&
                    std::is_same_v<T, value_t<const V&>> && std::is_same_v<T, value_t<Out>>,
                "flaggems: rwkv_mm_sparsity is of one floating-point dtype");
  const auto a = as_view(k);
  const auto b = as_view(v);
  if (a.rank() != 1 || b.rank() != 2 || a.size(0) != b.size(0)) [[unlikely]]
    detail::raise_shapes(op, "a vector and a matrix with a row for each of its elements",
                         a.shape_of(), b.shape_of());
  const auto factors = cast<C>(a.unsqueeze(1));
  detail::reduce_values<operators::sum, kernels::sum_of, C>(
      op, stream, where(eq(factors, C(0)), C(0), mul(factors, cast<C>(b))), as_view(out), {0},
      false, detail::reduction_result::total);
}
template <stream_like S, tensor_like K, tensor_like V>
[[nodiscard]] auto rwkv_mm_sparsity(const S& stream, const K& k, const V& v) {
  const auto b = as_view(v);
  if (b.rank() != 2) [[unlikely]]
    detail::raise_sizes("rwkv_mm_sparsity", "a matrix", b.sizes());
  auto out = empty<value_t<const K&>>(stream, {b.size(1)}, "rwkv_mm_sparsity");
  rwkv_mm_sparsity(stream, k, v, out);
  return out;
}

}  // namespace flaggems
