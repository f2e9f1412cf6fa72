// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Complex numbers in vectors: one of the real parts, one of the imaginary ones. In memory parts
// alternate.
#pragma once

#include <flaggems/kernel/lang/vector/simd.hpp>

namespace flaggems::kernels {

template <class T, class Isa>
struct simd_type<complex<T>, Isa> {
  using type = complex<simd<T, Isa>>;
};

template <class T, class Isa>
FLAGGEMS_HOST_INLINE complex<simd<T, Isa>> select(const simd_mask<Isa>& m,
                                                  const complex<simd<T, Isa>>& a,
                                                  const complex<simd<T, Isa>>& b) {
  return {select(m, a.re, b.re), select(m, a.im, b.im)};
}

/// The vectors of the parts of numbers that lie in two vectors.
template <class T, class Isa, int... K>
FLAGGEMS_HOST_INLINE complex<simd<T, Isa>> parts_of(const simd<T, Isa>& low,
                                                    const simd<T, Isa>& high, int_sequence<K...>) {
  using V = simd<T, Isa>;
  return {V(FLAGGEMS_SHUFFLE(low.v, high.v, (2 * K)...)),
          V(FLAGGEMS_SHUFFLE(low.v, high.v, (2 * K + 1)...))};
}
/// The first numbers of a vector of them as they lie in memory, from number First on.
template <int First, class T, class Isa, int... K>
FLAGGEMS_HOST_INLINE simd<T, Isa> alternated(const complex<simd<T, Isa>>& z, int_sequence<K...>) {
  return simd<T, Isa>(FLAGGEMS_SHUFFLE(z.re.v, z.im.v, (First + K / 2 + K % 2 * Isa::lanes)...));
}

}  // namespace flaggems::kernels
