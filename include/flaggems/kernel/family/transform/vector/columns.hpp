// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Fourier transforms of vectors: each lane has a transform of its own, so that a stage after
// Stockham is the scalar algorithm, without shuffles. Callers bring lines into lanes.
#pragma once

#include <flaggems/kernel/block/vector/outlined.hpp>
#include <flaggems/kernel/family/transform/fourier.hpp>
#include <flaggems/kernel/lang/vector/scalars.hpp>

namespace flaggems::kernels {

/// The vectors of transforms in C: one register. (`simd` has as many lanes of f64 as of f32.)
template <class C, class Isa>
using fourier_isa =
    conditional<is_same<C, f64>, conditional<Isa::bytes == 64, isa_avx2, isa_baseline>, Isa>;

/// Their lanes, where a level has so many of f32.
template <class C>
FLAGGEMS_HOST_INLINE i64 fourier_width(i64 lanes) {
  return is_same<C, f64> ? max_of(i64(isa_baseline::lanes), lanes / 2) : lanes;
}

/// a * b.
template <class V>
FLAGGEMS_HOST_INLINE complex<V> turned(const complex<V>& a, const complex<V>& b) {
  return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}
/// -i z.
template <class V>
FLAGGEMS_HOST_INLINE complex<V> quarter_turned(const complex<V>& z) {
  return {z.im, -z.re};
}
/// *p in every lane.
template <class V, class C>
FLAGGEMS_HOST_INLINE V spread_part(const C* p) {
  using Isa = typename V::isa;
  if constexpr (is_same<Isa, isa_baseline>) return spread_from<C, Isa>(p);
  V r;
  broadcast_from(r.v, p);
  return r;
}
template <class V, class C>
FLAGGEMS_HOST_INLINE complex<V> spread_root(const complex<C>* p) {
  return {spread_part<V>(&p->re), spread_part<V>(&p->im)};
}

/// The transform of Radix vectors, in place: 2, 4, 8, or an odd number.
template <class V, int Radix>
class fourier_butterfly {
  using Z = complex<V>;
  using C = element_of<V>;

 public:
  /// `roots`: of order Radix, `apart` from each other.
  FLAGGEMS_HOST_INLINE fourier_butterfly(const complex<C>* roots, i64 apart) {
    if constexpr (Radix % 2 != 0) {
      FLAGGEMS_UNROLL
      for (int k = 1; k <= pairs; ++k) {
        cos_[k] = spread_part<V>(&roots[k * apart].re);
        minus_sin_[k] = spread_part<V>(&roots[k * apart].im);
      }
    }
  }

  FLAGGEMS_HOST_INLINE void operator()(Z (&x)[Radix]) const {
    if constexpr (Radix == 2)
      twos(x[0], x[1]);
    else if constexpr (Radix == 4)
      four(x[0], x[1], x[2], x[3]);
    else if constexpr (Radix == 8)
      eight(x);
    else
      by_pairs(x);
  }

 private:
  static constexpr int pairs = Radix / 2;

  FLAGGEMS_HOST_INLINE static void twos(Z& a, Z& b) {
    const Z rest = a - b;
    a = a + b;
    b = rest;
  }
  FLAGGEMS_HOST_INLINE static void four(Z& a, Z& b, Z& c, Z& d) {
    const Z even = a + c, odd = b + d, first = a - c, second = quarter_turned(b - d);
    a = even + odd;
    b = first + second;
    c = even - odd;
    d = first - second;
  }
  FLAGGEMS_HOST_INLINE static void eight(Z (&x)[Radix]) {
    four(x[0], x[2], x[4], x[6]);
    four(x[1], x[3], x[5], x[7]);
    const V root(C(0.70710678118654752440));
    const Z second((x[3].re + x[3].im) * root, (x[3].im - x[3].re) * root);
    const Z third = quarter_turned(x[5]);
    const Z fourth((x[7].im - x[7].re) * root, -(x[7].re + x[7].im) * root);
    const Z first = x[1], a = x[0], b = x[2], c = x[4], d = x[6];
    x[0] = a + first, x[4] = a - first;
    x[1] = b + second, x[5] = b - second;
    x[2] = c + third, x[6] = c - third;
    x[3] = d + fourth, x[7] = d - fourth;
  }
  /// Elements k and Radix - k have conjugate roots: of their sum the cosines count, of their
  /// difference the sines.
  FLAGGEMS_HOST_INLINE void by_pairs(Z (&x)[Radix]) const {
    Z sum[pairs + 1], difference[pairs + 1], total = x[0];
    FLAGGEMS_UNROLL
    for (int k = 1; k <= pairs; ++k) {
      sum[k] = x[k] + x[Radix - k];
      difference[k] = x[k] - x[Radix - k];
      total = total + sum[k];
    }
    FLAGGEMS_UNROLL
    for (int j = 1; j <= pairs; ++j) {
      Z even = x[0], odd(V(C(0)), V(C(0)));
      FLAGGEMS_UNROLL
      for (int k = 1; k <= pairs; ++k) {
        const int at = j * k % Radix;
        const bool back = at > pairs;
        const V& c = cos_[back ? Radix - at : at];
        const V& s = minus_sin_[back ? Radix - at : at];
        even = Z(fma(sum[k].re, c, even.re), fma(sum[k].im, c, even.im));
        const V by = back ? -s : s;
        odd = k == 1 ? Z(difference[k].re * by, difference[k].im * by)
                     : Z(fma(difference[k].re, by, odd.re), fma(difference[k].im, by, odd.im));
      }
      x[j] = Z(even.re - odd.im, even.im + odd.re);
      x[Radix - j] = Z(even.re + odd.im, even.im - odd.re);
    }
    x[0] = total;
  }

  V cos_[pairs + 1], minus_sin_[pairs + 1];  // of an odd Radix
};

/// Transforms of n vectors, each lane by itself.
template <class V>
class fourier_columns {
  using Z = complex<V>;
  using C = element_of<V>;

 public:
  /// `roots`: all n of order n.
  FLAGGEMS_HOST_INLINE fourier_columns(i64 n, const complex<C>* roots) : n_(n), roots_(roots) {}

  /// The transform of `from`, in one of the three arrays of n: stages go from `from` to `one`, and
  /// then between `one` and `other`, which may be `from`. All may be overwritten.
  FLAGGEMS_HOST_INLINE Z* operator()(Z* from, Z* one, Z* other) const {
    for (i64 rest = n_, step = 1; rest > 1;) {
      const i64 radix = next_radix(rest);
      rest /= radix;
      stage(radix, step, rest, from, one);
      step *= radix;
      Z* const next = step == radix ? other : from;
      from = one;
      one = next;
    }
    return from;
  }

 private:
  /// A factor of `rest`: as many eights as the others, fours or a two, leave.
  FLAGGEMS_HOST_INLINE static i64 next_radix(i64 rest) {
    const int twos = __builtin_ctzll(static_cast<u64>(rest));
    if (twos == 0) return least_factor(rest);
    return twos % 3 == 0 ? 8 : twos == 1 ? 2 : 4;
  }

  FLAGGEMS_HOST_INLINE void stage(i64 radix, i64 step, i64 part, Z* from, Z* to) const {
    switch (radix) {
      case 2: return stage_of<2>(step, part, from, to);
      case 3: return stage_of<3>(step, part, from, to);
      case 4: return stage_of<4>(step, part, from, to);
      case 5: return stage_of<5>(step, part, from, to);
      case 7: return stage_of<7>(step, part, from, to);
      case 8: return stage_of<8>(step, part, from, to);
      default: return stage_of_prime(radix, step, part, from, to);
    }
  }

  /// Output j of elements q + step * (p + part * k), for k < Radix, times root p j of order
  /// part * Radix, comes to q + step * (j + Radix * p).
  template <int Radix>
  FLAGGEMS_HOST_INLINE void stage_of(i64 step, i64 part, const Z* from, Z* to) const {
    const fourier_butterfly<V, Radix> butterfly(roots_, n_ / Radix);
    const i64 apart = step * part;
    for (i64 q = 0; q < step; ++q) {  // p = 0, whose roots are 1
      Z x[Radix];
      FLAGGEMS_UNROLL
      for (int k = 0; k < Radix; ++k) x[k] = from[q + k * apart];
      butterfly(x);
      FLAGGEMS_UNROLL
      for (int j = 0; j < Radix; ++j) to[q + j * step] = x[j];
    }
    for (i64 p = 1; p < part; ++p) {
      from += step;
      to += step * Radix;
      Z by[Radix];
      FLAGGEMS_UNROLL
      for (int j = 1; j < Radix; ++j) by[j] = spread_root<V>(roots_ + j * p * step);
      for (i64 q = 0; q < step; ++q) {
        Z x[Radix];
        FLAGGEMS_UNROLL
        for (int k = 0; k < Radix; ++k) x[k] = from[q + k * apart];
        butterfly(x);
        to[q] = x[0];
        FLAGGEMS_UNROLL
        for (int j = 1; j < Radix; ++j) to[q + j * step] = turned(x[j], by[j]);
      }
    }
  }

  /// The same of a prime without code of its own. Sums and differences take the place of the
  /// elements.
  FLAGGEMS_HOST_INLINE void stage_of_prime(i64 radix, i64 step, i64 part, Z* from, Z* to) const {
    const i64 apart = step * part, pairs = radix / 2;
    for (i64 p = 0; p < part; ++p)
      for (i64 q = 0; q < step; ++q) {
        Z* const x = from + q + step * p;
        Z* const result = to + q + step * radix * p;
        Z total = x[0];
        for (i64 k = 1; k <= pairs; ++k) {
          Z &low = x[k * apart], &high = x[(radix - k) * apart];
          const Z sum = low + high, difference = low - high;
          total = total + sum;
          low = sum, high = difference;
        }
        result[0] = total;
        i64 j = 1;
        for (; j + 4 <= pairs + 1; j += 4) outputs<4>(j, p, radix, step, apart, x, result);
        for (; j <= pairs; ++j) outputs<1>(j, p, radix, step, apart, x, result);
      }
  }
  /// Outputs j and radix - j, and as many after them.
  template <int Count>
  FLAGGEMS_HOST_INLINE void outputs(i64 j, i64 p, i64 radix, i64 step, i64 apart, const Z* x,
                                    Z* result) const {
    const i64 scale = n_ / radix;
    Z even[Count], odd[Count];
    i64 at[Count];
    FLAGGEMS_UNROLL
    for (int e = 0; e < Count; ++e) {
      even[e] = x[0];
      odd[e] = Z(V(C(0)), V(C(0)));
      at[e] = 0;
    }
    for (i64 k = 1; k <= radix / 2; ++k) {
      const Z sum = x[k * apart], difference = x[(radix - k) * apart];
      FLAGGEMS_UNROLL
      for (int e = 0; e < Count; ++e) {
        at[e] += j + e;
        if (at[e] >= radix) at[e] -= radix;
        const Z root = spread_root<V>(roots_ + at[e] * scale);
        even[e] = Z(fma(sum.re, root.re, even[e].re), fma(sum.im, root.re, even[e].im));
        odd[e] = Z(fma(difference.re, root.im, odd[e].re), fma(difference.im, root.im, odd[e].im));
      }
    }
    FLAGGEMS_UNROLL
    for (int e = 0; e < Count; ++e) {
      const i64 k = j + e;
      const Z low(even[e].re - odd[e].im, even[e].im + odd[e].re);
      const Z high(even[e].re + odd[e].im, even[e].im - odd[e].re);
      result[k * step] = turned(low, spread_root<V>(roots_ + k * p * step));
      result[(radix - k) * step] = turned(high, spread_root<V>(roots_ + (radix - k) * p * step));
    }
  }

  i64 n_;
  const complex<C>* roots_;
};

/// fourier_columns, compiled once for what needs it.
template <class C>
struct fourier_transform_columns {
  struct arguments {
    i64 n;
    const complex<C>* roots;
    void *from, *one, *other;
    void** done;
  };
  template <class Level>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    using V = simd<C, fourier_isa<C, Level>>;
    using Z = complex<V>;
    *p.done = fourier_columns<V>(p.n, p.roots)(static_cast<Z*>(p.from), static_cast<Z*>(p.one),
                                               static_cast<Z*>(p.other));
  }
};
template <class Level, class V, class C>
FLAGGEMS_HOST_INLINE const complex<V>* transform_columns(i64 n, const complex<C>* roots,
                                                         complex<V>* from, complex<V>* one,
                                                         complex<V>* other) {
  using part = fourier_transform_columns<C>;
  void* done;
  outlined<Level>::template call<part>(typename part::arguments{n, roots, from, one, other, &done});
  return static_cast<const complex<V>*>(done);
}

/// The numbers of two vectors in turn, `Width` at a time, of the first halves (High: the second) of
/// each 16 bytes.
template <int Width, bool High, class V, int... K>
FLAGGEMS_HOST_INLINE V in_turn(const V& a, const V& b, int_sequence<K...>) {
  constexpr int unit = 16 / static_cast<int>(sizeof(element_of<V>));
  return V(FLAGGEMS_SHUFFLE(a.v, b.v,
                            (K - K % unit + (High ? unit / 2 : 0) + K % unit / Width / 2 * Width +
                             K % Width + K % unit / Width % 2 * V::lanes)...));
}
/// The lanes without `Span` in their number of two vectors (High: those with it), Span at a time.
template <int Span, bool High, class V, int... K>
FLAGGEMS_HOST_INLINE V by_spans(const V& a, const V& b, int_sequence<K...>) {
  constexpr int lanes = V::lanes;
  return V(FLAGGEMS_SHUFFLE(
      a.v, b.v, ((K & Span) == 0 ? K + (High ? Span : 0) : K + lanes - (High ? 0 : Span))...));
}
/// Lane k of vector i = lane i of vector k, from squares of `Span` on.
template <int Span = 1, class V, int Lanes>
FLAGGEMS_HOST_INLINE void transpose_lanes(V (&x)[Lanes]) {
  if constexpr (Span < Lanes) {
    constexpr make_int_sequence<Lanes> all{};
    V next[Lanes];
    FLAGGEMS_UNROLL
    for (int k = 0; k < Lanes; ++k) {
      const int in_square = k % Span, square = k - k % (2 * Span);
      if (k % (2 * Span) >= Span) continue;
      const V &a = x[k], &b = x[k + Span];
      if constexpr (Span * sizeof(element_of<V>) < 16) {
        next[square + 2 * in_square] = in_turn<Span, false>(a, b, all);
        next[square + 2 * in_square + 1] = in_turn<Span, true>(a, b, all);
      } else {
        next[k] = by_spans<Span, false>(a, b, all);
        next[k + Span] = by_spans<Span, true>(a, b, all);
      }
    }
    FLAGGEMS_UNROLL
    for (int k = 0; k < Lanes; ++k) x[k] = next[k];
    transpose_lanes<2 * Span>(x);
  }
}

/// `count` complex numbers at p, as read_complex and write_complex (lang/vector/lanes.hpp), and
/// without masks if they fill the lanes.
template <class V, class C>
FLAGGEMS_HOST_INLINE complex<V> read_numbers(const complex<C>* p, i64 count) {
  if (count < V::lanes) return read_complex<C, typename V::isa>(p, static_cast<int>(count));
  return read_complex<C, typename V::isa>(p);
}
template <class V, class C>
FLAGGEMS_HOST_INLINE void write_numbers(complex<C>* p, const complex<V>& z, i64 count) {
  if (count < V::lanes) return write_complex(p, z, static_cast<int>(count));
  write_complex(p, z);
}

}  // namespace flaggems::kernels
