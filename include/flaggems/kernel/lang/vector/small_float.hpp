// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Conversions between vectors of small floats' bits and f32.
#pragma once

#include <flaggems/kernel/lang/vector/simd.hpp>

namespace flaggems::kernels {

/// Whether `round_to_words` is available: AVX-512's fix-up tables, 6 instructions instead of 9.
template <class Isa>
inline constexpr bool rounds_to_words = FLAGGEMS_GCC_X86_ASM&& Isa::bytes == 64;

#if FLAGGEMS_GCC_X86_ASM
template <class Isa>
FLAGGEMS_HOST_INLINE void pick_upper_words(simd<u16, Isa>& to, const simd<u32, Isa>& x) {
  typedef u16 places __attribute__((vector_size(64)));
  const places upper = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                        1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
  with_level<Isa>(
      [](auto& words, const auto& bits, const auto& at) FLAGGEMS_LAMBDA {
        asm("vpermw %1, %2, %g0" : "=v"(words) : "v"(bits), "v"(at));
      },
      to.v, x.v, upper);
}
/// The bits of the bf16 nearest to f32 given by theirs (rule: encode_bits).
template <class Isa>
FLAGGEMS_HOST_INLINE void round_to_words(simd<u16, Isa>& to, const simd<u32, Isa>& x) {
  using U = simd<u32, Isa>;
  U rounded = x + (((x >> 16) & U(1u)) + U(0x7fffu));
  const U kinds(0x22u);
  // NaN is quieted: the table selects it for quiet and signalling NaN.
  with_level<Isa>(
      [](auto& r, const auto& bits, const auto& kind) FLAGGEMS_LAMBDA {
        asm("vfixupimmps $0, %2, %1, %0" : "+v"(r) : "v"(bits), "v"(kind));
      },
      rounded.v, x.v, kinds.v);
  pick_upper_words(to, rounded);
}
#endif

/// The upper halves of words.
template <class Isa>
FLAGGEMS_HOST_INLINE simd<u16, Isa> upper_words_of(const simd<u32, Isa>& x) {
  simd<u16, Isa> r;
#if FLAGGEMS_GCC_X86_ASM
  if constexpr (rounds_to_words<Isa>) {
    pick_upper_words(r, x);
    return r;
  }
#endif
  if constexpr (converts_words<Isa>)
    narrow_words(r, x >> 16);
  else
    r = convert<u16>(x >> 16);
  return r;
}

// ---- f16: hardware conversion where the level has it
template <class Isa>
inline constexpr bool has_f16_conversion = FLAGGEMS_X86_ASM != 0 && Isa::bytes > 16;

/// The f32 values of small floats given by their bits. Exact.
template <class Format, class Isa>
FLAGGEMS_HOST_INLINE simd<f32, Isa> decode_small(const simd<typename Format::storage, Isa>& bits) {
  if constexpr (is_same<Format, f16_format> && has_f16_conversion<Isa>) {
    return each_part<f32>(bits, [](auto& to, const auto& from) FLAGGEMS_LAMBDA {
#if FLAGGEMS_X86_ASM
      asm("vcvtph2ps %1, %0" : "=v"(to) : "v"(from));
#endif
    });
  } else {
    using U = simd<u32, Isa>;
    U wide;
    if constexpr (converts_words<Isa> && sizeof(bits.v) == sizeof(u16) * Isa::lanes)
      widen_words(wide, bits);
    else
      wide = convert<u32>(bits);
    return bit_cast<simd<f32, Isa>>(decode_bits<Format, simd<f32, Isa>>(wide));
  }
}

/// The bits of the small floats nearest to `x`, ties to even.
template <class Format, class Isa>
FLAGGEMS_HOST_INLINE simd<typename Format::storage, Isa> encode_small(const simd<f32, Isa>& x) {
  if constexpr (is_same<Format, f16_format> && has_f16_conversion<Isa>) {
    return each_part<u16>(x, [](auto& to, const auto& from) FLAGGEMS_LAMBDA {
#if FLAGGEMS_X86_ASM
      asm("vcvtps2ph $0, %1, %0" : "=v"(to) : "v"(from));
#endif
    });
  } else if constexpr (is_same<Format, bf16_format> && rounds_to_words<Isa>) {
    simd<u16, Isa> words;
    round_to_words(words, bit_cast<simd<u32, Isa>>(x));
    return words;
  } else {
    using U = simd<u32, Isa>;
    const U wide = encode_bits<Format, simd<f32, Isa>>(bit_cast<U>(x));
    if constexpr (converts_words<Isa> && is_same<typename Format::storage, u16>) {
      simd<u16, Isa> words;
      narrow_words(words, wide);
      return words;
    } else {
      return convert<typename Format::storage>(wide);
    }
  }
}

}  // namespace flaggems::kernels
