// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Philox 4x32-10 of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011): a
// number is a function of its index, so threads draw independently and all devices agree. Only
// integers and exact floating-point operations are derived from the bits here.
#pragma once

#include <flaggems/kernel/lang/number.hpp>

namespace flaggems {

/// The state of a random number generator: a seed, and an offset in blocks of 128 bits, which
/// operators that draw advance. Equal states give equal numbers on every device. The default seed
/// is PyTorch's.
struct philox_generator {
  u64 seed = 67280421310721U;
  u64 offset = 0;
};

namespace kernels {

/// 128 bits as four words.
struct philox_block {
  u32 word[4];
};

/// The 128 random bits at `counter` under a key of two words.
FLAGGEMS_INLINE constexpr philox_block philox4x32(philox_block counter, u32 key0, u32 key1) {
  for (int round = 0; round < 10; ++round) {
    const u64 even = u64(0xD2511F53U) * counter.word[0];
    const u64 odd = u64(0xCD9E8D57U) * counter.word[2];
    counter = {{static_cast<u32>(odd >> 32) ^ counter.word[1] ^ key0, static_cast<u32>(odd),
                static_cast<u32>(even >> 32) ^ counter.word[3] ^ key1, static_cast<u32>(even)}};
    key0 += 0x9E3779B9U;  // Weyl sequences of the golden ratio and of sqrt(3) - 1
    key1 += 0xBB67AE85U;
  }
  return counter;
}

/// Two 64-bit numbers of a generator.
struct random_pair {
  u64 bits[2];
};
/// Numbers 2 k and 2 k + 1 after the generator's offset.
FLAGGEMS_INLINE constexpr random_pair random_bits_of_pair(philox_generator from, u64 k) {
  const u64 at = from.offset + k;
  const philox_block block =
      philox4x32({{static_cast<u32>(at), static_cast<u32>(at >> 32), 0, 0}},
                 static_cast<u32>(from.seed), static_cast<u32>(from.seed >> 32));
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

/// The upper half of the product of two integers.
FLAGGEMS_INLINE constexpr u64 multiply_high(u64 a, u64 b) {
#if FLAGGEMS_ARCH_X86 || FLAGGEMS_ARCH_ARM64
  __extension__ typedef unsigned __int128 wide;  // one instruction
  return static_cast<u64>((static_cast<wide>(a) * b) >> 64);
#else
  const u64 a0 = a & 0xffffffffU, a1 = a >> 32, b0 = b & 0xffffffffU, b1 = b >> 32;
  const u64 low = a0 * b0, cross = a1 * b0 + (low >> 32), other = a0 * b1 + (cross & 0xffffffffU);
  return a1 * b1 + (cross >> 32) + (other >> 32);
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
