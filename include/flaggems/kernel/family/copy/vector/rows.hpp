// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Copies of rows on the host: by the C library's memcpy, but by non-temporal stores where all rows
// together, not a single one, exceed the last-level cache.
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/family/copy/rows.hpp>

namespace flaggems::kernels {

template <class Isa>
FLAGGEMS_HOST_INLINE void copy_streamed(unsigned char* to, const unsigned char* from, i64 bytes) {
  using V = simd<u32, Isa>;
  constexpr i64 width = static_cast<i64>(sizeof(V)), step = 4 * width;
  const i64 head = static_cast<i64>(-reinterpret_cast<u64>(to) & 63U);
  __builtin_memcpy(to, from, static_cast<u64>(head));
  i64 i = head;
  for (; i + step <= bytes; i += step) {
    V x[4];
    static_for<4>([&](auto k) FLAGGEMS_LAMBDA { read_vector(x[k], from + i + k * width); });
    static_for<4>([&](auto k) FLAGGEMS_LAMBDA { stream_vector(to + i + k * width, x[k]); });
  }
  __builtin_memcpy(to + i, from + i, static_cast<u64>(bytes - i));
}

/// Copies full vectors; the last two may overlap. Cheaper than a call of memcpy.
template <class Isa>
FLAGGEMS_HOST_INLINE void copy_small(unsigned char* to, const unsigned char* from, i64 bytes) {
  using V = simd<u32, Isa>;
  constexpr i64 width = static_cast<i64>(sizeof(V));
  V x;
  for (i64 i = 0; i + width <= bytes; i += width) {
    read_vector(x, from + i);
    write_vector(to + i, x, Isa::lanes);
  }
  if (bytes % width == 0) return;
  read_vector(x, from + bytes - width);
  write_vector(to + bytes - width, x, Isa::lanes);
}

template <class T, class Isa>
FLAGGEMS_HOST_INLINE void copy_row(const host_block<Isa>&, T* to, const T* from, i64 n,
                                   bool streamed) {
  const i64 bytes = n * static_cast<i64>(sizeof(T));
  auto* const t = reinterpret_cast<unsigned char*>(to);
  const auto* const f = reinterpret_cast<const unsigned char*>(from);
  if (can_stream<u32, Isa> && streamed && bytes >= 1024)
    copy_streamed<Isa>(t, f, bytes);
  else if (bytes >= static_cast<i64>(sizeof(simd<u32, Isa>)) && bytes <= 512)
    copy_small<Isa>(t, f, bytes);
  else
    __builtin_memcpy(t, f, static_cast<u64>(bytes));
}

}  // namespace flaggems::kernels
