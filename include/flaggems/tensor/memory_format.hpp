// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory order of a tensor's elements, by ATen's names.
#pragma once

#include <flaggems/tensor/layout.hpp>

#include <string_view>

namespace flaggems {

/// The memory order of a tensor's elements, which are dense.
enum class memory_format {
  contiguous_format,  ///< row-major
  preserve_format,    ///< as in the input: its strides, or their order if they have gaps
  channels_last,      ///< [n, c, h, w] in the order n, h, w, c
  channels_last_3d    ///< [n, c, d, h, w] in the order n, d, h, w, c
};

/// The name of `format` as spelled in `memory_format`.
[[nodiscard]] constexpr std::string_view to_string(memory_format format) noexcept {
  switch (format) {
    case memory_format::contiguous_format: return "contiguous_format";
    case memory_format::preserve_format: return "preserve_format";
    case memory_format::channels_last: return "channels_last";
    case memory_format::channels_last_3d: return "channels_last_3d";
  }
  return "unknown";
}

namespace detail {

/// The rank that a channels-last format requires; 0 for others.
[[nodiscard]] constexpr int channels_rank(memory_format format) noexcept {
  return format == memory_format::channels_last      ? 4
         : format == memory_format::channels_last_3d ? 5
                                                     : 0;
}

/// The k-th dimension, from the innermost on, of a channels-last tensor: 1, then the others from
/// last to first.
[[nodiscard]] constexpr int channels_dim(int k, int rank) noexcept {
  return k == 0 ? 1 : k == rank - 1 ? 0 : rank - k;
}

/// Whether the elements are dense in that format; preserve_format means contiguous_format here.
[[nodiscard]] constexpr bool is_contiguous(int_list sizes, int_list strides,
                                           memory_format format) noexcept {
  const int rank = channels_rank(format);
  if (rank == 0) return is_contiguous(sizes, strides);
  if (sizes.size() != rank) return false;
  i64 expected = 1;
  bool in_order = true;
  for (int k = 0; k < rank; ++k) {
    const int d = channels_dim(k, rank);
    if (sizes[d] == 1) continue;
    in_order = in_order && strides[d] == expected;
    expected *= sizes[d];
  }
  return in_order;
}

/// Dense strides in the order of the given ones (at::infer_dense_strides): for zero or equal
/// strides that sizes do not decide, dimensions keep their order.
[[nodiscard]] constexpr shape dense_strides(int_list sizes, int_list strides) {
  const int rank = sizes.size();
  int order[max_rank] = {};  // from the innermost on
  const auto magnitude = [](i64 x) { return x < 0 ? -x : x; };
  for (int i = 0; i < rank; ++i) {
    order[i] = rank - 1 - i;
    for (int at = i, k = i - 1; k >= 0; --k) {
      const i64 inner = magnitude(strides[order[k]]), outer = magnitude(strides[order[at]]);
      if (inner == 0 || outer == 0) continue;
      if (inner < outer) break;
      if (inner == outer && sizes[order[k]] <= sizes[order[at]]) continue;
      const int moved = order[k];
      order[k] = order[at];
      order[at] = moved;
      at = k;
    }
  }
  shape dense = sizes;
  i64 step = 1;
  for (int k = 0; k < rank; ++k) {
    dense[order[k]] = step;
    if (sizes[order[k]] > 1) step *= sizes[order[k]];
  }
  return dense;
}

/// Whether the elements are dense and distinct, in some order.
[[nodiscard]] constexpr bool is_dense(int_list sizes, int_list strides) {
  const shape dense = dense_strides(sizes, strides);
  bool same = true, empty = false;
  for (int d = 0; d < sizes.size(); ++d) {
    same = same && (sizes[d] < 2 || strides[d] == dense[d]);
    empty = empty || sizes[d] == 0;
  }
  return same || empty;
}

/// The strides of a new tensor in a format; `strides` are the input's, for preserve_format. Raises
/// invalid_argument if the rank does not have the format, or there is no such format.
[[nodiscard]] constexpr shape strides_in(memory_format format, int_list sizes, int_list strides,
                                         const char* op) {
  if (format == memory_format::preserve_format)
    return is_dense(sizes, strides) ? shape(strides) : dense_strides(sizes, strides);
  const int rank = channels_rank(format);
  if (rank == 0) {
    if (format != memory_format::contiguous_format) [[unlikely]]
      raise(errc::invalid_argument, op, "a memory format", text(static_cast<i64>(format)));
    return contiguous_strides(sizes);
  }
  if (sizes.size() != rank) [[unlikely]]
    raise(errc::invalid_argument, op,
          "sizes of rank " + text(rank) + " for " + text(to_string(format)), to_string(sizes));
  shape r = sizes;
  i64 step = 1;
  for (int k = 0; k < rank; ++k) {
    r[channels_dim(k, rank)] = step;
    step *= sizes[channels_dim(k, rank)];
  }
  return r;
}

}  // namespace detail
}  // namespace flaggems
