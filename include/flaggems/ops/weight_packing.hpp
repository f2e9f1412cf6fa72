// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Weights of 4 and 8 bits with scales of groups: packed, multiplied, and looked up.
#pragma once

#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/bitwise.hpp>
#include <flaggems/ops/gather.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/plan/norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/tensor/optional.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace flaggems {
namespace operators {
struct weight_int4pack_mm_with_scales_and_zeros;
struct gather_block_quantized;
}  // namespace operators

namespace detail {

/// [n, k / 2] of weights [n, k].
template <class X>
shape int4_shape(const X& weights) {
  constexpr const char* op = "convert_weight_to_int4pack";
  if (weights.rank() != 2 || weights.size(1) % 2 != 0) [[unlikely]]
    raise(errc::shape_mismatch, op, "weights [n, k] of an even k", to_string(weights.shape_of()));
  return {weights.size(0), weights.size(1) / 2};
}

}  // namespace detail

/// out = weights of 4 bits in pairs: column 2 j in the lower bits of byte j, column 2 j + 1 in the
/// upper ones.
///
/// self [n, k] of i32, whose lowest 4 bits count, k even; out [n, k / 2] of u8; any strides. The
/// order is the same on every device, so innerKTiles, which says how ATen's CUDA kernel orders
/// bytes, only has to be 2, 4 or 8. Raises shape_mismatch, invalid_argument or overlap before
/// anything is written. aten::_convert_weight_to_int4pack(Tensor self, int innerKTiles)
template <stream_like S, tensor_like X, tensor_like Out>
void convert_weight_to_int4pack(const S& stream, const X& self, Out&& out, i64 inner_k_tiles) {
  constexpr const char* op = "convert_weight_to_int4pack";
  same_device<S, X, Out>();
  static_assert(std::is_same_v<value_t<const X&>, i32> && std::is_same_v<value_t<Out>, u8>,
                "flaggems: weights of i32 are packed into u8");
  if (inner_k_tiles != 2 && inner_k_tiles != 4 && inner_k_tiles != 8) [[unlikely]]
    raise(errc::invalid_argument, op, "innerKTiles of 2, 4 or 8", detail::text(inner_k_tiles));
  const auto x = as_view(self);
  const auto to = as_view(out);
  detail::check_output_sizes(op, detail::int4_shape(x), to);
  detail::check_separate(op, to, x);
  const i64 k = x.size(1);
  const auto bits = [&](i64 first) { return bitwise_and(x.slice(1, first, k, 2), 15); };
  if (!to.empty())
    assign(stream, to, cast<u8>(bitwise_or(bits(0), bitwise_left_shift(bits(1), 4))), op);
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto convert_weight_to_int4pack(const S& stream, const X& self, i64 inner_k_tiles) {
  auto out = empty<u8>(stream, detail::int4_shape(as_view(self)), "convert_weight_to_int4pack");
  convert_weight_to_int4pack(stream, self, out, inner_k_tiles);
  return out;
}

namespace detail {

/// [m, n] of activations [m, k] and packed weights [n, k / 2]; raises unless scales and zeros are
/// of groups.
template <class A, class W, class Scale, class Zero>
shape int4_mm_shape(const A& a, const W& w, i64 group, const Scale& scale, const Zero& zeros) {
  constexpr const char* op = "weight_int4pack_mm_with_scales_and_zeros";
  check_matrix_rank(op, "a matrix", a, 2);
  check_matrix_rank(op, "packed weights", w, 2);
  check_size(op, "packed columns of the weights, doubled", a.size(1), 2 * w.size(1));
  if (group < 2 || group % 2 != 0 || a.size(1) % group != 0) [[unlikely]]
    raise(errc::invalid_argument, op, "an even size of groups that divides k", text(group));
  const shape of_groups{a.size(1) / group, w.size(0)};
  for (const shape& got : {scale.shape_of(), zeros.shape_of()})
    if (!same_sizes(got, of_groups)) [[unlikely]]
      raise(errc::shape_mismatch, op, "scales and zeros of sizes " + to_string(of_groups),
            to_string(got));
  return {a.size(0), w.size(0)};
}

}  // namespace detail

/// out = self * w^T of weights w[j, q] = (packed[j, q] - qZeros[q / g, j]) * qScale[q / g, j],
/// which are rounded to self's dtype; summed in f32.
///
/// self [m, k] and out [m, n] of f32, bf16 or f16; mat2 [n, k / 2] of u8, as
/// convert_weight_to_int4pack makes it; qScale, qZeros [k / g, n] of any real dtype, where g,
/// qGroupSize, is even and divides k. Raises invalid_argument, shape_mismatch or overlap before
/// anything is written. aten::_weight_int4pack_mm_with_scales_and_zeros(Tensor self, Tensor mat2,
/// int qGroupSize, Tensor qScale, Tensor qZeros)
template <stream_like S, tensor_like A, tensor_like B, tensor_like Scale, tensor_like Zero,
          tensor_like Out>
void weight_int4pack_mm_with_scales_and_zeros(const S& stream, const A& self, const B& mat2,
                                              i64 q_group_size, const Scale& q_scale,
                                              const Zero& q_zeros, Out&& out) {
  constexpr const char* op = "weight_int4pack_mm_with_scales_and_zeros";
  using T = value_t<const A&>;
  same_device<S, A, B, Scale, Zero, Out>();
  static_assert(std::is_same_v<value_t<const B&>, u8> && std::is_same_v<value_t<Out>, T>,
                "flaggems: packed weights are of u8, the output of the first matrix's dtype");
  if constexpr (element_type_in<type_list<f32, bf16, f16>, 1, A>()) {
    const auto a = as_view(self);
    const auto w = as_view(mat2);
    const auto scale = as_view(q_scale);
    const auto zeros = as_view(q_zeros);
    const auto to = as_view(out);
    detail::check_output_sizes(op, detail::int4_mm_shape(a, w, q_group_size, scale, zeros), to);
    detail::check_separate(op, to, a, w, scale, zeros);
    if (to.empty() || detail::replaced<operators::weight_int4pack_mm_with_scales_and_zeros>(
                          op, stream, a, w, q_group_size, scale, zeros, to))
      return;
    const i64 n = to.size(1), k = a.size(1), groups = k / q_group_size;
    auto weights = empty<T>(stream, {n, k}, op);
    const auto in_groups = [&](const auto& v) {
      return v.unflatten(1, {groups, q_group_size / 2});
    };
    const auto packed = in_groups(w);
    const auto by = cast<f32>(scale.t().unsqueeze(-1)), zero = cast<f32>(zeros.t().unsqueeze(-1));
    const auto unpack = [&](i64 first, const auto& bits) {
      assign(stream, in_groups(weights.view().slice(1, first, k, 2)),
             cast<T>(mul(sub(cast<f32>(bits), zero), by)), op);
    };
    if (k > 0) {
      unpack(0, bitwise_and(packed, 15));
      unpack(1, bitwise_right_shift(packed, 4));
    }
    mm(stream, a, weights.t(), to);
  }
}
template <stream_like S, tensor_like A, tensor_like B, tensor_like Scale, tensor_like Zero>
[[nodiscard]] auto weight_int4pack_mm_with_scales_and_zeros(const S& stream, const A& self,
                                                            const B& mat2, i64 q_group_size,
                                                            const Scale& q_scale,
                                                            const Zero& q_zeros) {
  auto out =
      empty<value_t<const A&>>(stream,
                               detail::int4_mm_shape(as_view(self), as_view(mat2), q_group_size,
                                                     as_view(q_scale), as_view(q_zeros)),
                               "weight_int4pack_mm_with_scales_and_zeros");
  weight_int4pack_mm_with_scales_and_zeros(stream, self, mat2, q_group_size, q_scale, q_zeros, out);
  return out;
}

/// The bytes of weights of 4 bits, then their scales and zeros, then a bias, as f32 in a row, in a
/// new tensor: the portable form of ATen on the CPU.
///
/// weights of u8 and any sizes, two numbers in a byte; scales_zeros and bias of floating point;
/// bias [out_features] or std::nullopt. block_size is in_features, or a multiple of 32 that divides
/// it. Raises invalid_argument or shape_mismatch. aten::_dyn_quant_pack_4bit_weight(Tensor weights,
/// Tensor scales_zeros, Tensor? bias, int block_size, int in_features, int out_features)
template <stream_like S, tensor_like W, tensor_like Scale, optional_tensor Bias>
[[nodiscard]] auto dyn_quant_pack_4bit_weight(const S& stream, const W& weights,
                                              const Scale& scales_zeros, const Bias& bias,
                                              i64 block_size, i64 in_features, i64 out_features) {
  constexpr const char* op = "dyn_quant_pack_4bit_weight";
  using D = device_of<S>;
  using T = typename detail::optional_element<Bias, f32>::type;
  same_device<S, W, Scale, Bias>();
  static_assert(std::is_same_v<value_t<const W&>, u8>, "flaggems: packed weights are of u8");
  if (block_size != in_features &&
      (block_size < 1 || block_size % 32 != 0 || in_features % block_size != 0)) [[unlikely]]
    raise(errc::invalid_argument, op,
          "blocks of " + detail::text(in_features) + ", or of a multiple of 32 that divides it",
          detail::text(block_size));
  const auto w = as_view(weights);
  const auto scales = as_view(scales_zeros);
  const auto added = detail::optional_view<T, D>(bias);
  if (added && (added->rank() != 1 || added->size(0) != out_features)) [[unlikely]]
    raise(errc::shape_mismatch, op, "a bias of sizes " + to_string(shape{out_features}),
          to_string(added->shape_of()));
  i64 n = w.numel() + scales.numel(), start = 0;
  if (added) n += added->numel();
  auto out = empty<f32>(stream, {n}, op);
  const auto put = [&](const auto& x) {
    const i64 count = x.numel();
    if (count > 0)
      assign(stream, out.view().narrow(0, start, count).view(x.shape_of()), cast<f32>(x), op);
    start += count;
  };
  put(w);
  put(scales);
  if (added) put(*added);
  return out;
}

namespace detail {

/// to = x * the scales of blocks of x's elements, both vectors.
template <class S, class X, class Scale, class To>
void dequantize_vector(const char* op, const S& stream, const X& x, const Scale& scales,
                       const To& to, i64 block) {
  const i64 n = x.numel(), blocks = n / block, whole = blocks * block;
  const auto part = [&](i64 first, i64 count, i64 first_block, i64 of) {
    if (count == 0) return;
    const auto cut = [&](const auto& v) {
      return v.narrow(0, first, count).unflatten(0, {of, count / of}).view();
    };
    assign(stream, cut(to), mul(cast<f32>(cut(x)), scales.narrow(0, first_block, of).unsqueeze(-1)),
           op);
  };
  part(0, whole, 0, blocks);
  part(whole, n - whole, blocks, 1);
}

}  // namespace detail

/// out = elements of 8 bits times the scales of their blocks: all of them, or those at `indices`,
/// in row-major order of the data.
///
/// quantized_data of i8, any sizes; scales [ceil(elements / block_size)] of f32; indices of i64,
/// any sizes, or std::nullopt; out [elements] or [indices] of f32. Indices outside raise
/// out_of_range where the host can read them and give 0 elsewhere. Raises invalid_argument,
/// shape_mismatch or overlap before anything is written. flag_gems::gather_block_quantized(Tensor
/// quantized_data, Tensor scales, Tensor? indices=None, int block_size=128)
template <stream_like S, tensor_like X, tensor_like Scale, optional_tensor Index, tensor_like Out>
void gather_block_quantized(const S& stream, const X& quantized_data, const Scale& scales,
                            const Index& indices, Out&& out, i64 block_size = 128) {
  constexpr const char* op = "gather_block_quantized";
  using D = device_of<S>;
  same_device<S, X, Scale, Index, Out>();
  static_assert(std::is_same_v<value_t<const X&>, i8> &&
                    std::is_same_v<value_t<const Scale&>, f32> && std::is_same_v<value_t<Out>, f32>,
                "flaggems: gather_block_quantized takes i8 with scales of f32 and gives f32");
  const tensor_view<const i8, D> x(as_view(quantized_data));
  const tensor_view<const f32, D> by(as_view(scales));
  const tensor_view<f32, D> to(as_view(out));
  if (block_size < 1) [[unlikely]]
    raise(errc::invalid_argument, op, "blocks of at least one element", detail::text(block_size));
  detail::check_output_sizes(op, {kernels::ceil_div(x.numel(), block_size)}, by);
  const auto wanted = detail::optional_view<i64, D>(indices);
  detail::check_output_sizes(op, {wanted ? wanted->numel() : x.numel()}, to);
  detail::check_separate(op, to, x, by, wanted);
  if (wanted) detail::check_indices(op, stream, *wanted, x.numel());
  if (to.empty() || detail::replaced<operators::gather_block_quantized>(op, stream, x, by, wanted,
                                                                        to, block_size))
    return;
  if (!wanted) {
    const auto row = detail::copied<i8>(op, stream, x);
    return detail::dequantize_vector(op, stream, std::as_const(row).view().view({x.numel()}), by,
                                     to, block_size);
  }
  // (Take counts negative ones from the end.)
  auto at = empty<i64>(stream, wanted->shape_of(), op);
  assign(stream, at, where(lt(*wanted, i64{0}), x.numel(), *wanted), op);
  const auto flat = std::as_const(at).view().view({wanted->numel()});
  auto blocks = empty<i64>(stream, {flat.numel()}, op);
  assign(stream, blocks, floor_divide(flat, block_size), op);
  assign(stream, to, mul(cast<f32>(take(stream, x, flat)), take(stream, by, blocks)), op);
}
/// The same in a new tensor.
template <stream_like S, tensor_like X, tensor_like Scale, optional_tensor Index = std::nullopt_t>
[[nodiscard]] auto gather_block_quantized(const S& stream, const X& quantized_data,
                                          const Scale& scales, const Index& indices = std::nullopt,
                                          i64 block_size = 128) {
  const auto wanted = detail::optional_view<i64, device_of<S>>(indices);
  auto out = empty<f32>(stream, {wanted ? wanted->numel() : as_view(quantized_data).numel()},
                        "gather_block_quantized");
  gather_block_quantized(stream, quantized_data, scales, indices, out, block_size);
  return out;
}

}  // namespace flaggems
