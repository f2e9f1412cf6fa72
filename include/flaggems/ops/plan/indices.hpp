// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks of indices, where the host can read them.
#pragma once

#include <flaggems/device/stream.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/ops/plan/checks.hpp>
#include <flaggems/ops/plan/iteration.hpp>

#include <optional>

namespace flaggems {

/// What sort, topk, and other operators that say where their values were, return.
template <class T, class Device>
struct values_and_indices {
  tensor<T, Device> values;
  tensor<i64, Device> indices;
};

namespace detail {

/// Raises out_of_range unless all indices are in [0, size), from -size on if they `wrap`, or
/// `ignored`. Where the host cannot read them nothing is checked here: the kernels read nothing
/// outside their operands.
template <class S, class J, class D>
void check_indices(const char* op, const S& stream, const tensor_view<J, D>& index, i64 size,
                   std::optional<i64> ignored = {}, bool wrap = false) {
  if constexpr (host_reads<D>) {
    if (index.empty()) return;
    if constexpr (!is_synchronous<D>) ref(stream).synchronize();
    iteration it(index.sizes());
    it.add(index.sizes(), index.strides());
    it.collapse();
    const kernels::tiling space = it.tiles(it.numel());
    i64 strides[max_rank];
    it.copy_strides(0, strides);
    for (i64 tile = 0; tile < space.tiles; ++tile) {
      const kernels::coordinates c = space.locate(tile);
      const J* row = index.data() + c.offset(strides);
      const i64 step = strides[c.rank], n = space.length(c);
      bool wrong = false;  // without a branch for each
      for (i64 i = 0; i < n; ++i)
        wrong |= static_cast<u64>(static_cast<i64>(row[i * step])) >= static_cast<u64>(size);
      if (!wrong) continue;
      for (i64 i = 0; i < space.length(c); ++i) {
        const i64 k = static_cast<i64>(row[i * strides[c.rank]]);
        const i64 least = wrap ? -size : 0;
        if ((k < least || k >= size) && k != ignored) [[unlikely]]
          raise(errc::out_of_range, op,
                "indices in [" + detail::text(least) + ", " + detail::text(size) + ")",
                detail::text(k));
      }
    }
  }
}

/// Raises invalid_argument unless the n numbers at(k), where parts start, do not fall, and lie in
/// [0, total]; if they have to `cover`, the first is 0 and the last is total.
template <class F>
void check_rising(const char* op, const char* what, i64 n, i64 total, bool cover, const F& at) {
  i64 least = 0;
  const auto refuse = [&](const text& got) {
    raise(errc::invalid_argument, op,
          text(what) + (cover ? " that do not fall, from 0 to " : " that do not fall, up to ") +
              text(total),
          got);
  };
  for (i64 k = 0; k < n; ++k) {
    const i64 v = at(k);
    if (v < least || v > total || (cover && k == 0 && v != 0)) [[unlikely]]
      refuse(k == 0 ? text(v) + " first" : text(v) + " behind " + text(least));
    least = v;
  }
  if (cover && least != total) [[unlikely]]
    refuse(text(least) + " last");
}
/// The same of a vector, where the host can read it; elsewhere kernels read nothing outside.
template <class S, class J, class D>
void check_starts(const char* op, const char* what, const S& stream,
                  const tensor_view<J, D>& starts, i64 total, bool cover) {
  if constexpr (host_reads<D>) {
    if constexpr (!is_synchronous<D>) ref(stream).synchronize();
    check_rising(op, what, starts.size(0), total, cover,
                 [&](i64 k) { return static_cast<i64>(starts.data()[k * starts.stride(0)]); });
  }
}

}  // namespace detail
}  // namespace flaggems
