// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Conversions between vectors of small floats' bits and f32.
#pragma once

#include <flaggems/kernel/lang/vector/simd.hpp>

namespace flaggems::kernels {

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
