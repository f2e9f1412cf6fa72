// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules of attention's scores, for with_score: functors of a score, which is scaled, the index of
// its head, of its query and of its key (lanes of i32).
#pragma once

#include <flaggems/kernel/lang/lanes.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems {

/// limit * tanh(score / limit): scores stay within (-limit, limit).
struct soft_cap {
  f32 limit = 1;
  template <class V, class J>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) score, i64, i64, FLAGGEMS_VALUE(J)) const {
    using kernels::tanh;
    return V(V(limit) * tanh(V(score / V(limit))));
  }
};

/// The keys from query + shift - left to query + shift + right; a negative number is no limit.
/// `shift` is the number of keys before the first query's own.
struct attention_window {
  i32 left = -1, right = -1, shift = 0;
  template <class V, class J>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) score, i64, i64 query,
                               FLAGGEMS_VALUE(J) key) const {
    using kernels::select;
    constexpr i32 most = 0x7FFFFFFF;
    using C = kernels::element_of<V>;
    const i32 own = static_cast<i32>(query) + shift;
    const V hidden(kernels::lowest<C>());
    const i32 first = left < 0 || own <= left ? 0 : own - left;
    const i32 last = right < 0 || (own > 0 && right > most - own) ? most : own + right;
    return select(key < J(first), hidden, V(select(J(last) < key, hidden, score)));
  }
};

/// score - slope * |key - query - shift|, with a slope for each of `heads` heads, f32 in the memory
/// of the device (ALiBi). O. Press et al.: Train Short, Test Long, 2021 (arXiv:2108.12409).
struct alibi {
  kernels::global_ptr<const f32> slopes = nullptr;
  i64 heads = 1;
  i32 shift = 0;
  template <class V, class J>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) score, i64 head, i64 query,
                               FLAGGEMS_VALUE(J) key) const {
    using kernels::convert;
    using kernels::select;
    using C = kernels::element_of<V>;
    const V away = convert<C>(J(key - J(static_cast<i32>(query) + shift)));
    const V distance = select(away < V(C(0)), V(V(C(0)) - away), away);
    return V(score - V(static_cast<C>(slopes[head % heads])) * distance);
  }
};

/// What FlashAttention makes of scores: a cap, slopes, then a window; each may be absent: a limit
/// of 0, slopes of nullptr, a window without limits.
struct flash_rule {
  soft_cap cap{0};
  alibi slopes{};
  attention_window window{};
  template <class V, class J>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) score, i64 head, i64 query,
                               FLAGGEMS_VALUE(J) key) const {
    V s = score;
    if (cap.limit > 0) s = cap(s, head, query, key);
    if (slopes.slopes != nullptr) s = slopes(s, head, query, key);
    return window.left < 0 && window.right < 0 ? s : window(s, head, query, key);
  }
};

/// The window whose outside a rule hides; without limits if it has none, or none that is known.
template <class Rule>
FLAGGEMS_INLINE attention_window window_of(const Rule&) {
  return {};
}
FLAGGEMS_INLINE attention_window window_of(const attention_window& rule) {
  constexpr i32 most = 1 << 30;  // more keys than that have no limit, and sums of these no overflow
  return {rule.left < most ? rule.left : -1, rule.right < most ? rule.right : -1, rule.shift};
}
FLAGGEMS_INLINE attention_window window_of(const flash_rule& rule) {
  return window_of(rule.window);
}

}  // namespace flaggems

FLAGGEMS_TEXT("flaggems/kernel/family/attention/rules.hpp");
