// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Iteration spaces as kernels for threads in warps take them: steps, of one element or vector each.
#pragma once

#include <flaggems/kernel/family/pointwise/simt/pointwise.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/plan/iteration.hpp>

#include <cstddef>
#include <span>

namespace flaggems::detail {

/// A launch of `steps` steps, of a vector or an element each: `in_flight` for each thread, and a
/// block for each tile, which is faster than fewer blocks that stride (docs/notes/pointwise.md).
template <class Device>
void plan_steps(launch_config& config, i64 steps, int in_flight = 1) {
  using numbers = tuning<families::pointwise, Device>;
  config.threads = steps < numbers::few_steps    ? numbers::threads_of_few
                   : steps < numbers::many_steps ? numbers::threads
                                                 : numbers::threads_of_many;
  config.tiles = kernels::ceil_div(steps, i64{config.threads} * in_flight);
  config.blocks_per_unit = 0;
}

/// n / divisor for n < 2^31 is (n * factor / 2^32 + n) / 2^shift (Granlund and Montgomery, 1994).
/// Powers of two, most divisors, need no division for it.
inline kernels::divider divider_by(i64 divisor) {
  const u32 shift =
      divisor > 1 ? 64 - static_cast<u32>(__builtin_clzll(static_cast<u64>(divisor - 1))) : 0;
  const u64 above = (u64{1} << shift) - static_cast<u64>(divisor);
  const u64 quotient = above == 0 ? 0 : (above << 32) / static_cast<u64>(divisor);
  return {static_cast<u32>(divisor), static_cast<u32>(quotient + 1), shift};
}

/// Whether vectors of `size` elements, a power of two, lie along the inner dimension of every
/// operand of a part of a space, which begins at element `first` of that; `layouts` tells where
/// each operand begins, and the size of its elements.
FLAGGEMS_NOINLINE_ONCE bool is_vectorizable(const iteration& it, i64 first, int size,
                                            std::span<const memory_layout> layouts) {
  const int inner = it.rank() - 1;
  if (inner < 0 || it.stride(0, inner) != 1) return false;
  i64 odd = it.size(inner) | first;  // all that has to be a multiple
  for (int k = 0; k < static_cast<int>(layouts.size()); ++k) {
    const memory_layout& operand = layouts[static_cast<std::size_t>(k)];
    if (operand.item == 0 || it.stride(k, inner) == 0) continue;
    const u64 bytes = static_cast<u64>(size * operand.item);
    if (it.stride(k, inner) != 1 || (reinterpret_cast<u64>(operand.data) & (bytes - 1)) != 0)
      return false;
    for (int d = 0; d < inner; ++d) odd |= it.stride(k, d);
  }
  return (odd & (size - 1)) == 0;
}

/// A narrow part of a space for a kernel whose steps are single elements, or vectors of `size`; of
/// `many` of them a thread takes `several`. The first `operands` have vectors, or are broadcast.
FLAGGEMS_NOINLINE_ONCE kernels::strided_space strided_space_of(const iteration& it, bool vectorized,
                                                               int size, int several, int operands,
                                                               i64 many) {
  kernels::strided_space space;  // of whose dimensions only those in use are set
  const int inner = it.rank() - 1, shared = kernels::max_of(inner - 1, 0);
  space.inner = kernels::max_of(inner, 0);
  space.shared = shared;
  space.vectorized = vectorized;
  space.has_splat = false;
  for (int k = 0; vectorized && k < operands; ++k)
    space.has_splat = space.has_splat || it.stride(k, inner) == 0;
  i64 sizes[max_rank] = {1}, steps = 1;
  for (int d = 0; d <= inner; ++d) {
    sizes[d] = d == inner && vectorized ? it.size(d) / size : it.size(d);
    steps *= sizes[d];
  }
  const i64 length = sizes[shared], unit = vectorized ? size : 1, along = inner > 0 ? 1 : unit;
  if (steps < many) several = 1;
  const i64 shares = kernels::ceil_div(length, i64{several});
  sizes[shared] = shares;
  space.length = static_cast<u32>(length * along);
  space.spacing = static_cast<u32>((several == 1 ? length : inner > 0 ? 1 : shares) * along);
  // More than 32 bits count are of a space that no memory holds (is_narrow), and never run.
  space.threads = static_cast<u32>(kernels::min_of(steps / length * shares, i64{0xffffffff}));
  space.dimensions[0] = {{}, 1};  // nothing is divided by its size
  for (int d = 1; d <= inner; ++d) space.dimensions[d] = {divider_by(sizes[d]), 1};
  if (inner > 0) space.dimensions[shared].unit = static_cast<u32>(several);
  space.dimensions[space.inner].unit = static_cast<u32>(unit);
  return space;
}

}  // namespace flaggems::detail
