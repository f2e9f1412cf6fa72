// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Pointwise operators on SIMT devices: a thread loads several vectors of 16 bytes before it
// computes, so that enough loads are pending to saturate memory. Offsets have 32 bits, and
// coordinates are computed by multiplications.
#pragma once

#include <flaggems/kernel/family/pointwise/pointwise.hpp>
#include <flaggems/kernel/lang/divider.hpp>

namespace flaggems::kernels {

/// The vector size of out = e: 16 bytes of the largest element type.
template <class T, class E>
inline constexpr int common_vec_size = 16 / max_of(static_cast<int>(sizeof(T)), largest_item<E>);
/// How many vectors a thread of many loads before it computes; formulas of few instructions gain
/// nothing.
template <class T, class E>
inline constexpr int vectors_per_thread = is_brief<E> ? 1 : 2;

/// Whether a formula reads only 16-bit floats. If its result is one too, narrow functions suffice:
/// evaluated operator by operator, each result would be rounded to 16 bits.
template <class E>
inline constexpr bool is_of_small_floats = false;
template <class T, class C, int Width>
inline constexpr bool is_of_small_floats<fetched<T, C, Width>> = is_small_float<T>;
template <class C>
inline constexpr bool is_of_small_floats<literal<C>> = true;
template <class R, class F, class... E>
inline constexpr bool is_of_small_floats<node<R, F, E...>> = is_same<R, f32> &&
                                                             (is_of_small_floats<E> && ...);

// By value: OpenCL would deduce address spaces from references, and choose others for them.

/// The values of a formula for a vector's elements, function by function.
template <class C, int Width>
struct vec_values {
  C at[Width];
};

/// f for each; `Narrow`: its narrow form. One branch of f for all elements, so that their
/// instructions interleave.
template <bool Narrow, class R, int Width, class F, class... C>
FLAGGEMS_INLINE vec_values<R, Width> for_values(F f, vec_values<C, Width>... x) {
  return with_choice(f, [x...](auto chosen) FLAGGEMS_LAMBDA {
    vec_values<R, Width> r;
    if constexpr (Narrow && has_attempt<decltype(narrow_form(chosen))>) {
      bool succeed = true;
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < Width; ++k)
        r.at[k] = as_result<R>(narrow_form(chosen).attempt(x.at[k]..., succeed));
      if (succeed) return r;
    }
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; ++k) {
      if constexpr (Narrow)
        r.at[k] = as_result<R>(narrow_form(chosen)(x.at[k]...));
      else
        r.at[k] = as_result<R>(chosen(x.at[k]...));
    }
    return r;
  });
}
template <bool Narrow, class R, int Width>
FLAGGEMS_INLINE vec_values<R, Width> for_values(gelu_and_mul_fn f, vec_values<R, Width> x,
                                                vec_values<R, Width> y) {
  return for_values<Narrow, R>(mul_fn{}, for_values<Narrow, R>(f.gelu, x), y);
}

/// Of places, by groups where these are consecutive.
template <class R, int Width, class F>
FLAGGEMS_INLINE vec_values<R, Width> for_groups(F f, vec_values<i64, Width> place) {
  if constexpr (Width % F::group == 0) {
    const bool in_order = place.at[Width - 1] - place.at[0] == Width - 1;
    if (in_order && place.at[0] % F::group == 0) {
      vec_values<R, Width> r;
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < Width; k += F::group) {
        const auto shared = f.shared_by(place.at[k]);
        FLAGGEMS_SIMT_UNROLL
        for (int j = 0; j < F::group; ++j) r.at[k + j] = as_result<R>(f.of(shared, j));
      }
      return r;
    }
  }
  vec_values<R, Width> r;
  FLAGGEMS_SIMT_NO_UNROLL
  for (int k = 0; k < Width; ++k) r.at[k] = as_result<R>(f(place.at[k]));
  return r;
}

template <bool Narrow, int Width, class E>
FLAGGEMS_INLINE vec_values<typename E::value_type, Width> values_of(E leaf) {
  vec_values<typename E::value_type, Width> r;
  FLAGGEMS_SIMT_UNROLL
  for (int k = 0; k < Width; ++k) r.at[k] = leaf.load(lane_scalar{k});
  return r;
}
template <bool Narrow, int Width, class T, class C>
FLAGGEMS_INLINE vec_values<C, Width> values_of(fetched<T, C, Width> leaf) {
  vec_values<C, Width> r;
  unpack<C>(leaf.elements(), r.at);
  return r;
}
template <bool Narrow, int Width, class R, class F, class A>
FLAGGEMS_INLINE vec_values<R, Width> values_of(node<R, F, A> e) {
  if constexpr (has_group_form<F>)
    return for_groups<R>(e.f, values_of<Narrow, Width>(e.a));
  else
    return for_values<Narrow, R>(e.f, values_of<Narrow, Width>(e.a));
}
template <bool Narrow, int Width, class R, class F, class A, class B>
FLAGGEMS_INLINE vec_values<R, Width> values_of(node<R, F, A, B> e) {
  return for_values<Narrow, R>(e.f, values_of<Narrow, Width>(e.a), values_of<Narrow, Width>(e.b));
}
template <bool Narrow, int Width, class R, class F, class A, class B, class D>
FLAGGEMS_INLINE vec_values<R, Width> values_of(node<R, F, A, B, D> e) {
  return for_values<Narrow, R>(e.f, values_of<Narrow, Width>(e.a), values_of<Narrow, Width>(e.b),
                               values_of<Narrow, Width>(e.d));
}

/// The values of Width fetched elements as T.
template <class T, int Width, class E>
FLAGGEMS_INLINE vec<T, Width> vec_of_values(E e) {
  constexpr bool is_narrow = is_small_float<T> && is_of_small_floats<E>;
  const auto values = values_of<is_narrow, Width>(e);
  vec<T, Width> r;
  FLAGGEMS_SIMT_UNROLL
  for (int k = 0; k < Width; ++k) r.at[k] = number_cast<T>(values.at[k]);
  return r;
}

/// Elements that already are a vector.
template <class T, int Width>
FLAGGEMS_INLINE vec<T, Width> vec_of_values(fetched<T, T, Width> e) {
  return e.elements();
}

/// The place where all operands have the same offset. `Across`: operands may be misaligned.
template <bool Across>
struct flat_place {
  static constexpr bool is_across = Across;
  static constexpr int inner = 0;
  i64 at;
  template <int K>
  FLAGGEMS_INLINE i64 offset() const {
    return at;
  }
};

/// How the operands of a formula are aligned to the output: all are, or some are misaligned.
enum class operand_vectors { aligned, misaligned };

/// out = e for n elements of contiguous tensors, as pointwise_flat, aligned to the output; the
/// first block computes head and tail element by element. A `misaligned` operand is assembled from
/// two adjacent vectors, both of which must exist.
// The vector formula is instantiated once, as it dominates compile time. From Many vectors on a
// thread takes several: with fewer, more threads finish sooner.
template <class T, class E, operand_vectors Others, i64 Many>
struct pointwise_vectors {
  static constexpr int size = common_vec_size<T, E>;
  static constexpr bool awaits_earlier = true;

  /// Whether all operands share the output's alignment.
  FLAGGEMS_INLINE static bool fits(global_ptr<T> out, const E& e) {
    return e.template are_vec_aligned<size>(before(out));
  }
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 n, global_ptr<T> out, const E& e) {
    constexpr int margin = Others == operand_vectors::misaligned && size > 1 ? size : 0;
    const i64 head = min_of(before(out) + margin, n), rest = n - head;
    const i64 vectors = (margin > 0 && rest < margin ? 0 : rest - margin) / size;
    const i64 inside = vectors * size;
    const i64 threads = block.threads();
    const i64 tile = vectors < Many ? threads : threads * vectors_per_thread<T, E>;
    for (i64 start = block.index() * tile; start < vectors; start += block.count() * tile) {
      const i64 i = start + block.thread();
      block.await_earlier();
      if (i >= vectors) continue;
      if constexpr (vectors_per_thread<T, E> == 1)
        store_vec<size>(out + (head + i * size),
                        vec_of_values<T, size>(read<size>(e, head + i * size)));
      else
        two(head + i * size, i + threads < min_of(start + tile, vectors), threads * size, out, e);
    }
    if (block.index() > 0) return;
    block.await_earlier();
    for (int k = block.thread(); k < n - inside; k += block.threads()) {
      const i64 i = k < head ? k : k + inside;
      store_vec<1>(out + i, vec_of_values<T, 1>(read<1>(e, i)));
    }
  }

 private:
  /// The elements before the first aligned vector of the output.
  FLAGGEMS_INLINE static i64 before(global_ptr<T> out) {
    return static_cast<i64>((0 - reinterpret_cast<u64>(out) / sizeof(T)) % size);
  }
  template <int Width>
  FLAGGEMS_INLINE static auto read(const E& e, i64 i) {
    return e.template fetch<Width, 0, false>(flat_place<Others == operand_vectors::misaligned>{i});
  }
  /// Computes the vector at element i and, if it `goes_on`, the one `spacing` further, loaded
  /// before the first is computed. (As words: functors need neither a default constructor nor
  /// assignment.)
  FLAGGEMS_INLINE static void two(i64 i, bool goes_on, i64 spacing, global_ptr<T> out, const E& e) {
    using row = decltype(read<size>(e, i));
    using word = conditional<sizeof(row) % 4 == 0, u32, unsigned char>;
    struct words {
      alignas(row) alignas(word) word at[sizeof(row) / sizeof(word)];
    };
    words now = bit_cast<words>(read<size>(e, i)), next{};
    if (goes_on) next = bit_cast<words>(read<size>(e, i + spacing));
    FLAGGEMS_SIMT_NO_UNROLL
    for (u32 left = 1 + goes_on; left > 0; --left) {
      store_vec<size>(out + i, vec_of_values<T, size>(bit_cast<row>(now)));
      now = next;
      i += spacing;
    }
  }
};

/// An iteration space of fewer than 2^31 elements, whose operands span less than 2^31 elements.
/// `sizes` are those of all dimensions but the outermost.
struct strided_space {
  /// A dimension: the threads' coordinates in it, and elements per coordinate.
  struct dimension {
    divider size;
    u32 unit;
  };
  bool vectorized;  // steps are vectors along the inner dimension
  bool has_splat;   // and some operands are broadcast along it
  // Thread coarsening: a thread computes its offsets once and takes several steps along dimension
  // `shared`, `spacing` elements apart, within `length`.
  int inner, shared;
  u32 spacing, length;
  u32 threads;  // that the space takes
  dimension dimensions[max_rank];
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

/// Steps that a thread loads before it computes: vectors or single elements.
FLAGGEMS_INLINE constexpr int steps_per_thread(bool vectorized) { return vectorized ? 2 : 4; }

/// Calls f(first, left) for each of a block's threads: the place of its first step, to which
/// advance(place, d, n) goes n elements along d, and how far its steps reach along space.shared.
template <class Place, class Block, class Advance, class F>
FLAGGEMS_INLINE void for_each_first_step(Block& block, const strided_space& space,
                                         const Advance& advance, const F& f) {
  const u32 threads = static_cast<u32>(block.threads());
  const u32 grid = static_cast<u32>(block.count()) * threads;
  FLAGGEMS_SIMT_NO_UNROLL
  for (u32 start = static_cast<u32>(block.index()) * threads; start < space.threads;
       start += grid) {
    const u32 i = start + static_cast<u32>(block.thread());
    Place first{};
    first.inner = space.inner;
    u32 rest = min_of(i, space.threads - 1), begin = 0;
    int d = space.inner;
    FLAGGEMS_SIMT_NO_UNROLL
    do {
      const auto& dimension = space.dimensions[d];
      const u32 next = dimension.size.quotient(rest);
      const u32 at = (rest - next * dimension.size.divisor) * dimension.unit;
      rest = next;
      if (d == space.shared) begin = at;
      advance(first, d, at);
    } while (--d >= 0);
    f(first, i < space.threads ? space.length - begin : 0);
  }
}

/// out = e for operands of any strides.
template <class T, class E>
struct pointwise_strided {
  static constexpr int size = common_vec_size<T, E>;
  static constexpr bool awaits_earlier = true;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const strided_space& space, const target<T>& out,
                                  const E& e) {
    for_each_first_step<place>(
        block, space,
        [&](place& p, int d, u32 steps) FLAGGEMS_LAMBDA { advance(p, out, e, d, steps); },
        [&](const place& first, u32 left) FLAGGEMS_LAMBDA {
          if (space.vectorized)
            several<size>(block, first, left, space, out, e,
                          make_int_sequence<steps_per_thread(true)>{});
          else
            several<1>(block, first, left, space, out, e,
                       make_int_sequence<steps_per_thread(false)>{});
        });
  }

 private:
  using place = strided_place<leaf_count<E> + 1>;  // the output last

  FLAGGEMS_INLINE static void advance(place& p, const target<T>& out, const E& e, int d,
                                      u32 steps) {
    e.template advance<0>(p, d, steps);
    p.template add<leaf_count<E>>(steps, out.strides[d]);
  }
  /// Vectors or single elements, from `first` on.
  template <int Width, class Block, int... U>
  FLAGGEMS_INLINE static void several(const Block& block, const place& first, u32 left,
                                      const strided_space& space, const target<T>& out, const E& e,
                                      int_sequence<U...>) {
    constexpr int count = sizeof...(U);
    const auto exists = [&](u32 u) FLAGGEMS_LAMBDA { return u * space.spacing < left; };
    // Steps past the end load the first element again, and store nothing.
    place places[count] = {(static_cast<void>(U), first)...};
    FLAGGEMS_SIMT_UNROLL
    for (u32 u = 1; u < count; ++u)
      advance(places[u], out, e, space.shared, exists(u) ? u * space.spacing : 0);
    block.await_earlier();
    using row = decltype(copy_of(e.template fetch<Width, 0, false>(first)));
    struct rows {
      row at[count];
    };
    const rows read = Width > 1 && space.has_splat
                          ? rows{{e.template fetch<Width, 0, (Width > 1)>(places[U])...}}
                          : rows{{e.template fetch<Width, 0, false>(places[U])...}};
    FLAGGEMS_SIMT_UNROLL
    for (u32 u = 0; u < count; ++u)
      if (exists(u))
        store_vec<Width>(out.data + places[u].template offset<leaf_count<E>>(),
                         vec_of_values<T, Width>(read.at[u]));
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/simt/pointwise.hpp");
