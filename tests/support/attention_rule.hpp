// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A rule of attention's scores.
#pragma once

#include <flaggems/kernel/family/attention/rules.hpp>

namespace flaggems_test {

/// Adds what tells heads, queries and keys from each other, and hides every third key.
struct by_place {
  template <class V, class J>
  FLAGGEMS_INLINE V operator()(const V& score, flaggems::i64 head, flaggems::i64 query,
                               const J& key) const {
    using flaggems::kernels::convert;
    using flaggems::kernels::select;
    using C = flaggems::kernels::element_of<V>;
    const V place = convert<C>(key);
    const J third = J(key / J(3)) * J(3);
    const V own(static_cast<C>(head) * C(0.5) - static_cast<C>(query) * C(0.25));
    return select(key == third, V(flaggems::kernels::lowest<C>()),
                  V(score * V(C(0.5)) + place * V(C(0.125)) + own));
  }
};

}  // namespace flaggems_test

FLAGGEMS_TEXT("support/attention_rule.hpp");
