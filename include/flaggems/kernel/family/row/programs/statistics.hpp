// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers of rows: variances and means, logarithms of sums of exponentials.
#pragma once

#include <flaggems/kernel/family/row/programs/norm.hpp>
#include <flaggems/kernel/family/row/programs/softmax.hpp>

namespace flaggems::kernels {

/// Result 0 is the variance times `scale`, or with Root the root of that; result 1 is the mean.
template <class C, bool Root>
struct variance_program {
  using compute = C;
  using terms = moments<C>;
  static constexpr row_traits traits = row_traits();
  C scale;

  template <class Row>
  FLAGGEMS_INLINE void run(Row& r) const {
    const auto s = r.template reduce<terms>();
    r.template put<0>(r.each(
        [by = scale](const auto& of) FLAGGEMS_LAMBDA {
          using V = decltype(copy_of(of.rest));
          const V scaled = of.variance * V(by);
          if constexpr (Root)
            return sqrt(scaled);
          else
            return scaled;
        },
        s));
    r.template put<1>(r.each([](const auto& of, const auto& pivot)
                                 FLAGGEMS_LAMBDA { return pivot + of.rest; },
                             s, r.pivot()));
  }
};

/// The greater number, but a finite one.
struct greater_finite {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    return lesser_of(V(greatest_of<V>()), greater_number{}(a, b));
  }
};
/// The sum of exp(x - pivot) about the greatest element or the greatest number: of an infinite
/// element the exponential is infinite, too.
template <class C>
struct bounded_exponentials : exponentials<C, true> {
  using base = exponentials<C, true>;
  using leader = greater_finite;
  template <class V>
  FLAGGEMS_INLINE static V weight(FLAGGEMS_VALUE(V) term) {
    return select(mask_of<V>(term > V(C(0))), term, V(base::weight(term)));
  }
};
/// Result 0 is log(sum(exp(x))).
template <class C>
struct log_sum_exp_program {
  using compute = C;
  using terms = bounded_exponentials<C>;
  static constexpr row_traits traits = row_traits().filled_with_lowest().read_once();

  template <class Row>
  FLAGGEMS_INLINE void run(Row& r) const {
    r.template put<0>(r.each([](const auto& all)
                                 FLAGGEMS_LAMBDA { return log(all.sum) + all.pivot; },
                             r.template reduce<terms>()));
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/programs/statistics.hpp");
