// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Discrete Fourier transforms after Stockham: each stage takes a factor of the length, and leaves
// the results in order.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// exp(-2 pi i k / n) for 0 <= k <= n, in f64: the angle is reduced to an eighth of the circle
/// first, exactly.
template <class V>
FLAGGEMS_INLINE complex<V> root_of_unity(FLAGGEMS_VALUE(V) k, f64 n) {
  const V quarter = round(V(k * V(4 / n)));
  const V angle = (k * V(4.0) - quarter * V(n)) * V(1.57079632679489661923 / n);
  const V c = cos_of_remainder(angle, V(0.0)), s = sin_of_remainder(angle, V(0.0));
  using mask = mask_of<V>;
  const mask first = quarter == V(1.0), second = quarter == V(2.0), third = quarter == V(3.0);
  const mask odd = mask(first | third);
  const V re = select(odd, s, c), im = select(odd, c, s);
  return {select(mask(first | second), V(-re), re), select(mask(second | third), im, V(-im))};
}

/// roots[k] = exp(-2 pi i k / n).
template <class C>
struct fourier_roots {
  static constexpr i64 tile = 256;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 n, global_ptr<complex<C>> roots) {
    block.for_each_tile(ceil_div(n, tile), [&](i64 t) FLAGGEMS_LAMBDA {
      block.for_each(min_of(tile, n - t * tile), [&](i64 i) FLAGGEMS_LAMBDA {
        const i64 k = t * tile + i;
        const complex<f64> root = root_of_unity(static_cast<f64>(k), static_cast<f64>(n));
        roots[k] = complex<C>(static_cast<C>(root.re), static_cast<C>(root.im));
      });
    });
  }
};

/// The least factor of n > 1 that is a prime, but 4 where that divides n.
FLAGGEMS_INLINE constexpr i64 least_factor(i64 n) {
  if (n % 4 == 0) return 4;
  for (i64 k = 2; k * k <= n; ++k)
    if (n % k == 0) return k;
  return n;
}

/// out[k] = scale * the sum over j of x[j] roots[j k], for rows of n elements; x has the
/// first `given`, and the others count as 0. A row costs n operations for each factor, times the
/// factor.
template <class T, class C>
struct fourier {
  using Z = complex<C>;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 n, i64 given, row_arg<T> from,
                                  row_target<Z> out, global_ptr<const Z> roots, C scale) {
    auto one = block.template scratch<Z>(n);
    auto other = block.template scratch<Z>(n);
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto x = from.at(c);
      const auto to = out.at(c);
      block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
        Z value(C(0), C(0));
        if (i < given) {
          if constexpr (is_complex<T>)
            value = x.data[i * x.stride];
          else
            value.re = x.data[i * x.stride];
        }
        one.write(i, value);
      });
      block.sync();
      bool in_one = true;
      // `rest` elements at a time, `step` apart, are still to be transformed.
      for (i64 rest = n, step = 1; rest > 1;) {
        const i64 factor = least_factor(rest);
        const auto& source = in_one ? one : other;
        const auto& result = in_one ? other : one;
        if (n >> 31 == 0)  // division of 32 bits takes a fraction of the time
          stage<u32>(block, n, rest, step, factor, source, result, roots);
        else
          stage<u64>(block, n, rest, step, factor, source, result, roots);
        block.sync();
        in_one = !in_one;
        rest /= factor;
        step *= factor;
      }
      const auto& done = in_one ? one : other;
      block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
        const Z value = done.read(i);
        to.data[i * to.stride] = Z(value.re * scale, value.im * scale);
      });
      block.sync();  // before the next row is put there
    });
  }

 private:
  template <class J, class Block, class Array>
  FLAGGEMS_INLINE static void stage(Block& block, i64 n, i64 of_rest, i64 of_step, i64 of_factor,
                                    const Array& from, const Array& to, global_ptr<const Z> roots) {
    const J rest = static_cast<J>(of_rest), step = static_cast<J>(of_step),
            factor = static_cast<J>(of_factor), part = rest / factor;
    if (factor == 4 || factor == 2) return butterflies(block, step, part, factor, from, to, roots);
    block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
      // i = q + step * (j + factor * p): output j of the transform of elements p + part * k.
      const J group = static_cast<J>(i) / step, q = static_cast<J>(i) - group * step;
      const J p = group / factor, j = group - p * factor;
      // Roots of order `rest` are each (n / rest)-th one; p j and part j are less than it.
      const J by = part * j * step;
      J at = p * j * step, element = q + step * p;
      Z sum(C(0), C(0));
      for (J k = 0; k < factor; ++k) {
        sum = sum + from.read(static_cast<i64>(element)) * roots[at];
        element += step * part;
        at += by;
        if (at >= static_cast<J>(n)) at -= static_cast<J>(n);
      }
      to.write(i, sum);
    });
  }
  /// The same for a factor of 4 or 2: all its outputs at once, whose inner roots are 1, -i, -1, i.
  template <class J, class Block, class Array>
  FLAGGEMS_INLINE static void butterflies(Block& block, J step, J part, J factor, const Array& from,
                                          const Array& to, global_ptr<const Z> roots) {
    const J apart = step * part;
    block.for_each(static_cast<i64>(apart), [&](i64 i) FLAGGEMS_LAMBDA {
      const J p = static_cast<J>(i) / step, q = static_cast<J>(i) - p * step;
      const auto x = [&](J k) FLAGGEMS_LAMBDA {
        return from.read(static_cast<i64>(static_cast<J>(i) + k * apart));
      };
      const auto put = [&](J j, Z value) FLAGGEMS_LAMBDA {
        to.write(static_cast<i64>(q + step * (j + factor * p)), value);
      };
      const Z one = roots[p * step];
      if (factor == 2) {
        const Z a = x(0), b = x(1);
        put(0, a + b);
        put(1, Z(a.re - b.re, a.im - b.im) * one);
        return;
      }
      const Z a = x(0), b = x(1), c = x(2), d = x(3);
      const Z even = a + c, odd = b + d;
      const C u = a.re - c.re, v = a.im - c.im, s = b.im - d.im, t = d.re - b.re;  // -i (b - d)
      put(0, even + odd);
      put(1, Z(u + s, v + t) * one);
      put(2, Z(even.re - odd.re, even.im - odd.im) * roots[2 * p * step]);
      put(3, Z(u - s, v - t) * roots[3 * p * step]);
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/transform/fourier.hpp");
