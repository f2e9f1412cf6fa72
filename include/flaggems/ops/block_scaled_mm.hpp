// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of 8-bit numbers with scales of blocks of any size, in batches, or of whatever kind the
// scales' sizes say.
#pragma once

#include <flaggems/ops/gemm_epilogue.hpp>
#include <flaggems/ops/scaled_mm.hpp>

#include <optional>
#include <string_view>
#include <type_traits>

namespace flaggems {
namespace operators {
struct w8a8_block_fp8_bmm;
struct cutlass_scaled_mm;
}  // namespace operators

namespace detail {

/// The sizes of blocks that a list [lines, terms] gives.
inline scaled_block_sizes block_sizes_of(const char* op, int_list list) {
  if (list.size() != 2) [[unlikely]]
    raise_sizes(op, "a block's two sizes", list);
  return {list[0], list[1]};
}

/// Matrices with scales of blocks: a batch, or one.
template <class D>
struct block_scaled {
  tensor_view<const f8e4m3, D> matrix;
  tensor_view<const f32, D> scales;

  [[nodiscard]] block_scaled of(i64 batch) const {
    return {matrix.select(0, batch), scales.select(0, batch)};
  }
};

/// [b, m, n] of batches x [b, m, k] and y [b, n, k]; raises for other sizes.
template <class D>
shape block_bmm_shape(const char* op, const block_scaled<D>& x, const block_scaled<D>& y,
                      const scaled_block_sizes& blocks) {
  check_matrix_rank(op, "a batch of matrices", x.matrix, 3);
  check_matrix_rank(op, "a second batch of matrices", y.matrix, 3);
  check_matrix_rank(op, "scales of a batch", x.scales, 3);
  check_matrix_rank(op, "scales of a second batch", y.scales, 3);
  const i64 batch = x.matrix.size(0);
  for (const i64 other : {y.matrix.size(0), x.scales.size(0), y.scales.size(0)})
    check_size(op, "matrices of a batch", batch, other);
  shape sizes{batch, x.matrix.size(1), y.matrix.size(1)};
  if (batch > 0) {
    const auto a = x.of(0), b = y.of(0);
    static_cast<void>(scaled_blocks_shape(op, a.matrix, a.scales, b.matrix, b.scales, blocks));
  }
  return sizes;
}

template <class S, class D, class T>
void block_bmm_into(const char* op, const S& stream, const block_scaled<D>& x,
                    const block_scaled<D>& y, const tensor_view<T, D>& to,
                    const scaled_block_sizes& blocks) {
  static_assert(is_scaled_result<T> && !is_f8<T>, "flaggems: the results are f32, bf16 or f16");
  check_sizes(op, to, block_bmm_shape(op, x, y, blocks));
  check_separate_output(op, to, x.matrix, y.matrix, x.scales, y.scales);
  if (to.empty() || replaced<operators::w8a8_block_fp8_bmm>(op, stream, x.matrix, x.scales,
                                                            y.matrix, y.scales, to, blocks))
    return;
  const auto by_warp_groups = [&](i64 k) {
    const auto a = x.of(k), b = y.of(k);
    return multiply_by_warp_groups(op, stream, a.matrix, a.scales, b.matrix, b.scales,
                                   to.select(0, k), blocks);
  };
  i64 done = 0;  // the first one decides
  while (done < to.size(0) && by_warp_groups(done)) ++done;
  if (done == to.size(0)) return;
  if constexpr (has_matrix_unit_type<S, f8e4m3>)
    if (multiply_blocks_on_units(op, stream, x.matrix, x.scales, y.matrix, y.scales, to, blocks))
      return;
  auto left = empty<f32>(stream, x.matrix.shape_of(), op);
  auto right = empty<f32>(stream, y.matrix.shape_of(), op);
  dequantize_blocks(op, stream, x.matrix, x.scales, left.view(), {1, blocks.terms});
  dequantize_blocks(op, stream, y.matrix, y.scales, right.view(), blocks);
  product(op, stream, tensor_view<const f32, D>(left), tensor_view<const f32, D>(right), to,
          no_bias_view{}, 1, 0);
}

}  // namespace detail

/// out = A * B^T of f8e4m3 with scales of blocks: each block_size[1] terms of a line of A have one,
/// and each block_size[0] x block_size[1] elements of B, those at the end fewer; summed in f32.
///
/// A [..., k], As [..., ceil(k / block_size[1])], B [n, k], Bs [ceil(n / block_size[0]), ceil(k /
/// block_size[1])], out [..., n] of bf16, f16 or f32; scales of f32; any strides, A of up to 7
/// dimensions. Raises shape_mismatch, invalid_argument or overlap before anything is written.
/// flag_gems::w8a8_block_fp8_matmul(Tensor A, Tensor B, Tensor As, Tensor Bs, int[] block_size,
/// ScalarType output_dtype=bfloat16)
template <stream_like S, tensor_like A, tensor_like B, tensor_like ScaleA, tensor_like ScaleB,
          tensor_like Out>
void w8a8_block_fp8_matmul(const S& stream, const A& a, const B& b, const ScaleA& as,
                           const ScaleB& bs, Out&& out, int_list block_size) {
  constexpr const char* op = "w8a8_block_fp8_matmul";
  using D = device_of<S>;
  same_device<S, A, B, ScaleA, ScaleB, Out>();
  static_assert(detail::is_scaled_result<value_t<Out>> && !detail::is_f8<value_t<Out>>,
                "flaggems: the results are f32, bf16 or f16");
  const detail::block_scaled<D> x{as_view(a), as_view(as)}, y{as_view(b), as_view(bs)};
  const auto to = as_view(out);
  const auto blocks = detail::block_sizes_of(op, block_size);
  detail::check_sizes(
      op, to, detail::scaled_blocks_shape(op, x.matrix, x.scales, y.matrix, y.scales, blocks));
  detail::check_separate_output(op, to, x.matrix, y.matrix, x.scales, y.scales);
  if (!to.empty())
    detail::multiply_scaled_blocks(op, stream, x.matrix, x.scales, y.matrix, y.scales, to, blocks);
}
/// The same in a new tensor of T.
template <class T = bf16, stream_like S, tensor_like A, tensor_like B, tensor_like ScaleA,
          tensor_like ScaleB>
requires(!tensor_like<T>)
    [[nodiscard]] auto w8a8_block_fp8_matmul(const S& stream, const A& a, const B& b,
                                             const ScaleA& as, const ScaleB& bs,
                                             int_list block_size) {
  constexpr const char* op = "w8a8_block_fp8_matmul";
  auto out =
      empty<T>(stream,
               detail::scaled_blocks_shape(op, as_view(a), as_view(as), as_view(b), as_view(bs),
                                           detail::block_sizes_of(op, block_size)),
               op);
  w8a8_block_fp8_matmul(stream, a, b, as, bs, out, block_size);
  return out;
}

/// out[b] = x[b] * y[b]^T of f8e4m3 with scales of blocks, as w8a8_block_fp8_matmul.
///
/// x [b, m, k], y [b, n, k], xs [b, m, ceil(k / block_size[1])], ys [b, ceil(n / block_size[0]),
/// ceil(k / block_size[1])], out [b, m, n]. flag_gems::w8a8_block_fp8_bmm(Tensor x, Tensor y,
/// Tensor xs, Tensor ys, int[] block_size=[128, 128], Tensor(a!)? z=None, ScalarType
/// output_dtype=bfloat16)
template <stream_like S, tensor_like X, tensor_like Y, tensor_like ScaleX, tensor_like ScaleY,
          tensor_like Out>
void w8a8_block_fp8_bmm(const S& stream, const X& x, const Y& y, const ScaleX& xs, const ScaleY& ys,
                        Out&& out, int_list block_size = {128, 128}) {
  constexpr const char* op = "w8a8_block_fp8_bmm";
  using D = device_of<S>;
  same_device<S, X, Y, ScaleX, ScaleY, Out>();
  detail::block_bmm_into(op, stream, detail::block_scaled<D>{as_view(x), as_view(xs)},
                         detail::block_scaled<D>{as_view(y), as_view(ys)},
                         tensor_view<value_t<Out>, D>(as_view(out)),
                         detail::block_sizes_of(op, block_size));
}
/// The same in a new tensor of T.
template <class T = bf16, stream_like S, tensor_like X, tensor_like Y, tensor_like ScaleX,
          tensor_like ScaleY>
requires(!tensor_like<T>)
    [[nodiscard]] auto w8a8_block_fp8_bmm(const S& stream, const X& x, const Y& y, const ScaleX& xs,
                                          const ScaleY& ys, int_list block_size = {128, 128}) {
  constexpr const char* op = "w8a8_block_fp8_bmm";
  using D = device_of<S>;
  auto out = empty<T>(stream,
                      detail::block_bmm_shape(op, detail::block_scaled<D>{as_view(x), as_view(xs)},
                                              detail::block_scaled<D>{as_view(y), as_view(ys)},
                                              detail::block_sizes_of(op, block_size)),
                      op);
  w8a8_block_fp8_bmm(stream, x, y, xs, ys, out, block_size);
  return out;
}

/// "bhr,hdr->bhd" of f8e4m3 with scales of blocks: w8a8_block_fp8_bmm for each h.
///
/// x [b, h, r], xs [b, h, ceil(r / block_size[1])], y [h, d, r], ys [h, ceil(d / block_size[0]),
/// ceil(r / block_size[1])], out [b, h, d]. Raises not_supported for other equations, and as
/// w8a8_block_fp8_bmm. flag_gems::fp8_einsum(str equation, Tensor x, Tensor xs, Tensor y, Tensor
/// ys, int[] block_size=[128, 128], ScalarType output_dtype=bfloat16)
template <stream_like S, tensor_like X, tensor_like ScaleX, tensor_like Y, tensor_like ScaleY,
          tensor_like Out>
void fp8_einsum(const S& stream, std::string_view equation, const X& x, const ScaleX& xs,
                const Y& y, const ScaleY& ys, Out&& out, int_list block_size = {128, 128}) {
  constexpr const char* op = "fp8_einsum";
  using D = device_of<S>;
  same_device<S, X, ScaleX, Y, ScaleY, Out>();
  if (equation != "bhr,hdr->bhd") [[unlikely]]
    raise(errc::not_supported, op, "the equation bhr,hdr->bhd", equation);
  const detail::block_scaled<D> left{as_view(x), as_view(xs)}, right{as_view(y), as_view(ys)};
  const tensor_view<value_t<Out>, D> to(as_view(out));
  detail::check_matrix_rank(op, "x", left.matrix, 3);
  detail::check_matrix_rank(op, "xs", left.scales, 3);
  detail::check_matrix_rank(op, "out", to, 3);
  detail::block_bmm_into(
      op, stream, detail::block_scaled<D>{left.matrix.transpose(0, 1), left.scales.transpose(0, 1)},
      right, to.transpose(0, 1), detail::block_sizes_of(op, block_size));
}
/// The same in a new tensor of T.
template <class T = bf16, stream_like S, tensor_like X, tensor_like ScaleX, tensor_like Y,
          tensor_like ScaleY>
requires(!tensor_like<T>)
    [[nodiscard]] auto fp8_einsum(const S& stream, std::string_view equation, const X& x,
                                  const ScaleX& xs, const Y& y, const ScaleY& ys,
                                  int_list block_size = {128, 128}) {
  constexpr const char* op = "fp8_einsum";
  const auto v = as_view(x);
  const auto w = as_view(y);
  detail::check_matrix_rank(op, "x", v, 3);
  detail::check_matrix_rank(op, "y", w, 3);
  auto out = empty<T>(stream, shape{v.size(0), v.size(1), w.size(1)}, op);
  fp8_einsum(stream, equation, x, xs, y, ys, out, block_size);
  return out;
}

namespace detail {

/// Whether a scale is one number, or one for each of n lines along one of at most two dimensions.
template <class D>
bool is_scale_of_lines(const tensor_view<const f32, D>& scale, i64 n) {
  if (scale.numel() == 1) return true;
  return scale.rank() == 1 ? scale.size(0) == n
                           : scale.rank() == 2 && scale.numel() == n &&
                                 (scale.size(0) == n || scale.size(1) == n);
}
/// That as a vector.
template <class D>
tensor_view<const f32, D> lines_of_scale(const tensor_view<const f32, D>& scale, i64 n) {
  i64 stride = 0;
  for (int d = 0; d < scale.rank(); ++d)
    if (scale.size(d) != 1) stride = scale.stride(d);
  return {unchecked_t{}, scale.data(), shape{n}, {scale.numel() == 1 ? 0 : stride}};
}

}  // namespace detail

/// c = (a * b) * a_scale * b_scale + bias of 8-bit integers or floats, computed in f32 and rounded
/// once.
///
/// a [m, k], b [k, n], both of i8 or both of f8e4m3, any strides; c [m, n] of bf16, f16 or f32;
/// bias [n] of c's dtype or f32. a_scale of one element or m, b_scale of one element or n, of f32;
/// or else scales of blocks of 128: a_scale [m, ceil(k / 128)], b_scale [ceil(k / 128), ceil(n /
/// 128)], without a bias. Sums of i8 are exact modulo 2^32. Raises shape_mismatch, invalid_argument
/// or overlap before anything is written. flag_gems::cutlass_scaled_mm(Tensor(a!) c, Tensor a,
/// Tensor b, Tensor a_scale, Tensor b_scale, Tensor? bias=None)
template <stream_like S, tensor_like Out, tensor_like A, tensor_like B, tensor_like ScaleA,
          tensor_like ScaleB, optional_tensor Bias = std::nullopt_t>
void cutlass_scaled_mm(const S& stream, Out&& c, const A& a, const B& b, const ScaleA& a_scale,
                       const ScaleB& b_scale, const Bias& bias = std::nullopt) {
  constexpr const char* op = "cutlass_scaled_mm";
  using D = device_of<S>;
  using E = value_t<const A&>;
  using O = value_t<Out>;
  using T = typename detail::optional_element<Bias, f32>::type;
  same_device<S, A, B, ScaleA, ScaleB, Bias, Out>();
  static_assert(
      std::is_same_v<E, value_t<const B&>> && (std::is_same_v<E, i8> || std::is_same_v<E, f8e4m3>),
      "flaggems: cutlass_scaled_mm multiplies two matrices of i8 or of f8e4m3");
  static_assert(detail::is_scaled_result<O> && !detail::is_f8<O>,
                "flaggems: cutlass_scaled_mm gives f32, bf16 or f16");
  const tensor_view<const E, D> x(as_view(a)), y(as_view(b));
  const tensor_view<const f32, D> by_x(as_view(a_scale)), by_y(as_view(b_scale));
  const tensor_view<O, D> to(as_view(c));
  const auto added = detail::optional_view<T, D>(bias);
  const shape sizes = detail::mm_shape(op, x, y);
  const i64 m = sizes[0], n = sizes[1];
  detail::check_sizes(op, to, sizes);
  detail::check_separate_output(op, to, x, y, by_x, by_y);
  if (added) {
    detail::check_matrix_rank(op, "a bias", *added, 1);
    detail::check_size(op, "elements of the bias", n, added->size(0));
    detail::check_separate_output(op, to, *added);
  }
  if (!detail::is_scale_of_lines(by_x, m) || !detail::is_scale_of_lines(by_y, n)) {
    detail::check_matrix_rank(op, "scales of blocks", by_x, 2);
    detail::check_matrix_rank(op, "scales of blocks", by_y, 2);
    static_cast<void>(detail::scaled_blocks_shape(op, x, by_x, y.t(), by_y.t(), {}));
    if (added) [[unlikely]]
      raise(errc::invalid_argument, op, "no bias beside scales of blocks", "one");
    if (to.empty() ||
        detail::replaced<operators::cutlass_scaled_mm>(op, stream, to, x, y, by_x, by_y, added))
      return;
    return detail::multiply_scaled_blocks(op, stream, x, by_x, tensor_view<const E, D>(y.t()),
                                          tensor_view<const f32, D>(by_y.t()), to, {});
  }
  if (to.empty() ||
      detail::replaced<operators::cutlass_scaled_mm>(op, stream, to, x, y, by_x, by_y, added))
    return;
  const auto rows = detail::lines_of_scale(by_x, m).unsqueeze(-1);
  const auto columns = detail::lines_of_scale(by_y, n).unsqueeze(0);
  if constexpr (std::is_same_v<E, f8e4m3>) {
    const auto one = [](const auto& all, const auto& scale) {
      return scale.numel() == 1 ? all.narrow(0, 0, 1).narrow(1, 0, 1) : all;
    };
    scaled_mm(stream, x, y, one(rows, by_x), one(columns, by_y), added, std::nullopt, to);
  } else {
    const auto scaled = mul(mul(flaggems::product, rows), columns);
    if (added)
      mm(stream, x, y, to, epilogue(cast<O>(add(scaled, cast<f32>(*added)))));
    else
      mm(stream, x, y, to, epilogue(cast<O>(scaled)));
  }
}

}  // namespace flaggems
