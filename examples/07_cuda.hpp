// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/use.md: what runs on a GPU, in a header that carries its own text.
#pragma once

// [functor]
#include <flaggems/kernel/math/math.hpp>

/// 2 x / (1 + exp(-x)) + 1, for scalars and vectors.
struct swish2 {
  template <class V>
  FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) x) const {
    return V(x * V(2.0F) / (V(1.0F) + flaggems::kernels::exp(-x)) + V(1.0F));
  }
};

FLAGGEMS_TEXT("07_cuda.hpp");  // the name by which it is included
// [/functor]
