// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/row/contract.hpp>
#include <flaggems/kernel/family/row/variance.hpp>

namespace flaggems::kernels {

/// Mean and variance: the sums of differences from an estimate of the mean and of their squares,
/// divided before they are added, as the sum of large numbers is one that C may not have.
template <class C>
struct moments {
  static constexpr pivots pivot_kind = pivots::row;
  static constexpr bool keeps = false;
  template <class V>
  struct state {
    V rest, variance;  // the mean less the pivot
  };
  template <class V, class P>
  FLAGGEMS_INLINE static V term(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(P) estimate) {
    return x - estimate;
  }
  template <class V, class P>
  FLAGGEMS_INLINE static sums<V, 2> enter(FLAGGEMS_VALUE(V) d, FLAGGEMS_VALUE(P) part) {
    return {{V(d * part), V(d * d)}};
  }
  template <class V>
  FLAGGEMS_INLINE static state<V> finish(const sums<V, 2>& s, C part) {
    return {s.at[0], variance_of<V>(s.at[0], V(s.at[1] * part))};
  }
  /// Digits of the variance were lost. (An infinite one may be that of differences alone.)
  template <class V>
  FLAGGEMS_INLINE static mask_of<V> is_far(const state<V>& s) {
    const V most(highest<C>()), limit = s.variance * C(16);
    return !(mask_of<V>(s.variance < most) & mask_of<V>(V(s.rest * s.rest) <= limit));
  }
  /// Of (all but) equal elements the mean is a number that C has.
  template <class V>
  FLAGGEMS_INLINE static void settle(state<V>& s, FLAGGEMS_VALUE(V) estimate) {
    s.rest = select(are_flat<V>(s.rest, s.variance), V(V(estimate + s.rest) - estimate), s.rest);
  }
};

/// 1 / sqrt(variance + eps) of each row
template <class Row, class S, class C>
FLAGGEMS_INLINE auto inverse_deviation(const Row& r, const S& s, C eps) {
  return r.each(
      [eps](const auto& of) FLAGGEMS_LAMBDA {
        using V = decltype(copy_of(of.rest));
        return near_inverse_root(V(of.variance + eps));
      },
      s);
}

/// (x - mean) / sqrt(variance + eps) * weight + bias. `Saves`: results 0 and 1 are the mean and
/// 1 / sqrt(variance + eps).
template <class C, bool Saves = false>
struct layer_norm_program {
  using compute = C;
  using terms = moments<C>;
  static constexpr row_traits traits = row_traits().with_many_parameters();
  FLAGGEMS_INLINE static constexpr int neutral(int k) { return k == 0 ? 1 : 0; }
  C eps;

  template <class Row>
  FLAGGEMS_INLINE void run(Row& r) const {
    const auto s = r.template reduce<terms>();
    const auto scale = inverse_deviation(r, s, eps);
    const auto shift = r.each(
        [](const auto& of, const auto& by) FLAGGEMS_LAMBDA { return -(of.rest * by); }, s, scale);
    if constexpr (Saves) {
      r.template put<0>(r.each([](const auto& of, const auto& pivot)
                                   FLAGGEMS_LAMBDA { return pivot + of.rest; },
                               s, r.pivot()));
      r.template put<1>(scale);
    }
    r.template store<0>(
        [](const auto& d, const auto& w, const auto& b, const auto& by, const auto& less)
            FLAGGEMS_LAMBDA {
              using V = decltype(copy_of(d));
              return affine(V(fma(d, V(by), V(less))), w, b);
            },
        scale, shift);
  }
};

/// layer_norm of x + residual, which is input 1. Their sum is in no one type, so that differences
/// are from the mean: it is reduced before them, and elements stay in registers.
template <class C>
struct skip_layer_norm_program {
  using compute = C;
  using terms = plain_terms;
  // (An element that is not there has a difference, too.)
  static constexpr row_traits traits = row_traits().filled_with_lowest().with_many_parameters();
  FLAGGEMS_INLINE static constexpr int neutral(int k) { return k == 0 ? 1 : 0; }
  C eps;

  template <class Row>
  FLAGGEMS_INLINE void run(Row& r) const {
    const C part = r.part();
    const auto mean = r.sum([part](const auto& x, const auto& residual) FLAGGEMS_LAMBDA {
      using V = decltype(copy_of(x));
      return V(V(x + residual) * V(part));
    });
    const auto both = r.sum(
        [part](const auto& x, const auto& residual, const auto& m) FLAGGEMS_LAMBDA {
          using V = decltype(copy_of(x));
          return moments<C>::template enter<V>(V(V(x + residual) - V(m)), V(part));
        },
        mean);
    const auto scale = r.each(
        [eps = eps, part](const auto& of) FLAGGEMS_LAMBDA {
          using V = decltype(copy_of(of.at[0]));
          return near_inverse_root(V(moments<C>::template finish<V>(of, part).variance + V(eps)));
        },
        both);
    const auto shift = r.each(
        [part](const auto& of, const auto& m, const auto& by) FLAGGEMS_LAMBDA {
          using V = decltype(copy_of(of.at[0]));
          auto state = moments<C>::template finish<V>(of, part);
          moments<C>::template settle<V>(state, m);
          return V(-V(state.rest * by));
        },
        both, mean, scale);
    r.template store<0>(
        [](const auto& x, const auto& residual, const auto& w, const auto& b, const auto& m,
           const auto& by, const auto& less) FLAGGEMS_LAMBDA {
          using V = decltype(copy_of(x));
          return affine(V(fma(V(V(x + residual) - V(m)), V(by), V(less))), w, b);
        },
        mean, scale, shift);
  }
};

/// 1 / sqrt(mean(x^2) + eps) of each row
template <class Row, class S, class C>
FLAGGEMS_INLINE auto inverse_rms(const Row& r, const S& squares, C eps) {
  return r.each(
      [eps, part = r.part()](const auto& s) FLAGGEMS_LAMBDA {
        using V = decltype(copy_of(s));
        return near_inverse_root(V(fma(s, V(part), V(eps))));
      },
      squares);
}
struct squared {
  template <class X>
  FLAGGEMS_INLINE X operator()(const X& x) const {
    return x * x;
  }
};
struct scaled_by {
  template <class X, class W, class S>
  FLAGGEMS_INLINE X operator()(const X& x, const W& w, const S& scale) const {
    return scaled(X(x * scale), w);
  }
};

/// x / sqrt(mean(x^2) + eps) * weight. `Saves`: result 0 is 1 / sqrt(mean(x^2) + eps).
template <class C, bool Saves = false>
struct rms_norm_program {
  using compute = C;
  using terms = plain_terms;
  static constexpr row_traits traits = row_traits();
  FLAGGEMS_INLINE static constexpr int neutral(int) { return 1; }
  C eps;

  template <class Row>
  FLAGGEMS_INLINE void run(Row& r) const {
    const auto s = r.sum(squared{});
    const auto scale = inverse_rms(r, s, eps);
    if constexpr (Saves) r.template put<0>(scale);
    r.template store<0>(scaled_by{}, scale);
  }
};

/// residual += x, rounded to its type; the output is rms_norm(residual) * weight.
template <class C>
struct fused_add_rms_norm_program {
  using compute = C;
  using terms = plain_terms;
  static constexpr row_traits traits = row_traits().updating().shared_from(4096);
  FLAGGEMS_INLINE static constexpr int neutral(int) { return 1; }
  C eps;

  template <class Row>
  FLAGGEMS_INLINE void run(Row& r) const {
    const auto s =
        r.update([](const auto& residual, const auto& x) FLAGGEMS_LAMBDA { return residual + x; },
                 squared{});
    r.template store<0>(scaled_by{}, inverse_rms(r, s, eps));
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/programs/norm.hpp");
