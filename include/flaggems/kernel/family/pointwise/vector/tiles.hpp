// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Evaluation of an expression's tile on the host: one loop over full vectors of contiguous operands
// is compiled per instruction set, its driver once.
#pragma once

#include <flaggems/kernel/expr/vector/rows.hpp>
#include <flaggems/kernel/family/pointwise/pointwise.hpp>

namespace flaggems::kernels {

/// The loop over full vectors: the only part compiled per instruction set.
struct row_loop {
  template <class Isa, class T, class Part>
  FLAGGEMS_HOST_INLINE static void run(T* const& first, const Part& operands, const i64& elements,
                                       const bool& past_caches) {
    // Local copies: compilers would assume that stores change the arguments.
    T* const to = first;
    const Part part = operands;
    const i64 count = elements;
    const bool streamed = past_caches;
    i64 i = 0;
    if constexpr (is_brief<Part>) {
      constexpr i64 step = 4 * Isa::lanes;
      for (; !streamed && i + step <= count; i += step)
        static_for<4>([&](auto k) FLAGGEMS_LAMBDA {
          const i64 at = i + k * Isa::lanes;
          store_whole(to + at, part.load(lane_vector<Isa>{at}), false);
        });
    }
    for (; i < count; i += Isa::lanes)
      store_whole(to + i, part.load(lane_vector<Isa>{i}), streamed);
  }
};
template <class T, class Part>
using row_loop_function = void (*)(T* const&, const Part&, const i64&, const bool&);

/// A tile, except for the loop: compiled once. `lanes`: of the loop's vectors.
template <class T, class E, class Part>
FLAGGEMS_NOINLINE void drive_tile(const tiling& space, const target<T>& out, const E& e,
                                  coordinates& c, i64 lanes, row_loop_function<T, Part> loop) {
  using row_type = decltype(copy_of(e.at(c)));
  row_stage<row_type> stage;
  row_buffer<T> result;
  const i64 stride = out.strides[c.rank], n = space.length(c);
  row_piece piece;
  piece.length = n;
  piece.rows = space.rows(c);
  for (piece.row = 0; piece.row < piece.rows; ++piece.row) {
    const row_type row = e.at(c);
    T* const to = out.data + c.offset(out.strides);
    const bool dense = stride == 1 && row_stage<row_type>::is_dense(row);
    for (piece.begin = 0; piece.begin < n; piece.begin += piece.count) {
      const i64 left = n - piece.begin;
      piece.whole = left >= lanes;
      piece.count = piece.whole ? (dense ? left : min_of(left, staged_elements)) & -lanes : left;
      const Part part = stage.part(row, piece);
      const bool direct = piece.whole && stride == 1;
      T* const vectors = direct ? to + piece.begin : result.data();
      loop(vectors, part, piece.count, space.streamed && direct && is_line(vectors));
      if (!direct) drain_buffer(to + piece.begin * stride, stride, result.data(), piece.count);
    }
    if (piece.rows > 1) ++c.at[c.rank - 1];
  }
}

/// Fewer elements than a vector, or the end of a row.
template <class T, class Row, class Part>
FLAGGEMS_NOINLINE void drive_rest(T* to, const Row& row, i64 begin, i64 count,
                                  row_loop_function<T, Part> loop) {
  row_stage<Row> stage;
  row_buffer<T> result;
  T* const vectors = result.data();
  const Part part = stage.part(row, row_piece{begin, count, begin + count, 0, 1, false});
  loop(vectors, part, count, false);
  drain_buffer(to + begin, 1, result.data(), count);
}
/// Contiguous elements: full vectors in one loop, and the tail.
template <class T, class Row, class Part>
FLAGGEMS_HOST_INLINE void drive_flat(T* to, const Row& row, i64 n, i64 lanes, bool streamed,
                                     row_loop_function<T, Part> loop) {
  const i64 whole = n & -lanes;
  if (whole != 0) {
    const Part part = row_stage<Row>::dense(row);
    loop(to, part, whole, streamed && is_line(to));
  }
  if (whole != n) drive_rest<T, Row, Part>(to, row, whole, n - whole, loop);
}

/// The type of a row's pieces, for decltype.
template <class Row>
auto part_type(const Row& row) {
  return row_stage<Row>().part(row, row_piece());
}

template <class Isa, class T, class E>
FLAGGEMS_HOST_INLINE void assign_tile(const host_block<Isa>& block, const tiling& space,
                                      const target<T>& out, const E& e, coordinates& c) {
  using part = decltype(part_type(copy_of(e.at(c))));
  const auto loop = block.template part<row_loop, T*, part, i64, bool>();
  drive_tile<T, E, part>(space, out, e, c, loop.lanes, loop.call);
}
template <class Isa, class T, class E>
FLAGGEMS_HOST_INLINE void assign_flat(const host_block<Isa>& block, T* out, const E& e, i64 begin,
                                      i64 n, bool streamed) {
  coordinates c;
  c.rank = 0;
  c.inner = begin;
  using row = decltype(copy_of(e.at(c)));
  using part = decltype(part_type(copy_of(e.at(c))));
  const auto loop = block.template part<row_loop, T*, part, i64, bool>();
  drive_flat<T, row, part>(out + begin, e.at(c), n, loop.lanes, streamed, loop.call);
}

}  // namespace flaggems::kernels
