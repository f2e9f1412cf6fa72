// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of quantised matrices: of 8-bit integers, and of 8-bit floats with scales of
// tensors, rows and columns, or blocks.
#pragma once

#include <flaggems/kernel/family/gemm/scaled.hpp>
#include <flaggems/ops/dispatch/gemm/grouped.hpp>
#include <flaggems/ops/expr.hpp>
#include <flaggems/ops/forms.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/tensor/optional.hpp>

#include <optional>
#include <type_traits>

namespace flaggems {

namespace operators {
struct fp8_matmul;
}  // namespace operators

/// out = self * mat2 of 8-bit integers, exact modulo 2^32.
///
/// self [m, k], mat2 [k, n] of i8 or u8, out [m, n] of i32, any strides. Otherwise as `mm`.
/// aten::_int_mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out)
template <stream_like S, tensor_like A, tensor_like B, tensor_like Out>
void int_mm(const S& stream, const A& self, const B& mat2, Out&& out) {
  same_device<S, A, B, Out>();
  static_assert(kernels::is_byte<value_t<const A&>> && kernels::is_byte<value_t<const B&>> &&
                    std::is_same_v<value_t<Out>, i32>,
                "flaggems: int_mm takes i8 and u8 and gives i32");
  const auto a = as_view(self);
  const auto b = as_view(mat2);
  const auto to = as_view(out);
  detail::check_sizes("int_mm", to, detail::mm_shape("int_mm", a, b));
  detail::check_separate_output("int_mm", to, a, b);
  detail::gemm("int_mm", stream, a, b.t(), to, detail::no_bias_view{}, 1, 0);
}
/// self * mat2 in a new tensor of i32.
template <stream_like S, tensor_like A, tensor_like B>
[[nodiscard]] auto int_mm(const S& stream, const A& self, const B& mat2) {
  auto out = empty<i32>(stream, detail::mm_shape("int_mm", as_view(self), as_view(mat2)), "int_mm");
  int_mm(stream, self, mat2, out);
  return out;
}

namespace detail {

/// What scaled_mm makes of sums, in the place of a bias, for results of 8 bits or more; views of
/// the result's sizes, of which those of absent tensors have no data.
template <class T, bool OfBytes, class D>
struct scaled_view {
  static constexpr int leaves = 3;
  static constexpr bool replaces = true;
  static constexpr bool reads_equal_columns = true;
  tensor_view<const f32, D> a, b;
  tensor_view<const T, D> bias;
  const f32* result;
  f32 largest;
  bool fast_sums;

  template <class F>
  void for_each_leaf(F&& f) const {
    f(a);
    f(b);
    f(bias);
  }
  template <class>
  auto build(const added_space& space) const {
    kernels::scaled_sums<T, OfBytes> r{};
    r.result = result;
    r.largest = largest;
    const auto put = [&](const auto& x, int k, auto& rows, auto& columns) {
      const added_strides& of = space.added[k];  // exchanged with the product's
      if (of.row != 0)
        rows = {x.data(), of.row};
      else
        columns = {x.data(), of.column};
    };
    const auto scale = [&](const auto& x, int k, kernels::global_ptr<const f32>& one) {
      if (space.added[k].row == 0 && space.added[k].column == 0)
        one = x.data();
      else
        put(x, k, r.rows, r.columns);
    };
    scale(a, 0, r.one);
    scale(b, 1, r.other);
    put(bias, 2, r.row_bias, r.column_bias);
    return r;
  }
};

/// A scale as a view of the result's sizes: one number, or one a row (a column, of the second
/// matrix).
template <class D>
tensor_view<const f32, D> scale_of(const char* what, const tensor_view<const f32, D>& scale, i64 m,
                                   i64 n, bool of_rows) {
  const shape sizes{m, n};
  if (scale.numel() == 1) return {unchecked_t{}, scale.data(), sizes, {0, 0}};
  const shape expected = of_rows ? shape{m, 1} : shape{1, n};
  if (!same_sizes(scale.sizes(), expected)) [[unlikely]]
    raise(errc::shape_mismatch, "scaled_mm",
          text(what) + " of one element or of sizes " + to_string(expected),
          to_string(scale.shape_of()));
  if (of_rows) return {unchecked_t{}, scale.data(), sizes, {scale.stride(0), 0}};
  return {unchecked_t{}, scale.data(), sizes, {0, scale.stride(1)}};
}

/// The largest number that an 8-bit float holds, where results stop; 0 for other types.
template <class T>
inline constexpr f32 largest_of_8_bits = 0;
template <>
inline constexpr f32 largest_of_8_bits<f8e4m3> = 448;  // limit
template <>
inline constexpr f32 largest_of_8_bits<f8e5m2> = 57344;  // limit

template <class T>
inline constexpr bool is_scaled_result =
    std::is_same_v<T, f32> || std::is_same_v<T, bf16> || std::is_same_v<T, f16> || is_f8<T>;

}  // namespace detail

/// out = (self * mat2) * scale_a * scale_b + bias of 8-bit floats, computed in f32 and rounded
/// once; times scale_result where out is of 8 bits, too.
///
/// self [m, k], mat2 [k, n] of f8e4m3 or f8e5m2, any strides; scale_a of one element or [m, 1],
/// scale_b of one element or [1, n], scale_result of one element, of f32; bias [n] of f32, bf16 or
/// f16; out [m, n] of one of these or 8 bits. Products are summed in f32; with use_fast_accum in
/// the matrix unit, which may keep 14 bits of a sum. (ATen's scale_result multiplies on GPUs, as
/// here.) Results of 8 bits stop at their largest number. Raises shape_mismatch or overlap before
/// anything is written. aten::_scaled_mm.out(Tensor self, Tensor mat2, Tensor scale_a, Tensor
/// scale_b, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool
/// use_fast_accum=False, *, Tensor(a!) out)
template <stream_like S, tensor_like A, tensor_like B, tensor_like ScaleA, tensor_like ScaleB,
          optional_tensor Bias, optional_tensor Result, tensor_like Out>
void scaled_mm(const S& stream, const A& self, const B& mat2, const ScaleA& scale_a,
               const ScaleB& scale_b, const Bias& bias, const Result& scale_result, Out&& out,
               bool use_fast_accum = false) {
  constexpr const char* op = "scaled_mm";
  using D = device_of<S>;
  using T = typename detail::optional_element<Bias, f32>::type;
  using O = value_t<Out>;
  same_device<S, A, B, ScaleA, ScaleB, Bias, Result, Out>();
  static_assert(detail::is_f8<value_t<const A&>> && detail::is_f8<value_t<const B&>>,
                "flaggems: scaled_mm multiplies f8e4m3 and f8e5m2");
  static_assert(
      detail::is_scaled_result<O> && detail::is_scaled_result<T> && !detail::is_f8<T>,
      "flaggems: scaled_mm gives f32, bf16, f16 or 8-bit floats, and adds the first three");
  const auto a = as_view(self);
  const auto b = as_view(mat2);
  const auto to = as_view(out);
  const shape sizes = detail::mm_shape(op, a, b);
  const i64 m = sizes[0], n = sizes[1];
  detail::check_sizes(op, to, sizes);
  const tensor_view<const f32, D> by_a(as_view(scale_a)), by_b(as_view(scale_b));
  detail::scaled_view<T, detail::is_f8<O>, D> last{detail::scale_of("scale_a", by_a, m, n, true),
                                                   detail::scale_of("scale_b", by_b, m, n, false),
                                                   {detail::unchecked_t{}, nullptr, sizes, {0, 0}},
                                                   nullptr,
                                                   detail::largest_of_8_bits<O>,
                                                   use_fast_accum};
  detail::check_separate_output(op, to, a, b, by_a, by_b);
  if (const auto added = detail::optional_view<T, D>(bias)) {
    detail::check_matrix_rank(op, "a bias", *added, 1);
    detail::check_size(op, "elements of the bias", n, added->size(0));
    detail::check_separate_output(op, to, *added);
    last.bias = {detail::unchecked_t{}, added->data(), sizes, {0, added->stride(0)}};
  }
  if (const auto factor = detail::optional_view<f32, D>(scale_result)) {
    detail::check_size(op, "elements of scale_result", 1, factor->numel());
    detail::check_separate_output(op, to, *factor);
    if (detail::is_f8<O>) last.result = factor->data();
  }
  if (to.empty()) return;
  if constexpr (has_implementation<operators::gemm, D>)
    detail::replaced<operators::gemm>(op, stream);  // it takes no scales: the report says so
  detail::run_gemm(op, stream, a, b.t(), to, last, 1.0F, nullptr);
}
/// The same in a new tensor of dtype O, self's if none is given.
template <class O = void, stream_like S, tensor_like A, tensor_like B, tensor_like ScaleA,
          tensor_like ScaleB, optional_tensor Bias = std::nullopt_t,
          optional_tensor Result = std::nullopt_t>
[[nodiscard]] auto scaled_mm(const S& stream, const A& self, const B& mat2, const ScaleA& scale_a,
                             const ScaleB& scale_b, const Bias& bias = std::nullopt,
                             const Result& scale_result = std::nullopt,
                             bool use_fast_accum = false) {
  using E = std::conditional_t<std::is_void_v<O>, value_t<const A&>, O>;
  auto out =
      empty<E>(stream, detail::mm_shape("scaled_mm", as_view(self), as_view(mat2)), "scaled_mm");
  scaled_mm(stream, self, mat2, scale_a, scale_b, bias, scale_result, out, use_fast_accum);
  return out;
}

namespace detail {

/// How many lines of the second matrix, and how many terms of both, share a scale.
struct scaled_block_sizes {
  i64 lines = 128, terms = 128;  // limit
};

template <class D>
struct block_sums : no_bias_view {
  kernels::sums_of_blocks sums;
};

/// Whether all dimensions but the last are rows with one stride.
template <class View>
bool has_joined_rows(const View& v) {
  for (int d = v.rank() - 2; d > 0; --d)
    if (v.stride(d - 1) != v.stride(d) * v.size(d)) return false;
  return true;
}

/// A tensor [.., columns] whose rows have one stride as a matrix of so many rows.
template <class View>
auto as_joined_rows(const View& v, i64 rows) {
  const i64 row = v.rank() > 1 ? v.stride(-2) : v.size(-1);
  return tensor_view<typename View::element_type, typename View::device_type>(
      unchecked_t{}, v.data(), shape{rows, v.size(-1)}, {row, v.stride(-1)});
}

/// to = x * its scales, each of so many lines and terms (x and scales of equal rank, to new).
template <class S, class X, class Scales, class To>
void dequantize_blocks(const char* op, const S& stream, const X& x, const Scales& scales,
                       const To& to, const scaled_block_sizes& of_blocks) {
  const auto [lines, terms] = of_blocks;
  const auto part = [&, height = lines, by = terms](i64 row, i64 rows, i64 row_blocks, i64 column,
                                                    i64 columns, i64 column_blocks) {
    if (rows == 0 || columns == 0 || to.empty()) return;
    const auto cut = [&](const auto& v) {
      return v.narrow(-2, row, rows)
          .narrow(-1, column, columns)
          .unflatten(-1, {column_blocks, columns / column_blocks});
    };
    const auto blocks = [&](const auto& v) {
      auto r = cut(v);
      return r.unflatten(-3, {row_blocks, rows / row_blocks}).view();
    };
    const auto of = scales.narrow(-2, row / height, row_blocks)
                        .narrow(-1, column / by, column_blocks)
                        .unsqueeze(-1)
                        .unsqueeze(-3);
    assign_node(op, stream, blocks(to), mul(cast<f32>(blocks(x)), of).node);
  };
  const i64 rows = x.size(-2), columns = x.size(-1);
  const i64 whole_rows = rows / lines * lines, whole = columns / terms * terms;
  const auto in_rows = [&, by = terms](i64 row, i64 count, i64 blocks) {
    part(row, count, blocks, 0, whole, whole / by);
    part(row, count, blocks, whole, columns - whole, 1);
  };
  in_rows(0, whole_rows, whole_rows / lines);
  in_rows(whole_rows, rows - whole_rows, 1);
}

/// to = x * w^T of a matrix w and 8-bit floats with scales of blocks in the matrix units of warp
/// groups; false if these do not have it.
template <class S, class E, class D, class To>
bool multiply_by_warp_groups([[maybe_unused]] const char* op, [[maybe_unused]] const S& stream,
                             [[maybe_unused]] const tensor_view<const E, D>& x,
                             [[maybe_unused]] const tensor_view<const f32, D>& by_x,
                             [[maybe_unused]] const tensor_view<const E, D>& w,
                             [[maybe_unused]] const tensor_view<const f32, D>& by_w,
                             [[maybe_unused]] const To& to,
                             [[maybe_unused]] const scaled_block_sizes& blocks) {
  if constexpr (std::is_same_v<E, f8e4m3> && multiplies_by_warp_groups<S, f8e4m3, f8e4m3>) {
    constexpr scaled_block_sizes own;
    if (blocks.lines == own.lines && blocks.terms == own.terms && x.size(-1) > 0 &&
        has_joined_rows(x) && has_joined_rows(by_x) && has_joined_rows(to)) {
      const i64 m = to.numel() / w.size(0);
      const auto rows = [&](const auto& v) { return as_joined_rows(v, m); };
      const auto scales = rows(by_x);
      block_sums<D> added;
      added.sums = {by_x.data(),      by_w.data(),    scales.stride(0),
                    scales.stride(1), by_w.stride(0), by_w.stride(1)};
      return multiply_blocks(op, stream, rows(x), w, rows(to), added);
    }
  }
  return false;
}

/// to [b, m, n] = x [b, m, k] * w [b, n, k]^T of 8-bit numbers with scales of blocks on matrix
/// units that warps have; false, having written nothing, if these do not take it.
template <class S, class E, class D, class To>
bool multiply_blocks_on_units(const char* op, const S& stream, const tensor_view<const E, D>& x,
                              const tensor_view<const f32, D>& by_x,
                              const tensor_view<const E, D>& w,
                              const tensor_view<const f32, D>& by_w, const To& to,
                              const scaled_block_sizes& blocks) {
  constexpr i64 most = i64{1} << 30;
  const i64 m = to.size(1), n = to.size(2), k = x.size(2);
  if (m > most || n > most || k > most) return false;
  using call_type = grouped_call<typename To::value_type>;
  const auto operand = [&](const auto& v, const auto& scales, i64 lines) {
    auto r = call_type::lines_of(v.data(), coding_of(dtype_of<E>), v.stride(0), v.stride(1),
                                 v.stride(2));
    r.lines_each = static_cast<i32>(kernels::min_of(lines, n));
    r.terms_each = static_cast<i32>(kernels::min_of(blocks.terms, most));
    r.scales = {static_cast<const u8*>(static_cast<const void*>(scales.data())),
                kernels::coding::f32, scales.stride(0), scales.stride(1), scales.stride(2)};
    r.scales_vary = blocks.terms < k;
    return r;
  };
  call_type call;
  call.a = operand(x, by_x, 1);
  call.b = operand(w, by_w, blocks.lines);
  call.space.rows = {kernels::grouping::terms_to_ends, nullptr, nullptr, to.size(0), m, 1};
  call.space.placed = {nullptr, m, 1};
  call.space.groups = to.size(0);
  call.space.n = n;
  call.space.k = k;
  call.out.data = to.data();
  call.out.group = to.stride(0);
  call.out.row = to.stride(1);
  call.out.column = to.stride(2);
  return multiply_groups_on_units(op, stream, call);
}

/// to = x * w^T of a matrix w, with scales of blocks.
template <class S, class E, class D, class To>
void multiply_scaled_blocks(const char* op, const S& stream, const tensor_view<const E, D>& x,
                            const tensor_view<const f32, D>& by_x, const tensor_view<const E, D>& w,
                            const tensor_view<const f32, D>& by_w, const To& to,
                            const scaled_block_sizes& blocks) {
  if (multiply_by_warp_groups(op, stream, x, by_x, w, by_w, to, blocks)) return;
  if constexpr (has_matrix_unit_type<S, E>)
    if (has_joined_rows(x) && has_joined_rows(by_x) && has_joined_rows(to)) {
      const auto one = [&](const auto& v) {
        return as_joined_rows(v, to.numel() / w.size(0)).unsqueeze(0);
      };
      if (multiply_blocks_on_units(op, stream, one(x), one(by_x), w.unsqueeze(0), by_w.unsqueeze(0),
                                   one(to), blocks))
        return;
    }
  auto first = empty<f32>(stream, x.shape_of(), op), second = empty<f32>(stream, w.shape_of(), op);
  const auto matrix = [](const auto& v) { return v.rank() == 1 ? v.unsqueeze(0) : v.view(); };
  dequantize_blocks(op, stream, matrix(x), matrix(by_x), matrix(first.view()), {1, blocks.terms});
  dequantize_blocks(op, stream, w, by_w, second.view(), blocks);
  const tensor_view<const f32, D> left(first.view()), right(second.view());
  multiply(op, stream, linear_rows(left), linear_weight(left, right), linear_rows(to),
           to.shape_of(), no_bias_view{}, nullptr);
}

/// Raises unless x is [..., k], w [n, k], and their scales are of blocks; the sizes of the product.
template <class X, class ScalesX, class W, class ScalesW>
shape scaled_blocks_shape(const char* op, const X& x, const ScalesX& by_x, const W& w,
                          const ScalesW& by_w, const scaled_block_sizes& blocks) {
  if (x.rank() == 0 || x.rank() == max_rank) [[unlikely]]
    raise(errc::invalid_argument, op, "a first matrix of 1 to 7 dimensions", text(x.rank()));
  if (blocks.lines < 1 || blocks.terms < 1) [[unlikely]]
    raise(errc::invalid_argument, op, "blocks of at least one element",
          text(blocks.lines) + " and " + text(blocks.terms));
  check_matrix_rank(op, "a second matrix", w, 2);
  const i64 n = w.size(0), k = x.size(-1), parts = kernels::ceil_div(k, blocks.terms);
  check_size(op, "columns of the second matrix", k, w.size(1));
  shape sizes = x.shape_of();
  sizes[x.rank() - 1] = parts;
  if (!same_sizes(by_x.sizes(), sizes)) [[unlikely]]
    raise(errc::shape_mismatch, op, "scales of the first matrix of sizes " + to_string(sizes),
          to_string(by_x.shape_of()));
  const shape of_w{kernels::ceil_div(n, blocks.lines), parts};
  if (!same_sizes(by_w.sizes(), of_w)) [[unlikely]]
    raise(errc::shape_mismatch, op, "scales of the second matrix of sizes " + to_string(of_w),
          to_string(by_w.shape_of()));
  sizes[x.rank() - 1] = n;
  return sizes;
}

}  // namespace detail

/// out = a * b^T of f8e4m3 with scales of blocks: each 128 terms of a line of a have one, and each
/// 128 x 128 elements of b, those at the end fewer; summed in f32.
///
/// a [..., k], a_s [..., ceil(k / 128)], b [n, k], b_s [ceil(n / 128), ceil(k / 128)], out [..., n]
/// of bf16, f16 or f32; scales of f32; any strides, a of up to 7 dimensions. Raises shape_mismatch,
/// invalid_argument or overlap before anything is written.
/// flag_gems::fp8_matmul(Tensor a, Tensor a_s, Tensor b, Tensor b_s)
template <stream_like S, tensor_like A, tensor_like ScaleA, tensor_like B, tensor_like ScaleB,
          tensor_like Out>
void fp8_matmul(const S& stream, const A& a, const ScaleA& a_s, const B& b, const ScaleB& b_s,
                Out&& out) {
  constexpr const char* op = "fp8_matmul";
  using D = device_of<S>;
  using O = value_t<Out>;
  same_device<S, A, ScaleA, B, ScaleB, Out>();
  static_assert(
      std::is_same_v<value_t<const A&>, f8e4m3> && std::is_same_v<value_t<const B&>, f8e4m3>,
      "flaggems: fp8_matmul multiplies f8e4m3");
  static_assert(detail::is_scaled_result<O> && !detail::is_f8<O>,
                "flaggems: fp8_matmul gives f32, bf16 or f16");
  const tensor_view<const f8e4m3, D> x(as_view(a)), w(as_view(b));
  const tensor_view<const f32, D> by_x(as_view(a_s)), by_w(as_view(b_s));
  const auto to = as_view(out);
  detail::check_sizes(op, to, detail::scaled_blocks_shape(op, x, by_x, w, by_w, {}));
  detail::check_separate_output(op, to, x, w, by_x, by_w);
  if (to.empty() || detail::replaced<operators::fp8_matmul>(op, stream, x, by_x, w, by_w, to))
    return;
  detail::multiply_scaled_blocks(op, stream, x, by_x, w, by_w, to, {});
}
/// The same in a new tensor of bf16.
template <stream_like S, tensor_like A, tensor_like ScaleA, tensor_like B, tensor_like ScaleB>
[[nodiscard]] auto fp8_matmul(const S& stream, const A& a, const ScaleA& a_s, const B& b,
                              const ScaleB& b_s) {
  shape sizes = as_view(a).shape_of();
  detail::check_matrix_rank("fp8_matmul", "a second matrix", as_view(b), 2);
  if (sizes.rank() == 0) [[unlikely]]
    raise(errc::invalid_argument, "fp8_matmul", "a of 1 to 7 dimensions", "0");
  sizes[sizes.rank() - 1] = as_view(b).size(0);
  auto out = empty<bf16>(stream, sizes, "fp8_matmul");
  fp8_matmul(stream, a, a_s, b, b_s, out);
  return out;
}
FLAGGEMS_ALSO(fp8_matmul_direct, fp8_matmul)

}  // namespace flaggems
