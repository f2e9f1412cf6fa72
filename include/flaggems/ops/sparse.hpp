// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of sparse matrices, which are given by their parts.
#pragma once

#include <flaggems/kernel/family/gemm/sparse.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/plan/indices.hpp>
#include <flaggems/ops/plan/norm.hpp>

#include <type_traits>

namespace flaggems {
namespace operators {
struct sparse_sampled_addmm;
struct sparse_semi_structured_mm;
}  // namespace operators

/// out = beta * values + alpha * (mat1 * mat2) at the places of a sparse matrix in compressed rows,
/// which values and out are the entries of.
///
/// crow_indices [m + 1]: where rows begin, ascending from 0 to the number of entries; col_indices,
/// values, out [entries]; indices of i64; mat1 [m, k], mat2 [k, n] and values of one floating-point
/// dtype; any strides. 16-bit floats are computed in f32. out may be values; values are not read
/// for beta = 0. Columns outside raise out_of_range, and rows that do not begin so
/// invalid_argument, where the host can read them; elsewhere columns outside give beta * values.
/// Raises shape_mismatch or overlap. All before anything is written.
/// aten::sparse_sampled_addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar
/// alpha=1, Tensor(a!) out), where self's parts are the first three arguments here
template <stream_like S, tensor_like Starts, tensor_like Columns, tensor_like Values, tensor_like A,
          tensor_like B, tensor_like Out>
void sparse_sampled_addmm(const S& stream, const Starts& crow_indices, const Columns& col_indices,
                          const Values& values, const A& mat1, const B& mat2, Out&& out,
                          const gemm_scalars<value_t<const A&>>& scalars = {}) {
  constexpr const char* op = "sparse_sampled_addmm";
  using T = value_t<const A&>;
  using D = device_of<S>;
  using kernel = kernels::sampled_products<T>;
  same_device<S, Starts, Columns, Values, A, B, Out>();
  static_assert(kernels::is_floating<T>, "flaggems: sparse_sampled_addmm is of floating point");
  const tensor_view<const i64, D> starts(as_view(crow_indices)), columns(as_view(col_indices));
  const tensor_view<const T, D> before(as_view(values)), a(as_view(mat1)), b(as_view(mat2));
  const tensor_view<T, D> to(as_view(out));
  const shape sizes = detail::mm_shape(op, a, b);
  detail::check_matrix_rank(op, "places where rows begin", starts, 1);
  detail::check_size(op, "places where rows begin", sizes[0] + 1, starts.size(0));
  detail::check_matrix_rank(op, "columns of entries", columns, 1);
  detail::check_output_sizes(op, columns.shape_of(), before);
  detail::check_output_sizes(op, columns.shape_of(), to);
  detail::check_separate(op, to, starts, columns, a, b);
  detail::check_no_partial_overlap(op, detail::placed_layout(detail::layout_of(to)),
                                   detail::layout_of(before));
  detail::check_starts(op, "places where rows begin", stream, starts, columns.size(0), true);
  detail::check_indices(op, stream, columns, sizes[1]);
  const auto alpha = scalars.alpha.value(op), beta = scalars.beta.value(op);
  if (to.empty() || detail::replaced<operators::sparse_sampled_addmm>(
                        op, stream, starts, columns, before, a, b, to, alpha, beta))
    return;
  launch_config config;
  config.op = op;
  config.tiles = to.numel();
  config.work = work_of(to.numel(), a.size(1), 4);
  using C = typename kernel::C;
  launch<kernel>(stream, config, to.numel(), a.size(1),
                 kernels::compressed_rows{starts.data(), columns.data(), starts.stride(0),
                                          columns.stride(0), sizes[0], sizes[1]},
                 kernels::strided_matrix<T>{a.data(), a.stride(0), a.stride(1)},
                 kernels::strided_matrix<T>{b.data(), b.stride(0), b.stride(1)},
                 kernels::entry_values<T>{before.data(), to.data(), before.stride(0), to.stride(0)},
                 static_cast<C>(alpha), static_cast<C>(beta));
}
/// The same in a new tensor.
template <stream_like S, tensor_like Starts, tensor_like Columns, tensor_like Values, tensor_like A,
          tensor_like B>
[[nodiscard]] auto sparse_sampled_addmm(const S& stream, const Starts& crow_indices,
                                        const Columns& col_indices, const Values& values,
                                        const A& mat1, const B& mat2,
                                        const gemm_scalars<value_t<const A&>>& scalars = {}) {
  auto out = empty<value_t<const A&>>(stream, as_view(values).shape_of(), "sparse_sampled_addmm");
  sparse_sampled_addmm(stream, crow_indices, col_indices, values, mat1, mat2, out, scalars);
  return out;
}

namespace detail {

/// [m, n]; raises unless mat1 [m, k / 2] has the bits of its groups in meta.
template <class A, class M, class B>
shape semi_structured_shape(const A& a, const M& meta, const B& b) {
  constexpr const char* op = "sparse_semi_structured_mm";
  using kernel = kernels::expand_semi_structured<typename A::value_type>;
  check_matrix_rank(op, "a matrix", a, 2);
  check_matrix_rank(op, "a second matrix", b, 2);
  const i64 m = a.size(0), stored = a.size(1);
  constexpr i64 words = 4 * kernel::stored;  // columns that are stored with 16 bits
  if (m % 32 != 0 || stored % (2 * words) != 0) [[unlikely]]
    raise(errc::shape_mismatch, op,
          "rows in 32s, and columns that are stored in " + text(2 * words) + "s",
          to_string(a.shape_of()));
  if (!same_sizes(meta.sizes(), shape{m, stored / words})) [[unlikely]]
    raise(errc::shape_mismatch, op, "places of sizes " + to_string(shape{m, stored / words}),
          to_string(meta.shape_of()));
  check_size(op, "rows of the second matrix", 2 * stored, b.size(0));
  return {m, b.size(1)};
}

}  // namespace detail

/// out = mat1 * mat2 of a matrix mat1 that stores half of its elements.
///
/// mat1 [m, k / 2]: two of each four elements of a row, or of f32 one of each two; mat1_meta of
/// i16, [m, k / 16] or [m, k / 8], row-major: their places, as PyTorch's to_sparse_semi_structured
/// orders them for CUTLASS; mat2 [k, n] and out [m, n]; one dtype, f32, bf16 or f16; m in 32s, k in
/// 32s or 16s. The matrix is expanded, and multiplied by `mm`. Raises shape_mismatch,
/// invalid_argument or overlap before anything is written. aten::_sparse_semi_structured_mm(Tensor
/// mat1, Tensor mat1_meta, Tensor mat2, *, ScalarType? out_dtype=None)
template <stream_like S, tensor_like A, tensor_like M, tensor_like B, tensor_like Out>
void sparse_semi_structured_mm(const S& stream, const A& mat1, const M& mat1_meta, const B& mat2,
                               Out&& out) {
  constexpr const char* op = "sparse_semi_structured_mm";
  using T = value_t<const A&>;
  using D = device_of<S>;
  using kernel = kernels::expand_semi_structured<T>;
  same_device<S, A, M, B, Out>();
  static_assert(std::is_same_v<value_t<const M&>, i16>, "flaggems: places are of i16");
  static_assert(std::is_same_v<T, f32> || std::is_same_v<T, bf16> || std::is_same_v<T, f16>,
                "flaggems: sparse_semi_structured_mm takes f32, bf16 and f16");
  const tensor_view<const T, D> a(as_view(mat1)), b(as_view(mat2));
  const tensor_view<const i16, D> meta(as_view(mat1_meta));
  const tensor_view<T, D> to(as_view(out));
  detail::check_sizes(op, to, detail::semi_structured_shape(a, meta, b));
  if (!meta.is_contiguous()) [[unlikely]]
    raise(errc::invalid_argument, op, "places in row-major order", "other strides");
  detail::check_separate_output(op, to, a, meta, b);
  if (to.empty() ||
      detail::replaced<operators::sparse_semi_structured_mm>(op, stream, a, meta, b, to))
    return;
  const i64 groups = a.size(1) / kernel::stored;
  auto dense = empty<T>(stream, {a.size(0), 2 * a.size(1)}, op);
  if (!dense.empty()) {
    launch_config config;
    config.op = op;
    config.tiles = kernels::ceil_div(a.size(0) * groups, kernel::tile);
    config.work = work_of(dense.numel(), sizeof(T), 4);
    launch<kernel>(stream, config, a.size(0), groups,
                   kernels::strided_matrix<T>{a.data(), a.stride(0), a.stride(1)}, meta.data(),
                   dense.data());
  }
  mm(stream, dense, b, to);
}
template <stream_like S, tensor_like A, tensor_like M, tensor_like B>
[[nodiscard]] auto sparse_semi_structured_mm(const S& stream, const A& mat1, const M& mat1_meta,
                                             const B& mat2) {
  auto out = empty<value_t<const A&>>(
      stream, detail::semi_structured_shape(as_view(mat1), as_view(mat1_meta), as_view(mat2)),
      "sparse_semi_structured_mm");
  sparse_semi_structured_mm(stream, mat1, mat1_meta, mat2, out);
  return out;
}

}  // namespace flaggems
