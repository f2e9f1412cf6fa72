// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Pointwise operators as chips run them: a thread moves packs of 16 bytes, several of them before
// it computes, so that enough is under way for the memory. Offsets are 32 bits wide, and
// coordinates come by multiplications.
#pragma once

#include <flaggems/kernels/math_narrow.hpp>

namespace flaggems::kernels {

/// Elements of a pack of every operand of out = e: 16 bytes of the largest.
template <class T, class E>
inline constexpr int common_pack_size = 16 / max_of(static_cast<int>(sizeof(T)), largest_item<E>);
/// Packs that a thread reads before it computes: several where it computes for long.
template <class E>
inline constexpr int packs_in_flight = is_brief<E> ? 1 : 2;
template <class A>
inline constexpr int packs_in_flight<node<f32, gelu_none_fn, A>> = 4;
template <class A>
inline constexpr int packs_in_flight<node<f32, gelu_fn, A>> = 4;
/// Packs of an output from which on they do so; fewer are done sooner by more threads.
inline constexpr i64 many_packs = i64{1} << 19;

/// The values of N fetched elements as T.
template <class T, int Width, class E>
FLAGGEMS_INLINE pack<T, Width> pack_of_values(const E& e) {
  const auto formula = narrowed<T>(e);
  pack<T, Width> r;
  FLAGGEMS_CHIP_UNROLL
  for (int k = 0; k < Width; ++k) r.at[k] = number_cast<T>(formula.load(lane_scalar{k}));
  return r;
}

/// Elements that are those of a pack already.
template <class T, int Width>
FLAGGEMS_INLINE pack<T, Width> pack_of_values(const fetched<T, T, Width>& e) {
  return e.elements;
}

/// Where all operands have the same offset.
struct flat_place {
  static constexpr int inner = 0;
  i64 at;
  template <int K>
  FLAGGEMS_INLINE i64 offset() const {
    return at;
  }
};

/// out = e for n elements of contiguous tensors, as pointwise_flat. Packs begin where those of the
/// output do; where an operand has none there, elements are moved one by one, several a thread.
template <class T, class E>
struct pointwise_packs {
  static constexpr int size = common_pack_size<T, E>;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 n, global_ptr<T> out, const E& e) {
    const i64 before = static_cast<i64>((0 - reinterpret_cast<u64>(out) / sizeof(T)) % size);
    if (!e.template begins_packs<size>(before)) {
      walk<1, min_of(size, 8)>(block, 0, n, out, e);
      return;
    }
    const i64 head = min_of(before, n), packs = (n - head) / size;
    if (packs < many_packs)
      walk<size, 1>(block, head, packs, out, e);
    else
      walk<size, packs_in_flight<E>>(block, head, packs, out, e);
    if (block.index() == 0) {
      const i64 rest = n - head - packs * size;
      block.for_each(head + rest, [&](i64 i) FLAGGEMS_LAMBDA {
        several<1, 1>(i < head ? i : i + packs * size, 1, n, 0, out, e);
      });
    }
  }

 private:
  /// Steps of N elements from `first` on, a thread Count at a time.
  template <int Width, int Count, class Block>
  FLAGGEMS_INLINE static void walk(const Block& block, i64 first, i64 steps, global_ptr<T> out,
                                   const E& e) {
    const i64 threads = block.threads(), tile = threads * Count;
    for (i64 start = block.index() * tile; start < steps; start += block.count() * tile)
      several<Width, Count>(start + block.thread(), threads, steps, first, out, e);
  }
  /// Steps i, i + stride, ...: all are read before one is computed. What lies behind the last is
  /// read as the last, and not written.
  template <int Width, int Count>
  FLAGGEMS_INLINE static void several(i64 i, i64 stride, i64 steps, i64 first, global_ptr<T> out,
                                      const E& e) {
    several<Width>(i, stride, steps, first, out, e, make_int_sequence<Count>{});
  }
  // (Functors in rows need neither a default constructor nor an assignment.)
  template <int Width, int... U>
  FLAGGEMS_INLINE static void several(i64 i, i64 stride, i64 steps, i64 first, global_ptr<T> out,
                                      const E& e, int_sequence<U...>) {
    constexpr int Count = sizeof...(U);
    const decltype(copy_of(e.template fetch<Width, 0>(flat_place{0}))) rows[Count] = {
        e.template fetch<Width, 0>(
            flat_place{first + min_of(i + U * stride, steps - 1) * Width})...};
    FLAGGEMS_CHIP_UNROLL
    for (int u = 0; u < Count; ++u)
      if (i + u * stride < steps)
        store_pack<Width>(out + first + (i + u * stride) * Width,
                          pack_of_values<T, Width>(rows[u]));
  }
};

/// Division by a number that does not change, of what is less than 2^31: a multiplication.
struct divider {
  u32 divisor, factor, shift;
  FLAGGEMS_INLINE u32 quotient(u32 n) const {
    return (static_cast<u32>((static_cast<u64>(n) * factor) >> 32) + n) >> shift;
  }
};

/// An iteration space of fewer than 2^31 elements, whose operands reach less than 2^31 elements
/// from their first one. `sizes` are those of all dimensions but the outermost.
struct strided_space {
  int rank;     // 1 at least
  bool packed;  // steps are packs: all operands have them along the inner dimension
  u32 steps;
  divider sizes[max_rank];
};

/// The offsets of `Operands` tensors at one step.
template <int Operands>
struct strided_place {
  int inner;
  i32 at[Operands];
  template <int K>
  FLAGGEMS_INLINE i64 offset() const {
    return at[K];
  }
  template <int K>
  FLAGGEMS_INLINE void add(u32 steps, i64 stride) {
    at[K] = static_cast<i32>(static_cast<u32>(at[K]) + steps * static_cast<u32>(stride));
  }
};

/// Steps that a thread reads before it computes: packs, or single elements.
template <bool Packed>
inline constexpr int steps_in_flight = Packed ? 2 : 4;

/// out = e for operands of any strides.
template <class T, class E>
struct pointwise_strided {
  static constexpr int size = common_pack_size<T, E>;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const strided_space& space, const target<T>& out,
                                  const E& e) {
    if (space.packed)
      walk<size, steps_in_flight<true>>(block, space, out, e);
    else
      walk<1, steps_in_flight<false>>(block, space, out, e);
  }

 private:
  using place = strided_place<leaf_count<E> + 1>;  // the output behind the others

  template <int Width, int Count, class Block>
  FLAGGEMS_INLINE static void walk(const Block& block, const strided_space& space,
                                   const target<T>& out, const E& e) {
    const u32 threads = static_cast<u32>(block.threads()), tile = threads * Count;
    const u32 grid = static_cast<u32>(block.count()) * tile;
    for (u32 start = static_cast<u32>(block.index()) * tile; start < space.steps; start += grid)
      several<Width, Count>(start + static_cast<u32>(block.thread()), threads, space, out, e);
  }
  FLAGGEMS_INLINE static void advance(place& p, const target<T>& out, const E& e, int d,
                                      u32 steps) {
    e.template advance<0>(p, d, steps);
    p.template add<leaf_count<E>>(steps, out.strides[d]);
  }
  template <int Width, int Count>
  FLAGGEMS_INLINE static void several(u32 i, u32 stride, const strided_space& space,
                                      const target<T>& out, const E& e) {
    const int inner = space.rank - 1;
    u32 rest[Count];
    place places[Count];
    FLAGGEMS_CHIP_UNROLL
    for (int u = 0; u < Count; ++u) {
      rest[u] = min_of(i + static_cast<u32>(u) * stride, space.steps - 1);
      places[u] = {};
      places[u].inner = inner;
    }
    for (int d = inner; d > 0; --d) {
      const divider size = space.sizes[d];
      const u32 step = d == inner ? Width : 1;
      FLAGGEMS_CHIP_UNROLL
      for (int u = 0; u < Count; ++u) {
        const u32 next = size.quotient(rest[u]);
        advance(places[u], out, e, d, (rest[u] - next * size.divisor) * step);
        rest[u] = next;
      }
    }
    const u32 step = inner == 0 ? Width : 1;
    FLAGGEMS_CHIP_UNROLL
    for (int u = 0; u < Count; ++u) advance(places[u], out, e, 0, rest[u] * step);
    store_all<Width>(places, i, stride, space.steps, out, e, make_int_sequence<Count>{});
  }
  template <int Width, class Place, int Count, int... U>
  FLAGGEMS_INLINE static void store_all(const Place (&places)[Count], u32 i, u32 stride, u32 steps,
                                        const target<T>& out, const E& e, int_sequence<U...>) {
    const decltype(copy_of(e.template fetch<Width, 0>(places[0]))) rows[Count] = {
        e.template fetch<Width, 0>(places[U])...};
    FLAGGEMS_CHIP_UNROLL
    for (int u = 0; u < Count; ++u)
      if (i + static_cast<u32>(u) * stride < steps)
        store_pack<Width>(out.data + places[u].template offset<leaf_count<E>>(),
                          pack_of_values<T, Width>(rows[u]));
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/pointwise_chip.hpp");
