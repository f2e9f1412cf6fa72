// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/row/contract.hpp>

namespace flaggems::kernels {

struct unchanged {
  template <class X>
  FLAGGEMS_INLINE X operator()(const X& x) const {
    return x;
  }
};

/// The gradient of x, where y = x^ weight and x^ = (x - mean) s, s = 1 / deviation: with h = g
/// weight, s (h - mean(h) - x^ mean(h x^)). Inputs are g and x, numbers the mean and s.
template <class C>
struct layer_norm_backward_program {
  using compute = C;
  using terms = plain_terms;
  static constexpr row_traits traits = row_traits();
  FLAGGEMS_INLINE static constexpr int neutral(int) { return 1; }

  template <class Row>
  FLAGGEMS_INLINE void run(Row& r) const {
    const auto mean = r.template number<0>(unchanged{});
    const auto scale = r.template number<1>(unchanged{});
    const auto both = r.weighted_sum(
        [](const auto& g, const auto& x, const auto& w, const auto& m, const auto& s)
            FLAGGEMS_LAMBDA {
              using V = decltype(copy_of(g));
              const V h = scaled(g, w);
              return sums<V, 2>{{h, V(h * V(V(x - V(m)) * V(s)))}};
            },
        mean, scale);
    const C part = r.part();
    const auto slope = r.each([part](const auto& of, const auto& s)
                                  FLAGGEMS_LAMBDA { return -(s * s * (of.at[1] * part)); },
                              both, scale);
    const auto shift = r.each([part](const auto& of, const auto& s)
                                  FLAGGEMS_LAMBDA { return -(s * (of.at[0] * part)); },
                              both, scale);
    r.template store<0>(
        [](const auto& g, const auto& x, const auto& w, const auto& m, const auto& s,
           const auto& by, const auto& less) FLAGGEMS_LAMBDA {
          using V = decltype(copy_of(g));
          return fma(V(scaled(g, w)), V(s), V(fma(V(x - V(m)), V(by), V(less))));
        },
        mean, scale, slope, shift);
  }
};

/// The gradient of x, where y = x s weight, s = 1 / sqrt(mean(x^2) + eps): with h = g weight,
/// s (h - x s^2 mean(h x)). Inputs are g and x, the number is s.
template <class C>
struct rms_norm_backward_program {
  using compute = C;
  using terms = plain_terms;
  static constexpr row_traits traits = row_traits();
  FLAGGEMS_INLINE static constexpr int neutral(int) { return 1; }

  template <class Row>
  FLAGGEMS_INLINE void run(Row& r) const {
    const auto scale = r.template number<0>(unchanged{});
    const auto product = r.weighted_sum(
        [](const auto& g, const auto& x, const auto& w, const auto& s) FLAGGEMS_LAMBDA {
          using V = decltype(copy_of(g));
          return V(scaled(g, w)) * V(x * V(s));
        },
        scale);
    const auto slope = r.each([part = r.part()](const auto& sum, const auto& s)
                                  FLAGGEMS_LAMBDA { return -(s * s * (sum * part)); },
                              product, scale);
    r.template store<0>(
        [](const auto& g, const auto& x, const auto& w, const auto& s, const auto& by)
            FLAGGEMS_LAMBDA {
              using V = decltype(copy_of(g));
              return fma(V(scaled(g, w)), V(s), V(x * V(by)));
            },
        scale, slope);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/programs/norm_backward.hpp");
