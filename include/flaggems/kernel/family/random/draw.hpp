// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Random numbers as formulas: element k of a tensor, in row-major order, is a function of k and of
// the generator's state alone, whatever the strides, the device and the threads. Elements of 4
// bytes take one word of a block, those of 8 bytes two.
#pragma once

#include <flaggems/kernel/expr/expr.hpp>
#include <flaggems/kernel/family/pointwise/functors.hpp>
#include <flaggems/kernel/family/random/philox.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// The random bits of an element, and those of its pair: elements 2 k and 2 k + 1 together have two
/// numbers. V: values of f32, f64, or i64; Digits: of the dtype that results are stored as.
template <class V, int Digits>
struct random_number {
  using value = V;
  using C = element_of<V>;
  using B = rebind<V, uint_of_size<sizeof(C)>>;
  using S = rebind<V, int_of_size<sizeof(C)>>;
  B even, odd;
  mask_of<V> is_odd;

  /// The element's own bits.
  FLAGGEMS_INLINE B bits() const { return select(is_odd, odd, even); }
  /// Uniform in [0, 1), of as many digits as C has.
  FLAGGEMS_INLINE V unit() const { return unit_of<mantissa>(bits()); }
  /// The same of as many as the dtype has, so that no result is rounded to 1.
  FLAGGEMS_INLINE V stored_unit() const { return unit_of<min_of(mantissa, Digits)>(bits()); }
  /// Uniform in (0, 1], with small numbers of many digits.
  FLAGGEMS_INLINE V positive_unit() const { return positive_unit_of(bits()); }
  /// Of the standard normal distribution (Box and Muller 1958).
  FLAGGEMS_INLINE V normal() const {
    const V radius = sqrt(V(V(C(-2)) * log(positive_unit_of(even))));
    // sin(t) = cos(t - pi / 2); the difference of the turns is exact.
    const V turns = unit_of<mantissa>(odd) - select(is_odd, V(C(0.25f)), V(C(0)));
    return radius * cos(V(turns * V(C(6.283185307179586477))));
  }
  /// Of the exponential distribution with rate 1; positive.
  FLAGGEMS_INLINE V exponential() const {
    return greater_of(V(-log(positive_unit())), V(C(is_same<C, f64> ? 0x1p-53 : 0x1p-24)));
  }

 private:
  static constexpr int mantissa = is_same<C, f64> ? 53 : 24;
  template <int Used>
  FLAGGEMS_INLINE static V unit_of(FLAGGEMS_VALUE(B) b) {
    constexpr int unused = static_cast<int>(sizeof(C)) * 8 - Used;
    return convert<C>(integer_cast<element_of<S>>(B(b >> unused))) *
           V(C(1) / static_cast<C>(i64(1) << Used));
  }
  FLAGGEMS_INLINE static V positive_unit_of(FLAGGEMS_VALUE(B) b) {
    constexpr int used = is_same<C, f64> ? 53 : 31, unused = static_cast<int>(sizeof(C)) * 8 - used;
    return (convert<C>(integer_cast<element_of<S>>(B(b >> unused))) + V(C(0.5f))) *
           V(C(1) / static_cast<C>(i64(1) << used));
  }
};

/// That of element k, or for small k of element k of a block.
template <class V, int Digits, class W, class K>
FLAGGEMS_INLINE random_number<V, Digits> number_of(FLAGGEMS_VALUE(philox_words<W>) words,
                                                   FLAGGEMS_VALUE(K) k) {
  using B = typename random_number<V, Digits>::B;
  const auto has_bit = [&](u64 bit) FLAGGEMS_LAMBDA { return (k & K(bit)) != K(u64(0)); };
  if constexpr (sizeof(element_of<V>) == sizeof(u32)) {
    const mask_of<K> upper = has_bit(2);
    return {select(upper, words.word[2], words.word[0]),
            select(upper, words.word[3], words.word[1]), has_bit(1)};
  } else {
    const auto number = [&](int j) FLAGGEMS_LAMBDA {
      return B(integer_cast<u64>(words.word[j]) | B(integer_cast<u64>(words.word[j + 1]) << 32));
    };
    return {number(0), number(2), has_bit(1)};
  }
}
template <class V, int Digits, class K>
FLAGGEMS_INLINE random_number<V, Digits> random_number_at(philox_generator from,
                                                          FLAGGEMS_VALUE(K) k) {
  constexpr int shift = sizeof(element_of<V>) == sizeof(u32) ? 2 : 1;
  return number_of<V, Digits>(random_block(from, K(k >> shift)), k);
}

/// What a random number's formula gives.
template <class A>
using drawn_value = typename A::value;

/// from + u (to - from), below `to`.
template <class A, class C>
FLAGGEMS_INLINE drawn_value<A> uniform_between(FLAGGEMS_VALUE(A) a, C from, C to) {
  using V = drawn_value<A>;
  const V x = V(from) + a.stored_unit() * V(to - from);
  return select(mask_of<V>(x < V(to)), x, V(from));
}
template <class A, class C>
FLAGGEMS_INLINE drawn_value<A> normal_around(FLAGGEMS_VALUE(A) a, C mean, C std) {
  using V = drawn_value<A>;
  return a.normal() * V(std) + V(mean);
}
/// median + sigma tan(pi (u - 1 / 2)).
template <class A, class C>
FLAGGEMS_INLINE drawn_value<A> cauchy_around(FLAGGEMS_VALUE(A) a, C median, C sigma) {
  using V = drawn_value<A>;
  const V turn = V(a.positive_unit() - V(C(0.5f))) * V(C(3.141592653589793238));
  return V(median) + V(sigma) * tan(turn);
}
/// How many trials until the first success; `scale`: 1 / log(1 - p).
template <class A, class C>
FLAGGEMS_INLINE drawn_value<A> trials_until(FLAGGEMS_VALUE(A) a, C scale) {
  using V = drawn_value<A>;
  return greater_of(V(ceil(V(-a.exponential() * V(scale)))), V(C(1)));
}
/// 1 with probability p, else 0.
template <class A, class C>
FLAGGEMS_INLINE drawn_value<A> success_of(FLAGGEMS_VALUE(A) a, C p) {
  using V = drawn_value<A>;
  return select(mask_of<V>(a.unit() < V(p)), V(C(1)), V(C(0)));
}

/// The geometric distribution of 1, 2, ...
template <class C>
struct geometric_fn {
  C scale;
  template <class To>
  FLAGGEMS_HD geometric_fn<To> in() const {
    return {number_cast<To>(scale)};
  }
  template <class A>
  FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(A) a) const {
    return trials_until(a, scale);
  }
};
/// A number of [0, 1), of which operators make what depends on tensors, too.
struct unit_fn {
  template <class A>
  FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(A) a) const {
    return a.unit();
  }
};
struct standard_normal_fn {
  template <class A>
  FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(A) a) const {
    return a.normal();
  }
};
/// An integer uniform in [from, from + count), modulo 2^64; count 0 stands for 2^64.
struct integer_fn {
  i64 from;
  u64 count;
  template <class A>
  FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(A) a) const {
    const auto bits = a.bits();
    using B = decltype(copy_of(bits));
    B below = bits;
    if (count != 0) below = multiply_high_by_words(bits, B(count));
    return integer_cast<i64>(B(below + B(static_cast<u64>(from))));
  }
};

/// F of the random number of an element, given its row-major index; results are C, those of a
/// dtype of `Digits` digits.
template <class F, class C, int Digits>
struct drawn_fn {
  static constexpr int group = 16 / static_cast<int>(sizeof(C));
  F f;
  philox_generator from;

  template <class V>
  FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) k) const {
    return f(random_number_at<rebind<V, C>, Digits>(from, integer_cast<u64>(k)));
  }
  /// What the elements of a group have in common, and the result of element j of them.
  FLAGGEMS_INLINE philox_block shared_by(i64 first) const {
    return random_block(from, static_cast<u64>(first / group));
  }
  FLAGGEMS_INLINE auto of(philox_block words, int j) const {
    return f(number_of<C, Digits>(words, static_cast<u64>(j)));
  }
};
template <class F, class C, int Digits>
inline constexpr bool has_group_form<drawn_fn<F, C, Digits>> = true;

}  // namespace flaggems::kernels

// name, promotion rule, options with defaults, result as a formula over a random number a
// clang-format off
#define FLAGGEMS_RANDOM_TABLE(DRAW1, DRAW2)                                                      \
  DRAW1(bernoulli,   numeric,  p, =0.5, success_of(a, p))                                        \
  DRAW1(exponential, floating, lambd, =1, drawn_value<V>(a.exponential() / drawn_value<V>(lambd))) \
  DRAW2(uniform,     floating, from, =0, to, =1, uniform_between(a, from, to))                   \
  DRAW2(normal,      floating, mean, =0, std, =1, normal_around(a, mean, std))                   \
  DRAW2(log_normal,  floating, mean, =1, std, =2, exp(normal_around(a, mean, std)))              \
  DRAW2(cauchy,      floating, median, =0, sigma, =1, cauchy_around(a, median, sigma))
// clang-format on

namespace flaggems::kernels {
FLAGGEMS_RANDOM_TABLE(FLAGGEMS_UNARY1_FUNCTOR, FLAGGEMS_UNARY2_FUNCTOR)
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/random/draw.hpp");
