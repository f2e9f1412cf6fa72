// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/row/contract.hpp>

namespace flaggems::kernels {

/// The sum of exp(x - pivot) about the greatest element. Terms are those, or their logarithms.
template <class C, bool Log>
struct exponentials {
  static constexpr pivots pivot_kind = pivots::partial;
  static constexpr bool keeps = !Log;
  using leader = greater_number;
  /// The pivot of no elements: the least finite number. -inf less it is -inf, it less itself 0.
  FLAGGEMS_INLINE static C first() { return -greatest_of<C>(); }
  template <class V, class P>
  FLAGGEMS_INLINE static V term(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(P) pivot) {
    if constexpr (Log)
      return x - pivot;
    else
      return softmax_power(V(x - pivot));
  }
  template <class V>
  FLAGGEMS_INLINE static V weight(FLAGGEMS_VALUE(V) term) {
    if constexpr (Log)
      return softmax_power(term);
    else
      return term;
  }
  FLAGGEMS_INLINE static C carry(C from, C to) { return softmax_power(C(from - to)); }
  /// Of both together; the bits do not depend on their order.
  FLAGGEMS_INLINE pivoted_sum<C> operator()(const pivoted_sum<C>& a,
                                            const pivoted_sum<C>& b) const {
    const bool is_first = a.pivot > b.pivot;
    const pivoted_sum<C> greater = is_first ? a : b, lesser = is_first ? b : a;
    return {greater.pivot, fma(lesser.sum, carry(lesser.pivot, greater.pivot), greater.sum)};
  }
};

/// exp(x - max) / sum(exp(x - max)) along each row; with Log, its logarithm.
template <class C, bool Log>
struct softmax_program {
  using compute = C;
  using terms = exponentials<C, Log>;
  static constexpr row_traits traits = row_traits().staged().filled_with_lowest().shared_from(1024);

  template <class Row>
  FLAGGEMS_INLINE void run(Row& r) const {
    const auto s = r.template reduce<terms>();
    const auto last = r.each(
        [](const auto& all) FLAGGEMS_LAMBDA {
          using V = decltype(copy_of(all.sum));
          if constexpr (Log)
            return log(all.sum);
          else
            return near_quotient(V(C(1)), all.sum);
        },
        s);
    r.template store<0>(
        [](const auto& term, const auto& by) FLAGGEMS_LAMBDA {
          if constexpr (Log)
            return term - by;
          else
            return term * by;
        },
        last);
  }
};

/// The gradient g of an output y: y (g - sum(y g)); with Log, g - exp(y) sum(g).
template <class C, bool Log>
struct softmax_backward_program {
  using compute = C;
  using terms = plain_terms;
  static constexpr row_traits traits = row_traits();

  template <class Row>
  FLAGGEMS_INLINE void run(Row& r) const {
    const auto s = r.sum([](const auto& g, [[maybe_unused]] const auto& y) FLAGGEMS_LAMBDA {
      if constexpr (Log)
        return g;
      else
        return g * y;
    });
    r.template store<0>(
        [](const auto& g, const auto& y, const auto& all) FLAGGEMS_LAMBDA {
          if constexpr (Log)
            return g - exp(y) * all;
          else
            return y * (g - all);
        },
        s);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/programs/softmax.hpp");
