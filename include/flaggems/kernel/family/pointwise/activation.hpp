// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Functors of the activations that take more than a line of the pointwise table.
#pragma once

#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// gelu by erf or tanh. The choice is uniform, so compilers hoist the branch out of the loop.
struct gelu_fn {
  bool by_tanh;
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a) const {
    if (by_tanh) {
      stay_in_branch();
      return gelu_tanh(a);
    }
    stay_in_branch();
    return gelu(a);
  }
};
struct gelu_and_mul_fn {
  gelu_fn gelu;
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    return gelu(a) * b;
  }
};
struct silu_and_mul_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    return silu(a) * b;
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/activation.hpp");
