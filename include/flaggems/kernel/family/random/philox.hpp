// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Philox 4x32-10 of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011): a
// number is a function of its index, so threads draw independently and all devices agree. Only
// integers and exact floating-point operations are derived from the bits here.
#pragma once

#include <flaggems/kernel/lang/value.hpp>

namespace flaggems {

/// The state of a random number generator: a seed, and an offset in blocks of 128 bits, which
/// operators that draw advance. Equal states give equal numbers on every device. The default seed
/// is PyTorch's.
struct philox_generator {
  u64 seed = 67280421310721U;
  u64 offset = 0;
};

namespace kernels {

/// 128 bits as four words; W: u32, or a vector of them with a block in each lane.
template <class W>
struct philox_words {
  W word[4];
};
using philox_block = philox_words<u32>;

/// Integers with another number of bits, modulo 2^n.
template <class To, class V>
FLAGGEMS_INLINE constexpr rebind<V, To> integer_cast(FLAGGEMS_VALUE(V) x) {
  if constexpr (is_simd<V>)
    return convert<To>(x);
  else
    return static_cast<To>(x);
}

/// The 128 random bits at each `counter` under a key of two words.
template <class W>
FLAGGEMS_INLINE constexpr philox_words<W> philox4x32_of(FLAGGEMS_VALUE(philox_words<W>) first,
                                                        u32 key0, u32 key1) {
  using D = rebind<W, u64>;
  philox_words<W> counter = first;
  for (int round = 0; round < 10; ++round) {
    const D even = D(u64(0xD2511F53U)) * integer_cast<u64>(counter.word[0]);
    const D odd = D(u64(0xCD9E8D57U)) * integer_cast<u64>(counter.word[2]);
    counter = {{integer_cast<u32>(D(odd >> 32)) ^ counter.word[1] ^ W(key0), integer_cast<u32>(odd),
                integer_cast<u32>(D(even >> 32)) ^ counter.word[3] ^ W(key1),
                integer_cast<u32>(even)}};
    key0 += 0x9E3779B9U;  // Weyl sequences of the golden ratio and of sqrt(3) - 1
    key1 += 0xBB67AE85U;
  }
  return counter;
}
FLAGGEMS_INLINE constexpr philox_block philox4x32(philox_block counter, u32 key0, u32 key1) {
  return philox4x32_of(counter, key0, key1);
}
/// Block k after the generator's offset; K: u64 or a vector of them.
template <class K>
FLAGGEMS_INLINE constexpr philox_words<rebind<K, u32>> random_block(philox_generator from,
                                                                    FLAGGEMS_VALUE(K) k) {
  using W = rebind<K, u32>;
  const K at = k + K(from.offset);
  return philox4x32_of(philox_words<W>{{integer_cast<u32>(at), integer_cast<u32>(K(at >> 32)),
                                        W(u32(0)), W(u32(0))}},
                       static_cast<u32>(from.seed), static_cast<u32>(from.seed >> 32));
}

/// Two 64-bit numbers of a generator.
struct random_pair {
  u64 bits[2];
};
/// Numbers 2 k and 2 k + 1 after the generator's offset.
FLAGGEMS_INLINE constexpr random_pair random_bits_of_pair(philox_generator from, u64 k) {
  const philox_block block = random_block(from, k);
  return {{block.word[0] | (static_cast<u64>(block.word[1]) << 32),
           block.word[2] | (static_cast<u64>(block.word[3]) << 32)}};
}
/// Number k of them.
FLAGGEMS_INLINE constexpr u64 random_bits(philox_generator from, u64 k) {
  return random_bits_of_pair(from, k / 2).bits[k % 2];
}
/// The generator after n 64-bit numbers; a partly used block is consumed.
FLAGGEMS_INLINE constexpr philox_generator advanced(philox_generator g, u64 n) {
  return {g.seed, g.offset + n / 2 + n % 2};
}

/// A number uniform in [0, 1), a multiple of 2^-24 (f32) or 2^-53 (f64).
template <class T>
FLAGGEMS_INLINE constexpr T uniform(u64 bits) {
  if constexpr (is_same<T, f64>)
    return static_cast<f64>(static_cast<i64>(bits >> 11)) * (1.0 / 9007199254740992.0);
  else
    return static_cast<f32>(static_cast<i32>(bits >> 40)) * (1.0F / 16777216.0F);
}

/// The upper half of each product of two u64, by words.
template <class V>
FLAGGEMS_INLINE constexpr V multiply_high_by_words(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  const V word(u64(0xffffffffU));
  const V a0 = a & word, a1 = a >> 32, b0 = b & word, b1 = b >> 32;
  const V cross = a1 * b0 + V(V(a0 * b0) >> 32), other = a0 * b1 + V(cross & word);
  return a1 * b1 + V(cross >> 32) + V(other >> 32);
}
/// The upper half of the product of two integers.
FLAGGEMS_INLINE constexpr u64 multiply_high(u64 a, u64 b) {
#if FLAGGEMS_ARCH_X86 || FLAGGEMS_ARCH_ARM64
  __extension__ typedef unsigned __int128 wide;  // one instruction
  return static_cast<u64>((static_cast<wide>(a) * b) >> 64);
#else
  return multiply_high_by_words(a, b);
#endif
}
/// Terms K to 11 of the series of atanh(s) / s without its first, in 2^-63: s^2k / (2k + 1). A
/// template, so that divisions are constant-folded.
template <int K>
FLAGGEMS_INLINE constexpr u64 atanh_terms(u64 square) {
  if constexpr (K > 11)
    return 0;
  else
    return multiply_high(atanh_terms<K + 1>(square) + (u64(1) << 63) / (2 * K + 1), square);
}
/// An integer uniform in [0, n), with an error in probability of at most 2^-64.
FLAGGEMS_INLINE constexpr u64 uniform_below(u64 bits, u64 n) { return multiply_high(bits, n); }

/// -log2(bits / 2^64) in units of 2^-57, at least 1: exponentially distributed, up to a factor. By
/// integers and one correctly rounded division, so the bits agree on all devices. The relative
/// error is below 2^-30 for all but the 2^-26 least results.
FLAGGEMS_INLINE constexpr u64 exponential_bits(u64 bits) {
  // bits = 2^63-z x, 1 <= x < 2; log2(x) = +-2/ln(2) atanh(s) with x or x / 2 in [0.7, 1.42).
  u64 x = bits | 1U, z = 0;
  for (; x >> 63 == 0; x <<= 1) ++z;
  const bool upper = x > 0xB504F333F9DE6484U;  // sqrt(2)
  const u64 distance = upper ? 0 - x : x - (u64(1) << 63);
  const u64 quarter_sum = (x >> 2) + (u64(1) << (upper ? 62 : 61));
  const f64 ratio = static_cast<f64>(static_cast<i64>(distance)) /
                    static_cast<f64>(static_cast<i64>(quarter_sum));
  const u64 s = static_cast<u64>(static_cast<i64>(ratio * 4611686018427387904.0));  // 2^-64 units
  // s < 0.172, so the rest of the series is below 2^-60.
  const u64 sum = atanh_terms<1>(multiply_high(s, s)) + (u64(1) << 63);
  const u64 log = multiply_high(multiply_high(s, sum), 6653256548922161246U) >> 3;  // 2/ln 2, 2^-61
  const u64 result = upper ? (z << 57) + log : ((z + 1) << 57) - log;
  return result > 0 ? result : 1;
}

}  // namespace kernels
}  // namespace flaggems

FLAGGEMS_TEXT("flaggems/kernel/family/random/philox.hpp");
