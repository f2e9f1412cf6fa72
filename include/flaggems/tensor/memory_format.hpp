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

/// Dense strides in the order of dimensions that operands have: `stride(k, d)` is that of operand k
/// in dimension d, 0 where it does not say. Earlier operands decide first, of equal strides the
/// sizes; what none decides is row-major.
template <class Stride>
[[nodiscard]] constexpr shape dense_strides(int_list sizes, int operands, const Stride& stride) {
  const int rank = sizes.size();
  int order[max_rank] = {};  // from the innermost on
  const auto magnitude = [](i64 x) { return x < 0 ? -x : x; };
  // 1 where dimension a lies within b, -1 where b lies within a, 0 where it is left open.
  const auto compared = [&](int a, int b) {
    for (int k = 0; k < operands; ++k) {
      const i64 of_a = magnitude(stride(k, a)), of_b = magnitude(stride(k, b));
      if (of_a == 0 || of_b == 0) continue;
      if (of_a != of_b) return of_a < of_b ? 1 : -1;
      if (sizes[a] > sizes[b]) return -1;
    }
    return 0;
  };
  for (int i = 0; i < rank; ++i) {
    order[i] = rank - 1 - i;
    for (int at = i, k = i - 1; k >= 0; --k) {
      const int found = compared(order[k], order[at]);
      if (found > 0) break;
      if (found == 0) continue;
      const int moved = order[k];
      order[k] = order[at];
      order[at] = moved;
      at = k;
    }
  }
  shape dense = sizes;
  u64 step = 1;  // of sizes that no tensor has, any number
  for (int k = 0; k < rank; ++k) {
    dense[order[k]] = static_cast<i64>(step);
    if (sizes[order[k]] > 1) step *= static_cast<u64>(sizes[order[k]]);
  }
  return dense;
}
/// Dense strides in the order of the given ones (at::infer_dense_strides).
[[nodiscard]] constexpr shape dense_strides(int_list sizes, int_list strides) {
  return dense_strides(sizes, 1, [&](int, int d) { return strides[d]; });
}

/// Whether the elements are dense and distinct, in some order.
[[nodiscard]] FLAGGEMS_ONCE constexpr bool is_dense(int_list sizes, int_list strides) {
  const shape dense = dense_strides(sizes, strides);
  bool same = true, empty = false;
  for (int d = 0; d < sizes.size(); ++d) {
    same = same && (sizes[d] < 2 || strides[d] == dense[d]);
    empty = empty || sizes[d] == 0;
  }
  return same || empty;
}

/// The format that strides are of, as ATen tells it: channels_last or channels_last_3d where they
/// grow in its order, and contiguous_format for all others.
[[nodiscard]] constexpr memory_format suggested_format(int_list sizes, int_list strides) noexcept {
  const int rank = sizes.size();
  if ((rank != 4 && rank != 5) || strides[1] == 0) return memory_format::contiguous_format;
  i64 least = 0;
  for (int k = 0; k < rank; ++k) {
    const int d = channels_dim(k, rank);
    // The outermost dimension may not be as near as the channels: then all others have one element.
    if (sizes[d] == 0 || strides[d] < least || (d == 0 && least == strides[1]))
      return memory_format::contiguous_format;
    least = strides[d] * (sizes[d] > 1 ? sizes[d] : 1);
  }
  return rank == 4 ? memory_format::channels_last : memory_format::channels_last_3d;
}

/// The strides of a new tensor in a format; `strides` are the input's, for preserve_format. Raises
/// invalid_argument for impossible sizes, and if the rank does not have the format, or there is no
/// such format.
[[nodiscard]] constexpr shape strides_in(memory_format format, int_list sizes, int_list strides,
                                         const char* op) {
  if (format == memory_format::preserve_format)
    return is_dense(sizes, strides) ? shape(strides) : dense_strides(sizes, strides);
  static_cast<void>(checked_numel(sizes, op));
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
