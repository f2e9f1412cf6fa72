// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What attention adds to the scores of a query, and what it says of them.
#pragma once

#include <flaggems/kernel/lang/lanes.hpp>
#include <flaggems/kernel/math/log.hpp>

namespace flaggems::kernels {

/// Where logarithms of the sums of exponentials go: nowhere.
struct no_logs {};

/// The logarithm of the sum of exponentials of a row's scores: -inf of no scores.
template <class C>
FLAGGEMS_INLINE C attention_log_sum(C largest, C total) {
  return total == C(0) ? lowest<C>() : C(largest + log(total));
}

/// A query's scores as they are, and with what a mask says of each.
struct no_mask {
  template <class... Place>
  FLAGGEMS_INLINE no_mask row(const Place&...) const {
    return {};
  }
  template <class... Place>
  FLAGGEMS_INLINE no_mask column(const Place&...) const {
    return {};
  }
  template <class C, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> apply(Lane, const lane_value<Lane, C>& score) const {
    return score;
  }
};
template <class T>
struct attention_mask_row {
  global_ptr<const T> data;
  i64 element;
  template <class C, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> apply(Lane lane, const lane_value<Lane, C>& score) const {
    using V = lane_value<Lane, C>;
    if constexpr (is_same<T, bool>)
      return select(load<bool>(data, element, lane), score, V(lowest<C>()));
    else
      return score + load<C>(data, element, lane);
  }
};

/// A query's scores from key `first` on, each as a rule has it: rule(score, head, query, key).
template <class Rule>
struct attention_rule_row {
  Rule rule;
  i64 head, query;
  i32 first;
  template <class C, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> apply(Lane lane, const lane_value<Lane, C>& score) const {
    using J = lane_value<Lane, i32>;
    return rule(score, head, query, J(iota<i32>(lane) + J(first)));
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/mask.hpp");
