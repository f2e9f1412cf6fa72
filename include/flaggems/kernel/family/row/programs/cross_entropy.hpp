// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/row/programs/softmax.hpp>

namespace flaggems::kernels {

/// The weight of a row's class; 1 where there are none, NaN for a class that does not exist.
template <class C, class W>
struct class_weight {
  global_ptr<const W> weight;
  i64 stride, classes, ignored;
  template <class Index>
  FLAGGEMS_INLINE C operator()(const Index& index) const {
    const i64 i = static_cast<i64>(index);
    if (i == ignored) return C(0);
    if (static_cast<u64>(i) >= static_cast<u64>(classes)) return nan_of<C>();
    return weight == nullptr ? C(1) : number_cast<C>(weight[i * stride]);
  }
};
/// 1, or 0 of an ignored row.
template <class C>
struct is_counted {
  i64 ignored;
  template <class Index>
  FLAGGEMS_INLINE C operator()(const Index& index) const {
    return static_cast<i64>(index) == ignored ? C(0) : C(1);
  }
};

/// log(sum(exp(x - pivot))) of each row, and the pivot: the loss of an element x is log_sum - (x -
/// pivot). (Their sum would lose the digits that a large pivot does not hold.)
template <class Row, class S>
FLAGGEMS_INLINE auto log_sum_of(const Row& r, const S& s) {
  return r.each([](const auto& all) FLAGGEMS_LAMBDA { return log(all.sum); }, s);
}
template <class Row, class S>
FLAGGEMS_INLINE auto pivot_of(const Row& r, const S& s) {
  return r.each([](const auto& all) FLAGGEMS_LAMBDA { return all.pivot; }, s);
}

/// Cross entropy of class indices, number 0: result 0 is the row's loss, result 1 its weight.
/// `Smooths`: a share of the loss is that of all classes alike, by the parameter, their weights.
template <class C, class W, bool Smooths>
struct cross_entropy_program {
  using compute = C;
  using terms = exponentials<C, true>;
  static constexpr row_traits traits =
      Smooths ? row_traits().filled_with_lowest() : row_traits().filled_with_lowest().read_once();
  FLAGGEMS_INLINE static constexpr int neutral(int) { return 1; }
  class_weight<C, W> weight;
  C smoothing;

  template <class Row>
  FLAGGEMS_INLINE void run(Row& r) const {
    const auto s = r.template reduce<terms>();
    const auto log_sum = log_sum_of(r, s);
    const auto pivot = pivot_of(r, s);
    const auto own = r.template number<0>(weight);
    const auto counts = r.template number<0>(is_counted<C>{weight.ignored});
    const auto x = r.template at<0>();
    const auto loss = r.each([](const auto& sum, const auto& from, const auto& v, const auto& w)
                                 FLAGGEMS_LAMBDA { return (sum - (v - from)) * w; },
                             log_sum, pivot, x, own);
    r.template put<1>(own);
    if constexpr (Smooths) {
      const auto others = r.weighted_sum(
          [](const auto& v, const auto& w, const auto& sum, const auto& from) FLAGGEMS_LAMBDA {
            using V = decltype(copy_of(v));
            return scaled(V(V(sum) - V(v - V(from))), w);
          },
          log_sum, pivot);
      put_loss(r, counts,
               r.each([by = C(1) - smoothing, rest = smoothing * r.part()](const auto& mine,
                                                                           const auto& sum)
                          FLAGGEMS_LAMBDA { return mine * by + sum * rest; },
                      loss, others));
    } else {
      put_loss(r, counts, loss);
    }
  }

 private:
  /// An ignored row has none, whatever its elements are.
  template <class Row, class Counts, class Loss>
  FLAGGEMS_INLINE static void put_loss(Row& r, const Counts& counts, const Loss& loss) {
    r.template put<0>(r.each(
        [](const auto& one, const auto& of) FLAGGEMS_LAMBDA {
          using V = decltype(copy_of(of));
          const V none(C(0));
          return V(select(mask_of<V>(one > none), of, none));
        },
        counts, loss));
  }
};

/// Cross entropy of class probabilities t, input 1: sum of (log(sum(exp(x))) - x) w t', where t' =
/// t by + rest. Result 0 is the row's loss, result 1 is 1.
template <class C>
struct soft_cross_entropy_program {
  using compute = C;
  using terms = exponentials<C, true>;
  static constexpr row_traits traits = row_traits().filled_with_lowest().shared_from(1024);
  FLAGGEMS_INLINE static constexpr int neutral(int) { return 1; }
  C smoothing;

  template <class Row>
  FLAGGEMS_INLINE void run(Row& r) const {
    const auto s = r.template reduce<terms>();
    const auto log_sum = log_sum_of(r, s);
    const auto pivot = pivot_of(r, s);
    const auto loss = r.weighted_sum(
        [by = C(1) - smoothing, rest = smoothing * r.part()](
            const auto& x, const auto& t, const auto& w, const auto& sum, const auto& from)
            FLAGGEMS_LAMBDA {
              using V = decltype(copy_of(x));
              return V(scaled(V(V(sum) - V(x - V(from))), w)) * V(fma(t, V(by), V(rest)));
            },
        log_sum, pivot);
    r.template put<0>(loss);
    r.template put<1>(r.each(
        [](const auto& sum) FLAGGEMS_LAMBDA {
          using V = decltype(copy_of(sum));
          return V(C(1));
        },
        loss));
  }
};

/// Of losses and weights along a row: result 0 is the sum of the losses, or with Mean that divided
/// by the sum of the weights.
template <class C, bool Mean>
struct total_loss_program {
  using compute = C;
  using terms = plain_terms;
  static constexpr row_traits traits = row_traits();

  template <class Row>
  FLAGGEMS_INLINE void run(Row& r) const {
    const auto both = r.sum([](const auto& loss, const auto& weight) FLAGGEMS_LAMBDA {
      using V = decltype(copy_of(loss));
      return sums<V, 2>{{loss, weight}};
    });
    r.template put<0>(r.each(
        [](const auto& s) FLAGGEMS_LAMBDA {
          if constexpr (Mean)
            return s.at[0] / s.at[1];
          else
            return s.at[0];
        },
        both));
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/programs/cross_entropy.hpp");
