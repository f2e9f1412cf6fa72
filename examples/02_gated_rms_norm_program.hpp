// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/tutorial.md: the row program of the example, in a header of its own, so that device
// compilers take it too (tests/device_compile/example_gated_rms_norm.cpp).
#pragma once

// [program]
#include <flaggems/kernel/family/row/contract.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace mamba::kernels {

// By name: a using-directive would let functions of the C library take part.
using flaggems::kernels::plain_terms, flaggems::kernels::row_traits;
using flaggems::kernels::rsqrt, flaggems::kernels::scaled, flaggems::kernels::silu;

/// y / sqrt(mean(y^2) + eps) * weight along each row, of y = x * silu(gate).
template <class C>
struct gated_rms_norm_program {
  using compute = C;
  using terms = plain_terms;
  static constexpr row_traits traits = row_traits();
  FLAGGEMS_INLINE static constexpr int neutral(int) { return 1; }  // weight, where it is absent
  C eps;

  template <class Row>
  FLAGGEMS_INLINE constexpr void run(Row& r) const {
    const auto squares = r.sum([](const auto& x, const auto& gate) FLAGGEMS_LAMBDA {
      const auto y = x * silu(gate);
      return y * y;
    });
    const auto scale = r.each([part = r.part(), e = eps](const auto& s)
                                  FLAGGEMS_LAMBDA { return rsqrt(s * part + e); },
                              squares);
    r.template store<0>([](const auto& x, const auto& gate, const auto& weight, const auto& by)
                            FLAGGEMS_LAMBDA { return scaled(x * silu(gate) * by, weight); },
                        scale);
  }
};

}  // namespace mamba::kernels

FLAGGEMS_TEXT("02_gated_rms_norm_program.hpp");  // for devices that compile kernels when they run
// [/program]
