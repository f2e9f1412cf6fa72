// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The Poisson distribution, which takes as many random numbers as chance has it: an element has a
// sequence of blocks of its own, with the trial in the counter's third word.
#pragma once

#include <flaggems/kernel/family/random/draw.hpp>

namespace flaggems::kernels {

/// log(k!) for k >= 0, by Stirling's series at k + 8; V: values of f64.
template <class V>
FLAGGEMS_INLINE V log_factorial(FLAGGEMS_VALUE(V) k) {
  V product(1.0), x = k;
  for (int j = 0; j < 8; ++j) {
    x = x + V(1.0);
    product = product * x;
  }
  const V inverse = V(1.0) / V(x + V(1.0)), square = inverse * inverse, y = x + V(1.0);
  const V rest = inverse * V(V(1.0 / 12) - square * V(V(1.0 / 360) - square * V(1.0 / 1260)));
  return V(y - V(0.5)) * log(y) - y + V(0.918938533204672742) + rest - log(product);
}

/// Poisson numbers with the rates of `rate`, for elements of row-major index k. Rates below 10
/// count factors until the product of uniform numbers is below e^-rate; others take the transformed
/// rejection PTRS of Hoermann (1993). NaN for a negative rate or NaN.
struct poisson_fn {
  philox_generator from;

  template <class V, class K>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) rate, FLAGGEMS_VALUE(K) k) const {
    using M = mask_of<V>;
    const V infinity(infinity_of<V>()), zero(0.0), one(1.0);
    const M legal = rate >= zero;
    V result = select(legal, rate, V(nan_of<V>()));
    M waits = legal & (rate < infinity);
    const M counts = rate < V(10.0);
    const V used = select(waits, rate, one);

    const V limit = exp(-used), large = select(counts, V(10.0), used);
    const V b = V(0.931) + V(2.53) * sqrt(large), a = V(-0.059) + V(0.02483) * b;
    const V inverse_alpha = V(1.1239) + V(1.1328) / V(b - V(3.4));
    const V quick = V(0.9277) - V(3.6224) / V(b - V(2.0)), log_rate = log(large);

    V product(1.0), count(0.0);
    for (u32 trial = 0; any_lane(waits); ++trial) {
      const auto random = numbers(integer_cast<u64>(k), trial);
      const V u = random.first_unit(), v = random.second_unit();

      product = product * u;
      const M first = product > limit;
      product = product * v;
      const M both = first & (product > limit);
      const V counted = count + select(first, one, zero);
      count = counted + select(both, one, zero);

      const V centred = u - V(0.5), edge = V(0.5) - abs(centred);
      const V n = floor(V(V(V(2.0) * a / edge + b) * centred + large + V(0.43)));
      const M at_once = (edge >= V(0.07)) & (v <= quick);
      const M outside = (n < zero) | ((edge < V(0.013)) & (v > edge));
      const V at = select(outside, zero, n);
      const V left = log(v) + log(inverse_alpha) - log(V(a / V(edge * edge) + b));
      const M fits = left <= V(at * log_rate - large - log_factorial(at));
      const M accepted = at_once | (fits & !outside);

      const M ends = (counts & !both) | (accepted & !counts);
      result = select(M(waits & ends), select(counts, count, n), result);
      waits = waits & !ends;
    }
    return result;
  }

 private:
  template <class U>
  struct two_numbers {
    using V = rebind<U, f64>;
    random_number<V, 53> bits;
    FLAGGEMS_INLINE V first_unit() const { return unit(bits.even); }
    FLAGGEMS_INLINE V second_unit() const { return unit(bits.odd); }
    // In (0, 1).
    FLAGGEMS_INLINE static V unit(FLAGGEMS_VALUE(U) b) {
      return V(convert<f64>(integer_cast<i64>(U(b >> 12))) + V(0.5)) * V(1.0 / 4503599627370496.0);
    }
  };
  template <class U>
  FLAGGEMS_INLINE two_numbers<U> numbers(FLAGGEMS_VALUE(U) k, u32 trial) const {
    using W = rebind<U, u32>;
    const U at = k + U(from.offset);
    const auto words =
        philox4x32_of(philox_words<W>{{integer_cast<u32>(at), integer_cast<u32>(U(at >> 32)),
                                       W(trial), W(u32(0))}},
                      static_cast<u32>(from.seed), static_cast<u32>(from.seed >> 32));
    return {number_of<rebind<U, f64>, 53>(words, k)};
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/random/poisson.hpp");
