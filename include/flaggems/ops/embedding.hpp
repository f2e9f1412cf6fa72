// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/index/embedding.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/index_select.hpp>
#include <flaggems/ops/sort.hpp>

namespace flaggems {
namespace operators {
struct embedding;
struct embedding_renorm;
}  // namespace operators

namespace detail {

template <class X>
void check_table(const char* op, const X& weight) {
  if (weight.rank() != 2) [[unlikely]]
    raise(errc::invalid_argument, op, "a weight of two dimensions",
          "sizes " + to_string(shape(weight.sizes())));
}

}  // namespace detail

/// out[i..., :] = weight[indices[i...], :].
///
/// Shapes: weight [V, D]; indices any sizes, i32 or i64; out [indices..., D] of weight's dtype.
/// `padding_idx`, `scale_grad_by_freq` and `sparse` are about gradients and change nothing here.
/// For a `max_norm` call embedding_renorm_ first. `out` shares no memory with an input. Indices
/// outside [0, V) raise out_of_range where the host can read them, and give zeros elsewhere. Raises
/// invalid_argument, shape_mismatch or overlap. All before anything is written.
/// aten::embedding.out(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool
/// scale_grad_by_freq=False, bool sparse=False, *, Tensor(a!) out)
template <stream_like S, tensor_like W, tensor_like Index, tensor_like Out>
void embedding(const S& stream, const W& weight, const Index& indices, Out&& out,
               [[maybe_unused]] i64 padding_idx = -1,
               [[maybe_unused]] bool scale_grad_by_freq = false,
               [[maybe_unused]] bool sparse = false) {
  same_device<S, W, Index, Out>();
  if constexpr (detail::check_lookup_types<const W&, Index, Out>()) {
    using T = value_t<const W&>;
    using D = device_of<S>;
    const tensor_view<const T, D> table(as_view(weight));
    const tensor_view<T, D> to(as_view(out));
    detail::check_table("embedding", table);
    detail::look_up<operators::embedding>(
        "embedding", stream, table, 0, tensor_view<const value_t<Index>, D>(as_view(indices)), to);
  }
}

/// embedding in a new tensor.
template <stream_like S, tensor_like W, tensor_like Index>
[[nodiscard]] auto embedding(const S& stream, const W& weight, const Index& indices,
                             i64 padding_idx = -1, bool scale_grad_by_freq = false,
                             bool sparse = false) {
  const auto table = as_view(weight);
  detail::check_table("embedding", table);
  auto out = empty<value_t<const W&>>(
      stream, detail::lookup_shape("embedding", table, 0, as_view(indices)), "embedding");
  embedding(stream, weight, indices, out, padding_idx, scale_grad_by_freq, sparse);
  return out;
}

namespace detail {

/// The indices, sorted; duplicates stay.
template <class S, class J, class D>
tensor<J, D> sorted_indices(const S& stream, const tensor_view<const J, D>& indices) {
  if (indices.is_contiguous()) return std::move(sort(stream, indices.reshape({-1})).values);
  const auto dense = contiguous(stream, indices);
  return std::move(sort(stream, dense.reshape({-1})).values);
}

template <class S, class T, class J, class D>
void renorm_rows(const S& stream, const tensor_view<T, D>& table,
                 const tensor_view<const J, D>& indices, f64 max_norm, f64 norm_type) {
  constexpr const char* op = "embedding_renorm_";
  check_table(op, table);
  if (!(norm_type > -std::numeric_limits<f64>::infinity())) [[unlikely]]
    raise(errc::invalid_argument, op, "a norm_type above -inf", text(norm_type));
  check_writable(op, layout_of(table));
  check_no_overlap(op, placed_layout(layout_of(table)), layout_of(indices));
  check_indices(op, stream, indices, table.size(0));
  if (table.empty() || indices.empty() ||
      replaced<operators::embedding_renorm>(op, stream, table, indices, max_norm, norm_type))
    return;
  const auto sorted = sorted_indices(stream, indices);
  launch_config config;
  config.op = op;
  config.tiles = sorted.numel();
  config.work = work_of(sorted.numel(), table.size(1), 2);
  const auto run = [&](const auto& norm) {
    using kernel = kernels::embedding_renorm<T, J, std::remove_cvref_t<decltype(norm)>>;
    const kernels::table_rows<T> rows{table.data(), table.size(0), table.size(1), table.stride(0),
                                      table.stride(1)};
    launch<kernel>(stream, config, rows, sorted.data(), sorted.numel(), norm,
                   static_cast<typename kernel::C>(max_norm));
  };
  using C = kernels::compute_type<T>;
  if (norm_type == 2)
    run(kernels::euclidean_norm{});
  else if (norm_type == std::numeric_limits<f64>::infinity())
    run(kernels::greatest_norm{});
  else
    run(kernels::power_norm<C>{static_cast<C>(norm_type)});
}

}  // namespace detail

/// Scales each row of weight that `indices` name and whose norm exceeds max_norm by max_norm /
/// (norm + 1e-7), once and in place, as PyTorch's embedding does before the lookup if it has a
/// `max_norm`.
///
/// Shapes: weight [V, D] of floating point, any strides; indices any sizes, i32 or i64. The norm is
/// (sum |w|^norm_type)^(1/norm_type), the largest |w| for infinity; 16-bit floats compute in f32. A
/// row with a NaN is left unchanged. Indices outside [0, V) raise out_of_range where the host can
/// read them, and are ignored elsewhere. Raises invalid_argument (rank, a norm_type of -inf or NaN)
/// or overlap. All before anything is written.
/// aten::embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type)
template <stream_like S, tensor_like W, tensor_like Index>
void embedding_renorm_(const S& stream, W&& weight, const Index& indices, f64 max_norm,
                       f64 norm_type = 2) {
  same_device<S, W, Index>();
  if constexpr (element_type_in<floating_types, 1, W>() &&
                detail::check_lookup_types<W, Index, W>()) {
    using D = device_of<S>;
    detail::renorm_rows(stream, tensor_view<value_t<W>, D>(as_view(weight)),
                        tensor_view<const value_t<Index>, D>(as_view(indices)), max_norm,
                        norm_type);
  }
}

}  // namespace flaggems
