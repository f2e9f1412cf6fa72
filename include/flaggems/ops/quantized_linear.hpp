// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Weights in GGUF's blocks (Q4_0 Q4_1 Q8_0): a linear layer, rows of an embedding, and the numbers
// themselves. Products are of dequantised weights with f32 activations, in f32, or with activations
// of 8 bits.
#pragma once

#include <flaggems/ops/dispatch/quantized_linear.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/plan/rows.hpp>

namespace flaggems {

namespace operators {
struct quantized_linear;
struct dequantize;
struct quantized_embedding;
}  // namespace operators

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // g++ 12 warns of scoped names, which shadow nothing
/// What quantized_linear multiplies the weights with.
enum class activation_format {
  f32,  ///< the activations as they are
  q8    ///< rounded to 8 bits: integers from -127 to 127 times a scale for each block of 32
};
#pragma GCC diagnostic pop

/// The options of quantized_linear.
struct quantized_linear_options {
  activation_format activations = activation_format::f32;
};

namespace detail {

template <class T>
inline constexpr bool quantized_activation =
    std::is_same_v<T, f32> || std::is_same_v<T, bf16> || std::is_same_v<T, f16>;

template <class Out, class Format, class D>
void check_outside_matrix(const char* op, const Out& out, const quantized_matrix<Format, D>& w) {
  if (overlap(out, tensor_view<const u8, D>(w.data(), {w.bytes()})) != overlap_kind::none)
      [[unlikely]]
    raise(errc::overlap, op, "an output that shares no memory with the weights",
          "an output that overlaps them");
}

template <class X, class W>
shape quantized_linear_shape(const X& x, const W& w) {
  if (x.rank() < 1) [[unlikely]]
    raise(errc::shape_mismatch, "quantized_linear", "x of rank 1 or more", "rank 0");
  check_size("quantized_linear",
             "as many columns of the weights as x has elements a row:", x.size(-1), w.columns());
  shape r = x.shape_of();
  r[r.rank() - 1] = w.rows();
  return r;
}

/// Does not compile unless quantized_linear takes these types; gives whether it does.
template <class X, class Out>
constexpr bool check_quantized_types() {
  constexpr bool right = quantized_activation<value_t<X>> && quantized_activation<value_t<Out>>;
  static_assert(right,
                "flaggems: quantized_linear takes activations and gives results of f32, bf16 or "
                "f16");
  return right && check_elements_written<element_t<Out>>();
}
/// Raises unless the operands are compatible.
template <class X, class W, class Out>
void check_quantized_linear(const X& x, const W& w, const Out& out) {
  check_sizes("quantized_linear", out, quantized_linear_shape(x, w));
  check_separate_output("quantized_linear", out, x);
  check_outside_matrix("quantized_linear", out, w);
}

template <class Format, class D, class S, class Index, class Out>
void quantized_rows_into(const char* op, const S& stream, const quantized_matrix<Format, D>& w,
                         const Index& index, row_plan& plan, const Out& out) {
  using O = typename Out::value_type;
  launch_config config;
  config.op = op;
  kernels::row_space space = plan.space();
  space.length = w.columns() / kernels::quantized_block;
  config.tiles = space.rows;
  config.work = work_of(out.numel(), 4);
  const auto to = plan.target(0, out);
  if constexpr (requires { index.strides(); }) {
    const auto rows = plan.arg(1, index);
    kernels::row_index<typename Index::value_type> at{rows.data, {}};
    for (int d = 0; d < space.rank; ++d) at.strides[d] = rows.strides[d];
    launch<kernels::quantized_rows<Format, decltype(at), O>>(stream, config, space, w.data(),
                                                             w.rows(), at, to);
  } else {
    launch<kernels::quantized_rows<Format, Index, O>>(stream, config, space, w.data(), w.rows(),
                                                      index, to);
  }
}

/// Raises out_of_range unless every index is a row: where the host can read them, and after the
/// work that computes them is done.
template <class S, class Index>
void check_row_indices(const char* op, const S& stream, const Index& indices, i64 rows) {
  if constexpr (host_reads<typename Index::device_type>) {
    ref(stream).synchronize();
    shape at = indices.shape_of();
    for (int d = 0; d < at.rank(); ++d) at[d] = 0;
    for (i64 left = indices.numel(); left > 0; --left) {
      i64 offset = 0;
      for (int d = 0; d < at.rank(); ++d) offset += at[d] * indices.stride(d);
      const auto index = static_cast<i64>(indices.data()[offset]);
      if (index < 0 || index >= rows) [[unlikely]]
        raise(errc::out_of_range, op, "indices in [0, " + detail::text(rows) + ")",
              detail::text(index));
      for (int d = at.rank() - 1; d >= 0 && ++at[d] == indices.size(d); --d) at[d] = 0;
    }
  }
}

}  // namespace detail

/// out = x * w^T with weights in blocks.
///
/// x [..., k] of f32 (or bf16, f16), any strides; w: n rows of k columns; out [..., n] of f32, bf16
/// or f16, any strides, sharing no memory with x or w. Each product is of the dequantised weight
/// with the activation, in f32, and sums are in f32. (On the host a single row of x is multiplied
/// by a block's integers, then by its scale; an infinite activation may give NaN there.) Raises
/// shape_mismatch or overlap before anything is written.
template <stream_like S, tensor_like X, class Format, class D, tensor_like Out>
void quantized_linear(const S& stream, const X& x, const quantized_matrix<Format, D>& w,
                      Out&& out) {
  same_device<S, X, quantized_matrix<Format, D>, Out>();
  if constexpr (detail::check_quantized_types<const X&, Out>()) {
    const auto from = as_view(x);
    const auto to = as_view(out);
    detail::check_quantized_linear(from, w, to);
    if (to.empty() ||
        detail::replaced<operators::quantized_linear>("quantized_linear", stream, from, w, to))
      return;
    using call = detail::quantized_linear_call<Format, D, std::remove_const_t<decltype(from)>,
                                               std::remove_const_t<decltype(to)>>;
    call().run(stream, from, w, to);
  }
}

/// The same with options. With activations of 8 bits, 32 consecutive elements of a row of x are a
/// block: each is rounded to a multiple of the block's largest magnitude / 127, an error of at most
/// 1/254 of that magnitude, and sums over a block are exact and faster. An infinity or NaN in x
/// makes its row of out NaN; a block whose magnitudes are all below 2^-120 counts as 0.
template <stream_like S, tensor_like X, class Format, class D, tensor_like Out>
void quantized_linear(const S& stream, const X& x, const quantized_matrix<Format, D>& w, Out&& out,
                      const quantized_linear_options& options) {
  if (options.activations == activation_format::f32)
    return quantized_linear(stream, x, w, std::forward<Out>(out));
  same_device<S, X, quantized_matrix<Format, D>, Out>();
  if constexpr (detail::check_quantized_types<const X&, Out>()) {
    const auto from = as_view(x);
    const auto to = as_view(out);
    detail::check_quantized_linear(from, w, to);
    if (to.empty() || detail::replaced<operators::quantized_linear>("quantized_linear", stream,
                                                                    from, w, to, options))
      return;
    detail::launch_rounded_linear(stream, from, w, to);
  }
}

/// x * w^T in a new tensor of x's dtype.
template <stream_like S, tensor_like X, class Format, class D>
[[nodiscard]] auto quantized_linear(const S& stream, const X& x,
                                    const quantized_matrix<Format, D>& w) {
  auto out = empty<value_t<const X&>>(stream, detail::quantized_linear_shape(as_view(x), w),
                                      "quantized_linear");
  quantized_linear(stream, x, w, out);
  return out;
}
/// The same with options.
template <stream_like S, tensor_like X, class Format, class D>
[[nodiscard]] auto quantized_linear(const S& stream, const X& x,
                                    const quantized_matrix<Format, D>& w,
                                    const quantized_linear_options& options) {
  auto out = empty<value_t<const X&>>(stream, detail::quantized_linear_shape(as_view(x), w),
                                      "quantized_linear");
  quantized_linear(stream, x, w, out, options);
  return out;
}

/// out = the dequantised w.  w: n rows of k columns; out [n, k] of any floating-point type, any
/// strides, sharing no memory with w. Raises shape_mismatch or overlap before anything is written.
template <stream_like S, class Format, class D, tensor_like Out>
void dequantize(const S& stream, const quantized_matrix<Format, D>& w, Out&& out) {
  same_device<S, quantized_matrix<Format, D>, Out>();
  const auto to = as_view(out);
  static_assert(kernels::is_floating<value_t<Out>>,
                "flaggems: dequantize gives floating-point numbers");
  detail::check_sizes("dequantize", to, shape{w.rows(), w.columns()});
  detail::check_separate_output("dequantize", to);
  detail::check_outside_matrix("dequantize", to, w);
  row_plan plan(to.sizes(), 1);
  plan.add(to);
  if (plan.empty() || detail::replaced<operators::dequantize>("dequantize", stream, w, to)) return;
  detail::quantized_rows_into("dequantize", stream, w, kernels::own_row{}, plan, to);
}
/// The dequantised w in a new tensor of the floating-point type T.
template <element T = f32, stream_like S, class Format, class D>
[[nodiscard]] auto dequantize(const S& stream, const quantized_matrix<Format, D>& w) {
  auto out = empty<T>(stream, {w.rows(), w.columns()}, "dequantize");
  dequantize(stream, w, out);
  return out;
}

namespace detail {
template <class Index>
shape quantized_embedding_shape(const Index& indices, i64 columns) {
  if (indices.rank() >= max_rank) [[unlikely]]
    raise(errc::shape_mismatch, "quantized_embedding",
          "indices of rank " + text(max_rank - 1) + " at most", to_string(indices.shape_of()));
  shape sizes = indices.shape_of();
  sizes.push_back(columns);
  return sizes;
}
}  // namespace detail

/// out[..., :] = row indices[...] of w, as numbers: an embedding.
///
/// w: n rows of k columns; indices [...] of i64 or i32; out [..., k] of any floating-point type,
/// sharing no memory with an input. Raises shape_mismatch, overlap, or, where the host can read the
/// indices, out_of_range before anything is written; elsewhere a row that does not exist is NaN.
template <stream_like S, class Format, class D, tensor_like Index, tensor_like Out>
void quantized_embedding(const S& stream, const quantized_matrix<Format, D>& w,
                         const Index& indices, Out&& out) {
  same_device<S, quantized_matrix<Format, D>, Index, Out>();
  constexpr const char* op = "quantized_embedding";
  const auto at = as_view(indices);
  const auto to = as_view(out);
  static_assert(
      std::is_same_v<value_t<const Index&>, i64> || std::is_same_v<value_t<const Index&>, i32>,
      "flaggems: quantized_embedding takes indices of i64 or i32");
  static_assert(kernels::is_floating<value_t<Out>>,
                "flaggems: quantized_embedding gives floating-point numbers");
  const shape sizes = detail::quantized_embedding_shape(at, w.columns());
  detail::check_sizes(op, to, sizes);
  detail::check_separate_output(op, to, at);
  detail::check_outside_matrix(op, to, w);
  detail::check_row_indices(op, stream, at, w.rows());
  row_plan plan(to.sizes(), to.rank() - 1);
  plan.add(to);
  const auto rows = at.unsqueeze(-1).expand(sizes);
  plan.add(rows);
  if (plan.empty() || detail::replaced<operators::quantized_embedding>(op, stream, w, at, to))
    return;
  detail::quantized_rows_into(op, stream, w, rows, plan, to);
}
/// The rows in a new tensor of the floating-point type T.
template <element T = f32, stream_like S, class Format, class D, tensor_like Index>
[[nodiscard]] auto quantized_embedding(const S& stream, const quantized_matrix<Format, D>& w,
                                       const Index& indices) {
  constexpr const char* op = "quantized_embedding";
  auto out = empty<T>(stream, detail::quantized_embedding_shape(as_view(indices), w.columns()), op);
  quantized_embedding(stream, w, indices, out);
  return out;
}

}  // namespace flaggems
