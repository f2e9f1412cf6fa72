// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// How the host evaluates a tile of an expression: by one loop over full vectors of contiguous
// operands. Other operands, and the end of a row, go through small buffers, so that the loop exists
// once, without branches; transposed operands fill theirs for several rows at a time, by full cache
// lines.
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/block/vector/outlined.hpp>
#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/lang/vector/transpose.hpp>

namespace flaggems::kernels {

/// Elements that pass through a buffer at a time.
inline constexpr i64 staged_elements = 256;

/// A piece of a tile's row: elements begin .. begin + count, of `length`, of row `row` of `rows`.
/// `whole`: in whole vectors, so that contiguous operands need no buffer.
struct row_piece {
  i64 begin, count, length;
  i64 row, rows;
  bool whole;
};

/// Whether a row of results may be written past the caches from here on.
template <class T>
FLAGGEMS_HOST_INLINE bool is_line(const T* p) {
  return reinterpret_cast<u64>(p) % 64 == 0;
}

/// Memory for a piece of a row, or for all rows of a tile of several.
template <class T>
struct row_buffer {
  static constexpr i64 elements = max_of(staged_elements, transposed_rows* transposed_columns);
  alignas(64) unsigned char bytes[static_cast<unsigned>(elements) * sizeof(T)];
  FLAGGEMS_HOST_INLINE T* data() { return reinterpret_cast<T*>(bytes); }
};

/// to[k] = x for k < count, by 16 bytes: in a buffer, whose size is a multiple of them.
template <class T>
FLAGGEMS_HOST_INLINE void spread(T* to, const T& x, i64 count) {
  constexpr i64 size = static_cast<i64>(sizeof(T)), lanes = 16 / size;
  unsigned char all[16];
  for (i64 i = 0; i < lanes; ++i) __builtin_memcpy(all + i * size, &x, sizeof(T));
  for (i64 k = 0; k < count; k += lanes)
    __builtin_memcpy(static_cast<void*>(to + k), all, sizeof(all));
}
/// to[k] = from[k * stride] for k < count, and zeros up to a whole vector of any level.
template <class T>
FLAGGEMS_NOINLINE void fill_buffer(T* to, const T* from, i64 stride, i64 count) {
  if (stride == 1) {
    __builtin_memcpy(static_cast<void*>(to), from, static_cast<u64>(count) * sizeof(T));
  } else if (stride == 0) {
    spread(to, *from, count);
  } else {
    for (i64 k = 0; k < count; ++k) to[k] = from[k * stride];
  }
  const i64 padded = round_up(count, 16);
  __builtin_memset(static_cast<void*>(to + count), 0, static_cast<u64>(padded - count) * sizeof(T));
}
/// to[row * transposed_columns + k] = from[row * along + k * stride]: each cache line is read once,
/// whatever the stride; by squares where rows are neighbours.
template <class T>
FLAGGEMS_NOINLINE void fill_block(T* to, const T* from, i64 stride, i64 along, i64 count,
                                  i64 rows) {
  constexpr i64 size = static_cast<i64>(sizeof(T));
  i64 k = 0;
  if constexpr (sizeof(T) > 1 && sizeof(T) <= sizeof(u64)) {
    using word = uint_of_size<sizeof(T)>;
    constexpr i64 side = square<word>::side;
    for (; along == 1 && k + side <= count; k += side) {
      i64 row = 0;
      for (; row + side <= rows; row += side)
        square<word>::transpose(reinterpret_cast<unsigned char*>(to + row * transposed_columns + k),
                                transposed_columns * size,
                                reinterpret_cast<const unsigned char*>(from + k * stride + row),
                                stride * size);
      for (; row < rows; ++row)
        for (i64 j = k; j < k + side; ++j)
          to[row * transposed_columns + j] = from[j * stride + row];
    }
  }
  for (; k < count; ++k)
    for (i64 row = 0; row < rows; ++row)
      to[row * transposed_columns + k] = from[k * stride + row * along];
  const i64 padded = round_up(count, 16);
  for (i64 row = 0; row < rows && padded != count; ++row)
    __builtin_memset(static_cast<void*>(to + row * transposed_columns + count), 0,
                     static_cast<u64>(padded - count) * sizeof(T));
}
/// to[k * stride] = from[k] for k < count.
template <class T>
FLAGGEMS_NOINLINE void drain_buffer(T* to, i64 stride, const T* from, i64 count) {
  if (stride == 1) {
    __builtin_memcpy(static_cast<void*>(to), from, static_cast<u64>(count) * sizeof(T));
  } else {
    for (i64 k = 0; k < count; ++k) to[k * stride] = from[k];
  }
}

// ---- rows of kernels that read them several times (expr/rows.hpp): dense, or copied to where they
// are
/// to[i] = from[walk.offset(i)] for i < count, and zeros up to a whole vector of any level.
template <class T, class Walk>
FLAGGEMS_NOINLINE void gather_row(T* to, const T* from, const Walk& walk, i64 count) {
  for (i64 i = 0; i < count; ++i) to[i] = from[walk.offset(i)];
}
template <class T, class Walk>
FLAGGEMS_NOINLINE void scatter_row(T* to, const T* from, const Walk& walk, i64 count) {
  for (i64 i = 0; i < count; ++i) to[walk.offset(i)] = from[i];
}

/// One row, as loops use it: nothing in it has an address that they could think is written to.
template <class C, class T>
struct staged_place {
  const T* row;
  host_scratch<C> copy;
  const T* next;  // what is read after this row, or is harmless to ask for
  template <class Lane>
  FLAGGEMS_HOST_INLINE void fetch_next(Lane lane) const {
    __builtin_prefetch(next + lane.begin, 0, 2);
  }
  template <class Lane>
  FLAGGEMS_HOST_INLINE lane_value<Lane, C> first(Lane lane) const {
    return load<C>(row, lane);
  }
  template <class Lane>
  FLAGGEMS_HOST_INLINE lane_value<Lane, C> again(Lane lane) const {
    return load<C>(row, lane);
  }
  template <class Lane, class V>
  FLAGGEMS_HOST_INLINE void put(Lane lane, const V& x) const {
    store(copy, lane, x);
  }
  template <class Lane>
  FLAGGEMS_HOST_INLINE lane_value<Lane, C> kept(Lane lane) const {
    return load<C>(copy, lane);
  }
};

// The rows of a group have their parts of the scratch, in whole vectors of any level.
template <class Isa, class C, class T, class Walk>
class staged_row<host_block<Isa>, C, T, Walk> {
 public:
  FLAGGEMS_HOST_INLINE staged_row(host_block<Isa>& block, i64 n, const Walk& walk, int rows = 1)
      : walk_(walk),
        n_(n),
        padded_(round_up(n, 16)),
        copy_(block.template scratch<C>(padded_ * rows)),
        buffer_(block.template scratch<T>(padded_ * rows).data) {}
  FLAGGEMS_HOST_INLINE void begin_group(const T* row, i64 step, int count) {
    row_ = row;
    step_ = step;
    prefetch_ = max_of(step * count, min_prefetch);
    if (walk_.is_dense()) return;
    for (int r = 0; r < count; ++r) gather_row(buffer_ + r * padded_, row + r * step, walk_, n_);
    row_ = buffer_;
    step_ = padded_;
  }
  FLAGGEMS_HOST_INLINE staged_place<C, T> place(int r) const {
    const T* const row = row_ + r * step_;
    return {row, copy_.from(r * padded_), row + prefetch_};
  }

 private:
  /// Far enough for memory to answer, where rows are short.
  static constexpr i64 min_prefetch = 2048 / static_cast<i64>(sizeof(T));
  Walk walk_;
  i64 n_, padded_, step_ = 0, prefetch_ = 0;
  host_scratch<C> copy_;
  T* buffer_;
  const T* row_ = nullptr;
};

template <class T>
struct read_place {
  const T* row;
  FLAGGEMS_HOST_INLINE bool exists() const { return row != nullptr; }
  template <class C, class Lane>
  FLAGGEMS_HOST_INLINE lane_value<Lane, C> load(Lane lane) const {
    using kernels::load;
    return load<C>(row, lane);
  }
};
template <class Isa, class T, class Walk>
class read_row<host_block<Isa>, T, Walk> {
 public:
  FLAGGEMS_HOST_INLINE read_row(host_block<Isa>& block, i64 n, const Walk& walk, int rows = 1)
      : walk_(walk),
        n_(n),
        padded_(round_up(n, 16)),
        buffer_(block.template scratch<T>(padded_ * rows).data) {}
  FLAGGEMS_HOST_INLINE void begin_group(const T* row, i64 step, int count) {
    row_ = row;
    step_ = step;
    if (row == nullptr || walk_.is_dense()) return;
    for (int r = 0; r < count; ++r) gather_row(buffer_ + r * padded_, row + r * step, walk_, n_);
    row_ = buffer_;
    step_ = padded_;
  }
  FLAGGEMS_HOST_INLINE read_place<T> place(int r) const { return {row_ + r * step_}; }

 private:
  Walk walk_;
  i64 n_, padded_, step_ = 0;
  T* buffer_;
  const T* row_ = nullptr;
};

template <class Isa, class T>
struct written_place {
  T* to;
  bool streamed;
  template <class V>
  FLAGGEMS_HOST_INLINE void store(lane_vector<Isa> lane, const V& x) const {
    store_whole(to + lane.begin, x, streamed);
  }
  template <class V>
  FLAGGEMS_HOST_INLINE void store(lane_tail<Isa> lane, const V& x) const {
    store_lanes(to + lane.begin, x, lane.count);
  }
  template <class C, class Lane>
  FLAGGEMS_HOST_INLINE lane_value<Lane, C> load(Lane lane) const {
    using kernels::load;
    return load<C>(static_cast<const T*>(to), lane);
  }
};

template <class Isa, class T, class Walk>
class written_row<host_block<Isa>, T, Walk> {
 public:
  FLAGGEMS_HOST_INLINE written_row(host_block<Isa>& block, i64 n, const Walk& walk, bool streamed,
                                   int rows = 1)
      : walk_(walk),
        n_(n),
        padded_(round_up(n, 16)),
        buffer_(block.template scratch<T>(padded_ * rows).data),
        streamed_(streamed) {}
  FLAGGEMS_HOST_INLINE void begin_group(T* row, i64 step) {
    row_ = row;
    step_ = step;
  }
  FLAGGEMS_HOST_INLINE written_place<Isa, T> place(int r) const {
    T* const row = row_ + r * step_;
    if (walk_.is_dense()) return {row, streamed_ && is_line(row)};
    return {buffer_ + r * padded_, false};
  }
  FLAGGEMS_HOST_INLINE void end(int r = 0) const {
    if (!walk_.is_dense()) scatter_row<T>(row_ + r * step_, buffer_ + r * padded_, walk_, n_);
  }

 private:
  Walk walk_;
  i64 n_, padded_, step_ = 0;
  T* buffer_;
  bool streamed_;
  T* row_ = nullptr;
};

/// The row that is k further than `row` in the last outer dimension.
template <class T, class C>
FLAGGEMS_HOST_INLINE arg_row<T, C> next_row(const arg_row<T, C>& row, i64 k) {
  return {row.data + k * row.along, row.stride, row.along};
}
template <class C>
FLAGGEMS_HOST_INLINE literal<C> next_row(const literal<C>& row, i64) {
  return row;
}
template <class C>
FLAGGEMS_HOST_INLINE position_row<C> next_row(const position_row<C>& row, i64 k) {
  return {row.first + k * row.along, row.stride, row.along};
}
template <class R, class F, class A>
FLAGGEMS_HOST_INLINE node<R, F, A> next_row(const node<R, F, A>& row, i64 k) {
  return {row.f, next_row(row.a, k)};
}
template <class R, class F, class A, class B>
FLAGGEMS_HOST_INLINE node<R, F, A, B> next_row(const node<R, F, A, B>& row, i64 k) {
  return {row.f, next_row(row.a, k), next_row(row.b, k)};
}
template <class R, class F, class A, class B, class D>
FLAGGEMS_HOST_INLINE node<R, F, A, B, D> next_row(const node<R, F, A, B, D>& row, i64 k) {
  return {row.f, next_row(row.a, k), next_row(row.b, k), next_row(row.d, k)};
}

/// A piece of contiguous elements, or one vector that stands for all: lane i is read at i & mask.
template <class T, class C>
struct held_arg {
  using value_type = C;
  const T* data;
  i64 mask;
  template <class Lane>
  FLAGGEMS_HOST_INLINE lane_value<Lane, C> load(Lane lane) const {
    using kernels::load;
    lane.begin &= mask;
    return load<C>(data, lane);
  }
};
/// Makes a vector of the first element of each operand that stands for all, where it lies: by one
/// store, from which loads are forwarded.
template <class Part>
struct held_vectors {
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void begin(const Part&) {}
};
template <class T, class C>
struct held_vectors<held_arg<T, C>> {
  static constexpr bool at_once = sizeof(T) <= sizeof(u64);
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void begin(const held_arg<T, C>& x) {
    if constexpr (at_once) {
      if (x.mask != 0) return;
      using word = conditional<sizeof(T) == sizeof(u64), u64, u32>;
      uint_of_size<sizeof(T)> bits;
      __builtin_memcpy(&bits, x.data, sizeof(T));
      word all = bits;
      for (int n = 8 * static_cast<int>(sizeof(T)); n < 32; n *= 2) all |= all << n;
      write_vector(const_cast<T*>(x.data), simd<word, Isa>(all), Isa::lanes);
    }
  }
};
template <class R, class F, class... E>
struct held_vectors<node<R, F, E...>> {
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void begin(const node<R, F, E...>& x) {
    held_vectors<decltype(copy_of(x.a))>::template begin<Isa>(x.a);
    if constexpr (sizeof...(E) > 1) held_vectors<decltype(copy_of(x.b))>::template begin<Isa>(x.b);
    if constexpr (sizeof...(E) > 2) held_vectors<decltype(copy_of(x.d))>::template begin<Isa>(x.d);
  }
};
template <class T, class C>
inline constexpr int leaf_count<held_arg<T, C>> = 1;
template <class T, class C>
inline constexpr int largest_item<held_arg<T, C>> = static_cast<int>(sizeof(T));

/// The buffers of a row's operands; `part` is a piece of the row with contiguous operands, or, if
/// it `Holds`, operands that are the same along it.
template <class Row, bool Holds = false>
struct row_stage;

template <class T, class C>
struct row_stage<arg_row<T, C>, true> {
  row_buffer<T> buffer;
  FLAGGEMS_HOST_INLINE static bool is_dense(const arg_row<T, C>& row) {
    return row.stride == 1 || row.stride == 0;
  }
  FLAGGEMS_HOST_INLINE held_arg<T, C> part(const arg_row<T, C>& row, const row_piece& piece) {
    if (row.stride == 0) {
      constexpr i64 count =
          held_vectors<held_arg<T, C>>::at_once ? 1 : 16;  // a vector of any level
      if (piece.begin == 0)
        for (i64 k = 0; k < count; ++k) buffer.data()[k] = *row.data;
      return {buffer.data(), 0};
    }
    return {filled(buffer, row, piece), -1};
  }
  /// The piece, contiguous and whole: in the buffer if it is not already.
  FLAGGEMS_HOST_INLINE static const T* filled(row_buffer<T>& buffer, const arg_row<T, C>& row,
                                              const row_piece& piece) {
    const T* const from = row.data + piece.begin * row.stride;
    if (piece.whole && row.stride == 1) return from;
    T* const to = buffer.data();
    if (piece.rows > 1 && row.stride != 1) {
      if (piece.row == 0 && piece.begin == 0)
        fill_block(to, row.data, row.stride, row.along, piece.length, piece.rows);
      return to + piece.row * transposed_columns + piece.begin;
    }
    if (row.stride != 0)
      fill_buffer(to, from, row.stride, piece.count);
    else if (piece.begin == 0)
      fill_buffer(to, from, 0, min_of(piece.length, staged_elements));
    return to;
  }
};
template <class T, class C>
struct row_stage<arg_row<T, C>, false> {
  row_buffer<T> buffer;
  FLAGGEMS_HOST_INLINE static bool is_dense(const arg_row<T, C>& row) { return row.stride == 1; }
  FLAGGEMS_HOST_INLINE static flat_arg<T, C> dense(const arg_row<T, C>& row) { return {row.data}; }
  FLAGGEMS_HOST_INLINE flat_arg<T, C> part(const arg_row<T, C>& row, const row_piece& piece) {
    return {row_stage<arg_row<T, C>, true>::filled(buffer, row, piece)};
  }
};
template <class T, class C, bool Holds>
struct row_stage<flat_arg<T, C>, Holds> {
  row_buffer<T> buffer;
  FLAGGEMS_HOST_INLINE static bool is_dense(const flat_arg<T, C>&) { return true; }
  FLAGGEMS_HOST_INLINE static flat_arg<T, C> dense(const flat_arg<T, C>& row) { return row; }
  FLAGGEMS_HOST_INLINE flat_arg<T, C> part(const flat_arg<T, C>& row, const row_piece& piece) {
    if (piece.whole) return {row.data + piece.begin};
    fill_buffer(buffer.data(), row.data + piece.begin, 1, piece.count);
    return {buffer.data()};
  }
};
template <class C, bool Holds>
struct row_stage<literal<C>, Holds> {
  FLAGGEMS_HOST_INLINE static bool is_dense(const literal<C>&) { return true; }
  FLAGGEMS_HOST_INLINE static literal<C> dense(const literal<C>& row) { return row; }
  FLAGGEMS_HOST_INLINE literal<C> part(const literal<C>& row, const row_piece&) { return row; }
};
template <class C, bool Holds>
struct row_stage<position_row<C>, Holds> {
  FLAGGEMS_HOST_INLINE static bool is_dense(const position_row<C>&) { return true; }
  FLAGGEMS_HOST_INLINE static position_row<C> dense(const position_row<C>& row) { return row; }
  FLAGGEMS_HOST_INLINE position_row<C> part(const position_row<C>& row, const row_piece& piece) {
    return row.from(piece.begin);
  }
};
template <class R, class F, class A, bool Holds>
struct row_stage<node<R, F, A>, Holds> {
  row_stage<A, Holds> a;
  FLAGGEMS_HOST_INLINE static bool is_dense(const node<R, F, A>& row) {
    return row_stage<A, Holds>::is_dense(row.a);
  }
  FLAGGEMS_HOST_INLINE static auto dense(const node<R, F, A>& row) {
    const auto x = row_stage<A, Holds>::dense(row.a);
    return node<R, F, decltype(copy_of(x))>{row.f, x};
  }
  FLAGGEMS_HOST_INLINE auto part(const node<R, F, A>& row, const row_piece& piece) {
    const auto x = a.part(row.a, piece);
    return node<R, F, decltype(copy_of(x))>{row.f, x};
  }
};
template <class R, class F, class A, class B, bool Holds>
struct row_stage<node<R, F, A, B>, Holds> {
  row_stage<A, Holds> a;
  row_stage<B, Holds> b;
  FLAGGEMS_HOST_INLINE static bool is_dense(const node<R, F, A, B>& row) {
    return row_stage<A, Holds>::is_dense(row.a) && row_stage<B, Holds>::is_dense(row.b);
  }
  FLAGGEMS_HOST_INLINE static auto dense(const node<R, F, A, B>& row) {
    const auto x = row_stage<A, Holds>::dense(row.a);
    const auto y = row_stage<B, Holds>::dense(row.b);
    return node<R, F, decltype(copy_of(x)), decltype(copy_of(y))>{row.f, x, y};
  }
  FLAGGEMS_HOST_INLINE auto part(const node<R, F, A, B>& row, const row_piece& piece) {
    const auto x = a.part(row.a, piece);
    const auto y = b.part(row.b, piece);
    return node<R, F, decltype(copy_of(x)), decltype(copy_of(y))>{row.f, x, y};
  }
};
template <class R, class F, class A, class B, class D, bool Holds>
struct row_stage<node<R, F, A, B, D>, Holds> {
  row_stage<A, Holds> a;
  row_stage<B, Holds> b;
  row_stage<D, Holds> d;
  FLAGGEMS_HOST_INLINE static bool is_dense(const node<R, F, A, B, D>& row) {
    return row_stage<A, Holds>::is_dense(row.a) && row_stage<B, Holds>::is_dense(row.b) &&
           row_stage<D, Holds>::is_dense(row.d);
  }
  FLAGGEMS_HOST_INLINE static auto dense(const node<R, F, A, B, D>& row) {
    const auto x = row_stage<A, Holds>::dense(row.a);
    const auto y = row_stage<B, Holds>::dense(row.b);
    const auto z = row_stage<D, Holds>::dense(row.d);
    return node<R, F, decltype(copy_of(x)), decltype(copy_of(y)), decltype(copy_of(z))>{row.f, x, y,
                                                                                        z};
  }
  FLAGGEMS_HOST_INLINE auto part(const node<R, F, A, B, D>& row, const row_piece& piece) {
    const auto x = a.part(row.a, piece);
    const auto y = b.part(row.b, piece);
    const auto z = d.part(row.d, piece);
    return node<R, F, decltype(copy_of(x)), decltype(copy_of(y)), decltype(copy_of(z))>{row.f, x, y,
                                                                                        z};
  }
};

// ---- rows of reductions (expr/rows.hpp)
template <class Isa, class Row>
FLAGGEMS_HOST_INLINE bool is_dense_row(const host_block<Isa>&, const Row& row) {
  return row_stage<Row>::is_dense(row);
}
template <class Isa, class Row>
FLAGGEMS_HOST_INLINE auto dense_row(const host_block<Isa>&, const Row& row) {
  return row_stage<Row>::dense(row);
}
template <class Isa, class Row, class F>
FLAGGEMS_HOST_INLINE void for_each_piece(const host_block<Isa>&, const Row& row, i64 n,
                                         const F& f) {
  row_stage<Row> stage;
  const bool dense = row_stage<Row>::is_dense(row);
  const i64 most = dense ? n : staged_elements;
  for (i64 begin = 0; begin < n; begin += most) {  // one text of f for both
    const i64 count = min_of(n - begin, most);
    f(dense ? row_stage<Row>::dense(row) : stage.part(row, row_piece{begin, count, n, 0, 1, true}),
      begin, count);
  }
}

template <class Isa>
FLAGGEMS_HOST_INLINE void end_stream(const host_block<Isa>&, [[maybe_unused]] bool streamed) {
#if FLAGGEMS_ARCH_X86
  if (streamed) asm volatile("sfence" ::: "memory");
#endif
}

}  // namespace flaggems::kernels
