// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Launches on short rows of a SIMT device that lie one behind the other and are no multiple of 16
// bytes.
#pragma once

#include <flaggems/kernel/family/row/simt/tiles.hpp>
#include <flaggems/ops/plan/rows.hpp>

namespace flaggems::detail {

/// Launches Op, which computes in C, on `count` rows of n elements, if
/// kernel/family/row/simt/tiles.hpp is for such: the same type is read and written, and both
/// operands are vector-aligned. `rank`: the dimensions between rows. Few rows of more than 16
/// vectors are done sooner in registers (register_rows).
template <class C, class S, class T, class Out, class Op>
bool launch_short_rows(const S& stream, launch_config config, i64 count, i64 n, int rank,
                       const kernels::row_arg<T>& in, const kernels::row_target<Out>& out,
                       const Op& op) {
  if constexpr (!has_simt<device_of<S>> || !std::is_same_v<T, Out> || !std::is_same_v<C, f32> ||
                sizeof(T) == 1) {
    return false;
  } else {
    constexpr i64 size = sizeof(T), max_register_vectors = i64{1} << 16;  // vectors
    const auto follow = [&](const auto& x) {
      return x.strides[rank] == 1 && (count == 1 || (rank == 1 && x.strides[0] == n)) &&
             reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
    };
    if (n > kernels::short_row_size<T, 8>::longest || n * size % 16 == 0 || !follow(in) ||
        !follow(out) || (n * size > 16 * 16 && count <= max_register_vectors * 16 / (n * size)))
      return false;
    const auto run = [&](auto lanes) {
      using kernel = kernels::short_row_tiles<Op, T, lanes>;
      // Rows of n elements begin in as many banks as possible if they are so many apart.
      const int odd = __builtin_ctz(static_cast<unsigned>(n * size));
      const int spacing = kernels::max_of(__builtin_ctz(4U * lanes) - odd, 0);
      i64 tile = kernels::max_of(kernel::at_once, (32 / lanes) << spacing);
      while (2 * tile * n * size <= kernel::most_bytes && count > tile << 10) tile *= 2;
      config.tiles = kernels::ceil_div(count, tile);
      config.threads = kernel::max_threads;
      config.blocks_per_unit = 0;
      config.scratch = tile * n * size + kernels::round_up(n * (4 * Op::aux), 16);
      const kernels::short_row_space space{
          config.tiles, static_cast<i32>(n), static_cast<i32>(tile),
          static_cast<i32>((count - (config.tiles - 1) * tile) * n), static_cast<u32>(spacing)};
      launch<kernel>(stream, config, space, in.data, out.data, op);
      return true;
    };
    if (n <= kernels::short_row_size<T, 1>::longest) return run(kernels::int_constant<1>{});
    if (n <= kernels::short_row_size<T, 2>::longest) return run(kernels::int_constant<2>{});
    if (n <= kernels::short_row_size<T, 4>::longest) return run(kernels::int_constant<4>{});
    return run(kernels::int_constant<8>{});
  }
}

}  // namespace flaggems::detail
