// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// How the host copies rows: as the C library does, whose copies know the processor; but past the
// caches where the whole of them, not a single row, is larger than the last one.
#pragma once

#include <flaggems/kernels/copy_rows.hpp>
#include <flaggems/kernels/host_block.hpp>
#include <flaggems/kernels/index_select.hpp>

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

/// Whole vectors, of which the last two may overlap: a call of the C library takes longer.
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

/// Rows in no order: the first lines of each are asked for early, which no other read announces.
/// (Rows of 256 bytes from a table in memory: 2.5 times as fast.)
template <class T, class J, class Isa>
FLAGGEMS_HOST_INLINE void select_rows(const host_block<Isa>& block, i64 rows, i64 n, bool streamed,
                                      const strided_rows<T>& to, const selected_rows<T, J>& given) {
  constexpr i64 ahead = 16;
  const selected_rows<T, J> from = given;  // a copy: stores do not change it
  T* const first = to.data;
  const i64 stride = to.stride, lines = min_of(n * static_cast<i64>(sizeof(T)), i64{256});
  block.for_each_tile(rows, [=, &block](i64 row) FLAGGEMS_LAMBDA {
    if (row + ahead < rows) {
      const auto* const next = reinterpret_cast<const unsigned char*>(from.row(row + ahead));
      for (i64 i = 0; i < lines; i += 64) __builtin_prefetch(next + i);
    }
    copy_row<T>(block, first + row * stride, from.row(row), n, streamed);
  });
}

/// to[i] = at(i), with four loads under way.
template <class T, class At>
FLAGGEMS_HOST_INLINE void gather_elements(T* to, i64 n, const At& at) {
  i64 i = 0;
  for (; i + 4 <= n; i += 4) {
    T x[4];
    static_for<4>([&](auto k) FLAGGEMS_LAMBDA { x[k] = at(i + k); });
    static_for<4>([&](auto k) FLAGGEMS_LAMBDA { to[i + k] = x[k]; });
  }
  for (; i < n; ++i) to[i] = at(i);
}
template <class T, class J, class Isa>
FLAGGEMS_HOST_INLINE void gather_row(const host_block<Isa>&, T* to, const T* from, i64 step,
                                     const J* index, i64 n) {
  if (step == 1)
    gather_elements(to, n, [=](i64 i) FLAGGEMS_LAMBDA { return from[index[i]]; });
  else
    gather_elements(to, n,
                    [=](i64 i) FLAGGEMS_LAMBDA { return from[static_cast<i64>(index[i]) * step]; });
}

}  // namespace flaggems::kernels
