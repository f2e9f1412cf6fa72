// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/index_select.hpp>

namespace flaggems {
namespace operators {
struct embedding;
}

namespace detail {

template <class X>
void check_table(const X& weight) {
  if (weight.rank() != 2) [[unlikely]]
    raise(errc::invalid_argument, "embedding", "a weight of two dimensions",
          "sizes " + to_string(shape(weight.sizes())));
}

}  // namespace detail

/// out[i..., :] = weight[indices[i...], :].
///
/// Shapes: weight [V, D]; indices any sizes, i32 or i64; out [indices..., D] of weight's dtype.
/// `padding_idx`, `scale_grad_by_freq` and `sparse` are about gradients and change nothing here.
/// `out` shares no memory with an input. Raises out_of_range, where the host can read them, for
/// indices outside [0, V); other devices give zeros for those. Raises invalid_argument,
/// shape_mismatch or overlap. All before anything is written. aten::embedding.out(Tensor weight,
/// Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False, *,
/// Tensor(a!) out)
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
    detail::check_table(table);
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
  detail::check_table(table);
  auto out = empty<value_t<const W&>>(
      stream, detail::lookup_shape("embedding", table, 0, as_view(indices)), "embedding");
  embedding(stream, weight, indices, out, padding_idx, scale_grad_by_freq, sparse);
  return out;
}

}  // namespace flaggems
