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

template <class T, class C>
inline constexpr bool has_values_of<T, held_arg<T, C>> = true;

/// Of small floats whose bits alone are moved: their words.
template <class T, class Part>
struct word_row {
  static constexpr bool exists = false;
};
template <class T, class R, class F, class... C>
requires(
    is_small_float<T>&& word_form<F>::exists) struct word_row<T, node<R, F, flat_arg<T, C>...>> {
  static constexpr bool exists = true;
  using word = uint_of_size<sizeof(T)>;
  template <class Isa>
  FLAGGEMS_HOST_INLINE static auto at(const node<R, F, flat_arg<T, C>...>& part, i64 i) {
    using V = simd<word, Isa>;
    const V sign(static_cast<word>(word(1) << (8 * sizeof(word) - 1)));
    const word_form<F> f;
    if constexpr (sizeof...(C) == 1)
      return f(sign, load_lanes<word, word, Isa>(words_of(part.a, i), Isa::lanes));
    else
      return f(sign, load_lanes<word, word, Isa>(words_of(part.a, i), Isa::lanes),
               load_lanes<word, word, Isa>(words_of(part.b, i), Isa::lanes));
  }

 private:
  template <class Arg>
  FLAGGEMS_HOST_INLINE static const word* words_of(const Arg& x, i64 i) {
    return reinterpret_cast<const word*>(x.data + i);
  }
};

/// A full vector of a row's values from element i on: stored, of bf16 without rounding where they
/// are its numbers.
template <class Isa, class T, class Part>
FLAGGEMS_HOST_INLINE void store_values(T* to, const Part& part, i64 i, bool streamed) {
  const auto put = [=](const auto& words) FLAGGEMS_LAMBDA {
    if constexpr (can_stream<T, Isa>) {
      if (streamed) return stream_vector(to + i, words);
    }
    write_vector(to + i, words, Isa::lanes);
  };
  if constexpr (word_row<T, Part>::exists)
    put(word_row<T, Part>::template at<Isa>(part, i));
  else if constexpr (is_same<T, bf16> && has_values_of<T, Part>)
    put(upper_words_of(bit_cast<simd<u32, Isa>>(part.load(lane_vector<Isa>{i}))));
  else
    store_whole(to + i, part.load(lane_vector<Isa>{i}), streamed);
}

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
    held_vectors<Part>::template begin<Isa>(part);
    i64 i = 0;
    if constexpr (is_brief<Part> || has_values_of<T, Part>) {
      constexpr i64 step = 4 * Isa::lanes;
      for (; !streamed && i + step <= count; i += step)
        static_for<4>([&](auto k) FLAGGEMS_LAMBDA {
          store_values<Isa>(to, part, i + k * Isa::lanes, false);
        });
    }
    for (; i < count; i += Isa::lanes) store_values<Isa>(to, part, i, streamed);
  }
};
template <class T, class Part>
using row_loop_function = void (*)(T* const&, const Part&, const i64&, const bool&);

/// A tile, except for the loop: compiled once. `lanes`: of the loop's vectors.
template <class T, class E, class Part>
FLAGGEMS_NOINLINE void drive_tile(const tiling& space, const target<T>& out, const E& e,
                                  const coordinates& c, i64 lanes,
                                  row_loop_function<T, Part> loop) {
  using row_type = decltype(copy_of(e.at(c)));
  row_stage<row_type, true> stage;
  row_buffer<T> result;
  const i64 stride = out.strides[c.rank], n = space.length(c);
  row_piece piece;
  piece.length = n;
  piece.rows = space.rows(c);
  const row_type first = e.at(c);
  T* to = out.data + c.offset(out.strides);
  const i64 along = c.rank > 0 ? out.strides[c.rank - 1] : 0;
  const bool dense = stride == 1 && row_stage<row_type, true>::is_dense(first);
  for (piece.row = 0; piece.row < piece.rows; ++piece.row, to += along) {
    const row_type row = next_row(first, piece.row);
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
  }
}

/// Fewer elements than a vector, or the end of a row.
template <class T, class Row, class Part>
FLAGGEMS_NOINLINE void drive_rest(T* to, const Row& row, i64 begin, i64 count,
                                  row_loop_function<T, Part> loop) {
  row_stage<Row, true> stage;
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
    const Part part = row_stage<Row, true>::dense(row);
    loop(to, part, whole, streamed && is_line(to));
  }
  if (whole != n) drive_rest<T, Row, Part>(to, row, whole, n - whole, loop);
}

/// The type of a row's pieces, for decltype.
template <class Row>
auto part_type(const Row& row) {
  return row_stage<Row, true>().part(row, row_piece());
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
